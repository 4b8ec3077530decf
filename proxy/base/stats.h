/* Owns the counters (stats.def). A worker counts into its own set; only whoever prints adds sets up.
 * Must not know: what the numbers are about. Invariant: one writer per set, so a relaxed atomic add is enough. */
#ifndef UTFEED_PROXY_BASE_STATS_H
#define UTFEED_PROXY_BASE_STATS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum stats_counter {
#define COUNTER(id, name, what) STAT_##id,
#include "proxy/base/stats.def"
#undef COUNTER
	STAT_COUNT
};

struct stats {
	_Atomic uint64_t value[STAT_COUNT];
};

static inline void stats_add(struct stats *s, enum stats_counter c, uint64_t n)
{
	atomic_store_explicit(&s->value[c], atomic_load_explicit(&s->value[c], memory_order_relaxed) + n, memory_order_relaxed);
}

/* Writes "name value" lines: the sum of n sets. */
void stats_print(FILE *, struct stats *const *sets, size_t n);

#endif
