/* Owns what contexts (tls_context.c) and the connections under them (conn_tls.c) share: the only files that know
 * OpenSSL.
 * Must not know: what is said over them. Invariant: a connection has an SSL only of a context that is made. */
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

/* Who waits for a context to be made: task is run in loop. */
struct tls_waiter {
	LIST_ENTRY(tls_waiter) link;
	struct loop *loop;
	struct task *task;
	bool waiting;                  /* the context's lock guards it */
};

void tls_context_ref(struct tls_context *);

/* Has a context made that is not yet. False: it is, or cannot be, as tls_context_open() will tell; true: the waiter is
 * told, and leaves before it goes away. */
bool tls_context_await(struct tls_context *, struct tls_waiter *);
void tls_context_leave(struct tls_context *, struct tls_waiter *);

SSL *tls_context_open(struct tls_context *, struct tls_why *);         /* NULL: why says it */
/* Whom the peer must prove to be: a name, which goes into SNI too, or an address, which must not (RFC 6066 section 3).
 * -1: out of memory. */
int tls_expect(SSL *, const char *host) __attribute__((warn_unused_result));

/* Of a peer, "host:port". */
void tls_context_keep_session(struct tls_context *, const char *peer, SSL_SESSION *);
void tls_context_offer_session(struct tls_context *, const char *peer, SSL *);
/* conn_tls.c: a session that may be resumed has come, of an SSL whose application data is a connection's, or NULL. */
int conn_tls_on_session(SSL *, SSL_SESSION *);

#endif
