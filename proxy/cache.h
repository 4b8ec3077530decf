/* Owns what all workers share of the cache: the stores, which responses are being made, and who may join them.
 * Must not know: requests, fetches, freshness rules. Thread-safe; its lock is held for lookups only, never across a store's work.
 * Invariant: of one key at most one response is in the making that others may join; none that was purged meanwhile stays stored. */
#ifndef UTFEED_PROXY_CACHE_H
#define UTFEED_PROXY_CACHE_H

#include "store.h"

struct cache;

enum { CACHE_APART_S = 120 };

/* memory: of store_memory_new(), always asked first; second: behind it, NULL: none. Owns both. NULL: out of memory. */
struct cache *cache_new(struct store *memory, struct store *second);
void cache_free(struct cache **);

/* As store_ops.get: memory, then the second store, whose finds go to memory. */
enum store_result cache_get(struct cache *, const char *key, size_t len, struct entry **, struct store_wait *);
/* What a wait brought from the second store: the next lookup finds it in memory. */
void cache_warm(struct cache *, struct entry *);
void cache_cancel(struct cache *, struct store_wait *);
void cache_put(struct cache *, struct entry *);
/* As store_memory_keep_gzip(). */
bool cache_keep_gzip(struct cache *, const char *key, size_t len, struct object *body, const struct object *form);
void cache_remove(struct cache *, const char *key, size_t len);
int64_t cache_purge(struct cache *, enum store_purge, const char *url, size_t len, bool soft, int64_t now);

/* As store_ops.settle(), of the second store; false: there is none. */
bool cache_settle(struct cache *, struct store_wait *);

/* A response in the making. cache_join: one reference to the object of that key, NULL: nobody is making it. cache_lead: registers
 * one's own, until cache_leave() by whoever sees that it cannot be joined any more, and gives NULL; where somebody else was first: one
 * reference to theirs, or, alone, NULL, and nobody joins one's own. cache_leave gives false after a purge: what was stored of it is to
 * be removed. */
struct object *cache_join(struct cache *, const char *key, size_t len);
struct object *cache_lead(struct cache *, const char *key, size_t len, struct object *, bool alone);
bool cache_leave(struct cache *, const char *key, size_t len, struct object *);
/* Whether what a key names is each one's own, so that those who ask for it need not wait for each other to learn that; now in seconds.
 * A hint: it may be forgotten, and holds for CACHE_APART_S. */
void cache_set_apart(struct cache *, const char *key, size_t len, bool apart, int64_t now);
bool cache_is_apart(struct cache *, const char *key, size_t len, int64_t now);
/* How many have left. What was being made when a store was asked is in it by now, or in the making still, or this has changed. */
unsigned cache_leaves(struct cache *);

#endif
