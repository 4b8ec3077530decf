/* Owns what is remembered of URLs so as not to ask for them too often: Retry-After of 429 and 503, and the minimum
 * interval. One for all workers, under a lock of its own.
 * Must not know: connections, caches. Bounded: the URL that was used least recently is forgotten first.
 * Source: RFC 9110 section 10.2.3, RFC 6585 section 4. */
#ifndef UTFEED_PROXY_ORIGIN_BACKOFF_H
#define UTFEED_PROXY_ORIGIN_BACKOFF_H

#include <stdint.h>

#include "proxy/base/failure.h"
#include "proxy/http/http_msg.h"

enum { BACKOFF_URLS_MAX = 8192, BACKOFF_WAIT_MAX_S = 24 * 3600 };

struct backoff;

struct backoff *backoff_new(void);               /* NULL: out of memory */
void backoff_free(struct backoff **);

/* Whether no URL is remembered, so that any URL may be asked for. */
bool backoff_is_idle(const struct backoff *);
/* Whether url may not be asked for yet: failure then says why, and how long the wait is. */
bool backoff_waits(struct backoff *, const char *url, uint64_t now_ms, uint64_t min_interval_ms, struct failure *);
/* The same; if url may be asked for, it counts as asked for now. */
bool backoff_ask(struct backoff *, const char *url, uint64_t now_ms, uint64_t min_interval_ms, struct failure *);
/* Notes a response's status and Retry-After; wall_s: the time of day, for dates. Without a readable Retry-After no
 * pause is noted. */
void backoff_told(struct backoff *, const char *url, uint64_t now_ms, int64_t wall_s, int status,
    struct slice retry_after);

#endif
