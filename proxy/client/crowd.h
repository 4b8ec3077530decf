/* Owns how many connections each client address has at a worker; an address is what ip_client() makes of one. Must not
 * know: connections.
 * Invariant: an address is remembered as long as it has a connection, so there are never more addresses than
 * connections. */
#ifndef UTFEED_PROXY_CLIENT_CROWD_H
#define UTFEED_PROXY_CLIENT_CROWD_H

#include <stddef.h>

#include "conf/cidr.h"

struct crowd;
struct crowds;

struct crowds *crowds_new(void);               /* NULL: out of memory */
void crowds_free(struct crowds **);            /* must be empty */
enum crowd_answer { CROWD_JOINED, CROWD_FULL /* the address has max already */, CROWD_NO_MEMORY };
/* Counts one more connection of that address; max is at least 1. *crowd is set only for CROWD_JOINED. */
enum crowd_answer crowd_join(struct crowds *, const struct ip *, size_t max, struct crowd **crowd);
/* Whether it is the one of that address; NULL is nobody's. */
bool crowd_is_of(const struct crowd *, const struct ip *);
void crowd_leave(struct crowds *, struct crowd **);    /* sets *crowd to NULL; it may be NULL already */

#endif
