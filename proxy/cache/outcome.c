/* Owns what an answer counts as: of the counters that part all requests between them, one. Must not know: what else is decided. */
#include "proxy/cache/lookup_internal.h"

/* Whoever only waited did not ask, whatever the answer came from. STAT_COUNT: it never came as far as the cache. */
static enum stats_counter answer_outcome(const struct answer *a)
{
	if (a->status.hit)
		return a->status.ttl > 0 ? STAT_CACHE_HITS : STAT_CACHE_STALE;
	if (a->joined)
		return STAT_CACHE_COLLAPSED;
	if (a->substituted)
		return a->status.fwd_status == 304 ? STAT_CACHE_REVALIDATED : STAT_CACHE_STALE;
	if (a->status.fwd == FWD_BYPASS || a->status.fwd == FWD_METHOD)
		return STAT_CACHE_BYPASSES;
	return a->status.fwd == FWD_NONE ? STAT_COUNT : STAT_CACHE_MISSES;
}

void answer_count(const struct answer *a)
{
	enum stats_counter outcome = answer_outcome(a);

	if (outcome != STAT_COUNT)
		stats_add(loop_stats(a->ctx->loop), outcome, 1);
}
