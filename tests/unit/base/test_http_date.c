/* Owns the cases of proxy/base/http_date.c. Invariant: each row names its rule (RFC 9110 section 5.6.7 where no other is named). */
#include "proxy/base/http_date.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
enum { NOW = 1795000000 };           /* November 2026 */

static void reading(void)
{
	static const struct { const char *rule, *text; int64_t want; } cases[] = {   /* want -1: no date */
		{ "IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", 784111777 },
		{ "rfc850-date", "Sunday, 06-Nov-94 08:49:37 GMT", 784111777 },
		{ "asctime-date", "Sun Nov  6 08:49:37 1994", 784111777 },
		{ "asctime-date, two digits", "Wed Nov 16 08:49:37 1994", 784975777 },
		{ "asctime-date, zero in front", "Sun Nov 06 08:49:37 1994", 784111777 },
		{ "case of the weekday", "SUN, 06 Nov 1994 08:49:37 GMT", 784111777 },
		{ "case of the month", "Sun, 06 NOV 1994 08:49:37 GMT", 784111777 },
		{ "case of the zone", "Sun, 06 Nov 1994 08:49:37 gMT", 784111777 },
		{ "two-digit year within 50 years", "Thursday, 18-Aug-50 02:01:18 GMT", 2544400878 },
		{ "two-digit year of the past", "Sunday, 06-Nov-77 08:49:37 GMT", 247654177 },
		{ "beyond 32 bits", "Sun, 21 Nov 2286 04:46:39 GMT", 10000039599 },
		{ "before the epoch", "Wed, 31 Dec 1969 23:59:59 GMT", -1 },
		{ "leap second", "Sat, 31 Dec 2016 23:59:60 GMT", 1483228800 },
		{ "29 February", "Thu, 29 Feb 2024 00:00:00 GMT", 1709164800 },
		{ "blanks at both ends", "  Sun, 06 Nov 1994 08:49:37 GMT\t", 784111777 },
		{ "29 February of no leap year", "Wed, 29 Feb 2023 00:00:00 GMT", -1 },
		{ "31 April", "Fri, 31 Apr 2026 00:00:00 GMT", -1 },
		{ "29 February of a century", "Thu, 29 Feb 1900 00:00:00 GMT", -1 },
		{ "29 February of the fourth century", "Tue, 29 Feb 2000 00:00:00 GMT", 951782400 },
		{ "leap second of a day that is none", "Thu, 30 Feb 2023 23:59:60 GMT", -1 },
		{ "first year", "Mon, 01 Jan 1601 00:00:00 GMT", -11644473600 },
		{ "year 1600", "Sat, 01 Jan 1600 00:00:00 GMT", -1 },
		{ "another zone", "Sun, 06 Nov 1994 08:49:37 UTC", -1 },
		{ "an offset", "Sun, 06 Nov 1994 08:49:37 +0000", -1 },
		{ "no zone", "Sun, 06 Nov 1994 08:49:37", -1 },
		{ "longer zone", "Sun, 06 Nov 1994 08:49:37 GMTX", -1 },
		{ "a zone that is none", "Sun, 06 Nov 1994 08:49:37 GxT", -1 },
		{ "no comma", "Sun 06 Nov 1994 08:49:37 GMT", -1 },
		{ "two-digit year, wrong form", "Sun, 06 Nov 94 08:49:37 GMT", -1 },
		{ "four-digit year, dashes", "Sun, 06-Nov-1994 08:49:37 GMT", -1 },
		{ "more blanks", "Sun, 06  Nov  1994 08:49:37 GMT", -1 },
		{ "one-digit day", "Sun, 6 Nov 1994 08:49:37 GMT", -1 },
		{ "blank for a digit", "Sun,  6 Nov 1994 08:49:37 GMT", -1 },
		{ "one-digit hour", "Sun, 06 Nov 1994 8:49:37 GMT", -1 },
		{ "signed hour", "Sun, 06 Nov 1994 +8:49:37 GMT", -1 },
		{ "periods", "Sun, 06 Nov 1994 08.49.37 GMT", -1 },
		{ "hour 24", "Sun, 06 Nov 1994 24:00:00 GMT", -1 },
		{ "minute 60", "Sun, 06 Nov 1994 08:60:00 GMT", -1 },
		{ "second 61", "Sun, 06 Nov 1994 08:49:61 GMT", -1 },
		{ "day 0", "Sun, 00 Nov 1994 08:49:37 GMT", -1 },
		{ "no month", "Sun, 06 Foo 1994 08:49:37 GMT", -1 },
		{ "month across two", "Sun, 06 anF 1994 08:49:37 GMT", -1 },
		{ "weekday cut in the long form", "Sun, 06-Nov-94 08:49:37 GMT", -1 },
		{ "weekday in full in the new form", "Sunday, 06 Nov 1994 08:49:37 GMT", -1 },
		{ "a number", "0", -1 }, { "nothing", "", -1 }, { "a word", "never", -1 }, { "letters only", "SunSunSunSun", -1 },
		{ "too long", "Sun, 06 Nov 1994 08:49:37 GMT and more than fits", -1 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t got = -1;
		bool is = http_date_read(head_slice(cases[i].text), NOW, &got);

		if (!strncmp(cases[i].rule, "before", 6))
			UNIT_ROW(is && got == -1, "%s", cases[i].rule);
		else
			UNIT_ROW(is == (cases[i].want != -1) && (!is || got == cases[i].want), "%s: %lld", cases[i].rule, (long long)got);
	}
	CU_ASSERT(!http_date_read((struct slice){ NULL, 0 }, NOW, &(int64_t){ 0 }));
}

static void there_and_back(void)
{
	static const int64_t times[] = { 0, 784111777, NOW, 4102444799, 10000039599 };
	for (size_t i = 0; i < COUNT(times); i++) {
		char text[HTTP_DATE_LEN + 1];
		int64_t got;

		http_date_write(text, times[i]);
		UNIT_ROW(http_date_read(head_slice(text), NOW, &got) && got == times[i], "%s", text);
	}
}

/* Every 97th hour of 400 years, and with it every day of the year, as the C library counts them. */
static void every_day(void)
{
	enum { STEP = 97 * 3600 };

	for (int64_t at = -11644473600; at < 951782400; at += STEP) {
		char text[HTTP_DATE_LEN + 1];
		int64_t got = 0;

		http_date_write(text, at);
		if (!http_date_read(head_slice(text), NOW, &got) || got != at)
			UNIT_ROW(false, "%s: %lld", text, (long long)got);
	}
}

UNIT_SUITE(http_date, { "reading", reading }, { "there and back", there_and_back }, { "every day", every_day })
