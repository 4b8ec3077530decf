/* Owns the cases of proxy/feeds/feed_notes.c. Must not know: the list of feeds. Invariant: each row names its rule. */
#include "proxy/feeds/feed_notes.h"
#include "tests/unit/unit.h"

#include <string.h>

/* What was put, in its order. */
struct put {
	char url[16];
	struct feed_sum sum;
};
static struct put given[32];
static size_t n_given;

static void on_put(void *list, struct slice url, const struct feed_sum *sum)
{
	CU_ASSERT_PTR_EQUAL(list, given);
	CU_ASSERT_FATAL(n_given < sizeof given / sizeof *given && url.len < sizeof given->url);
	memset(given[n_given].url, 0, sizeof given->url);
	memcpy(given[n_given].url, url.at, url.len);
	given[n_given++].sum = *sum;
}

static const struct verdict feed = { .kind = VERDICT_CHARSET, .policy = POLICY_AUTO, .path = "2.0/1.2", .named = "koi8-r" };
static const struct verdict no_feed = { .kind = VERDICT_NONE, .reason = VREASON_NOT_XML };

/* One answer after the other, all with the same address, how many sums are put because of each, and the last of them. */
static void turns(void)
{
	static const struct {
		const char *rule, *url;
		struct feed_answer answer;
		size_t n;
		const char *put;
		uint64_t requests, hits, errors, bytes;
		int64_t first, last;
		bool listed, decided, has_expires;
	} cases[] = {
		{ .rule = "a first answer waits", .url = "a", .answer = { .now = 5, .status = 404, .bytes = 10, .verdict = &no_feed } },
		{ .rule = "one that lists the feed does not", .url = "a", .answer = { .now = 5, .bytes = 10, .verdict = &feed }, .n = 1, .put = "a", .requests = 2,
		    .bytes = 20, .first = 5, .last = 5, .listed = true, .decided = true },
		{ .rule = "another of its second does", .url = "a", .answer = { .now = 5, .hit = true, .bytes = 10, .has_ttl = true, .ttl = 9, .verdict = &feed } },
		{ .rule = "and another", .url = "a", .answer = { .now = 5, .hit = true, .bytes = 10 } },
		{ .rule = "the next second's has both put", .url = "a", .answer = { .now = 6, .failed = true }, .n = 1, .put = "a", .requests = 2, .hits = 2,
		    .bytes = 20, .first = 5, .last = 5, .listed = true, .decided = true, .has_expires = true },
		{ .rule = "another feed takes the place", .url = "b", .answer = { .now = 6 }, .n = 1, .put = "a", .requests = 1, .errors = 1, .first = 6, .last = 6 },
		{ .rule = "asking to be listed does not wait", .url = "b", .answer = { .now = 6, .listed = true }, .n = 1, .put = "b", .requests = 2, .first = 6,
		    .last = 6, .listed = true },
		{ .rule = "nothing was left of it", .url = "bcd", .answer = { .now = 6 } },
		{ .rule = "who takes a place back lists itself anew", .url = "b", .answer = { .now = 6, .listed = true }, .n = 2, .put = "b", .requests = 1,
		    .first = 6, .last = 6, .listed = true },
		{ .rule = "a longer URL", .url = "bcd", .answer = { .now = 6, .verdict = &no_feed } },
		{ .rule = "the beginning of one is another", .url = "bc", .answer = { .now = 6 }, .n = 1, .put = "bcd", .requests = 1, .first = 6, .last = 6,
		    .decided = true },
		{ .rule = "a clock that was set back", .url = "bc", .answer = { .now = 3 }, .n = 1, .put = "bc", .requests = 1, .first = 6, .last = 6 },
		{ .rule = "what one second put says nothing of the next", .url = "bc", .answer = { .now = 3 } },
	};
	struct feed_notes *n = feed_notes_new(on_put, given);

	CU_ASSERT_PTR_NOT_NULL_FATAL(n);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct feed_sum *s;

		n_given = 0;
		feed_notes_add(n, &given, (struct slice){ cases[i].url, strlen(cases[i].url) }, &cases[i].answer);
		UNIT_ROW(n_given == cases[i].n, "%s: %zu put", cases[i].rule, n_given);
		if (!n_given || !cases[i].put)
			continue;
		s = &given[n_given - 1].sum;
		UNIT_ROW(strcmp(given[n_given - 1].url, cases[i].put) == 0, "%s: %s", cases[i].rule, given[n_given - 1].url);
		UNIT_ROW(s->requests == cases[i].requests && s->hits == cases[i].hits && s->errors == cases[i].errors &&
		    s->bytes == cases[i].bytes && s->first == cases[i].first && s->last == cases[i].last, "%s", cases[i].rule);
		UNIT_ROW(s->listed == cases[i].listed && s->decided == cases[i].decided && s->has_expires == cases[i].has_expires, "%s", cases[i].rule);
	}
	n_given = 0;
	feed_notes_collect(n);
	CU_ASSERT(n_given == 1 && given[0].sum.requests == 2);
	n_given = 0;
	feed_notes_collect(n);
	CU_ASSERT_EQUAL(n_given, 0);
	feed_notes_free(&n);
}

UNIT_SUITE(feed_notes, { "turns", turns })
