/* Owns the cases of proxy/cache/cache.c's gate: what was on its way when its URL was purged, stored or removed does not come in.
 * Must not know: stores' insides. The second store here keeps nothing: what it "brings" the test hands to cache_warm(). */
#include "proxy/cache/cache.h"
#include "proxy/cache/prefixes.h"
#include "proxy/store/store_memory.h"
#include "tests/unit/entries.h"
#include "tests/unit/slow_store.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct store_ops slow_ops = { .name = "slow", .get = slow_get, .put = slow_put, .remove = slow_remove, .purge = slow_purge,
	.free = slow_free };

enum what { NOTHING, PURGE_IT, PURGE_OTHER, PURGE_OF_GATE, PURGE_IT_AND_FEW, PURGE_IT_AND_MANY, PREFIX_OF_IT, PREFIX_OF_OTHER, ALL, SOFT, REMOVE_IT, STORE_IT,
	PREFIX_OFTEN, MANY_PREFIXES };

static uint32_t number;        /* of the latest purge of many */

/* The next URL that shares the gate of http://a/f, or that does not: which ones do is up to the secret. */
static const char *other_url(struct cache *c, bool shares)
{
	static char url[32];
	static unsigned n;

	do
		snprintf(url, sizeof url, "http://b/%u", n++);
	while ((cache_ticket(c, url, strlen(url)).gate == cache_ticket(c, "http://a/f", 10).gate) != shares);
	return url;
}

/* Purges so many other URLs, by themselves. */
static void purge_others(struct cache *c, bool of_gate, int count)
{
	while (count--) {
		const char *url = other_url(c, of_gate);

		cache_purge(c, PURGE_URL, url, strlen(url), false, 0, &number);
	}
}

static void meanwhile(struct cache *c, enum what what)
{
	static const char prefix[] = "http://a/f", other[] = "http://b/";
	struct cache_ticket ticket = cache_ticket(c, "http://a/f\nk", 12);
	struct entry *e;

	switch (what) {
	case NOTHING: break;
	case PURGE_IT: cache_purge(c, PURGE_URL, prefix, strlen(prefix), false, 0, &number); break;
	case PURGE_OTHER: purge_others(c, false, 1); break;
	case PURGE_OF_GATE: purge_others(c, true, 1); break;
	case PURGE_IT_AND_FEW:
	case PURGE_IT_AND_MANY:
		cache_purge(c, PURGE_URL, prefix, strlen(prefix), false, 0, &number);
		purge_others(c, true, what == PURGE_IT_AND_FEW ? 3 : 9);
		break;
	case PREFIX_OF_IT: cache_purge(c, PURGE_PREFIX, "http://a/", 9, false, 0, &number); break;
	case PREFIX_OF_OTHER: cache_purge(c, PURGE_PREFIX, other, strlen(other), false, 0, &number); break;
	case ALL: cache_purge(c, PURGE_ALL, "", 0, false, 0, &number); break;
	case SOFT: cache_purge(c, PURGE_URL, prefix, strlen(prefix), true, 0, &number); break;
	case REMOVE_IT: cache_remove(c, "http://a/f\nk", 12); break;
	case STORE_IT:
		e = entries_new("http://a/f\nk", 2, 100);
		CU_ASSERT(cache_put(c, e, &ticket));
		entry_unref(&e);
		break;
	case PREFIX_OFTEN:
	case MANY_PREFIXES:
		for (int i = 0; i <= PREFIXES_MAX; i++) {
			char url[32];
			int len = snprintf(url, sizeof url, "%s%d", other, what == MANY_PREFIXES ? i : 0);

			cache_purge(c, PURGE_PREFIX, url, (size_t)len, false, 0, &number);
		}
		break;
	}
}

/* Which entry is in memory afterwards: by its body; 0: none. */
static unsigned stored(struct cache *c)
{
	struct entry *e = cache_peek(c, "http://a/f\nk", 12);
	unsigned seed = !e ? 0 : entries_body_is(e, 1, 100) ? 1 : entries_body_is(e, 2, 100) ? 2 : 3;

	entry_unref(&e);
	return seed;
}

/* What was found before may answer in the place of a failure, unless it was purged meanwhile. */
static void spent_tickets(void)
{
	static const struct { const char *rule; enum what what; bool spent; } cases[] = {
		{ "nothing happened", NOTHING, false }, { "its URL was purged", PURGE_IT, true },
		{ "another URL was", PURGE_OTHER, false }, { "another URL of its gate was", PURGE_OF_GATE, false },
		{ "a prefix of it was", PREFIX_OF_IT, true }, { "another prefix was", PREFIX_OF_OTHER, false },
		{ "more prefixes than are remembered", MANY_PREFIXES, false }, { "all was", ALL, true },
		{ "another prefix was, often", PREFIX_OFTEN, false },
		{ "it was marked stale", SOFT, false }, { "another is stored in its place", STORE_IT, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache *c = cache_new(store_memory_new(1 << 20, 1 << 20), NULL);
		struct entry *found = entries_new("http://a/f\nk", 1, 100);
		struct cache_ticket ticket = cache_ticket(c, "http://a/f\nk", 12);

		CU_ASSERT(cache_put(c, found, &ticket));
		ticket = cache_ticket_of(c, found);
		meanwhile(c, cases[i].what);
		UNIT_ROW(cache_ticket_is_spent(c, &ticket, found) == cases[i].spent, "%s", cases[i].rule);
		entry_unref(&found);
		cache_free(&c);
	}
}

/* A response that is newer than what is stored, and is not stored itself, takes that away. */
static void outdated(void)
{
	static const struct { const char *rule; enum what what; unsigned left; } cases[] = {
		{ "RFC 9111 section 4: nothing happened", NOTHING, 0 },
		{ "its URL was purged: what is there was asked for behind the purge", PURGE_IT, 2 },
		{ "it was, and then three others of its gate", PURGE_IT_AND_FEW, 2 },
		{ "another URL of its gate was", PURGE_OF_GATE, 0 },
		{ "more others of its gate than are remembered: each may have been this one", PURGE_IT_AND_MANY, 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache *c = cache_new(store_memory_new(1 << 20, 1 << 20), NULL);
		struct cache_ticket ticket = cache_ticket(c, "http://a/f\nk", 12);

		meanwhile(c, cases[i].what);
		meanwhile(c, STORE_IT);
		cache_outdate(c, "http://a/f\nk", 12, &ticket);
		UNIT_ROW(stored(c) == cases[i].left, "%s", cases[i].rule);
		cache_free(&c);
	}
}

static void tickets(void)
{
	static const struct { const char *rule; enum what what; unsigned put, warm; } cases[] = {
		{ "nothing happened", NOTHING, 1, 1 },
		{ "trust 06: its URL was purged", PURGE_IT, 0, 0 },
		{ "trust 06: another URL was", PURGE_OTHER, 1, 1 },
		{ "another URL of its gate was: what is told as stored is stored", PURGE_OF_GATE, 1, 1 },
		{ "trust 06: it was, and then three others of its gate", PURGE_IT_AND_FEW, 0, 0 },
		{ "trust 06: it was, and then more others of its gate than are remembered", PURGE_IT_AND_MANY, 0, 0 },
		{ "trust 06: a prefix of it was", PREFIX_OF_IT, 0, 0 },
		{ "trust 06: another prefix was", PREFIX_OF_OTHER, 1, 1 },
		{ "trust 06: all was", ALL, 0, 0 },
		{ "trust 06: it was marked stale", SOFT, 0, 0 },
		{ "trust 06: it was removed: what was fetched may be stored, what was looked up is past", REMOVE_IT, 1, 0 },
		{ "trust 06: something newer was stored: the latest fetch counts, no lookup", STORE_IT, 1, 2 },
		{ "trust 06: more prefixes than are remembered", MANY_PREFIXES, 0, 0 },
		{ "another prefix was, more often than prefixes are remembered: what is told as stored is stored",
		    PREFIX_OFTEN, 1, 1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct store slow = { .ops = &slow_ops };
		struct cache *c = cache_new(store_memory_new(1 << 20, 1 << 20), &slow);
		struct cache_ticket ticket = cache_ticket(c, "http://a/f\nk", 12), looked;
		struct entry *e = entries_new("http://a/f\nk", 1, 100), *none = NULL;
		struct store_wait w = { .loop = NULL };

		meanwhile(c, cases[i].what);
		UNIT_ROW(cache_put(c, e, &ticket) == (cases[i].put == 1), "%s: put", cases[i].rule);
		UNIT_ROW(stored(c) == (cases[i].put ? cases[i].put : cases[i].what == STORE_IT ? 2u : 0u), "%s: put, then %u", cases[i].rule, stored(c));
		cache_purge(c, PURGE_ALL, "", 0, false, 0, &number);
		CU_ASSERT_EQUAL(cache_get(c, "http://a/f\nk", 12, &none, &w, &looked), STORE_WAIT);
		meanwhile(c, cases[i].what);
		cache_warm(c, e, &looked);
		UNIT_ROW(stored(c) == cases[i].warm, "%s: warmed, then %u", cases[i].rule, stored(c));
		entry_unref(&e);
		cache_free(&c);
	}
}

/* A response made from an entry in memory (a 304, an error beside it) is stored only if memory still has the entry
 * when the fill begins. */
static void tickets_of_what_was_found(void)
{
	static const struct { const char *rule; enum what what; bool in; } cases[] = {
		{ "nothing happened", NOTHING, true },
		{ "its URL was purged", PURGE_IT, false },
		{ "another URL was", PURGE_OTHER, true },
		{ "a prefix of it was", PREFIX_OF_IT, false },
		{ "all was", ALL, false },
		{ "it was marked stale, by which it became another", SOFT, false },
		{ "it was removed", REMOVE_IT, false },
		{ "something newer was stored", STORE_IT, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache *c = cache_new(store_memory_new(1 << 20, 1 << 20), NULL);
		struct cache_ticket ticket = cache_ticket(c, "http://a/f\nk", 12);
		struct entry *found = entries_new("http://a/f\nk", 1, 100), *made = entries_new("http://a/f\nk", 3, 100);

		CU_ASSERT(cache_put(c, found, &ticket));
		meanwhile(c, cases[i].what);
		ticket = cache_ticket_of(c, found);
		UNIT_ROW(cache_put(c, made, &ticket) == cases[i].in, "%s", cases[i].rule);
		entry_unref(&found);
		entry_unref(&made);
		cache_free(&c);
	}
}

/* A second store that lets a lookup of another worker in just before its purge: it still finds what is to go. */
static struct {
	struct cache *cache;
	struct entry *e;
	bool at_once;                  /* it brings it back before the purge returns */
	struct cache_ticket ticket;
} overtaker;

static int64_t purge_overtaken(struct store *s, enum store_purge what, const char *url, size_t len, bool soft, int64_t now)
{
	struct store_wait w = { .loop = NULL };
	struct entry *none = NULL;

	CU_ASSERT_EQUAL(cache_get(overtaker.cache, overtaker.e->key, overtaker.e->key_len, &none, &w, &overtaker.ticket), STORE_WAIT);
	if (overtaker.at_once)
		cache_warm(overtaker.cache, overtaker.e, &overtaker.ticket);
	return slow_purge(s, what, url, len, soft, now);
}

static void overtakers(void)
{
	static const struct store_ops ops = { .name = "slow", .get = slow_get, .put = slow_put, .remove = slow_remove, .purge = purge_overtaken,
		.free = slow_free };
	static const struct { const char *rule; enum what what; bool at_once; } cases[] = {
		{ "trust 06: looked up while its URL was being purged", PURGE_IT, false },
		{ "trust 06: looked up and there while its URL was being purged", PURGE_IT, true },
		{ "trust 06: looked up while a prefix was being purged", PREFIX_OF_IT, false },
		{ "trust 06: looked up and there while a prefix was being purged", PREFIX_OF_IT, true },
		{ "trust 06: looked up while all was being purged", ALL, false },
		{ "trust 06: looked up and there while all was being purged", ALL, true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct store slow = { .ops = &ops };

		overtaker.cache = cache_new(store_memory_new(1 << 20, 1 << 20), &slow);
		overtaker.e = entries_new("http://a/f\nk", 1, 100);
		overtaker.at_once = cases[i].at_once;
		meanwhile(overtaker.cache, cases[i].what);
		cache_warm(overtaker.cache, overtaker.e, &overtaker.ticket);
		UNIT_ROW(!stored(overtaker.cache), "%s", cases[i].rule);
		entry_unref(&overtaker.e);
		cache_free(&overtaker.cache);
	}
}

static void (*heard)(void *arg, const struct store_mark *);
static void *hearer;

static void note_listener(struct store *s, void (*purged)(void *arg, const struct store_mark *), void *arg)
{
	(void)s;
	heard = purged;
	hearer = arg;
}

/* Whether http://a/f is in memory. */
static bool has(struct cache *c)
{
	struct entry *e = cache_peek(c, "http://a/f\nk", 12);
	bool there = e;

	entry_unref(&e);
	return there;
}

/* What another process purges leaves memory, and does not come in with an older ticket. */
static void purged_elsewhere(void)
{
	static const struct store_ops ops = { .name = "slow", .get = slow_get, .put = slow_put, .remove = slow_remove, .purge = slow_purge,
		.listen = note_listener, .free = slow_free };
	static const struct { const char *rule; struct store_mark mark; bool gone; } cases[] = {
		{ "its URL", { .what = PURGE_URL, .url = "http://a/f", .len = 10 }, true },
		{ "a prefix of it", { .what = PURGE_PREFIX, .url = "http://a/", .len = 9 }, true },
		{ "everything", { .what = PURGE_ALL, .url = "" }, true },
		{ "another prefix", { .what = PURGE_PREFIX, .url = "http://b/", .len = 9 }, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct store slow = { .ops = &ops, .known = 7 };
		struct cache *c = cache_new(store_memory_new(1 << 20, 1 << 20), &slow);
		struct entry *e = entries_new("http://a/f\nk", 1, 100);
		struct cache_ticket ticket = cache_ticket(c, e->key, e->key_len);

		CU_ASSERT(cache_put(c, e, &ticket) && has(c) && e->since == 7);
		heard(hearer, &cases[i].mark);
		UNIT_ROW(has(c) != cases[i].gone, "issue 31, A 5: %s", cases[i].rule);
		UNIT_ROW(cache_put(c, e, &ticket) != cases[i].gone, "issue 31, A 5: %s, with a ticket from before", cases[i].rule);
		entry_unref(&e);
		cache_free(&c);
		UNIT_ROW(!heard, "%s: nobody listens behind the end", cases[i].rule);
	}
}

/* One that has retired has nothing, takes nothing, and purges nothing; its heir begins anew, unless both have a store behind memory. */
static void retires(void)
{
	struct store slow = { .ops = &slow_ops };

	for (int second = 0; second < 2; second++)
		for (int heir = 0; heir < 2; heir++) {
			struct cache *c = cache_new(store_memory_new(1 << 20, 1 << 20), second ? &slow : NULL);
			struct entry *e = entries_new("http://a/f\nk", 1, 100);
			struct cache_ticket before = cache_ticket(c, e->key, e->key_len), after;

			CU_ASSERT(cache_put(c, e, &before));
			(heir ? cache_inherit : cache_retire)(c);
			after = cache_ticket(c, e->key, e->key_len);
			UNIT_ROW(has(c) == second && cache_is_retired(c) == (!second && !heir), "issue 31, A 5: %d %d", second, heir);
			UNIT_ROW(cache_put(c, e, &before) == second && cache_put(c, e, &after) == (second || heir), "%d %d: later", second, heir);
			entry_unref(&e);
			cache_free(&c);
		}
}

/* A record that stays with its names keeps its generation, and its variants are found; behind anything else it has a new one. */
static void generations(void)
{
	enum { KNOWN = 77 };
	static const char key[] = "http://a/f\nk";
	static const struct { const char *rule, *there; enum what meanwhile; uint64_t known; bool same_as_there, same_as_known; } cases[] = {
		{ "the first record", NULL, NOTHING, CACHE_GENERATION_NONE, false, false },
		{ "the same once more", "accept", NOTHING, CACHE_GENERATION_NONE, true, false },
		{ "the same, whatever else was looked up", "accept", NOTHING, KNOWN, true, false },
		{ "one by other fields", "from", NOTHING, CACHE_GENERATION_NONE, false, false },
		{ "one by other fields than are in memory now", "from", NOTHING, KNOWN, false, false },
		{ "one that the second store has alone", NULL, NOTHING, KNOWN, false, true },
		{ "a response for all is there", NULL, STORE_IT, KNOWN, false, false },
		{ "something had its place and is gone", NULL, REMOVE_IT, KNOWN, false, false },
		{ "a response for all behind the same", "accept", STORE_IT, KNOWN, false, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache *c = cache_new(store_memory_new(1 << 20, 1 << 20), NULL);
		struct cache_ticket before, ticket;
		struct entry *there = NULL, *record = entries_vary(key, "accept");

		before = cache_ticket(c, key, strlen(key));
		if (cases[i].there) {
			there = entries_vary(key, cases[i].there);
			CU_ASSERT(cache_put_variants(c, there, CACHE_GENERATION_NONE, &before));
		}
		ticket = cache_ticket(c, key, strlen(key));
		meanwhile(c, cases[i].meanwhile);
		CU_ASSERT(cache_put_variants(c, record, cases[i].known, &ticket));
		UNIT_ROW(record->generation != CACHE_GENERATION_NONE, "4: %s", cases[i].rule);
		UNIT_ROW((there && record->generation == there->generation) == cases[i].same_as_there, "4: %s", cases[i].rule);
		UNIT_ROW((record->generation == KNOWN) == cases[i].same_as_known, "4: %s", cases[i].rule);
		cache_purge(c, PURGE_ALL, "", 0, false, 0, &number);
		UNIT_ROW(!cache_put_variants(c, record, cases[i].known, &ticket), "trust 06: %s, purged meanwhile", cases[i].rule);
		entry_unref(&there);
		entry_unref(&record);
		cache_free(&c);
	}
}

/* A hint is of one key, ends in time, and is forgotten with all others. */
static void hit_for_miss(void)
{
	struct cache *c = cache_new(store_memory_new(1 << 20, 1 << 20), NULL);
	struct cache_ticket ticket;
	struct cache_key a, b;

	CU_ASSERT_FATAL(c != NULL);
	ticket = cache_ticket(c, "http://a/", 9);
	a = cache_key(c, "http://a/", 9);
	b = cache_key(c, "http://b/", 9);
	cache_set_hit_for_miss(c, &a, true, 100, &ticket);
	CU_ASSERT(cache_is_hit_for_miss(c, &a, 101) && !cache_is_hit_for_miss(c, &b, 101));
	CU_ASSERT(!cache_is_hit_for_miss(c, &a, 100 + 100000));
	cache_forget_hit_for_miss(c);
	CU_ASSERT(!cache_is_hit_for_miss(c, &a, 101));
	cache_free(&c);
}

/* What was asked for before a purge sets no hint when it comes behind it. */
static void hit_for_miss_behind_a_purge(void)
{
	static const struct { const char *rule; enum what what; bool set; } cases[] = {
		{ "nothing happened", NOTHING, true }, { "its URL was purged", PURGE_IT, false }, { "another URL was", PURGE_OTHER, true },
		{ "a prefix of it was", PREFIX_OF_IT, false }, { "another prefix was", PREFIX_OF_OTHER, true }, { "all was", ALL, false },
		{ "it was marked stale", SOFT, false }, { "something newer was stored", STORE_IT, true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache *c = cache_new(store_memory_new(1 << 20, 1 << 20), NULL);
		struct cache_ticket ticket = cache_ticket(c, "http://a/f\nk", 12);
		struct cache_key key;

		meanwhile(c, cases[i].what);
		key = cache_key(c, "http://a/f\nk", 12);
		cache_set_hit_for_miss(c, &key, true, 100, &ticket);
		UNIT_ROW(cache_is_hit_for_miss(c, &key, 101) == cases[i].set, "trust 06: %s", cases[i].rule);
		cache_free(&c);
	}
}

/* A purge of many is in force at once, and counted once the sweep is through; the sweep is whoever's. */
static void sweeps(void)
{
	enum { MANY = 1000 };
	static const struct { const char *rule; enum store_purge what; const char *url; bool soft; int64_t count; } cases[] = {
		{ "all", PURGE_ALL, "", false, MANY }, { "a prefix of all", PURGE_PREFIX, "http://a/", false, MANY },
		{ "a prefix of some", PURGE_PREFIX, "http://a/9", false, 111 }, { "a prefix of none", PURGE_PREFIX, "http://b/", false, 0 },
		{ "all, softly", PURGE_ALL, "", true, MANY }, { "some, softly", PURGE_PREFIX, "http://a/9", true, 111 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cache *c = cache_new(store_memory_new(64 << 20, 1 << 20), NULL);
		int64_t count = -2;
		unsigned found = 0, fresh = 0;
		char key[32];

		for (int k = 0; k < MANY; k++) {
			struct cache_ticket ticket;
			struct entry *e;

			snprintf(key, sizeof key, "http://a/%d\nk", k);
			ticket = cache_ticket(c, key, strlen(key));
			e = entries_new(key, 1, 100);
			CU_ASSERT(cache_put(c, e, &ticket));
			entry_unref(&e);
		}
		CU_ASSERT_EQUAL(cache_purge(c, cases[i].what, cases[i].url, strlen(cases[i].url), cases[i].soft, 2000, &number), -1);
		CU_ASSERT(!cache_purged(c, number, &count));
		CU_ASSERT(!cache_sweep(c));
		for (int k = 0; k < MANY; k++) {
			struct entry *e;

			snprintf(key, sizeof key, "http://a/%d\nk", k);
			e = cache_peek(c, key, strlen(key));
			found += e != NULL;
			fresh += e && freshness_ttl(&e->freshness, 2000) > 0;
			entry_unref(&e);
		}
		UNIT_ROW(fresh == MANY - cases[i].count && found == (cases[i].soft ? MANY : fresh), "%s: at once, %u, %u", cases[i].rule, found, fresh);
		while (!cache_sweep(c))
			;
		UNIT_ROW(cache_purged(c, number, &count) && count == cases[i].count, "%s: %lld", cases[i].rule, (long long)count);
		CU_ASSERT(cache_sweep(c));
		cache_free(&c);
	}
}

UNIT_SUITE(cache, { "hit for miss behind a purge", hit_for_miss_behind_a_purge }, { "sweeps", sweeps }, { "hit for miss", hit_for_miss }, { "generations", generations }, { "tickets", tickets }, { "outdated", outdated }, { "spent tickets", spent_tickets }, { "tickets of what was found", tickets_of_what_was_found }, { "overtakers", overtakers },
	{ "purged elsewhere", purged_elsewhere }, { "retires", retires })
