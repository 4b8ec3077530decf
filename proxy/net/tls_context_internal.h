/* Owns what contexts (tls_context.c) and the connections under them (conn_tls.c) share. These files alone know OpenSSL.
 * Must not know: what the connections carry. Invariant: a connection has an SSL only from a context that is made. */
#ifndef UTFEED_PROXY_NET_TLS_CONTEXT_INTERNAL_H
#define UTFEED_PROXY_NET_TLS_CONTEXT_INTERNAL_H

#include <sys/queue.h>
#include <time.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "proxy/base/failure.h"
#include "proxy/net/conn.h"
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

SSL *tls_context_open(struct tls_context *, struct tls_why *);         /* NULL: why tells the reason. */
/* Sets the host that the peer's certificate must prove. A name goes into SNI too, an address must not (RFC 6066 section
 * 3). -1: out of memory. */
int tls_expect(SSL *, const char *host) __attribute__((warn_unused_result));

/* In conn_tls.c. OpenSSL calls it with a session that may be resumed. The SSL's application data is the struct conn_tls
 * of a connection, or NULL. */
int conn_tls_on_session(SSL *, SSL_SESSION *);
/* In conn_tls.c. Counts a record or a message that came. False: the peer sends nothing else, and is refused. */
bool conn_tls_count(SSL *);
/* In conn_tls.c. OpenSSL calls it with a certificate, which is to be verified if verify is not NULL. */
int conn_tls_on_certificate(X509_STORE_CTX *, void *verify);

/* tls_resume.c. A peer is a text, as of tls_sessions.h; proven_until: see there. */
struct tls_sessions *tls_resume_new(void);             /* NULL: out of memory */
struct tls_sessions *tls_context_sessions(struct tls_context *);       /* of a client's context */
void tls_context_keep_session(struct tls_context *, const char *peer, const SSL_SESSION *, time_t proven_until);
/* Sets one that is kept on an SSL, to be resumed, and gives its proven_until. 0: none is kept. */
time_t tls_context_offer_session(struct tls_context *, const char *peer, SSL *);
void tls_context_forget_sessions(struct tls_context *, const char *peer);
/* Whether more than TLS 1.2 would be offered: the system's configuration of OpenSSL may forbid it. */
bool tls_may_be_newer(const SSL *);
/* Whether the origin speaks TLS 1.3, although utfeed did not offer it: the end of the origin's random bytes says so
 * (RFC 8446 section 4.1.3). OpenSSL checks these bytes only if it offered TLS 1.3. */
bool tls_is_wide(const SSL *);

/* tls_ciphers.c. Sets the groups and ciphers, in their order. -1: OpenSSL knows no such group, or out of memory. */
int tls_ciphers_set(SSL_CTX *, enum tls_ciphers) __attribute__((warn_unused_result));
bool tls_is_strong(const SSL_CIPHER *);        /* TLS_CIPHERS_STRONG has it */

/* tls_alpn.c. Sets what is offered to servers, or chosen of what clients offer. */
void tls_alpn_set(SSL_CTX *, const struct tls_settings *);
/* To one server, HTTP/2 before HTTP/1.1, whatever the context says. Other than 0: out of memory. */
int tls_alpn_offer_h2(SSL *);
enum conn_protocol tls_alpn_chosen(const SSL *);       /* once the handshake is done */

/* tls_failure.c. Notes why utfeed itself refuses the peer, which has to last. */
struct tls_blame { enum failure_kind error; const char *text; };
void tls_blame(SSL *, const struct tls_blame *);
const struct tls_blame *tls_blamed(const SSL *);       /* NULL: it does not */
const char *tls_refusal(const SSL *);          /* why the peer's certificate was refused */
/* The failure that an error of OpenSSL means. up: the handshake was done. */
void tls_explain(const SSL *, unsigned long error, bool up, struct failure *);

/* tls_limits.c */
void tls_limits_set(SSL_CTX *, enum tls_side);
/* Whether the chain that came may be worked with; if not, the SSL is blamed. */
bool tls_judge_chain(X509_STORE_CTX *, SSL *);

/* tls_verify.c */
enum tls_verified { TLS_REFUSED, TLS_VERIFIED, TLS_VERIFIED_BEFORE };
struct tls_verdicts *tls_context_verdicts(struct tls_context *);       /* of a client's context. */
/* Verifies, if that is wanted, the certificate that a peer shows to an SSL of the context. The peer is a text as above.
 * *proven_until: until when it is valid, but a day from now at most. */
enum tls_verified tls_verify(X509_STORE_CTX *, bool wanted, struct tls_context *, const char *peer,
    time_t *proven_until);

/* For OpenSSL, which asks for the password of an encrypted key and else would ask on the terminal: true in *asked. */
int tls_no_password(char *buf, int size, int writing, void *asked);
enum { TLS_DATE_MAX = 48 };
/* Whether a certificate is valid now. said: if not, how, with the date. */
enum tls_validity { TLS_VALID, TLS_NOT_YET, TLS_EXPIRED };
enum tls_validity tls_validity(const X509 *, char said[TLS_DATE_MAX]);

#endif
