/* HTTP dates; see http_date.h. */
#include "proxy/base/http_date.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec", days[] = "SunMonTueWedThuFriSat";

/* The three forms, character for character. D, H, N, S and Y are digits of day, hour, minute, second and year. M is the
 * month's name. W is a letter of the weekday's name (any letter), and "W-" a weekday in full and its hyphen. G and T
 * are these letters in any case; any other character stands for itself. */
static const char *const forms[] = {
	"WWW, DD MMM YYYY HH:NN:SS GMT",
	"W-, DD-MMM-YY HH:NN:SS GMT",
	"WWW MMM DD HH:NN:SS YYYY",
};

struct date_fields {
	struct http_date_parts parts;
	int year_digits;
};

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Three letters as one number, whatever their case. */
static uint32_t date_letters(const char *at)
{
	return ((uint32_t)(uint8_t)at[0] << 16 | (uint32_t)(uint8_t)at[1] << 8 | (uint8_t)at[2]) | 0x202020;
}

int http_date_month(const char *at)
{
	uint32_t name = date_letters(at);

	for (int month = 0; month < 12; month++)
		if (date_letters(months + month * 3) == name)
			return month;
	return -1;
}

/* Takes a digit of a field; asctime pads the day with a blank. */
static bool date_digit(const char *form, char c, int *field)
{
	if (c == ' ' && form[0] == 'D' && form[1] == 'D' && form[-1] == ' ' && form[-2] == 'M')
		return true;
	if (c < '0' || c > '9')
		return false;
	*field = *field * 10 + (c - '0');
	return true;
}

/* The letters of a weekday in full. 0: there are too few. */
static size_t date_weekday(struct slice s, size_t at)
{
	size_t start = at;

	while (at < s.len && letter(s.at[at]))
		at++;
	return at - start < 6 ? 0 : at - start;
}

/* Whether the character at s.at[at] is what the form asks for, other than a weekday in full. */
static bool date_take(struct date_fields *date, const char *form, struct slice s, size_t at)
{
	char c = s.at[at];

	switch (*form) {
	case 'W':
		return letter(c);
	case 'D':
		return date_digit(form, c, &date->parts.day);
	case 'H':
		return date_digit(form, c, &date->parts.hour);
	case 'N':
		return date_digit(form, c, &date->parts.minute);
	case 'S':
		return date_digit(form, c, &date->parts.second);
	case 'Y':
		date->year_digits++;
		return date_digit(form, c, &date->parts.year);
	case 'G':
	case 'T':
		return (c | 0x20) == (*form | 0x20);
	case 'M':
		if (form[-1] == 'G')
			return (c | 0x20) == 'm';
		return form[1] != 'M' || form[2] != 'M' ||
		    (s.len - at >= 3 && (date->parts.month = http_date_month(s.at + at)) >= 0);
	default:
		return c == *form;
	}
}

static bool date_match(struct slice s, const char *form, struct date_fields *date)
{
	size_t at = 0, n;

	*date = (struct date_fields){ .parts.month = -1 };
	for (; *form; form++) {
		if (form[0] == 'W' && form[1] == '-') {
			if (!(n = date_weekday(s, at)))
				return false;
			at += n;
			form++;
		} else if (at == s.len || !date_take(date, form, s, at++))
			return false;
	}
	return at == s.len;
}

/* Days from 1 January 1970 to that day of the Gregorian calendar; years begin with March, so that a leap day is their
 * last. */
static int64_t date_days(int year, int month, int day)
{
	int64_t y = year - (month < 2), century = y / 100;

	return y * 365 + y / 4 - century + century / 4 + (153 * ((month + 10) % 12) + 2) / 5 + day - 1 - 719468;
}

static int date_month_days(int year, int month)
{
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return month == 1 ? 28 + leap : 30 + ((month + (month > 6)) % 2 == 0);
}

/* A leap second counts as the next second. */
bool http_date_make(const struct http_date_parts *date, int64_t *seconds)
{
	if (date->year < 1601 || date->month < 0 || date->month > 11 || date->day < 1 ||
	    date->day > date_month_days(date->year, date->month) || date->hour > 23 || date->minute > 59 ||
	    date->second > 60)
		return false;
	*seconds = date_days(date->year, date->month, date->day) * 86400 + date->hour * 3600 + date->minute * 60 +
	    date->second;
	return true;
}

bool http_date_read(struct slice s, int64_t now, int64_t *seconds)
{
	struct date_fields d;

	s = slice_trim(s);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (!date_match(s, forms[i], &d))
			continue;
		if (d.year_digits == 2) {
			time_t t = (time_t)now;
			struct tm tm;

			gmtime_r(&t, &tm);
			d.parts.year += (tm.tm_year + 1900) / 100 * 100;
			if (d.parts.year > tm.tm_year + 1900 + 50)
				d.parts.year -= 100;
		}
		return http_date_make(&d.parts, seconds);
	}
	return false;
}

void http_date_write(char buf[HTTP_DATE_LEN + 1], int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	gmtime_r(&t, &tm);
	snprintf(buf, HTTP_DATE_LEN + 1, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT", days + tm.tm_wday * 3,
	    (unsigned)tm.tm_mday % 100, months + tm.tm_mon * 3, (unsigned)(tm.tm_year + 1900) % 10000,
	    (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100);
}
