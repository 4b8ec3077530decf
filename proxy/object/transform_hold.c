/* Owns gzip bodies of feeds on their way to a client that takes gzip. Such a body is held until it is whole, and goes
 * on as it came where nothing of it would be changed.
 * Must not know: how a body is changed.
 * Invariants: bytes of the origin's gzip go on only where all that they unpack to has been read and found to need
 * nothing; no more is held than the window of the decision or
 * HOLD_MOST, and unpacked TRANSFORM_HEADROOM times that; what is held for long counts among the bodies in memory.
 * Whatever is unusual goes the ordinary way, which judges it. */
#include "proxy/object/transform_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/media_kind.h"
#include "proxy/base/bodies.h"
#include "proxy/coding/gzip_whole.h"
#include "proxy/net/loop.h"

enum {
	HOLD_SLICE = 64 * 1024,
	HOLD_MOST = 64 * 1024   /* of gzip: what it unpacks to takes some milliseconds */
};

/* Pages and other documents are not held back, because they are not feeds and readers wait for their first bytes. */
static bool hold_is_xml(const struct http_msg *m)
{
	struct slice value = http_msg_get(m, H_CONTENT_TYPE);
	struct media_type type;

	media_type_read(&type, value.at, value.len);
	return media_kind(&type) == MEDIA_KIND_XML;
}

static size_t hold_most(const struct transform *s)
{
	return s->options.encoding.sniff_bytes < HOLD_MOST ? s->options.encoding.sniff_bytes : HOLD_MOST;
}

/* Only a body whose length is told is held: it is on its way, all of it. None is while bodies take much memory. */
static bool hold_applies(const struct transform *s)
{
	return s->options.takes_gzip && !object_is_retained(s->object) && s->msg->has_length &&
	    s->msg->content_length > 0 && s->msg->content_length <= hold_most(s) &&
	    bodies_share(HOLD_MOST) == HOLD_MOST &&
	    s->options.encoding.output == OUTPUT_UTF_8 && content_coding_is_gzip(s->msg) && hold_is_xml(s->msg);
}

bool hold_begin(struct transform *s)
{
	if (!hold_applies(s))
		return false;
	s->hold.raw_size = (size_t)s->msg->content_length;
	s->hold.state = HOLD_COLLECTS;
	return true;
}

/* So many bytes are held from now on. */
static void hold_count(struct hold *h, size_t bytes)
{
	bodies_took(bytes);
	bodies_gave(h->counted);
	h->counted = bytes;
}

/* Whether a body that unpacks to so much may go on as gzip. */
static bool hold_may_pass(const struct transform *s, uint64_t plain)
{
	return plain >= s->options.gzip_min && content_coding_allows(&s->options.limits, s->hold.raw_size, plain);
}

/* Unpacks the body where it is simple and not too long. False: the ordinary way is to be gone. */
static bool hold_unpack(struct transform *s)
{
	size_t size = gzip_unpacked_size(s->hold.raw, s->hold.raw_len);
	struct hold *h = &s->hold;

	if (!size || size > (size_t)hold_most(s) * TRANSFORM_HEADROOM ||
	    !content_coding_allows(&s->options.limits, h->raw_len, size))
		return false;
	h->plain = malloc(size);
	h->plain_len = size;
	hold_count(h, h->raw_size + size);
	if (h->plain && gzip_unpack(h->raw, h->raw_len, h->plain, size))
		return true;
	free(h->plain);
	h->plain = NULL;
	hold_count(h, h->raw_size);
	return false;
}

/* The body is whole: which way it goes. */
static int hold_choose(struct transform *s)
{
	struct hold *h = &s->hold;

	if (!hold_unpack(s)) {
		h->state = HOLD_REPLAYS;
		return transform_open_ordinary(s);
	}
	h->state = HOLD_READS;
	h->watches = hold_may_pass(s, h->plain_len);
	return transform_open_normaliser(s);
}

int hold_turn_raw(struct transform *s)
{
	int r = object_append(s->object, s->hold.raw, s->hold.raw_len);

	s->hold.at = s->hold.plain_len;
	normaliser_free(&s->normaliser);
	s->drop_output = false;
	return r ? transform_no_memory(s) : 0;
}

/* Once plain goes on bit by bit, as fast as its reader takes it, nothing else of the body is needed. */
static void hold_keep_plain(struct transform *s)
{
	struct hold *h = &s->hold;

	if (!h->raw || s->undecided || h->watches || s->drop_output)
		return;
	free(h->raw);
	h->raw = NULL;
	hold_count(h, h->plain_len);
}

static enum transform_result hold_read(struct transform *s, struct failure *failure)
{
	struct hold *h = &s->hold;

	while (h->at < h->plain_len) {
		size_t left = h->plain_len - h->at, most = s->undecided ? HOLD_SLICE : TRANSFORM_SLICE;
		size_t n = left < most ? left : most;

		if (!s->undecided && object_full(s->object))
			return TRANSFORM_FULL;
		h->at += n;
		if (transform_plain(s, h->plain + h->at - n, n) || (s->drop_output && hold_turn_raw(s)))
			return transform_result(s, -1, failure);
		hold_keep_plain(s);
		if (h->at < h->plain_len && loop_is_spent(s->options.loop))
			return TRANSFORM_PAUSED;
	}
	return TRANSFORM_OK;
}

static enum transform_result hold_replay(struct transform *s, struct failure *failure)
{
	struct hold *h = &s->hold;
	size_t used;
	enum transform_result r = transform_feed_ordinary(s, h->raw + h->at, h->raw_len - h->at, &used, failure);

	h->at += used;
	if (r == TRANSFORM_OK)
		hold_free(h);
	return r;
}

enum transform_result hold_feed(struct transform *s, const uint8_t *in, size_t len, size_t *used,
    struct failure *failure)
{
	struct hold *h = &s->hold;
	size_t room = h->raw_size - h->raw_len;

	*used = 0;
	if (h->state == HOLD_COLLECTS && !h->raw) {
		if (!(h->raw = malloc(h->raw_size)))
			return transform_result(s, transform_no_memory(s), failure);
		hold_count(h, h->raw_size);
	}
	*used = len < room ? len : room;
	if (*used)
		memcpy(h->raw + h->raw_len, in, *used);
	h->raw_len += *used;
	if (h->state == HOLD_COLLECTS && h->raw_len == h->raw_size && hold_choose(s))
		return transform_result(s, -1, failure);
	switch (h->state) {
	case HOLD_READS:
		return hold_read(s, failure);
	case HOLD_REPLAYS:
		return hold_replay(s, failure);
	default:
		return TRANSFORM_OK;
	}
}

/* ---- what comes of it ---- */

bool hold_decided(struct transform *s, const struct verdict *v)
{
	struct hold *h = &s->hold;

	if (h->state != HOLD_READS)
		return false;
	h->watches = h->watches && v->kind == VERDICT_CHARSET && v->charset == CS_UTF_8;
	h->verdict = *v;
	return h->watches;
}

int hold_let_go(struct transform *s)
{
	struct hold *h = &s->hold;

	if (!h->watches)
		return 0;
	h->watches = false;
	if (transform_head(s, &h->verdict, RESPONSE_NORMALISED))
		return -1;
	return object_append(s->object, h->plain, h->same) ? transform_no_memory(s) : 0;
}

bool hold_wrote(struct transform *s, const uint8_t *bytes, size_t len, int *failed)
{
	struct hold *h = &s->hold;

	*failed = 0;
	if (!h->watches)
		return false;
	if (len <= h->plain_len - h->same && memcmp(h->plain + h->same, bytes, len) == 0) {
		h->same += len;
		return true;
	}
	*failed = hold_let_go(s);
	return *failed;
}

int hold_finish(struct transform *s)
{
	if (s->hold.state == HOLD_COLLECTS)
		return transform_fail(s, FAILURE_HTTP_RESPONSE_INCOMPLETE, "compressed data ended too early");
	return 0;
}

/* Whether nothing was counted: what needs a repair comes out as another text, but for what only the count shows. */
static bool hold_is_uneventful(const struct normalise_report *r)
{
	uint64_t n = r->malformed | r->others | r->lost | r->led;

	for (size_t i = 0; i < REPAIR_COUNT; i++)
		n |= r->repairs[i];
	return !n && !r->revised;
}

int hold_settle(struct transform *s)
{
	struct hold *h = &s->hold;

	if (!h->watches || h->same != h->plain_len || !hold_is_uneventful(normaliser_report(s->normaliser)))
		return hold_let_go(s);
	s->coded = true;
	s->coded_len = h->raw_len;
	object_expect(s->object, h->raw_len);
	if (transform_head(s, &h->verdict, RESPONSE_NORMALISED))
		return -1;
	return object_append(s->object, h->raw, h->raw_len) ? transform_no_memory(s) : 0;
}

void hold_free(struct hold *h)
{
	free(h->raw);
	free(h->plain);
	hold_count(h, 0);
	*h = (struct hold){ .state = HOLD_NONE };
}
