/* HTTP dates; see http_date.h. */
#include "http_date.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec", days[] = "SunMonTueWedThuFriSat";

/* Whole text or nothing, and every field in range; a leap second counts as the next second. */
static bool date_make(int year, const char month[4], int day, int hour, int minute, int second, int64_t *seconds)
{
	struct tm tm = { .tm_year = year - 1900, .tm_mday = day, .tm_hour = hour, .tm_min = minute, .tm_sec = second };

	for (tm.tm_mon = 0; tm.tm_mon < 12 && strncasecmp(months + tm.tm_mon * 3, month, 3); tm.tm_mon++)
		;
	if (tm.tm_mon == 12 || year < 1601 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 ||
	    hour < 0 || minute < 0 || second < 0)
		return false;
	*seconds = timegm(&tm);
	return tm.tm_mday == day;
}

bool http_date_read(struct slice s, int64_t now, int64_t *seconds)
{
	char text[40], month[4] = "";
	int year, day, hour, minute, second, end = -1;

	s = slice_trim(s);
	if (!s.len || s.len >= sizeof text)
		return false;
	memcpy(text, s.at, s.len);
	text[s.len] = '\0';
	if (sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &day, month, &year, &hour, &minute, &second, &end) == 6 &&
	    end == (int)s.len)
		return date_make(year, month, day, hour, minute, second, seconds);
	end = -1;
	if (sscanf(text, "%*[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d GMT%n", &day, month, &year, &hour, &minute, &second, &end) == 6 &&
	    end == (int)s.len) {
		time_t t = (time_t)now;
		struct tm tm;

		gmtime_r(&t, &tm);
		year += (tm.tm_year + 1900) / 100 * 100;
		if (year > tm.tm_year + 1900 + 50)
			year -= 100;
		return date_make(year, month, day, hour, minute, second, seconds);
	}
	end = -1;
	if (sscanf(text, "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d%n", month, &day, &hour, &minute, &second, &year, &end) == 6 &&
	    end == (int)s.len)
		return date_make(year, month, day, hour, minute, second, seconds);
	return false;
}

void http_date_write(char buf[HTTP_DATE_LEN + 1], int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	gmtime_r(&t, &tm);
	snprintf(buf, HTTP_DATE_LEN + 1, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT", days + tm.tm_wday * 3, (unsigned)tm.tm_mday % 100,
	    months + tm.tm_mon * 3, (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100,
	    (unsigned)tm.tm_sec % 100);
}
