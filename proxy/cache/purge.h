/* Owns what a PURGE removes from the cache: reading X-Purge, purging, and waiting until that is done. Must not know:
 * who may purge, what is answered. X-Purge says "url" (also without a word), "prefix", "host" or "all"; with ", soft"
 * behind it the responses it names are kept, but stale. */
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

/* words: the value of X-Purge; at NULL: none. False: not understood. */
bool purge_read(struct purge *, struct slice words);
/* Purges; returns how many entries memory held; -1: out of memory. The destination may be NULL where everything is
 * purged. now: seconds since the epoch. */
int64_t purge_run(const struct purge *, struct cache *, const struct destination *, int64_t now);

/* Waits until the store behind memory has done all purges so far, for PURGE_WAIT_MS at most: after that the store owes
 * them. */
enum { PURGE_WAIT_MS = 5000 };
struct purge_wait {
	struct store_wait wait;
	struct timer timer;
	struct cache *cache;
	void (*done)(struct purge_wait *, bool owed);          /* called once, from the loop; frees it */
	void *owner;                                           /* for done() */
	struct purge purge;
	int64_t count;
};
/* The caller sets done, owner, purge and count. *w NULL: there is nothing to wait for. -1: out of memory. */
int purge_wait_new(struct purge_wait **w, struct cache *, struct loop *) __attribute__((warn_unused_result));
void purge_wait_free(struct purge_wait **);                    /* done() will not be called */

#endif
