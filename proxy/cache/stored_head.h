/* Owns the heads that are stored: the one for clients, and the origin's, which newer responses update. Pure.
 * Must not know: stores, whether a response may be stored. Source: RFC 9111 section 3.2.
 * Invariant: no field that belongs to one connection or one client is stored, nor an Age that no longer holds. */
#ifndef UTFEED_PROXY_CACHE_STORED_HEAD_H
#define UTFEED_PROXY_CACHE_STORED_HEAD_H

#include "proxy/base/text.h"
#include "proxy/http/http_msg.h"
#include "proxy/object/object.h"

/* Writes the stored head with the fields of the newer response in the place of its own, except fields about the bytes
 * or about one connection. The stored head's fields for a client alone (Set-Cookie) are for none that comes later; the
 * newer one's are written if client. Age and Date are never taken from the stored head: a response without Date was
 * made when it came (RFC 9110 section 6.6.1). Returns the number of fields. */
size_t stored_head_update(struct text *, const struct http_msg *stored, const struct http_msg *newer, bool client);

/* Makes the head with which the finished object is stored for clients. Age is left out, because each answer has its
 * own. X-Encoding-Rule is added, because it is final now. client: with fields for the client alone that asked
 * (Set-Cookie), for an answer to that client and not for the store. One reference; NULL: out of memory. */
struct object_head *stored_head_of(const struct object_head *from, struct object *, bool client);

#endif
