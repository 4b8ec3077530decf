/* Owns the cases of proxy/object/feed_notes.c. Must not know: the list of feeds. Invariant: each row names its rule. */
#include "proxy/object/feed_notes.h"
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

/* One answer after the other, all with the same address, and what is put because of each. */
static void turns(void)
{
	static const struct {
		const char *rule, *url;
		struct feed_answer answer;
		const char *put;       /* the URL of what was put; NULL: nothing */
		uint64_t requests, hits, errors, bytes;
		int64_t first, last;
		bool listed, decided, has_expires;
	} cases[] = {
		{ "the first answer waits", "a", { .now = 5, .status = 200, .bytes = 10, .verdict = &feed }, NULL, 0, 0, 0, 0, 0, 0, false, false, false },
		{ "another of its second, too", "a", { .now = 5, .hit = true, .bytes = 10, .has_ttl = true, .ttl = 9 }, NULL, 0, 0, 0, 0, 0, 0, false, false,
		    false },
		{ "the next second's given both", "a", { .now = 6, .failed = true }, "a", 2, 1, 0, 20, 5, 5, true, true, true },
		{ "another feed takes the place", "b", { .now = 6, .listed = true }, "a", 1, 0, 1, 0, 6, 6, false, false, false },
		{ "a longer URL", "bcd", { .now = 6, .verdict = &no_feed }, "b", 1, 0, 0, 0, 6, 6, true, false, false },
		{ "the beginning of one is another", "bc", { .now = 6 }, "bcd", 1, 0, 0, 0, 6, 6, false, true, false },
		{ "a clock that was set back", "bc", { .now = 3 }, "bc", 1, 0, 0, 0, 6, 6, false, false, false },
		{ "what one second put says nothing of the next", "bc", { .now = 3 }, NULL, 0, 0, 0, 0, 0, 0, false, false, false },
	};
	struct feed_notes *n = feed_notes_new(on_put, given);

	CU_ASSERT_PTR_NOT_NULL_FATAL(n);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct feed_sum *s = &given[0].sum;

		n_given = 0;
		feed_notes_add(n, &given, (struct slice){ cases[i].url, strlen(cases[i].url) }, &cases[i].answer);
		UNIT_ROW(n_given == (cases[i].put != NULL), "%s: %zu put", cases[i].rule, n_given);
		if (!cases[i].put || !n_given)
			continue;
		UNIT_ROW(strcmp(given[0].url, cases[i].put) == 0, "%s: %s", cases[i].rule, given[0].url);
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
