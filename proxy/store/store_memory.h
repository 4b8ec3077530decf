/* Owns making the store in memory, and what it alone offers: purges that are carried out bit by bit, room for bodies
 * that are still being made, and gzip forms. Must not know: freshness, requests. */
#ifndef UTFEED_PROXY_STORE_STORE_MEMORY_H
#define UTFEED_PROXY_STORE_STORE_MEMORY_H

#include "proxy/store/store.h"

/* budget: the most that entry->bytes of all entries may come to; an entry with more than max_entry bytes is not stored.
 * NULL: out of memory. */
struct store *store_memory_new(size_t budget, size_t max_entry);
/* Like get() of the memory store, but counts neither a hit nor a miss. One reference; NULL: there is no such entry. */
struct entry *store_memory_peek(struct store *, const char *key, size_t len);
/* purge() of the memory store, by a mark: from now on no entry that it covers is found, or found fresh. The entries
 * themselves are removed by store_memory_sweep(), which any thread goes on with, some ten microseconds at a time, until
 * it is true: nothing is left to do. Returns how many responses it concerned, or -1: *number tells which purge
 * store_memory_purged() is asked about. It is true once the sweep is through; *count is how many responses it was, or
 * will have been at least (-1: not known any more). */
int64_t store_memory_purge(struct store *, enum store_purge, const char *url, size_t len, bool soft, int64_t now,
    uint32_t *number);
bool store_memory_sweep(struct store *);
bool store_memory_purged(struct store *, uint32_t number, int64_t *count);
/* Makes room for a body that is still being made and counts it against the budget: it has reserved had bytes so far and
 * wants that many in all. A single body may take the whole budget, several of them a share of it together. False:
 * nothing was done. The caller releases the reservation when the body ends. */
bool store_memory_reserve(struct store *, size_t had, size_t wants);
void store_memory_release(struct store *, size_t had);
/* The gzip form of a body goes from MAKING to KEPT and counts against the budget, provided that the entry of this key
 * has this body and the budget has room for both. False: nothing was done. */
bool store_memory_keep_gzip(struct store *, const char *key, size_t len, struct object *body,
    const struct object *form);

#endif
