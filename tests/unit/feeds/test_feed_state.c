/* Owns the cases of proxy/feeds/feed_state.c. Must not know: lists of feeds. Invariant: each row names its rule; the order of what is added never counts. */
#include "proxy/feeds/feed_state.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { ANSWERS_MAX = 4 };

#define WELL(at) { .good = (at), .unkept_us = (at) }
#define KEPT(at, until) { .kept_us = (at), .kept_since = (at), .kept_last_us = (at), .kept_last = (at), .kept_asked_us = (at), .kept_until = (until) }
#define FAILED(at, status) { .failed_us = (at), .failed_at = (at), .failed_status = (status) }
#define BROKEN(at, kind) { .failed_us = (at), .failed_at = (at), .failed_why = (kind) }

static const struct {
	const char *rule;
	struct feed_state answers[ANSWERS_MAX];
	int64_t good;
	uint64_t kept_us;
	int64_t kept_until;
	const char *error;
	uint64_t saved;
} cases[] = {
	{ "nothing is known", { { 0 } }, 0, 0, 0, NULL, 0 },
	{ "requests saved add up", { { .saved = 1 }, { .saved = 2 } }, 0, 0, 0, NULL, 3 },
	{ "the latest good answer", { WELL(5), WELL(7) }, 7, 0, 0, NULL, 0 },
	{ "kept since the first kept answer", { WELL(5), KEPT(8, 100), KEPT(9, 101) }, 5, 8, 101, NULL, 0 },
	{ "a good answer ends it", { KEPT(8, 100), KEPT(9, 100), WELL(10) }, 10, 0, 100, NULL, 0 },
	{ "it begins anew behind one", { KEPT(8, 100), WELL(10), KEPT(11, 102) }, 10, 11, 102, NULL, 0 },
	{ "an answer that nothing is kept ends it, too", { KEPT(8, 100), { .unkept_us = 9 } }, 0, 0, 100, NULL, 0 },
	{ "a hit of what came before does not", { { .good = 5, .unkept_us = 6 }, KEPT(8, 100), { .good = 5 } }, 5, 8, 100, NULL, 0 },
	{ "the last error", { FAILED(3, 404), FAILED(4, 503) }, 0, 0, 0, "503", 0 },
	{ "a failure without a status", { FAILED(3, 404), BROKEN(4, FAILURE_CONNECTION_REFUSED) }, 0, 0, 0, "connection_refused", 0 },
	{ "a page where a feed was", { { .failed_us = 3, .failed_status = 200, .failed_why = FAILURE_NO_FEED } }, 0, 0, 0, "no_feed", 0 },
	{ "it stays known behind a good answer", { FAILED(3, 404), WELL(10) }, 10, 0, 0, "404", 0 },
};

/* Adds up what the answers tell, from the first or from the last. */
static struct feed_state sum_of(size_t row, bool backwards)
{
	struct feed_state sum = { 0 };

	for (size_t i = 0; i < ANSWERS_MAX; i++)
		feed_state_add(&sum, &cases[row].answers[backwards ? ANSWERS_MAX - 1 - i : i]);
	return sum;
}

/* The same as two accounts, each of its own answers, one put after the other. */
static struct feed_state sum_of_two(size_t row, size_t first)
{
	struct feed_state sums[2] = { { 0 }, { 0 } };

	for (size_t i = 0; i < ANSWERS_MAX; i++)
		feed_state_add(&sums[i % 2], &cases[row].answers[i]);
	feed_state_add(&sums[first], &sums[!first]);
	return sums[first];
}

static void holds(size_t row, const char *how, const struct feed_state *s)
{
	char room[FAILURE_CAUSE_MAX];
	const char *error = feed_state_error(s, room);

	UNIT_ROW(s->good == cases[row].good && s->saved == cases[row].saved, "%s, %s", cases[row].rule, how);
	UNIT_ROW(s->kept_us == cases[row].kept_us, "%s, %s: kept since %d", cases[row].rule, how, (int)s->kept_us);
	UNIT_ROW(!s->kept_us || ((uint64_t)s->kept_since == s->kept_us && s->kept_until == cases[row].kept_until), "%s, %s", cases[row].rule, how);
	UNIT_ROW(cases[row].error ? error && !strcmp(error, cases[row].error) : !error, "%s, %s: %s", cases[row].rule, how, error ? error : "none");
}

static void added(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct feed_state there = sum_of(i, false), back = sum_of(i, true), one = sum_of_two(i, 0), other = sum_of_two(i, 1);

		holds(i, "in order", &there);
		holds(i, "backwards", &back);
		holds(i, "of two", &one);
		holds(i, "of two, the other first", &other);
	}
}

UNIT_SUITE(feed_state, { "added", added })
