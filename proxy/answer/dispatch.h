/* Owns the decision what becomes of a client's request: of which kind its answer is (answer.h), or where its tunnel
 * leads.
 * Must not know: connections, how responses are written. Invariant: every request gets an answer that says why, unless
 * memory runs out. */
#ifndef UTFEED_PROXY_ANSWER_DISPATCH_H
#define UTFEED_PROXY_ANSWER_DISPATCH_H

#include "proxy/answer/context.h"
#include "proxy/http/destination.h"
#include "proxy/http/request.h"
#include "proxy/object/object.h"

/* Reads host and port of a CONNECT into to. -1: it leads nowhere, and *refusal is what the client gets instead; NULL:
 * out of memory. */
int dispatch_tunnel(const struct request_context *, const struct request *, bool inside, struct destination *to,
    struct object **refusal) __attribute__((warn_unused_result));

#endif
