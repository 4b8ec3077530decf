/* Owns the relation of a part to its whole response: reading Content-Range, whether two parts are of the same bytes,
 * and the range that two parts make together. Pure. Must not know: bodies, stores.
 * Source: RFC 9110 sections 8.8, 14.4 and 15.3.7; RFC 9111 sections 3.3 and 3.4. Invariant: first <= last < total. */
#ifndef UTFEED_PROXY_HTTP_CONTENT_RANGE_H
#define UTFEED_PROXY_HTTP_CONTENT_RANGE_H

#include "proxy/http/http_msg.h"

struct content_range { uint64_t first, last, total; };       /* first and last inclusive */

static inline uint64_t content_range_length(const struct content_range *range)
{
	return range->last - range->first + 1;
}

/* Reads the Content-Range of a response with a single range of bytes and a known total. False: it is anything else. */
bool content_range_read(struct content_range *, const struct http_msg *response);

/* Whether both responses are of the same bytes, judged by a strong validator that they share. For a response and
 * itself: whether it has a strong validator. */
bool content_range_same(const struct http_msg *, const struct http_msg *, int64_t now);

/* Joins two ranges that overlap or touch. False: there is a gap between them, or their totals differ. */
bool content_range_join(struct content_range *whole, const struct content_range *, const struct content_range *);

#endif
