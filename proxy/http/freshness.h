/* Owns the arithmetic of caching: whether a response may be stored, how long it is fresh, how old it is, and whether it
 * answers a request now. Pure: heads and times (seconds since the epoch) in, answers out. Must not know: stores,
 * clocks, keys.
 * Invariant: struct freshness is plain data without pointers, all that a store must keep of a head to answer later.
 * Source: RFC 9111, RFC 5861, RFC 8246, RFC 9213. */
#ifndef UTFEED_PROXY_HTTP_FRESHNESS_H
#define UTFEED_PROXY_HTTP_FRESHNESS_H

#include "proxy/http/cache_control.h"
#include "proxy/http/request.h"

/* May it be stored (RFC 9111 section 3), and if not, why not: the words of Cache-Status' detail (storable_word). */
enum storable {
	STORABLE_YES = 0,
#define REASON(id, ...) STORABLE_##id,
#include "proxy/http/storable.def"
#undef REASON
	STORABLE_COUNT
};

/* What the operator sets; zeroes are plain RFC 9111. */
struct freshness_settings {
	const char *const *targeted;   /* as cache_control_response() takes it */
	uint32_t floor_s;              /* at least so long, where the response names no lifetime of its own */
	/* how long the feed itself says it holds, then (feed_hints.h); 0: it does not say */
	uint32_t hint_s;
	uint32_t hint_max_s;           /* the most hint_s may be; 0: what feeds say does not count */
	bool no_reload;                /* requests' wishes for something newer than what is fresh do not count */
	uint32_t error_max_s;          /* cap of any lifetime of a response with status 4xx or 5xx; 0: none */
	uint32_t stale_if_error_s;     /* where the response does not say */
};

/* How far a clock may be set back, or the clocks of machines that share a store be apart, without consequence. */
enum { FRESHNESS_AHEAD_MAX_S = 60 };

enum freshness_flag {
	FRESHNESS_NO_CACHE = 1,        /* never without validation */
	/* must-revalidate, proxy-revalidate or s-maxage: no stale ones (section 4.2.4) but in swr_s, sie_s */
	FRESHNESS_NO_STALE = 2,
	FRESHNESS_IMMUTABLE = 4,
	FRESHNESS_HEURISTIC = 8,       /* the lifetime is ours, not the origin's */
	/* no-cache="..." : without validation only less these fields; utfeed validates */
	FRESHNESS_NO_CACHE_FIELDS = 16
};

struct freshness {
	int64_t response_time;         /* when the head arrived */
	/* freshness_lifetime; negative: a redirect that led here was stale when it came (freshness_limit()) */
	int64_t lifetime_s;
	int64_t initial_age_s;         /* corrected_initial_age (section 4.2.3) */
	uint32_t swr_s, sie_s;         /* windows after the lifetime; 0 where none may be used */
	uint32_t flags;                /* of enum freshness_flag */
};

enum freshness_reuse {
	REUSE_FRESH,                 /* serve */
	REUSE_STALE,                 /* serve: the client takes stale ones (max-stale) */
	REUSE_STALE_REFRESH,         /* serve, and revalidate behind it (stale-while-revalidate) */
	REUSE_REVALIDATE,            /* fwd=stale, or fwd=request where *by_request */
	REUSE_ONLY_IF_CACHED         /* 504 (section 5.2.1.7) */
};

/* The directives of a request as they count under these settings. Returns says itself where all of it counts, else own,
 * which holds the rest of it. */
const struct cache_control *freshness_request(struct cache_control *own, const struct cache_control *says,
    const struct freshness_settings *);

enum storable freshness_storable(const struct request *request, const struct http_msg *response,
    const struct freshness_settings *);
const char *storable_word(enum storable);
/* Not stored, and the next response to the same request will likely not be either. */
bool storable_lasts(enum storable);

/* request_time and response_time: when the request was sent, when the head of the answer was there. After a 304 give
 * the stored head as updated by it (section 3.2) and the times of that exchange. */
void freshness_read(struct freshness *, const struct http_msg *response, int64_t request_time, int64_t response_time,
    const struct freshness_settings *);

/* Several responses led to this one, as redirects do (RFC 9110 section 15.4), and it is kept under the URL of the
 * first: what holds for any of them holds for it, and its lifetime ends with the first of theirs. limit: of another one
 * of them. */
void freshness_limit(struct freshness *, const struct freshness *limit);
/* A redirect's own: where it says nothing only the operator's floor counts. */
void freshness_read_hop(struct freshness *, const struct http_msg *redirect, int64_t request_time,
    int64_t response_time, const struct freshness_settings *);

int64_t freshness_age(const struct freshness *, int64_t now);          /* current_age, for the Age field; 0 to 2^31 */
/* Seconds left, negative once stale: Cache-Status' ttl. Of what arrives a minute from now or later, by a clock that was
 * set back, it is less than any window allows: such a response is stale, with whatever age. */
int64_t freshness_ttl(const struct freshness *, int64_t now);
/* Whether the last tenth of its lifetime runs, at most a minute; spread, any number, takes up to half of that off, so
 * that what came together does not end together. Never once stale, nor with a lifetime under 10 s. */
bool freshness_ends_soon(const struct freshness *, int64_t now, uint32_t spread);
/* soft purge: stale from now on, its windows begin */
void freshness_expire(struct freshness *, int64_t now);

/* by_request: set to whether it is the request that refuses a response fresh otherwise. May be NULL. */
enum freshness_reuse freshness_reuse(const struct freshness *, const struct cache_control *request, int64_t now,
    bool *by_request);

/* May it be served though stale, when the origin cannot be reached or gives an error (section 4.2.4, RFC 5861 section
 * 4). */
bool freshness_if_error(const struct freshness *, const struct cache_control *request, int64_t now);
/* Whether a status of the origin counts as such an error: 500, 502, 503, 504. */
bool freshness_error_status(int status);

/* Cacheable by default (RFC 9110 section 15.1). */
bool freshness_heuristic_status(int status);

#endif
