/* The counts of named routes; see route_counts.h. */
#include "proxy/settings/route_counts.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct route_counts *route_counts_new(const char *name, size_t workers)
{
	size_t bytes = sizeof(struct route_counts) + workers * sizeof(struct stats_of_route);
	struct route_counts *c = aligned_alloc(alignof(struct route_counts), bytes);

	if (!c)
		return NULL;
	memset(c, 0, bytes);
	atomic_init(&c->refs, 1);
	c->n = workers;
	if ((c->name = strdup(name)))
		return c;
	free(c);
	return NULL;
}

struct route_counts *route_counts_ref(struct route_counts *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void route_counts_unref(struct route_counts **cp)
{
	struct route_counts *c = *cp;

	*cp = NULL;
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
		return;
	free(c->name);
	free(c);
}
