/* Owns what is remembered of URLs so as not to ask too often: Retry-After of 429 and 503, and the minimum interval. One for all
 * workers, under a lock of its own.
 * Must not know: connections, caches. Bounded: the URL not asked about for longest is forgotten first.
 * Source: RFC 9110 section 10.2.3, RFC 6585 section 4. */
#ifndef UTFEED_PROXY_ORIGIN_BACKOFF_H
#define UTFEED_PROXY_ORIGIN_BACKOFF_H

#include <stdint.h>

#include "proxy/base/failure.h"
#include "proxy/http/http_msg.h"

enum { POLITE_URLS_MAX = 8192, POLITE_WAIT_MAX_S = 24 * 3600 };

struct polite;

struct polite *polite_new(void);               /* NULL: out of memory */
void polite_free(struct polite **);

/* Nothing waits, whatever the URL. */
bool polite_is_idle(const struct polite *);
/* Whether url may not be asked for yet: failure then says why, and when it may. */
bool polite_waits(struct polite *, const char *url, uint64_t now_ms, uint64_t min_interval_ms, struct proxy_failure *);
/* The same; where it may be asked for, that happens now. */
bool polite_ask(struct polite *, const char *url, uint64_t now_ms, uint64_t min_interval_ms, struct proxy_failure *);
/* The response's status and Retry-After; wall_s: the time of day, for dates. Without a readable Retry-After: nothing. */
void polite_told(struct polite *, const char *url, uint64_t now_ms, int64_t wall_s, int status, struct slice retry_after);

#endif
