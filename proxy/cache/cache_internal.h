/* Owns what the files of the cache share: cache.c has the stores and the gates against purges, cache_in_flight.c the
 * responses in the making and the hints. Must not know: requests. Invariant: only these two include it. */
#ifndef UTFEED_PROXY_CACHE_CACHE_INTERNAL_H
#define UTFEED_PROXY_CACHE_CACHE_INTERNAL_H

#include "proxy/cache/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "proxy/base/hash.h"
#include "proxy/cache/moves.h"
#include "proxy/cache/prefixes.h"

enum { CACHE_BUCKETS = 1024, CACHE_HINTS = 4096, CACHE_GATES = 1024, CACHE_GATE_LOCKS = 16 };
enum { CACHE_UNSWEPT_MAX = 64 };       /* half of the marks that memory can have (store/purge_marks.h) */

/* A few URLs share a gate. A purge of one URL must not count for the others, so the gate knows the URLs of its latest
 * purges. A purge that it has forgotten counts for all of its URLs. */
enum { GATE_URLS = 4 };
struct gate {
	uint64_t purges;               /* so far; their numbers begin with 1 */
	uint64_t forgotten;            /* the number of the latest purge that counts for all URLs */
	struct { uint64_t url, purge; } latest[GATE_URLS];     /* a URL by its hash, the number of its latest purge */
	unsigned changes;
};

struct busy;
struct cache {
	struct store *memory, *second;
	struct moves *moves;
	cache_told_f *told;            /* of purges; NULL: nobody is */
	void *told_arg;
	uint64_t secret[2];
	/* each guards every CACHE_GATE_LOCKS-th gate; held while an entry goes in */
	pthread_mutex_t gate_locks[CACHE_GATE_LOCKS];
	struct gate gates[CACHE_GATES];        /* by the hash of a URL */
	struct prefixes *prefixes;
	/* purges by others whose marks memory may still have; of the second store's thread alone */
	unsigned unswept;
	atomic_uint generations;       /* of indexes of variants, given so far */
	atomic_bool retired;           /* nothing is stored any more */
	atomic_uint ends;              /* objects that were in flight and were taken out */
	pthread_mutex_t lock;
	LIST_HEAD(, busy) busy[CACHE_BUCKETS];
	/* by hash of the key: the hash's upper half, then the second until which the hint holds; 0: none */
	_Atomic uint64_t hit_for_miss[CACHE_HINTS];
};

/* Clients choose the keys. The hash takes a secret, so that a client cannot choose keys that share a bucket. */
static inline uint64_t cache_hash(const struct cache *cache, const char *key, size_t len)
{
	return hash_sip(cache->secret, key, len);
}

/* Locks the gate of that number. */
struct gate *cache_gate_lock(struct cache *, size_t i);
void cache_gate_close(struct cache *, const struct gate *);
/* Called under the lock of the key's gate. */
bool cache_gate_lets_in(struct cache *, const struct gate *, const struct cache_ticket *, const char *key, size_t len);
/* Takes out the responses in the making that a purge covers: they were asked for before it, so no request may join them
 * any more. */
void cache_purge_busy(struct cache *, enum store_purge, const char *url, size_t len);

#endif
