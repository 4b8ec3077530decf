/* Owns the counters, gauges and histograms (stats.def). Each worker counts into a set of its own. Only when they are
 * shown are the sets added up and the gauges asked for.
 * Must not know: what the numbers are about. Invariant: one writer per set, so a relaxed load and store are enough. */
#ifndef UTFEED_PROXY_BASE_STATS_H
#define UTFEED_PROXY_BASE_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "proxy/base/answers.h"
#include "proxy/base/failure.h"

enum stats_counter {
#define COUNTER(id, name, what) STAT_##id,
#include "proxy/base/stats.def"
	STAT_COUNT
};

enum stats_gauge {
#define GAUGE(id, name, what) GAUGE_##id,
#define TALLY(id, name, what) GAUGE_##id,
#include "proxy/base/stats.def"
	GAUGE_COUNT
};

enum stats_route {
#define ROUTE(id, name, what) ROUTE_##id,
#include "proxy/base/stats.def"
	ROUTE_COUNT
};

enum stats_histogram {
#define HISTOGRAM(id, name, what, unit, first, by) HISTOGRAM_##id,
#include "proxy/base/stats.def"
	HISTOGRAM_COUNT
};

enum { HISTOGRAM_BUCKETS = 21 };

/* bucket[i] counts the values from the bound before it up to its own bound, 2^(first+i); the last one has no bound. */
struct histogram {
	_Atomic uint64_t bucket[HISTOGRAM_BUCKETS + 1], sum;
};

struct stats {
	_Atomic uint64_t value[STAT_COUNT];
	/* by what the cache did; those by nothing are in the first place */
	struct histogram histograms[HISTOGRAM_COUNT][ANSWER_COUNT];
	_Atomic uint64_t failures[FAILURE_COUNT]; /* fetches that failed, by kind */
	_Atomic uint64_t longest_turn_us;
	struct answers answers;
};

static inline void stats_add(struct stats *set, enum stats_counter c, uint64_t n)
{
	stats_count(&set->value[c], n);
}

/* Adds a value in the histogram's unit: microseconds or bytes. A histogram by nothing has ANSWER_NONE. */
void stats_observe(struct stats *, enum stats_histogram, enum answer_outcome, uint64_t value);
/* The count of a bucket for that outcome, over n sets. */
uint64_t stats_bucket(struct stats *const *sets, size_t n, enum stats_histogram, enum answer_outcome, size_t bucket);
/* Keeps the longest. */
void stats_longest_turn(struct stats *, uint64_t us);

/* The quantile `share` (0 to 1) of the counted values, in the histogram's unit. It takes the values of a bucket to be
 * spread evenly over it. Values above all bounds count as the greatest bound. 0: nothing was counted. */
double stats_quantile(enum stats_histogram, const uint64_t counts[HISTOGRAM_BUCKETS + 1], double share);

/* One worker's counters of one route, on a cache line of their own. A request counts once, as a hit or a miss, or in
 * REQUESTS where it is neither; stats_route_sums() adds all three up as the route's requests. */
struct stats_of_route {
	_Alignas(64) _Atomic uint64_t value[ROUTE_COUNT];
};

static inline void stats_add_route(struct stats_of_route *set, enum stats_route c)
{
	stats_count(&set->value[c], 1);
}

/* The gauges at one moment; a zeroed struct knows none. */
struct stats_gauges {
	struct {
		bool known;
		uint64_t value;
	} of[GAUGE_COUNT];
};

static inline void stats_tell(struct stats_gauges *gauges, enum stats_gauge id, uint64_t value)
{
	gauges->of[id].known = true;
	gauges->of[id].value = value;
}

/* Tells the longest turn of n sets. */
void stats_tell_longest_turn(struct stats_gauges *, struct stats *const *sets, size_t n);

/* The rows of stats.def, in its order. */
enum stats_kind { STATS_COUNTER, STATS_GAUGE, STATS_TALLY };
struct stats_row {
	const char *name, *what;
	enum stats_kind kind;
	unsigned id; /* enum stats_counter or stats_gauge */
};
extern const struct stats_row stats_rows[];
extern const size_t stats_n_rows;

struct stats_histogram_row {
	const char *name, *unit, *what;
	bool seconds;   /* values are microseconds */
	unsigned first;  /* the power of two that bounds the first bucket */
	bool by_outcome; /* there is one for each outcome */
};
extern const struct stats_histogram_row stats_histogram_rows[HISTOGRAM_COUNT];

struct stats_route_row {
	const char *name, *what;
};
extern const struct stats_route_row stats_route_rows[ROUTE_COUNT];

/* The number of a row: the sum of n sets, or the gauge. False: it is not known. */
bool stats_number(const struct stats_row *, struct stats *const *sets, size_t n, const struct stats_gauges *,
    uint64_t *number);
void stats_route_sums(uint64_t sums[ROUTE_COUNT], const struct stats_of_route *sets, size_t n);

/* Writes "name value" lines: the sum of n sets, and the gauges that are known. */
void stats_print(FILE *, struct stats *const *sets, size_t n, const struct stats_gauges *);
/* The same for the counters of the route with that name. */
void stats_print_route(FILE *, const char *name, const struct stats_of_route *sets, size_t n);

#endif
