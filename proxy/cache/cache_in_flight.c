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

void cache_purge_busy(struct cache *c, enum store_purge what, const char *url, size_t len)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < CACHE_BUCKETS; i++) {
		struct busy *b, *next;

		for (b = LIST_FIRST(&c->busy[i]); b; b = next) {
			next = LIST_NEXT(b, link);
			if (store_purges(what, url, len, b->key, b->len)) {
				LIST_REMOVE(b, link);
				free(b);
			}
		}
	}
	pthread_mutex_unlock(&c->lock);
}

struct cache_key cache_key(const struct cache *c, const char *at, size_t len)
{
	return (struct cache_key){ at, len, cache_hash(c, at, len) };
}

/* Finds the record of that object; object NULL: of any. */
static struct busy *cache_find(struct cache *c, const struct cache_key *key, const struct object *object)
{
	struct busy *b;

	LIST_FOREACH(b, &c->busy[key->hash % CACHE_BUCKETS], link)
		if ((!object || b->object == object) && b->len == key->len &&
		    !memcmp(b->key, key->at, key->len))
			return b;
	return NULL;
}

struct object *cache_in_flight_join(struct cache *c, const struct cache_key *key)
{
	struct busy *b;
	struct object *o;

	pthread_mutex_lock(&c->lock);
	b = cache_find(c, key, NULL);
	o = b ? object_ref(b->object) : NULL;
	pthread_mutex_unlock(&c->lock);
	return o;
}

/* If memory for the record runs out, the caller's response is made all the same, but nobody can join it. */
struct object *cache_in_flight_begin(struct cache *c, const struct cache_key *key, struct object *o)
{
	struct busy *b = malloc(sizeof *b + key->len), *first;
	struct object *theirs;

	if (!b)
		return NULL;
	object_share(o);
	b->object = o;
	b->len = key->len;
	memcpy(b->key, key->at, key->len);
	pthread_mutex_lock(&c->lock);
	first = cache_find(c, key, NULL);
	theirs = first ? object_ref(first->object) : NULL;
	if (!theirs)
		LIST_INSERT_HEAD(&c->busy[key->hash % CACHE_BUCKETS], b, link);
	pthread_mutex_unlock(&c->lock);
	if (theirs)
		free(b);
	return theirs;
}

void cache_in_flight_end(struct cache *c, const struct cache_key *key, struct object *o)
{
	struct busy *b;

	pthread_mutex_lock(&c->lock);
	if ((b = cache_find(c, key, o))) {
		LIST_REMOVE(b, link);
		atomic_fetch_add(&c->ends, 1);
	}
	pthread_mutex_unlock(&c->lock);
	free(b);
}

/* A purge marks the gates first and forgets the hints then: a hint that was set before the mark is forgotten, and one
 * behind it is not set. */
void cache_set_hit_for_miss(struct cache *c, const struct cache_key *key, bool hit_for_miss, int64_t now,
    const struct cache_ticket *ticket)
{
	uint64_t hash = key->hash, until = (uint32_t)(now + CACHE_HIT_FOR_MISS_S);
	uint64_t hint = (hash >> 32 << 32) | until;
	_Atomic uint64_t *slot = &c->hit_for_miss[hash % CACHE_HINTS];
	struct gate *gate;

	if (hit_for_miss && atomic_load_explicit(slot, memory_order_relaxed) != hint) {
		gate = cache_gate_lock(c, ticket->gate);
		if (cache_gate_lets_in(c, gate, ticket, key->at, key->len))
			atomic_store_explicit(slot, hint, memory_order_relaxed);
		cache_gate_close(c, gate);
	} else if (!hit_for_miss && atomic_load_explicit(slot, memory_order_relaxed) >> 32 == hash >> 32) {
		atomic_store_explicit(slot, 0, memory_order_relaxed);
	}
}

bool cache_is_hit_for_miss(struct cache *c, const struct cache_key *key, int64_t now)
{
	uint64_t hash = key->hash,
	         slot = atomic_load_explicit(&c->hit_for_miss[hash % CACHE_HINTS], memory_order_relaxed);

	return slot && slot >> 32 == hash >> 32 && (uint32_t)slot > (uint32_t)now;
}

void cache_forget_hit_for_miss(struct cache *c)
{
	for (size_t i = 0; i < CACHE_HINTS; i++)
		atomic_store_explicit(&c->hit_for_miss[i], 0, memory_order_relaxed);
}

unsigned cache_in_flight_ends(struct cache *c)
{
	return atomic_load(&c->ends);
}
