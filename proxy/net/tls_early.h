/* See tls_early.c. Invariant: the descriptor, or the SSL, stays its owner's, and lives as long. */
#ifndef UTFEED_PROXY_NET_TLS_EARLY_H
#define UTFEED_PROXY_NET_TLS_EARLY_H

#include <pthread.h>

#include "proxy/base/slice.h"
#include "proxy/net/tls_context_internal.h"

/* The bytes are copied. outer: the TLS that is read and written in the place of the socket; NULL: none. NULL: out of
 * memory. */
BIO *tls_early_new(int fd, SSL *outer, struct slice bytes);

#endif
