/* Owns the order in which a name's addresses are tried (RFC 8305): the two families take turns, one of them first.
 * Pure.
 * Must not know: connections, clocks. Invariant: each address comes once. */
#ifndef UTFEED_PROXY_ORIGIN_HAPPY_EYEBALLS_H
#define UTFEED_PROXY_ORIGIN_HAPPY_EYEBALLS_H

#include <stdbool.h>

#include "proxy/dns/dns.h"

/* RFC 8305 section 8: how long the first family's answer is waited for, and the time between attempts. */
enum { HAPPY_EYEBALLS_RESOLUTION_MS = 50, HAPPY_EYEBALLS_STAGGER_MS = 250 };

struct happy_eyeballs {
	enum dns_family turn;                  /* the family that is next, if it has an address left */
	bool known[DNS_FAMILIES];              /* all addresses of the family are here */
	unsigned n[DNS_FAMILIES], tried[DNS_FAMILIES];
};

enum happy_eyeballs_advice {
	HAPPY_EYEBALLS_TRY,          /* happy_eyeballs_next() has an address to try now */
	/* only the family that is not first has addresses: wait HAPPY_EYEBALLS_RESOLUTION_MS for the first one */
	HAPPY_EYEBALLS_WAIT_SHORT,
	HAPPY_EYEBALLS_WAIT,         /* nothing to try until an answer comes */
	HAPPY_EYEBALLS_NONE          /* no address is left, and none will come */
};

void happy_eyeballs_start(struct happy_eyeballs *, enum dns_family first);
/* The n addresses of a family are there (0: it has none). */
void happy_eyeballs_add(struct happy_eyeballs *, enum dns_family, unsigned n);
enum happy_eyeballs_advice happy_eyeballs_advise(const struct happy_eyeballs *);
/* Gives the next address by family and number, and counts it as tried; false: none is left. */
bool happy_eyeballs_next(struct happy_eyeballs *, enum dns_family *, unsigned *i);

#endif
