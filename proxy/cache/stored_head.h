/* Owns the heads that are stored: the one for clients, and the origin's with what a newer response says of it. Pure.
 * Must not know: stores, whether a response may be stored. Source: RFC 9111 section 3.2.
 * Invariant: no field of one connection, and no age that was true once, is stored. */
#ifndef UTFEED_PROXY_CACHE_STORED_HEAD_H
#define UTFEED_PROXY_CACHE_STORED_HEAD_H

#include "proxy/base/text.h"
#include "proxy/http/http_msg.h"
#include "proxy/object/object.h"

/* Writes the stored head with the fields of the newer response in the place of its own, but for those that speak of the
 * bytes, of one connection, or, without cookies, of one client. Its age and date are never the stored ones: what comes
 * without Date was made when it came (RFC 9110 section 6.6.1). Gives how many fields there are. */
size_t stored_head_update(struct text *, const struct http_msg *stored, const struct http_msg *newer, bool cookies);

/* The head with which the finished object is stored for clients: Age goes, for it is told anew each time;
 * X-Encoding-Rule comes, for it is final now. One reference; NULL: out of memory. */
struct object_head *stored_head_of(const struct object_head *from, struct object *);

#endif
