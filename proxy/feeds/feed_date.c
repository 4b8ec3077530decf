/* Dates of items; see feed_date.h. */
#include "proxy/feeds/feed_date.h"

#include <string.h>

#include "proxy/base/http_date.h"

enum { MINUTE_S = 60, HOUR_S = 3600 };

static bool date_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void date_skip(struct slice *s, const char *of)
{
	while (s->len && s->at[0] && strchr(of, s->at[0]))
		*s = (struct slice){ s->at + 1, s->len - 1 };
}

/* Takes a word of letters; it may be empty. */
static struct slice date_word(struct slice *s)
{
	size_t len = 0;
	struct slice word;

	while (len < s->len && date_is_letter(s->at[len]))
		len++;
	word = (struct slice){ s->at, len };
	*s = (struct slice){ s->at + len, s->len - len };
	return word;
}

/* Takes at least one digit and at most that many. Returns how many it took. */
static size_t date_number(struct slice *s, size_t most, int *number)
{
	size_t n = 0;

	*number = 0;
	for (; n < most && n < s->len && s->at[n] >= '0' && s->at[n] <= '9'; n++)
		*number = *number * 10 + (s->at[n] - '0');
	*s = (struct slice){ s->at + n, s->len - n };
	return n;
}

static bool date_char(struct slice *s, char c)
{
	if (!s->len || s->at[0] != c)
		return false;
	*s = (struct slice){ s->at + 1, s->len - 1 };
	return true;
}

/* HH:MM, HH:MM:SS, or with a fraction. */
static bool date_time(struct slice *s, struct http_date_parts *d)
{
	int fraction;

	if (!date_number(s, 2, &d->hour) || !date_char(s, ':') || !date_number(s, 2, &d->minute))
		return false;
	if (date_char(s, ':') && !date_number(s, 2, &d->second))
		return false;
	return !date_char(s, '.') || date_number(s, 9, &fraction);
}

/* How far east the zone is. */
static int date_zone(struct slice *s)
{
	static const struct { const char *name; int hours; } zones[] = {
		{ "EST", -5 }, { "EDT", -4 }, { "CST", -6 }, { "CDT", -5 }, { "MST", -7 }, { "MDT", -6 },
		{ "PST", -8 }, { "PDT", -7 }, { "CET", 1 }, { "CEST", 2 },
	};
	int hours, minutes, sign;
	struct slice word;

	date_skip(s, " \t\r\n");
	sign = date_char(s, '-') ? -1 : 1;
	if (sign < 0 || date_char(s, '+')) {
		if (date_number(s, 2, &hours) < 2)
			return 0;
		date_char(s, ':');
		date_number(s, 2, &minutes);
		return sign * (hours * HOUR_S + minutes * MINUTE_S);
	}
	word = date_word(s);
	for (size_t i = 0; i < sizeof zones / sizeof *zones; i++)
		if (slice_is(word, zones[i].name))
			return zones[i].hours * HOUR_S;
	return 0;
}

/* Two digits are a year from 1950 to 2049, three are one counted from 1900 (RFC 5322 section 4.3). */
static bool date_year(struct slice *s, int *year)
{
	size_t digits = date_number(s, 4, year);

	if (digits == 2)
		*year += *year < 50 ? 2000 : 1900;
	else if (digits == 3)
		*year += 1900;
	return digits >= 2;
}

/* "Sat, 07 Sep 2002 09:42:31 +0200"; the weekday, the seconds and the time may be missing. */
static bool date_rfc_822(struct slice s, struct http_date_parts *d)
{
	struct slice month;

	date_word(&s);
	date_skip(&s, "., \t");
	if (!date_number(&s, 2, &d->day))
		return false;
	date_skip(&s, "- \t");
	month = date_word(&s);
	if (month.len < 3 || (d->month = http_date_month(month.at)) < 0)
		return false;
	date_skip(&s, ".,- \t");
	if (!date_year(&s, &d->year))
		return false;
	date_skip(&s, ", \t");
	if (s.len && !date_time(&s, d))
		return false;
	d->second -= date_zone(&s);
	return true;
}

/* "2002-09-07T09:42:31+02:00"; the seconds and the time may be missing. */
static bool date_iso_8601(struct slice s, struct http_date_parts *d)
{
	if (date_number(&s, 4, &d->year) < 4 || !date_char(&s, '-') || !date_number(&s, 2, &d->month) ||
	    !date_char(&s, '-') || !date_number(&s, 2, &d->day))
		return false;
	d->month--;
	if (!s.len)
		return true;
	if (!date_char(&s, 'T') && !date_char(&s, 't') && !date_char(&s, ' '))
		return false;
	if (!date_time(&s, d))
		return false;
	d->second -= date_zone(&s);
	return true;
}

bool feed_date_read(struct slice s, int64_t *seconds)
{
	struct http_date_parts d = { 0 };
	int second;

	if (!date_iso_8601(s, &d)) {
		d = (struct http_date_parts){ 0 };
		if (!date_rfc_822(s, &d))
			return false;
	}
	/* The zone is in the seconds, beyond what a date has. */
	second = d.second;
	d.second = 0;
	if (!http_date_make(&d, seconds))
		return false;
	*seconds += second;
	return true;
}
