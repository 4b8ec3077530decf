/* Owns the order in which a name's addresses are tried (RFC 8305): families take turns, one of them first. Pure.
 * Must not know: connections, clocks. Invariant: each address comes once. */
#ifndef UTFEED_PROXY_ORIGIN_HAPPY_EYEBALLS_H
#define UTFEED_PROXY_ORIGIN_HAPPY_EYEBALLS_H

#include <stdbool.h>

#include "proxy/dns/dns.h"

/* RFC 8305 section 8: how long the first family's answer is waited for, and the time between attempts. */
enum { EYEBALLS_RESOLUTION_MS = 50, EYEBALLS_STAGGER_MS = 250 };

struct eyeballs {
	enum dns_family turn;                  /* whose address is next, where it has one */
	bool known[DNS_FAMILIES];              /* its addresses are all here */
	unsigned n[DNS_FAMILIES], tried[DNS_FAMILIES];
};

enum eyeballs_advice {
	EYEBALLS_TRY,          /* go ahead: eyeballs_next() has an address */
	EYEBALLS_WAIT_SHORT,   /* only the second family is there: wait EYEBALLS_RESOLUTION_MS for the first */
	EYEBALLS_WAIT,         /* nothing to try until an answer comes */
	EYEBALLS_NONE          /* nothing left, nothing will come */
};

void eyeballs_start(struct eyeballs *, enum dns_family first);
/* Its addresses, n of them (0: it has none), are there. */
void eyeballs_add(struct eyeballs *, enum dns_family, unsigned n);
enum eyeballs_advice eyeballs_advise(const struct eyeballs *);
/* The next address by family and number; false: none is left. Whoever got it has tried it. */
bool eyeballs_next(struct eyeballs *, enum dns_family *, unsigned *i);

#endif
