/* Owns what a PURGE takes away from the cache: reading X-Purge, doing it, waiting until it is done. Must not know: who
 * may, what is answered. "url" (also without a word), "prefix", "host" or "all"; with ", soft" behind it what it names
 * is kept, but stale. */
#ifndef UTFEED_PROXY_CACHE_PURGE_H
#define UTFEED_PROXY_CACHE_PURGE_H

#include "proxy/cache/cache.h"
#include "proxy/http/destination.h"
#include "proxy/http/http_msg.h"
#include "proxy/net/loop.h"

struct purge {
	enum store_purge what;
	bool host;                     /* the URL without its path */
	bool soft;
};

/* words: of X-Purge; at NULL: none. False: not understood. */
bool purge_read(struct purge *, struct slice words);
/* How many memory held; -1: out of memory. now: seconds since the epoch. */
int64_t purge_run(const struct purge *, struct cache *, const struct destination *, int64_t now);

/* Until the store behind memory has done all purges before, for so long at most: then the store owes them. */
enum { PURGE_WAIT_MS = 5000 };
struct purge_wait {
	struct store_wait wait;
	struct timer timer;
	struct cache *cache;
	void (*done)(struct purge_wait *, bool owed);          /* from the loop, once; frees it */
	void *owner;                                           /* for done() */
	struct purge purge;
	int64_t count;
};
/* done, owner, purge and count are the caller's to set. *w NULL: nothing is waited for. -1: out of memory. */
int purge_wait_new(struct purge_wait **w, struct cache *, struct loop *) __attribute__((warn_unused_result));
void purge_wait_free(struct purge_wait **);                    /* done() will not be called */

#endif
