/* Owns connections from trusted proxies until their PROXY protocol header is read; then the pool's hook takes them
 * over.
 * Must not know: HTTP, TLS, what becomes of a connection.
 * Invariant: no byte behind the header is taken from the socket. */
#ifndef UTFEED_PROXY_CLIENT_GREETING_H
#define UTFEED_PROXY_CLIENT_GREETING_H

#include <stdint.h>
#include <sys/socket.h>

#include "proxy/answer/requester.h"

struct greeting_pool;
struct loop;

struct greeting_hooks {
	/* Takes over the descriptor. tls: as given to greeting_accept(). */
	void (*greeted)(void *arg, int fd, const struct sockaddr *peer, socklen_t len, bool tls,
	    const struct requester *);
	void (*left)(void *arg);       /* a connection was closed before its header was complete */
	void *arg;
};

/* NULL: out of memory. */
struct greeting_pool *greeting_pool_new(struct loop *, const struct greeting_hooks *);
/* Closes the connections that still wait for their header. */
void greeting_pool_free(struct greeting_pool **);
/* Takes over the descriptor of a connection from peer, who is the requester. Its header must be complete within
 * timeout_ms. -1: out of memory, and the descriptor is closed. */
int greeting_accept(struct greeting_pool *, int fd, const struct sockaddr *peer, socklen_t len, bool tls,
    const struct requester *who, uint64_t timeout_ms) __attribute__((warn_unused_result));
size_t greeting_count(const struct greeting_pool *);

#endif
