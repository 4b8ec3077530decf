/* Owns what is counted of a route that has a name. The counts outlast a reload; routes of one name, at the same time or
 * one after the other, are counted together.
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
void route_counts_unref(struct route_counts **);       /* sets it to NULL; it may be NULL already */

#endif
