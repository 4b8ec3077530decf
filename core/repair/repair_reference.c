/* Owns reading one reference; see repair_reference.h. */
#include "core/repair/repair_reference.h"

#include <stdio.h>
#include <string.h>

#include "core/repair/repair_name.h"
#include "core/text/utf8.h"

/* XML 1.0 [2] Char */
static bool is_char(uint32_t cp)
{
	return cp == 0x9 || cp == 0xa || cp == 0xd || (cp >= 0x20 && cp <= 0xd7ff) || (cp >= 0xe000 && cp <= 0xfffd) ||
	    (cp >= 0x10000 && cp <= 0x10ffff);
}

/* ---- numbers ---- */

/* -1: not a digit of that base. */
static int digit_value(uint8_t c, bool hex)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return hex && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the bytes behind "&#" that belong to the reference. It has ended where these are fewer than len. A
 * reference with too many digits that is not to be replaced ends before the first digit that n has no room for. */
static size_t number_take(const struct reference_rules *r, struct reference_number *n, const uint8_t *in, size_t len)
{
	size_t at = 0;
	int digit;

	if (len > 0 && in[0] == 'x' && !n->hex && n->zeros == 0 && n->digits == 0) {
		n->hex = true;
		at++;
	}
	for (; at < len && (digit = digit_value(in[at], n->hex)) >= 0; at++) {
		if (digit == 0 && n->digits == 0) {
			n->zeros++;
		} else if (n->digits < REFERENCE_DIGITS) {
			n->value = n->value * (n->hex ? 16 : 10) + (uint32_t)digit;
			n->digit[n->digits++] = (char)in[at];
		} else {
			n->overflow = true;
			if (!(r->flags & REPAIR_REFERENCES))
				break;
		}
	}
	return at;
}

/* In XML 1.1 the only control to which a reference is forbidden is U+0000 ([2] Char there). */
static bool number_is_forbidden(const struct reference_rules *r, const struct reference_number *n)
{
	if (n->digits == 0 && n->zeros == 0)
		return false;
	if ((r->flags & REPAIR_XML_1_1) && !n->overflow && n->value > 0 && n->value < 0x20)
		return false;
	return n->overflow || !is_char(n->value);
}

/* Judges a number that has ended; ends_well: by a semicolon. */
static enum reference_kind number_judge(const struct reference_rules *r, const struct reference_number *n,
    bool ends_well)
{
	bool forbidden = number_is_forbidden(r, n), digits = n->digits > 0 || n->zeros > 0;

	if (forbidden && (ends_well || n->overflow) && (r->flags & REPAIR_REFERENCES))
		return REFERENCE_FORBIDDEN;
	if ((r->flags & REPAIR_AMPERSANDS) && !(ends_well && digits))
		return REFERENCE_BARE;
	return REFERENCE_KEEP;
}

/* Judges a number of found->len bytes that has ended. If it is replaced, so is its semicolon. */
static void number_end(const struct reference_rules *r, const struct reference_number *n, bool ends_well,
    struct reference *found)
{
	found->kind = number_judge(r, n, ends_well);
	found->text.first = n->overflow ? UINT32_MAX : n->value;
	found->len += found->kind == REFERENCE_FORBIDDEN && ends_well;
}

/* ---- surrogates ---- */

static bool is_surrogate(const struct reference_number *n, uint32_t first)
{
	return !n->overflow && n->value >= first && n->value < first + 0x400;
}

/* Reads the second reference of a pair, which begins at high->len: software with characters of 16 bits writes a longer
 * one as two. Without a second one the first stands alone. */
static struct reference read_pair(const struct reference_rules *r, const struct reference *high, const uint8_t *in,
    size_t len, bool final)
{
	const struct reference cut = { .kind = REFERENCE_CUT };
	struct reference_number low = { .open = false };
	size_t at = high->len, most = len - at < REFERENCE_PAIR_MAX ? len : at + REFERENCE_PAIR_MAX;

	if (memcmp(in + at, "&#", len - at < 2 ? len - at : 2) != 0)
		return *high;
	if (len - at < 2)
		return final ? *high : cut;
	size_t end = at + 2 + number_take(r, &low, in + at + 2, most - at - 2);
	if (end == most)
		return final || most < len ? *high : cut;
	if (in[end] != ';' || !is_surrogate(&low, 0xdc00))
		return *high;
	return (struct reference){ REFERENCE_PAIR, end + 1,
		{ 0x10000 + ((high->text.first - 0xd800) << 10) + (low.value - 0xdc00), 0 } };
}

/* A reference that is short enough to begin a pair is read as a whole. */
static struct reference read_number(const struct reference_rules *r, struct reference_number *n, const uint8_t *in,
    size_t len, bool final)
{
	struct reference found = { .kind = REFERENCE_CUT_NUMBER };

	memset(n, 0, sizeof(*n));
	found.len = 2 + number_take(r, n, in + 2, len - 2);
	if (found.len == len && !final && len <= REFERENCE_PAIR_MAX)
		return (struct reference){ .kind = REFERENCE_CUT };
	if (found.len == len && !final) {
		n->open = true;
		return found;
	}
	bool ends_well = found.len < len && in[found.len] == ';';
	number_end(r, n, ends_well, &found);
	if (found.kind == REFERENCE_BARE)
		found.len = 1;
	if (found.kind == REFERENCE_FORBIDDEN && ends_well && found.len <= REFERENCE_PAIR_MAX &&
	    is_surrogate(n, 0xd800))
		return read_pair(r, &found, in, len, final);
	return found;
}

struct reference reference_go_on(const struct reference_rules *r, struct reference_number *n, const uint8_t *in,
    size_t len, bool final)
{
	struct reference found = { .kind = REFERENCE_CUT_NUMBER };

	found.len = number_take(r, n, in, len);
	if (found.len == len && !final)
		return found;
	n->open = false;
	number_end(r, n, found.len < len && in[found.len] == ';', &found);
	return found;
}

int reference_number_emit(const struct reference_number *n, bool bare, struct sink sink)
{
	static const uint8_t zeros[] = "00000000000000000000000000000000";
	const char *start = bare ? "&amp;#x" : "&#x";
	int rc = sink.write(sink.arg, (const uint8_t *)start, strlen(start) - !n->hex);

	for (uint64_t left = n->zeros; rc == 0 && left > 0;) {
		size_t step = left < sizeof(zeros) - 1 ? (size_t)left : sizeof(zeros) - 1;

		rc = sink.write(sink.arg, zeros, step);
		left -= step;
	}
	return rc || n->digits == 0 ? rc : sink.write(sink.arg, (const uint8_t *)n->digit, n->digits);
}

/* ---- names ---- */

/* Names that are too long to tell stay where any name may be declared. */
static struct reference name_judge(const struct reference_rules *r, const uint8_t *name, size_t len, bool ends_well)
{
	struct reference keep = { .kind = REFERENCE_KEEP, .len = 1 }, bare = { .kind = REFERENCE_BARE, .len = 1 };
	struct reference found = { .kind = REFERENCE_NAME, .len = len + 2 };
	bool escapes = r->flags & REPAIR_AMPERSANDS;

	if (len <= ENTITY_NAME_MAX && (len == 0 || !ends_well))
		return escapes ? bare : keep;
	if (!r->content)
		return keep;
	if (len > ENTITY_NAME_MAX)
		return escapes && !r->declared.any ? bare : keep;
	if (entity_is_predefined(name, len) || declared_has(&r->declared, name, len))
		return keep;
	if (entity_find(name, len, &found.text))
		return r->flags & REPAIR_ENTITIES ? found : keep;
	return escapes ? bare : keep;
}

struct reference reference_read(const struct reference_rules *r, struct reference_number *n, const uint8_t *in,
    size_t len, bool final)
{
	size_t most = len < ENTITY_NAME_MAX + 2 ? len : ENTITY_NAME_MAX + 2;

	if (len == 1 && !final)
		return (struct reference){ .kind = REFERENCE_CUT };
	if (len > 1 && in[1] == '#')
		return read_number(r, n, in, len, final);
	if (!(r->flags & (REPAIR_AMPERSANDS | REPAIR_ENTITIES)))
		return (struct reference){ .kind = REFERENCE_KEEP, .len = 1 };
	size_t end = 1 + name_length(in + 1, most - 1);
	if (end == len && !final)
		return (struct reference){ .kind = REFERENCE_CUT };
	return name_judge(r, in + 1, end - 1, end < len && in[end] == ';');
}

/* ---- what is written ---- */

static size_t text_of_name(const struct entity_text *t, char text[REFERENCE_TEXT_MAX])
{
	int n = snprintf(text, REFERENCE_TEXT_MAX, "&#%u;", (unsigned)t->first);

	if (t->second)
		n += snprintf(text + n, REFERENCE_TEXT_MAX - (size_t)n, "&#%u;", (unsigned)t->second);
	return (size_t)n;
}

/* Only in content a reference may go without a trace: elsewhere what stands around it would be something else. */
size_t reference_text(const struct reference_rules *r, const struct reference *found, char text[REFERENCE_TEXT_MAX])
{
	switch (found->kind) {
	case REFERENCE_FORBIDDEN:
		if (found->text.first < 0x20 && r->content && !(r->flags & REPAIR_REPLACE_CONTROLS))
			return 0;
		return utf8_encode(0xfffd, (uint8_t *)text);
	case REFERENCE_PAIR:
		return utf8_encode(found->text.first, (uint8_t *)text);
	case REFERENCE_NAME:
		return text_of_name(&found->text, text);
	case REFERENCE_BARE:
		return (size_t)snprintf(text, REFERENCE_TEXT_MAX, "&amp;");
	default:
		return 0;
	}
}

enum repair_index reference_repair(enum reference_kind kind)
{
	switch (kind) {
	case REFERENCE_NAME:
		return REPAIRED_ENTITIES;
	case REFERENCE_BARE:
		return REPAIRED_AMPERSANDS;
	default:
		return REPAIRED_REFERENCES;
	}
}
