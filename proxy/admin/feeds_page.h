/* Owns what is asked of the list of feeds, read from a form, and its JSON.
 * Must not know: sockets, how the list is kept.
 * Invariant: whatever is asked, at most FEEDS_LIMIT_MAX feeds are told. */
#ifndef UTFEED_PROXY_ADMIN_FEEDS_PAGE_H
#define UTFEED_PROXY_ADMIN_FEEDS_PAGE_H

#include <stdio.h>

#include "proxy/base/slice.h"
#include "proxy/object/feeds_seen.h"

enum { FEEDS_LIMIT = 100, FEEDS_LIMIT_MAX = 10000, FEEDS_SEARCH_MAX = 256 };

struct feeds_order {
	const char *name;  /* the word of sort= */
	const char *title; /* of its column */
	int (*compare)(const struct feed_seen *, const struct feed_seen *);
};
extern const struct feeds_order feeds_orders[];
extern const size_t feeds_n_orders;

struct feeds_asked {
	struct feeds_query query;
	const struct feeds_order *order;
	char search[FEEDS_SEARCH_MAX]; /* a part of the URL; "": any */
	bool mislabelled;              /* only those whose label was wrong */
};

/* Reads sort, limit, search and mislabelled. NULL: they are right; else what is wrong. */
const char *feeds_asked_read(struct feeds_asked *, struct slice query);
/* Whether what the label said is not what the feed is. */
bool feed_is_mislabelled(const struct feed_seen *);
/* Writes {"total": N, "feeds": [...]}. -1: out of memory, and nothing was written. */
int feeds_write_json(FILE *, struct feeds_seen *, const struct feeds_asked *) __attribute__((warn_unused_result));

#endif
