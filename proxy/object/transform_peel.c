/* Owns gzip without a Content-Encoding, or under one that utfeed does not know, with a type that promises text. It is
 * unpacked as if it were named. A feed in it is normalised. If it holds anything else, or cannot be unpacked, the body
 * goes on as it came.
 * Must not know: what makes a body a feed, how it is unpacked.
 * Invariant: the bytes are unpacked once, within the limits of Content-Encoding, and are all kept until it is decided
 * which of both goes on. */
#include "proxy/object/transform_internal.h"

#include <string.h>

#include "core/evidence/sniff.h"

bool peel_applies(const struct transform *tr)
{
	struct slice value = http_msg_get(tr->msg, H_CONTENT_TYPE);
	struct media_type type;

	media_type_read(&type, value.at, value.len);
	return tr->coding != CODING_KNOWN && sniff_unpacks(true, &type);
}

int peel_settle(struct transform *tr, bool gzip)
{
	transform_set(tr, INPUT_ORDINARY, tr->decision);
	if (gzip && !(tr->decode = content_coding_gzip(&tr->options.limits)))
		return transform_no_memory(tr);
	tr->peeled = tr->keeps_raw = gzip;
	tr->options.encoding.unpacked = gzip || tr->coding == CODING_UNKNOWN;
	return transform_open_ordinary(tr);
}

/* The first bytes tell. They go on, too: undecided, all of them are taken. */
static enum transform_result peel_begin(struct transform *tr)
{
	size_t used;

	if (peel_settle(tr, container_is_gzip(tr->first, tr->first_len)))
		return TRANSFORM_FAILED;
	return transform_feed_ordinary(tr, tr->first, tr->first_len, &used);
}

enum transform_result peel_feed(struct transform *tr, const uint8_t *in, size_t len, size_t *used)
{
	size_t room = sizeof tr->first - tr->first_len;

	*used = 0;
	if (tr->first_len || (len > 0 && in[0] == GZIP_FIRST)) {
		*used = len < room ? len : room;
		memcpy(tr->first + tr->first_len, in, *used);
		tr->first_len += *used;
	}
	if (len == 0 || (tr->first_len > 0 && tr->first_len < sizeof tr->first))
		return TRANSFORM_OK;
	return peel_begin(tr);
}

enum transform_result peel_finish(struct transform *tr)
{
	return tr->input == INPUT_PEELED ? peel_begin(tr) : TRANSFORM_OK;
}

bool peel_is_open(const struct transform *tr)
{
	return tr->peeled && tr->decision == DECISION_OPEN;
}

int peel_give_up(struct transform *tr)
{
	bool misnamed = tr->coding == CODING_UNKNOWN;
	struct verdict v;

	verdict_untouched(&v, tr->options.encoding.policy, misnamed ? VREASON_ENCODED : VREASON_NOT_XML);
	return transform_head(tr, &v, RESPONSE_RAW) ? -1 : transform_turn_raw(tr, tr->raw, tr->raw_len);
}
