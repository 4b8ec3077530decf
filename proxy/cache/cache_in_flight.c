/* Responses in the making, and hints about whose they are; see cache.h. */
#include "proxy/cache/cache_internal.h"

#include <stdlib.h>
#include <string.h>

struct busy {
	LIST_ENTRY(busy) link;
	struct object *object;         /* the fill that makes it holds the reference */
	size_t len;
	char key[];
};

void cache_purge_busy(struct cache *cache, enum store_purge what, const char *url, size_t len)
{
	pthread_mutex_lock(&cache->lock);
	for (size_t i = 0; i < CACHE_BUCKETS; i++) {
		struct busy *busy, *next;

		for (busy = LIST_FIRST(&cache->busy[i]); busy; busy = next) {
			next = LIST_NEXT(busy, link);
			if (store_purges(what, url, len, busy->key, busy->len)) {
				LIST_REMOVE(busy, link);
				free(busy);
			}
		}
	}
	pthread_mutex_unlock(&cache->lock);
}

struct cache_key cache_key(const struct cache *cache, const char *at, size_t len)
{
	return (struct cache_key){ at, len, cache_hash(cache, at, len) };
}

/* Finds what is in flight with that object; object NULL: with any. */
static struct busy *cache_find(struct cache *cache, const struct cache_key *key, const struct object *object)
{
	struct busy *busy;

	LIST_FOREACH(busy, &cache->busy[key->hash % CACHE_BUCKETS], link)
		if ((!object || busy->object == object) && busy->len == key->len &&
		    !memcmp(busy->key, key->at, key->len))
			return busy;
	return NULL;
}

struct object *cache_in_flight_join(struct cache *cache, const struct cache_key *key)
{
	pthread_mutex_lock(&cache->lock);
	struct busy *busy = cache_find(cache, key, NULL);
	struct object *o = busy ? object_ref(busy->object) : NULL;
	pthread_mutex_unlock(&cache->lock);
	return o;
}

/* Objects are taken out under the lock, so that none is between the look at the number of ends and the note. */
enum in_flight cache_in_flight_begin(struct cache *cache, const struct cache_key *key, struct object *o,
    const unsigned *ends, struct object **theirs)
{
	struct busy *busy = malloc(sizeof *busy + key->len);
	enum in_flight way = IN_FLIGHT_BEGUN;

	if (!busy)
		return way;
	object_share(o);
	busy->object = o;
	busy->len = key->len;
	memcpy(busy->key, key->at, key->len);
	pthread_mutex_lock(&cache->lock);
	struct busy *first = cache_find(cache, key, NULL);
	if (first) {
		*theirs = object_ref(first->object);
		way = IN_FLIGHT_JOINED;
	} else if (ends && *ends != atomic_load(&cache->ends)) {
		way = IN_FLIGHT_ENDED;
	} else {
		LIST_INSERT_HEAD(&cache->busy[key->hash % CACHE_BUCKETS], busy, link);
	}
	pthread_mutex_unlock(&cache->lock);
	if (way != IN_FLIGHT_BEGUN)
		free(busy);
	return way;
}

void cache_in_flight_end(struct cache *cache, const struct cache_key *key, struct object *o)
{
	struct busy *busy;

	pthread_mutex_lock(&cache->lock);
	if ((busy = cache_find(cache, key, o))) {
		LIST_REMOVE(busy, link);
		atomic_fetch_add(&cache->ends, 1);
	}
	pthread_mutex_unlock(&cache->lock);
	free(busy);
}

/* A purge marks the gates first and forgets the hints then: a hint that was set before the mark is forgotten, and one
 * behind it is not set. */
void cache_set_hit_for_miss(struct cache *cache, const struct cache_key *key, bool hit_for_miss, int64_t now,
    const struct cache_ticket *ticket)
{
	uint64_t hash = key->hash, until = (uint32_t)(now + CACHE_HIT_FOR_MISS_S);
	uint64_t hint = (hash >> 32 << 32) | until;
	_Atomic uint64_t *slot = &cache->hit_for_miss[hash % CACHE_HINTS];
	struct gate *gate;

	if (hit_for_miss && atomic_load_explicit(slot, memory_order_relaxed) != hint) {
		gate = cache_gate_lock(cache, ticket->gate);
		if (cache_gate_lets_in(cache, gate, ticket, key->at, key->len))
			atomic_store_explicit(slot, hint, memory_order_relaxed);
		cache_gate_close(cache, gate);
	} else if (!hit_for_miss && atomic_load_explicit(slot, memory_order_relaxed) >> 32 == hash >> 32) {
		atomic_store_explicit(slot, 0, memory_order_relaxed);
	}
}

bool cache_is_hit_for_miss(struct cache *cache, const struct cache_key *key, int64_t now)
{
	uint64_t hash = key->hash,
	         slot = atomic_load_explicit(&cache->hit_for_miss[hash % CACHE_HINTS], memory_order_relaxed);

	return slot && slot >> 32 == hash >> 32 && (uint32_t)slot > (uint32_t)now;
}

void cache_forget_hit_for_miss(struct cache *cache)
{
	for (size_t i = 0; i < CACHE_HINTS; i++)
		atomic_store_explicit(&cache->hit_for_miss[i], 0, memory_order_relaxed);
}

unsigned cache_in_flight_ends(struct cache *cache)
{
	return atomic_load(&cache->ends);
}
