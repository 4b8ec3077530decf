/* Owns what one worker has noted of its answers and not put into the list of feeds yet. Each answer of a
 * popular feed costs a comparison and some additions; the list, which others share, gets the sum.
 * Must not know: the list. Thread-safe: the worker notes; whoever looks at the list collects first.
 * Invariant: each note is put exactly once. An answer by which its feed is to be listed is put at once, unless one
 * before it was. All else is put when another second begins, another feed needs the place, or somebody collects. So
 * another worker finds a feed in the list as soon as it is to be listed. */
#ifndef UTFEED_PROXY_FEEDS_FEED_NOTES_H
#define UTFEED_PROXY_FEEDS_FEED_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/policy/policy.h"
#include "proxy/base/slice.h"
#include "proxy/feeds/feed_state.h"

struct feed_notes;

/* What one answer says of its feed. */
struct feed_answer {
	int64_t now; /* Seconds since the epoch. */
	int status;  /* 0: the client got none. */
	bool hit;    /* A stored response answered. */
	bool failed; /* The answer is an error of utfeed's own, or was cut. */
	bool listed; /* The feed is to be listed even if no answer was a feed. */
	bool has_ttl;
	int64_t ttl;                   /* seconds that the response stays fresh; negative: stale for so long */
	uint64_t asked_us;             /* when the request came, by the monotonic clock */
	uint64_t bytes;                /* of the body, as sent */
	const struct verdict *verdict; /* NULL: none was made, and what was known stays */
	uint64_t repairs, malformed;
	struct feed_state state; /* of the origin, as far as this answer tells */
};

/* What several answers say of one feed. */
struct feed_sum {
	uint64_t requests, hits, errors, bytes;
	int64_t first, last;   /* Seconds since the epoch. */
	bool listed;           /* The feed is to be listed: an answer was a feed, or asked for it. */
	bool has_expires;      /* Of the latest answer that said so. */
	int64_t expires;       /* Likewise. */
	uint64_t expires_asked_us; /* When the request of that answer came. */
	int status;            /* Of the latest answer. */
	struct verdict verdict; /* Of the latest answer that had one. */
	bool decided;          /* There was one. */
	uint64_t repairs, malformed; /* Of the answer with that verdict. */
	struct feed_state state;
};

/* Puts a sum into the list that it was given with. */
typedef void feed_put(void *list, struct slice url, const struct feed_sum *);

/* NULL: out of memory. */
struct feed_notes *feed_notes_new(feed_put *, void *list);
/* Drops notes that were not put. */
void feed_notes_free(struct feed_notes **);
/* Notes an answer. hint: any address that answers of one feed mostly have in common, and other feeds' do not. */
void feed_notes_add(struct feed_notes *, const void *hint, struct slice url, const struct feed_answer *);
/* Puts everything that is noted. */
void feed_notes_collect(struct feed_notes *);

#endif
