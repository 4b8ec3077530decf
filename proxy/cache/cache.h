/* Owns what all workers share of the cache: the stores, the responses in the making, and who may join them.
 * Must not know: requests, fetches, freshness rules. Thread-safe; the lock over responses in the making is held for
 * lookups only, and no call takes longer the more is stored.
 * Invariants: other requests may join at most one response in the making per key. Entries come into the stores through
 * cache_put(), cache_warm() and cache_freshen() alone. None lets in an entry that was on its way when its URL was
 * purged, by this process or by another process that shares the second store. */
#ifndef UTFEED_PROXY_CACHE_CACHE_H
#define UTFEED_PROXY_CACHE_CACHE_H

#include "proxy/base/stats.h"
#include "proxy/store/store.h"

struct cache;
struct moves;

enum { CACHE_HIT_FOR_MISS_S = 120 };

/* memory comes from store_memory_new() and is always asked first; second is the store behind it, NULL: none. The cache
 * owns both. NULL: out of memory. */
struct cache *cache_new(struct store *memory, struct store *second);
void cache_free(struct cache **);

/* A ticket is taken before a response is fetched or looked up, and shown when the response is to be stored. It says how
 * many purges of single URLs the gate of the key's URL had seen, and how often any response of that URL had been stored
 * or removed. It also says how many purges by prefix there had been, and which purges the second store knew
 * (store.known, store.asked). A few URLs share one gate, and so changes. */
struct cache_ticket { unsigned gate, changes; uint64_t prefixes, purges, since, asked; bool lost; };
struct cache_ticket cache_ticket(struct cache *, const char *key, size_t len);
/* For what is made of a response that was found in memory: if memory has another one by now, or none, the ticket is
 * lost, and lets nothing in. */
struct cache_ticket cache_ticket_of(struct cache *, const struct entry *found);

/* As store_ops.get(), of memory first and then of the second store. With STORE_WAIT, *ticket is the one to give to
 * cache_warm(). */
enum store_result cache_get(struct cache *, const char *key, size_t len, struct entry **, struct store_wait *,
    struct cache_ticket *ticket);
/* Asks memory alone, and is not counted as a lookup. One reference; NULL: it is not there. */
struct entry *cache_peek(struct cache *, const char *key, size_t len);
/* Puts the entry that a wait brought from the second store into memory, so that the next lookup finds it there. Does
 * nothing if memory has an entry already, or if the URL was changed or purged since the ticket was taken. */
void cache_warm(struct cache *, struct entry *, const struct cache_ticket *);
/* Puts an entry that another process has just stored into memory, where it is newer than the one there. known: what
 * this process looked for and found when the ticket was taken; NULL: nothing. False: what memory has is newer, and is
 * still known; else who looks again may find something else. */
bool cache_freshen(struct cache *, struct entry *, const struct entry *known, const struct cache_ticket *);
/* Memory forgets the index of variants there, since another process has made a new one. */
void cache_forget_index(struct cache *, const char *key, size_t len);
void cache_cancel(struct cache *, struct store_wait *);
/* False: its URL was purged since the ticket was taken, and nothing was stored. */
bool cache_put(struct cache *, struct entry *, const struct cache_ticket *);
/* Whether the entry, found before the ticket was taken, may have been purged since, so that it must not answer any
 * more. */
bool cache_ticket_is_spent(struct cache *, const struct cache_ticket *, const struct entry *found);
/* As cache_put(), of an index of variants, which is given its generation. If the index in its place has the same
 * names, it keeps that index's generation. Otherwise it gets the known generation if nothing of the URL has changed
 * since the ticket was taken, and a new generation if something has. So a variant that was stored before another
 * response had the URL for itself is not found again. */
bool cache_put_variants(struct cache *, struct entry *index, uint64_t known, const struct cache_ticket *);
enum { CACHE_GENERATION_NONE = 0 };    /* no index of variants is known */
/* As store_memory_keep_gzip(). */
bool cache_keep_gzip(struct cache *, const char *key, size_t len, struct object *body, const struct object *form);
/* As store_memory_reserve(): a body in the making counts against the budget of memory. */
bool cache_reserve(struct cache *, size_t had, size_t wants);
void cache_release(struct cache *, size_t had);
void cache_remove(struct cache *, const char *key, size_t len);
/* As cache_remove(), because a newer response came, which is not stored. If the URL was purged since its ticket was
 * taken, what is stored by now was asked for later, and stays. */
void cache_outdate(struct cache *, const char *key, size_t len, const struct cache_ticket *);
/* From now on nothing that the purge covers is found, or found fresh. Returns how many responses memory had, or -1:
 * that is known when cache_sweep() has been through; *number is the purge that cache_purged() is asked about. */
int64_t cache_purge(struct cache *, enum store_purge, const char *url, size_t len, bool soft, int64_t now,
    uint32_t *number);
/* Calls told() for each purge, also those of others that share the second store, once nothing that it covers is found
 * any more; by any thread. Called before others have the cache. */
typedef void cache_told_f(void *arg, enum store_purge, const char *url, size_t len);
void cache_listen(struct cache *, cache_told_f *told, void *arg);
/* Another process serves from now on, and does not tell this one what it purges; nor would it be told. Where memory is
 * all that there is, nothing is found here any more, and nothing is stored. */
void cache_retire(struct cache *);
bool cache_is_retired(struct cache *);
/* The process that served before has retired. It may just have been told of a purge, so what memory has is forgotten,
 * where memory is all that there is. */
void cache_inherit(struct cache *);
/* As store_memory_sweep() and store_memory_purged(). */
bool cache_sweep(struct cache *);
bool cache_purged(struct cache *, uint32_t number, int64_t *count);

/* The store behind memory, or the one of several, that has all which the purge covers; its settle() tells when the
 * purge is done there. NULL: memory is all that there is. */
struct store *cache_behind(struct cache *, enum store_purge, const char *url, size_t len);

/* The permanent redirects that are remembered. A purge forgets those of the URLs that it covers. */
struct moves *cache_moves(struct cache *);

/* Tells the counts of the stores. */
void cache_stats(struct cache *, struct stats_gauges *);

/* A key with its hash, which several calls use: responses in flight and hits for miss. at: borrowed. */
struct cache_key { const char *at; size_t len; uint64_t hash; };
struct cache_key cache_key(const struct cache *, const char *at, size_t len);

/* Responses in flight: they are being made, and other requests may join them (collapsed forwarding). A purge takes out
 * the objects whose URL it names. */
/* One reference to the object that is being made for the key; NULL: there is none. */
struct object *cache_in_flight_join(struct cache *, const struct cache_key *);
enum in_flight {
	IN_FLIGHT_BEGUN,               /* the caller's object is registered */
	IN_FLIGHT_JOINED,              /* another request was first */
	IN_FLIGHT_ENDED                /* the number of ends is another by now, and nobody is in flight */
};
/* Registers the caller's object, or gives one reference to that of another request, *theirs. ends: the number that must
 * still be the number of ends; NULL: it does not matter. An object that nobody shall join is not registered. */
enum in_flight cache_in_flight_begin(struct cache *, const struct cache_key *, struct object *, const unsigned *ends,
    struct object **theirs);
/* Takes the object out once it cannot be joined any more. */
void cache_in_flight_end(struct cache *, const struct cache_key *, struct object *);
/* The number of ends: how many objects cache_in_flight_end() has taken out. A request reads it before it asks memory.
 * If its key is neither there nor, after that, in flight, it asks memory again only if the number has changed. The
 * response may then have been stored and taken out. */
unsigned cache_in_flight_ends(struct cache *);

/* Hit for miss: each response for this key belongs to one client, so that requests for it need not wait for each other
 * to learn that. This is a hint, which may be forgotten, and it holds for CACHE_HIT_FOR_MISS_S. now: seconds of the
 * monotonic clock. A response that was requested before a purge, by its ticket, sets no hint. */
void cache_set_hit_for_miss(struct cache *, const struct cache_key *, bool hit_for_miss, int64_t now,
    const struct cache_ticket *);
bool cache_is_hit_for_miss(struct cache *, const struct cache_key *, int64_t now);
/* Forgets all hints, after a purge: whoever asks for one may have told the origin to answer otherwise. The hints of one
 * URL alone cannot be found, because a hint is found by the whole key. */
void cache_forget_hit_for_miss(struct cache *);

#endif
