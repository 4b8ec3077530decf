/* Owns forbidden characters and references to them; see repair_lex.h.
 *
 * From the root on there are four modes, and vectors find the bytes that end them. Tags need no mode of their own:
 * "<!", "<?" and a reference mean the same in an attribute value of a well-formed document as in content (XML 1.0 [10]
 * AttValue has no "<"). Before the root there are five more modes, which are read byte by byte: that text is mostly
 * short, and pairs of bytes cannot tell its tokens. */
#include "core/repair/repair_lex.h"

#include <assert.h>
#include <string.h>

#include "core/repair/repair_scan.h"

static const struct lex_modes {
	struct repair_stops stops;
	const char *close;
} lex_modes[] = {
	[LEX_TEXT] = { REPAIR_STOPS('<', '!', '?', '&', '#'), NULL },
	[LEX_COMMENT] = { REPAIR_STOPS('-', '-', '-', '-', '-'), "-->" },
	[LEX_INSTRUCTION] = { REPAIR_STOPS('?', '>', '>', '?', '>'), "?>" },
	[LEX_CDATA] = { REPAIR_STOPS(']', ']', ']', ']', ']'), "]]>" },
};

#define IN(mode) (1u << LEX_##mode)

/* The slow modes in which a byte needs a look. Bytes that XML forbids need one in all modes. */
static const uint8_t slow_stops[256] = {
	[0 ... 0x08] = 0xff, [0x0b] = 0xff, [0x0c] = 0xff, [0x0e ... 0x1f] = 0xff, [0xef] = 0xff,
	['<'] = IN(PROLOG) | IN(DOCTYPE) | IN(SUBSET) | IN(DECLARATION), ['&'] = IN(PROLOG) | IN(LITERAL),
	['S'] = IN(DECLARATION), ['P'] = IN(DECLARATION), ['>'] = IN(DOCTYPE) | IN(DECLARATION), ['['] = IN(DOCTYPE),
	[']'] = IN(SUBSET),
	['"'] = IN(DOCTYPE) | IN(DECLARATION) | IN(LITERAL), ['\''] = IN(DOCTYPE) | IN(DECLARATION) | IN(LITERAL),
};

static const struct {
	unsigned in;
	const char *word;
	enum lex_mode mode;
} openings[] = {
	{ IN(TEXT) | IN(PROLOG) | IN(SUBSET), "<!--", LEX_COMMENT },
	{ IN(TEXT) | IN(PROLOG) | IN(SUBSET), "<?", LEX_INSTRUCTION },
	{ IN(TEXT) | IN(PROLOG), "<![CDATA[", LEX_CDATA },
	{ IN(PROLOG), "<!DOCTYPE", LEX_DOCTYPE },
	{ IN(SUBSET), "<!", LEX_DECLARATION },
};

static const struct {
	enum lex_mode in;
	char byte;
	enum lex_mode mode;
} delimiters[] = {
	{ LEX_DOCTYPE, '[', LEX_SUBSET }, { LEX_DOCTYPE, '>', LEX_PROLOG },
	{ LEX_DOCTYPE, '"', LEX_LITERAL }, { LEX_DOCTYPE, '\'', LEX_LITERAL },
	{ LEX_SUBSET, ']', LEX_DOCTYPE },
	{ LEX_DECLARATION, '>', LEX_SUBSET },
	{ LEX_DECLARATION, '"', LEX_LITERAL }, { LEX_DECLARATION, '\'', LEX_LITERAL },
};

static const uint8_t replacement[] = { 0xef, 0xbf, 0xbd };     /* U+FFFD */

static int lex_emit(const struct repair_lex *l, const uint8_t *p, size_t len)
{
	return len > 0 ? l->sink.write(l->sink.arg, p, len) : 0;
}

/* XML 1.0 [2] Char */
static bool is_char(uint32_t cp)
{
	return cp == 0x9 || cp == 0xa || cp == 0xd || (cp >= 0x20 && cp <= 0xd7ff) || (cp >= 0xe000 && cp <= 0xfffd) ||
	    (cp >= 0x10000 && cp <= 0x10ffff);
}

/* ---- numeric references ([66] CharRef) ---- */

/* -1: not a digit of that base. */
static int digit_value(uint8_t c, bool hex)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return hex && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the bytes behind "&#" that belong to the reference. It has ended where these are fewer than len. */
static size_t reference_take(struct lex_reference *ref, const uint8_t *in, size_t len)
{
	size_t at = 0;
	int digit;

	if (len > 0 && in[0] == 'x' && !ref->hex && ref->zeros == 0 && ref->digits == 0) {
		ref->hex = true;
		at++;
	}
	for (; at < len && (digit = digit_value(in[at], ref->hex)) >= 0; at++) {
		if (digit == 0 && ref->digits == 0) {
			ref->zeros++;
		} else if (ref->digits < LEX_DIGITS) {
			ref->value = ref->value * (ref->hex ? 16 : 10) + (uint32_t)digit;
			ref->digit[ref->digits++] = (char)in[at];
		} else {
			ref->overflow = true;
		}
	}
	return at;
}

/* In XML 1.1 the only control to which a reference is forbidden is U+0000 ([2] Char there). */
static bool reference_is_forbidden(const struct repair_lex *l, const struct lex_reference *ref)
{
	if (ref->digits == 0 && ref->zeros == 0)
		return false;
	if ((l->flags & REPAIR_XML_1_1) && !ref->overflow && ref->value > 0 && ref->value < 0x20)
		return false;
	return ref->overflow || !is_char(ref->value);
}

static int reference_emit(const struct repair_lex *l, const struct lex_reference *ref)
{
	static const uint8_t zeros[] = "00000000000000000000000000000000";
	int rc = lex_emit(l, (const uint8_t *)"&#x", ref->hex ? 3 : 2);

	for (uint64_t left = ref->zeros; rc == 0 && left > 0;) {
		size_t n = left < sizeof(zeros) - 1 ? (size_t)left : sizeof(zeros) - 1;

		rc = lex_emit(l, zeros, n);
		left -= n;
	}
	return rc ? rc : lex_emit(l, (const uint8_t *)ref->digit, ref->digits);
}

/* ---- tokens ---- */

enum token_kind { TOKEN_KEEP, TOKEN_REPLACE, TOKEN_CUT /* by the end of the buffer */, TOKEN_CUT_REFERENCE };

struct token {
	enum token_kind kind;
	size_t len;
};

static const struct token token_one = { TOKEN_KEEP, 1 };

/* Whether the text starts with the word. TOKEN_KEEP of length 0: it does not. */
static struct token token_word(const char *word, const uint8_t *in, size_t len, bool final)
{
	size_t n = strlen(word);

	if (memcmp(in, word, len < n ? len : n) != 0 || (len < n && final))
		return (struct token){ TOKEN_KEEP, 0 };
	return (struct token){ len < n ? TOKEN_CUT : TOKEN_KEEP, n };
}

static void lex_enter(struct repair_lex *l, enum lex_mode mode)
{
	if (mode == LEX_DOCTYPE || mode == LEX_DECLARATION)
		l->external = mode == LEX_DOCTYPE;
	if (mode == LEX_LITERAL || mode > LEX_TEXT)
		l->back = mode == LEX_CDATA ? LEX_TEXT : l->mode;
	l->mode = mode;
}

/* Reads "<". Where none of the words follows it starts an element, or is broken; either way the mode becomes text. */
static struct token token_open(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		struct token t;

		if (!(openings[i].in >> l->mode & 1))
			continue;
		t = token_word(openings[i].word, in, len, final);
		if (t.kind == TOKEN_KEEP && t.len > 0)
			lex_enter(l, openings[i].mode);
		if (t.len > 0)
			return t;
	}
	l->mode = LEX_TEXT;
	return token_one;
}

/* [75] ExternalID: its literals are names of other entities, in which nothing is a reference. */
static struct token token_external(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	struct token t = token_word(in[0] == 'S' ? "SYSTEM" : "PUBLIC", in, len, final);

	if (t.len == 0)
		return token_one;
	l->external |= t.kind == TOKEN_KEEP;
	return t;
}

static struct token token_delimiter(struct repair_lex *l, const uint8_t *in)
{
	if (l->mode == LEX_LITERAL) {
		if (in[0] == l->quote)
			l->mode = l->back;
		return token_one;
	}
	for (size_t i = 0; i < sizeof(delimiters) / sizeof(delimiters[0]); i++) {
		if (delimiters[i].in != l->mode || (uint8_t)delimiters[i].byte != in[0])
			continue;
		l->quote = in[0];
		lex_enter(l, delimiters[i].mode);
		break;
	}
	return token_one;
}

static struct token token_reference(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	struct token t = token_word("&#", in, len, final);

	if (t.kind == TOKEN_CUT)
		return t;
	if (t.len == 0 || !(l->flags & REPAIR_REFERENCES) || (l->mode == LEX_LITERAL && l->external))
		return token_one;
	memset(&l->ref, 0, sizeof(l->ref));
	t.len += reference_take(&l->ref, in + t.len, len - t.len);
	if (t.len == len && !final) {
		l->ref.open = true;
		t.kind = TOKEN_CUT_REFERENCE;
	} else if (reference_is_forbidden(l, &l->ref) && (l->ref.overflow || (t.len < len && in[t.len] == ';'))) {
		t.kind = TOKEN_REPLACE;
		t.len += t.len < len && in[t.len] == ';';
		l->counts[REPAIRED_REFERENCES]++;
	}
	return t;
}

static struct token token_close(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	struct token t = token_word(lex_modes[l->mode].close, in, len, final);

	if (t.len == 0)
		return token_one;
	if (t.kind == TOKEN_KEEP)
		l->mode = l->back;
	return t;
}

/* Reads what may be a forbidden character: a C0 control, U+FFFE or U+FFFF. */
static struct token token_character(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	size_t n = 1;

	if (in[0] == 0xef) {
		if (len < 3 && !final)
			return (struct token){ TOKEN_CUT, 0 };
		if (len < 3 || in[1] != 0xbf || in[2] < 0xbe)
			return token_one;
		n = 3;
	}
	if (!(l->flags & REPAIR_CHARACTERS))
		return token_one;
	l->counts[REPAIRED_CHARACTERS]++;
	return (struct token){ TOKEN_REPLACE, n };
}

static struct token token_read(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	if (in[0] < 0x20 || in[0] == 0xef)
		return token_character(l, in, len, final);
	if (l->mode > LEX_TEXT)
		return token_close(l, in, len, final);
	if (in[0] == '<')
		return token_open(l, in, len, final);
	if (in[0] == '&')
		return token_reference(l, in, len, final);
	return in[0] == 'S' || in[0] == 'P' ? token_external(l, in, len, final) : token_delimiter(l, in);
}

static size_t next_stop(const struct repair_lex *l, const uint8_t *in, size_t at, size_t len)
{
	if (l->mode >= LEX_SLOW_MODES)
		return repair_scan(&lex_modes[l->mode].stops, in, at, len);
	while (at < len && !(slow_stops[in[at]] >> l->mode & 1))
		at++;
	return at;
}

/* Goes on with a reference that the end of a call has cut. Sets *used. */
static int lex_open_reference(struct repair_lex *l, const uint8_t *in, size_t len, bool final, size_t *used)
{
	bool ends_well;

	*used = reference_take(&l->ref, in, len);
	if (*used == len && !final)
		return 0;
	l->ref.open = false;
	ends_well = *used < len && in[*used] == ';';
	if (!reference_is_forbidden(l, &l->ref) || !(ends_well || l->ref.overflow))
		return reference_emit(l, &l->ref);
	*used += ends_well;
	l->counts[REPAIRED_REFERENCES]++;
	return lex_emit(l, replacement, sizeof(replacement));
}

/* Handles *used bytes of in; the rest, under 9 bytes and none when final, is an unfinished token. */
static int lex(struct repair_lex *l, const uint8_t *in, size_t len, bool final, size_t *used)
{
	size_t run = 0, at = 0;
	int rc = 0;

	if (l->ref.open) {
		rc = lex_open_reference(l, in, len, final, &run);
		at = run;
	}
	while (rc == 0) {
		struct token t;

		at = next_stop(l, in, at, len);
		if (at == len)
			break;
		t = token_read(l, in + at, len - at, final);
		if (t.kind == TOKEN_KEEP) {
			at += t.len;
			continue;
		}
		rc = lex_emit(l, in + run, at - run);
		run = at;
		if (t.kind == TOKEN_CUT)
			break;
		run = at += t.len;
		if (rc == 0 && t.kind == TOKEN_REPLACE)
			rc = lex_emit(l, replacement, sizeof(replacement));
	}
	*used = at;
	return rc ? rc : lex_emit(l, in + run, at - run);
}

int repair_lex(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	size_t used = 0;
	int rc;

	if (!(l->flags & (REPAIR_CHARACTERS | REPAIR_REFERENCES)))
		return lex_emit(l, in, len);
	while (l->carry_len > 0 && (len > 0 || final)) {
		size_t room = sizeof(l->carry) - l->carry_len, take = len < room ? len : room, had = l->carry_len;

		if (take > 0)
			memcpy(l->carry + had, in, take);
		rc = lex(l, l->carry, had + take, final && take == len, &used);
		if (rc)
			return rc;
		if (used >= had) {
			l->carry_len = 0;
			in += used - had;
			len -= used - had;
		} else {
			l->carry_len = had + take - used;
			memmove(l->carry, l->carry + used, l->carry_len);
			in += take;
			len -= take;
		}
	}
	if (len == 0 && !(final && l->ref.open))
		return 0;
	rc = lex(l, in, len, final, &used);
	if (rc == 0 && used < len) {
		assert(len - used < LEX_CARRY_MAX / 2 + 1 && !final);
		memcpy(l->carry, in + used, len - used);
		l->carry_len = len - used;
	}
	return rc;
}
