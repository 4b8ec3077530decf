/* Owns what TLS connections have in common, the context: the authorities that are trusted, our own certificate,
 * sessions to resume. TLS 1.2 and 1.3 only; a server's context speaks older versions if its settings say so.
 * Must not know: options, requests. All workers share a context, which has a lock of its own.
 * Invariant: the settings of a context never change, and it lives as long as any connection made under it. */
#ifndef UTFEED_PROXY_NET_TLS_CONTEXT_H
#define UTFEED_PROXY_NET_TLS_CONTEXT_H

#include <stdbool.h>

struct tls_context;

enum tls_side { TLS_CLIENT, TLS_SERVER };
/* The oldest version that a server's context speaks; a client's never speaks any before 1.2. */
enum tls_version { TLS_VERSION_DEFAULT, TLS_VERSION_1_0, TLS_VERSION_1_1, TLS_VERSION_1_2, TLS_VERSION_1_3 };
/* Strong: with forward secrecy and authenticated encryption alone. All: what older peers speak too. */
enum tls_ciphers { TLS_CIPHERS_ALL, TLS_CIPHERS_STRONG };

/* Names of PEM files; "": none. */
struct tls_settings {
	enum tls_side side;
	enum tls_ciphers ciphers;
	bool verify;                   /* the peer's certificate: chain, dates, purpose and name */
	const char *ca_file;           /* the authorities that are trusted; "": those of the system */
	const char *cert, *key;        /* our own, chain included; key "": it stands in cert too */
	/* for TLS_SERVER */
	enum tls_version min;
	bool h2;                       /* HTTP/2 comes before HTTP/1.1, for clients that offer it */
};

/* The file that is to blame for a failure, if one is. */
enum tls_file { TLS_FILE_NONE, TLS_FILE_CA, TLS_FILE_CERT, TLS_FILE_KEY, TLS_FILES };
struct tls_why { enum tls_file file; char text[512]; };

/* One reference. NULL: why tells the reason. */
struct tls_context *tls_context_new(const struct tls_settings *, struct tls_why *);
/* A client's context with settings that name no file. OpenSSL and the system's authorities, which take megabytes and
 * tens of milliseconds, are loaded only when a connection first needs them, by a thread of their own. NULL: out of
 * memory. */
struct tls_context *tls_context_new_later(bool verify);
void tls_context_ref(struct tls_context *);
void tls_context_unref(struct tls_context **);         /* connections have references of their own. */
/* Whether our own certificate in a context of tls_context_new(), or one above it in the file, has expired or is not
 * valid yet. Peers refuse such a file; why says so. */
bool tls_context_is_out_of_date(struct tls_context *, const char *file, struct tls_why *why);

/* Gives out which files and folders OpenSSL may read by itself, several in a list with colons between them. */
void tls_context_system_paths(void (*f)(void *arg, const char *list), void *arg);

/* Lends an SSL of OpenSSL to a library that speaks TLS by itself; it accepts no peer but host. The context is a
 * client's and not one of tls_context_new_later(). NULL: out of memory, or host cannot be a name. Once the library has
 * taken the SSL it frees it; before that tls_lent_free() does. */
struct ssl_st *tls_context_lend(struct tls_context *, const char *host);
void tls_lent_free(struct ssl_st *);
/* why the peer's certificate was refused; NULL: it was not */
const char *tls_lent_refusal(const struct ssl_st *);

#endif
