/* Owns what is remembered of URLs so as not to ask too often: Retry-After of 429 and 503, and the minimum interval.
 * Must not know: connections, caches. Bounded: the URL not asked about for longest is forgotten first.
 * Source: RFC 9110 section 10.2.3, RFC 6585 section 4. */
#ifndef UTFEED_PROXY_POLITE_H
#define UTFEED_PROXY_POLITE_H

#include <stddef.h>
#include <stdint.h>

#include "http_msg.h"

enum { POLITE_URLS_MAX = 8192, POLITE_WAIT_MAX_S = 24 * 3600 };

struct polite;

struct polite *polite_new(void);               /* NULL: out of memory */
void polite_free(struct polite **);

/* Seconds until url may be asked for again, 0: now. *status: what the origin said then (429, 503), 0: the minimum interval. */
uint64_t polite_wait(struct polite *, const char *url, uint64_t now_ms, uint64_t min_interval_ms, int *status);
void polite_asked(struct polite *, const char *url, uint64_t now_ms);
/* The response's status and Retry-After; wall_s: the time of day, for dates. Without a readable Retry-After: nothing. */
void polite_told(struct polite *, const char *url, uint64_t now_ms, int64_t wall_s, int status, struct slice retry_after);

#endif
