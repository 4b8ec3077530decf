/* Owns what is asked of the list of feeds, read from a form and written as a query, and its JSON.
 * Must not know: sockets, how the list is kept.
 * Invariant: an answer has at most FEEDS_LIMIT_MAX feeds. */
#ifndef UTFEED_PROXY_ADMIN_FEEDS_PAGE_H
#define UTFEED_PROXY_ADMIN_FEEDS_PAGE_H

#include <stdio.h>

#include "proxy/admin/feed_standing.h"
#include "proxy/base/slice.h"
#include "proxy/feeds/feeds_seen.h"

enum { FEEDS_LIMIT = 100, FEEDS_LIMIT_MAX = 10000, FEEDS_SEARCH_MAX = 256, FEEDS_EDGE_MAX = 48, FEEDS_ORDERS = 8 };

struct feeds_order {
	const char *name;  /* the word of sort= */
	const char *title; /* of its column */
	bool ascends;      /* it begins with the least, unless the order is reversed */
	/* in that order, and reversed */
	int (*compare[2])(const struct feed_seen *, const struct feed_seen *);
	size_t value;      /* where in a feed the 64 bits stand that are compared first */
};
extern const struct feeds_order feeds_orders[FEEDS_ORDERS];
/* NULL: there is none of that name. */
const struct feeds_order *feeds_order_of(const char *name);

struct feeds_asked {
	struct feeds_query query;
	const struct feeds_order *order;
	bool reversed;
	char search[FEEDS_SEARCH_MAX]; /* a part of the URL; "": any */
	bool mislabelled;              /* only those whose label was wrong */
	bool kept;                     /* only those that are kept */
	struct feeds_now now;
	struct feed_seen edge;         /* what query.edge points to; of it the members are set that are compared */
};

/* Reads sort, reverse, limit, search, mislabelled, kept, after and before. NULL: they are right; else what is wrong.
 * The feeds tell the URL of the edge, which after and before name by its number. */
const char *feeds_asked_read(struct feeds_asked *, struct slice query, struct feeds_seen *, struct feeds_now);
/* Sets the order of what is asked, from the beginning of the list. */
void feeds_asked_order(struct feeds_asked *, const struct feeds_order *, bool reversed);
/* Writes the query, with its '?', that asks for the same feeds in the same order: those after the edge, those before
 * it, the first ones (FEEDS_AFTER, NULL) or the last ones. Members with their default are left out. ampersand: as it
 * is written where the query will stand. */
enum feeds_side { FEEDS_AFTER, FEEDS_BEFORE };
void feeds_write_query(FILE *, const struct feeds_asked *, enum feeds_side, const struct feed_seen *edge,
    const char *ampersand);
/* The feed of that number, which the caller free()s; NULL: it is not in the list, or out of memory. */
struct feed_seen *feeds_find(struct feeds_seen *, uint64_t id);

/* feeds_json.c. Writes {"total": N, "feeds": [...], "next": QUERY}. -1: out of memory, and nothing was written. */
int feeds_write_json(FILE *, struct feeds_seen *, const struct feeds_asked *) __attribute__((warn_unused_result));

#endif
