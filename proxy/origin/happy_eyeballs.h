/* Owns the order in which a name's addresses are tried (RFC 8305): families take turns, one of them first. Pure.
 * Must not know: connections, clocks. Invariant: each address comes once. */
#ifndef UTFEED_PROXY_ORIGIN_HAPPY_EYEBALLS_H
#define UTFEED_PROXY_ORIGIN_HAPPY_EYEBALLS_H

#include <stdbool.h>

#include "proxy/dns/dns.h"

/* RFC 8305 section 8: how long the first family's answer is waited for, and the time between attempts. */
enum { HAPPY_EYEBALLS_RESOLUTION_MS = 50, HAPPY_EYEBALLS_STAGGER_MS = 250 };

struct happy_eyeballs {
	enum dns_family turn;                  /* whose address is next, where it has one */
	bool known[DNS_FAMILIES];              /* its addresses are all here */
	unsigned n[DNS_FAMILIES], tried[DNS_FAMILIES];
};

enum happy_eyeballs_advice {
	HAPPY_EYEBALLS_TRY,          /* go ahead: happy_eyeballs_next() has an address */
	/* only the second family is there: wait HAPPY_EYEBALLS_RESOLUTION_MS for the first */
	HAPPY_EYEBALLS_WAIT_SHORT,
	HAPPY_EYEBALLS_WAIT,         /* nothing to try until an answer comes */
	HAPPY_EYEBALLS_NONE          /* nothing left, nothing will come */
};

void happy_eyeballs_start(struct happy_eyeballs *, enum dns_family first);
/* Its addresses, n of them (0: it has none), are there. */
void happy_eyeballs_add(struct happy_eyeballs *, enum dns_family, unsigned n);
enum happy_eyeballs_advice happy_eyeballs_advise(const struct happy_eyeballs *);
/* The next address by family and number; false: none is left. Whoever got it has tried it. */
bool happy_eyeballs_next(struct happy_eyeballs *, enum dns_family *, unsigned *i);

#endif
