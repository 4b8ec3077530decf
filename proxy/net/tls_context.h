/* Owns what TLS connections have in common: who is trusted, our own certificate, sessions to resume. TLS 1.2 and 1.3
 * only.
 * Must not know: options, requests. Shared by all workers: a context owns its lock.
 * Invariant: once made its settings never change; it lives as long as a connection made under it. */
#ifndef UTFEED_PROXY_NET_TLS_CONTEXT_H
#define UTFEED_PROXY_NET_TLS_CONTEXT_H

#include <stdbool.h>

struct tls_context;

enum tls_side { TLS_CLIENT, TLS_SERVER };

/* Names of PEM files; "": none. */
struct tls_settings {
	enum tls_side side;
	bool verify;                   /* the peer's certificate: chain, dates, purpose and name */
	const char *ca_file;           /* who is trusted; "": whom the system trusts */
	const char *cert, *key;        /* our own, chain included; key "": it stands in cert too */
};

/* Which of these files is to blame, if one is. */
enum tls_file { TLS_FILE_NONE, TLS_FILE_CA, TLS_FILE_CERT, TLS_FILE_KEY, TLS_FILES };
struct tls_why { enum tls_file file; char text[256]; };

/* One reference. NULL: why says it. */
struct tls_context *tls_context_new(const struct tls_settings *, struct tls_why *);
/* A client's, of settings that name no file: OpenSSL and the system's authorities, which take megabytes and tens of
 * milliseconds, are loaded when a connection first needs them, by a thread of its own. NULL: out of memory. */
struct tls_context *tls_context_new_later(bool verify);
void tls_context_unref(struct tls_context **);         /* connections have their own */

/* For a library that speaks TLS by itself, of a client's context: OpenSSL's SSL, which takes no peer but host. NULL:
 * out of memory, or no name at all. It is the library's from when it took it, else for tls_lent_free(). Not of one made
 * later. */
struct ssl_st *tls_context_lend(struct tls_context *, const char *host);
void tls_lent_free(struct ssl_st *);
/* what was wrong with the peer's certificate; NULL: nothing */
const char *tls_lent_refusal(const struct ssl_st *);

#endif
