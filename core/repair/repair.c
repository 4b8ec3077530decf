/* Owns the stream of repairs: line ends, then forbidden characters, then prolog, then text encoded twice and what that
 * has of forbidden characters, then markup; see repair.h.
 * Invariants: each step sees the same text however the input was cut; the text that comes out, fed once more, leads
 * each step to the same answers. */
#include "core/repair/repair.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/memory/held.h"
#include "core/memory/spares.h"
#include "core/repair/repair_characters.h"
#include "core/repair/repair_double.h"
#include "core/repair/repair_gateway.h"
#include "core/repair/repair_lex.h"
#include "core/repair/repair_prolog.h"

enum {
	PROLOG_LOOK_FIRST = 256,        /* Text held before the first look; doubled until there is an answer. */
	PROLOG_HOLD_MAX = 65536,        /* A document that has not started by then has no prolog to repair. */
	DECLARATION_MAX = 128,          /* The longest that is written. */
	TIMES_UNDONE = 2                /* Text encoded twice, and what is seen of it encoded three times. */
};

/* The repairs that go by XML 1.0's grammar: in XML 1.1 other characters are white space. */
enum {
	XML_1_0_REPAIRS = REPAIR_ENTITIES | REPAIR_AMPERSANDS | REPAIR_TAGS | REPAIR_END | REPAIR_TRAILING |
	    REPAIR_NAMESPACES,
	LEX_REPAIRS = XML_1_0_REPAIRS | REPAIR_REFERENCES | REPAIR_BASE | REPAIR_GATEWAY
};

struct repair {
	struct spares *spares;
	struct sink sink;
	unsigned flags;
	const char *encoding;
	uint64_t counts[REPAIR_COUNT];

	bool line_ends, next_line_lead; /* U+0085 is replaced; its first byte was the last one of a call */

	bool in_prolog;
	struct held held;
	size_t look_at;

	struct repair_characters characters;
	bool doubles;                   /* the text goes through these, each of which undoes one encoding */
	struct repair_double undo[TIMES_UNDONE];
	struct repair_characters undone;
	bool lexed;                     /* the text goes through lex */
	struct repair_lex lex;
};

/* ---- what is made of all the text ---- */

static int to_markup(void *arg, const uint8_t *text, size_t len)
{
	struct repair *r = arg;

	return r->lexed ? repair_lex(&r->lex, text, len, false) : r->sink.write(r->sink.arg, text, len);
}

static int to_undone(void *arg, const uint8_t *text, size_t len)
{
	struct repair *r = arg;

	return repair_characters(&r->undone, text, len, false);
}

static int body_feed(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	int rc = 0;

	if (r->doubles)
		rc = repair_double(&r->undo[0], in, len, final);
	else if (len > 0)
		rc = to_markup(r, in, len);
	if (rc == 0 && final && r->doubles)
		rc = repair_characters(&r->undone, in, 0, true);
	return rc || !final || !r->lexed ? rc : repair_lex(&r->lex, in, 0, true);
}

/* ---- the prolog ---- */

static void set_version(struct repair *r, bool is_1_1)
{
	unsigned flags = r->flags & ~(unsigned)(is_1_1 ? XML_1_0_REPAIRS : REPAIR_XML_1_1);

	r->lexed = flags & LEX_REPAIRS;
	repair_lex_set_flags(&r->lex, is_1_1 ? flags | REPAIR_XML_1_1 : flags);
}

/* Writes text in place of in[*at] to in[to]. */
static int prolog_put(struct repair *r, const char *text, size_t to, size_t *at)
{
	*at = to;
	return *text ? body_feed(r, (const uint8_t *)text, strlen(text), false) : 0;
}

/* A malformed declaration is written anew. */
static int write_anew(struct repair *r, const struct declaration *d, size_t *at)
{
	static const char *const standalone[] = { "", " standalone=\"no\"", " standalone=\"yes\"" };
	char text[DECLARATION_MAX];

	snprintf(text, sizeof(text), "<?xml version=\"%s\" encoding=\"%s\"%s?>", d->said.version, r->encoding,
	    standalone[d->said.standalone + 1]);
	r->counts[REPAIRED_DECLARATION]++;
	return prolog_put(r, text, d->end, at);
}

/* Only the encoding of a right declaration changes. */
static int write_encoding(struct repair *r, const struct declaration *d, const uint8_t *in, size_t *at)
{
	char text[DECLARATION_MAX];

	if (d->enc_start == d->enc_end || strcasecmp(d->encoding, r->encoding) == 0)
		return 0;
	snprintf(text, sizeof(text), "encoding=\"%s\"", r->encoding);
	r->counts[REPAIRED_DECLARATION]++;
	int rc = body_feed(r, in + *at, d->enc_start - *at, false);
	return rc ? rc : prolog_put(r, text, d->enc_end, at);
}

/* Writes the declaration at *at, and drops everything between it and the document. */
static int declaration_emit(struct repair *r, const struct declaration *d, const uint8_t *in, size_t *at)
{
	enum repair_index behind = d->again ? REPAIRED_DECLARATION : REPAIRED_JUNK;
	int rc = 0;

	if (r->flags & REPAIR_DECLARATION)
		rc = d->right ? write_encoding(r, d, in, at) : write_anew(r, d, at);
	if (rc == 0 && d->said.end > d->end && r->flags >> behind & 1) {
		r->counts[behind]++;
		rc = body_feed(r, in + *at, d->end - *at, false);
		*at = d->said.end;
	}
	return rc;
}

static int prolog_emit(struct repair *r, const struct prolog *p, const uint8_t *in, size_t len)
{
	size_t at = 0;
	int rc = 0;

	set_version(r, p->state == PROLOG_DECLARATION && strcmp(p->declared.said.version, "1.1") == 0);
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
	if (p->state == PROLOG_DECLARATION && p->start > at) {
		rc = body_feed(r, in + at, p->start - at, false);
		at = p->start;
	}
	if (rc == 0 && p->state == PROLOG_DECLARATION)
		rc = declaration_emit(r, &p->declared, in, &at);
	return rc ? rc : body_feed(r, in + at, len - at, false);
}

/* Holds text until prolog_look() can tell its prolog. Its answer is the same for every longer text, so it does not
 * matter when it is asked, only that it is asked for the last time at exactly PROLOG_HOLD_MAX bytes. */
static int prolog_feed(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	size_t take = len < PROLOG_HOLD_MAX - r->held.len ? len : PROLOG_HOLD_MAX - r->held.len;
	const uint8_t *text = in;
	size_t text_len = take;
	struct prolog p = { .state = PROLOG_MORE };

	if (r->held.len > 0) {
		if (held_add(&r->held, in, take, PROLOG_LOOK_FIRST) != 0)
			return -1;
		text = r->held.bytes;
		text_len = r->held.len;
	}
	bool last = text_len == PROLOG_HOLD_MAX || (final && take == len);
	if (last || text_len >= r->look_at)
		prolog_look(&p, text, text_len, last);
	if (p.state == PROLOG_MORE) {
		while (r->look_at <= text_len)
			r->look_at *= 2;
		return r->held.len == 0 ? held_add(&r->held, in, take, PROLOG_LOOK_FIRST) : 0;
	}
	r->in_prolog = false;
	int rc = prolog_emit(r, &p, text, text_len);
	held_free(&r->held);
	return rc || take == len ? rc : body_feed(r, in + take, len - take, false);
}

static int behind_characters(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	int rc = 0;

	if (r->in_prolog && (len > 0 || r->held.len > 0)) {
		rc = prolog_feed(r, in, len, final);
		in += len;
		len = 0;
	}
	if (rc == 0 && (final || !r->in_prolog))
		rc = body_feed(r, in, len, final);
	return rc;
}

static int to_prolog(void *arg, const uint8_t *text, size_t len)
{
	return behind_characters(arg, text, len, false);
}

/* Characters are dropped before anything else is looked at: the text around them means something else then. */
static int text_feed(struct repair *r, const uint8_t *in, size_t len, bool final)
{
	int rc = repair_characters(&r->characters, in, len, final);

	return rc || !final ? rc : behind_characters(r, in, 0, true);
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

struct repair *repair_new(unsigned flags, int ebcdic, const char *encoding, struct sink sink, struct spares *spares)
{
	struct repair *r = spares_take(spares, sizeof(*r));

	if (!r)
		return NULL;
	r->spares = spares;
	r->sink = sink;
	r->flags = flags;
	r->encoding = encoding;
	repair_lex_begin(&r->lex, r->counts, sink);
	set_version(r, flags & REPAIR_XML_1_1);
	r->characters = (struct repair_characters){ .flags = flags, .counts = r->counts, .sink = { to_prolog, r } };
	r->undone = (struct repair_characters){ .flags = flags, .counts = r->counts, .sink = { to_markup, r } };
	r->doubles = flags & REPAIR_DOUBLE;
	for (size_t i = 0; i < TIMES_UNDONE; i++)
		r->undo[i] = (struct repair_double){ .sink = { to_undone, r }, .counts = r->counts,
			.next = i + 1 < TIMES_UNDONE ? &r->undo[i + 1] : NULL };
	r->line_ends = ebcdic && (flags & REPAIR_LINE_ENDS);
	r->in_prolog = (flags & REPAIR_PROLOG) != 0;
	r->look_at = PROLOG_LOOK_FIRST;
	return r;
}

void repair_free(struct repair **r)
{
	if (*r) {
		held_free(&(*r)->held);
		repair_lex_free(&(*r)->lex);
		for (size_t i = 0; i < TIMES_UNDONE; i++)
			repair_double_free(&(*r)->undo[i]);
		spares_give((*r)->spares, *r, sizeof(**r));
	}
	*r = NULL;
}

void repair_set_base(struct repair *r, const char *url)
{
	r->lex.base = url;
}

void repair_set_gateway(struct repair *r, const char *url)
{
	assert(!url || gateway_fits(url));
	repair_lex_set_gateway(&r->lex, r->flags & REPAIR_GATEWAY ? url : NULL);
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
	return rc ? rc : text_feed(r, (const uint8_t *)"", 0, true);
}

void repair_leave_end(struct repair *r)
{
	r->flags &= ~(unsigned)REPAIR_END;
	repair_lex_leave_end(&r->lex);
}

bool repair_is_open(const struct repair *r)
{
	const struct elements *e = &r->lex.elements;

	return r->lexed && (!e->rooted || (!e->doubtful && elements_are_open(e)));
}

bool repair_is_over(const struct repair *r)
{
	return repair_lex_is_over(&r->lex);
}

const uint64_t *repair_counts(const struct repair *r)
{
	return r->counts;
}

uint64_t repair_led(const struct repair *r)
{
	return r->lex.led;
}

const char *repair_name(enum repair_index i)
{
#define REPAIR_ID(id, bit, name, what) [REPAIRED_##id] = name,
	static const char *const names[] = { REPAIRS(REPAIR_ID) };
#undef REPAIR_ID

	assert(i < REPAIR_COUNT);
	return names[i];
}
