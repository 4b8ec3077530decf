/* Stores and responses in the making; see cache.h. */
#include "cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "hash.h"

enum { CACHE_BUCKETS = 1024, CACHE_APARTS = 4096 };

struct busy {
	LIST_ENTRY(busy) link;
	struct object *object;         /* the leader's reference keeps it */
	bool joinable;                 /* the first of its key */
	size_t len;
	char key[];
};

struct cache {
	struct store *memory, *second;
	atomic_uint leaves;
	pthread_mutex_t lock;
	LIST_HEAD(, busy) busy[CACHE_BUCKETS];
	_Atomic uint64_t apart[CACHE_APARTS];  /* by hash: its upper half, and until when; 0: none */
};

struct cache *cache_new(struct store *memory, struct store *second)
{
	struct cache *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->memory = memory;
	c->second = second;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void cache_free(struct cache **cp)
{
	struct cache *c = *cp;

	if (!c)
		return;
	c->memory->ops->free(c->memory);
	if (c->second)
		c->second->ops->free(c->second);
	pthread_mutex_destroy(&c->lock);
	free(c);
	*cp = NULL;
}

enum store_result cache_get(struct cache *c, const char *key, size_t len, struct entry **entry, struct store_wait *w)
{
	enum store_result r = c->memory->ops->get(c->memory, key, len, entry, w);

	if (r != STORE_MISSING || !c->second)
		return r;
	r = c->second->ops->get(c->second, key, len, entry, w);
	if (r == STORE_FOUND)
		c->memory->ops->put(c->memory, *entry);
	return r;
}

void cache_warm(struct cache *c, struct entry *e)
{
	c->memory->ops->put(c->memory, e);
}

void cache_cancel(struct cache *c, struct store_wait *w)
{
	if (c->second)
		c->second->ops->cancel(c->second, w);
}

void cache_put(struct cache *c, struct entry *e)
{
	c->memory->ops->put(c->memory, e);
	if (c->second)
		c->second->ops->put(c->second, e);
}

bool cache_keep_gzip(struct cache *c, const char *key, size_t len, struct object *body, const struct object *form)
{
	return store_memory_keep_gzip(c->memory, key, len, body, form);
}

void cache_remove(struct cache *c, const char *key, size_t len)
{
	c->memory->ops->remove(c->memory, key, len);
	if (c->second)
		c->second->ops->remove(c->second, key, len);
}

/* What is being made is from before the purge: nobody joins it any more, and its maker sees that it is not to be stored. */
static void cache_purge_busy(struct cache *c, enum store_purge what, const char *url, size_t len)
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

int64_t cache_purge(struct cache *c, enum store_purge what, const char *url, size_t len, bool soft, int64_t now)
{
	int64_t n;

	cache_purge_busy(c, what, url, len);
	n = c->memory->ops->purge(c->memory, what, url, len, soft, now);
	if (c->second)
		c->second->ops->purge(c->second, what, url, len, soft, now);
	return n;
}

bool cache_settle(struct cache *c, struct store_wait *w)
{
	return c->second && c->second->ops->settle(c->second, w);
}

static size_t cache_bucket(const char *key, size_t len)
{
	return hash_xx64(key, len) % CACHE_BUCKETS;
}

/* object NULL: the one that may be joined. */
static struct busy *cache_find(struct cache *c, size_t bucket, const char *key, size_t len, const struct object *object)
{
	struct busy *b;

	LIST_FOREACH(b, &c->busy[bucket], link)
		if ((object ? b->object == object : b->joinable) && b->len == len && !memcmp(b->key, key, len))
			return b;
	return NULL;
}

struct object *cache_join(struct cache *c, const char *key, size_t len)
{
	struct busy *b;
	struct object *o;

	pthread_mutex_lock(&c->lock);
	b = cache_find(c, cache_bucket(key, len), key, len, NULL);
	o = b ? object_ref(b->object) : NULL;
	pthread_mutex_unlock(&c->lock);
	return o;
}

/* Without memory for the record the response is neither shared nor stored. */
struct object *cache_lead(struct cache *c, const char *key, size_t len, struct object *o, bool alone)
{
	size_t bucket = cache_bucket(key, len);
	struct busy *b = malloc(sizeof *b + len), *first;
	struct object *theirs;

	if (!b)
		return NULL;
	b->object = o;
	b->len = len;
	memcpy(b->key, key, len);
	pthread_mutex_lock(&c->lock);
	first = cache_find(c, bucket, key, len, NULL);
	theirs = first && !alone ? object_ref(first->object) : NULL;
	b->joinable = !first;
	if (!theirs)
		LIST_INSERT_HEAD(&c->busy[bucket], b, link);
	pthread_mutex_unlock(&c->lock);
	if (theirs)
		free(b);
	return theirs;
}

bool cache_leave(struct cache *c, const char *key, size_t len, struct object *o)
{
	struct busy *b;
	bool there;

	pthread_mutex_lock(&c->lock);
	b = cache_find(c, cache_bucket(key, len), key, len, o);
	if ((there = b)) {
		LIST_REMOVE(b, link);
		atomic_fetch_add(&c->leaves, 1);
	}
	pthread_mutex_unlock(&c->lock);
	free(b);
	return there;
}

void cache_set_apart(struct cache *c, const char *key, size_t len, bool apart, int64_t now)
{
	uint64_t hash = hash_xx64(key, len), until = (uint32_t)(now + CACHE_APART_S);
	_Atomic uint64_t *slot = &c->apart[hash % CACHE_APARTS];

	if (apart)
		atomic_store_explicit(slot, (hash >> 32 << 32) | until, memory_order_relaxed);
	else if (atomic_load_explicit(slot, memory_order_relaxed) >> 32 == hash >> 32)
		atomic_store_explicit(slot, 0, memory_order_relaxed);
}

bool cache_is_apart(struct cache *c, const char *key, size_t len, int64_t now)
{
	uint64_t hash = hash_xx64(key, len), slot = atomic_load_explicit(&c->apart[hash % CACHE_APARTS], memory_order_relaxed);

	return slot && slot >> 32 == hash >> 32 && (uint32_t)slot > (uint32_t)now;
}

unsigned cache_leaves(struct cache *c)
{
	return atomic_load(&c->leaves);
}
