/* Owns gzip without a Content-Encoding, or under one that utfeed does not know, with a type that promises text. It is
 * unpacked as if it were named. A feed in it is normalised. If it holds anything else, or cannot be unpacked, the body
 * goes on as it came.
 * Must not know: what makes a body a feed, how it is unpacked.
 * Invariant: the bytes are unpacked once, within the limits of Content-Encoding, and are all kept until it is decided
 * which of both goes on. */
#include "proxy/object/transform_internal.h"

#include <string.h>

#include "core/evidence/sniff.h"

bool peel_applies(const struct transform *s)
{
	struct slice value = http_msg_get(s->msg, H_CONTENT_TYPE);
	struct media_type type;

	media_type_read(&type, value.at, value.len);
	return !s->unpacks && sniff_unpacks(true, &type);
}

/* The first bytes tell. */
static int peel_settle(struct transform *s, bool gzip)
{
	s->peels = false;
	if (gzip && !(s->decode = content_coding_gzip(&s->options.limits)))
		return transform_no_memory(s);
	s->peeled = s->unpacks = s->keep_raw = gzip;
	s->options.encoding.unpacked = gzip || s->misnamed;
	return transform_open_ordinary(s);
}

/* They go on, too: undecided, all of them are taken. */
static enum transform_result peel_begin(struct transform *s, struct failure *failure)
{
	size_t used;

	if (peel_settle(s, container_is_gzip(s->first, s->first_len)))
		return transform_result(s, -1, failure);
	return transform_feed_ordinary(s, s->first, s->first_len, &used, failure);
}

enum transform_result peel_feed(struct transform *s, const uint8_t *in, size_t len, size_t *used,
    struct failure *failure)
{
	size_t room = sizeof s->first - s->first_len;

	*used = 0;
	if (s->first_len || (len > 0 && in[0] == GZIP_FIRST)) {
		*used = len < room ? len : room;
		memcpy(s->first + s->first_len, in, *used);
		s->first_len += *used;
	}
	if (len == 0 || (s->first_len > 0 && s->first_len < sizeof s->first))
		return TRANSFORM_OK;
	return peel_begin(s, failure);
}

bool peel_feed_whole(struct transform *s, const uint8_t *in, size_t len)
{
	return s->first_len || container_is_gzip(in, len) || peel_settle(s, false);
}

enum transform_result peel_finish(struct transform *s, struct failure *failure)
{
	return s->peels ? peel_begin(s, failure) : TRANSFORM_OK;
}

bool peel_is_open(const struct transform *s)
{
	return s->peeled && s->undecided;
}

int peel_give_up(struct transform *s, size_t *used, size_t len)
{
	struct verdict v;

	verdict_untouched(&v, s->options.encoding.policy, s->misnamed ? VREASON_ENCODED : VREASON_NOT_XML);
	return transform_head(s, &v, RESPONSE_RAW) ? -1 : transform_turn_raw(s, used, len);
}
