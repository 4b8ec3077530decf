/* Owns the stream of tokens: finding them, holding those that a call cuts, writing them; see repair_lex.h.
 *
 * From the root on vectors find the bytes that matter, and tags as most feeds have them are passed by without a token
 * (lex_pass()). The other modes are read byte by byte: that text is mostly short. */
#include "core/repair/repair_lex.h"

#include <assert.h>
#include <string.h>

#include "core/repair/repair_gateway.h"
#include "core/repair/repair_name.h"
#include "core/repair/repair_scan.h"
#include "core/repair/repair_token.h"

enum { HELD_FIRST = 128, HELD_STEP = 80 /* more than any token but a tag */ };

#define IN(mode) (1u << LEX_##mode)

/* The slow modes in which a byte needs a look; some have rules of their own (next_stop()). */
static const uint16_t slow_stops[256] = {
	['<'] = IN(DOCTYPE) | IN(SUBSET) | IN(DECLARATION) | IN(TAG) | IN(VALUE),
	['&'] = IN(LITERAL) | IN(VALUE), ['S'] = IN(DECLARATION),
	['P'] = IN(DECLARATION), ['>'] = IN(DOCTYPE) | IN(DECLARATION) | IN(TAG),
	['['] = IN(DOCTYPE), [']'] = IN(SUBSET), ['%'] = IN(SUBSET),
	['/'] = IN(TAG),
	['"'] = IN(DOCTYPE) | IN(DECLARATION) | IN(LITERAL) | IN(TAG) | IN(VALUE),
	['\''] = IN(DOCTYPE) | IN(DECLARATION) | IN(LITERAL) | IN(TAG) | IN(VALUE),
};

static int lex_emit(struct repair_lex *l, const void *p, size_t len)
{
	const char *end = (const char *)p + len;

	if (len == 0)
		return 0;
	if (end[-1] != ']')
		l->tail = 0;
	else
		l->tail = (len > 1 ? end[-2] == ']' : l->tail > 0) ? 2 : 1;
	return l->sink.write(l->sink.arg, p, len);
}

/* ---- finding ---- */

/* The marks of the blocks of text that were looked at last. */
struct lex_marks {
	size_t from, to;                /* of the text; to: behind the last block, which may be behind the text */
	uint64_t masks[REPAIR_BLOCKS];
};

static inline size_t next_mark(struct lex_marks *m, const uint8_t *in, size_t at, size_t len)
{
	for (;;) {
		for (uint64_t rest; at < m->to; at += REPAIR_BLOCK - (at - m->from) % REPAIR_BLOCK) {
			rest = m->masks[(at - m->from) / REPAIR_BLOCK] >> (at - m->from) % REPAIR_BLOCK;
			if (rest)
				return at + (size_t)__builtin_ctzll(rest);
		}
		if (at >= len)
			return len;
		m->from = at;
		m->to = at + repair_scan_marks(in, at, len, m->masks) * REPAIR_BLOCK;
	}
}

/* Text from the root on: passes by tags that are plain or that close what they should, and the references that most
 * feeds have. Returns the offset of what needs a token; len: there is none. */
static size_t lex_pass(struct repair_lex *l, struct lex_marks *marks, const uint8_t *in, size_t at, size_t len)
{
	struct repair_stack *stack = &l->elements.stack;
	bool prefixes = l->flags & REPAIR_NAMESPACES;

	while ((at = next_mark(marks, in, at, len)) < len) {
		const uint8_t *p = in + at;
		size_t left = len - at, n;

		if (left < 2 || stack->depth < 1)
			return at;
		if (p[0] == '<' && p[1] == '/') {
			if (stack->depth < 2 || !(n = stack_ends_top(stack, p + 2, left - 2)))
				return at;
			l->elements.leaf = false;
			stack_pop(stack);
			if (stack->depth < l->namespaces.depth)
				namespaces_leave(&l->namespaces);
			at += n + 2;
		} else if (p[0] == '<' && (name_bytes[p[1]] & NAME_START)) {
			n = name_plain(p + 1, left - 1);
			if (n + 1 >= left || p[n + 1] != '>' || !stack_has_room(stack, n))
				return at;
			if (prefixes && !namespaces_passes(&l->namespaces, p + 1, n, left - 1))
				return at;
			if (l->gateway && gateway_may_have_text(p + 1, n))
				return at;
			l->elements.leaf = true;
			stack_put(stack, p + 1, n, left - 1);
			at += n + 2;
		} else if (p[0] == ']' && p[1] != ']') {
			at++;
		} else if (p[0] == '&' && left > 4 && memcmp(p, "&amp;", 5) == 0) {
			at += 5;
		} else {
			return at;
		}
	}
	return len;
}

static size_t next_byte(const uint8_t *in, uint8_t byte, size_t at, size_t len)
{
	const uint8_t *found = at < len ? memchr(in + at, byte, len - at) : NULL;

	return found ? (size_t)(found - in) : len;
}

static size_t next_stop(struct repair_lex *l, struct lex_marks *marks, const uint8_t *in, size_t at, size_t len)
{
	if (l->lead != LEAD_NONE || l->brackets > 0)
		return at;
	switch (l->mode) {
	case LEX_PROLOG:
		for (; at < len && in[at] != '<' && in[at] != '&'; at++)
			l->elements.doubtful |= !name_is_space(in[at]);
		l->elements.doubtful |= at < len && in[at] == '&';
		return at;
	case LEX_TEXT:
		return lex_pass(l, marks, in, at, len);
	case LEX_COMMENT:
		return next_byte(in, '-', at, len);
	case LEX_INSTRUCTION:
		return next_byte(in, '?', at, len);
	case LEX_CDATA:
		return next_byte(in, ']', at, len);
	case LEX_ENTITY:
	case LEX_DROP:
		return at;
	case LEX_EPILOG:
		return name_skip_space(in, at, len);
	default:
		while (at < len && !(slow_stops[in[at]] >> l->mode & 1))
			at++;
		return at;
	}
}

/* ---- writing ---- */

/* Writes the URL as a value; it is ASCII. */
static int write_base(struct repair_lex *l)
{
	int rc = lex_emit(l, " xml:base=\"", 11);

	l->counts[REPAIRED_BASE]++;
	for (const char *at = l->base; rc == 0 && *at;) {
		size_t n = strcspn(at, "&<\"");
		const char *text = at[n] == '&' ? "&amp;" : at[n] == '<' ? "&lt;" : at[n] == '"' ? "&quot;" : "";

		rc = lex_emit(l, at, n);
		rc = rc ? rc : lex_emit(l, text, strlen(text));
		at += n + (at[n] != '\0');
	}
	return rc ? rc : lex_emit(l, "\"", 1);
}

static int write_end_tag(struct repair_lex *l, const uint8_t *in)
{
	const struct tag *t = &l->tag;

	l->elements.dropped = false;
	int rc = elements_mend(&l->elements, in + t->name.at, t->name.len, in, t->len);
	if (l->elements.dropped)
		l->brackets = l->tail;
	else
		l->tail = 0;
	lex_behind_tag(l);
	return rc;
}

static int write_start_tag(struct repair_lex *l, const uint8_t *in)
{
	const struct tag *t = &l->tag;
	bool content = l->references.content;

	l->references.content = true;
	l->led += t->gateway != 0;
	int rc = tag_write(t, &l->tags, in, l->sink);
	l->references.content = content;
	if (rc == 0 && l->needs_base)
		rc = write_base(l);
	for (char text[NAMESPACE_TEXT_MAX]; rc == 0 && l->missing; l->counts[REPAIRED_NAMESPACES]++) {
		size_t len = namespaces_text(&l->missing, text);

		rc = lex_emit(l, text, len);
	}
	return rc ? rc : lex_emit(l, in + t->tail, t->len - t->tail);
}

static int lex_write_reference(struct repair_lex *l)
{
	char text[REFERENCE_TEXT_MAX];
	size_t len = reference_text(&l->references, &l->found, text);

	l->counts[reference_repair(l->found.kind)]++;
	if (len == 0)
		l->brackets = l->tail;
	return lex_emit(l, text, len);
}

/* Writes what stands for a token that is not kept. */
static int write_token(struct repair_lex *l, enum token_kind kind, const uint8_t *in)
{
	int rc;

	switch (kind) {
	case TOKEN_REFERENCE:
		return lex_write_reference(l);
	case TOKEN_TAG:
		return l->tag.end ? write_end_tag(l, in) : write_start_tag(l, in);
	case TOKEN_TEXT:
		l->counts[l->repair]++;
		return lex_emit(l, l->text, strlen(l->text));
	case TOKEN_GATEWAY:
		l->led++;
		rc = lex_emit(l, l->gateway, strlen(l->gateway));
		return rc ? rc : lex_emit(l, "/", 1);
	case TOKEN_NO_MEMORY:
		return -1;
	default:
		return 0;
	}
}

/* Goes on with a numeric reference that the end of a call has cut. Sets *used. */
static int lex_open_number(struct repair_lex *l, const uint8_t *in, size_t len, bool final, size_t *used)
{
	l->found = reference_go_on(&l->references, &l->number, in, len, final);
	*used = l->found.len;
	if (l->found.kind == REFERENCE_CUT_NUMBER)
		return 0;
	if (l->found.kind == REFERENCE_FORBIDDEN)
		return write_token(l, TOKEN_REFERENCE, in);
	l->counts[REPAIRED_AMPERSANDS] += l->found.kind == REFERENCE_BARE;
	return reference_number_emit(&l->number, l->found.kind == REFERENCE_BARE, l->sink);
}

/* ---- the stream ---- */

/* Whether an unfinished token at the end of the text is dropped. It is if lex_finish() closes something behind it:
 * elements of the root, or a comment or an instruction behind the root. */
static bool drops_end(const struct repair_lex *l)
{
	bool misc = (l->mode == LEX_COMMENT || l->mode == LEX_INSTRUCTION) && l->back == LEX_EPILOG;
	bool open = elements_are_open(&l->elements) || misc;

	return l->flags & REPAIR_END && open && !l->elements.doubtful;
}

/* Handles *used bytes of in; the rest, none when final, is an unfinished token. */
static int lex(struct repair_lex *l, const uint8_t *in, size_t len, bool final, size_t *used)
{
	size_t run = 0, at = 0;
	struct lex_marks marks;
	int rc = 0;

	marks.to = 0;
	if (l->number.open) {
		rc = lex_open_number(l, in, len, final && !drops_end(l), &run);
		at = run;
	}
	while (rc == 0) {
		struct token t;

		at = next_stop(l, &marks, in, at, len);
		if (at == len)
			break;
		t = token_read(l, in + at, len - at, final && !drops_end(l));
		if (t.kind == TOKEN_KEEP) {
			at += t.len;
			continue;
		}
		if (t.kind == TOKEN_CUT && final && l->lead == LEAD_TEXT) {
			l->lead = LEAD_NONE;   /* what ends within the scheme is no URL, and is read as any text */
			continue;
		}
		rc = lex_emit(l, in + run, at - run);
		run = at;
		if (t.kind == TOKEN_CUT && final)
			run = at = len;
		if (t.kind == TOKEN_CUT)
			break;
		if (rc == 0)
			rc = write_token(l, t.kind, in + at);
		run = at += t.len;
	}
	*used = at;
	return rc ? rc : lex_emit(l, in + run, at - run);
}

/* Closes what is open at the end of the text. */
static int lex_finish(struct repair_lex *l)
{
	const char *close = "";

	if (!drops_end(l) || l->mode == LEX_TAG)
		return 0;
	if (l->mode == LEX_COMMENT)
		close = "-->";
	else if (l->mode == LEX_INSTRUCTION)
		close = "?>";
	else if (l->mode == LEX_CDATA)
		close = "]]>";
	else if (l->mode == LEX_VALUE)
		close = l->quote == '"' ? "\">" : "'>";
	l->counts[REPAIRED_END]++;
	int rc = lex_emit(l, close, strlen(close));
	return rc ? rc : elements_finish(&l->elements);
}

/* ---- holding ---- */

/* Whether the bytes held begin a tag, which is complete with some ">" at the earliest. */
static bool holds_tag(const struct repair_lex *l)
{
	return l->held.len > 1 && l->held.bytes[0] == '<' && l->held.bytes[1] != '!' && l->held.bytes[1] != '?';
}

/* How many of the bytes are to be held as well before there is another look; *enough false: none is due. */
static size_t held_more(const struct repair_lex *l, const uint8_t *in, size_t len, bool final, bool *enough)
{
	size_t most = (holds_tag(l) ? TAG_MAX : l->held.len + HELD_STEP) - l->held.len, n = len < most ? len : most;
	const uint8_t *end = holds_tag(l) && n > 0 ? memchr(in, '>', n) : NULL;

	*enough = !holds_tag(l) || end || n == most || final;
	/* Twice as much as before at least, so that looking again and again takes no longer than reading */
	if (end && (size_t)(end - in) + 1 > l->held.len)
		return (size_t)(end - in) + 1;
	return end && l->held.len < n ? l->held.len : n;
}

int repair_lex(struct repair_lex *l, const uint8_t *in, size_t len, bool final)
{
	size_t used = 0;
	int rc = 0;

	while (rc == 0 && l->held.len > 0 && (len > 0 || final)) {
		size_t had = l->held.len, take;
		bool enough;

		take = held_more(l, in, len, final, &enough);
		if (held_add(&l->held, in, take, HELD_FIRST) != 0)
			return -1;
		if (!enough)
			return 0;
		rc = lex(l, l->held.bytes, l->held.len, final && take == len, &used);
		if (used >= had) {
			l->held.len = 0;
			in += used - had;
			len -= used - had;
		} else {
			held_drop(&l->held, used);
			in += take;
			len -= take;
		}
	}
	if (rc == 0 && (len > 0 || (final && l->number.open)))
		rc = lex(l, in, len, final, &used);
	if (rc == 0 && len > 0 && used < len) {
		assert(len - used < TAG_MAX && !final);
		rc = held_add(&l->held, in + used, len - used, HELD_FIRST);
	}
	return rc || !final ? rc : lex_finish(l);
}

void repair_lex_begin(struct repair_lex *l, uint64_t *counts, struct sink sink)
{
	l->counts = counts;
	l->sink = sink;
	l->tags = (struct tag_rules){ .references = &l->references, .counts = counts };
	elements_begin(&l->elements, counts, sink);
}

void repair_lex_set_flags(struct repair_lex *l, unsigned flags)
{
	l->flags = l->references.flags = l->elements.flags = flags;
	l->tags.tags = flags & REPAIR_TAGS;
	l->tags.ampersands = flags & REPAIR_AMPERSANDS;
}

void repair_lex_set_gateway(struct repair_lex *l, const char *url)
{
	l->gateway = l->tags.gateway = url;
}

void repair_lex_leave_end(struct repair_lex *l)
{
	l->flags &= ~(unsigned)REPAIR_END;
}

void repair_lex_free(struct repair_lex *l)
{
	held_free(&l->held);
	declared_free(&l->references.declared);
	elements_free(&l->elements);
}

bool repair_lex_is_over(const struct repair_lex *l)
{
	return l->dropped == TRAILING_MAX;
}
