/* Owns what a PURGE removes from the cache: reading X-Purge, purging, and waiting until that is done. Must not know:
 * who may purge, how the client learns of it. X-Purge says "url" (also without a word), "prefix", "host" or "all"; with
 * ", soft" behind it the responses it names are kept, but stale. */
#ifndef UTFEED_PROXY_CACHE_PURGE_H
#define UTFEED_PROXY_CACHE_PURGE_H

#include "proxy/cache/cache.h"
#include "proxy/cache/sweeper.h"
#include "proxy/http/destination.h"
#include "proxy/http/http_msg.h"
#include "proxy/net/loop.h"

struct backoff;

struct purge {
	enum store_purge what;
	bool host;                     /* the URL without its path */
	bool soft;
};

/* words: the value of X-Purge; at NULL: none. False: not understood. */
bool purge_read(struct purge *, struct slice words);
/* Purges: from now on nobody finds the responses that it covers. The pauses of their origins end. count: how many
 * responses memory held; -1: not known yet. behind: as cache_behind(). The destination may be NULL where everything
 * is purged. now: seconds since the epoch; steady_ms: of the monotonic clock. -1: out of memory. */
struct purge_begun { int64_t count; uint32_t number; struct store *behind; };
int purge_run(const struct purge *, struct cache *, struct backoff *, const struct destination *, int64_t now,
    uint64_t steady_ms, struct purge_begun *) __attribute__((warn_unused_result));

/* Waits until the purged responses have left memory, so that they are counted, and until the store behind memory has
 * done all purges so far. Waits limit_ms at most: after that the store owes the purges, and memory goes on by
 * itself. */
struct purge_wait {
	struct store_wait wait;
	struct sweep_wait sweep;
	struct timer timer;
	struct sweeper *sweeper;
	bool settles, sweeps;          /* what has not come yet */
	void (*done)(struct purge_wait *);     /* called once, from the loop; frees it */
	void *owner;                   /* for done() */
	struct purge purge;
	/* for done(): responses that memory held (-1: not known), more may follow; the store behind memory owes it */
	int64_t count;
	bool counting, owed;
	/* if it is owed: how many other processes have the store, and how many of them do not know of it; 0: unknown */
	size_t others, unaware;
};
/* The caller sets done, owner and purge. *w NULL: there is nothing to wait for, and begun->count is known (or -1: it
 * never will be). -1: out of memory. */
int purge_wait_new(struct purge_wait **w, struct sweeper *, struct purge_begun *begun, uint64_t limit_ms)
    __attribute__((warn_unused_result));
void purge_wait_free(struct purge_wait **);                    /* done() will not be called */

#endif
