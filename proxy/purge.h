/* Owns what a PURGE takes away from the cache: reading X-Purge, doing it. Must not know: who may, what is answered.
 * "url" (also without a word), "prefix", "host" or "all"; with ", soft" behind it what it names is kept, but stale. */
#ifndef UTFEED_PROXY_PURGE_H
#define UTFEED_PROXY_PURGE_H

#include "cache.h"
#include "destination.h"
#include "http_msg.h"

struct purge {
	enum store_purge what;
	bool host;                     /* the URL without its path */
	bool soft;
};

/* false: not understood. */
bool purge_read(struct purge *, const struct http_msg *);
/* How many memory held; -1: out of memory. now: seconds since the epoch. */
int64_t purge_run(const struct purge *, struct cache *, const struct destination *, int64_t now);

#endif
