/* Owns HTTP dates: reading the three forms (RFC 9110 section 5.6.7) and writing the one. Pure. */
#ifndef UTFEED_PROXY_BASE_HTTP_DATE_H
#define UTFEED_PROXY_BASE_HTTP_DATE_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/base/slice.h"

enum { HTTP_DATE_LEN = 29 };

/* Seconds since the epoch; false: not a date. A two-digit year more than 50 years ahead of `now` is of the past
 * century. */
bool http_date_read(struct slice, int64_t now, int64_t *seconds);
void http_date_write(char buf[HTTP_DATE_LEN + 1], int64_t seconds);

#endif
