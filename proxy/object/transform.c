/* From body bytes to object; see transform.h. */
#include "proxy/object/transform_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/spares.h"
#include "proxy/net/loop.h"

/* Bits of what may follow each way in, and of the decisions that exist there; and of what may follow each decision. */
#define IN(input) (1u << INPUT_##input)
#define TO(decision) (1u << DECISION_##decision)
#define ANY (~0u)
static const struct { unsigned next, decisions; } transform_inputs[] = {
	[INPUT_ORDINARY] = { IN(PEELED) | IN(COLLECTED), ANY },
	[INPUT_PEELED] = { IN(ORDINARY), TO(OPEN) },
	[INPUT_COLLECTED] = { IN(COMPARED) | IN(READ) | IN(REPLAYED), TO(OPEN) },
	[INPUT_COMPARED] = { IN(READ) | IN(PASSED), TO(OPEN) },
	[INPUT_READ] = { 0, ANY },
	[INPUT_REPLAYED] = { IN(ORDINARY), ANY },
	[INPUT_PASSED] = { 0, TO(OPEN) | TO(TEXT) },
};
static const unsigned transform_decisions[] = {
	[DECISION_OPEN] = TO(TEXT) | TO(UNTOUCHED) | TO(RAW),
	[DECISION_TEXT] = 0,
	[DECISION_UNTOUCHED] = 0,
	[DECISION_RAW] = TO(UNTOUCHED),
};

void transform_set(struct transform *tr, enum transform_input input, enum transform_decision decision)
{
	assert(input == tr->input || transform_inputs[tr->input].next >> input & 1);
	assert(decision == tr->decision || transform_decisions[tr->decision] >> decision & 1);
	assert(transform_inputs[input].decisions >> decision & 1);
	tr->input = input;
	tr->decision = decision;
}

int transform_fail(struct transform *tr, enum failure_kind error, const char *details)
{
	if (!tr->failure.error)
		failure_set(&tr->failure, error, "%s", details);
	return -1;
}

const struct failure *transform_failure(const struct transform *tr)
{
	return &tr->failure;
}

int transform_no_memory(struct transform *tr)
{
	return transform_fail(tr, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
}

static void transform_set_verdict(struct transform *tr, const struct verdict *v, bool revised)
{
	char rule[VERDICT_FORMAT_MAX] = "";

	object_set_verdict(tr->object, v, revised);
	if (!log_is(LOG_LEVEL_DEBUG))
		return;
	verdict_format(v, rule, sizeof rule);
	log_step(&tr->options.id, "encoding: %s%s", rule, revised ? ", revised" : "");
}

/* About how long the body will be: of a charset of one byte a letter, up to twice what the origin says. */
static void transform_expect(struct transform *tr, const struct verdict *v, enum response_body body)
{
	enum { ROOM_BYTES = 256 /* for another declaration and a few repairs */ };

	if (!tr->msg->has_length || tr->decode || tr->input != INPUT_ORDINARY)
		return;
	if (body != RESPONSE_NORMALISED)
		object_expect(tr->object, tr->msg->content_length);
	else if (tr->msg->content_length < UINT64_MAX / 4)
		object_expect(tr->object,
		    tr->msg->content_length * (v->charset == CS_UTF_8 ? 1 : 2) + ROOM_BYTES);
}

int transform_head(struct transform *tr, const struct verdict *v, enum response_body body)
{
	struct object_head *head;

	/* What is not to be touched cannot be judged. */
	if (tr->options.needs_feed && !v->feed && v->reason != VREASON_NO_TRANSFORM)
		return transform_fail(tr, FAILURE_NO_FEED, v->reason ? verdict_reason_name(v->reason) : "another root");
	transform_set(tr, tr->input, body == RESPONSE_NORMALISED ? DECISION_TEXT
	    : body == RESPONSE_RAW && tr->keeps_raw              ? DECISION_RAW
	    : DECISION_UNTOUCHED);
	object_report(tr->object)->normalised = body == RESPONSE_NORMALISED;
	object_report(tr->object)->decoded = body == RESPONSE_DECODED;
	transform_set_verdict(tr, v, false);
	tr->options.head.date = loop_http_date(tr->options.loop);
	if (!(head = response_head_build(tr->msg, body, &tr->options.head)))
		return transform_no_memory(tr);
	if ((head->coded = tr->input == INPUT_PASSED))
		head->content_length = (int64_t)tr->pass.raw_len;
	transform_expect(tr, v, body);
	object_head(tr->object, head);
	return 0;
}

static int transform_on_decided(void *arg, const struct verdict *v)
{
	struct transform *tr = arg;
	struct verdict coded;

	tr->options.head.keeps_type = v->keeps_type;
	if (pass_waits(tr, v) || close_waits(tr, v))
		return 0;
	if (tr->coding == CODING_UNKNOWN && v->kind == VERDICT_NONE) {
		verdict_untouched(&coded, tr->options.encoding.policy, VREASON_ENCODED);
		v = &coded;
	}
	if (v->kind == VERDICT_CHARSET)
		return transform_head(tr, v, RESPONSE_NORMALISED);
	if (v->kind == VERDICT_ERROR && tr->options.encoding.on_error == ON_ERROR_REJECT) {
		transform_set_verdict(tr, v, false);
		return transform_fail(tr, FAILURE_ENCODING, verdict_error_name(v->error));
	}
	bool unpacks = tr->coding == CODING_KNOWN || tr->peeled;
	return transform_head(tr, v, unpacks && !tr->keeps_raw ? RESPONSE_DECODED : RESPONSE_RAW);
}

static int transform_on_revised(void *arg, const struct verdict *v)
{
	struct transform *tr = arg;

	if (pass_let_go(tr))
		return -1;
	transform_set_verdict(tr, v, true);
	return 0;
}

static int transform_on_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct transform *tr = arg;

	if (tr->decision == DECISION_RAW || (tr->input == INPUT_COMPARED && pass_is_same(tr, bytes, len)))
		return 0;
	if (pass_let_go(tr))
		return -1;
	if (tr->end == END_HELD)
		return held_add(&tr->last, bytes, len, 0) ? transform_no_memory(tr) : 0;
	return object_append(tr->object, bytes, len) ? transform_no_memory(tr) : 0;
}

struct transform *transform_new(struct object *o, const struct http_msg *m, const struct transform_options *options)
{
	struct transform *tr = spares_take(options->encoding.spares, sizeof *tr);

	if (!tr)
		return NULL;
	tr->object = o;
	tr->msg = m;
	tr->options = *options;
	return tr;
}

void transform_free(struct transform **sp)
{
	struct transform *tr = *sp;

	if (!tr)
		return;
	content_coding_free(&tr->decode);
	normaliser_free(&tr->normaliser);
	free(tr->raw);
	held_free(&tr->last);
	pass_free(&tr->pass);
	spares_give(tr->options.encoding.spares, tr, sizeof *tr);
	*sp = NULL;
}

/* Content-Language in several fields tells no language, as it tells none where one field has several. */
static void transform_tell_language(struct transform *tr)
{
	struct slice language = http_msg_get(tr->msg, H_CONTENT_LANGUAGE);

	if (http_msg_count(tr->msg, H_CONTENT_LANGUAGE) > 1)
		language = (struct slice){ NULL, 0 };
	tr->options.encoding.content_language = language.at;
	tr->options.encoding.content_language_len = language.len;
}

int transform_open_normaliser(struct transform *tr)
{
	const struct normalise_events events = { .decided = transform_on_decided, .revised = transform_on_revised,
		.write = transform_on_write,
		.arg = tr };

	tr->normaliser = normaliser_new(&tr->options.encoding, &events);
	if (!tr->normaliser)
		return transform_no_memory(tr);
	if (tr->end_left)
		normaliser_leave_end(tr->normaliser);
	return 0;
}

int transform_open_ordinary(struct transform *tr)
{
	if (transform_open_decode(tr))
		return -1;
	if (close_applies(tr)) {
		tr->end = END_BY_CLOSE;
		tr->end_left = true;
	}
	return transform_open_normaliser(tr);
}

static int transform_open(struct transform *tr)
{
	const struct transform_options *options = &tr->options;
	enum verdict_reason reason = response_untouched(tr->msg, options->normalise, options->respect_no_transform);
	bool bodyless = tr->msg->status == 204 || tr->msg->status == 304 || reason == VREASON_EMPTY;
	struct slice type = http_msg_get(tr->msg, H_CONTENT_TYPE);
	bool takes = content_coding_accepted(tr->msg, &options->client_codings);
	struct verdict v;

	tr->coding = content_coding_kind(tr->msg);
	if (reason != VREASON_NONE) {
		verdict_untouched(&v, tr->options.encoding.policy, reason);
		/* A part of a coded body cannot be decoded by itself. Decoding is a transformation (RFC 9110 section
		 * 7.7), which no-transform forbids. */
		if (!takes && !bodyless && reason != VREASON_PARTIAL && reason != VREASON_NO_TRANSFORM &&
		    transform_open_decode(tr))
			return -1;
		return transform_head(tr, &v, tr->decode ? RESPONSE_DECODED : RESPONSE_RAW);
	}
	tr->options.encoding.unpacked = tr->coding == CODING_UNKNOWN;
	tr->options.head.varies |= tr->coding == CODING_KNOWN;
	tr->keeps_raw = tr->coding == CODING_KNOWN && takes;
	tr->options.encoding.content_type = type.at;
	tr->options.encoding.content_type_len = type.len;
	tr->options.encoding.patient = tr->options.needs_feed;
	transform_tell_language(tr);
	if (pass_begin(tr))
		return 0;
	if (!peel_applies(tr))
		return transform_open_ordinary(tr);
	transform_set(tr, INPUT_PEELED, tr->decision);
	return 0;
}

enum transform_result transform_result(struct transform *tr, int failed)
{
	if (!failed && !tr->failure.error)
		return TRANSFORM_OK;
	transform_no_memory(tr);       /* if nothing else was told */
	return TRANSFORM_FAILED;
}

enum transform_result transform_start(struct transform *tr)
{
	return transform_result(tr, transform_open(tr));
}

int transform_turn_raw(struct transform *tr, const uint8_t *raw, size_t len)
{
	int r = object_append(tr->object, raw, len);

	transform_set(tr, tr->input, DECISION_UNTOUCHED);
	tr->decoder = DECODER_IDLE;
	content_coding_free(&tr->decode);
	normaliser_free(&tr->normaliser);
	free(tr->raw);
	tr->raw = NULL;
	tr->raw_len = tr->raw_cap = 0;
	tr->keeps_raw = false;
	return r ? transform_no_memory(tr) : 0;
}

int transform_plain(struct transform *tr, const uint8_t *in, size_t len)
{
	if (tr->normaliser) {
		int r = normaliser_feed(tr->normaliser, in, len);

		if (!r && tr->decision == DECISION_UNTOUCHED)
			normaliser_free(&tr->normaliser);
		return r;
	}
	return object_append(tr->object, in, len) ? transform_no_memory(tr) : 0;
}

enum transform_result transform_feed_ordinary(struct transform *tr, const uint8_t *in, size_t len, size_t *used)
{
	*used = 0;
	while (*used < len || tr->decoder != DECODER_IDLE) {
		/* Before the decision bytes are only held, so they need not be cut into slices. */
		bool open = tr->decision == DECISION_OPEN;
		bool slices = !open || tr->decode || len - *used > tr->options.encoding.sniff_bytes;
		size_t n = slices && len - *used > TRANSFORM_SLICE ? TRANSFORM_SLICE : len - *used, took = n;
		int r;

		if (!open && object_full(tr->object))
			return TRANSFORM_FULL;
		if (tr->decode)
			r = transform_decode(tr, in + *used, n, &took);
		else
			r = transform_plain(tr, in + *used, n);
		*used += took;
		if (r)
			return transform_result(tr, r);
		if (tr->decoder == DECODER_PAUSED || (!tr->decode && *used < len && loop_is_spent(tr->options.loop)))
			return TRANSFORM_PAUSED;
	}
	return TRANSFORM_OK;
}

enum transform_result transform_feed(struct transform *tr, const uint8_t *in, size_t len, size_t *used)
{
	size_t first = 0;
	enum transform_result r = TRANSFORM_OK;

	if (tr->input != INPUT_ORDINARY && tr->input != INPUT_PEELED)
		return pass_feed(tr, in, len, used);
	if (tr->input == INPUT_PEELED)
		r = peel_feed(tr, in, len, &first);
	*used = first;
	if (r != TRANSFORM_OK || tr->input == INPUT_PEELED)
		return r;
	r = transform_feed_ordinary(tr, in + first, len - first, used);
	*used += first;
	return r;
}

static void transform_count(struct transform *tr)
{
	const struct normalise_report *report = normaliser_report(tr->normaliser);
	uint64_t repairs = 0;

	for (size_t i = 0; i < REPAIR_COUNT; i++)
		repairs += report->repairs[i];
	object_count(tr->object, repairs, report->malformed);
	stats_add(loop_stats(tr->options.loop), STAT_URLS_LED, report->led);
}

void transform_leave_end(struct transform *tr)
{
	tr->end_left = true;
	if (tr->normaliser)
		normaliser_leave_end(tr->normaliser);
}

bool transform_is_over(const struct transform *tr)
{
	return tr->normaliser && normaliser_is_over(tr->normaliser);
}

/* What is left to do once all of the body went through. */
static enum transform_result transform_end(struct transform *tr, int failed)
{
	if (failed)
		return transform_result(tr, failed);
	object_done(tr->object);
	return TRANSFORM_OK;
}

enum transform_result transform_finish(struct transform *tr)
{
	int r = peel_finish(tr) == TRANSFORM_OK ? transform_end_decode(tr) : -1;

	if (!r && tr->normaliser) {
		close_comes(tr);
		r = normaliser_finish(tr->normaliser);
		if (!r && tr->decision == DECISION_RAW) {
			r = tr->input == INPUT_READ ? pass_turn_raw(tr) : transform_turn_raw(tr, tr->raw, tr->raw_len);
		} else if (!r) {
			transform_count(tr);
			r = close_settle(tr);
			r = r ? r : pass_settle(tr);
		}
	}
	return transform_end(tr, r);
}

enum transform_result transform_feed_whole(struct transform *tr, const uint8_t *in, size_t len)
{
	if (tr->input == INPUT_PEELED) {
		if (container_is_gzip(in, len))
			return TRANSFORM_UNFED;
		if (peel_settle(tr, false))
			return TRANSFORM_FAILED;
	}
	if (tr->input != INPUT_ORDINARY || tr->decision != DECISION_OPEN || tr->decode ||
	    len > tr->options.encoding.sniff_bytes)
		return TRANSFORM_UNFED;
	int r = normaliser_feed_last(tr->normaliser, in, len);
	if (!r)
		transform_count(tr);
	return transform_end(tr, r);
}
