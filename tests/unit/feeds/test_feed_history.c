/* Owns the cases of proxy/feeds/feed_history.c. Must not know: lists. Invariant: each row names its rule. */
#include "proxy/feeds/feed_history.h"
#include "tests/unit/unit.h"

/* Which answers, one behind the other, are changes. */
static void changes(void)
{
	static const struct {
		const char *rule;
		struct feed_event event;
		size_t n;
	} cases[] = {
		{ "the first", { 1, "koi8-r", "utf-8", 200, false, false }, 1 },
		{ "the same later", { 2, "koi8-r", "utf-8", 200, false, false }, 1 },
		{ "not modified", { 3, "koi8-r", "utf-8", 304, false, false }, 1 },
		{ "an error", { 4, "koi8-r", "utf-8", 502, false, false }, 2 },
		{ "the same error", { 5, "koi8-r", "utf-8", 502, false, false }, 2 },
		{ "another error", { 6, "koi8-r", "utf-8", 404, false, false }, 3 },
		{ "the kept feed", { 7, "koi8-r", "utf-8", 200, true, false }, 4 },
		{ "good again", { 8, "koi8-r", "utf-8", 200, false, false }, 5 },
		{ "another label", { 9, "koi8-r", NULL, 200, false, false }, 6 },
		{ "another charset", { 10, "utf-8", NULL, 200, false, false }, 7 },
		{ "no feed any more", { 11, NULL, NULL, 200, false, false }, 8 },
		{ "a client that left", { 12, NULL, NULL, 0, false, false }, 8 },
		{ "a label that nobody wrote", { 13, NULL, NULL, 0, false, true }, 8 },
	};
	struct feed_history history = { 0 };

	CU_ASSERT_EQUAL(feed_history_count(&history), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		feed_history_note(&history, &cases[i].event);
		UNIT_ROW(feed_history_count(&history) == cases[i].n, "%s: %zu", cases[i].rule, feed_history_count(&history));
	}
	/* The latest comes first; the oldest has left. */
	CU_ASSERT_EQUAL(feed_history_event(&history, 0)->at, 13);
	CU_ASSERT_EQUAL(feed_history_event(&history, FEED_EVENTS - 1)->at, 6);
}

UNIT_SUITE(feed_history, { "changes", changes })
