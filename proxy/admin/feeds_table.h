/* Owns the list of feeds as a table, which narrow windows show as cards.
 * Must not know: what else is on the page.
 * Invariant: it has FEEDS_SHOWN feeds at most, and of each so much that a page stays below 60 kB. */
#ifndef UTFEED_PROXY_ADMIN_FEEDS_TABLE_H
#define UTFEED_PROXY_ADMIN_FEEDS_TABLE_H

#include "proxy/admin/admin_internal.h"
#include "proxy/admin/feeds_page.h"

enum { FEEDS_SHOWN = 50 };

/* Shows one page of the list, `max` feeds of what is asked. */
void feeds_table_write(struct admin_exchange *, const struct feeds_asked *, size_t max);
/* When a feed is fetched next: a moment, or "due" with the next request. */
void feed_next_write(FILE *, int64_t next, int64_t now);
/* How the feed stands, in a few words; of fine feeds nothing but that. */
void feed_standing_write(FILE *, const struct feed_seen *, const struct feed_standing *, int64_t now);

#endif
