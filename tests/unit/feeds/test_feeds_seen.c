/* Owns the cases of proxy/feeds/feeds_seen.c. Must not know: requests. Invariant: each row names its rule; threads share one list. */
#include "proxy/feeds/feeds_seen.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 160, ROOMY = 16000, THREADS = 4, EACH = 20000 };

static const struct verdict feed = { .kind = VERDICT_CHARSET, .policy = POLICY_AUTO, .path = "2.0/1.2", .named = "koi8-r", .was = "utf-8" };
static const struct verdict no_feed = { .kind = VERDICT_NONE, .reason = VREASON_NOT_XML };

static void note_by(struct feeds_seen *f, size_t worker, const char *url, const struct feed_answer *a)
{
	feeds_seen_note(f, worker, url, (struct slice){ url, strlen(url) }, a);
}

static void note(struct feeds_seen *f, const char *url, const struct feed_answer *a)
{
	note_by(f, 0, url, a);
}

static bool all(const struct feeds_query *q, const struct feed_seen *s)
{
	(void)q, (void)s;
	return true;
}

static bool ends_in_7(const struct feeds_query *q, const struct feed_seen *s)
{
	(void)q;
	return s->url[strlen(s->url) - 1] == '7';
}

static int by_requests(const struct feed_seen *a, const struct feed_seen *b)
{
	return (a->requests < b->requests) - (a->requests > b->requests);
}

/* What is listed, and what an answer changes. */
/* How many feeds are known. */
static size_t known(struct feeds_seen *f)
{
	const struct feeds_query q = { .want = all, .compare = by_requests, .max = 1 };
	struct feed_seen *first = NULL;
	struct feeds_count count;

	feeds_seen_first(f, &q, &first, &count);
	free(first);
	return count.total;
}

static void noted(void)
{
	static const struct {
		const char *rule;
		struct feed_answer answer;
		size_t n;              /* listed afterwards */
		uint64_t requests, hits, errors, bytes;
		int64_t expires;
		const char *charset;
	} cases[] = {
		{ "what is no feed is not listed", { .now = 1, .status = 200, .verdict = &no_feed }, 0, 0, 0, 0, 0, 0, NULL },
		{ "an error of what is unknown is not", { .now = 2, .status = 502, .failed = true }, 0, 0, 0, 0, 0, 0, NULL },
		{ "unless it is to be", { .now = 3, .status = 502, .failed = true, .listed = true }, 1, 1, 0, 1, 0, 0, NULL },
		{ "a feed", { .now = 4, .status = 200, .bytes = 10, .has_ttl = true, .ttl = 60, .verdict = &feed }, 1, 2, 0, 1, 10, 64, "koi8-r" },
		{ "a hit", { .now = 5, .status = 200, .bytes = 10, .hit = true, .has_ttl = true, .ttl = 59, .verdict = &feed }, 1, 3, 1, 1, 20, 64,
		    "koi8-r" },
		{ "a 304 says nothing of the text", { .now = 6, .status = 304, .hit = true }, 1, 4, 2, 1, 20, 64, "koi8-r" },
		{ "it has become something else", { .now = 7, .status = 200, .bytes = 1, .verdict = &no_feed }, 1, 5, 2, 1, 21, 64, NULL },
		{ "stale", { .now = 100, .status = 200, .has_ttl = true, .ttl = -30, .verdict = &feed }, 1, 6, 2, 1, 21, 70, "koi8-r" },
	};
	struct feeds_seen *f = feeds_seen_new(MAX, 1);
	const struct feeds_query q = { .want = all, .compare = by_requests, .max = 1 };

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct feed_seen *s = NULL;
		struct feeds_count n;

		note(f, "http://a/f", &cases[i].answer);
		UNIT_ROW(feeds_seen_first(f, &q, &s, &n) == cases[i].n && n.total == cases[i].n, "%s: %zu", cases[i].rule, n.total);
		if (!s)
			continue;
		UNIT_ROW(s->requests == cases[i].requests && s->hits == cases[i].hits && s->errors == cases[i].errors &&
		    s->bytes == cases[i].bytes && s->expires == cases[i].expires && s->status == cases[i].answer.status &&
		    s->last == cases[i].answer.now && s->first == 3, "%s", cases[i].rule);
		UNIT_ROW(cases[i].charset ? s->charset && !strcmp(s->charset, cases[i].charset) && !strcmp(s->rule, "auto:2.0/1.2") :
		    !s->charset, "%s: %s", cases[i].rule, s->rule);
		free(s);
	}
	feeds_seen_free(&f);
}

static void bounded(void)
{
	struct feeds_seen *f = feeds_seen_new(MAX, 1);
	struct feed_answer a = { .status = 200, .verdict = &feed };
	const struct feeds_query q = { .want = all, .compare = by_requests, .max = 1 },
	                         sevens = { .want = ends_in_7, .compare = by_requests, .max = 3 };
	struct feed_seen *list[3];
	char url[FEEDS_SEEN_URL_MAX + 2];
	struct feeds_count count;
	size_t n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (int i = 0; i < 20 * MAX; i++) {
		a.now = i / 16;       /* seconds in which fewer feeds are asked for than there is room for */
		note(f, "http://hot/7", &a);
		snprintf(url, sizeof url, "http://cold/%d", i);
		note(f, url, &a);
	}
	CU_ASSERT(known(f) <= MAX && known(f) > MAX / 2);
	CU_ASSERT_EQUAL_FATAL(feeds_seen_first(f, &q, list, &count), 1);
	CU_ASSERT_STRING_EQUAL(list[0]->url, "http://hot/7");
	CU_ASSERT_EQUAL(list[0]->requests, 20 * MAX);
	free(list[0]);
	n = feeds_seen_first(f, &sevens, list, &count);
	CU_ASSERT(n == 3 && count.total < known(f) && !strcmp(list[0]->url, "http://hot/7"));
	while (n)
		free(list[--n]);
	/* A URL that is too long is left out. */
	count.total = known(f);
	memset(url, 'a', sizeof url - 1);
	url[FEEDS_SEEN_URL_MAX] = '\0';
	note(f, url, &a);
	CU_ASSERT_EQUAL(feeds_seen_first(f, &q, list, &count), 1);
	CU_ASSERT_STRING_EQUAL(list[0]->url, "http://hot/7");
	free(list[0]);
	feeds_seen_free(&f);
}

/* A purge or a reload ends the state of a feed. Notes of earlier requests do not bring it back. */
static void outdated(void)
{
	static const struct { const char *rule, *url; bool prefix; bool ends; } cases[] = {
		{ "the URL", "http://a/f", false, true },
		{ "another URL", "http://a/", false, false },
		{ "a longer one", "http://a/f2", false, false },
		{ "a prefix", "http://a/", true, true },
		{ "another prefix", "http://a/g", true, false },
		{ "all", "", true, true },
	};
	const struct feeds_query q = { .want = all, .compare = by_requests, .max = 1 };
	const struct feed_answer kept = { .now = 10, .status = 200, .has_ttl = true, .ttl = 60, .verdict = &feed, .asked_us = 5,
		.state = { .kept_us = 6, .kept_since = 10, .kept_last_us = 6, .kept_last = 10, .kept_asked_us = 5, .kept_until = 1000 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t noted = 0; noted < 3; noted++) {
			/* noted: before; before and collected later; behind it, of a request that came before */
			struct feeds_seen *f = feeds_seen_new(MAX, 1);
			struct feed_answer later = kept;
			struct feeds_count n;
			struct feed_seen *s;

			CU_ASSERT_PTR_NOT_NULL_FATAL(f);
			note(f, "http://a/f", &kept);
			if (noted == 1)
				note(f, "http://a/f", &kept);
			feeds_seen_outdate(f, (struct slice){ cases[i].url, strlen(cases[i].url) }, cases[i].prefix, 8);
			if (noted == 2)
				note(f, "http://a/f", &kept);
			CU_ASSERT_EQUAL_FATAL(feeds_seen_first(f, &q, &s, &n), 1);
			UNIT_ROW(feed_is_kept(s, 20) == !cases[i].ends && !s->expires == cases[i].ends, "%s", cases[i].rule);
			UNIT_ROW(!feed_is_kept(s, 1000), "%s: its time is over", cases[i].rule);
			free(s);
			later.asked_us = later.state.kept_asked_us = 9;
			note(f, "http://a/f", &later);
			CU_ASSERT_EQUAL_FATAL(feeds_seen_first(f, &q, &s, &n), 1);
			UNIT_ROW(feed_is_kept(s, 20) && s->state.kept_since == 10 && s->expires == 70, "%s: the next answer tells it anew", cases[i].rule);
			free(s);
			feeds_seen_free(&f);
		}
}

/* An error of a feed that another worker has listed in the same second counts, in whatever order their notes are put. */
static void errors_of_workers(void)
{
	const struct feeds_query q = { .want = all, .compare = by_requests, .max = 1 };

	for (size_t first = 0; first < 2; first++) {
		struct feeds_seen *f = feeds_seen_new(MAX, 2);
		struct feed_seen *s;
		struct feeds_count count;

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		note_by(f, first, "http://a/f", &(struct feed_answer){ .now = 1, .status = 200, .verdict = &feed });
		note_by(f, !first, "http://a/f", &(struct feed_answer){ .now = 1, .status = 502, .failed = true });
		CU_ASSERT_EQUAL_FATAL(feeds_seen_first(f, &q, &s, &count), 1);
		CU_ASSERT(s->requests == 2 && s->errors == 1);
		free(s);
		feeds_seen_free(&f);
	}
}

/* Workers note the same feed: counts add up, and the latest answer is the latest whoever gave it. */
static void of_workers(void)
{
	static const struct verdict other = { .kind = VERDICT_CHARSET, .policy = POLICY_AUTO, .path = "2.5/bom", .named = "utf-8" };
	const struct feed_answer early = { .now = 10, .status = 200, .bytes = 5, .has_ttl = true, .ttl = 60, .verdict = &feed },
	                         late = { .now = 11, .status = 304, .hit = true, .has_ttl = true, .ttl = 5, .verdict = &other };
	const struct feeds_query q = { .want = all, .compare = by_requests, .max = 1 };

	for (size_t first = 0; first < 2; first++) {
		struct feeds_seen *f = feeds_seen_new(MAX, 2);
		struct feed_seen *s;
		struct feeds_count count;

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		/* what the first worker noted is put first, so that the later answer comes before or after the earlier */
		note_by(f, first, "http://a/f", &late);
		note_by(f, !first, "http://a/f", &early);
		note_by(f, !first, "http://a/f", &early);
		CU_ASSERT_EQUAL_FATAL(feeds_seen_first(f, &q, &s, &count), 1);
		CU_ASSERT(s->requests == 3 && s->hits == 1 && s->bytes == 10 && s->first == 10 && s->last == 11);
		CU_ASSERT(s->status == 304 && s->expires == 16);
		CU_ASSERT_STRING_EQUAL(s->charset, "utf-8");
		free(s);
		feeds_seen_free(&f);
	}
}

struct one_of_crowd {
	struct feeds_seen *list;
	size_t worker;
};

static int crowd_answers(void)
{
	return UNIT_RACES_ONLY ? EACH / 20 : EACH;
}

static int by_url(const struct feed_seen *a, const struct feed_seen *b)
{
	return strcmp(a->url, b->url);
}

enum { PAGE = 7 };

/* Walks the list from one end to the other. Returns how many feeds came, each in its order. */
static size_t walk(struct feeds_seen *f, bool backwards, size_t n)
{
	struct feed_seen *list[PAGE], edge;
	struct feeds_query q = { .want = all, .compare = by_url, .max = PAGE, .backwards = backwards };
	struct feeds_count count;
	size_t seen = 0, got;

	while ((got = feeds_seen_first(f, &q, list, &count)) > 0) {
		const struct feed_seen *next = list[backwards ? 0 : got - 1];

		UNIT_ROW(count.total == n && count.first == (backwards ? n - seen - got : seen), "%zu of %zu behind %zu", count.first,
		    count.total, seen);
		for (size_t i = 0; i < got; i++)
			UNIT_ROW(i == 0 || by_url(list[i - 1], list[i]) < 0, "%s", list[i]->url);
		UNIT_ROW(!q.edge || (backwards ? by_url(list[got - 1], &edge) < 0 : by_url(&edge, list[0]) < 0), "behind %s", edge.url);
		memcpy(&edge, next, offsetof(struct feed_seen, url) + strlen(next->url) + 1);
		q.edge = &edge;
		seen += got;
		while (got)
			free(list[--got]);
	}
	return seen;
}

/* Every feed stands on one page, whatever the number of feeds, from either end; and what joins the list meanwhile keeps none out. */
static void paged(void)
{
	struct feeds_seen *f = feeds_seen_new(1000, 1);
	struct feed_seen edge = { .url = "http://a/015" }, *list[PAGE];
	const struct feeds_query q = { .want = all, .compare = by_url, .max = PAGE, .edge = &edge };
	struct feeds_count count;
	size_t got;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (size_t n = 0; n < 4 * PAGE; n++) {
		char url[32];

		UNIT_ROW(walk(f, false, n) == n && walk(f, true, n) == n, "%zu feeds", n);
		snprintf(url, sizeof url, "http://a/%03zu", 2 * (n * 11 % (4 * PAGE + 1)));
		note(f, url, &(struct feed_answer){ .now = 1, .status = 200, .verdict = &feed });
	}
	note(f, "http://a/000a", &(struct feed_answer){ .now = 2, .status = 200, .verdict = &feed });
	got = feeds_seen_first(f, &q, list, &count);
	CU_ASSERT_FATAL(got == PAGE);
	CU_ASSERT_STRING_EQUAL(list[0]->url, "http://a/016");
	while (got)
		free(list[--got]);
	feeds_seen_free(&f);
}

static void *crowd(void *arg)
{
	const struct one_of_crowd *one = arg;
	struct feeds_seen *f = one->list;
	const struct feeds_query q = { .want = all, .compare = by_requests, .max = 2 };
	struct feed_seen *list[2];
	struct feeds_count count;

	for (int i = 0; i < crowd_answers(); i++) {
		char url[32];

		snprintf(url, sizeof url, "http://a/%d", i % 500);
		note_by(f, one->worker, url, &(struct feed_answer){ .now = i / 100, .status = 200, .verdict = &feed });
		note_by(f, one->worker, "http://hot/", &(struct feed_answer){ .now = i / 100, .status = 200, .verdict = &feed });
		if (i % 1000 == 0)
			for (size_t n = feeds_seen_first(f, &q, list, &count); n; n--)
				free(list[n - 1]);
	}
	return NULL;
}

/* Threads note and look at once. complete: the list has room for all feeds, so that no answer may be lost. */
static void crowd_upon(size_t max, bool complete)
{
	struct feeds_seen *f = feeds_seen_new(max, THREADS);
	struct one_of_crowd of[THREADS];
	pthread_t threads[THREADS];
	const struct feeds_query q = { .want = all, .compare = by_requests, .max = 1 };
	struct feed_seen *s;
	struct feeds_count count;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (size_t i = 0; i < THREADS; i++) {
		of[i] = (struct one_of_crowd){ f, i };
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, crowd, &of[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CU_ASSERT(known(f) <= max);
	CU_ASSERT_EQUAL_FATAL(feeds_seen_first(f, &q, &s, &count), 1);
	if (complete) {
		CU_ASSERT_STRING_EQUAL(s->url, "http://hot/");
		CU_ASSERT_EQUAL(s->requests, (uint64_t)THREADS * (uint64_t)crowd_answers());
	}
	free(s);
	feeds_seen_free(&f);
}

static void shared(void)
{
	crowd_upon(MAX, false);
	crowd_upon(ROOMY, true);
}

UNIT_SUITE(feeds_seen, { "noted", noted }, { "bounded", bounded }, { "of workers", of_workers }, { "errors of workers", errors_of_workers }, { "shared", shared }, { "outdated", outdated },
    { "paged", paged })
