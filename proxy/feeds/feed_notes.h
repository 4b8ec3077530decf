/* Owns what one worker has noted of its answers and not put into the list of feeds yet. A feed that is asked for again
 * and again costs a comparison and some additions for each answer; the list, which others share, gets the sum.
 * Must not know: the list. Thread-safe: the worker notes; whoever looks at the list collects first.
 * Invariant: what was noted is put exactly once: an answer by which its feed is to be listed at once, unless one before
 * it was; all else at the latest with the first answer of another second, when another feed needs the place, or when
 * somebody collects. So what another worker notes of a feed that is to be listed finds it in the list. */
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
	int64_t now; /* seconds since the epoch */
	int status;  /* 0: the client got none */
	bool hit;    /* a stored response answered */
	bool failed; /* the answer is an error of utfeed's own, or was cut */
	bool listed; /* the feed is to be listed even if no answer was a feed */
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
	int64_t first, last;   /* seconds since the epoch */
	bool listed;           /* the feed is to be listed: an answer was a feed, or asked for it */
	bool has_expires;      /* of the latest answer that said so */
	int64_t expires;       /* likewise */
	uint64_t expires_asked_us; /* when the request of that answer came */
	int status;            /* of the latest answer */
	struct verdict verdict; /* of the latest answer that had one */
	bool decided;          /* there was one */
	uint64_t repairs, malformed; /* of the answer with that verdict */
	struct feed_state state;
};

/* Puts a sum into the list that it was given with. */
typedef void feed_put(void *list, struct slice url, const struct feed_sum *);

/* NULL: out of memory. */
struct feed_notes *feed_notes_new(feed_put *, void *list);
/* What was not put is dropped. */
void feed_notes_free(struct feed_notes **);
/* Notes an answer. hint: any address that answers of one feed mostly have in common, and other feeds' do not. */
void feed_notes_add(struct feed_notes *, const void *hint, struct slice url, const struct feed_answer *);
/* Puts everything that is noted. */
void feed_notes_collect(struct feed_notes *);

#endif
