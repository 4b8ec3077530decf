/* Owns where a client's request goes: to an origin through the cache or past it, to a PURGE, or to an answer of our
 * own.
 * Must not know: connections, how responses are written. */
#ifndef UTFEED_PROXY_CLIENT_DISPATCH_H
#define UTFEED_PROXY_CLIENT_DISPATCH_H

#include "proxy/cache/context.h"
#include "proxy/cache/lookup.h"
#include "proxy/object/object.h"

struct requester;

/* Starts a lookup (lookup_clear()): afterwards it has its object, or waits for it, or neither: out of memory. The
 * request must live as long. body: filled by the caller as it arrives, NULL: there is none; where nobody reads it, the
 * answer says why. */
void dispatch(const struct request_context *, struct lookup *, const struct request *, const struct requester *,
    struct object *body);

/* Where a CONNECT wants to go: host and port of to. -1: nowhere; *refusal is what the client gets instead, NULL: out of
 * memory. */
int dispatch_tunnel(const struct request_context *, const struct request *, struct destination *to,
    struct object **refusal) __attribute__((warn_unused_result));

#endif
