/* Owns undoing a content coding, and the bytes as they came while they may still go on so.
 * Must not know: what becomes of the bytes that come out.
 * Invariant: raw has all bytes that came as long as keeps_raw says so. */
#include "proxy/object/transform_internal.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/net/loop.h"

static int transform_too_large(struct transform *tr)
{
	return transform_fail(tr, FAILURE_HTTP_BODY_SIZE, "compressed data unpacks to too much");
}

/* Begins to undo the content coding, if it is one we know. That is done even for an untouched body if the client does
 * not take its coding. */
int transform_open_decode(struct transform *tr)
{
	if (tr->coding != CODING_KNOWN)
		return 0;
	tr->options.head.varies = true;
	tr->decode = content_coding_new(tr->msg, &tr->options.limits);
	return tr->decode ? 0 : transform_no_memory(tr);
}

/* How much is remembered for one decision: a coding may hide few bytes of text in a lot of input. */
static size_t transform_memory(const struct transform *tr)
{
	size_t window = tr->options.encoding.sniff_bytes;

	return (window > TRANSFORM_SLICE ? window : TRANSFORM_SLICE) * TRANSFORM_HEADROOM;
}

/* Remembers bytes that may still be sent as they came. */
static int transform_remember(struct transform *tr, const uint8_t *in, size_t len)
{
	if (!tr->keeps_raw)
		return 0;
	if (tr->decision != DECISION_OPEN || (!tr->peeled && tr->raw_len + len > transform_memory(tr))) {
		tr->keeps_raw = false;
		free(tr->raw);
		tr->raw = NULL;
		return 0;
	}
	if (tr->raw_cap - tr->raw_len < len) {
		size_t cap = (tr->raw_len + len) * 2;
		uint8_t *raw = realloc(tr->raw, cap);

		if (!raw)
			return transform_no_memory(tr);
		tr->raw = raw;
		tr->raw_cap = cap;
	}
	memcpy(tr->raw + tr->raw_len, in, len);
	tr->raw_len += len;
	return 0;
}

int transform_decode(struct transform *tr, const uint8_t *in, size_t len, size_t *used)
{
	const uint8_t *at = in;
	size_t left = len;
	enum content_coding_result r;
	bool more, spent;

	*used = len;
	if (transform_remember(tr, in, len))
		return -1;
	if (peel_is_open(tr) && tr->raw_len > transform_memory(tr))
		return peel_give_up(tr);
	do {
		uint8_t out[TRANSFORM_SLICE];
		size_t n;

		r = content_coding_run(tr->decode, &at, &left, out, sizeof out, &n);
		*used = len - left;
		more = r == DECODE_ROOM || r == DECODE_PAUSE;
		spent = loop_is_spent(tr->options.loop);
		tr->decoder = !more ? DECODER_IDLE : spent ? DECODER_PAUSED : DECODER_PENDING;
		if (n && transform_plain(tr, out, n))
			return -1;
		if (tr->decision == DECISION_RAW) {
			*used = len;
			return transform_turn_raw(tr, tr->raw, tr->raw_len);
		}
	} while (more && !spent && (tr->decision == DECISION_OPEN || !object_full(tr->object)));
	if ((r == DECODE_DAMAGED || r == DECODE_TOO_LARGE) && peel_is_open(tr)) {
		*used = len;
		return peel_give_up(tr);
	}
	switch (r) {
	case DECODE_MORE:
	case DECODE_ROOM:
	case DECODE_PAUSE:
		return 0;
	case DECODE_DAMAGED:
		return transform_fail(tr, FAILURE_HTTP_CONTENT_CODING, "damaged compressed data");
	case DECODE_TOO_LARGE:
		return transform_too_large(tr);
	case DECODE_CROWDED:
		return transform_fail(tr, FAILURE_PROXY_INTERNAL_ERROR,
		    "other responses' decoders have all the memory (decoding-bytes)");
	default:
		return transform_no_memory(tr);
	}
}

int transform_end_decode(struct transform *tr)
{
	if (tr->input == INPUT_COLLECTED)
		return transform_fail(tr, FAILURE_HTTP_RESPONSE_INCOMPLETE, "compressed data ended too early");
	if (!tr->decode || content_coding_complete(tr->decode) || transform_is_over(tr))
		return 0;
	if (peel_is_open(tr))
		return peel_give_up(tr);
	return content_coding_withheld(tr->decode) ? transform_too_large(tr) :
	    transform_fail(tr, FAILURE_HTTP_RESPONSE_INCOMPLETE, "compressed data ended too early");
}
