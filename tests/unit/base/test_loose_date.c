/* Owns the cases of proxy/base/loose_date.c: dates as RFC 822 and ISO 8601 define them, and as publishers write them.
 * Invariant: each row names its rule; all good dates are the same second unless a row says otherwise. */
#include "proxy/base/loose_date.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
enum { T0 = 784111777 };

static void good(void)
{
	static const struct { const char *rule, *text; int64_t later; } cases[] = {
		{ "RFC 822", "Sun, 06 Nov 1994 08:49:37 GMT", 0 },
		{ "RFC 822: without a weekday", "06 Nov 1994 08:49:37 GMT", 0 },
		{ "RFC 822: a day of one digit", "Sun, 6 Nov 1994 08:49:37 GMT", 0 },
		{ "RFC 822: two digits of a year", "Sun, 06 Nov 94 08:49:37 GMT", 0 },
		{ "RFC 5322 4.3: three digits of a year", "Sun, 06 Nov 094 08:49:37 GMT", 0 },
		{ "RFC 822: without seconds", "Sun, 06 Nov 1994 08:49 GMT", -37 },
		{ "RFC 822: a zone to the east", "Sun, 06 Nov 1994 10:49:37 +0200", 0 },
		{ "RFC 822: a zone to the west", "Sun, 06 Nov 1994 04:19:37 -0430", 0 },
		{ "RFC 822: over midnight", "Sat, 05 Nov 1994 23:49:37 -0900", 0 },
		{ "RFC 822: EST", "Sun, 06 Nov 1994 03:49:37 EST", 0 },
		{ "RFC 822: PDT", "Sun, 06 Nov 1994 01:49:37 PDT", 0 },
		{ "RFC 822: UT", "Sun, 06 Nov 1994 08:49:37 UT", 0 },
		{ "RFC 822: Z", "Sun, 06 Nov 1994 08:49:37 Z", 0 },
		{ "no zone is GMT", "Sun, 06 Nov 1994 08:49:37", 0 },
		{ "nor is a strange one", "Sun, 06 Nov 1994 08:49:37 Mars", 0 },
		{ "a zone with a colon", "Sun, 06 Nov 1994 10:49:37 +02:00", 0 },
		{ "no comma", "Sun 06 Nov 1994 08:49:37 GMT", 0 },
		{ "names in full", "Sunday, 06 November 1994 08:49:37 GMT", 0 },
		{ "hyphens", "Sun, 06-Nov-1994 08:49:37 GMT", 0 },
		{ "blanks", "Sun,  06  Nov  1994  08:49:37  GMT", 0 },
		{ "letters of any case", "SUN, 06 NOV 1994 08:49:37 gmt", 0 },
		{ "no time", "Sun, 06 Nov 1994", -31777 },
		{ "RFC 3339", "1994-11-06T08:49:37Z", 0 },
		{ "RFC 3339: a fraction", "1994-11-06T08:49:37.123456789Z", 0 },
		{ "RFC 3339: a zone", "1994-11-06T10:49:37+02:00", 0 },
		{ "RFC 3339: small letters", "1994-11-06t08:49:37z", 0 },
		{ "RFC 3339: a blank for T", "1994-11-06 08:49:37Z", 0 },
		{ "ISO 8601: a zone without its colon", "1994-11-06T10:49:37+0200", 0 },
		{ "W3C-DTF: without seconds", "1994-11-06T08:49Z", -37 },
		{ "W3C-DTF: without a time", "1994-11-06", -31777 },
		{ "a leap day", "29 Feb 1996 00:00:00 GMT", 825552000 - (int64_t)T0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t got = -1;
		bool is = loose_date_read((struct slice){ cases[i].text, strlen(cases[i].text) }, &got);

		UNIT_ROW(is && got == T0 + cases[i].later, "%s: %d %lld", cases[i].rule, is, (long long)got - T0);
	}
}

static void none(void)
{
	static const char *const texts[] = { "", " ", "yesterday", "0", "1994", "1994-11", "1994-13-06T08:49:37Z", "1994-11-31", "1994-11-06X", "1994-11-06T",
		"1994-11-06T25:00:00Z", "1994-11-06T08", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 06 Nov", "Sun, 06 No",
		"Sun, 06 Nov 4 08:49:37 GMT", "29 Feb 1995", "784111777", "Sun, 06 Nov 1994 08-49-37", "-1-1-1", "00 Nov 1994" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		int64_t got;

		UNIT_ROW(!loose_date_read((struct slice){ texts[i], strlen(texts[i]) }, &got), "%s", texts[i]);
	}
}

/* Every beginning of a date is read without a look behind its end. */
static void cut(void)
{
	static const char *const texts[] = { "Sun, 06 Nov 1994 08:49:37 +0200", "1994-11-06T08:49:37.123+02:00" };

	for (size_t i = 0; i < COUNT(texts); i++)
		for (size_t len = 0; len < strlen(texts[i]); len++) {
			char *copy = strndup(texts[i], len);
			int64_t got, again;
			bool is = loose_date_read((struct slice){ texts[i], len }, &got);

			CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
			UNIT_ROW(loose_date_read((struct slice){ copy, len }, &again) == is && (!is || got == again), "%s, %zu bytes", texts[i], len);
			free(copy);
		}
}

UNIT_SUITE(loose_date, { "good", good }, { "none", none }, { "cut", cut })
