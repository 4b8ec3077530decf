/* Owns what contexts (tls_context.c) and the connections under them (conn_tls.c) share. These files alone know OpenSSL.
 * Must not know: what the connections carry. Invariant: a connection has an SSL only from a context that is made. */
#ifndef UTFEED_PROXY_NET_TLS_CONTEXT_INTERNAL_H
#define UTFEED_PROXY_NET_TLS_CONTEXT_INTERNAL_H

#include <stddef.h>
#include <sys/queue.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "proxy/net/tls_context.h"

struct loop;
struct task;

/* A connection that waits for a context to be made; then task runs in loop. */
struct tls_waiter {
	LIST_ENTRY(tls_waiter) link;
	struct loop *loop;
	struct task *task;
	bool waiting;                  /* the context's lock guards it */
};

/* Starts making a context that is not made yet. True: the waiter will be told, and must call tls_context_leave() before
 * it is freed. False: the context is made, or making it has failed, as tls_context_open() will tell. */
bool tls_context_await(struct tls_context *, struct tls_waiter *);
void tls_context_leave(struct tls_context *, struct tls_waiter *);

SSL *tls_context_open(struct tls_context *, struct tls_why *);         /* NULL: why tells the reason */
/* Sets the host that the peer's certificate must prove: a name, which goes into SNI too, or an address, which must not
 * (RFC 6066 section 3). -1: out of memory. */
int tls_expect(SSL *, const char *host) __attribute__((warn_unused_result));

/* Keeps a session, or sets the one kept for this peer ("host:port") on an SSL, to be resumed. */
void tls_context_keep_session(struct tls_context *, const char *peer, SSL_SESSION *);
void tls_context_offer_session(struct tls_context *, const char *peer, SSL *);
/* In conn_tls.c. OpenSSL calls it with a session that may be resumed. The SSL's application data is the struct conn_tls
 * of a connection, or NULL. */
int conn_tls_on_session(SSL *, SSL_SESSION *);

#endif
