/* The sum of what is kept in memory; see budget.h. */
#include "proxy/settings/budget.h"

#include "proxy/base/bodies.h"

enum {
	BUDGET_SHARE = 4,
	BUDGET_CACHE_MAX = 64 << 20,
	BUDGET_CACHE_MIN = 1 << 20,
	BUDGET_CLIENT_BYTES = 6 * 1024,        /* one with a request under way: first buffer, parser, connection */
	BUDGET_WORKER_BYTES = 2 << 20,
	BUDGET_BASE_BYTES = 8 << 20            /* the program and its libraries */
};

uint64_t budget_limit(const struct budget *budget)
{
	return budget->group < budget->machine ? budget->group : budget->machine;
}

size_t budget_cache_bytes(const struct budget *budget)
{
	uint64_t share = budget_limit(budget) / BUDGET_SHARE;

	if (budget->cache_bytes)
		return budget->cache_bytes;
	if (budget->group >= budget->machine && share > BUDGET_CACHE_MAX)
		share = BUDGET_CACHE_MAX;
	if (share > SIZE_MAX / 2)
		share = SIZE_MAX / 2;
	return share < BUDGET_CACHE_MIN ? BUDGET_CACHE_MIN : (size_t)share;
}

uint64_t budget_sum(const struct budget *budget)
{
	uint64_t cache = budget_cache_bytes(budget);

	return BUDGET_BASE_BYTES + BODIES_LOOSE_MAX + BODIES_PROMISED_MAX +
	    (uint64_t)budget->workers * BUDGET_WORKER_BYTES + cache + cache / 20 +
	    (uint64_t)budget->clients * BUDGET_CLIENT_BYTES + budget->decoding_bytes;
}
