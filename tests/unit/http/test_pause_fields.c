/* Owns the cases of proxy/http/pause_fields.c. Invariant: each row names its rule; the time of day is WALL. */
#include "proxy/http/pause_fields.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { WALL = 1793000000, DAY = 86400 };       /* Mon, 26 Oct 2026 07:33:20 GMT */

static void waits(void)
{
	static const struct { const char *rule, *head; uint32_t seconds; } cases[] = {
		{ "none", "", 0 },
		{ "delay-seconds (RFC 9110 10.2.3)", "Retry-After: 120\n", 120 },
		{ "blanks", "Retry-After: \t7 \n", 7 },
		{ "a date", "Retry-After: Mon, 26 Oct 2026 07:34:20 GMT\n", 60 },
		{ "a date of RFC 850", "Retry-After: Monday, 26-Oct-26 07:34:20 GMT\n", 60 },
		{ "a date of asctime()", "Retry-After: Mon Oct 26 07:34:20 2026\n", 60 },
		{ "a date as mails have it", "Retry-After: Mon, 26 Oct 2026 09:34:20 +0200\n", 60 },
		{ "a date that is past", "Retry-After: Mon, 26 Oct 2026 07:33:19 GMT\n", 0 },
		{ "a date of now", "Retry-After: Mon, 26 Oct 2026 07:33:20 GMT\n", 0 },
		{ "zero asks for no wait", "Retry-After: 0\n", 0 },
		{ "neither", "Retry-After: soon\n", 0 },
		{ "empty", "Retry-After:\n", 0 },
		{ "a sign", "Retry-After: -5\n", 0 },
		{ "a plus", "Retry-After: +5\n", 0 },
		{ "two numbers", "Retry-After: 1 2\n", 0 },
		{ "hexadecimal", "Retry-After: 0x10\n", 0 },
		{ "a fraction is rounded up", "Retry-After: 1.25\n", 2 },
		{ "a fraction of nothing", "Retry-After: 3.000\n", 3 },
		{ "a day at most", "Retry-After: 86401\n", DAY },
		{ "more than numbers hold", "Retry-After: 99999999999999999999999999\n", DAY },
		{ "seconds here, however many", "Retry-After: 1793000060\n", DAY },
		{ "a date in a century", "Retry-After: Sat, 26 Oct 2126 07:33:20 GMT\n", DAY },
		{ "no such date", "Retry-After: Foo, 99 Bar 2099 99:99:99 GMT\n", 0 },
		{ "the first that can be read", "Retry-After: soon\nRetry-After: 9\n", 9 },
		{ "Retry-After counts first", "X-RateLimit-Reset: 300\nRateLimit: \"a\";r=0;t=200\nRetry-After: 120\n", 120 },
		{ "else the next one", "X-RateLimit-Reset: 300\nRateLimit: \"a\";r=0;t=200\nRetry-After: soon\n", 200 },
		{ "draft 10", "RateLimit: \"default\";r=0;t=30\n", 30 },
		{ "draft 10: what is left does not matter where nothing is used up", "RateLimit: \"default\";r=5;t=30\n", 30 },
		{ "draft 10: all that is used up", "RateLimit: \"a\";r=0;t=30, \"b\";r=0;t=600, \"c\";r=7;t=9000\n", 600 },
		{ "draft 10: the soonest where nothing is", "RateLimit: \"a\";r=1;t=30, \"b\";r=2;t=600\n", 30 },
		{ "draft 10: a partition", "RateLimit: \"a\";pk=:c2l0ZQ==:;r=0;t=30\n", 30 },
		{ "draft 10: names may have anything in them", "RateLimit: \"a;t=5, \\\"r=1\";r=0;t=30\n", 30 },
		{ "draft 10: blanks", "RateLimit:  \"a\" ; r=0 ; t=30 \n", 30 },
		{ "draft 10: no reset", "RateLimit: \"a\";r=0\n", 0 },
		{ "draft 10: a token for a name", "RateLimit: a;r=0;t=30\n", 30 },
		{ "draft 10: a string that does not end", "RateLimit: \"a;r=0;t=30\n", 0 },
		{ "draft 10: an escape at the end", "RateLimit: \"a\\\n", 0 },
		{ "draft 07", "RateLimit: limit=100, remaining=0, reset=50\n", 50 },
		{ "draft 07: another order", "RateLimit: reset=50, limit=100, remaining=0\n", 50 },
		{ "draft 03", "RateLimit-Limit: 100\nRateLimit-Remaining: 0\nRateLimit-Reset: 50\n", 50 },
		{ "draft 03 as some have it", "RateLimit-Reset: 1793000050\n", 50 },
		{ "X: seconds", "X-RateLimit-Reset: 47\n", 47 },
		{ "X: a fraction", "x-ratelimit-reset: 47.0\n", 47 },
		{ "X: the time of day", "X-RateLimit-Reset: 1793000300\n", 300 },
		{ "X: with a fraction", "X-RateLimit-Reset: 1793000300.5\n", 301 },
		{ "X: in milliseconds", "X-RateLimit-Reset: 1793000300500\n", 301 },
		{ "X: past", "X-RateLimit-Reset: 1792999999\n", 0 },
		{ "X: a date", "X-RateLimit-Reset: Mon, 26 Oct 2026 07:34:20 GMT\n", 60 },
		{ "X: a date of RFC 3339, as Mastodon sends it", "X-RateLimit-Reset: 2026-10-26T07:34:20.123456Z\n", 60 },
		{ "X: a date of RFC 3339 that is past", "X-RateLimit-Reset: 2026-10-26T07:32:20Z\n", 0 },
		{ "X: far away", "X-RateLimit-Reset: 1999999999\n", DAY },
		{ "X: another spelling", "X-Rate-Limit-Reset: 1793000300\n", 300 },
		{ "X: the more exact one first", "X-RateLimit-Reset: 1793000300\nX-RateLimit-Reset-After: 3.2\n", 4 },
		{ "a name is not its beginning", "X-RateLimit-Resets: 47\n", 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg m;
		uint32_t got;

		head_read(&m, cases[i].head, 429);
		got = pause_fields_wait_s(&m, WALL);
		UNIT_ROW(got == cases[i].seconds, "%s: %u", cases[i].rule, got);
		head_free(&m);
	}
}

static void spaces(void)
{
	static const struct { const char *rule, *head; uint32_t ms; } cases[] = {
		{ "none", "", 0 },
		{ "draft 10", "RateLimit-Policy: \"default\";q=10;w=60\n", 6000 },
		{ "the strictest of several", "RateLimit-Policy: \"a\";q=10;w=60, \"b\";q=100;w=3600\n", 36000 },
		{ "a partition between", "RateLimit-Policy: \"a\";q=10;pk=:YQ==:;w=60\n", 6000 },
		{ "a name like a parameter", "RateLimit-Policy: \"q=1;w=3600\";q=10;w=60\n", 6000 },
		{ "draft 07", "RateLimit-Policy: 10;w=60\n", 6000 },
		{ "draft 03", "RateLimit-Limit: 10, 10;w=1, 100;w=3600;comment=\"b\"\n", 36000 },
		{ "no window", "RateLimit-Policy: \"a\";q=10\n", 0 },
		{ "no quota", "RateLimit-Policy: \"a\";w=60\n", 0 },
		{ "a quota of nothing", "RateLimit-Policy: \"a\";q=0;w=60\n", 0 },
		{ "less than a millisecond", "RateLimit-Policy: \"a\";q=100000;w=1\n", 0 },
		{ "an hour at most", "RateLimit-Policy: \"a\";q=1;w=99999999999999999999\n", 3600000 },
		{ "what an item says is its own", "RateLimit-Policy: \"a\";q=10, \"b\";w=60\n", 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg m;
		uint32_t got;

		head_read(&m, cases[i].head, 429);
		got = pause_fields_space_ms(&m);
		UNIT_ROW(got == cases[i].ms, "%s: %u", cases[i].rule, got);
		head_free(&m);
	}
}

UNIT_SUITE(pause_fields, { "waits", waits }, { "spaces", spaces })
