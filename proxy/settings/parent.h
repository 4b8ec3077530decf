/* Owns which parent proxy a request goes through, and what it tells that one. Pure.
 * Must not know: connections, where the rules come from.
 * Invariant: credentials are for the parent alone: they stand in no request that an origin reads. */
#ifndef UTFEED_PROXY_SETTINGS_PARENT_H
#define UTFEED_PROXY_SETTINGS_PARENT_H

#include <stdbool.h>

#include "proxy/http/destination.h"

struct conf_destination_list;
struct conf_parent;

/* All borrowed. A parent without a host is none. */
struct parent_rules {
	const struct conf_parent *http, *https;        /* by the destination's scheme */
	const struct conf_destination_list *none;      /* what is asked directly */
};

/* NULL: directly. */
const struct conf_parent *parent_choose(const struct parent_rules *, const struct destination *);
/* One proxy, with one user; either may be NULL. */
bool parent_same(const struct conf_parent *, const struct conf_parent *);
/* Appends Proxy-Authorization, where there are credentials. */
void parent_add_credentials(struct text *, const struct conf_parent *);

#endif
