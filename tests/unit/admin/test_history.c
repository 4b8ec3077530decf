/* Owns the cases of proxy/admin/history.c. Must not know: who counts. Invariant: each row names its rule. */
#include "proxy/admin/history.h"
#include "tests/unit/unit.h"

static struct history h;

/* Adds sample number i: its numbers grow by i. */
static void add(uint64_t i)
{
	uint64_t sum = i * (i + 1) / 2;

	history_add(&h, &(struct history_sample){ .at = (int64_t)i, .requests = sum, .hits = sum, .errors = sum, .bytes = sum,
		.duration_us = sum, .timed = sum, .resident = i });
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
			    s.duration_us == grown && s.timed == grown && s.resident == grown, "%s: step %zu", cases[c].rule, i);
		}
	}
}

UNIT_SUITE(history, { "steps", steps })
