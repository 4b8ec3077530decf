/* Owns the counters and gauges (stats.def). A worker counts into its own set; only whoever prints adds sets up, and asks for gauges.
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
#include "proxy/base/stats.def"
#undef COUNTER
#undef GAUGE
	STAT_COUNT
};

enum stats_gauge {
#define COUNTER(id, name, what)
#define GAUGE(id, name, what) GAUGE_##id,
#include "proxy/base/stats.def"
#undef COUNTER
#undef GAUGE
	GAUGE_COUNT
};

struct stats {
	_Atomic uint64_t value[STAT_COUNT];
};

static inline void stats_add(struct stats *s, enum stats_counter c, uint64_t n)
{
	atomic_store_explicit(&s->value[c], atomic_load_explicit(&s->value[c], memory_order_relaxed) + n, memory_order_relaxed);
}

/* As they are at one moment; empty: nobody has any. */
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

#endif
