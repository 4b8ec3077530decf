/* Owns the cases of proxy/origin/backoff_table.c: what stays when more is to be remembered than has room, and what it costs; and of the
 * tables in use by several threads. Invariant: chance is seeded (unit.h). */
#include "proxy/base/stats.h"
#include "proxy/origin/backoff.h"
#include "proxy/origin/backoff_table.h"
#include "tests/unit/unit.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { HOSTILE = 1000000, NAMES_ENOUGH = 100000, REAL = 100 };

static struct slice slice(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

/* A number below n; getrandom() is the tests' own, and seeded. */
static uint64_t chance(uint64_t n)
{
	uint64_t drawn = 0;

	CU_ASSERT_EQUAL(getrandom(&drawn, sizeof drawn, 0), sizeof drawn);
	return drawn % n;
}

static struct backoff_table *table_new(void)
{
	struct backoff_table *t = calloc(1, sizeof *t);

	CU_ASSERT_PTR_NOT_NULL_FATAL(t);
	return t;
}

/* The names that a hostile client asks for. */
static void name_one_host(char *name, char *host, size_t size, unsigned n)
{
	snprintf(host, size, "feeds.example");
	snprintf(name, size, "http://feeds.example/%u", n);
}

static void name_wildcard(char *name, char *host, size_t size, unsigned n)
{
	snprintf(host, size, "h%u.evil.example", n);
	snprintf(name, size, "http://h%u.evil.example", n);
}

static void name_network(char *name, char *host, size_t size, unsigned n)
{
	snprintf(host, size, "2001:db8::%x:%x", n >> 16, n & 0xffff);
	snprintf(name, size, "http://[%s]", host);
}

static void name_port(char *name, char *host, size_t size, unsigned n)
{
	snprintf(host, size, "192.0.2.1");
	snprintf(name, size, "http://192.0.2.1:%u/%u", n % 65536, n);
}

static void name_long(char *name, char *host, size_t size, unsigned n)
{
	snprintf(host, size, "feeds.example");
	snprintf(name, size, "http://feeds.example/%0*u", (int)size - 32, n);
}

static void name_real(char *name, char *host, size_t size, unsigned n)
{
	snprintf(host, size, "www.site%u.example", n);
	snprintf(name, size, "http://www.site%u.example/feed", n);
}

enum { NAME_MAX_BYTES = 2048 };

/* Twelve tables full of names of one site: those of a hundred others stay, and so do the proven ones of that site. */
static void hostile_names(void)
{
	static const struct { const char *rule; void (*name)(char *name, char *host, size_t size, unsigned n); size_t size; } cases[] = {
		{ "URLs of one host", name_one_host, 128 },
		{ "names below one domain", name_wildcard, 128 },
		{ "addresses of one network", name_network, 128 },
		{ "ports of one address", name_port, 128 },
		{ "long URLs", name_long, NAME_MAX_BYTES },
	};

	if (UNIT_RACES_ONLY)
		UNIT_SKIP("one thread has no races");
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct backoff_table *t = table_new();
		char name[NAME_MAX_BYTES], host[NAME_MAX_BYTES];
		unsigned left = 0;

		for (unsigned n = 0; n < REAL; n++) {
			name_real(name, host, sizeof name, n);
			CU_ASSERT_PTR_NOT_NULL_FATAL(backoff_table_add(t, slice(name), 0, slice(host)));
		}
		for (unsigned n = 0; n < NAMES_ENOUGH; n++) {
			struct backoff_entry *e;

			cases[i].name(name, host, cases[i].size, n);
			if (!(e = backoff_table_add(t, slice(name), 0, slice(host))))
				abort();
			if (n < REAL)
				backoff_table_prove(e);
			if (t->n > BACKOFF_ENTRIES_MAX || t->bytes > BACKOFF_NAMES_MAX)
				break;
		}
		UNIT_ROW(t->n <= BACKOFF_ENTRIES_MAX && t->bytes <= BACKOFF_NAMES_MAX, "%s: %zu, %zu bytes", cases[i].rule, t->n, t->bytes);
		for (unsigned n = 0; n < REAL; n++) {
			name_real(name, host, sizeof name, n);
			left += backoff_table_find(t, slice(name), 0) != NULL;
			cases[i].name(name, host, cases[i].size, n);
			left += backoff_table_find(t, slice(name), 0) != NULL;
		}
		UNIT_ROW(left == 2 * REAL, "%s: %u of %d left", cases[i].rule, left, 2 * REAL);
		backoff_table_clear(t);
		CU_ASSERT(!t->n && !t->bytes && !t->largest);
		free(t);
	}
}

/* Entries come and go in random order; the sites' counts stay what is there. */
static void in_random_order(void)
{
	enum { NAMES = 3000, STEPS = 200000 };
	struct backoff_table *t = table_new();
	static bool there[NAMES];
	size_t n = 0, sites = 0, most = 0;

	memset(there, 0, sizeof there);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned which = (unsigned)chance(NAMES);
		char name[64], host[64];
		struct backoff_entry *e;

		snprintf(host, sizeof host, "h%u.s%u.example", which, which % 50);
		snprintf(name, sizeof name, "http://h%u.s%u.example/", which / 2, which / 2 % 50);
		e = backoff_table_find(t, slice(name), which % 2);
		if (!e != !there[which])
			UNIT_ROW(false, "step %u", step);
		if (!e) {
			if (!backoff_table_add(t, slice(name), which % 2, slice(host)))
				abort();
		} else if (chance(3)) {
			backoff_table_forget(t, e);
		} else {
			backoff_table_prove(e);
			continue;
		}
		there[which] = !e;
		n += e ? (size_t)-1 : 1;
	}
	for (size_t i = 0; i < BACKOFF_SITES; i++) {
		sites += t->sites[i].n;
		most = t->sites[i].n > most ? t->sites[i].n : most;
	}
	CU_ASSERT(t->n == n && sites == n && t->largest == most);
	backoff_table_clear(t);
	CU_ASSERT(!t->n && !t->bytes && !t->largest);
	free(t);
}

/* What backoff takes once a million hosts and URLs have failed; utfeed-operating(7) says it. */
static void memory(void)
{
	if (UNIT_RACES_ONLY)
		UNIT_SKIP("one thread, and a million names");

	static const struct backoff_terms terms = { .pauses = true };
	static const struct { const char *rule; int host, path; size_t most; } cases[] = {
		{ "URLs of 100 bytes", 8, 70, 4 << 20 }, { "the longest that find room", 230, 260, 11 << 20 },
		{ "long ones", 230, 8000, 9 << 20 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t before = mallinfo2().uordblks, took;
		/* 0: a sanitizer's malloc, which does not say. So many names fill the tables twice */
		unsigned names = !before ? HOSTILE / 50 : i ? HOSTILE / 20 : HOSTILE;
		struct backoff *b = backoff_new();

		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		for (unsigned n = 0; n < names; n++) {
			char url[9000];
			struct backoff_request r = { .id = n + 1, .asked_ms = 1 };

			snprintf(url, sizeof url, "http://h%0*u.example/%0*u", cases[i].host, n, cases[i].path, n);
			r.url = slice(url);
			backoff_pause(b, BACKOFF_OF_URL, &r, &terms, n + 2, (struct backoff_cause){ .status = 500 }, 0);
			backoff_pause(b, BACKOFF_OF_HOST, &r, &terms, n + 2, (struct backoff_cause){ .status = 429 }, 0);
		}
		took = mallinfo2().uordblks - before;
		printf("%s: %zu KiB\n", cases[i].rule, took / 1024);
		if (before)
			UNIT_ROW(took < cases[i].most, "%s: %zu bytes", cases[i].rule, took);
		backoff_free(&b);
	}
}

/* Two threads do all that can be done, with a third that shows and ends; nothing is left behind. */
enum { TURNS = 20000 };

struct hammer { struct backoff *b; uint64_t seed; };

static uint64_t hammer_next(struct hammer *h, uint64_t below)
{
	h->seed = h->seed * 6364136223846793005u + 1442695040888963407u;
	return (h->seed >> 33) % below;
}

static void *hammer(void *arg)
{
	struct hammer *h = arg;

	for (unsigned n = 0; n < TURNS; n++) {
		const struct backoff_terms terms = { .pauses = true, .way = hammer_next(h, 2), .url_interval_ms = hammer_next(h, 2) * 5,
			.host_interval_ms = hammer_next(h, 2) ? BACKOFF_LEARNED : 0 };
		struct backoff_request r = { .id = 1 + hammer_next(h, 100), .changes = !hammer_next(h, 9) };
		const struct backoff_cause cause = { .status = 500 };
		char url[64];
		struct failure f;

		snprintf(url, sizeof url, "http://h%u.example/%u", (unsigned)hammer_next(h, 9), (unsigned)hammer_next(h, 9));
		r.url = slice(url);
		if (backoff_ask(h->b, &r, &terms, n, &f) == BACKOFF_WAIT && !f.retry_after_s)
			abort();
		switch (hammer_next(h, 8)) {
		case 0: backoff_pause(h->b, BACKOFF_OF_URL, &r, &terms, n + 1, cause, (uint32_t)hammer_next(h, 3)); break;
		case 1: backoff_pause(h->b, BACKOFF_OF_HOST, &r, &terms, n + 1, cause, (uint32_t)hammer_next(h, 3)); break;
		case 2: backoff_pause(h->b, BACKOFF_OF_BUSY, &r, &terms, n + 1, cause, 1); break;
		case 3: backoff_learn(h->b, &r, &terms, n + 1, hammer_next(h, 3)); break;
		case 4: case 5: backoff_works(h->b, BACKOFF_OF_URL, &r, &terms); backoff_works(h->b, BACKOFF_OF_HOST, &r, &terms); break;
		case 6: backoff_resume(h->b, (enum backoff_scope)hammer_next(h, 3), r.url, n + 1); break;
		default: backoff_leave(h->b, &r, &terms, 0); break;
		}
	}
	return NULL;
}

static void see(void *arg, const struct backoff_shown *s)
{
	*(size_t *)arg += s->name.len;
}

static void threads(void)
{
	struct backoff *b = backoff_new();
	struct hammer hammers[2] = { { b, chance(1u << 30) }, { b, chance(1u << 30) } };
	pthread_t ids[2];
	size_t seen = 0;
	struct stats_gauges gauges = { 0 };

	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	for (size_t i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&ids[i], NULL, hammer, &hammers[i]), 0);
	for (unsigned n = 0; n < 20; n++) {
		backoff_each(b, see, &seen);
		backoff_stats(b, 0, &gauges);
	}
	for (size_t i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(pthread_join(ids[i], NULL), 0);
	backoff_resume(b, BACKOFF_ALL, (struct slice){ NULL, 0 }, 0);
	backoff_stats(b, 0, &gauges);
	CU_ASSERT(!gauges.of[GAUGE_PAUSED_URLS].value && !gauges.of[GAUGE_PAUSED_HOSTS].value);
	backoff_free(&b);
}

UNIT_SUITE(backoff_table, { "hostile_names", hostile_names }, { "in_random_order", in_random_order }, { "memory", memory },
	{ "threads", threads })
