/* The counts of named routes; see route_counts.h. */
#include "proxy/settings/route_counts.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct route_counts *route_counts_new(const char *name, size_t workers)
{
	size_t bytes = sizeof(struct route_counts) + workers * sizeof(struct stats_of_route);
	struct route_counts *counts = aligned_alloc(alignof(struct route_counts), bytes);

	if (!counts)
		return NULL;
	memset(counts, 0, bytes);
	atomic_init(&counts->refs, 1);
	counts->n = workers;
	if ((counts->name = strdup(name)))
		return counts;
	free(counts);
	return NULL;
}

struct route_counts *route_counts_ref(struct route_counts *counts)
{
	atomic_fetch_add_explicit(&counts->refs, 1, memory_order_relaxed);
	return counts;
}

void route_counts_unref(struct route_counts **cp)
{
	struct route_counts *counts = *cp;

	*cp = NULL;
	if (!counts || atomic_fetch_sub_explicit(&counts->refs, 1, memory_order_acq_rel) > 1)
		return;
	free(counts->name);
	free(counts);
}
