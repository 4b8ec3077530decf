/* Owns the cases of the Redis store alone: a server that goes, hangs and comes again, passwords and prefixes.
 * Must not know: how entries stand in the server. */
#include "proxy/store/store_redis.h"
#include "tests/unit/entries.h"
#include "tests/unit/redis_server.h"
#include "tests/unit/unit.h"

#include <signal.h>

/* What waits for a lost connection is answered before the store is away. */
static bool goes_away(struct store *s, struct store_stats *stats)
{
	for (int i = 0; i < 1000; i++, stores_nap()) {
		s->ops->stats(s, stats);
		if (stats->away)
			return true;
	}
	return false;
}

static void goes_and_comes(void)
{
	struct store *s;
	struct store_stats before, after;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	stores_put(s, "http://a/\nk", 1, 1000);
	CU_ASSERT(stores_holds(s, "http://a/\nk", 1, 1000));
	redis_server_stop();
	CU_ASSERT(stores_misses(s, "http://a/\nk"));
	CU_ASSERT(goes_away(s, &before) && before.shared);
	for (int i = 0; i < 1000; i++) {
		stores_put(s, "http://a/\nk", 1, 1000);
		CU_ASSERT(stores_misses(s, "http://a/\nk"));
	}
	s->ops->stats(s, &after);
	CU_ASSERT(after.errors >= before.errors + 1000);
	redis_server_start();
	CU_ASSERT(redis_server_wakes(s));
	stores_put(s, "http://a/\nk", 2, 1000);
	CU_ASSERT(stores_holds(s, "http://a/\nk", 2, 1000));
	s->ops->stats(s, &after);
	CU_ASSERT(!after.away && !after.owed);
	s->ops->free(s);
	redis_server_stop();
}

/* Removed while the server hangs: gone once it answers again. */
static void removals_wait(void)
{
	struct store *s;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	redis_server.timeout_ms = 5000;
	s = redis_server_store();
	redis_server.timeout_ms = 60000;
	stores_put(s, "http://a/\nk", 1, 1000);
	stores_put(s, "http://b/\nk", 1, 1000);
	CU_ASSERT(stores_holds(s, "http://b/\nk", 1, 1000));
	kill(redis_server.pid, SIGSTOP);
	s->ops->remove(s, "http://a/\nk", 11);
	s->ops->purge(s, PURGE_URL, "http://b/", 9, false, 2000);
	CU_ASSERT(stores_misses(s, "http://a/\nk"));          /* after timeout_ms */
	kill(redis_server.pid, SIGCONT);
	CU_ASSERT(redis_server_wakes(s));
	CU_ASSERT(stores_misses(s, "http://a/\nk") && stores_misses(s, "http://b/\nk"));
	s->ops->free(s);
	redis_server_stop();
}

static void hangs(void)
{
	kill(redis_server.pid, SIGSTOP);
	CU_ASSERT(!stores_settle(redis_server.store));        /* after timeout_ms */
}

static void goes_on(void)
{
	kill(redis_server.pid, SIGCONT);
	CU_ASSERT(redis_server_wakes(redis_server.store));
}

/* What could not be replaced is gone; what nobody replaced is there. */
static void lost_entries_are_removals(void)
{
	struct store *s;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	redis_server.timeout_ms = 2000;
	s = redis_server_store();
	stores_put(s, "http://a/\nk", 1, 1000);
	stores_put(s, "http://b/\nk", 1, 1000);
	stores_put(s, "http://c/\nk", 1, 1000);
	CU_ASSERT(stores_settle(s));
	kill(redis_server.pid, SIGSTOP);
	stores_put(s, "http://a/\nk", 2, 1000);               /* on its way */
	hangs();
	stores_put(s, "http://b/\nk", 2, 1000);               /* refused */
	goes_on();
	UNIT_ROW(stores_misses(s, "http://a/\nk"), "trust 17: an entry that was on its way");
	UNIT_ROW(stores_misses(s, "http://b/\nk"), "trust 17: an entry that was refused");
	UNIT_ROW(stores_holds(s, "http://c/\nk", 1, 1000), "trust 17: an entry that nobody touched");
	s->ops->free(s);
	redis_server_stop();
	redis_server.timeout_ms = 60000;
}

/* The same keys over and over are owed once; of too many everything is. */
static void owed_is_bounded(void)
{
	char key[64];
	struct store *s;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	redis_server.timeout_ms = 2000;
	s = redis_server_store();
	stores_put(s, "http://a/\nk", 1, 1000);
	CU_ASSERT(stores_settle(s));
	for (int turn = 0; turn < 2; turn++) {
		hangs();
		for (int i = 0; i < 100000; i++) {
			snprintf(key, sizeof key, "http://%d/\nk", turn ? i : i % 100);
			s->ops->remove(s, key, strlen(key));
		}
		goes_on();
		UNIT_ROW(turn ? stores_misses(s, "http://a/\nk") : stores_holds(s, "http://a/\nk", 1, 1000), "trust 17: %s",
		    turn ? "more than are kept" : "a hundred keys again and again");
	}
	stores_put(s, "http://a/\nk", 2, 1000);
	CU_ASSERT(stores_holds(s, "http://a/\nk", 2, 1000));
	s->ops->free(s);
	redis_server_stop();
	redis_server.timeout_ms = 60000;
}

static void settings_matter(void)
{
	char host[] = "127.0.0.1";
	const struct conf_redis where = { .servers = { { .host = host, .port = 1 } }, .n = 1 };
	struct redis_settings tls = { .where = &where, .prefix = "", .tls = true, .timeout_ms = 100 };
	struct store *s, *other;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	stores_put(s, "http://a/\nk", 1, 1000);
	other = redis_server_open("se cret", "other:");
	CU_ASSERT(redis_server_wakes(other));
	CU_ASSERT(stores_misses(other, "http://a/\nk"));
	other->ops->purge(other, PURGE_ALL, "", 0, false, 2000);
	CU_ASSERT(stores_misses(other, "awake\n"));
	CU_ASSERT(stores_holds(s, "http://a/\nk", 1, 1000));  /* another prefix's purge is not ours */
	other->ops->free(other);
	other = redis_server_open("wrong", "u*t:");
	for (int i = 0; i < 20; i++, stores_nap())
		CU_ASSERT(stores_misses(other, "http://a/\nk"));
	other->ops->free(other);
	s->ops->free(s);
	redis_server_stop();
#ifndef HAVE_HIREDIS_SSL
	CU_ASSERT_PTR_NULL(store_redis_new(&tls));
#else
	(void)tls;
#endif
}

/* Of no use after a second; it cannot be validated. */
static void put_short(struct store *s, const char *key)
{
	static const struct freshness freshness = { .response_time = 1000, .lifetime_s = 1 };
	struct entry_parts parts = { .head = entries_head(10), .freshness = &freshness };
	struct entry *e;

	parts.object = entries_object(1, 10, object_head_ref(parts.head), NULL);
	e = entry_new(key, strlen(key), &parts);
	s->ops->put(s, e);
	entry_unref(&e);
}

static void put_record(struct store *s)
{
	struct entry *record = entries_vary("http://a/\nk", "accept-language");

	s->ops->put(s, record);
	entry_unref(&record);
}

static bool has_record(struct store *s)
{
	struct entry *e = stores_fetch(s, "http://a/\nk");
	bool has = e && e->vary;

	entry_unref(&e);
	return has;
}

/* Each variant ends by itself, however many come after it. */
static void variants_end(void)
{
	struct store *s;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	put_record(s);
	put_short(s, "http://a/\nk\nshort");
	stores_put(s, "http://a/\nk\nlong", 2, 10);
	stores_put(s, "http://a/\nk\nreplaced", 3, 10);
	put_short(s, "http://a/\nk\nreplaced");
	put_short(s, "http://a/\nk\nmade anew");
	stores_put(s, "http://a/\nk\nmade anew", 4, 10);
	CU_ASSERT(stores_holds(s, "http://a/\nk\nshort", 1, 10) && stores_holds(s, "http://a/\nk\nreplaced", 1, 10));
	for (int i = 0; i < 1000 && !stores_misses(s, "http://a/\nk\nshort"); i++, stores_nap())
		stores_put(s, "http://a/\nk\nother", 5, 10);
	UNIT_ROW(stores_misses(s, "http://a/\nk\nshort"), "a variant of no use");
	UNIT_ROW(stores_misses(s, "http://a/\nk\nreplaced"), "a variant of no use in the place of another");
	UNIT_ROW(stores_holds(s, "http://a/\nk\nlong", 2, 10), "a variant that can be validated");
	UNIT_ROW(stores_holds(s, "http://a/\nk\nmade anew", 4, 10), "a variant in the place of one of no use");
	UNIT_ROW(has_record(s), "the record of the variants");
	s->ops->free(s);
	redis_server_stop();
}

static void variants_are_bounded(void)
{
	enum { PUT = 300, KEPT = 128 };
	char key[64];
	struct store *s;
	int kept = 0;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	put_record(s);
	for (int i = 0; i < PUT; i++) {
		snprintf(key, sizeof key, "http://a/\nk\n%d", i);
		stores_put(s, key, (unsigned)i, 10);
	}
	CU_ASSERT(stores_holds(s, key, PUT - 1, 10) && has_record(s));
	for (int i = 0; i < PUT; i++) {
		snprintf(key, sizeof key, "http://a/\nk\n%d", i);
		kept += stores_holds(s, key, (unsigned)i, 10);
	}
	CU_ASSERT_EQUAL(kept, KEPT);
	s->ops->purge(s, PURGE_URL, "http://a/", 9, false, 2000);
	for (int i = 0; i < PUT; i++) {
		snprintf(key, sizeof key, "http://a/\nk\n%d", i);
		CU_ASSERT(stores_misses(s, key));
	}
	s->ops->free(s);
	redis_server_stop();
}

/* ---- the start ---- */

struct waiting { struct store_wait wait; struct entry *got; };

static void on_got(struct store_wait *wait, struct entry *e)
{
	((struct waiting *)(void *)wait)->got = e;
	loop_stop(wait->loop);
}

/* Whether the lookup waits. */
static bool looks(struct store *s, struct waiting *w, const char *key)
{
	*w = (struct waiting){ .wait = { .loop = stores_loop(), .got = on_got } };
	return s->ops->get(s, key, strlen(key), &w->got, &w->wait) == STORE_WAIT;
}

/* When the answer came. */
static bool came(struct waiting *w)
{
	return !loop_run(stores_loop()) && !w->got;
}

/* Another process's store, which begins while the server says nothing. */
static struct store *begins_in_silence(int timeout_ms)
{
	struct store *other;

	kill(redis_server.pid, SIGSTOP);
	redis_server.timeout_ms = timeout_ms;
	other = redis_server_open("se cret", "u*t:");
	redis_server.timeout_ms = 60000;
	return other;
}

/* A server whose store s has an entry; another store begins, and its lookup of that entry waits. */
static struct store *begins_with_a_lookup(struct store *s, struct waiting *w)
{
	struct store *other;

	stores_put(s, "http://a/\nk", 1, 1000);
	CU_ASSERT(stores_settle(s));
	other = begins_in_silence(60000);
	UNIT_ROW(looks(other, w, "http://a/\nk"), "the first lookup waits");
	return other;
}

static void first_operations_wait(void)
{
	struct store_stats stats;
	struct store *s, *other;
	struct waiting w;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	other = begins_with_a_lookup(s, &w);
	stores_put(other, "http://c/\nk", 3, 1000);
	other->ops->stats(other, &stats);
	UNIT_ROW(stats.away, "people are told that the store is away");
	kill(redis_server.pid, SIGCONT);
	UNIT_ROW(came(&w) && w.wait.again, "who waits is told to ask again");
	UNIT_ROW(other->known, "and the purges before are known by then");
	UNIT_ROW(stores_holds(other, "http://a/\nk", 1, 1000), "and finds what is stored");
	UNIT_ROW(stores_holds(s, "http://c/\nk", 3, 1000), "the first entry is stored");
	other->ops->stats(other, &stats);
	CU_ASSERT(!stats.away && !stats.owed);
	other->ops->free(other);
	s->ops->free(s);
	redis_server_stop();
}

static void first_removal_comes_first(void)
{
	struct store_stats stats;
	struct store *s, *other;
	struct waiting w;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	other = begins_with_a_lookup(s, &w);
	other->ops->remove(other, "http://a/\nk", 11);
	other->ops->stats(other, &stats);
	UNIT_ROW(stats.away && stats.owed == 1, "a removal is owed");
	kill(redis_server.pid, SIGCONT);
	UNIT_ROW(came(&w) && !w.wait.again, "who waits finds nothing");
	CU_ASSERT(redis_server_wakes(other));
	UNIT_ROW(stores_misses(other, "http://a/\nk") && stores_misses(s, "http://a/\nk"), "the removal is made");
	other->ops->free(other);
	s->ops->free(s);
	redis_server_stop();
}

/* They are as many as others that wait, and leave no trace once nobody waits. */
static void first_operations_are_bounded(void)
{
	enum { MANY = 20000 };
	static struct waiting w[MANY];
	struct store *s, *other;
	int waiting = 0;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	other = begins_in_silence(60000);
	while (waiting < MANY && looks(other, &w[waiting], "http://a/\nk"))
		waiting++;
	UNIT_ROW(waiting > 1000 && waiting < MANY, "%d wait", waiting);
	while (waiting)
		other->ops->cancel(other, &w[--waiting].wait);
	UNIT_ROW(looks(other, &w[0], "http://a/\nk"), "those that left make room");
	other->ops->cancel(other, &w[0].wait);
	other->ops->free(other);       /* at once: a minute would be longer than a test may take */
	kill(redis_server.pid, SIGCONT);
	s->ops->free(s);
	redis_server_stop();
}

/* The wait and the store have the same limit, and either may be first. */
static bool refuses_in_time(struct store *s)
{
	struct waiting w;

	for (int i = 0; i < 1000; i++, stores_nap()) {
		if (!looks(s, &w, "http://a/\nk"))
			return true;
		s->ops->cancel(s, &w.wait);
	}
	return false;
}

static void first_operations_wait_for_so_long(void)
{
	struct store *s, *other;
	struct waiting w;

	if (redis_server_missing("redis-server", false))
		UNIT_SKIP("no redis-server");
	s = redis_server_store();
	other = begins_in_silence(1000);
	CU_ASSERT(looks(other, &w, "http://a/\nk"));
	CU_ASSERT(came(&w) && !w.wait.again);
	UNIT_ROW(refuses_in_time(other), "after cache-redis-timeout lookups do not wait");
	kill(redis_server.pid, SIGCONT);
	CU_ASSERT(redis_server_wakes(other));
	other->ops->free(other);
	s->ops->free(s);
	redis_server_stop();
}

UNIT_SUITE(store_redis, { "goes-and-comes", goes_and_comes }, { "removals-wait", removals_wait },
	{ "lost-entries-are-removals", lost_entries_are_removals }, { "owed-is-bounded", owed_is_bounded }, { "settings-matter", settings_matter },
	{ "variants-end", variants_end }, { "variants-are-bounded", variants_are_bounded }, { "first-operations-wait", first_operations_wait },
	{ "first-removal-comes-first", first_removal_comes_first },
	{ "first-operations-are-bounded", first_operations_are_bounded },
	{ "first-operations-wait-for-so-long", first_operations_wait_for_so_long })
