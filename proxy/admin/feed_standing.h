/* Owns how a feed stands now: fine, failing, kept, paused, and when it is fetched next; and the sums of the list.
 * Must not know: who shows it. Times are seconds since the epoch. */
#ifndef UTFEED_PROXY_ADMIN_FEED_STANDING_H
#define UTFEED_PROXY_ADMIN_FEED_STANDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/feeds/feeds_seen.h"
#include "proxy/origin/backoff.h"

struct loop;

/* The clocks and the pauses, beside which the list is shown. */
struct feeds_now {
	int64_t wall_s;
	uint64_t steady_ms;
	struct backoff *backoff;
};
struct feeds_now feeds_now(struct loop *, struct backoff *);

/* FAILS: the last answer was an error. If a feed is both kept and paused, its word is KEPT. */
enum feed_state_word { FEED_FINE, FEED_FAILS, FEED_PAUSED, FEED_KEPT };
struct feed_standing {
	enum feed_state_word word;
	int64_t kept_since;          /* 0: it is not kept */
	int64_t paused_until;        /* 0: it may be asked */
	struct backoff_cause paused; /* why */
	/* which protocol it is asked over first, and why, as words; NULL: any */
	const char *protocol, *protocol_why;
	/* When it is fetched next if somebody asks: its freshness has ended, and so has a pause. 0: not known. */
	int64_t next_fetch;
};
void feed_standing_read(struct feed_standing *, const struct feed_seen *, const struct feeds_now *);
/* "fine", "failing", "paused" or "kept". */
const char *feed_standing_word(enum feed_state_word);

/* Whether what the labels said is not what the feed is. */
bool feed_is_mislabelled(const struct feed_seen *);

/* Sums over all feeds. publishers: the hosts that mislabelled feeds come from. */
struct feeds_tally {
	size_t feeds, mislabelled, publishers, kept;
	int64_t kept_since; /* of the one that has been kept longest */
};
void feeds_tally_read(struct feeds_tally *, struct feeds_seen *, int64_t now);

#endif
