/* Owns the buffer in which one connection at a time gathers bytes for a single write (conn_cork()). Must not know: what
 * a connection is, what is gathered.
 * Invariant: the buffer has no owner between events: a connection that gathers writes before its callback returns. */
#ifndef UTFEED_PROXY_NET_CORK_H
#define UTFEED_PROXY_NET_CORK_H

#include <stdint.h>

enum { GATHER_BYTES = 64 * 1024 };

struct cork {
	const void *owner;             /* a connection; NULL: none */
	uint8_t bytes[GATHER_BYTES];
};

#endif
