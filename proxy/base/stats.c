/* Counters, gauges and histograms; see stats.h. */
#include "proxy/base/stats.h"

const struct stats_row stats_rows[] = {
#define COUNTER(id, name, what) { name, what, STATS_COUNTER, STAT_##id },
#define GAUGE(id, name, what) { name, what, STATS_GAUGE, GAUGE_##id },
#define TALLY(id, name, what) { name, what, STATS_TALLY, GAUGE_##id },
#include "proxy/base/stats.def"
};
const size_t stats_n_rows = sizeof stats_rows / sizeof *stats_rows;

const struct stats_route_row stats_route_rows[ROUTE_COUNT] = {
#define ROUTE(id, name, what) { name, what },
#include "proxy/base/stats.def"
};

enum histogram_unit { UNIT_bytes, UNIT_seconds };
enum histogram_by { BY_NOTHING, BY_OUTCOME };

const struct stats_histogram_row stats_histogram_rows[HISTOGRAM_COUNT] = {
#define HISTOGRAM(id, name, what, unit, first, by) \
	{ name, #unit, what, UNIT_##unit == UNIT_seconds, first, BY_##by == BY_OUTCOME },
#include "proxy/base/stats.def"
};

void stats_observe(struct stats *set, enum stats_histogram id, enum answer_outcome outcome, uint64_t value)
{
	struct histogram *histogram = &set->histograms[id][outcome];
	unsigned first = stats_histogram_rows[id].first,
	         power = value > 1 ? 64 - (unsigned)__builtin_clzll(value - 1) : 0,
	         at = power > first ? power - first : 0;

	stats_count(&histogram->bucket[at < HISTOGRAM_BUCKETS ? at : HISTOGRAM_BUCKETS], 1);
	stats_count(&histogram->sum, value);
}

void stats_longest_turn(struct stats *set, uint64_t us)
{
	if (us > stats_get(&set->longest_turn_us))
		atomic_store_explicit(&set->longest_turn_us, us, memory_order_relaxed);
}

void stats_tell_longest_turn(struct stats_gauges *gauges, struct stats *const *sets, size_t n)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < n; i++)
		if (stats_get(&sets[i]->longest_turn_us) > longest)
			longest = stats_get(&sets[i]->longest_turn_us);
	stats_tell(gauges, GAUGE_LOOP_LONGEST, longest);
}

uint64_t stats_bucket(struct stats *const *sets, size_t n, enum stats_histogram id, enum answer_outcome outcome,
    size_t bucket)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += stats_get(&sets[i]->histograms[id][outcome].bucket[bucket]);
	return sum;
}

double stats_quantile(enum stats_histogram id, const uint64_t counts[HISTOGRAM_BUCKETS + 1], double share)
{
	double all = 0, before = 0, from = 0, to = (double)(1ull << stats_histogram_rows[id].first);

	for (size_t b = 0; b <= HISTOGRAM_BUCKETS; b++)
		all += (double)counts[b];
	if (all <= 0)
		return 0;
	for (size_t b = 0; b < HISTOGRAM_BUCKETS; b++, from = to, to *= 2) {
		double here = (double)counts[b];

		if (here > 0 && before + here >= all * share)
			return from + (to - from) * (all * share - before) / here;
		before += here;
	}
	return from;
}

bool stats_number(const struct stats_row *row, struct stats *const *sets, size_t n, const struct stats_gauges *gauges,
    uint64_t *number)
{
	bool counted = row->kind == STATS_COUNTER;

	*number = counted ? 0 : gauges->of[row->id].value;
	for (size_t i = 0; counted && i < n; i++)
		*number += stats_get(&sets[i]->value[row->id]);
	return counted || gauges->of[row->id].known;
}

void stats_print(FILE *f, struct stats *const *sets, size_t n, const struct stats_gauges *gauges)
{
	uint64_t number;

	for (size_t i = 0; i < stats_n_rows; i++)
		if (stats_number(&stats_rows[i], sets, n, gauges, &number))
			fprintf(f, "%s %llu\n", stats_rows[i].name, (unsigned long long)number);
}

void stats_route_sums(uint64_t sums[ROUTE_COUNT], const struct stats_of_route *sets, size_t n)
{
	uint64_t all = 0;

	for (size_t c = 0; c < ROUTE_COUNT; c++) {
		sums[c] = 0;
		for (size_t i = 0; i < n; i++)
			sums[c] += stats_get(&sets[i].value[c]);
		all += sums[c];
	}
	sums[ROUTE_REQUESTS] = all;
}

void stats_print_route(FILE *f, const char *name, const struct stats_of_route *sets, size_t n)
{
	uint64_t sums[ROUTE_COUNT];

	stats_route_sums(sums, sets, n);
	for (size_t c = 0; c < ROUTE_COUNT; c++)
		fprintf(f, "route.%s.%s %llu\n", name, stats_route_rows[c].name, (unsigned long long)sums[c]);
}
