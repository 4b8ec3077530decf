/* Owns what ca.c, ca_make.c and the connections (conn_tls.c) share of authorities and leaves. Must not know: where they
 * are kept. Invariant: once made, members do not change, except the counts. */
#ifndef UTFEED_PROXY_NET_CA_INTERNAL_H
#define UTFEED_PROXY_NET_CA_INTERNAL_H

#include <stdatomic.h>

#include "proxy/net/ca.h"
#include "proxy/net/tls_context_internal.h"

struct ca {
	atomic_uint refs;
	X509 *cert;
	EVP_PKEY *key;                 /* NULL: of ca_read_certificate() */
	STACK_OF(X509) *above;         /* the authority itself first, then what stands above it in its file */
};

struct leaf {
	atomic_uint refs;
	X509 *cert;
	EVP_PKEY *key;
	struct ca *ca;
	int64_t from_s, until_s;
};

/* Puts what OpenSSL says last behind the words; returns -1. */
int ca_fail(struct ca_why *, enum ca_file, const char *format, ...) __attribute__((format(printf, 3, 4)));
int64_t ca_time(const ASN1_TIME *);
/* A certificate with nothing but that name or address in it, for the checks of name constraints. NULL: no memory. */
X509 *ca_sample(const char *name);
/* The SSL answers its client with this certificate. -1: it cannot. */
int leaf_use(struct leaf *, SSL *) __attribute__((warn_unused_result));

#endif
