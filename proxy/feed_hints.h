/* Owns what a feed says of how long it holds: RSS ttl, sy:updatePeriod and sy:updateFrequency. Must not know: caches.
 * Looks into the start of a finished UTF-8 body for the elements' names; no parser. Source: RSS 2.0, RSS 1.0 syndication module. */
#ifndef UTFEED_PROXY_FEED_HINTS_H
#define UTFEED_PROXY_FEED_HINTS_H

#include <stdint.h>

struct object;

/* Seconds; 0: it says nothing that makes sense. At most a day. */
uint32_t feed_hints_ttl(struct object *);

#endif
