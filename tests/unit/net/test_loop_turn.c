/* Owns the cases of proxy/net/loop_turn.c: which turns count, which are spent, and which function is told. Must not know: what is called.
 * Invariant: a turn may always take longer than it was made to, never less long. */
#include "proxy/net/loop.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <time.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static struct loop *loop;

static void nap(struct task *t)
{
	static const struct timespec longer = { .tv_nsec = (LOOP_TURN_LONG_US + 1000) * 1000L };

	(void)t;
	nanosleep(&longer, NULL);
}

static void compute(struct task *t)
{
	struct timespec used;
	long from, us;

	(void)t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	from = used.tv_sec * 1000000 + used.tv_nsec / 1000;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
		us = used.tv_sec * 1000000 + used.tv_nsec / 1000 - from;
	} while (us <= LOOP_TURN_LONG_US + 1000);
}

static void on_stop(struct task *t)
{
	(void)t;
	loop_stop(loop);
}

static uint64_t observed(const struct histogram *h, unsigned from)
{
	uint64_t n = 0;

	for (size_t i = from; i <= HISTOGRAM_BUCKETS; i++)
		n += stats_get(&h->bucket[i]);
	return n;
}

static void turns(void)
{
	enum { OVER_4_MS = 8 + 1 /* the bucket beyond 2^(4+8) us */ };
	static const struct { const char *rule; void (*run)(struct task *); bool counts; uint64_t turns, stalls; } cases[] = {
		{ "who waits in a turn holds it", nap, true, 2, 1 },
		{ "who computes in a turn holds it", compute, true, 2, 1 },
		{ "a loop without clients counts nothing", nap, false, 0, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct task task = { .run = cases[i].run }, end = { .run = on_stop };
		struct stats_gauges gauges = { 0 };
		const struct histogram *h;
		struct stats *stats;

		loop = loop_new();
		CU_ASSERT_FATAL(loop != NULL);
		if (cases[i].counts)
			loop_count_turns(loop);
		loop_defer(loop, &task);
		loop_defer(loop, &end);
		CU_ASSERT(!loop_run(loop));
		loop_defer(loop, &end);
		CU_ASSERT(!loop_run(loop));
		stats = loop_stats(loop);
		h = &stats->histograms[HISTOGRAM_LOOP_TURN][ANSWER_NONE];
		UNIT_ROW(observed(h, 0) == cases[i].turns, "%s: %llu turns", cases[i].rule, (unsigned long long)observed(h, 0));
		UNIT_ROW(observed(h, OVER_4_MS) >= cases[i].stalls && stats_get(&stats->value[STAT_LOOP_STALLS]) >= cases[i].stalls, "%s", cases[i].rule);
		stats_tell_longest_turn(&gauges, &stats, 1);
		UNIT_ROW((gauges.of[GAUGE_LOOP_LONGEST].value > LOOP_TURN_LONG_US) == cases[i].counts, "%s: longest", cases[i].rule);
		loop_free(&loop);
	}
}

enum { FRESH_TURNS_MAX = 1000 };

/* Whether the turn was spent behind a nap, and for who came behind the sleeper; how many turns were spent before one
 * was not. */
static struct { bool slept, behind, fresh; unsigned turns; } saw;

static void sleeper(struct timer *t)
{
	static const struct timespec whole = { .tv_nsec = LOOP_TURN_SPENT_US * 1000L };

	(void)t;
	nanosleep(&whole, NULL);
	saw.slept = loop_is_spent(loop);
}

/* A busy machine may spend any turn before this is called, but not all of them. */
static void until_fresh(struct task *t)
{
	saw.fresh = !loop_is_spent(loop);
	if (saw.fresh || ++saw.turns == FRESH_TURNS_MAX)
		loop_stop(loop);
	else
		loop_defer(loop, t);
}

static struct task fresh = { .run = until_fresh };

static void behind_sleeper(struct timer *t)
{
	(void)t;
	saw.behind = loop_is_spent(loop);
	loop_defer(loop, &fresh);
}

static void spent(void)
{
	static const struct { const char *rule; bool counts; } cases[] = {
		{ "where turns are counted", true },
		{ "where they are not", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct timer timers[] = { { .fire = sleeper }, { .fire = behind_sleeper } };

		memset(&saw, 0, sizeof saw);
		loop = loop_new();
		CU_ASSERT_FATAL(loop != NULL);
		if (cases[i].counts)
			loop_count_turns(loop);
		UNIT_ROW(!loop_is_spent(loop), "%s: no turn yet", cases[i].rule);
		for (size_t j = 0; j < COUNT(timers); j++)
			loop_arm(loop, &timers[j], 1);
		CU_ASSERT(!loop_run(loop));
		UNIT_ROW(saw.slept, "%s: behind long work", cases[i].rule);
		UNIT_ROW(saw.behind, "%s: for others of the same turn", cases[i].rule);
		UNIT_ROW(saw.fresh && saw.turns, "%s: not in a later one", cases[i].rule);
		UNIT_ROW(!loop_is_spent(loop), "%s: nor between turns", cases[i].rule);
		loop_free(&loop);
	}
}

/* One after the other in a turn: whether the first was spent at its end, and whether the second one was at its beginning. */
static struct { bool first, second; unsigned turns; } shares;

static void long_share(struct task *t)
{
	static const struct timespec share = { .tv_nsec = LOOP_CALL_SPENT_US * 1000L };

	(void)t;
	loop_is_spent(loop);
	nanosleep(&share, NULL);
	shares.first = loop_is_spent(loop);
}

static struct task share_tasks[2];

/* A busy machine may spend any turn, but not all of them. */
static void next_share(struct task *t)
{
	(void)t;
	shares.second = loop_is_spent(loop);
	if (!shares.second || !shares.first || ++shares.turns == FRESH_TURNS_MAX) {
		loop_stop(loop);
		return;
	}
	for (size_t i = 0; i < COUNT(share_tasks); i++)
		loop_defer(loop, &share_tasks[i]);
}

static void each_has_a_share(void)
{
	loop = loop_new();
	CU_ASSERT_FATAL(loop != NULL);
	share_tasks[0].run = long_share;
	share_tasks[1].run = next_share;
	for (size_t i = 0; i < COUNT(share_tasks); i++)
		loop_defer(loop, &share_tasks[i]);
	CU_ASSERT(!loop_run(loop));
	UNIT_ROW(shares.first, "who has had his share is spent");
	UNIT_ROW(!shares.second, "and nobody else");
	loop_free(&loop);
}

UNIT_SUITE(loop_turn, { "turns", turns }, { "spent", spent }, { "each has a share", each_has_a_share })
