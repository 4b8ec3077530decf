/* Owns the counters and gauges (stats.def). Each worker counts into a set of its own. Only when they are printed are
 * the sets added up and the gauges asked for.
 * Must not know: what the numbers are about. Invariant: one writer per set, so a relaxed load and store are enough. */
#ifndef UTFEED_PROXY_BASE_STATS_H
#define UTFEED_PROXY_BASE_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum stats_counter {
#define COUNTER(id, name, what) STAT_##id,
#define GAUGE(id, name, what)
#define ROUTE(id, name, what)
#include "proxy/base/stats.def"
#undef COUNTER
#undef GAUGE
#undef ROUTE
	STAT_COUNT
};

enum stats_gauge {
#define COUNTER(id, name, what)
#define GAUGE(id, name, what) GAUGE_##id,
#define ROUTE(id, name, what)
#include "proxy/base/stats.def"
#undef COUNTER
#undef GAUGE
#undef ROUTE
	GAUGE_COUNT
};

enum stats_route {
#define COUNTER(id, name, what)
#define GAUGE(id, name, what)
#define ROUTE(id, name, what) ROUTE_##id,
#include "proxy/base/stats.def"
#undef COUNTER
#undef GAUGE
#undef ROUTE
	ROUTE_COUNT
};

struct stats {
	_Atomic uint64_t value[STAT_COUNT];
};

static inline void stats_add(struct stats *s, enum stats_counter c, uint64_t n)
{
	atomic_store_explicit(&s->value[c], atomic_load_explicit(&s->value[c], memory_order_relaxed) + n,
	    memory_order_relaxed);
}

/* One worker's counters of one route, on a cache line of their own. A request counts once, as a hit or a miss, or in
 * REQUESTS where it is neither; stats_print_route() prints the sum of all three as the route's requests. */
struct stats_of_route {
	_Alignas(64) _Atomic uint64_t value[ROUTE_COUNT];
};

static inline void stats_add_route(struct stats_of_route *s, enum stats_route c)
{
	atomic_store_explicit(&s->value[c], atomic_load_explicit(&s->value[c], memory_order_relaxed) + 1,
	    memory_order_relaxed);
}

/* The gauges at one moment; a zeroed struct knows none. */
struct stats_gauges {
	struct { bool known; uint64_t value; } of[GAUGE_COUNT];
};

static inline void stats_tell(struct stats_gauges *g, enum stats_gauge id, uint64_t value)
{
	g->of[id].known = true;
	g->of[id].value = value;
}

/* Writes "name value" lines: the sum of n sets, and the gauges that are known. */
void stats_print(FILE *, struct stats *const *sets, size_t n, const struct stats_gauges *);
/* The same for the counters of the route with that name. */
void stats_print_route(FILE *, const char *name, const struct stats_of_route *sets, size_t n);

#endif
