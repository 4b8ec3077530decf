/* Owns turning a client's request into a response object: which origin it is for, under what settings, or which answer of our own.
 * Must not know: connections, how responses are written.
 * Invariant: nothing of a client's request reaches an origin but what headers.def lets through, written anew. */
#ifndef UTFEED_PROXY_CLIENT_REQUEST_H
#define UTFEED_PROXY_CLIENT_REQUEST_H

#include "proxy/cache/context.h"
#include "proxy/cache/lookup.h"
#include "proxy/http/http_msg.h"
#include "proxy/object/object.h"

struct requester;

/* Whether a body may come with it: GET and HEAD have none here. */
bool request_takes_body(const struct http_msg *);

/* Starts a (answer_clear()): afterwards it has its object, or waits for it, or neither: out of memory. The message must live
 * as long. body: filled by the caller as it arrives, NULL: there is none; where nobody reads it, the answer says why. */
void request_start(const struct request_context *, struct answer *, const struct http_msg *, const struct requester *, struct object *body);

/* Where a CONNECT wants to go: host and port of to. -1: nowhere; *refusal is what the client gets instead, NULL: out of memory. */
int request_tunnel(const struct request_context *, const struct http_msg *, struct destination *to, struct object **refusal);

#endif
