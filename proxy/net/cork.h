/* Owns the room in which one connection at a time gathers what goes out in one write (conn_cork()). Must not know: what
 * a connection is, what is gathered.
 * Invariant: it is nobody's between events: who gathers writes before its callback returns. */
#ifndef UTFEED_PROXY_NET_CORK_H
#define UTFEED_PROXY_NET_CORK_H

#include <stddef.h>
#include <stdint.h>

enum { GATHER_BYTES = 64 * 1024 };

struct cork {
	const void *owner;             /* NULL: nobody */
	uint8_t bytes[GATHER_BYTES];
};

#endif
