/* Dates as publishers write them; see loose_date.h. */
#include "proxy/base/loose_date.h"

#include <string.h>

#include "proxy/base/http_date.h"

enum { MINUTE_S = 60, HOUR_S = 3600 };

static bool date_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void date_skip(struct slice *in, const char *of)
{
	while (in->len && in->at[0] && strchr(of, in->at[0]))
		*in = (struct slice){ in->at + 1, in->len - 1 };
}

/* Takes a word of letters; it may be empty. */
static struct slice date_word(struct slice *in)
{
	size_t len = 0;

	while (len < in->len && date_is_letter(in->at[len]))
		len++;
	struct slice word = (struct slice){ in->at, len };
	*in = (struct slice){ in->at + len, in->len - len };
	return word;
}

/* Takes at least one digit and at most that many. Returns how many it took. */
static size_t date_number(struct slice *in, size_t most, int *number)
{
	size_t n = 0;

	*number = 0;
	for (; n < most && n < in->len && in->at[n] >= '0' && in->at[n] <= '9'; n++)
		*number = *number * 10 + (in->at[n] - '0');
	*in = (struct slice){ in->at + n, in->len - n };
	return n;
}

static bool date_char(struct slice *in, char c)
{
	if (!in->len || in->at[0] != c)
		return false;
	*in = (struct slice){ in->at + 1, in->len - 1 };
	return true;
}

/* HH:MM, HH:MM:SS, or with a fraction. */
static bool date_time(struct slice *in, struct http_date_parts *date)
{
	int fraction;

	if (!date_number(in, 2, &date->hour) || !date_char(in, ':') || !date_number(in, 2, &date->minute))
		return false;
	if (date_char(in, ':') && !date_number(in, 2, &date->second))
		return false;
	return !date_char(in, '.') || date_number(in, 9, &fraction);
}

/* How far east the zone is. */
static int date_zone(struct slice *in)
{
	static const struct { const char *name; int hours; } zones[] = {
		{ "EST", -5 }, { "EDT", -4 }, { "CST", -6 }, { "CDT", -5 }, { "MST", -7 }, { "MDT", -6 },
		{ "PST", -8 }, { "PDT", -7 }, { "CET", 1 }, { "CEST", 2 },
	};
	int hours, minutes;

	date_skip(in, " \t\r\n");
	int sign = date_char(in, '-') ? -1 : 1;
	if (sign < 0 || date_char(in, '+')) {
		if (date_number(in, 2, &hours) < 2)
			return 0;
		date_char(in, ':');
		date_number(in, 2, &minutes);
		return sign * (hours * HOUR_S + minutes * MINUTE_S);
	}
	struct slice word = date_word(in);
	for (size_t i = 0; i < sizeof zones / sizeof *zones; i++)
		if (slice_is(word, zones[i].name))
			return zones[i].hours * HOUR_S;
	return 0;
}

/* Two digits are a year from 1950 to 2049, three are one counted from 1900 (RFC 5322 section 4.3). */
static bool date_year(struct slice *in, int *year)
{
	size_t digits = date_number(in, 4, year);

	if (digits == 2)
		*year += *year < 50 ? 2000 : 1900;
	else if (digits == 3)
		*year += 1900;
	return digits >= 2;
}

/* "Sat, 07 Sep 2002 09:42:31 +0200"; the weekday, the seconds and the time may be missing. */
static bool date_rfc_822(struct slice s, struct http_date_parts *date)
{
	date_word(&s);
	date_skip(&s, "., \t");
	if (!date_number(&s, 2, &date->day))
		return false;
	date_skip(&s, "- \t");
	struct slice month = date_word(&s);
	if (month.len < 3 || (date->month = http_date_month(month.at)) < 0)
		return false;
	date_skip(&s, ".,- \t");
	if (!date_year(&s, &date->year))
		return false;
	date_skip(&s, ", \t");
	if (s.len && !date_time(&s, date))
		return false;
	date->second -= date_zone(&s);
	return true;
}

/* "2002-09-07T09:42:31+02:00"; the seconds and the time may be missing. */
static bool date_iso_8601(struct slice s, struct http_date_parts *date)
{
	if (date_number(&s, 4, &date->year) < 4 || !date_char(&s, '-') || !date_number(&s, 2, &date->month) ||
	    !date_char(&s, '-') || !date_number(&s, 2, &date->day))
		return false;
	date->month--;
	if (!s.len)
		return true;
	if (!date_char(&s, 'T') && !date_char(&s, 't') && !date_char(&s, ' '))
		return false;
	if (!date_time(&s, date))
		return false;
	date->second -= date_zone(&s);
	return true;
}

bool loose_date_read(struct slice s, int64_t *seconds)
{
	struct http_date_parts d = { 0 };

	if (!date_iso_8601(s, &d)) {
		d = (struct http_date_parts){ 0 };
		if (!date_rfc_822(s, &d))
			return false;
	}
	/* The zone is in the seconds, beyond what a date has. */
	int second = d.second;
	d.second = 0;
	if (!http_date_make(&d, seconds))
		return false;
	*seconds += second;
	return true;
}
