/* Owns the cases of proxy/cache/sweeper.c and of waiting in purge.c: who purges many is told once they are gone, in later turns of the loop,
 * and the sweep goes on without him. Must not know: how entries are found.
 * Invariant: nothing is said of how long anything takes, but that a million steps take longer than one slice. */
#include "proxy/cache/purge.h"
#include "proxy/origin/backoff.h"
#include "proxy/store/store_memory.h"
#include "tests/unit/entries.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* A budget of 8 GiB has so many buckets that no slice passes them all. */
enum { ENTRIES = 3000 };
static const size_t BUDGET = 8ull << 30;

static struct loop *loop;
static struct cache *cache;
static struct backoff *backoff;
static struct sweeper sweeper;
static struct { unsigned calls; int64_t count; bool counting, owed; } told;

static void on_done(struct purge_wait *w)
{
	told.calls++;
	told.count = w->count;
	told.counting = w->counting;
	told.owed = w->owed;
	purge_wait_free(&w);
	loop_stop(loop);
}

static void on_turn(struct task *t)
{
	(void)t;
	loop_stop(loop);
}

static uint64_t left(void)
{
	struct stats_gauges gauges = { 0 };

	cache_stats(cache, &gauges);
	return gauges.of[GAUGE_CACHE_ENTRIES].value;
}

static void open_world(void)
{
	cache = cache_new(store_memory_new(BUDGET, 1 << 20), NULL);
	backoff = backoff_new();
	loop = loop_new();
	CU_ASSERT_FATAL(cache && backoff && loop);
	sweeper_init(&sweeper, cache, loop);
	for (unsigned i = 0; i < ENTRIES; i++) {
		struct cache_ticket ticket;
		struct entry *e;
		char key[32];

		snprintf(key, sizeof key, "http://a/%u\nk", i);
		ticket = cache_ticket(cache, key, strlen(key));
		e = entries_new(key, 1, 10);
		CU_ASSERT(cache_put(cache, e, &ticket));
		entry_unref(&e);
	}
	memset(&told, 0, sizeof told);
}

static void close_world(void)
{
	sweeper_end(&sweeper);
	cache_free(&cache);
	backoff_free(&backoff);
	loop_free(&loop);
}

static struct purge_wait *purge(const char *words)
{
	struct purge_begun begun;
	struct purge_wait *w;
	struct purge p;

	CU_ASSERT(purge_read(&p, (struct slice){ words, strlen(words) }));
	CU_ASSERT(!purge_run(&p, cache, backoff, NULL, 2000, 0, &begun));
	CU_ASSERT_EQUAL(begun.count, -1);
	CU_ASSERT(!purge_wait_new(&w, &sweeper, &begun, 5000));
	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	w->done = on_done;
	return w;
}

static void waiting(void)
{
	static const struct { const char *words; uint64_t left; } cases[] = { { "all", 0 }, { "all, soft", ENTRIES } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		open_world();
		purge(cases[i].words);
		CU_ASSERT(!loop_run(loop));
		UNIT_ROW(told.calls == 1 && told.count == ENTRIES && !told.counting && !told.owed, "%s: %u, %lld", cases[i].words, told.calls,
			(long long)told.count);
		UNIT_ROW(left() == cases[i].left, "%s: %llu left", cases[i].words, (unsigned long long)left());
		close_world();
	}
}

/* Who waits leaves: the rest goes all the same. */
static void leaving(void)
{
	struct task turn = { .run = on_turn };
	struct purge_wait *w;

	open_world();
	w = purge("all");
	purge_wait_free(&w);
	while (sweeper.task.queued) {
		loop_defer(loop, &turn);
		CU_ASSERT(!loop_run(loop));
	}
	CU_ASSERT(!told.calls && !left());
	close_world();
}

/* It takes too long: who waits is told what was counted so far. */
static void too_late(void)
{
	struct purge_wait *w;

	open_world();
	w = purge("all");
	w->timer.fire(&w->timer);
	CU_ASSERT(told.calls == 1 && told.counting && told.count >= 0 && told.count < ENTRIES && !told.owed);
	close_world();
}

UNIT_SUITE(sweeper, { "waiting", waiting }, { "leaving", leaving }, { "too late", too_late })
