/* Owns the list of the feeds that clients asked for: of each URL how often, what was decided on it, what went wrong.
 * Must not know: requests, who shows it. Thread-safe: workers note, the admin listener reads.
 * Invariant: it never holds more feeds than it was made for; where it is full, that which nobody asked for longest, to
 * the second, leaves. */
#ifndef UTFEED_PROXY_FEEDS_FEEDS_SEEN_H
#define UTFEED_PROXY_FEEDS_FEEDS_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/base/slice.h"
#include "proxy/feeds/feed_history.h"
#include "proxy/feeds/feed_notes.h"

enum { FEEDS_SEEN_URL_MAX = 1024, FEEDS_SEEN_RULE_MAX = 96 };

struct feeds_seen;

/* One feed. Texts are static storage, except those that stand inside. */
struct feed_seen {
	uint64_t id;         /* Counted from 1; names it as long as it is listed. */
	int64_t first, last; /* Seconds since the epoch. */
	int64_t expires;     /* When it must be fetched again; 0: not known. */
	uint64_t outdated_us; /* feeds_seen_outdate(); earlier requests tell nothing of what is stored. */
	uint64_t requests, hits, errors, bytes;
	uint64_t repairs, malformed;    /* of the latest answer */
	int status;                     /* likewise */
	struct feed_state state;
	struct feed_history history;
	char rule[FEEDS_SEEN_RULE_MAX]; /* as in X-Encoding-Rule; "": none yet */
	const char *charset, *was;      /* verdict's named and was; NULL: none */
	bool unlabelled;                /* As rule_is_default(): no label names `was`. */
	const char *reason;             /* why it was left as it is, or is an error of its policy; NULL: neither */
	char url[FEEDS_SEEN_URL_MAX];
};

/* NULL: out of memory. max: how many feeds it holds, at least 1. workers: how many threads note answers. */
struct feeds_seen *feeds_seen_new(size_t max, size_t workers);
void feeds_seen_free(struct feeds_seen **);
/* Notes an answer that this worker gave; hint: as for feed_notes_add(). A URL that is not in the list yet gets in where
 * its answer was a feed (its verdict names a charset), or where the answer says that it is to be listed. URLs that do
 * not fit are left out. */
void feeds_seen_note(struct feeds_seen *, size_t worker, const void *hint, struct slice url,
    const struct feed_answer *);
/* Since now_us the stored response of the URL, or of all URLs that begin so, is gone or was replaced. Until the next
 * answer nobody knows when these must be fetched again, nor whether they are kept. By any thread. */
void feeds_seen_outdate(struct feeds_seen *, struct slice url, bool prefix, uint64_t now_us);
/* Whether a kept feed answers in the place of the origin, as far as answers told. now: seconds since the epoch. */
bool feed_is_kept(const struct feed_seen *, int64_t now);
struct stats_gauges;
void feeds_seen_stats(struct feeds_seen *, int64_t now, struct stats_gauges *);
/* Which feeds are asked for, and in which order. */
struct feeds_query {
	bool (*want)(const struct feeds_query *, const struct feed_seen *);
	/* As for qsort(): negative where a comes before b; 0 only for the same feed, where there is an edge. */
	int (*compare)(const struct feed_seen *a, const struct feed_seen *b);
	size_t max; /* how many */
	/* Those that come behind it in that order, or before it; NULL: from the beginning, or up to the end. It need
	 * not be in the list. */
	const struct feed_seen *edge;
	bool backwards;
};

struct feeds_count {
	size_t total; /* how many feeds are wanted */
	size_t first; /* how many of them come before those that were copied */
};

/* Copies feeds to list, those nearest to the edge, in the query's order. The list has room for query->max pointers; the
 * caller free()s each. A copy is whole up to the end of its URL. Returns how many. Where memory runs out there are
 * fewer. */
size_t feeds_seen_first(struct feeds_seen *, const struct feeds_query *, struct feed_seen **list,
    struct feeds_count *);

#endif
