/* Owns what a feed says about its own freshness lifetime: RSS ttl, skipHours and skipDays, the syndication module's
 * updatePeriod and updateFrequency, and the dates of its items. Pure: text and times in, seconds out. Must not know:
 * caches, response heads, which hints count. It looks for elements in the first bytes of a feed in UTF-8; it is a lexer
 * of tags, no XML parser.
 * Invariant: whatever the text, a lifetime lies between 0 and the maximum that the caller gives.
 * Source: RSS 2.0 (and Netscape's RSS 0.91, where 24 is midnight), RSS 1.0 modules: Syndication; its updateBase is not
 * read. */
#ifndef UTFEED_PROXY_FEEDS_FEED_HINTS_H
#define UTFEED_PROXY_FEEDS_FEED_HINTS_H

#include <stddef.h>
#include <stdint.h>

struct object;

enum { FEED_HINTS_LOOK_BYTES = 16 * 1024, FEED_HINTS_DAYS = 7, FEED_HINTS_HOURS = 24 };

struct feed_hints {
	uint32_t interval_s;           /* From ttl, else from the syndication module; 0: none. */
	uint32_t skip_hours;           /* Bit i: hour i of the day in GMT. */
	uint32_t skip_days;            /* Bit i: day i of the week in GMT, 0 is Sunday. */
	int64_t newest;                /* The newest date of an item, in seconds since the epoch; 0: none. */
};

/* Dates after now count for nothing. */
void feed_hints_read(struct feed_hints *, const char *text, size_t len, int64_t now);
/* Reads the first FEED_HINTS_LOOK_BYTES of a finished and retained body. Out of memory: no hints. */
void feed_hints_of(struct feed_hints *, struct object *body, int64_t now);

/* The freshness lifetime in seconds, at most max, of a feed made at that time (since the epoch). It is the feed's
 * interval, or lasts until the skipped hours and days end in which the feed was made. 0: the feed names none. */
uint32_t feed_hints_lifetime(const struct feed_hints *, int64_t at, uint32_t max);

#endif
