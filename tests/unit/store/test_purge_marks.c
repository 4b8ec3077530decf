/* Owns the cases of proxy/store/purge_marks.c and of the sweep in store_memory.c: nothing is found that a purge covers, whatever
 * comes in between, and nothing else goes. Must not know: how a store finds its entries.
 * Invariant: a model of plain arrays says what must be there. */
#include "proxy/store/purge_marks.h"
#include "proxy/store/store_memory.h"
#include "tests/unit/entries.h"
#include "tests/unit/stores.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { BUCKETS = 10, NOW = 2000 };

static uint32_t add(struct purge_marks *m, enum store_purge what, const char *url, bool soft)
{
	return marks_add(m, what, url, strlen(url), soft, NOW, BUCKETS);
}

/* What an entry that has seen the marks up to `seen` meets: 'h' for each hard one, 's' for each soft one. */
static const char *meets(struct purge_marks *m, uint32_t seen, const char *key)
{
	static char text[2 * MARKS_MAX];
	struct purge_mark *mark;
	size_t n = 0;

	while ((mark = marks_next(m, &seen, key, strlen(key))) != NULL)
		text[n++] = mark->soft ? 's' : 'h';
	text[n] = '\0';
	CU_ASSERT_EQUAL(seen, m->number);
	return text;
}

static void covering(void)
{
	static const struct {
		const char *rule;
		struct { enum store_purge what; const char *url; bool soft; } marks[3];
		size_t n, left;
		const char *key, *met;
	} cases[] = {
		{ "a prefix", { { PURGE_PREFIX, "http://a/", false } }, 1, 1, "http://a/x\nk", "h" },
		{ "another prefix", { { PURGE_PREFIX, "http://b/", false } }, 1, 1, "http://a/x\nk", "" },
		{ "a URL", { { PURGE_URL, "http://a/x", false } }, 1, 1, "http://a/x\nk", "h" },
		{ "the beginning of a URL", { { PURGE_URL, "http://a/", false } }, 1, 1, "http://a/x\nk", "" },
		{ "all", { { PURGE_ALL, "", false } }, 1, 1, "x", "h" },
		{ "the same once more takes the place of the first", { { PURGE_PREFIX, "http://a/", false }, { PURGE_PREFIX, "http://a/", false } }, 2, 1,
			"http://a/x\nk", "h" },
		{ "so does a shorter prefix", { { PURGE_PREFIX, "http://a/x", false }, { PURGE_PREFIX, "http://a/", false } }, 2, 1, "http://a/x\nk", "h" },
		{ "a longer one does not", { { PURGE_PREFIX, "http://a/", false }, { PURGE_PREFIX, "http://a/x", false } }, 2, 2, "http://a/x\nk", "hh" },
		{ "nor a URL that of a prefix", { { PURGE_PREFIX, "http://a/", false }, { PURGE_URL, "http://a/", false } }, 2, 2, "http://a/x\nk", "h" },
		{ "a prefix takes that of a URL", { { PURGE_URL, "http://a/x", false }, { PURGE_PREFIX, "http://a/x", false } }, 2, 1, "http://a/x\nk", "h" },
		{ "a soft one takes nobody's", { { PURGE_PREFIX, "http://a/", true }, { PURGE_PREFIX, "http://a/", true } }, 2, 2, "http://a/x\nk", "ss" },
		{ "a hard one that of a soft one", { { PURGE_PREFIX, "http://a/x", true }, { PURGE_PREFIX, "http://a/", false } }, 2, 1, "http://a/x\nk", "h" },
		{ "all takes that of all", { { PURGE_PREFIX, "http://a/", true }, { PURGE_URL, "http://b/", false }, { PURGE_ALL, "", false } }, 3, 1,
			"http://a/x\nk", "h" },
		{ "all, softly, does not", { { PURGE_PREFIX, "http://a/", false }, { PURGE_ALL, "", true } }, 2, 2, "http://a/x\nk", "hs" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct purge_marks *m = marks_new();
		uint32_t before = m->number;

		for (size_t k = 0; k < cases[i].n; k++)
			add(m, cases[i].marks[k].what, cases[i].marks[k].url, cases[i].marks[k].soft);
		UNIT_ROW(m->n == cases[i].left, "%s: %zu marks", cases[i].rule, m->n);
		UNIT_ROW(!strcmp(meets(m, before, cases[i].key), cases[i].met), "%s: %s", cases[i].rule, meets(m, before, cases[i].key));
		UNIT_ROW(!*meets(m, m->number, cases[i].key), "%s: what came later", cases[i].rule);
		marks_free(&m);
	}
}

/* A mark is done when the sweep has passed every bucket, the one in which it stood too. */
static void ending(void)
{
	struct purge_marks *m = marks_new();
	uint32_t first = add(m, PURGE_PREFIX, "http://a/", false), second;
	int64_t count;

	for (int i = 0; i < 3; i++)
		marks_pass(m);
	second = add(m, PURGE_PREFIX, "http://b/", false);
	m->at[0].count = 5;
	for (int i = 3; i <= BUCKETS; i++) {
		CU_ASSERT(!marks_are_done(m, first, &count) && count == 5);
		marks_pass(m);
	}
	CU_ASSERT(marks_are_done(m, first, &count) && count == 5);
	CU_ASSERT(!marks_are_done(m, second, &count));
	for (int i = 0; i < 3; i++)
		marks_pass(m);
	CU_ASSERT(marks_are_done(m, second, &count) && count == 0 && m->n == 0);
	for (int i = 0; i < 1000; i++) {
		add(m, PURGE_ALL, "", false);
		marks_pass(m);
	}
	CU_ASSERT(marks_are_done(m, first, &count) && count == -1);
	marks_free(&m);
}

/* More purges at once than there are marks: none is lost, and what is far from them stays. */
static void flood(void)
{
	struct purge_marks *m = marks_new();
	uint32_t before = m->number;
	char url[64];

	for (int i = 0; i < 10 * MARKS_MAX; i++) {
		snprintf(url, sizeof url, "http://a/news/%d/", i);
		add(m, PURGE_PREFIX, url, i % 3 == 0);
		CU_ASSERT(m->n <= MARKS_MAX);
	}
	for (int i = 0; i < 10 * MARKS_MAX; i++) {
		snprintf(url, sizeof url, "http://a/news/%d/x\nk", i);
		UNIT_ROW(strchr(meets(m, before, url), i % 3 ? 'h' : *meets(m, before, url)) && *meets(m, before, url), "%s", url);
	}
	CU_ASSERT_STRING_EQUAL(meets(m, before, "http://a/sport/x\nk"), "");
	CU_ASSERT_STRING_EQUAL(meets(m, before, "http://b/news/1/x\nk"), "");
	marks_free(&m);
}

/* Numbers begin anew after 2^32 purges. */
static void wrapping(void)
{
	struct purge_marks *m = marks_new();
	uint32_t before = m->number = UINT32_MAX - 1;

	for (int i = 0; i < 4; i++)
		add(m, PURGE_PREFIX, i % 2 ? "http://a/x" : "http://a/", true);
	CU_ASSERT_STRING_EQUAL(meets(m, before, "http://a/x\nk"), "ssss");
	CU_ASSERT_STRING_EQUAL(meets(m, before + 2, "http://a/x\nk"), "ss");
	marks_free(&m);
}

/* ---- in the store ---- */

enum { URLS = 40, VARIANTS = 30, STEPS = 30000 };

static unsigned dice(unsigned *state, unsigned sides)
{
	*state = *state * 1103515245 + 12345;
	return (*state >> 16 & 0x7fff) % sides;
}

static const char *key_of(unsigned url, unsigned variant)
{
	static _Thread_local char key[64];

	snprintf(key, sizeof key, "http://h%u/%u\nk\n%u", url % 4, url, variant);
	return key;
}

/* 0: nothing is there; 1: stale; 2: fresh */
static unsigned is_there(struct store *s, unsigned url, unsigned variant)
{
	struct entry *e = store_memory_peek(s, key_of(url, variant), strlen(key_of(url, variant)));
	unsigned is = !e ? 0 : freshness_ttl(&e->freshness, NOW) > 0 ? 2 : 1;

	entry_unref(&e);
	return is;
}

/* Random purges, entries and slices of the sweep: at each step exactly that is found which ought to be. Many variants of a URL are in one bucket. */
static void random_order(void)
{
	static unsigned char there[URLS][VARIANTS];
	struct store *s = store_memory_new(64 << 20, 1 << 20);
	struct store_stats stats;
	unsigned state = 7;
	bool right = true;

	memset(there, 0, sizeof there);
	for (int step = 0; step < STEPS; step++) {
		unsigned what = dice(&state, 100), url = dice(&state, URLS), variant = dice(&state, VARIANTS);
		bool soft = dice(&state, 3) == 0;
		char text[64];
		uint32_t number;

		if (what < 60) {
			stores_put(s, key_of(url, variant), 1, 10);
			there[url][variant] = 2;
		} else if (what < 70) {
			s->ops->remove(s, key_of(url, variant), strlen(key_of(url, variant)));
			there[url][variant] = 0;
		} else if (what < 95) {
			store_memory_sweep(s);
		} else {
			enum store_purge kind = what == 95 && dice(&state, 20) == 0 ? PURGE_ALL : what < 98 ? PURGE_URL : PURGE_PREFIX;

			snprintf(text, sizeof text, kind == PURGE_URL ? "http://h%u/%u" : "http://h%u/", url % 4, url);
			store_memory_purge(s, kind, text, strlen(text), soft, NOW, &number);
			for (unsigned u = 0; u < URLS; u++)
				for (unsigned v = 0; v < VARIANTS; v++)
					if (store_purges(kind, text, strlen(text), key_of(u, v), strlen(key_of(u, v))) && there[u][v])
						there[u][v] = soft;
		}
		for (int look = 0; look < 5 && right; look++) {
			url = dice(&state, URLS);
			variant = dice(&state, VARIANTS);
			right = is_there(s, url, variant) == there[url][variant];
			UNIT_ROW(right, "step %d: %s is %u, and ought to be %u", step, key_of(url, variant), is_there(s, url, variant), there[url][variant]);
		}
	}
	while (!store_memory_sweep(s))
		;
	s->ops->purge(s, PURGE_ALL, "", 0, false, NOW);
	s->ops->stats(s, &stats);
	CU_ASSERT_EQUAL(stats.entries, 0);
	s->ops->free(s);
}

/* Many variants of one URL: its purge leaves a mark too, and counts each once. */
static void many_variants(void)
{
	enum { MANY = 2000 };
	struct store *s = store_memory_new(64 << 20, 1 << 20);
	uint32_t number;
	int64_t count;

	for (int soft = 1; soft >= 0; soft--) {
		for (unsigned v = 0; v < MANY; v++)
			stores_put(s, key_of(0, v), 1, 10);
		stores_put(s, key_of(1, 0), 1, 10);
		CU_ASSERT_EQUAL(store_memory_purge(s, PURGE_URL, "http://h0/0", 11, soft, NOW, &number), -1);
		for (unsigned v = 0; v < MANY; v++)
			CU_ASSERT_EQUAL(is_there(s, 0, v), soft ? 1U : 0U);
		CU_ASSERT_EQUAL(is_there(s, 1, 0), 2);
		while (!store_memory_sweep(s))
			;
		CU_ASSERT(store_memory_purged(s, number, &count) && count == MANY);
		CU_ASSERT_EQUAL(store_memory_purge(s, PURGE_URL, "http://h1/1", 11, true, NOW, &number), 1);
	}
	s->ops->free(s);
}

/* ---- two workers, and others who sweep ---- */

static struct store *shared;
static _Atomic bool over;

static void *sweep(void *arg)
{
	(void)arg;
	while (!over)
		store_memory_sweep(shared);
	return NULL;
}

/* Each has a host of its own, which the other never purges: nobody's entry comes back, and nobody loses another's. */
static void *work(void *arg)
{
	unsigned me = *(unsigned *)arg, state = me + 1;
	unsigned char there[URLS] = { 0 };
	bool right = true;
	uint32_t number;

	for (int step = 0; step < 5000; step++) {
		unsigned url = dice(&state, URLS / 4) * 4 + me;
		char text[32];

		switch (dice(&state, 8)) {
		case 0:
			snprintf(text, sizeof text, "http://h%u/", me);
			store_memory_purge(shared, PURGE_PREFIX, text, strlen(text), false, NOW, &number);
			memset(there, 0, sizeof there);
			break;
		case 1: case 2: case 3:
			stores_put(shared, key_of(url, 0), 1, 10);
			there[url] = 2;
			break;
		default:
			right &= is_there(shared, url, 0) == there[url];
		}
	}
	return right ? NULL : arg;
}

static void threads(void)
{
	pthread_t workers[2], sweepers[2];
	unsigned numbers[2] = { 0, 1 };
	void *lost;

	shared = store_memory_new(16 << 20, 1 << 20);
	over = false;
	for (int i = 0; i < 2; i++) {
		pthread_create(&sweepers[i], NULL, sweep, NULL);
		pthread_create(&workers[i], NULL, work, &numbers[i]);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(workers[i], &lost);
		CU_ASSERT_PTR_NULL(lost);
	}
	over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(sweepers[i], NULL);
	shared->ops->free(shared);
}

UNIT_SUITE(purge_marks, { "covering", covering }, { "ending", ending }, { "flood", flood }, { "wrapping", wrapping }, { "random order", random_order },
	{ "many variants", many_variants }, { "threads", threads })
