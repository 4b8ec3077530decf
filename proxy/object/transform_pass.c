/* Owns gzip bodies of feeds on their way to a client that takes gzip. Such a body is held until all of it is there, and
 * goes on as it came if nothing of it would be changed.
 * Must not know: how a body is changed.
 * Invariants: the origin's gzip goes on only if all that it unpacks to was read and needs nothing. No more is held than
 * the window of the decision or PASS_MOST, and unpacked TRANSFORM_HEADROOM times that. Bytes that are held for long
 * count among the bodies in memory. Whatever is unusual goes the ordinary way, which judges it. */
#include "proxy/object/transform_internal.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/media_kind.h"
#include "proxy/base/bodies.h"
#include "proxy/coding/gzip_whole.h"
#include "proxy/net/loop.h"

enum {
	PASS_SLICE = 64 * 1024,
	PASS_MOST = 64 * 1024   /* of gzip: what it unpacks to takes some milliseconds */
};

static size_t pass_most(const struct transform *tr)
{
	return tr->options.encoding.sniff_bytes < PASS_MOST ? tr->options.encoding.sniff_bytes : PASS_MOST;
}

/* Only a body of a known length is held, because all of it is on its way. None is while bodies take much memory. Pages
 * and other documents are not held back: they are not feeds, and readers wait for their first bytes. */
bool pass_begin(struct transform *tr)
{
	const struct http_msg *m = tr->msg;
	struct slice value = http_msg_get(m, H_CONTENT_TYPE);
	struct media_type type;

	if (!tr->options.takes_gzip || object_is_retained(tr->object) || !m->has_length || !m->content_length ||
	    m->content_length > pass_most(tr) || bodies_share(PASS_MOST) != PASS_MOST ||
	    tr->options.encoding.output != OUTPUT_UTF_8 || !content_coding_is_gzip(m))
		return false;
	media_type_read(&type, value.at, value.len);
	if (media_kind(&type) != MEDIA_KIND_XML)
		return false;
	tr->pass.raw_size = (size_t)m->content_length;
	transform_set(tr, INPUT_COLLECTED, tr->decision);
	return true;
}

/* So many bytes are held from now on. */
static void pass_count(struct pass *pass, size_t bytes)
{
	bodies_took(bytes);
	bodies_gave(pass->counted);
	pass->counted = bytes;
}

/* Unpacks the body if it is simple and not too long. False: it is to go the ordinary way. */
static bool pass_unpack(struct transform *tr)
{
	struct pass *pass = &tr->pass;
	size_t size = gzip_unpacked_size(pass->raw, pass->raw_len);

	if (!size || size > (size_t)pass_most(tr) * TRANSFORM_HEADROOM ||
	    !content_coding_allows(&tr->options.limits, pass->raw_len, size))
		return false;
	pass->plain = malloc(size);
	pass->plain_len = size;
	pass_count(pass, pass->raw_size + size);
	if (pass->plain && gzip_unpack(pass->raw, pass->raw_len, pass->plain, size))
		return true;
	free(pass->plain);
	pass->plain = NULL;
	pass_count(pass, pass->raw_size);
	return false;
}

/* The body is whole: which way it goes. -1: the transform has failed. */
static int pass_choose(struct transform *tr)
{
	if (!pass_unpack(tr)) {
		transform_set(tr, INPUT_REPLAYED, tr->decision);
		return transform_open_ordinary(tr);
	}
	bool packs = tr->pass.plain_len >= tr->options.gzip_min;
	transform_set(tr, packs ? INPUT_COMPARED : INPUT_READ, tr->decision);
	return transform_open_normaliser(tr);
}

int pass_turn_raw(struct transform *tr)
{
	tr->pass.at = tr->pass.plain_len;
	return transform_turn_raw(tr, tr->pass.raw, tr->pass.raw_len);
}

/* Once plain goes on bit by bit, as fast as its reader takes it, nothing else of the body is needed. */
static void pass_keep_plain(struct transform *tr)
{
	struct pass *pass = &tr->pass;

	if (!pass->raw || tr->decision == DECISION_OPEN)
		return;
	free(pass->raw);
	pass->raw = NULL;
	pass_count(pass, pass->plain_len);
}

static enum transform_result pass_read(struct transform *tr)
{
	struct pass *pass = &tr->pass;

	while (pass->at < pass->plain_len) {
		bool open = tr->decision == DECISION_OPEN;
		size_t left = pass->plain_len - pass->at, most = open ? PASS_SLICE : TRANSFORM_SLICE;
		size_t n = left < most ? left : most;

		if (!open && object_full(tr->object))
			return TRANSFORM_FULL;
		pass->at += n;
		if (transform_plain(tr, pass->plain + pass->at - n, n) ||
		    (tr->decision == DECISION_RAW && pass_turn_raw(tr)))
			return transform_result(tr, -1);
		pass_keep_plain(tr);
		if (pass->at < pass->plain_len && loop_is_spent(tr->options.loop))
			return TRANSFORM_PAUSED;
	}
	return TRANSFORM_OK;
}

static enum transform_result pass_replay(struct transform *tr)
{
	struct pass *pass = &tr->pass;
	size_t used;
	enum transform_result r = transform_feed_ordinary(tr, pass->raw + pass->at, pass->raw_len - pass->at, &used);

	pass->at += used;
	if (r == TRANSFORM_OK) {
		pass_free(pass);
		transform_set(tr, INPUT_ORDINARY, tr->decision);
	}
	return r;
}

enum transform_result pass_feed(struct transform *tr, const uint8_t *in, size_t len, size_t *used)
{
	struct pass *pass = &tr->pass;
	size_t room = pass->raw_size - pass->raw_len;

	*used = 0;
	if (tr->input == INPUT_COLLECTED && !pass->raw) {
		if (!(pass->raw = malloc(pass->raw_size)))
			return transform_result(tr, transform_no_memory(tr));
		pass_count(pass, pass->raw_size);
	}
	*used = len < room ? len : room;
	if (*used)
		memcpy(pass->raw + pass->raw_len, in, *used);
	pass->raw_len += *used;
	if (tr->input == INPUT_COLLECTED && pass->raw_len == pass->raw_size && pass_choose(tr))
		return TRANSFORM_FAILED;
	switch (tr->input) {
	case INPUT_COMPARED:
	case INPUT_READ:
		return pass_read(tr);
	case INPUT_REPLAYED:
		return pass_replay(tr);
	default:
		return TRANSFORM_OK;
	}
}

/* ---- what comes of it ---- */

bool pass_waits(struct transform *tr, const struct verdict *v)
{
	if (tr->input != INPUT_COMPARED)
		return false;
	tr->pass.verdict = *v;
	if (v->kind == VERDICT_CHARSET && v->charset == CS_UTF_8)
		return true;
	transform_set(tr, INPUT_READ, tr->decision);
	return false;
}

bool pass_is_same(struct transform *tr, const uint8_t *bytes, size_t len)
{
	struct pass *pass = &tr->pass;

	if (len > pass->plain_len - pass->same || memcmp(pass->plain + pass->same, bytes, len))
		return false;
	pass->same += len;
	return true;
}

int pass_let_go(struct transform *tr)
{
	if (tr->input != INPUT_COMPARED)
		return 0;
	transform_set(tr, INPUT_READ, tr->decision);
	if (transform_head(tr, &tr->pass.verdict, RESPONSE_NORMALISED))
		return -1;
	return object_append(tr->object, tr->pass.plain, tr->pass.same) ? transform_no_memory(tr) : 0;
}

/* Whether nothing was counted. A repair makes another text, except those that only the count shows. */
static bool pass_is_uneventful(const struct normalise_report *report)
{
	uint64_t n = report->malformed | report->others | report->lost | report->led;

	for (size_t i = 0; i < REPAIR_COUNT; i++)
		n |= report->repairs[i];
	return !n && !report->revised;
}

int pass_settle(struct transform *tr)
{
	struct pass *pass = &tr->pass;

	if (tr->input != INPUT_COMPARED || pass->same != pass->plain_len ||
	    !pass_is_uneventful(normaliser_report(tr->normaliser)))
		return pass_let_go(tr);
	transform_set(tr, INPUT_PASSED, tr->decision);
	object_expect(tr->object, pass->raw_len);
	if (transform_head(tr, &pass->verdict, RESPONSE_NORMALISED))
		return -1;
	return object_append(tr->object, pass->raw, pass->raw_len) ? transform_no_memory(tr) : 0;
}

void pass_free(struct pass *pass)
{
	free(pass->raw);
	free(pass->plain);
	pass_count(pass, 0);
	*pass = (struct pass){ 0 };
}
