/* Owns the stream of repairs: line ends, then prolog, then the rest of the text. See repair.h.
 * A clean run of text goes to the sink as one write from where it lies; only what is cut by the end of a call is carried.
 *
 * The lexer knows four modes. Tags need none of their own: "<!", "<?" and a reference mean the same in an attribute value of
 * a well-formed document as in content ([10] AttValue has no "<"), and so they do in a DTD, whose comments and instructions
 * are skipped alike and whose entity values take references as attribute values do ([9] EntityValue). */
#include "repair.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "repair_prolog.h"
#include "repair_scan.h"

enum {
	PROLOG_LOOK_FIRST = 256,        /* text held before the first look; doubled while there is no answer */
	PROLOG_HOLD_MAX = 65536,        /* what has not started by then has no prolog to repair */
	CARRY_MAX = 16,                 /* room for an unfinished token (at most 8 bytes) and what finishes it */
	REFERENCE_DIGITS = 7            /* significant digits of the largest scalar value, 1114111 or 10FFFF */
};

enum lex_mode { LEX_TEXT, LEX_COMMENT, LEX_INSTRUCTION, LEX_CDATA };

static const struct lex_modes {
	struct repair_stops stops;
	const char *open, *close;
} lex_modes[] = {
	[LEX_TEXT] = { { '<', '!', '?', '&', '#' }, NULL, NULL },
	[LEX_COMMENT] = { { '-', '-', '-', '-', '-' }, "<!--", "-->" },
	[LEX_INSTRUCTION] = { { '?', '>', '>', '?', '>' }, "<?", "?>" },
	[LEX_CDATA] = { { ']', ']', ']', ']', ']' }, "<![CDATA[", "]]>" },
};

/* A numeric reference cut by the end of a call, kept so that it can be written again as it came. */
struct reference {
	bool open;                      /* "&#" was seen, its end was not */
	bool hex;
	bool overflow;                  /* more digits than any character has: forbidden however it ends */
	uint64_t zeros;                 /* leading ones */
	size_t digits;
	char digit[REFERENCE_DIGITS + 1];
};

struct repair {
	unsigned flags;
	struct sink sink;
	uint64_t counts[REPAIR_COUNT];

	bool line_ends, next_line_lead; /* turning U+0085; its first byte was the last of a call */

	bool in_prolog;
	uint8_t *held;
	size_t held_len, held_cap, look_at;

	enum lex_mode mode;
	struct reference ref;
	uint8_t carry[CARRY_MAX];
	size_t carry_len;
};

static const uint8_t replacement[] = { 0xef, 0xbf, 0xbd };     /* U+FFFD */

static int emit(const struct repair *r, const uint8_t *p, size_t len)
{
	return len > 0 ? r->sink.write(r->sink.arg, p, len) : 0;
}

/* XML 1.0 [2] Char */
static bool is_char(uint32_t cp)
{
	return cp == 0x9 || cp == 0xa || cp == 0xd || (cp >= 0x20 && cp <= 0xd7ff) || (cp >= 0xe000 && cp <= 0xfffd) ||
	    (cp >= 0x10000 && cp <= 0x10ffff);
}

/* ---- numeric references ([66] CharRef) ---- */

static bool is_digit(uint8_t c, bool hex)
{
	return (c >= '0' && c <= '9') || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

/* Takes what follows "&#" and belongs to it; fewer bytes than there are means that it has ended. */
static size_t reference_take(struct reference *ref, const uint8_t *in, size_t len)
{
	size_t at = 0;

	if (len > 0 && in[0] == 'x' && !ref->hex && ref->zeros == 0 && ref->digits == 0) {
		ref->hex = true;
		at++;
	}
	for (; at < len && is_digit(in[at], ref->hex); at++) {
		if (in[at] == '0' && ref->digits == 0)
			ref->zeros++;
		else if (ref->digits < REFERENCE_DIGITS)
			ref->digit[ref->digits++] = (char)in[at];
		else
			ref->overflow = true;
	}
	return at;
}

static bool reference_is_forbidden(const struct reference *ref)
{
	char text[sizeof(ref->digit)] = "";

	if (ref->overflow)
		return true;
	if (ref->digits == 0 && ref->zeros == 0)
		return false;
	memcpy(text, ref->digit, ref->digits);
	return !is_char((uint32_t)strtoul(text, NULL, ref->hex ? 16 : 10));
}

static int reference_emit(const struct repair *r, const struct reference *ref)
{
	static const uint8_t zeros[] = "00000000000000000000000000000000";
	int rc = emit(r, (const uint8_t *)"&#x", ref->hex ? 3 : 2);

	for (uint64_t left = ref->zeros; rc == 0 && left > 0;) {
		size_t n = left < sizeof(zeros) - 1 ? (size_t)left : sizeof(zeros) - 1;

		rc = emit(r, zeros, n);
		left -= n;
	}
	return rc ? rc : emit(r, (const uint8_t *)ref->digit, ref->digits);
}

/* ---- tokens ---- */

enum token_kind { TOKEN_KEEP, TOKEN_REPLACE, TOKEN_CUT /* by the end of the buffer */, TOKEN_CUT_REFERENCE };

struct token {
	enum token_kind kind;
	size_t len;
};

static const struct token token_one = { TOKEN_KEEP, 1 };

/* Does the text start with the word? TOKEN_KEEP of length 0: no. */
static struct token token_word(const char *word, const uint8_t *in, size_t len, bool final)
{
	size_t n = strlen(word);

	if (memcmp(in, word, len < n ? len : n) != 0 || (len < n && final))
		return (struct token){ TOKEN_KEEP, 0 };
	return (struct token){ len < n ? TOKEN_CUT : TOKEN_KEEP, n };
}

static struct token token_open(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	for (enum lex_mode mode = LEX_COMMENT; mode <= LEX_CDATA; mode++) {
		struct token t = token_word(lex_modes[mode].open, in, len, final);

		if (t.kind == TOKEN_KEEP && t.len > 0)
			r->mode = mode;
		if (t.len > 0)
			return t;
	}
	return token_one;
}

static struct token token_reference(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	struct token t = token_word("&#", in, len, final);

	if (t.kind == TOKEN_CUT)
		return t;
	if (t.len == 0 || !(r->flags & REPAIR_REFERENCES))
		return token_one;
	memset(&r->ref, 0, sizeof(r->ref));
	t.len += reference_take(&r->ref, in + t.len, len - t.len);
	if (t.len == len && !final) {
		r->ref.open = true;
		t.kind = TOKEN_CUT_REFERENCE;
	} else if (reference_is_forbidden(&r->ref) && (r->ref.overflow || (t.len < len && in[t.len] == ';'))) {
		t.kind = TOKEN_REPLACE;
		t.len += t.len < len && in[t.len] == ';';
		r->counts[REPAIRED_REFERENCES]++;
	}
	return t;
}

static struct token token_close(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	struct token t = token_word(lex_modes[r->mode].close, in, len, final);

	if (t.len == 0)
		return token_one;
	if (t.kind == TOKEN_KEEP)
		r->mode = LEX_TEXT;
	return t;
}

/* A forbidden character: a C0 control, U+FFFE or U+FFFF. */
static struct token token_character(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	size_t n = 1;

	if (in[0] == 0xef) {
		if (len < 3 && !final)
			return (struct token){ TOKEN_CUT, 0 };
		if (len < 3 || in[1] != 0xbf || in[2] < 0xbe)
			return token_one;
		n = 3;
	}
	if (!(r->flags & REPAIR_CHARACTERS))
		return token_one;
	r->counts[REPAIRED_CHARACTERS]++;
	return (struct token){ TOKEN_REPLACE, n };
}

static struct token token_read(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	if (in[0] < 0x20 || in[0] == 0xef)
		return token_character(r, in, len, final);
	if (r->mode != LEX_TEXT)
		return token_close(r, in, len, final);
	return in[0] == '<' ? token_open(r, in, len, final) : token_reference(r, in, len, final);
}

/* ---- the body ---- */

/* Ends a reference that the end of a call had cut. Sets *used. */
static int lex_open_reference(struct repair *r, const uint8_t *in, size_t len, bool final, size_t *used)
{
	bool ends_well;

	*used = reference_take(&r->ref, in, len);
	if (*used == len && !final)
		return 0;
	r->ref.open = false;
	ends_well = *used < len && in[*used] == ';';
	if (!reference_is_forbidden(&r->ref) || !(ends_well || r->ref.overflow))
		return reference_emit(r, &r->ref);
	*used += ends_well;
	r->counts[REPAIRED_REFERENCES]++;
	return emit(r, replacement, sizeof(replacement));
}

/* Takes *used bytes of in; the rest, under 9 bytes and none when final, is an unfinished token. */
static int lex(struct repair *r, const uint8_t *in, size_t len, bool final, size_t *used)
{
	size_t run = 0, at = 0;
	int rc = 0;

	if (r->ref.open) {
		rc = lex_open_reference(r, in, len, final, &run);
		at = run;
	}
	while (rc == 0) {
		struct token t;

		at = repair_scan(&lex_modes[r->mode].stops, in, at, len);
		if (at == len)
			break;
		t = token_read(r, in + at, len - at, final);
		if (t.kind == TOKEN_KEEP) {
			at += t.len;
			continue;
		}
		rc = emit(r, in + run, at - run);
		run = at;
		if (t.kind == TOKEN_CUT)
			break;
		run = at += t.len;
		if (rc == 0 && t.kind == TOKEN_REPLACE)
			rc = emit(r, replacement, sizeof(replacement));
	}
	*used = at;
	return rc ? rc : emit(r, in + run, at - run);
}

static int body_feed(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	size_t used = 0;
	int rc;

	if (!(r->flags & (REPAIR_CHARACTERS | REPAIR_REFERENCES)))
		return emit(r, in, len);
	while (r->carry_len > 0 && (len > 0 || final)) {
		size_t room = sizeof(r->carry) - r->carry_len, take = len < room ? len : room, had = r->carry_len;

		if (take > 0)
			memcpy(r->carry + had, in, take);
		rc = lex(r, r->carry, had + take, final && take == len, &used);
		if (rc)
			return rc;
		if (used >= had) {
			r->carry_len = 0;
			in += used - had;
			len -= used - had;
		} else {
			r->carry_len = had + take - used;
			memmove(r->carry, r->carry + used, r->carry_len);
			in += take;
			len -= take;
		}
	}
	if (len == 0 && !(final && r->ref.open))
		return 0;
	rc = lex(r, in, len, final, &used);
	if (rc == 0 && used < len) {
		assert(len - used < CARRY_MAX / 2 + 1 && !final);
		memcpy(r->carry, in + used, len - used);
		r->carry_len = len - used;
	}
	return rc;
}

/* ---- the prolog ---- */

static int prolog_emit(struct repair *r, const struct prolog *p, const uint8_t *in, size_t len)
{
	static const uint8_t utf_8[] = "encoding=\"UTF-8\"";
	size_t at = 0;
	int rc;

	if (p->mark > 0 && (r->flags & REPAIR_BOM)) {
		r->counts[REPAIRED_BOM]++;
		at = p->mark;
	}
	if (p->start > p->mark && (r->flags & REPAIR_JUNK)) {
		rc = body_feed(r, in + at, p->mark - at, false);
		if (rc)
			return rc;
		r->counts[REPAIRED_JUNK]++;
		at = p->start;
	}
	if (p->enc_start < p->enc_end && !p->is_utf_8 && (r->flags & REPAIR_DECLARATION)) {
		rc = body_feed(r, in + at, p->enc_start - at, false);
		if (rc == 0)
			rc = body_feed(r, utf_8, sizeof(utf_8) - 1, false);
		if (rc)
			return rc;
		r->counts[REPAIRED_DECLARATION]++;
		at = p->enc_end;
	}
	return body_feed(r, in + at, len - at, false);
}

static int prolog_hold(struct repair *r, const uint8_t *in, size_t len)
{
	if (r->held_cap - r->held_len < len) {
		size_t cap = r->held_len + len < PROLOG_LOOK_FIRST ? PROLOG_LOOK_FIRST : 2 * (r->held_len + len);
		uint8_t *held = realloc(r->held, cap);

		if (!held)
			return -1;
		r->held = held;
		r->held_cap = cap;
	}
	memcpy(r->held + r->held_len, in, len);
	r->held_len += len;
	return 0;
}

/* Holds text until its prolog can be told, which prolog_look() answers alike for every longer text: so it does not matter
 * when it is asked, only that it is asked for the last time at exactly PROLOG_HOLD_MAX bytes. */
static int prolog_feed(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	size_t take = len < PROLOG_HOLD_MAX - r->held_len ? len : PROLOG_HOLD_MAX - r->held_len;
	const uint8_t *text = in;
	size_t text_len = take;
	struct prolog p = { .state = PROLOG_MORE };
	bool last;
	int rc;

	if (r->held_len > 0) {
		if (take > 0 && prolog_hold(r, in, take) != 0)
			return -1;
		text = r->held;
		text_len = r->held_len;
	}
	last = text_len == PROLOG_HOLD_MAX || (final && take == len);
	if (last || text_len >= r->look_at)
		prolog_look(&p, text, text_len, last);
	if (p.state == PROLOG_MORE) {
		while (r->look_at <= text_len)
			r->look_at *= 2;
		return r->held_len == 0 && len > 0 ? prolog_hold(r, in, take) : 0;
	}
	r->in_prolog = false;
	rc = prolog_emit(r, &p, text, text_len);
	free(r->held);
	r->held = NULL;
	return rc || take == len ? rc : body_feed(r, in + take, len - take, false);
}

static int text_feed(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	int rc = 0;

	if (r->in_prolog && (len > 0 || r->held_len > 0)) {
		rc = prolog_feed(r, in, len, final);
		in = NULL;
		len = 0;
	}
	if (rc == 0 && (final || !r->in_prolog))
		rc = body_feed(r, in, len, final);
	return rc;
}

/* ---- line ends: NEL, C2 85, as EBCDIC pages write them ---- */

static int line_ends_feed(struct repair *r, const uint8_t *in, size_t len)
{
	size_t run = 0;
	int rc = 0;

	if (len > 0 && r->next_line_lead) {
		r->next_line_lead = false;
		if (in[0] != 0x85) {
			rc = text_feed(r, (const uint8_t *)"\xc2", 1, false);
		} else {
			r->counts[REPAIRED_LINE_ENDS]++;
			rc = text_feed(r, (const uint8_t *)"\n", 1, false);
			run = 1;
		}
	}
	while (rc == 0 && run < len) {
		const uint8_t *lead = memchr(in + run, 0xc2, len - run);
		size_t end = lead ? (size_t)(lead - in) : len;

		while (lead && end + 1 < len && in[end + 1] != 0x85) {
			lead = memchr(in + end + 1, 0xc2, len - end - 1);
			end = lead ? (size_t)(lead - in) : len;
		}
		rc = end > run ? text_feed(r, in + run, end - run, false) : 0;
		run = end + 2;
		if (end + 1 == len) {
			r->next_line_lead = true;
		} else if (lead && rc == 0) {
			r->counts[REPAIRED_LINE_ENDS]++;
			rc = text_feed(r, (const uint8_t *)"\n", 1, false);
		}
	}
	return rc;
}

/* ---- the interface ---- */

struct repair *repair_new(unsigned flags, int ebcdic, struct sink sink)
{
	struct repair *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->flags = flags;
	r->sink = sink;
	r->line_ends = ebcdic && (flags & REPAIR_LINE_ENDS);
	r->in_prolog = (flags & (REPAIR_BOM | REPAIR_JUNK | REPAIR_DECLARATION)) != 0;
	r->look_at = PROLOG_LOOK_FIRST;
	return r;
}

void repair_free(struct repair **r)
{
	if (*r)
		free((*r)->held);
	free(*r);
	*r = NULL;
}

int repair_feed(struct repair *r, const uint8_t *in, size_t len)
{
	if (len == 0)
		return 0;
	return r->line_ends ? line_ends_feed(r, in, len) : text_feed(r, in, len, false);
}

int repair_finish(struct repair *r)
{
	int rc = 0;

	if (r->next_line_lead)
		rc = text_feed(r, (const uint8_t *)"\xc2", 1, false);
	return rc ? rc : text_feed(r, NULL, 0, true);
}

const uint64_t *repair_counts(const struct repair *r)
{
	return r->counts;
}

const char *repair_name(enum repair_index i)
{
#define REPAIR_ID(id, bit, name, what) [REPAIRED_##id] = name,
	static const char *const names[] = { REPAIRS(REPAIR_ID) };
#undef REPAIR_ID

	assert(i < REPAIR_COUNT);
	return names[i];
}
