/* Owns client connections: reading requests, writing responses, keep-alive, pipelining, timeouts, the access log.
 * Must not know: origins, or where an answer's object comes from (answer.h).
 *
 * States: IDLE -> HEAD -> WAIT -> SEND -> IDLE ..., HEAD -> CONNECT -> TUNNEL, CONNECT -> HELLO -> IDLE (TLS inside).
 * IDLE -> STREAMS: it speaks HTTP/2, and its streams are clients.
 * While a password is compared: HEAD -> AUTH -> WAIT or CONNECT. At the end: FLUSH, LINGER, CLOSED. Responses go out
 * in the order of the requests. Short responses are gathered in one write while further requests wait behind them.
 * Invariant: a response that was not complete never looks complete to the client. */
#ifndef UTFEED_PROXY_CLIENT_CLIENT_H
#define UTFEED_PROXY_CLIENT_CLIENT_H

#include <stddef.h>
#include <sys/socket.h>

#include "proxy/answer/context.h"
#include "proxy/answer/requester.h"

struct client_pool;
struct tls_context;

/* The pool serves nothing before client_pool_set(). changed() is called when a client left: there is room for another,
 * or the last client is gone. It is also called when the first connection has become idle, which could be closed to
 * make room. */
struct client_pool *client_pool_new(const struct request_context *, void (*changed)(void *arg), void *arg);
/* Requests from now on are served under these settings; those under way end under the settings they began with. */
void client_pool_set(struct client_pool *, struct settings *);
/* Cuts every client. */
void client_pool_free(struct client_pool **);
/* Frees what is kept for requests to come. */
void client_pool_rest(struct client_pool *);
/* Takes over a connected descriptor and handles the bytes that have already arrived on it. A plain connection has tls
 * NULL. The peer that sends the bytes is `who`. Returns -1 when out of memory; the descriptor is then closed. */
int client_accept(struct client_pool *, int fd, const struct sockaddr *peer, socklen_t len, struct tls_context *tls,
    const struct requester *who)
    __attribute__((warn_unused_result));
/* Whether client-allow does not name the peer. Over TLS client_accept() turns such a peer away without a place. */
bool client_is_forbidden(const struct client_pool *, const struct requester *who);
size_t client_count(const struct client_pool *);
bool client_pool_has_idle(const struct client_pool *);
/* Closes the connection that has been idle for longest, if there is one. */
void client_pool_give_up(struct client_pool *);
/* From now on responses say that they are the last of their connection (RFC 9112 section 9.6). */
void client_pool_leave(struct client_pool *);
/* Does what client_pool_leave() does, and closes idle connections once no request can be on its way to them any more;
 * the others end with their response. */
void client_pool_drain(struct client_pool *);

#endif
