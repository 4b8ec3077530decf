/* Owns carrying out, on one loop and bit by bit, what purges have marked in memory (cache_sweep()).
 * Must not know: who purges, which worker it is of. Invariant: it works a slice of SWEEPER_SLICE_US in each turn of its
 * loop (in every other turn while gzip forms are made there). It stops only when nothing is left to do, even if nobody
 * waits any more. Several may be at work at once. */
#ifndef UTFEED_PROXY_CACHE_SWEEPER_H
#define UTFEED_PROXY_CACHE_SWEEPER_H

#include <sys/queue.h>

#include "proxy/cache/cache.h"
#include "proxy/net/loop.h"

enum { SWEEPER_SLICE_US = 1000 };

/* Embedded in its owner, which waits until a purge is carried out. */
struct sweep_wait {
	LIST_ENTRY(sweep_wait) link;
	uint32_t number;
	void (*swept)(struct sweep_wait *, int64_t count);     /* once, from the loop; -1: the count is not known */
};

struct sweeper {
	struct cache *cache;
	struct loop *loop;
	struct task task;
	LIST_HEAD(, sweep_wait) waits;
};

void sweeper_init(struct sweeper *, struct cache *, struct loop *);
/* Nobody may wait any more. */
void sweeper_end(struct sweeper *);
/* There is something to do. It works one slice at once. */
void sweeper_begin(struct sweeper *);
/* *count: as cache_purged() tells. True: the purge is carried out. False: w->swept will be called when it is, unless
 * sweeper_forget() comes first. */
bool sweeper_wait(struct sweeper *, struct sweep_wait *wait, int64_t *count);
void sweeper_forget(struct sweep_wait *);      /* of one that waits */

#endif
