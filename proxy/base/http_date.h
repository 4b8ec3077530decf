/* Owns HTTP dates: reading the three forms and writing the preferred one (RFC 9110 section 5.6.7). Pure. */
#ifndef UTFEED_PROXY_BASE_HTTP_DATE_H
#define UTFEED_PROXY_BASE_HTTP_DATE_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/slice.h"

enum { HTTP_DATE_LEN = 29 };

/* Seconds since the epoch; false: it is not a date. A two-digit year more than 50 years ahead of `now` belongs to the
 * century before. */
bool http_date_read(struct slice, int64_t now, int64_t *seconds);
/* A date of the Gregorian calendar by GMT; month 0 is January. */
struct http_date_parts { int year, month, day, hour, minute, second; };
/* False: there is no such date, or it lies before the year 1601. */
bool http_date_make(const struct http_date_parts *, int64_t *seconds);
/* The month that begins with these three letters, whatever their case; -1: none does. */
int http_date_month(const char *at);

void http_date_write(char buf[HTTP_DATE_LEN + 1], int64_t seconds);

#endif
