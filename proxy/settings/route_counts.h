/* Owns what is counted of a route that has a name, over reloads too: routes of one name, now or in turn, are counted
 * together.
 * Must not know: what is counted when. Invariant: each worker writes its own set. */
#ifndef UTFEED_PROXY_SETTINGS_ROUTE_COUNTS_H
#define UTFEED_PROXY_SETTINGS_ROUTE_COUNTS_H

#include "proxy/base/stats.h"

struct route_counts {
	atomic_uint refs;
	char *name;
	size_t n;                      /* workers */
	struct stats_of_route of[];
};

/* One reference. NULL: out of memory. */
struct route_counts *route_counts_new(const char *name, size_t workers);
struct route_counts *route_counts_ref(struct route_counts *);
void route_counts_unref(struct route_counts **);       /* nulls; NULL inside is fine */

#endif
