/* Owns how many connections each client address has at a worker: an IPv4 address, or an IPv6 network of 64 bits, of
 * which one subscriber has at least one (RFC 6177). Must not know: connections.
 * Invariant: an address is remembered as long as it has a connection, so there are never more of them than
 * connections. */
#ifndef UTFEED_PROXY_CLIENT_CROWD_H
#define UTFEED_PROXY_CLIENT_CROWD_H

#include <stddef.h>

#include "conf/cidr.h"

struct crowd;
struct crowds;

struct crowds *crowds_new(void);               /* NULL: out of memory */
void crowds_free(struct crowds **);            /* empty by then */
enum crowd_answer { CROWD_JOINED, CROWD_FULL /* it has max already */, CROWD_NO_MEMORY };
/* One more of that address, max at least 1; *crowd is set only where it joined. */
enum crowd_answer crowd_join(struct crowds *, const struct ip *, size_t max, struct crowd **crowd);
void crowd_leave(struct crowds *, struct crowd **);    /* nulls; NULL inside is fine */

#endif
