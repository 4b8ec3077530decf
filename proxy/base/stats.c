/* Prints counters; see stats.h. */
#include "proxy/base/stats.h"

static const char *const names[STAT_COUNT] = {
#define COUNTER(id, name, what) name,
#include "proxy/base/stats.def"
#undef COUNTER
};

void stats_print(FILE *f, struct stats *const *sets, size_t n)
{
	for (size_t c = 0; c < STAT_COUNT; c++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += atomic_load_explicit(&sets[i]->value[c], memory_order_relaxed);
		fprintf(f, "%s %llu\n", names[c], (unsigned long long)sum);
	}
}
