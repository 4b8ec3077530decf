/* Owns what all workers share of the cache: the stores, which responses are being made, and who may join them.
 * Must not know: requests, fetches, freshness rules. Thread-safe; the lock of what is being made is held for lookups
 * only.
 * Invariants: of one key at most one response is in the making that others may join. Nothing comes into the stores but
 * through cache_put() and cache_warm(), and neither lets in what was on its way when its URL was purged. */
#ifndef UTFEED_PROXY_CACHE_CACHE_H
#define UTFEED_PROXY_CACHE_CACHE_H

#include "proxy/base/stats.h"
#include "proxy/store/store.h"

struct cache;

enum { CACHE_HIT_FOR_MISS_S = 120 };

/* memory: of store_memory_new(), always asked first; second: behind it, NULL: none. Owns both. NULL: out of memory. */
struct cache *cache_new(struct store *memory, struct store *second);
void cache_free(struct cache **);

/* How often a key's URL had been purged, alone or by a prefix, and anything of it stored or removed. Taken before a
 * response is fetched or looked up, shown when it is to be stored. A few URLs share one pair of counts. */
struct cache_ticket { unsigned purges, changes, prefixes; };
struct cache_ticket cache_ticket(struct cache *, const char *key, size_t len);

/* As store_ops.get: memory, then the second store. WAIT: *ticket is what cache_warm() wants to see. */
enum store_result cache_get(struct cache *, const char *key, size_t len, struct entry **, struct store_wait *,
    struct cache_ticket *ticket);
/* Memory alone, not counted as a lookup. One reference; NULL: it is not there. */
struct entry *cache_peek(struct cache *, const char *key, size_t len);
/* What a wait brought from the second store: the next lookup finds it in memory, unless there is something newer, or
 * nothing is to be. */
void cache_warm(struct cache *, struct entry *, const struct cache_ticket *);
void cache_cancel(struct cache *, struct store_wait *);
/* False: its URL was purged since the ticket was taken, and nothing was stored. */
bool cache_put(struct cache *, struct entry *, const struct cache_ticket *);
/* As store_memory_keep_gzip(). */
bool cache_keep_gzip(struct cache *, const char *key, size_t len, struct object *body, const struct object *form);
/* As store_memory_reserve(): a body in the making counts against the budget of memory. */
bool cache_reserve(struct cache *, size_t had, size_t wants);
void cache_release(struct cache *, size_t had);
void cache_remove(struct cache *, const char *key, size_t len);
int64_t cache_purge(struct cache *, enum store_purge, const char *url, size_t len, bool soft, int64_t now);

/* As store_ops.settle(), of the second store; false: there is none. */
bool cache_settle(struct cache *, struct store_wait *);

/* What the stores count. */
void cache_stats(struct cache *, struct stats_gauges *);

/* Responses in flight: they are being made, and other requests may join them (collapsed forwarding).
 * cache_in_flight_join() gives one reference to the object that is being made for the key; NULL: there is none.
 * cache_in_flight_begin() registers the caller's object and gives NULL; where another request was first, it gives one
 * reference to that request's object instead. alone: it gives NULL in any case, and nobody joins the caller's object.
 * cache_in_flight_end() takes the object out once it cannot be joined any more. A purge takes out what it removes. */
struct object *cache_in_flight_join(struct cache *, const char *key, size_t len);
struct object *cache_in_flight_begin(struct cache *, const char *key, size_t len, struct object *, bool alone);
void cache_in_flight_end(struct cache *, const char *key, size_t len, struct object *);
/* How many objects have been taken out. What was in flight when memory was asked is in memory by now, or still in
 * flight, or this number has changed. */
unsigned cache_in_flight_ends(struct cache *);

/* Hit for miss: the responses for this key belong to one client each, so that requests for it need not wait for each
 * other to learn that. A hint, which may be forgotten, and holds for CACHE_HIT_FOR_MISS_S. now: seconds of a clock that
 * nobody sets. */
void cache_set_hit_for_miss(struct cache *, const char *key, size_t len, bool hit_for_miss, int64_t now);
bool cache_is_hit_for_miss(struct cache *, const char *key, size_t len, int64_t now);

#endif
