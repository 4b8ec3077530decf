/* Owns the cases of proxy/admin/history.c. Must not know: who counts. Invariant: each row names its rule. */
#include "proxy/admin/history.h"
#include "tests/unit/unit.h"

static struct history h;

/* Adds sample number i: its numbers grow by i. */
static void add(uint64_t i)
{
	uint64_t sum = i * (i + 1) / 2;

	history_add(&h, &(struct history_sample){ .at = (int64_t)i, .requests = sum, .hits = sum, .errors = sum, .bytes = sum,
		.duration_us = sum, .timed = sum, .durations = { [3] = sum, [HISTOGRAM_BUCKETS] = sum }, .resident = i });
}

static void steps(void)
{
	static const struct { const char *rule; uint64_t samples; size_t steps; int64_t first, last; } cases[] = {
		{ "none", 0, 0, 0, 0 }, { "one sample is no step", 1, 0, 0, 0 }, { "two are one", 2, 1, 1, 1 },
		{ "the hour is full", HISTORY_SAMPLES + 1, HISTORY_SAMPLES, 1, HISTORY_SAMPLES },
		{ "the oldest leaves", HISTORY_SAMPLES + 2, HISTORY_SAMPLES, 2, HISTORY_SAMPLES + 1 },
		{ "after a day", 5760, HISTORY_SAMPLES, 5760 - HISTORY_SAMPLES, 5759 },
	};

	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		size_t n;

		h.n = 0;
		for (uint64_t i = 0; i < cases[c].samples; i++)
			add(i);
		n = history_steps(&h);
		UNIT_ROW(n == cases[c].steps, "%s: %zu", cases[c].rule, n);
		if (!n)
			continue;
		UNIT_ROW(history_step(&h, 0).at == cases[c].first && history_step(&h, n - 1).at == cases[c].last, "%s", cases[c].rule);
		for (size_t i = 0; i < n; i++) {
			struct history_sample s = history_step(&h, i);
			uint64_t grown = (uint64_t)s.at;

			UNIT_ROW(s.requests == grown && s.hits == grown && s.errors == grown && s.bytes == grown &&
			    s.duration_us == grown && s.timed == grown && s.durations[3] == grown && s.durations[4] == 0 &&
			    s.durations[HISTOGRAM_BUCKETS] == grown && s.resident == grown, "%s: step %zu", cases[c].rule, i);
		}
	}
}

/* What came since the oldest sample, the present included. */
static void since(void)
{
	const struct history_sample now = { .at = 9, .timed = 100, .durations = { [0] = 100 } };

	h.n = 0;
	CU_ASSERT_EQUAL(history_since(&h, &now).timed, 100);
	for (int i = 0; i < HISTORY_SAMPLES + 2; i++)
		history_add(&h, &(struct history_sample){ .at = i, .timed = i ? 60 : 10, .durations = { [0] = i ? 60 : 10 } });
	CU_ASSERT_EQUAL(history_since(&h, &now).timed, 40);
	CU_ASSERT_EQUAL(history_since(&h, &now).durations[0], 40);
}

/* What was added between two moments. Samples of 0, 15, 30, 45, 600 and 615 seconds, each with as many requests. */
static void between(void)
{
	static const struct { const char *rule; int64_t from, to, seconds; uint64_t requests; } cases[] = {
		{ "samples at both ends", 15, 45, 30, 30 }, { "samples before both ends", 16, 59, 30, 30 },
		{ "since before the first one: from that on", -60, 15, 15, 15 }, { "before the first one nothing is known", -60, -1, 0, 0 },
		{ "up to the first one neither", -60, 0, 0, 0 }, { "no sample came meanwhile", 60, 120, 0, 0 },
		{ "what came behind a gap took as long as the gap", 560, 610, 555, 555 }, { "the last step", 600, 660, 15, 15 },
	};
	static const int64_t at[] = { 0, 15, 30, 45, 600, 615 };
	struct history_sample added;

	h.n = 0;
	CU_ASSERT_EQUAL(history_between(&h, 0, 60, &added), 0);
	CU_ASSERT_EQUAL(history_latest(&h), 0);
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		history_add(&h, &(struct history_sample){ .at = at[i], .requests = (uint64_t)at[i] });
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		added.requests = 0;
		UNIT_ROW(history_between(&h, cases[i].from, cases[i].to, &added) == cases[i].seconds && added.requests == cases[i].requests,
		    "%s: %llu", cases[i].rule, (unsigned long long)added.requests);
	}
	CU_ASSERT_EQUAL(history_latest(&h), 615);
	CU_ASSERT_EQUAL(history_earliest(&h), 0);
}

/* A duration in microseconds lies in the bucket up to 64 us, or up to twice the bound before. */
static void quantiles(void)
{
	enum { LAST = HISTOGRAM_BUCKETS };
	static const struct {
		const char *rule;
		struct history_sample step;
		double share, ms;
	} cases[] = {
		{ "nothing was counted", { .at = 1 }, .5, 0 },
		{ "spread evenly over the first bucket", { .durations = { [0] = 10 } }, .5, .032 },
		{ "over the second", { .durations = { [1] = 4 } }, .5, .096 },
		{ "its upper bound", { .durations = { [1] = 4 } }, 1, .128 },
		{ "half of them below", { .durations = { [0] = 50, [4] = 50 } }, .5, .064 },
		{ "the greater half", { .durations = { [0] = 50, [4] = 50 } }, .75, .768 },
		{ "one in a hundred is slow", { .durations = { [0] = 99, [10] = 1 } }, .99, .064 },
		{ "more than one in a hundred", { .durations = { [0] = 980, [10] = 20 } }, .99, 49.152 },
		{ "beyond all bounds", { .durations = { [LAST] = 3 } }, .5, 67108.864 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double ms = history_quantile_ms(&cases[i].step, cases[i].share), off = ms - cases[i].ms;

		UNIT_ROW(off < 1e-6 && off > -1e-6, "%s: %f", cases[i].rule, ms);
	}
}

UNIT_SUITE(history, { "steps", steps }, { "since", since }, { "between", between }, { "quantiles", quantiles })
