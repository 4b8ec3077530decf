/* Owns what a part says of the whole it is of: its Content-Range, whether two parts are of the same bytes, and what
 * they make together. Pure. Must not know: bodies, stores.
 * Source: RFC 9110 sections 8.8, 14.4 and 15.3.7; RFC 9111 sections 3.3 and 3.4. Invariant: first <= last < total. */
#ifndef UTFEED_PROXY_HTTP_CONTENT_RANGE_H
#define UTFEED_PROXY_HTTP_CONTENT_RANGE_H

#include "proxy/http/http_msg.h"

struct content_range { uint64_t first, last, total; };       /* first and last inclusive */

static inline uint64_t content_range_length(const struct content_range *r)
{
	return r->last - r->first + 1;
}

/* One range of bytes of a known total, alone in the response. False: anything else. */
bool content_range_read(struct content_range *, const struct http_msg *response);

/* Whether both responses are of the same bytes, by a strong validator that they share; of one with itself: whether it
 * has one. */
bool content_range_same(const struct http_msg *, const struct http_msg *, int64_t now);

/* The two as one, where nothing lies between them. False: they do not meet, or are of different totals. */
bool content_range_join(struct content_range *whole, const struct content_range *, const struct content_range *);

#endif
