/* Owns the arithmetic of caching: whether a response may be stored, how long it is fresh, how old it is, and whether it
 * answers a request now. Pure: heads and times (seconds since the epoch) in, answers out. Must not know: stores,
 * clocks, keys.
 * Invariant: struct freshness is plain data without pointers, and all that a store must keep of a head for this.
 * Source: RFC 9111, RFC 5861, RFC 8246, RFC 9213. */
#ifndef UTFEED_PROXY_HTTP_FRESHNESS_H
#define UTFEED_PROXY_HTTP_FRESHNESS_H

#include "proxy/http/cache_control.h"
#include "proxy/http/request.h"

/* Whether a response may be stored (RFC 9111 section 3), and if not, why not. storable_word() gives the word that
 * Cache-Status has as detail. */
enum storable {
	STORABLE_YES = 0,
#define REASON(id, ...) STORABLE_##id,
#include "proxy/http/storable.def"
#undef REASON
	STORABLE_COUNT
};

/* The operator's settings; all zero means plain RFC 9111. */
struct freshness_settings {
	uint32_t floor_s;              /* least lifetime of a response that names none of its own */
	/* the lifetime that the feed itself names, for such a response (feed_hints.h); 0: none */
	uint32_t hint_s;
	/* a feed that names no lifetime has a tenth of the time since it last changed, between floor_s and an hour */
	bool adaptive;
	int64_t newest;                /* the newest date of an item in it, not to come; 0: none is known */
	int64_t same_since;            /* as that of struct freshness */

	/* fields that are for one client alone, such as Set-Cookie, reach no client anyway */
	bool drops_own;
	bool no_reload;                /* requests that ask for something newer than a fresh response are ignored */
	/* the same for a response that was fetched or confirmed less than that ago */
	uint32_t reload_floor_s;

	uint32_t error_max_s;          /* longest lifetime of a response with status 4xx or 5xx; 0: no limit */
	uint32_t error_floor_s;        /* least lifetime of a 404 and its like that names none of its own. */
	uint32_t max_s;                /* The longest time from arrival to the end of freshness; 0: no limit */
	uint32_t stale_if_error_s;     /* for a response that names no stale-if-error */
	uint32_t keep_s;               /* how long a feed is kept (freshness_keeps()); 0: not at all */
};

/* How far a clock may be set back, or the clocks of machines that share a store be apart, without consequence. */
enum { FRESHNESS_AHEAD_MAX_S = 60 };

enum freshness_flag {
	FRESHNESS_NO_CACHE = 1,        /* never used without validation */
	/* must-revalidate, proxy-revalidate or s-maxage: never used stale (section 4.2.4) but within swr_s, sie_s */
	FRESHNESS_NO_STALE = 2,
	FRESHNESS_IMMUTABLE = 4,
	FRESHNESS_HEURISTIC = 8,       /* the origin named no lifetime; it is our choice */
	/* no-cache="...": without validation it could be used only without these fields; utfeed validates */
	FRESHNESS_NO_CACHE_FIELDS = 16,
	FRESHNESS_CUT = 32             /* the body may lack its end: a 304 must not confirm it */
};

struct freshness {
	int64_t response_time;         /* when the head arrived */
	/* freshness_lifetime; negative: a redirect that led here was stale when it came (freshness_limit()) */
	int64_t lifetime_s;
	int64_t initial_age_s;         /* corrected_initial_age (section 4.2.3) */
	uint32_t swr_s, sie_s;         /* windows (RFC 5861) after the lifetime; 0: none may be used */
	/* how long after its lifetime, or after it came, it answers while its origin fails, if it is a feed */
	uint32_t keep_s;
	uint32_t flags;                /* of enum freshness_flag */
	int64_t same_since;            /* since when the body has been the same, as seen from here; 0: not looked at */
};

enum freshness_reuse {
	REUSE_FRESH,                 /* serve */
	REUSE_STALE,                 /* serve: the client takes a stale response (max-stale) */
	REUSE_STALE_REFRESH,         /* serve, and revalidate behind the answer (stale-while-revalidate) */
	REUSE_REVALIDATE,            /* ask the origin: fwd=stale, or fwd=request where *by_request */
	REUSE_ONLY_IF_CACHED         /* 504 (section 5.2.1.7) */
};

/* The directives of a request that count under these settings: says itself if all of them do, else own, which gets
 * those that do. */
const struct cache_control *freshness_request(struct cache_control *own, const struct cache_control *says,
    const struct freshness_settings *);
/* The same for one stored response, which may be too new to be asked for again (reload_floor_s). */
const struct cache_control *freshness_request_for(struct cache_control *own, const struct cache_control *says,
    const struct freshness_settings *, const struct freshness *, int64_t now);

enum storable freshness_storable(const struct request *request, const struct http_msg *response,
    const struct freshness_settings *);
const char *storable_word(enum storable);
/* Whether the next response to the same request will likely not be stored either. */
bool storable_lasts(enum storable);

/* request_time: when the request was sent; response_time: when the head of the response was complete. After a 304 give
 * the stored head as updated by it (section 3.2) and the times of that exchange. */
void freshness_read(struct freshness *, const struct http_msg *response, int64_t request_time, int64_t response_time,
    const struct freshness_settings *);

/* Limits a response that redirects led to (RFC 9110 section 15.4) and that is stored under the URL of the first. A
 * restriction on any of these responses restricts it, and its lifetime ends with the shortest of theirs. limit: the
 * freshness of one of the redirects. */
void freshness_limit(struct freshness *, const struct freshness *limit);
/* Limits a response whose body is likely cut: to a minute, without stale-while-revalidate, and never kept. */
void freshness_cut(struct freshness *);
/* Reads the freshness of such a redirect. The operator's floor counts for any redirect that names no lifetime; the
 * operator's maximum does not count, since it holds for the response itself. */
void freshness_read_hop(struct freshness *, const struct http_msg *redirect, int64_t request_time,
    int64_t response_time, const struct freshness_settings *);

int64_t freshness_age(const struct freshness *, int64_t now);          /* current_age, for the Age field; 0 to 2^31 */
/* Seconds until the response is stale, negative after that: the ttl of Cache-Status. A response that arrives more than
 * FRESHNESS_AHEAD_MAX_S after now, because the clock was set back, has a ttl below any window: it is stale at any
 * age. */
int64_t freshness_ttl(const struct freshness *, int64_t now);
/* When the response can no longer be used without asking the origin: not before it came, whatever its Age. */
int64_t freshness_end(const struct freshness *);
/* Whether the last tenth of the lifetime, at most its last minute, has begun. spread, any number, shortens that time by
 * up to a half: responses that came together are not refreshed together. A stale response, and one with a lifetime
 * under 10 s, does not end soon. */
bool freshness_ends_soon(const struct freshness *, int64_t now, uint32_t spread);
/* Seconds from its arrival until the response may not be served at all without validation, unless a client asks for
 * stale ones; 1 or more. */
int64_t freshness_use_s(const struct freshness *);
/* Soft purge: the response is stale from now on, and its windows begin. */
void freshness_expire(struct freshness *, int64_t now);

/* by_request is set to whether the response is fresh and only the request refuses it. May be NULL. */
enum freshness_reuse freshness_reuse(const struct freshness *, const struct cache_control *request, int64_t now,
    bool *by_request);

/* Whether the response may be served, even if stale, when the origin cannot be reached or answers with an error
 * (section 4.2.4, RFC 5861 section 4). */
bool freshness_if_error(const struct freshness *, const struct cache_control *request, int64_t now);
/* Whether a status of the origin counts as such an error: 500, 502, 503, 504. */
bool freshness_error_status(int status);
/* Whether the response, if it is a feed, answers any request while its origin fails: until keep_s after the end of its
 * lifetime, or after it came or was confirmed, whichever is later. */
bool freshness_keeps(const struct freshness *, int64_t now);
/* When that ends. */
int64_t freshness_kept_until(const struct freshness *);
/* Whether a status is such a failure: the origin does not give the feed now, and may give it later. */
bool freshness_failure_status(int status);

/* Whether responses with this status may have a heuristic lifetime (RFC 9110 section 15.1). */
bool freshness_heuristic_status(int status);

#endif
