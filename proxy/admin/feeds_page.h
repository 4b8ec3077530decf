/* Owns what is asked of the list of feeds, read from a form and written as a query, and its JSON.
 * Must not know: sockets, how the list is kept.
 * Invariant: an answer has at most FEEDS_LIMIT_MAX feeds. */
#ifndef UTFEED_PROXY_ADMIN_FEEDS_PAGE_H
#define UTFEED_PROXY_ADMIN_FEEDS_PAGE_H

#include <stdio.h>

#include "proxy/base/slice.h"
#include "proxy/feeds/feeds_seen.h"
#include "proxy/origin/backoff.h"

struct loop;

enum { FEEDS_LIMIT = 100, FEEDS_LIMIT_MAX = 10000, FEEDS_SEARCH_MAX = 256, FEEDS_EDGE_MAX = 48 };

struct feeds_order {
	const char *name;  /* the word of sort= */
	const char *title; /* of its column */
	int (*compare)(const struct feed_seen *, const struct feed_seen *);
	size_t value;      /* where in a feed the 64 bits stand that are compared first */
};
extern const struct feeds_order feeds_orders[];
/* NULL: there is none of that name. */
const struct feeds_order *feeds_order_of(const char *name);

/* The clocks and the pauses, which the pages show beside the list. */
struct feeds_now {
	int64_t wall_s;                /* seconds since the epoch */
	uint64_t steady_ms;
	struct backoff *backoff;
};
struct feeds_now feeds_now(struct loop *, struct backoff *);
/* Until when the feed's URL or its host is not asked, in seconds since the epoch; 0: it may be. *s says why. */
int64_t feed_paused_until(const struct feed_seen *, const struct feeds_now *, struct backoff_shown *shown);
/* When it is fetched next if somebody asks: its freshness has ended, and so has a pause. 0: not known. */
int64_t feed_next_fetch(const struct feed_seen *, const struct feeds_now *);

struct feeds_asked {
	struct feeds_query query;
	const struct feeds_order *order;
	char search[FEEDS_SEARCH_MAX]; /* a part of the URL; "": any */
	bool mislabelled;              /* only those whose label was wrong */
	bool kept;                     /* only those that are kept */
	struct feeds_now now;
	struct feed_seen edge;         /* what query.edge points to; of it the members are set that are compared */
};

/* Reads sort, limit, search, mislabelled, kept, after and before. NULL: they are right; else what is wrong. The feeds
 * tell the URL of the edge, which after and before name by its number. */
const char *feeds_asked_read(struct feeds_asked *, struct slice query, struct feeds_seen *, struct feeds_now);
/* Writes the query, with its '?', that asks for the same feeds in the same order: those after the edge, those before
 * it, the first ones (FEEDS_AFTER, NULL) or the last ones. Members with their default are left out. ampersand: as it
 * is written where the query will stand. */
enum feeds_side { FEEDS_AFTER, FEEDS_BEFORE };
void feeds_write_query(FILE *, const struct feeds_asked *, enum feeds_side, const struct feed_seen *edge,
    const char *ampersand);
/* The feed of that number, which the caller free()s; NULL: it is not in the list, or out of memory. */
struct feed_seen *feeds_find(struct feeds_seen *, uint64_t id);
/* Whether what the label said is not what the feed is. */
bool feed_is_mislabelled(const struct feed_seen *);
/* Writes {"total": N, "feeds": [...], "next": QUERY}. -1: out of memory, and nothing was written. */
int feeds_write_json(FILE *, struct feeds_seen *, const struct feeds_asked *) __attribute__((warn_unused_result));

#endif
