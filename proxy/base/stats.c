/* Prints counters and gauges; see stats.h. */
#include "proxy/base/stats.h"

static const struct stats_row {
	const char *name;
	bool gauge;
	unsigned id;                   /* enum stats_gauge or stats_counter */
} rows[] = {
#define COUNTER(id, name, what) { name, false, STAT_##id },
#define GAUGE(id, name, what) { name, true, GAUGE_##id },
#define ROUTE(id, name, what)
#include "proxy/base/stats.def"
#undef COUNTER
#undef GAUGE
#undef ROUTE
};

static const char *const route_names[ROUTE_COUNT] = {
#define COUNTER(id, name, what)
#define GAUGE(id, name, what)
#define ROUTE(id, name, what) name,
#include "proxy/base/stats.def"
#undef COUNTER
#undef GAUGE
#undef ROUTE
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

static uint64_t stats_sum_route(const struct stats_of_route *sets, size_t n, size_t counter)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += atomic_load_explicit(&sets[i].value[counter], memory_order_relaxed);
	return sum;
}

void stats_print_route(FILE *f, const char *name, const struct stats_of_route *sets, size_t n)
{
	uint64_t sums[ROUTE_COUNT], all = 0;

	for (size_t c = 0; c < ROUTE_COUNT; c++)
		all += sums[c] = stats_sum_route(sets, n, c);
	sums[ROUTE_REQUESTS] = all;
	for (size_t c = 0; c < ROUTE_COUNT; c++)
		fprintf(f, "route.%s.%s %llu\n", name, route_names[c], (unsigned long long)sums[c]);
}
