/* Owns the answers that utfeed gives itself: a sentence of plain text under a status, and what a client gets of a
 * failure.
 * Must not know: connections, requests. Invariant: each is complete when it is handed out; no byte of it comes from an
 * origin. */
#ifndef UTFEED_PROXY_CACHE_LOCAL_REPLY_H
#define UTFEED_PROXY_CACHE_LOCAL_REPLY_H

#include "proxy/cache/context.h"
#include "proxy/object/object.h"

/* All three give one reference; NULL: out of memory. */

/* fields: further lines of the head, each with its CRLF. details: stands behind the sentence in parentheses; "":
 * none. */
struct object *local_reply(const struct request_context *, int status, const char *fields, const char *sentence,
    const char *details);
/* What a client gets whose request failed before it had an object. */
struct object *local_reply_failure(const struct request_context *, const struct failure *);
/* What a client gets whose object failed before it had a head. */
struct object *local_reply_failed(const struct request_context *, const struct object *failed);

#endif
