/* Owns the entries of this process, within a budget of bytes. It has one lock; a hit holds it for a lookup, a reference
 * and a count.
 * Must not know: freshness (entry_expired() does), loops. Invariants: the stored entries never count more than the
 * budget plus the slack of eviction.h, because room is made before an entry comes in. A body that has left the store
 * while readers still hold it counts elsewhere (bodies.h). No entry is found that a purge covers, though a purge of
 * many only leaves a mark (purge_marks.h): the sweep removes them bit by bit. */
#include "proxy/store/store_memory_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "proxy/base/bodies.h"

/* One bucket for every BYTES_PER_BUCKET of the budget. */
enum { BYTES_PER_BUCKET = 4096, BUCKETS_MIN = 64 };
enum { SCATTERED_NODES = 8 };          /* most nodes that leave for memory that is scattered. */
/* The share of the budget that bodies still being made may take together. Bodies of slow or hostile origins do not
 * drive out all stored entries so. The share shrinks while slow readers hold many bodies that have left the store,
 * because readers would keep the bodies now being made in the same way. */
enum { RESERVE_SHARE = 2 };

static struct memory_node *memory_find(struct store_memory *memory, uint64_t hash, const char *key, size_t len)
{
	struct memory_node *node;

	LIST_FOREACH(node, &memory->by_key[hash & memory->mask], by_key) {
		if (node->eviction.hash != hash)
			continue;
		entry_prefetch(node->entry);
		if (node->entry->key_len != len || memcmp(node->entry->key, key, len) != 0)
			continue;
		entry_prefetch_object(node->entry);
		return node;
	}
	return NULL;
}

/* The memory of the gzip form where it is KEPT. While the entry is stored, this store alone makes it KEPT, under its
 * lock. */
static size_t memory_gzip_bytes(const struct entry *e)
{
	struct object *form = NULL;
	size_t bytes = e->object && object_gzip(e->object, &form) == OBJECT_GZIP_KEPT ? entry_gzip_bytes(form) : 0;

	object_unref(&form);
	return bytes;
}

/* The bytes of the body and its gzip form, as bodies.h counts them. */
static size_t memory_body_bytes(const struct entry *e)
{
	struct object *form;

	if (!e->object)
		return 0;
	size_t bytes = (size_t)object_length(e->object);
	if (object_gzip(e->object, &form) == OBJECT_GZIP_KEPT && form)
		bytes += (size_t)object_length(form);
	object_unref(&form);
	return bytes;
}

static size_t memory_bytes(struct memory_node *node)
{
	return node->entry->bytes + memory_gzip_bytes(node->entry) + heap_bytes(node);
}

void memory_count(struct store_memory *memory, struct memory_node *node)
{
	node->eviction.bytes = memory_bytes(node);
	memory->stats.bytes += node->eviction.bytes;
	node->body = memory_body_bytes(node->entry);
	bodies_counted(node->body);
}

void memory_uncount(struct store_memory *memory, struct memory_node *node)
{
	memory->stats.bytes -= node->eviction.bytes;
	bodies_uncounted(node->body);
}

/* Takes a node that has left the queues out of the tables and lists it as dead: dead nodes are freed after the lock is
 * released. */
static void memory_unlink(struct store_memory *memory, struct memory_node *node, struct eviction_list *dead)
{
	LIST_REMOVE(node, by_key);
	LIST_REMOVE(node, by_url);
	memory->stats.entries--;
	memory_uncount(memory, node);
	TAILQ_INSERT_TAIL(dead, &node->eviction, link);
}

void memory_drop(struct store_memory *memory, struct memory_node *node, struct eviction_list *dead)
{
	eviction_remove(&memory->eviction, &node->eviction);
	memory_unlink(memory, node, dead);
}

static void memory_free_dead(struct eviction_list *dead)
{
	struct eviction_node *node;

	while ((node = TAILQ_FIRST(dead)) != NULL) {
		TAILQ_REMOVE(dead, node, link);
		entry_unref(&node_of(node)->entry);
		heap_give(node_of(node));
	}
}

/* Memory that is scattered between entries counts, too. An entry that leaves frees such memory only if its neighbours
 * have left as well. So no more than SCATTERED_NODES entries leave for its sake at a time. */
static void memory_make_room(struct store_memory *memory, size_t bytes, struct eviction_list *dead)
{
	size_t scattered = heap_scattered();
	struct eviction_node *victim;

	for (unsigned n = 0; (victim = eviction_victim(&memory->eviction,
	    memory->stats.bytes + bytes + (n < SCATTERED_NODES ? scattered : 0))) != NULL; n++) {
		memory_unlink(memory, node_of(victim), dead);
		memory->stats.evictions++;
	}
}

/* The entry, unless a purge covers it. */
static struct memory_node *memory_seek(struct store_memory *memory, uint64_t hash, const char *key, size_t len)
{
	struct memory_node *node = memory_find(memory, hash, key, len);

	return node && node->eviction.seen != memory->marks->number ? memory_judge(memory, node, &memory->dead) : node;
}

static enum store_result memory_get(struct store *store, const char *key, size_t len, struct entry **entry,
    struct store_wait *wait)
{
	struct store_memory *memory = memory_of(store);
	uint64_t hash = hash_sip(memory->secret, key, len);
	struct memory_node *node;

	(void)wait;
	pthread_mutex_lock(&memory->lock);
	if ((node = memory_seek(memory, hash, key, len)) != NULL) {
		*entry = entry_ref(node->entry);
		eviction_hit(&node->eviction);
		memory->stats.hits++;
	} else {
		memory->stats.misses++;
	}
	pthread_mutex_unlock(&memory->lock);
	return node ? STORE_FOUND : STORE_MISSING;
}

struct entry *store_memory_peek(struct store *store, const char *key, size_t len)
{
	struct store_memory *memory = memory_of(store);

	pthread_mutex_lock(&memory->lock);
	struct memory_node *node = memory_seek(memory, hash_sip(memory->secret, key, len), key, len);
	struct entry *e = node ? entry_ref(node->entry) : NULL;
	pthread_mutex_unlock(&memory->lock);
	return e;
}

static void memory_cancel(struct store *store, struct store_wait *wait)
{
	(void)store, (void)wait;
}

/* The new entry inherits the queue and the hits of the one it replaces. */
static void memory_insert(struct store_memory *memory, struct memory_node *node, struct eviction_list *dead)
{
	struct memory_node *old = memory_seek(memory, node->eviction.hash, node->entry->key, node->entry->key_len);

	if (old) {
		node->eviction.main = old->eviction.main;
		node->eviction.hits = old->eviction.hits;
		memory_drop(memory, old, dead);
	}
	memory_make_room(memory, memory_bytes(node), dead);
	memory_count(memory, node);
	node->eviction.seen = memory->marks->number;
	if (old)
		eviction_restore(&memory->eviction, &node->eviction);
	else
		eviction_insert(&memory->eviction, &node->eviction);
	LIST_INSERT_HEAD(&memory->by_key[node->eviction.hash & memory->mask], node, by_key);
	LIST_INSERT_HEAD(memory_url_bucket(memory, node->entry->key, node->entry->key_len), node, by_url);
	memory->stats.entries++;
}

static void memory_remove(struct store *store, const char *key, size_t len)
{
	struct store_memory *memory = memory_of(store);
	uint64_t hash = hash_sip(memory->secret, key, len);
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	struct memory_node *node;

	pthread_mutex_lock(&memory->lock);
	if ((node = memory_find(memory, hash, key, len)) != NULL)
		memory_drop(memory, node, &dead);
	pthread_mutex_unlock(&memory->lock);
	memory_free_dead(&dead);
}

void memory_unlock(struct store_memory *memory, struct eviction_list *dead)
{
	pthread_mutex_unlock(&memory->lock);
	memory_free_dead(dead);
}

/* An entry that cannot be stored still removes the one it would have replaced. */
static void memory_put(struct store *store, struct entry *e)
{
	struct store_memory *memory = memory_of(store);
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	bool fits = e->bytes <= memory->max_entry && e->bytes + memory_gzip_bytes(e) <= memory->room;
	struct memory_node *node = fits ? heap_take_zeroed(HEAP_KEPT, sizeof *node) : NULL;

	if (!node) {
		memory_remove(store, e->key, e->key_len);
		return;
	}
	node->entry = entry_ref(e);
	node->eviction.hash = hash_sip(memory->secret, e->key, e->key_len);
	pthread_mutex_lock(&memory->lock);
	memory_insert(memory, node, &dead);
	memory_unlock(memory, &dead);
}

static size_t memory_making_max(const struct store_memory *memory)
{
	size_t share = memory->room / RESERVE_SHARE, both = share > BODIES_LOOSE_MAX / 2 ? share : BODIES_LOOSE_MAX / 2,
	       loose = bodies_loose();
	size_t left = both > loose ? both - loose : 0;

	return left < share ? left : share;
}

/* A single body may reserve all the room, since it could be stored, too. */
bool store_memory_reserve(struct store *store, size_t had, size_t wants)
{
	struct store_memory *memory = memory_of(store);
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	bool room;

	pthread_mutex_lock(&memory->lock);
	size_t others = memory->reserved - had;
	if ((room = others + wants <= (others ? memory_making_max(memory) : memory->room))) {
		memory->stats.bytes -= had;
		memory_make_room(memory, wants, &dead);
		memory->stats.bytes += wants;
		bodies_counted(wants - had);
		memory->reserved = others + wants;
	}
	memory_unlock(memory, &dead);
	return room;
}

void store_memory_release(struct store *store, size_t had)
{
	struct store_memory *memory = memory_of(store);

	pthread_mutex_lock(&memory->lock);
	memory->reserved -= had;
	memory->stats.bytes -= had;
	bodies_uncounted(had);
	pthread_mutex_unlock(&memory->lock);
}

/* The entry leaves its queue and comes back with the gzip form counted. */
bool store_memory_keep_gzip(struct store *store, const char *key, size_t len, struct object *body,
    const struct object *form)
{
	struct store_memory *memory = memory_of(store);
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	size_t more = entry_gzip_bytes(form);

	pthread_mutex_lock(&memory->lock);
	struct memory_node *node = memory_seek(memory, hash_sip(memory->secret, key, len), key, len);
	if (node && (node->entry->object != body || node->entry->bytes + more > memory->room))
		node = NULL;
	if (node) {
		eviction_remove(&memory->eviction, &node->eviction);
		memory_uncount(memory, node);
		memory_make_room(memory, memory_bytes(node) + more, &dead);
		object_gzip_end(body, OBJECT_GZIP_KEPT);
		memory_count(memory, node);
		eviction_restore(&memory->eviction, &node->eviction);
	}
	memory_unlock(memory, &dead);
	return node;
}

static enum store_settling memory_settle(struct store *store, struct store_wait *wait)
{
	(void)store, (void)wait;
	return SETTLING_DONE;
}

static void memory_tell_stats(struct store *store, struct store_stats *stats)
{
	struct store_memory *memory = memory_of(store);

	pthread_mutex_lock(&memory->lock);
	*stats = memory->stats;
	pthread_mutex_unlock(&memory->lock);
}

static void memory_free(struct store *store)
{
	struct store_memory *memory = memory_of(store);

	memory_purge(store, PURGE_ALL, "", 0, false, 0);
	memory_free_dead(&memory->dead);
	marks_free(&memory->marks);
	eviction_destroy(&memory->eviction);
	free(memory->by_key);
	free(memory->by_url);
	pthread_mutex_destroy(&memory->lock);
	free(memory);
}

static const struct store_ops memory_ops = {
	.name = "memory", .get = memory_get, .cancel = memory_cancel, .put = memory_put, .remove = memory_remove,
	.purge = memory_purge, .settle = memory_settle, .stats = memory_tell_stats, .free = memory_free,
};

struct store *store_memory_new(size_t budget, size_t max_entry)
{
	struct store_memory *memory = calloc(1, sizeof *memory);
	size_t buckets = BUCKETS_MIN;

	if (!memory)
		return NULL;
	while (buckets < budget / BYTES_PER_BUCKET)
		buckets *= 2;
	memory->store.ops = &memory_ops;
	memory->budget = budget;
	memory->mask = buckets - 1;
	memory->by_key = calloc(buckets, sizeof *memory->by_key);
	memory->by_url = calloc(buckets, sizeof *memory->by_url);
	memory->marks = marks_new();
	TAILQ_INIT(&memory->dead);
	if (!memory->by_key || !memory->by_url || !memory->marks || eviction_init(&memory->eviction, budget, buckets) ||
	    getrandom(memory->secret, sizeof memory->secret, 0) != sizeof memory->secret) {
		eviction_destroy(&memory->eviction);
		marks_free(&memory->marks);
		free(memory->by_key);
		free(memory->by_url);
		free(memory);
		return NULL;
	}
	pthread_mutex_init(&memory->lock, NULL);
	memory->stats.bytes = sizeof *memory + sizeof *memory->marks + 2 * buckets * sizeof *memory->by_key +
	    eviction_memory(&memory->eviction);
	size_t own = memory->stats.bytes + heap_bytes_for(sizeof(struct memory_node));
	memory->room = budget > own ? budget - own : 0;
	memory->max_entry = max_entry < memory->room ? max_entry : memory->room;
	return &memory->store;
}
