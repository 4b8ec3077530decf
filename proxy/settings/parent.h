/* Owns the choice of the parent proxy for a request, and of the credentials for it. Pure.
 * Must not know: connections, where the rules come from.
 * Invariant: credentials are for the parent alone: no request that an origin reads has them. */
#ifndef UTFEED_PROXY_SETTINGS_PARENT_H
#define UTFEED_PROXY_SETTINGS_PARENT_H

#include <stdbool.h>

#include "proxy/http/destination.h"

struct conf_destination_list;
struct conf_parent;

/* All pointers are borrowed. A parent without a host means that there is none. */
struct parent_rules {
	const struct conf_parent *http, *https;        /* by the destination's scheme */
	const struct conf_destination_list *none;      /* destinations that are asked directly */
};

/* The parent proxy for a destination; NULL: it is asked directly. */
const struct conf_parent *parent_choose(const struct parent_rules *, const struct destination *);
/* Whether requests are for the parent itself to read, so that no tunnel leads through it; parent may be NULL. */
bool parent_reads(const struct conf_parent *, bool tls);
/* Whether both are the same proxy with the same credentials; either may be NULL. */
bool parent_same(const struct conf_parent *, const struct conf_parent *);
/* Appends what tells a way to an origin from others: its port, and the parent on the way, which may be NULL. Ways are
 * equal where the ports are and parent_same() holds. */
void parent_add_way(struct text *, uint16_t port, const struct conf_parent *);
/* A number that tells proxies apart; NULL: 0. */
uint64_t parent_number(const struct conf_parent *);
/* Appends Proxy-Authorization, if the parent, which speaks HTTP, has credentials. */
void parent_add_credentials(struct text *, const struct conf_parent *);

#endif
