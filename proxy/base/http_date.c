/* HTTP dates; see http_date.h. */
#include "proxy/base/http_date.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec", days[] = "SunMonTueWedThuFriSat";

/* The three forms, character for character. D, H, N, S and Y are digits of day, hour, minute, second and year; M is the
 * month's name; W is a letter of the weekday's name (any letters), and "W-" a weekday in full and its hyphen. G and T
 * are these letters in any case; any other character stands for itself. */
static const char *const forms[] = {
	"WWW, DD MMM YYYY HH:NN:SS GMT",
	"W-, DD-MMM-YY HH:NN:SS GMT",
	"WWW MMM DD HH:NN:SS YYYY",
};

struct date_fields { int day, hour, minute, second, year, month, year_digits; };

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool date_month(struct date_fields *d, const char *at)
{
	for (d->month = 0; d->month < 12; d->month++)
		if (!strncasecmp(months + d->month * 3, at, 3))
			return true;
	return false;
}

static bool date_match(struct slice s, const char *form, struct date_fields *d)
{
	size_t at = 0;

	*d = (struct date_fields){ .month = -1 };
	for (; *form; form++) {
		int *field = *form == 'D' ? &d->day : *form == 'H' ? &d->hour : *form == 'N' ? &d->minute :
			*form == 'Y' ? &d->year : &d->second;

		if (form[0] == 'W' && form[1] == '-') {        /* a weekday in full */
			size_t start = at;

			while (at < s.len && letter(s.at[at]))
				at++;
			if (at - start < 6)
				return false;
			form++;
			continue;
		}
		if (at == s.len)
			return false;
		if (*form == 'W') {
			if (!letter(s.at[at]))
				return false;
		} else if (*form == 'G' || *form == 'T' || (*form == 'M' && form[-1] == 'G')) {
			if ((s.at[at] | 0x20) != (*form | 0x20))
				return false;
		} else if (*form == 'M') {
			if (form[1] == 'M' && form[2] == 'M' && (s.len - at < 3 || !date_month(d, s.at + at)))
				return false;
		} else if (strchr("DHNSY", *form)) {
			/* asctime pads the day with a blank */
			bool pad =
			    *form == 'D' && form[1] == 'D' && form[-1] == ' ' && form[-2] == 'M' && s.at[at] == ' ';

			if (!pad && (s.at[at] < '0' || s.at[at] > '9'))
				return false;
			*field = *field * 10 + (pad ? 0 : s.at[at] - '0');
			d->year_digits += *form == 'Y';
		} else if (*form != s.at[at])
			return false;
		at++;
	}
	return at == s.len;
}

/* Every field in range; a leap second counts as the next second. */
static bool date_make(const struct date_fields *d, int64_t *seconds)
{
	struct tm tm = { .tm_year = d->year - 1900, .tm_mon = d->month, .tm_mday = d->day, .tm_hour = d->hour,
		.tm_min = d->minute,
		.tm_sec = d->second };

	if (d->year < 1601 || d->day < 1 || d->day > 31 || d->hour > 23 || d->minute > 59 || d->second > 60)
		return false;
	*seconds = timegm(&tm);
	return tm.tm_mday == d->day || d->second == 60;
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
			d.year += (tm.tm_year + 1900) / 100 * 100;
			if (d.year > tm.tm_year + 1900 + 50)
				d.year -= 100;
		}
		return date_make(&d, seconds);
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
