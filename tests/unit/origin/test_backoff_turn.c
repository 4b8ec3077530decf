/* Owns the cases of proxy/origin/backoff_turn.c: which feed of a host that limits requests is asked first. Invariant: each row names its
 * rule; time is what the row says, no clock is asked. */
#include "proxy/origin/backoff.h"
#include "tests/unit/unit.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { MINUTE = 60 * 1000, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

/* LIMITS: the host answers 429 to the URL and asks for a minute. MISS: the URL's copy answers meanwhile. WAY and FIRST: the URL gives way, or
 * does not. ASK: it is asked; OTHER_WAY: for a client with credentials. FAILS: it answers 500. WORKS: its host answers. PURGE: pauses of the host end. */
enum what { END, LIMITS, MISS, WAY, FIRST, ASK, OTHER_WAY, FAILS, WORKS, PURGE };

struct step { enum what what; unsigned at_ms; char url; unsigned age_ms; };

enum { STEPS = 12 };

static const struct row { const char *rule; unsigned keep_ms; struct step steps[STEPS]; } rows[] = {
	{ "nobody has missed", DAY, { { LIMITS, 0, 'a', 0 }, { FIRST, 2 * MINUTE, 'a', 0 } } },
	{ "a copy that is newer by more than an hour", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 1000, 'b', 3 * HOUR }, { WAY, 2 * MINUTE, 'a', 2 * HOUR - MINUTE }, { FIRST, 2 * MINUTE, 'b', 3 * HOUR } } },
	{ "a copy that is hardly newer", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 1000, 'b', 3 * HOUR }, { FIRST, 2 * MINUTE, 'a', 2 * HOUR + 3 * MINUTE } } },
	{ "copies older than the machine's start", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 20 * HOUR }, { MISS, 0, 'c', 10 * HOUR }, { WAY, MINUTE, 'c', 10 * HOUR }, { FIRST, MINUTE, 'b', 20 * HOUR } } },
	{ "the oldest of two", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { MISS, 0, 'c', 8 * HOUR }, { MISS, 0, 'd', 2 * HOUR }, { WAY, MINUTE, 'b', 5 * HOUR },
	        { FIRST, MINUTE, 'c', 8 * HOUR } } },
	{ "once it is asked, nobody waits", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { WAY, MINUTE, 'a', 0 }, { ASK, MINUTE, 'b', 0 }, { FIRST, MINUTE, 'a', 0 } } },
	{ "nor once it is asked and all is well", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { ASK, MINUTE, 'b', 0 }, { WORKS, MINUTE, 'b', 0 }, { FIRST, MINUTE, 'a', 0 } } },
	{ "another one's success ends no turn", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { ASK, MINUTE, 'n', 0 }, { WORKS, MINUTE, 'n', 0 }, { WAY, MINUTE, 'a', 0 } } },
	{ "a turn lasts five minutes", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { WAY, HOUR, 'a', 0 }, { WAY, HOUR + 5 * MINUTE - 1, 'a', 0 }, { FIRST, HOUR + 5 * MINUTE, 'a', 0 },
	        { FIRST, HOUR + 6 * MINUTE, 'a', 0 } } },
	{ "behind one that nobody took there is none for 45 minutes", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { WAY, MINUTE, 'a', 0 }, { FIRST, 6 * MINUTE, 'a', 0 }, { LIMITS, 7 * MINUTE, 'a', 0 },
	        { MISS, 7 * MINUTE, 'b', 5 * HOUR }, { FIRST, 9 * MINUTE, 'a', 0 }, { LIMITS, 52 * MINUTE, 'a', 0 }, { MISS, 52 * MINUTE, 'b', 6 * HOUR },
	        { WAY, 54 * MINUTE, 'a', 0 } } },
	{ "the same in parts of a short keep-feed", 24 * MINUTE,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 1000, 'b', 10 * MINUTE }, { WAY, 1000, 'a', 8 * MINUTE }, { WAY, 5 * 1000, 'a', 8 * MINUTE },
	        { FIRST, 6 * 1000, 'a', 8 * MINUTE } } },
	{ "a turn that came late is followed by nine times as long without", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { WAY, MINUTE, 'a', 0 }, { ASK, 3 * MINUTE, 'b', 0 }, { LIMITS, 4 * MINUTE, 'b', 0 },
	        { MISS, 4 * MINUTE, 'c', 6 * HOUR }, { FIRST, 6 * MINUTE, 'a', 0 }, { LIMITS, 21 * MINUTE, 'a', 0 }, { MISS, 21 * MINUTE, 'c', 6 * HOUR },
	        { WAY, 23 * MINUTE, 'a', 0 } } },
	{ "a copy that had its turn has no other for an hour", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { ASK, MINUTE, 'b', 0 }, { LIMITS, MINUTE, 'b', 0 }, { MISS, MINUTE, 'b', 5 * HOUR + MINUTE },
	        { FIRST, 3 * MINUTE, 'a', 0 }, { LIMITS, HOUR, 'a', 0 }, { MISS, HOUR, 'b', 6 * HOUR }, { FIRST, HOUR + MINUTE, 'a', 0 },
	        { LIMITS, HOUR + 2 * MINUTE, 'a', 0 }, { MISS, HOUR + 2 * MINUTE, 'b', 6 * HOUR + 2 * MINUTE }, { WAY, HOUR + 4 * MINUTE, 'a', 0 } } },
	{ "behind the second, for two", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { ASK, MINUTE, 'b', 0 }, { LIMITS, HOUR + MINUTE, 'a', 0 },
	        { MISS, HOUR + MINUTE, 'b', 6 * HOUR + MINUTE }, { ASK, HOUR + 3 * MINUTE, 'b', 0 }, { LIMITS, 3 * HOUR, 'a', 0 }, { MISS, 3 * HOUR, 'b', 8 * HOUR },
	        { FIRST, 3 * HOUR + MINUTE, 'a', 0 }, { LIMITS, 3 * HOUR + 4 * MINUTE, 'a', 0 }, { MISS, 3 * HOUR + 4 * MINUTE, 'b', 8 * HOUR + 4 * MINUTE },
	        { WAY, 3 * HOUR + 6 * MINUTE, 'a', 0 } } },
	{ "a newer copy has one", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { ASK, MINUTE, 'b', 0 }, { WORKS, MINUTE, 'b', 0 }, { LIMITS, 30 * MINUTE, 'a', 0 },
	        { MISS, 30 * MINUTE, 'b', 29 * MINUTE }, { WAY, 3 * HOUR, 'a', 0 } } },
	{ "who asks for others takes a turn as well", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { OTHER_WAY, MINUTE, 'b', 0 }, { LIMITS, 2 * MINUTE, 'b', 0 },
	        { MISS, 2 * MINUTE, 'b', 5 * HOUR + 2 * MINUTE }, { FIRST, 4 * MINUTE, 'a', 0 } } },
	{ "a URL in a pause of its own does not wait for a turn", DAY,
	    { { LIMITS, 0, 'a', 0 }, { FAILS, 0, 'b', 0 }, { MISS, 1000, 'b', 5 * HOUR }, { FIRST, 2 * MINUTE, 'a', 0 } } },
	{ "who waits does not count for longer than a copy is kept", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { FIRST, DAY, 'a', 0 } } },
	{ "a purge ends turns", DAY,
	    { { LIMITS, 0, 'a', 0 }, { MISS, 0, 'b', 5 * HOUR }, { WAY, MINUTE, 'a', 0 }, { PURGE, MINUTE, 'a', 0 }, { FIRST, MINUTE, 'a', 0 } } },
	{ "without a limit nobody misses", DAY, { { MISS, 0, 'b', 5 * HOUR }, { FIRST, MINUTE, 'a', 0 } } },
};

static void step(struct backoff *b, const struct step *s, const struct row *row, size_t n)
{
	const struct backoff_terms terms = { .pauses = true, .way = s->what == OTHER_WAY };
	const struct backoff_copy copy = { s->age_ms, row->keep_ms };
	char url[] = "http://origin.example/?";
	struct failure f = { 0 };

	url[strlen(url) - 1] = s->url;
	struct backoff_request r = { .url = { url, strlen(url) }, .id = n + 1, .asked_ms = s->at_ms };
	switch (s->what) {
	case LIMITS:
		r.asked_ms++;
		backoff_pause(b, BACKOFF_OF_HOST, &r, &terms, s->at_ms, (struct backoff_cause){ .status = 429 }, 60);
		break;
	case MISS: backoff_missed(b, &r, &terms, &copy, s->at_ms); break;
	case FAILS:
		r.asked_ms++;
		backoff_pause(b, BACKOFF_OF_URL, &r, &terms, s->at_ms, (struct backoff_cause){ .status = 500 }, 0);
		break;
	case ASK: case OTHER_WAY: UNIT_ROW(backoff_ask(b, &r, &terms, s->at_ms, &f) == BACKOFF_GO, "%s, step %zu", row->rule, n); break;
	case WORKS:
		r.asked_ms++;
		backoff_works(b, BACKOFF_OF_HOST, &r, &terms);
		break;
	case PURGE: backoff_resume(b, BACKOFF_URL, r.url, s->at_ms); break;
	default:
		UNIT_ROW(backoff_gives_way(b, &r, &terms, &copy, s->at_ms, &f) == (s->what == WAY), "%s, step %zu", row->rule, n);
		UNIT_ROW(s->what != WAY || (f.retry_after_s > 0 && f.received_status == 429), "%s, step %zu: %u s", row->rule, n, f.retry_after_s);
		break;
	}
}

static void turns(void)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct backoff *b = backoff_new();

		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		for (size_t n = 0; n < STEPS && rows[i].steps[n].what; n++)
			step(b, &rows[i].steps[n], &rows[i], n);
		backoff_free(&b);
	}
}

UNIT_SUITE(backoff_turn, { "turns", turns })
