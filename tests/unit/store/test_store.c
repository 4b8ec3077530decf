/* Owns the cases every store must pass: one suite, run against each.
 * Must not know: how a store works. Invariant: a store may have lost an entry only where a case says so. */
#include "proxy/store/store_memory.h"
#include "tests/unit/entries.h"
#include "tests/unit/redis_server.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static struct store *make_memory(void) { return store_memory_new(64 << 20, 6 << 20); }
static struct store *make_lmdb(void) { return stores_lmdb(STORES_MAP); }
static void nothing(void) { }

static const struct { const char *name, *kind; struct store *(*make)(void); void (*clean)(void); const char *program; bool tls; } stores[] = {
	{ "memory", "memory", make_memory, nothing, NULL, false },
	{ "lmdb", "lmdb", make_lmdb, stores_folder_clear, NULL, false },
	{ "redis", "redis", redis_server_store, redis_server_clear, "redis-server", false },
	{ "redis over TLS", "redis", redis_server_store, redis_server_clear, "redis-server", true },
	{ "valkey", "redis", redis_server_store, redis_server_clear, "valkey-server", false },
};

static const char *current;

static void with_each(void (*run)(struct store *))
{
	static bool told[COUNT(stores)];

	for (size_t i = 0; i < COUNT(stores); i++) {
		const char *missing;
		struct store *s;

		if (stores[i].program && (missing = redis_server_missing(stores[i].program, stores[i].tls)) != NULL) {
			if (!told[i])
				printf("%s: not run: %s\n", stores[i].name, missing);
			told[i] = true;
			continue;
		}
		current = stores[i].name;
		s = stores[i].make();
		if (UNIT_ROW(s && !strcmp(s->ops->name, stores[i].kind), "%s: made", current)) {
			run(s);
			s->ops->free(s);
		}
		stores[i].clean();
	}
}

#define HOLDS(condition) UNIT_ROW(condition, "%s", current)

static void run_basic(struct store *s)
{
	struct store_stats stats;

	HOLDS(stores_misses(s, "http://a/\nk"));
	stores_put(s, "http://a/\nk", 1, 1000);
	HOLDS(stores_holds(s, "http://a/\nk", 1, 1000));
	HOLDS(stores_misses(s, "http://a/\nk2"));
	HOLDS(stores_misses(s, "http://a/"));
	stores_put(s, "http://a/\nk", 2, 0);
	HOLDS(stores_holds(s, "http://a/\nk", 2, 0));
	stores_put(s, "http://a/\nk", 3, 70000);
	HOLDS(stores_holds(s, "http://a/\nk", 3, 70000));
	s->ops->remove(s, "http://a/\nk", 11);
	s->ops->remove(s, "http://a/\nk", 11);
	HOLDS(stores_misses(s, "http://a/\nk"));
	s->ops->stats(s, &stats);
	HOLDS(stats.hits >= 3 && stats.misses >= 4 && stats.evictions == 0);
}
static void basic(void) { with_each(run_basic); }

static void run_variants(struct store *s)
{
	struct entry *names = entries_vary("http://a/\nk", "accept-language"), *e;

	s->ops->put(s, names);
	entry_unref(&names);
	stores_put(s, "http://a/\nk\nde", 1, 100);
	stores_put(s, "http://a/\nk\nen", 2, 200);
	HOLDS(stores_holds(s, "http://a/\nk\nde", 1, 100) && stores_holds(s, "http://a/\nk\nen", 2, 200));
	e = stores_fetch(s, "http://a/\nk");
	HOLDS(e && e->vary && !strcmp(e->vary, "accept-language"));
	entry_unref(&e);
	stores_put(s, "http://a/\nk", 3, 300);
	HOLDS(stores_holds(s, "http://a/\nk", 3, 300));
}
static void variants(void) { with_each(run_variants); }

static void run_keys(struct store *s)
{
	enum { LONG = 4000 };
	static char keys[4][LONG + 8];
	static const size_t lens[] = { 479, 480, 481, LONG };

	for (size_t i = 0; i < COUNT(lens); i++) {
		memset(keys[i], 'a', lens[i]);
		strcpy(keys[i] + lens[i] - 2, "\nk");
		stores_put(s, keys[i], (unsigned)i, 100 + i);
	}
	for (size_t i = 0; i < COUNT(lens); i++)
		HOLDS(stores_holds(s, keys[i], (unsigned)i, 100 + i));
	for (size_t i = 0; i < COUNT(lens); i++) {
		s->ops->purge(s, PURGE_URL, keys[i], lens[i] - 2, false, 2000);
		for (size_t k = 0; k < COUNT(lens); k++)
			HOLDS(k <= i ? stores_misses(s, keys[k]) : stores_holds(s, keys[k], (unsigned)k, 100 + k));
	}
}
static void keys(void) { with_each(run_keys); }

static void run_big(struct store *s)
{
	stores_put(s, "http://big/\nk", 1, 5 << 20);
	HOLDS(stores_holds(s, "http://big/\nk", 1, 5 << 20));
	stores_put(s, "http://big/\nk", 1, 13 << 20);          /* too large: and what it replaced is gone */
	HOLDS(stores_misses(s, "http://big/\nk"));
}
static void big(void) { with_each(run_big); }

static const char *const purge_keys[] = {
	"http://a/\nk", "http://a/\nk\nde", "http://a/\nk2", "http://a/b\nk", "http://a/*\nk", "http://a.b/[x]?q=\\\nk", "http://c/\nk",
};
/* kept: bit i: purge_keys[i] stays as it is */
static const struct { const char *name; enum store_purge what; const char *url; unsigned kept; } purges[] = {
	{ "a URL with all its variants", PURGE_URL, "http://a/", 0x78 },
	{ "a URL nobody has", PURGE_URL, "http://a", 0x7f },
	{ "a URL with a star", PURGE_URL, "http://a/*", 0x6f },
	{ "a prefix", PURGE_PREFIX, "http://a/", 0x60 },
	{ "a prefix with a star", PURGE_PREFIX, "http://a/*", 0x6f },
	{ "a prefix with brackets", PURGE_PREFIX, "http://a.b/[x]?q=\\", 0x5f },
	{ "a prefix in the middle of a host", PURGE_PREFIX, "http://a", 0x40 },
	{ "a prefix nobody has", PURGE_PREFIX, "ttp", 0x7f },
	{ "all", PURGE_ALL, "", 0 },
};

static void run_purge(struct store *s)
{
	for (size_t i = 0; i < 2 * COUNT(purges); i++) {
		size_t row = i / 2;
		bool soft = i % 2;
		int64_t n, expected = 0;

		s->ops->purge(s, PURGE_ALL, "", 0, false, 2000);
		for (size_t k = 0; k < COUNT(purge_keys); k++)
			stores_put(s, purge_keys[k], (unsigned)k, 100);
		n = s->ops->purge(s, purges[row].what, purges[row].url, strlen(purges[row].url), soft, 2000);
		for (size_t k = 0; k < COUNT(purge_keys); k++) {
			bool kept = purges[row].kept >> k & 1, right;

			expected += !kept;
			right = kept ? stores_holds(s, purge_keys[k], (unsigned)k, 100) && !stores_stale(s, purge_keys[k]) :
			    soft ? stores_stale(s, purge_keys[k]) && stores_holds(s, purge_keys[k], (unsigned)k, 100) : stores_misses(s, purge_keys[k]);
			UNIT_ROW(right, "%s: %s%s: %s", current, purges[row].name, soft ? ", softly" : "", purge_keys[k]);
		}
		UNIT_ROW(n == expected || n == -1, "%s: %s: count", current, purges[row].name);
	}
}
static void purge(void) { with_each(run_purge); }

/* What comes after a soft purge is fresh. */
static void run_fresh_after_purge(struct store *s)
{
	struct entry *old = entries_new("http://a/\nk", 1, 100), *e;
	struct entry_parts parts = { .head = object_head_ref(old->head), .object = object_ref(old->object), .upstream = strdup("") };
	struct freshness later = old->freshness;

	s->ops->put(s, old);
	s->ops->purge(s, PURGE_URL, "http://a/", 9, true, 2000);
	HOLDS(stores_stale(s, "http://a/\nk"));
	HOLDS(stores_settle(s));
	HOLDS(stores_settle(s));
	later.response_time = 2001;
	parts.freshness = &later;
	parts.since = s->known;
	parts.since = s->known;
	e = entry_new("http://a/\nk", 11, &parts);
	s->ops->put(s, e);
	HOLDS(!stores_stale(s, "http://a/\nk") && stores_holds(s, "http://a/\nk", 1, 100));
	entry_unref(&e);
	entry_unref(&old);
}
static void fresh_after_purge(void) { with_each(run_fresh_after_purge); }

static void never(struct store_wait *w, struct entry *e)
{
	(void)w, (void)e;
	CU_FAIL("answered after cancel");
}

static void run_cancel(struct store *s)
{
	struct store_wait waits[64];
	struct entry *e;

	stores_put(s, "http://a/\nk", 1, 1000);
	HOLDS(stores_holds(s, "http://a/\nk", 1, 1000));
	for (size_t i = 0; i < COUNT(waits); i++) {
		waits[i] = (struct store_wait){ .loop = stores_loop(), .got = never };
		if (s->ops->get(s, "http://a/\nk", 11, &e, &waits[i]) == STORE_FOUND)
			entry_unref(&e);
	}
	for (size_t i = 0; i < COUNT(waits); i++) {
		if (i % 8 == 0)
			stores_nap();
		s->ops->cancel(s, &waits[i]);
		HOLDS(!waits[i].pending);
	}
	HOLDS(stores_holds(s, "http://a/\nk", 1, 1000));
}
static void cancel(void) { with_each(run_cancel); }

static void run_settle(struct store *s)
{
	struct store_wait wait = { .loop = stores_loop(), .got = never };

	for (int i = 0; i < 20; i++) {
		char key[32];

		snprintf(key, sizeof key, "http://h%d/\nk", i);
		stores_put(s, key, (unsigned)i, 1000);
	}
	s->ops->purge(s, PURGE_PREFIX, "http://h1", 9, false, 2000);
	UNIT_ROW(stores_settle(s), "trust 17: %s: settled", current);
	HOLDS(stores_misses(s, "http://h1/\nk") && stores_misses(s, "http://h19/\nk") && stores_holds(s, "http://h2/\nk", 2, 1000));
	for (int i = 0; i < 20; i++) {
		if (s->ops->settle(s, &wait) == SETTLING_DONE)
			continue;
		if (i % 4 == 0)
			stores_nap();
		s->ops->cancel(s, &wait);
		UNIT_ROW(!wait.pending, "trust 17: %s: who waited left", current);
	}
	UNIT_ROW(stores_settle(s), "trust 17: %s: settled again", current);
}
static void settle(void) { with_each(run_settle); }

/* Two workers on the same 40 keys: every answer is whole and of its key. */
struct worker { struct store *store; unsigned seed; bool right; };

static void *work(void *arg)
{
	struct worker *w = arg;
	struct loop *loop = loop_new();
	unsigned n = w->seed;

	w->right = true;
	for (int i = 0; i < 3000; i++) {
		unsigned k = (n = n * 1103515245 + 12345) >> 16 & 0x7fff;
		size_t len = k % 40 * 997;
		char key[64];
		struct entry *e;

		snprintf(key, sizeof key, "http://h%u/\nk", k % 40);
		switch (k / 40 % 8) {
		case 0: w->store->ops->remove(w->store, key, strlen(key)); break;
		case 1: w->store->ops->purge(w->store, PURGE_URL, key, strlen(key) - 2, k & 1, 2000); break;
		case 2: case 3: stores_put(w->store, key, k % 40, len); break;
		default:
			e = stores_fetch_on(loop, w->store, key, strlen(key));
			w->right &= !e || (e->key_len == strlen(key) && !memcmp(e->key, key, e->key_len) && entries_body_is(e, k % 40, len));
			entry_unref(&e);
		}
	}
	loop_free(&loop);
	return NULL;
}

static void run_workers(struct store *s)
{
	struct worker w[2] = { { .store = s, .seed = 1 }, { .store = s, .seed = 2 } };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, &w[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	HOLDS(w[0].right && w[1].right);
}
static void workers(void) { with_each(run_workers); }

UNIT_SUITE(store, { "basic", basic }, { "variants", variants }, { "keys", keys }, { "big", big }, { "purge", purge },
	{ "settle", settle }, { "fresh-after-purge", fresh_after_purge }, { "cancel", cancel }, { "workers", workers })
