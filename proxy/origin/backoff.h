/* Owns what is remembered of origins so as not to ask them too often: pauses of URLs and of hosts, and the least time
 * between two requests. One for all workers, under a lock of its own.
 * Must not know: connections, caches, heads of responses. Bounded, by two tables (backoff_table).
 * Invariant: what came of a request that was sent before a pause began neither ends the pause nor makes the next one
 * longer. Source: RFC 9110 section 10.2.3, RFC 6585 section 4. */
#ifndef UTFEED_PROXY_ORIGIN_BACKOFF_H
#define UTFEED_PROXY_ORIGIN_BACKOFF_H

#include <stdint.h>

#include "proxy/base/failure.h"
#include "proxy/base/slice.h"

enum {
	BACKOFF_FIRST_S = 30,                  /* the pause after one failure; it doubles with each */
	BACKOFF_HOST_MAX_S = 3600,             /* the longest pause of a host, and of a URL that asked for none */
	BACKOFF_URL_MAX_S = 24 * 3600,         /* the longest pause that a URL can ask for */
	BACKOFF_PROBE_MS = 30 * 1000           /* how long others wait for the one that asks first behind a pause */
};

struct backoff;

/* Under which terms a request asks. */
struct backoff_terms {
	bool pauses;                           /* it keeps pauses, and what comes of it begins and ends some */
	/* failures of a URL are one thing only where this is the same: another route may have other rights */
	uint64_t way;
	uint64_t url_interval_ms;              /* the least time between two requests for the URL; 0: any */
};

/* A request to an origin, as others know it. */
struct backoff_request {
	struct slice url;                      /* as destination_url() writes it */
	uint64_t parent;                       /* of the parent proxy on the way (parent_number()) */
	/* whoever asks; where a pause is over, the first to ask goes ahead, and others wait for what comes of it */
	uint64_t id;
	uint64_t asked_ms;                     /* when backoff_ask() let it go */
	bool changes;                          /* its method is not safe: it keeps only pauses that were asked for */
};

/* What an origin did: a status, or without one a failure. */
struct backoff_cause { int status; enum failure_kind why; };

struct backoff *backoff_new(void);               /* NULL: out of memory */
void backoff_free(struct backoff **);

/* Whether nothing is remembered, so that any request may be made. */
bool backoff_is_idle(const struct backoff *);
/* Whether the request may not be made yet: failure then says why, and how long the wait is. */
bool backoff_waits(struct backoff *, const struct backoff_request *, const struct backoff_terms *, uint64_t now_ms,
    struct failure *);
/* The same; if it may be made, it counts as made now, and asked_ms is set. */
bool backoff_ask(struct backoff *, struct backoff_request *, const struct backoff_terms *, uint64_t now_ms,
    struct failure *);

/* The URL, or the host that answered, is not asked for seconds; 0: for twice as long as the time before, with jitter.
 * True: a pause begins. */
bool backoff_pause_url(struct backoff *, const struct backoff_request *, const struct backoff_terms *, uint64_t now_ms,
    struct backoff_cause, uint32_t seconds);
bool backoff_pause_host(struct backoff *, const struct backoff_request *, uint64_t now_ms, struct backoff_cause,
    uint32_t seconds);
/* The URL asked for a pause because its host is busy: once a second URL does so within the pause of the first, the host
 * has one as well. */
bool backoff_pause_busy(struct backoff *, const struct backoff_request *, const struct backoff_terms *, uint64_t now_ms,
    struct backoff_cause, uint32_t seconds);
/* The request had success: the doubling ends. */
void backoff_url_works(struct backoff *, const struct backoff_request *, const struct backoff_terms *);
void backoff_host_works(struct backoff *, const struct backoff_request *);
/* Nothing came of the request: the next one goes ahead. */
void backoff_leave(struct backoff *, const struct backoff_request *, const struct backoff_terms *);

#endif
