/* Owns the decision where a client's request goes: to an origin through the cache or past it, to a PURGE, or to an
 * answer of our own.
 * Must not know: connections, how responses are written. */
#ifndef UTFEED_PROXY_ANSWER_DISPATCH_H
#define UTFEED_PROXY_ANSWER_DISPATCH_H

#include "proxy/answer/context.h"
#include "proxy/answer/lookup.h"
#include "proxy/object/object.h"

struct inside;
struct requester;

/* Starts the lookup, to which lookup_clear() was applied: afterwards it has its object, waits for it, or has none (out
 * of memory). The request must live as long as the lookup. body: the caller fills it as it arrives; NULL: there is
 * none. If the answer comes without anybody reading the body, it says why. */
void dispatch(const struct request_context *, struct lookup *, const struct request *, const struct requester *,
    struct object *body, const struct inside *);

/* Reads host and port of a CONNECT into to. -1: it leads nowhere, and *refusal is what the client gets instead; NULL:
 * out of memory. */
int dispatch_tunnel(const struct request_context *, const struct request *, bool inside, struct destination *to,
    struct object **refusal) __attribute__((warn_unused_result));

#endif
