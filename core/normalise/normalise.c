/* Owns the facade of core: holding the first bytes, deciding once, correcting once; see normalise.h.
 *
 * A decision is taken only at byte counts that do not depend on how the input was cut. These are 0, 1 KiB, 4 KiB,
 * 16 KiB ... the window's size, or the end of the body. Policies that go by labels and declarations decide at the first
 * of these counts at which labels and declarations are settled. `auto` and `feedparser` judge the bytes and decide at
 * the last; before that they only look whether the body is a feed. */
#include "core/normalise/normalise.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/evidence/sniff.h"
#include "core/memory/held.h"
#include "core/memory/spares.h"
#include "core/normalise/document.h"
#include "core/normalise/recode.h"

enum {
	FIRST_LOOK = 1024,
	NEXT_LOOK = 4,              /* factor from one look to the next */
	ESCAPE = 0x1B,
	REWINDOW_END = 64           /* so many bytes behind an escape tell whether it means something */
};

enum normalise_state {
	NORM_HOLD,          /* bytes are held until the decision */
	NORM_ASCII,         /* `auto` has decided over ASCII only: bytes are written as they are */
	NORM_REWINDOW,      /* the first other byte has come: a second window is held */
	NORM_RECODE,
	NORM_PASS           /* the body is passed on unchanged */
};

struct normaliser {
	struct normalise_options options;
	struct normalise_events events;
	enum normalise_state state;
	int stopped;                /* non-zero: the result of every further call */

	struct held held;
	bool lent;                  /* held is the caller's, whose bytes go on behind held.len */
	size_t next_look;
	bool weighs;                /* the body is XML and its bytes are judged: the next look is the last */

	bool decided;
	struct evidence evidence;
	struct verdict verdict;
	struct recode *recode;      /* NULL: the bytes are passed on, or nothing is decided */
	struct normalise_report report;
};

struct hints_told normalise_told(const struct normalise_options *o)
{
	return (struct hints_told){ o->content_language, o->content_language_len, o->base };
}

const char *normalise_charset(enum normalise_output output)
{
	return output == OUTPUT_US_ASCII ? "us-ascii" : "utf-8";
}

const char *normalise_content_type(enum normalise_output output)
{
	return output == OUTPUT_US_ASCII ? "application/xml; charset=us-ascii" : "application/xml; charset=utf-8";
}

static int write_out(void *arg, const uint8_t *bytes, size_t len)
{
	struct normaliser *n = arg;

	n->report.bytes_out += len;
	return n->events.write(n->events.arg, bytes, len);
}

static void drop_held(struct normaliser *n)
{
	if (n->lent)
		n->held = (struct held){ 0 };
	held_free(&n->held);
	n->lent = false;
}

struct normaliser *normaliser_new(const struct normalise_options *options, const struct normalise_events *events)
{
	struct normaliser *n = spares_take(options->spares, sizeof(*n));

	if (!n)
		return NULL;
	n->options = *options;
	n->events = *events;
	if (n->options.sniff_bytes == 0)
		n->options.sniff_bytes = NORMALISE_SNIFF_BYTES;
	evidence_labels(&n->evidence, options->http, options->content_type, options->content_type_len, options->forced);
	n->evidence.unpacked = options->unpacked;
	return n;
}

void normaliser_free(struct normaliser **n)
{
	if (*n) {
		recode_free(&(*n)->recode);
		drop_held(*n);
		spares_give((*n)->options.spares, *n, sizeof(**n));
	}
	*n = NULL;
}

/* ---- holding ---- */

static int hold(struct normaliser *n, const uint8_t *in, size_t len)
{
	if (!n->lent)
		return held_add(&n->held, in, len, 0) ? NORMALISE_NO_MEMORY : NORMALISE_OK;
	assert(in == n->held.bytes + n->held.len);
	n->held.len += len;
	return NORMALISE_OK;
}

/* ---- deciding ---- */

static unsigned decoder_flags(const struct normaliser *n, const struct verdict *v)
{
	if (v->literal)
		return DECODER_LITERAL;
	return n->options.policy == POLICY_AUTO && v->charset == CS_UTF_8 ? DECODER_STRAYS : 0;
}

/* Whether the policy judges the bytes, so that more of them may change its verdict. */
static bool judges_bytes(const struct normaliser *n)
{
	return n->options.policy == POLICY_FEEDPARSER ||
	    (n->options.policy == POLICY_AUTO && n->options.forced == CS_NONE);
}

/* Decides, if the held bytes are enough for it; *ready false: they are not. */
static int normalise_judge(struct normaliser *n, bool complete, bool *ready)
{
	bool last = complete || n->held.len == n->options.sniff_bytes;
	struct evidence *e = &n->evidence;

	*ready = true;
	if (complete && n->held.len == 0) {
		verdict_untouched(&n->verdict, n->options.policy, VREASON_EMPTY);
		return NORMALISE_OK;
	}
	/* At the end of the window the look-in gets no more bytes, so the bytes count as complete. */
	e->complete = last;
	enum sniff sniff = sniff_decide(e);
	e->complete = complete;
	if (sniff == SNIFF_NOT_XML || (last && sniff == SNIFF_MORE)) {
		verdict_untouched(&n->verdict, n->options.policy, VREASON_NOT_XML);
		return NORMALISE_OK;
	}
	if (sniff == SNIFF_DOCUMENT) {
		*ready = last || !document_is_labelled(e);
		n->weighs = !*ready;
		return *ready && document_decide(n->options.policy, e, &n->verdict) ? NORMALISE_NO_MEMORY :
		    NORMALISE_OK;
	}
	n->weighs = (sniff == SNIFF_FEED || sniff_expects_feed(e)) && judges_bytes(n);
	*ready = last || (sniff != SNIFF_MORE && !n->weighs && !n->options.patient && evidence_is_settled(e));
	if (!*ready)
		return NORMALISE_OK;
	evidence_finish(e);
	if (policy_decide(n->options.policy, e, &n->verdict) != 0)
		return NORMALISE_NO_MEMORY;
	n->verdict.feed = sniff_is_feed(e);
	return NORMALISE_OK;
}

/* Whether the verdict may be corrected later (utfeed-rules(7), "Steps of auto"): the window has only ASCII, and only
 * labels speak for the verdict. */
static bool may_be_revised(const struct normaliser *n)
{
	const struct evidence *e = &n->evidence;

	return n->options.policy == POLICY_AUTO && n->options.forced == CS_NONE && e->BOMEnc == CS_NONE &&
	    e->utf8.ascii && !e->complete && charset_info(n->verdict.charset)->family == FAMILY_ASCII;
}

/* The options' repairs and how they are made, with REPAIR_XML_1_1 where the document's declaration says so. */
static unsigned repairs(const struct normaliser *n)
{
	const struct evidence *e = &n->evidence;
	const char *version = e->hidden.state == XMLDECL_PRESENT ? e->hidden.version : e->decl.version;

	if (n->verdict.keeps_type)
		return n->options.repairs & (REPAIR_BOM | REPAIR_DECLARATION);
	return n->options.repairs | (n->options.gateway ? REPAIR_GATEWAY : 0) |
	    (strcmp(version, "1.1") == 0 ? REPAIR_XML_1_1 : 0) |
	    (n->options.characters == CHARACTERS_REPLACE ? REPAIR_REPLACE_CONTROLS : 0);
}

static int begin(struct normaliser *n)
{
	struct sink sink = { write_out, n };
	struct verdict *v = &n->verdict;

	if (v->kind == VERDICT_CHARSET) {
		n->recode =
		    recode_new(v->charset, decoder_flags(n, v), repairs(n), n->options.output == OUTPUT_US_ASCII, sink,
		        n->options.spares);
		if (!n->recode && errno != EINVAL)
			return NORMALISE_NO_MEMORY;
		if (!n->recode) {
			v->kind = VERDICT_ERROR;
			v->error = VERR_UNDECODABLE;
			v->charset = CS_NONE;
			v->was = v->named;
			v->named = NULL;
		}
		if (n->recode) {
			repair_set_base(recode_repair(n->recode), n->options.base);
			repair_set_gateway(recode_repair(n->recode), n->options.gateway);
			if (recode_set_other(n->recode, v->also, &n->evidence.hints, v->says_utf_8) != 0)
				return NORMALISE_NO_MEMORY;
		}
	}
	n->decided = true;
	int rc = n->events.decided(n->events.arg, v);
	if (rc)
		return rc;
	if (v->kind == VERDICT_ERROR && n->options.on_error == ON_ERROR_REJECT)
		return NORMALISE_REJECTED;
	if (!n->recode)
		n->state = NORM_PASS;
	else
		n->state = may_be_revised(n) ? NORM_ASCII : NORM_RECODE;
	n->evidence.bytes = NULL;
	return NORMALISE_OK;
}

/* Decides again, over the second window, which begins with the first byte that is not ASCII. */
static int revise(struct normaliser *n, bool complete)
{
	struct evidence e = n->evidence;
	struct verdict v;

	e.bytes = n->held.bytes;
	e.len = n->held.len;
	e.complete = complete;
	evidence_finish(&e);
	if (policy_decide(n->options.policy, &e, &v) != 0)
		return NORMALISE_NO_MEMORY;
	n->state = NORM_RECODE;
	if (v.charset != n->verdict.charset && recode_change(n->recode, v.charset, decoder_flags(n, &v)) != 0)
		return NORMALISE_NO_MEMORY;
	if (recode_set_other(n->recode, v.also, &e.hints, v.says_utf_8) != 0)
		return NORMALISE_NO_MEMORY;
	v.feed = n->verdict.feed;
	/* The charset may be windows-1252 as before and the name another one: us-ascii is no longer right. */
	if (v.charset == n->verdict.charset && strcmp(v.named, n->verdict.named) == 0 && v.also == CS_NONE)
		return NORMALISE_OK;
	n->verdict = v;
	n->report.revised = true;
	return n->events.revised ? n->events.revised(n->events.arg, &n->verdict) : NORMALISE_OK;
}

/* ---- streaming ---- */

static int stream(struct normaliser *n, const uint8_t *in, size_t len);

/* Whether the held bytes are a body that is known to be UTF-8 to its end: it was read before the decision, and need not
 * be read again. */
static bool is_well_formed(const struct normaliser *n)
{
	return n->state == NORM_RECODE && n->verdict.charset == CS_UTF_8 && n->evidence.complete &&
	    n->evidence.utf8.valid;
}

static int replay(struct normaliser *n)
{
	struct held held = n->held;
	bool lent = n->lent;

	n->held = (struct held){ 0 };
	n->lent = false;
	int rc = is_well_formed(n) ? recode_text(n->recode, held.bytes, held.len) : stream(n, held.bytes, held.len);
	if (!lent)
		held_free(&held);
	return rc;
}

/* Writes bytes up to the first that may not be plain ASCII: one of 80 and up, or an escape, by which text in
 * ISO-2022-JP begins. */
static int stream_ascii(struct normaliser *n, const uint8_t *in, size_t len, size_t *used)
{
	*used = utf8_ascii_prefix(in, len);
	const uint8_t *escape = memchr(in, ESCAPE, *used);
	if (escape)
		*used = (size_t)(escape - in);
	if (*used < len)
		n->state = NORM_REWINDOW;
	return recode_text(n->recode, in, *used);
}

/* Ends the second window. If it has only ASCII and changed nothing, its escape meant nothing, and the state goes
 * back to NORM_ASCII. An escape at its end may mean something with the bytes that follow, so the next window begins
 * with that one. */
static int replay_rewindow(struct normaliser *n, bool complete)
{
	bool ascii = utf8_ascii_prefix(n->held.bytes, n->held.len) == n->held.len;
	int rc = revise(n, complete);

	if (rc == 0 && ascii && !n->report.revised) {
		const uint8_t *end = n->held.bytes + n->held.len, *escape = NULL;
		size_t done;

		if (!complete)
			escape = memchr(end - REWINDOW_END, ESCAPE, REWINDOW_END);
		done = (size_t)((escape ? escape : end) - n->held.bytes);
		rc = recode_text(n->recode, n->held.bytes, done);
		n->state = NORM_ASCII;
		held_drop(&n->held, done);
	}
	return rc ? rc : replay(n);
}

static int stream_rewindow(struct normaliser *n, const uint8_t *in, size_t len, size_t *used)
{
	size_t room = NORMALISE_REWINDOW_BYTES - n->held.len;

	*used = len < room ? len : room;
	int rc = hold(n, in, *used);
	if (rc || n->held.len < NORMALISE_REWINDOW_BYTES)
		return rc;
	return replay_rewindow(n, false);
}

static int stream(struct normaliser *n, const uint8_t *in, size_t len)
{
	int rc = 0;

	while (rc == 0 && len > 0) {
		size_t used = len;

		switch (n->state) {
		case NORM_PASS:
			rc = write_out(n, in, len);
			break;
		case NORM_RECODE:
			rc = recode_feed(n->recode, in, len);
			break;
		case NORM_ASCII:
			rc = stream_ascii(n, in, len, &used);
			break;
		case NORM_REWINDOW:
			rc = stream_rewindow(n, in, len, &used);
			break;
		case NORM_HOLD:
			assert(!"a held body does not stream");
		}
		in += used;
		len -= used;
	}
	return rc;
}

/* Looks at the held bytes; where they are enough for a decision they are written. */
static int normalise_look(struct normaliser *n, bool complete)
{
	bool ready = true;

	evidence_look(&n->evidence, n->held.bytes, n->held.len, complete);
	n->evidence.told = normalise_told(&n->options);
	int rc = normalise_judge(n, complete, &ready);
	if (rc)
		return rc;
	if (!ready) {
		n->next_look = n->next_look == 0 ? FIRST_LOOK : n->next_look * NEXT_LOOK;
		if (n->weighs || n->next_look > n->options.sniff_bytes)
			n->next_look = n->options.sniff_bytes;
		return NORMALISE_OK;
	}
	rc = begin(n);
	return rc ? rc : replay(n);
}

static int feed_held(struct normaliser *n, const uint8_t *in, size_t len, size_t *used)
{
	int rc = NORMALISE_OK;

	*used = 0;
	while (rc == 0 && n->state == NORM_HOLD && (*used < len || n->held.len == n->next_look)) {
		size_t room = n->next_look - n->held.len, take = len - *used < room ? len - *used : room;

		rc = hold(n, in + *used, take);
		*used += take;
		if (rc == 0 && n->held.len == n->next_look)
			rc = normalise_look(n, false);
	}
	return rc;
}

static void update_report(struct normaliser *n)
{
	if (!n->recode)
		return;
	n->report.malformed = recode_malformed(n->recode);
	n->report.lost = recode_lost(n->recode);
	n->report.led = repair_led(recode_repair(n->recode));
	n->report.others = recode_others(n->recode);
	memcpy(n->report.repairs, repair_counts(recode_repair(n->recode)), sizeof(n->report.repairs));
}

static int stop(struct normaliser *n, int rc)
{
	update_report(n);
	if (rc) {
		n->stopped = rc;
		n->evidence.bytes = NULL;
		drop_held(n);
	}
	return rc;
}

int normaliser_feed(struct normaliser *n, const uint8_t *in, size_t len)
{
	size_t used = 0;
	int rc = n->stopped;

	if (rc || len == 0)
		return rc;
	n->report.bytes_in += len;
	if (n->state == NORM_HOLD)
		rc = feed_held(n, in, len, &used);
	return stop(n, rc || used == len ? rc : stream(n, in + used, len - used));
}

int normaliser_finish(struct normaliser *n)
{
	int rc = n->stopped;

	if (rc)
		return rc;
	if (n->state == NORM_HOLD)
		rc = normalise_look(n, true);
	if (rc == 0 && n->state == NORM_REWINDOW)
		rc = replay_rewindow(n, true);
	if (rc == 0 && n->recode)
		rc = recode_finish(n->recode);
	return stop(n, rc);
}

int normaliser_feed_last(struct normaliser *n, const uint8_t *in, size_t len)
{
	if (n->state == NORM_HOLD && n->held.len == 0 && len > 0) {
		drop_held(n);
		n->held.bytes = (uint8_t *)(uintptr_t)in;      /* only read */
		n->lent = true;
	}
	int rc = normaliser_feed(n, in, len);
	return rc ? rc : normaliser_finish(n);
}

void normaliser_leave_end(struct normaliser *n)
{
	n->options.repairs &= ~(unsigned)REPAIR_END;
	if (n->recode)
		repair_leave_end(recode_repair(n->recode));
}

bool normaliser_is_open(const struct normaliser *n)
{
	return n->recode && repair_is_open(recode_repair(n->recode));
}

bool normaliser_is_over(const struct normaliser *n)
{
	return n->recode && repair_is_over(recode_repair(n->recode));
}

const struct verdict *normaliser_verdict(const struct normaliser *n)
{
	return n->decided ? &n->verdict : NULL;
}

const struct normalise_report *normaliser_report(const struct normaliser *n)
{
	return &n->report;
}
