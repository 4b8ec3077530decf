/* Owns the cases of proxy/origin/backoff.c. Invariant: each row names its rule; time is what the row says, no clock is asked. */
#include "proxy/origin/backoff.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define URL "http://origin/f"

enum { WALL = 784111777 };             /* Sun, 06 Nov 1994 08:49:37 GMT (RFC 9110 section 5.6.7) */

static struct slice slice(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

/* Until when URL waits, in seconds from 0; 0: it does not. */
static unsigned waited(struct backoff *b, const char *url, uint64_t now_ms, uint64_t interval_ms, struct failure *f)
{
	*f = (struct failure){ 0 };
	return backoff_waits(b, url, now_ms, interval_ms, f) ? f->retry_after_s : 0;
}

static void retry_after(void)
{
	static const struct {
		const char *rule;
		int status;
		const char *value;
		uint64_t now_ms;
		unsigned waits;
		enum failure_kind why;
	} cases[] = {
		{ "429 (RFC 6585 4)", 429, "120", 0, 120, FAILURE_PAUSE_429 },
		{ "503 (RFC 9110 15.6.4)", 503, "120", 0, 120, FAILURE_PAUSE_503 },
		{ "other statuses ask for no pause", 500, "120", 0, 0, FAILURE_NONE },
		{ "a redirect's Retry-After is not ours to wait for", 301, "120", 0, 0, FAILURE_NONE },
		{ "delay-seconds (9110 10.2.3)", 429, " 7\t", 0, 7, FAILURE_PAUSE_429 },
		{ "a date", 503, "Sun, 06 Nov 1994 08:50:37 GMT", 0, 60, FAILURE_PAUSE_503 },
		{ "an obsolete date", 503, "Sunday, 06-Nov-94 08:50:37 GMT", 0, 60, FAILURE_PAUSE_503 },
		{ "a date that is past", 503, "Sun, 06 Nov 1994 08:49:36 GMT", 0, 0, FAILURE_NONE },
		{ "none", 503, "", 0, 0, FAILURE_NONE },
		{ "zero", 429, "0", 0, 0, FAILURE_NONE },
		{ "neither of both", 429, "soon", 0, 0, FAILURE_NONE },
		{ "a sign", 429, "-5", 0, 0, FAILURE_NONE },
		{ "a fraction", 429, "1.5", 0, 0, FAILURE_NONE },
		{ "at most a day", 429, "86401", 0, 86400, FAILURE_PAUSE_429 },
		{ "more than numbers hold", 429, "99999999999999999999999999", 0, 86400, FAILURE_PAUSE_429 },
		{ "a date in a century", 429, "Thu, 06 Nov 2094 08:49:37 GMT", 0, 86400, FAILURE_PAUSE_429 },
		{ "rounded up", 429, "2", 1, 2, FAILURE_PAUSE_429 },
		{ "its last millisecond", 429, "2", 1999, 1, FAILURE_PAUSE_429 },
		{ "its end", 429, "2", 2000, 0, FAILURE_NONE },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct backoff *b = backoff_new();
		struct failure f;
		unsigned n;

		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		backoff_told(b, URL, 0, WALL, cases[i].status, slice(cases[i].value));
		n = waited(b, URL, cases[i].now_ms, 0, &f);
		UNIT_ROW(n == cases[i].waits, "%s: %u s", cases[i].rule, n);
		UNIT_ROW(f.error == cases[i].why, "%s: %d", cases[i].rule, (int)f.error);
		UNIT_ROW(backoff_is_idle(b) == !(cases[i].waits || cases[i].now_ms), "%s", cases[i].rule);
		CU_ASSERT_EQUAL(waited(b, URL "?", cases[i].now_ms, 0, &f), 0);
		backoff_free(&b);
		CU_ASSERT_PTR_NULL(b);
	}
}

/* Each row: what happens at a time; waits: what backoff_ask() says then, in seconds. */
static void in_turn(void)
{
	enum what { ASK, TOLD };
	static const struct {
		const char *rule;
		uint64_t interval_ms;
		struct { enum what what; uint64_t at_ms; int status; const char *value; unsigned waits; } steps[4];
	} cases[] = {
		{ "no interval", 0, { { ASK, 0, 0, "", 0 }, { ASK, 0, 0, "", 0 } } },
		{ "the interval runs from the last question", 5000, { { ASK, 100, 0, "", 0 }, { ASK, 5099, 0, "", 1 }, { ASK, 5100, 0, "", 0 } } },
		{ "who was refused did not ask", 5000, { { ASK, 100, 0, "", 0 }, { ASK, 4000, 0, "", 2 }, { ASK, 5100, 0, "", 0 } } },
		{ "the longer of both: the pause", 5000, { { ASK, 100, 0, "", 0 }, { TOLD, 200, 429, "60", 0 }, { ASK, 6000, 0, "", 55 } } },
		{ "the longer of both: the interval", 60000, { { ASK, 100, 0, "", 0 }, { TOLD, 200, 429, "2", 0 }, { ASK, 2201, 0, "", 58 } } },
		{ "the latest word counts", 0, { { TOLD, 0, 429, "60", 0 }, { TOLD, 1, 503, "1", 0 }, { ASK, 1001, 0, "", 0 } } },
		{ "a good answer ends a pause", 0, { { TOLD, 0, 429, "60", 0 }, { TOLD, 1, 200, "", 0 }, { ASK, 1, 0, "", 0 } } },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct backoff *b = backoff_new();

		CU_ASSERT_PTR_NOT_NULL_FATAL(b);
		for (size_t n = 0; n < COUNT(cases[i].steps) && cases[i].steps[n].value; n++) {
			struct failure f = { 0 };
			bool waits;

			if (cases[i].steps[n].what == TOLD) {
				backoff_told(b, URL, cases[i].steps[n].at_ms, WALL, cases[i].steps[n].status, slice(cases[i].steps[n].value));
				continue;
			}
			waits = backoff_ask(b, URL, cases[i].steps[n].at_ms, cases[i].interval_ms, &f);
			UNIT_ROW(waits == (cases[i].steps[n].waits > 0) && f.retry_after_s == cases[i].steps[n].waits, "%s, step %zu: %u s",
				cases[i].rule, n, f.retry_after_s);
		}
		backoff_free(&b);
	}
}

/* Nobody makes it grow: the URL not asked about for longest goes first, and asking about one counts. */
static void bounded(void)
{
	struct backoff *b = backoff_new();
	struct failure f;
	char url[64];

	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	for (unsigned n = 0; n < BACKOFF_URLS_MAX; n++) {
		snprintf(url, sizeof url, URL "?%u", n);
		backoff_told(b, url, 0, WALL, 429, slice("60"));
	}
	CU_ASSERT_EQUAL(waited(b, URL "?0", 0, 0, &f), 60);
	backoff_told(b, URL "?more", 0, WALL, 429, slice("60"));
	CU_ASSERT_EQUAL(waited(b, URL "?1", 0, 0, &f), 0);
	CU_ASSERT_EQUAL(waited(b, URL "?0", 0, 0, &f), 60);
	CU_ASSERT_EQUAL(waited(b, URL "?more", 0, 0, &f), 60);
	backoff_free(&b);
}

UNIT_SUITE(backoff, { "retry_after", retry_after }, { "in_turn", in_turn }, { "bounded", bounded })
