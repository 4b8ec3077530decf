/* From body bytes to object; see transform.h. */
#include "proxy/object/transform_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory/spares.h"
#include "proxy/net/loop.h"

int transform_fail(struct transform *s, enum failure_kind error, const char *details)
{
	if (!s->failed)
		failure_set(&s->failure, error, "%s", details);
	s->failed = true;
	return -1;
}

int transform_no_memory(struct transform *s)
{
	return transform_fail(s, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
}

static int transform_too_large(struct transform *s)
{
	return transform_fail(s, FAILURE_HTTP_BODY_SIZE, "compressed data unpacks to too much");
}

static void transform_set_verdict(struct transform *s, const struct verdict *v, bool revised)
{
	char rule[VERDICT_FORMAT_MAX] = "";

	object_set_verdict(s->object, v, revised);
	if (!log_is(LOG_LEVEL_DEBUG))
		return;
	verdict_format(v, rule, sizeof rule);
	log_step(&s->options.id, "encoding: %s%s", rule, revised ? ", revised" : "");
}

/* About how long the body will be: of a charset of one byte a letter, up to twice what the origin says. */
static void transform_expect(struct transform *s, const struct verdict *v)
{
	enum { ROOM_BYTES = 256 /* for another declaration and a few repairs */ };

	if (!s->msg->has_length || s->decode || s->hold.state != HOLD_NONE)
		return;
	if (s->body != RESPONSE_NORMALISED)
		object_expect(s->object, s->msg->content_length);
	else if (s->msg->content_length < UINT64_MAX / 4)
		object_expect(s->object,
		    s->msg->content_length * (v->charset == CS_UTF_8 ? 1 : 2) + ROOM_BYTES);
}

int transform_head(struct transform *s, const struct verdict *v, enum response_body body)
{
	struct object_head *head;

	/* What is not to be touched cannot be judged. */
	if (s->options.needs_feed && !v->feed && v->reason != VREASON_NO_TRANSFORM)
		return transform_fail(s, FAILURE_NO_FEED, v->reason ? verdict_reason_name(v->reason) : "another root");
	s->body = body;
	s->undecided = false;
	object_report(s->object)->normalised = body == RESPONSE_NORMALISED;
	object_report(s->object)->decoded = body == RESPONSE_DECODED;
	transform_set_verdict(s, v, false);
	s->options.head.date = loop_http_date(s->options.loop);
	if (!(head = response_head_build(s->msg, body, &s->options.head)))
		return transform_no_memory(s);
	if ((head->coded = s->coded))
		head->content_length = (int64_t)s->coded_len;
	transform_expect(s, v);
	object_head(s->object, head);
	return 0;
}

static int transform_on_decided(void *arg, const struct verdict *v)
{
	struct transform *s = arg;
	struct verdict coded;

	if (hold_decided(s, v))
		return 0;
	s->options.head.keeps_type = v->keeps_type;
	if (s->misnamed && v->kind == VERDICT_NONE) {
		verdict_untouched(&coded, s->options.encoding.policy, VREASON_ENCODED);
		v = &coded;
	}
	if (v->kind == VERDICT_CHARSET)
		return transform_head(s, v, RESPONSE_NORMALISED);
	if (v->kind == VERDICT_ERROR && s->options.encoding.on_error == ON_ERROR_REJECT) {
		transform_set_verdict(s, v, false);
		return transform_fail(s, FAILURE_ENCODING, verdict_error_name(v->error));
	}
	s->bypass = true;
	if (!s->unpacks)
		return transform_head(s, v, RESPONSE_RAW);
	if (!s->keep_raw)
		return transform_head(s, v, RESPONSE_DECODED);
	s->drop_output = true;
	return transform_head(s, v, RESPONSE_RAW);
}

static int transform_on_revised(void *arg, const struct verdict *v)
{
	struct transform *s = arg;

	if (hold_let_go(s))
		return -1;
	transform_set_verdict(s, v, true);
	return 0;
}

static int transform_on_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct transform *s = arg;
	int failed;

	if (s->drop_output)
		return 0;
	if (hold_wrote(s, bytes, len, &failed))
		return failed;
	return object_append(s->object, bytes, len) ? transform_no_memory(s) : 0;
}

struct transform *transform_new(struct object *o, const struct http_msg *m, const struct transform_options *options)
{
	struct transform *s = spares_take(options->encoding.spares, sizeof *s);

	if (!s)
		return NULL;
	s->object = o;
	s->msg = m;
	s->options = *options;
	s->undecided = true;
	return s;
}

void transform_free(struct transform **sp)
{
	struct transform *s = *sp;

	if (!s)
		return;
	content_coding_free(&s->decode);
	normaliser_free(&s->normaliser);
	free(s->raw);
	hold_free(&s->hold);
	spares_give(s->options.encoding.spares, s, sizeof *s);
	*sp = NULL;
}

/* Begins to undo the content coding, if it is one we know. That is done even for an untouched body if the client does
 * not take its coding. */
static int transform_open_decode(struct transform *s, enum content_coding_kind coding)
{
	if (coding != CODING_KNOWN)
		return 0;
	s->options.head.varies = true;
	s->decode = content_coding_new(s->msg, &s->options.limits);
	return s->decode ? 0 : transform_no_memory(s);
}

/* Content-Language in several fields tells no language, as it tells none where one field has several. */
static void transform_tell_language(struct transform *s)
{
	struct slice language = http_msg_get(s->msg, H_CONTENT_LANGUAGE);

	if (http_msg_count(s->msg, H_CONTENT_LANGUAGE) > 1)
		language = (struct slice){ NULL, 0 };
	s->options.encoding.content_language = language.at;
	s->options.encoding.content_language_len = language.len;
}

int transform_open_normaliser(struct transform *s)
{
	const struct normalise_events events = { .decided = transform_on_decided, .revised = transform_on_revised,
		.write = transform_on_write,
		.arg = s };

	s->normaliser = normaliser_new(&s->options.encoding, &events);
	if (!s->normaliser)
		return transform_no_memory(s);
	if (s->end_left)
		normaliser_leave_end(s->normaliser);
	return 0;
}

int transform_open_ordinary(struct transform *s)
{
	if (transform_open_decode(s, content_coding_kind(s->msg)) || transform_open_normaliser(s))
		return -1;
	/* A body that ends with the connection may be cut (RFC 9112 section 8); a coding has an end of its own. */
	if (!s->msg->chunked && !s->msg->has_length && !s->decode)
		normaliser_leave_end(s->normaliser);
	return 0;
}

static int transform_open(struct transform *s)
{
	enum content_coding_kind coding = content_coding_kind(s->msg);
	enum verdict_reason reason = response_untouched(s->msg, s->options.normalise, s->options.respect_no_transform);
	bool bodyless = s->msg->status == 204 || s->msg->status == 304 || reason == VREASON_EMPTY;
	struct slice type = http_msg_get(s->msg, H_CONTENT_TYPE);
	bool takes = content_coding_accepted(s->msg, &s->options.client_codings);
	struct verdict v;

	if (reason != VREASON_NONE) {
		verdict_untouched(&v, s->options.encoding.policy, reason);
		/* A part of a coded body cannot be decoded by itself. Decoding is a transformation (RFC 9110 section
		 * 7.7), which no-transform forbids. */
		if (!takes && !bodyless && reason != VREASON_PARTIAL && reason != VREASON_NO_TRANSFORM &&
		    transform_open_decode(s, coding))
			return -1;
		return transform_head(s, &v, s->decode ? RESPONSE_DECODED : RESPONSE_RAW);
	}
	s->misnamed = s->options.encoding.unpacked = coding == CODING_UNKNOWN;
	s->unpacks = coding == CODING_KNOWN;
	s->options.head.varies |= s->unpacks;
	s->keep_raw = s->unpacks && takes;
	s->options.encoding.content_type = type.at;
	s->options.encoding.content_type_len = type.len;
	s->options.encoding.patient = s->options.needs_feed;
	transform_tell_language(s);
	if (hold_begin(s))
		return 0;
	s->peels = peel_applies(s);
	return s->peels ? 0 : transform_open_ordinary(s);
}

enum transform_result transform_result(struct transform *s, int failed, struct failure *failure)
{
	if (failed || s->failed) {
		if (!s->failed)
			transform_no_memory(s);
		*failure = s->failure;
		return TRANSFORM_FAILED;
	}
	return TRANSFORM_OK;
}

enum transform_result transform_start(struct transform *s, struct failure *failure)
{
	return transform_result(s, transform_open(s), failure);
}

int transform_turn_raw(struct transform *s, size_t *used, size_t len)
{
	int r = object_append(s->object, s->raw, s->raw_len);

	*used = len;
	s->output_pending = s->paused = false;
	content_coding_free(&s->decode);
	normaliser_free(&s->normaliser);
	free(s->raw);
	s->raw = NULL;
	s->raw_len = s->raw_cap = 0;
	s->drop_output = s->keep_raw = false;
	return r ? transform_no_memory(s) : 0;
}

int transform_plain(struct transform *s, const uint8_t *in, size_t len)
{
	if (s->normaliser) {
		int r = normaliser_feed(s->normaliser, in, len);

		if (!r && s->bypass && !s->drop_output)
			normaliser_free(&s->normaliser);
		return r;
	}
	return object_append(s->object, in, len) ? transform_no_memory(s) : 0;
}

/* How much is remembered for one decision: a coding may hide few bytes of text in a lot of input. */
static size_t transform_memory(const struct transform *s)
{
	size_t window = s->options.encoding.sniff_bytes;

	return (window > TRANSFORM_SLICE ? window : TRANSFORM_SLICE) * TRANSFORM_HEADROOM;
}

/* Remembers bytes that may still be sent as they came. */
static int transform_remember(struct transform *s, const uint8_t *in, size_t len)
{
	if (!s->keep_raw)
		return 0;
	if (!s->undecided || (!s->peeled && s->raw_len + len > transform_memory(s))) {
		s->keep_raw = false;
		free(s->raw);
		s->raw = NULL;
		return 0;
	}
	if (s->raw_cap - s->raw_len < len) {
		size_t cap = (s->raw_len + len) * 2;
		uint8_t *raw = realloc(s->raw, cap);

		if (!raw)
			return transform_no_memory(s);
		s->raw = raw;
		s->raw_cap = cap;
	}
	memcpy(s->raw + s->raw_len, in, len);
	s->raw_len += len;
	return 0;
}

static int transform_unpack(struct transform *s, const uint8_t *in, size_t len, size_t *used)
{
	const uint8_t *at = in;
	size_t left = len;
	enum content_coding_result r;
	bool more, spent;

	if (peel_is_open(s) && s->raw_len > transform_memory(s))
		return peel_give_up(s, used, len);
	do {
		uint8_t out[TRANSFORM_SLICE];
		size_t n;

		r = content_coding_run(s->decode, &at, &left, out, sizeof out, &n);
		*used = len - left;
		more = r == DECODE_ROOM || r == DECODE_PAUSE;
		spent = loop_is_spent(s->options.loop);
		s->paused = more && spent;
		s->output_pending = more;
		if (n && transform_plain(s, out, n))
			return -1;
		if (s->drop_output)
			return transform_turn_raw(s, used, len);
	} while (more && !spent && (s->undecided || !object_full(s->object)));
	switch (r) {
	case DECODE_MORE:
	case DECODE_ROOM:
	case DECODE_PAUSE:
		return 0;
	case DECODE_DAMAGED:
		if (peel_is_open(s))
			return peel_give_up(s, used, len);
		return transform_fail(s, FAILURE_HTTP_CONTENT_CODING, "damaged compressed data");
	case DECODE_TOO_LARGE:
		if (peel_is_open(s))
			return peel_give_up(s, used, len);
		return transform_too_large(s);
	case DECODE_CROWDED:
		return transform_fail(s, FAILURE_PROXY_INTERNAL_ERROR,
		    "other responses' decoders have all the memory (decoding-bytes)");
	default:
		return transform_no_memory(s);
	}
}

enum transform_result transform_feed_ordinary(struct transform *s, const uint8_t *in, size_t len, size_t *used,
    struct failure *failure)
{
	*used = 0;
	s->fed = true;
	while (*used < len || s->output_pending) {
		/* Before the decision bytes are only held, so they need not be cut into slices. */
		bool slices = !s->undecided || s->decode || len - *used > s->options.encoding.sniff_bytes;
		size_t n = slices && len - *used > TRANSFORM_SLICE ? TRANSFORM_SLICE : len - *used, took = n;
		int r;

		if (!s->undecided && object_full(s->object))
			return TRANSFORM_FULL;
		if (s->decode)
			r = transform_remember(s, in + *used, n) || transform_unpack(s, in + *used, n, &took);
		else
			r = transform_plain(s, in + *used, n);
		*used += took;
		if (r)
			return transform_result(s, r, failure);
		if (s->paused || (!s->decode && *used < len && loop_is_spent(s->options.loop)))
			return TRANSFORM_PAUSED;
	}
	return TRANSFORM_OK;
}

enum transform_result transform_feed(struct transform *s, const uint8_t *in, size_t len, size_t *used,
    struct failure *failure)
{
	size_t first = 0;
	enum transform_result r = TRANSFORM_OK;

	if (s->hold.state != HOLD_NONE)
		return hold_feed(s, in, len, used, failure);
	if (s->peels)
		r = peel_feed(s, in, len, &first, failure);
	*used = first;
	if (r != TRANSFORM_OK || s->peels)
		return r;
	r = transform_feed_ordinary(s, in + first, len - first, used, failure);
	*used += first;
	return r;
}

static void transform_count(struct transform *s)
{
	const struct normalise_report *r = normaliser_report(s->normaliser);
	uint64_t repairs = 0;

	for (size_t i = 0; i < REPAIR_COUNT; i++)
		repairs += r->repairs[i];
	object_count(s->object, repairs, r->malformed);
	stats_add(loop_stats(s->options.loop), STAT_URLS_LED, r->led);
}

void transform_leave_end(struct transform *s)
{
	s->end_left = true;
	if (s->normaliser)
		normaliser_leave_end(s->normaliser);
}

bool transform_is_over(const struct transform *s)
{
	return s->normaliser && normaliser_is_over(s->normaliser);
}

enum transform_result transform_end(struct transform *s, int failed, struct failure *failure)
{
	if (failed)
		return transform_result(s, failed, failure);
	object_done(s->object);
	return TRANSFORM_OK;
}

enum transform_result transform_finish(struct transform *s, struct failure *failure)
{
	int r = peel_finish(s, failure) == TRANSFORM_OK ? hold_finish(s) : -1;
	bool cut = !r && s->decode && !content_coding_complete(s->decode) && !transform_is_over(s);

	if (cut && peel_is_open(s))
		r = peel_give_up(s, &(size_t){ 0 }, 0);
	else if (cut)
		r = content_coding_withheld(s->decode) ? transform_too_large(s) :
		    transform_fail(s, FAILURE_HTTP_RESPONSE_INCOMPLETE, "compressed data ended too early");
	if (!r && s->normaliser) {
		r = normaliser_finish(s->normaliser);
		if (!r && s->drop_output) {
			r = s->hold.state == HOLD_READS ? hold_turn_raw(s) : transform_turn_raw(s, &(size_t){ 0 }, 0);
		} else if (!r) {
			transform_count(s);
			r = hold_settle(s);
		}
	}
	return transform_end(s, r, failure);
}

bool transform_feed_whole(struct transform *s, const uint8_t *in, size_t len, struct failure *failure,
    enum transform_result *result)
{
	int r;

	if (s->hold.state != HOLD_NONE)
		return false;
	if (s->peels && peel_feed_whole(s, in, len)) {
		*result = transform_result(s, s->failed, failure);
		return s->failed;
	}
	if (!s->undecided || s->decode || s->fed || len > s->options.encoding.sniff_bytes)
		return false;
	r = normaliser_feed_last(s->normaliser, in, len);
	if (!r)
		transform_count(s);
	*result = transform_end(s, r, failure);
	return true;
}
