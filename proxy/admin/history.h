/* Owns what the last hour was like: a sample each HISTORY_STEP_S seconds, of numbers that only grow.
 * Must not know: who counts them, who shows them. Pure. Invariant: it never takes more memory than it is. */
#ifndef UTFEED_PROXY_ADMIN_HISTORY_H
#define UTFEED_PROXY_ADMIN_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "proxy/base/stats.h"

enum { HISTORY_STEP_S = 15, HISTORY_SAMPLES = 3600 / HISTORY_STEP_S };

struct history_sample {
	int64_t at; /* seconds since the epoch */
	uint64_t requests, hits, errors, bytes;
	uint64_t duration_us, timed; /* the sum of the durations of `timed` answers */
	uint64_t durations[HISTOGRAM_BUCKETS + 1]; /* these answers by HISTOGRAM_REQUEST_DURATION's buckets */
	uint64_t resident;           /* bytes of memory at that moment */
};

struct history {
	size_t n; /* samples taken so far; the last HISTORY_SAMPLES + 1 of them are there */
	struct history_sample samples[HISTORY_SAMPLES + 1];
};

void history_add(struct history *, const struct history_sample *);
/* How many steps there are between two samples each. */
size_t history_steps(const struct history *);
/* What was added in step i, counted from the oldest: the differences, and the later sample's time and memory. */
struct history_sample history_step(const struct history *, size_t i);
/* The differences from the oldest sample until now; without a sample, all that was ever counted. */
struct history_sample history_since(const struct history *, const struct history_sample *now);
/* What was added from one moment to another, as far as samples near them tell. Returns how many seconds they are
 * apart; 0: nothing is known of that time. */
int64_t history_between(const struct history *, int64_t from, int64_t to, struct history_sample *added);
/* When the latest sample was taken, and the oldest that is there; 0: none was. */
int64_t history_latest(const struct history *);
int64_t history_earliest(const struct history *);
double history_mean_ms(const struct history_sample *);
/* The duration in milliseconds that so great a share of a step's answers did not take longer than (0 to 1). */
double history_quantile_ms(const struct history_sample *step, double share);

#endif
