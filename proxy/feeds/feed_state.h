/* Owns what answers tell of a feed's origin: when it gave the feed last, since when the kept feed answers in its place,
 * how it failed last, and how many requests it was saved.
 * Must not know: requests, lists. Pure. Times in us are of the monotonic clock, others seconds since the epoch.
 * Invariant: the accounts of several workers add up to the same in any order. */
#ifndef UTFEED_PROXY_FEEDS_FEED_STATE_H
#define UTFEED_PROXY_FEEDS_FEED_STATE_H

#include <stdint.h>

#include "proxy/base/failure.h"

struct feed_state {
	uint64_t saved;        /* Answers that needed no request of their own to the origin. */
	int64_t good;          /* When the origin gave or confirmed the feed last; 0: not known. */
	uint64_t unkept_us;    /* When an answer said last that no kept feed answers; 0: none did. */
	uint64_t kept_us;      /* When the kept feed answered first after that; 0: it did not. */
	int64_t kept_since;    /* The same moment. */
	uint64_t kept_last_us; /* When the kept feed answered last. */
	int64_t kept_last;     /* The same moment. */
	uint64_t kept_asked_us; /* When the request of that answer came. */
	int64_t kept_until;    /* How long the feed is kept, as that answer told. */
	uint64_t failed_us;    /* When the origin failed last; 0: it did not. */
	int64_t failed_at;     /* The same moment. */
	int failed_status;     /* The status that it gave then; 0: none. */
	enum failure_kind failed_why; /* What went wrong besides; NONE: nothing. */
};

void feed_state_add(struct feed_state *to, const struct feed_state *from);

/* The last error as failure_cause() writes it. NULL: there was none. */
const char *feed_state_error(const struct feed_state *, char room[FAILURE_CAUSE_MAX]);

#endif
