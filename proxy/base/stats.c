/* Prints counters and gauges; see stats.h. */
#include "proxy/base/stats.h"

static const struct stats_row {
	const char *name;
	bool gauge;
	unsigned id;                   /* enum stats_gauge or stats_counter */
} rows[] = {
#define COUNTER(id, name, what) { name, false, STAT_##id },
#define GAUGE(id, name, what) { name, true, GAUGE_##id },
#include "proxy/base/stats.def"
#undef COUNTER
#undef GAUGE
};

static uint64_t stats_sum(struct stats *const *sets, size_t n, unsigned counter)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += atomic_load_explicit(&sets[i]->value[counter], memory_order_relaxed);
	return sum;
}

void stats_print(FILE *f, struct stats *const *sets, size_t n, const struct stats_gauges *gauges)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct stats_row *r = &rows[i];

		if (!r->gauge)
			fprintf(f, "%s %llu\n", r->name, (unsigned long long)stats_sum(sets, n, r->id));
		else if (gauges->of[r->id].known)
			fprintf(f, "%s %llu\n", r->name, (unsigned long long)gauges->of[r->id].value);
	}
}
