/* Owns the entries of this process, within a budget of bytes. It has one lock; a hit holds it for a lookup, a reference
 * and a count.
 * Must not know: freshness (entry_expired() does), loops. Invariants: the stored entries never count more than the
 * budget plus the slack of eviction.h, because room is made before an entry comes in. A body that has left the store
 * while readers still hold it counts elsewhere (bodies.h). No entry is found that a purge covers, though a purge of
 * many only leaves a mark (purge_marks.h): the sweep removes them bit by bit. */
#include "proxy/store/store_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "proxy/base/bodies.h"
#include "proxy/base/hash.h"
#include "proxy/store/eviction.h"
#include "proxy/store/purge_marks.h"

/* One bucket for every BYTES_PER_BUCKET of the budget. */
enum { BYTES_PER_BUCKET = 4096, BUCKETS_MIN = 64 };
/* The sweep looks at so many entries, or empty buckets, under one hold of the lock, which takes some ten microseconds.
 * A purge of one URL removes that many of its entries at once; a URL with more variants gets a mark. */
enum { SWEEP_NODES = 64, SWEEP_BUCKETS = 1024, URL_NODES = 256 };
enum { SCATTERED_NODES = 8 };          /* so many leave at most for memory that is scattered */
/* The share of the budget that bodies still being made may take together, so that those of slow or hostile origins do
 * not drive out all stored entries. It shrinks while slow readers hold many bodies that have left the store: readers
 * would keep the bodies now being made in the same way. */
enum { RESERVE_SHARE = 2 };

struct memory_node {
	struct eviction_node eviction;         /* the first member; its hash is the key's, seen as in purge_marks.h */
	LIST_ENTRY(memory_node) by_key, by_url;
	struct entry *entry;                   /* NULL: the place where the sweep stands */
	size_t body;                           /* bytes of body and gzip form, which eviction.bytes includes */
};
LIST_HEAD(memory_bucket, memory_node);

struct store_memory {
	struct store store;
	pthread_mutex_t lock;                  /* guards everything below */
	uint64_t secret[2];
	size_t budget, room, max_entry, mask;  /* room: the most that one entry and its gzip form may take */
	struct memory_bucket *by_key, *by_url;
	struct purge_marks *marks;
	size_t sweeps_at;                      /* the bucket of by_url in which the sweep stands */
	struct memory_node sweeps_here;        /* it stands here; by_url.le_prev NULL: at the bucket's beginning */
	struct eviction_list dead;             /* entries that a lookup found to be gone, to be freed by the sweep */
	struct eviction eviction;
	size_t reserved;                       /* bytes of bodies still being made, which stats.bytes includes */
	struct store_stats stats;              /* its bytes include these tables */
};

static struct store_memory *memory_of(struct store *s)
{
	return (struct store_memory *)(void *)s;
}

static struct memory_node *node_of(struct eviction_node *n)
{
	return (struct memory_node *)(void *)n;
}

static struct memory_bucket *url_bucket(struct store_memory *m, const char *key, size_t len)
{
	const char *end = memchr(key, '\n', len);

	return &m->by_url[hash_sip(m->secret, key, end ? (size_t)(end - key) : len) & m->mask];
}

static struct memory_node *memory_find(struct store_memory *m, uint64_t hash, const char *key, size_t len)
{
	struct memory_node *n;

	LIST_FOREACH(n, &m->by_key[hash & m->mask], by_key) {
		if (n->eviction.hash != hash)
			continue;
		entry_prefetch(n->entry);
		if (n->entry->key_len != len || memcmp(n->entry->key, key, len) != 0)
			continue;
		entry_prefetch_object(n->entry);
		return n;
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
	size_t bytes;

	if (!e->object)
		return 0;
	bytes = (size_t)object_length(e->object);
	if (object_gzip(e->object, &form) == OBJECT_GZIP_KEPT && form)
		bytes += (size_t)object_length(form);
	object_unref(&form);
	return bytes;
}

static size_t memory_bytes(struct memory_node *n)
{
	return n->entry->bytes + memory_gzip_bytes(n->entry) + heap_bytes(n);
}

static void memory_count(struct store_memory *m, struct memory_node *n)
{
	n->eviction.bytes = memory_bytes(n);
	m->stats.bytes += n->eviction.bytes;
	n->body = memory_body_bytes(n->entry);
	bodies_counted(n->body);
}

static void memory_uncount(struct store_memory *m, struct memory_node *n)
{
	m->stats.bytes -= n->eviction.bytes;
	bodies_uncounted(n->body);
}

/* Takes a node that has left the queues out of the tables and lists it as dead: dead nodes are freed after the lock is
 * released. */
static void memory_unlink(struct store_memory *m, struct memory_node *n, struct eviction_list *dead)
{
	LIST_REMOVE(n, by_key);
	LIST_REMOVE(n, by_url);
	m->stats.entries--;
	memory_uncount(m, n);
	TAILQ_INSERT_TAIL(dead, &n->eviction, link);
}

static void memory_drop(struct store_memory *m, struct memory_node *n, struct eviction_list *dead)
{
	eviction_remove(&m->eviction, &n->eviction);
	memory_unlink(m, n, dead);
}

static void memory_free_dead(struct eviction_list *dead)
{
	struct eviction_node *e;

	while ((e = TAILQ_FIRST(dead)) != NULL) {
		TAILQ_REMOVE(dead, e, link);
		entry_unref(&node_of(e)->entry);
		heap_give(node_of(e));
	}
}

/* Memory that is scattered between entries counts, too; but to make an entry leave frees it only once its neighbours
 * have left as well, so that few leave for it at a time. */
static void memory_make_room(struct store_memory *m, size_t bytes, struct eviction_list *dead)
{
	size_t scattered = heap_scattered();
	struct eviction_node *victim;

	for (unsigned n = 0; (victim = eviction_victim(&m->eviction,
	    m->stats.bytes + bytes + (n < SCATTERED_NODES ? scattered : 0))) != NULL; n++) {
		memory_unlink(m, node_of(victim), dead);
		m->stats.evictions++;
	}
}

/* Puts a stale copy in the entry's place; without memory for it the entry is dropped: false. */
static bool memory_expire(struct store_memory *m, struct memory_node *n, int64_t now, struct eviction_list *dead)
{
	struct entry *old = n->entry, *stale = entry_expired(old, now);

	if (!stale) {
		memory_drop(m, n, dead);
		return false;
	}
	eviction_remove(&m->eviction, &n->eviction);
	memory_uncount(m, n);
	n->entry = stale;
	memory_count(m, n);
	eviction_restore(&m->eviction, &n->eviction);
	entry_unref(&old);
	return true;
}

/* Carries a purge out on one entry that it covers. False: the entry is gone. */
static bool memory_purge_one(struct store_memory *m, struct memory_node *n, bool soft, int64_t now, int64_t *count,
    struct eviction_list *dead)
{
	if (soft && !n->entry->object)
		return true;
	*count += n->entry->object != NULL;
	if (soft)
		return memory_expire(m, n, now, dead);
	memory_drop(m, n, dead);
	return false;
}

/* Carries out what marks say of an entry that has not seen all of them. NULL: the entry is gone. */
static __attribute__((noinline)) struct memory_node *memory_judge(struct store_memory *m, struct memory_node *n,
    struct eviction_list *dead)
{
	struct purge_mark *mark;

	while ((mark = marks_next(m->marks, &n->eviction.seen, n->entry->key, n->entry->key_len)) != NULL)
		if (!memory_purge_one(m, n, mark->soft, mark->now, &mark->count, dead))
			return NULL;
	return n;
}

/* The entry, unless a purge covers it. */
static struct memory_node *memory_seek(struct store_memory *m, uint64_t hash, const char *key, size_t len)
{
	struct memory_node *n = memory_find(m, hash, key, len);

	return n && n->eviction.seen != m->marks->number ? memory_judge(m, n, &m->dead) : n;
}

static enum store_result memory_get(struct store *s, const char *key, size_t len, struct entry **entry,
    struct store_wait *w)
{
	struct store_memory *m = memory_of(s);
	uint64_t hash = hash_sip(m->secret, key, len);
	struct memory_node *n;

	(void)w;
	pthread_mutex_lock(&m->lock);
	if ((n = memory_seek(m, hash, key, len)) != NULL) {
		*entry = entry_ref(n->entry);
		eviction_hit(&n->eviction);
		m->stats.hits++;
	} else {
		m->stats.misses++;
	}
	pthread_mutex_unlock(&m->lock);
	return n ? STORE_FOUND : STORE_MISSING;
}

struct entry *store_memory_peek(struct store *s, const char *key, size_t len)
{
	struct store_memory *m = memory_of(s);
	struct memory_node *n;
	struct entry *e;

	pthread_mutex_lock(&m->lock);
	n = memory_seek(m, hash_sip(m->secret, key, len), key, len);
	e = n ? entry_ref(n->entry) : NULL;
	pthread_mutex_unlock(&m->lock);
	return e;
}

static void memory_cancel(struct store *s, struct store_wait *w)
{
	(void)s, (void)w;
}

/* The new entry inherits the queue and the hits of the one it replaces. */
static void memory_insert(struct store_memory *m, struct memory_node *n, struct eviction_list *dead)
{
	struct memory_node *old = memory_seek(m, n->eviction.hash, n->entry->key, n->entry->key_len);

	if (old) {
		n->eviction.main = old->eviction.main;
		n->eviction.hits = old->eviction.hits;
		memory_drop(m, old, dead);
	}
	memory_make_room(m, memory_bytes(n), dead);
	memory_count(m, n);
	n->eviction.seen = m->marks->number;
	if (old)
		eviction_restore(&m->eviction, &n->eviction);
	else
		eviction_insert(&m->eviction, &n->eviction);
	LIST_INSERT_HEAD(&m->by_key[n->eviction.hash & m->mask], n, by_key);
	LIST_INSERT_HEAD(url_bucket(m, n->entry->key, n->entry->key_len), n, by_url);
	m->stats.entries++;
}

static void memory_remove(struct store *s, const char *key, size_t len)
{
	struct store_memory *m = memory_of(s);
	uint64_t hash = hash_sip(m->secret, key, len);
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	struct memory_node *n;

	pthread_mutex_lock(&m->lock);
	if ((n = memory_find(m, hash, key, len)) != NULL)
		memory_drop(m, n, &dead);
	pthread_mutex_unlock(&m->lock);
	memory_free_dead(&dead);
}

/* Releases the lock, then frees the dead nodes. */
static void memory_unlock(struct store_memory *m, struct eviction_list *dead)
{
	pthread_mutex_unlock(&m->lock);
	memory_free_dead(dead);
}

/* An entry that cannot be stored still removes the one it would have replaced. */
static void memory_put(struct store *s, struct entry *e)
{
	struct store_memory *m = memory_of(s);
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	bool fits = e->bytes <= m->max_entry && e->bytes + memory_gzip_bytes(e) <= m->room;
	struct memory_node *n = fits ? heap_take_zeroed(HEAP_KEPT, sizeof *n) : NULL;

	if (!n) {
		memory_remove(s, e->key, e->key_len);
		return;
	}
	n->entry = entry_ref(e);
	n->eviction.hash = hash_sip(m->secret, e->key, e->key_len);
	pthread_mutex_lock(&m->lock);
	memory_insert(m, n, &dead);
	memory_unlock(m, &dead);
}

static size_t memory_making_max(const struct store_memory *m)
{
	size_t share = m->room / RESERVE_SHARE, both = share > BODIES_LOOSE_MAX / 2 ? share : BODIES_LOOSE_MAX / 2,
	       loose = bodies_loose();
	size_t left = both > loose ? both - loose : 0;

	return left < share ? left : share;
}

/* A single body may reserve all the room, since it could be stored, too. */
bool store_memory_reserve(struct store *s, size_t had, size_t wants)
{
	struct store_memory *m = memory_of(s);
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	size_t others;
	bool room;

	pthread_mutex_lock(&m->lock);
	others = m->reserved - had;
	if ((room = others + wants <= (others ? memory_making_max(m) : m->room))) {
		m->stats.bytes -= had;
		memory_make_room(m, wants, &dead);
		m->stats.bytes += wants;
		bodies_counted(wants - had);
		m->reserved = others + wants;
	}
	memory_unlock(m, &dead);
	return room;
}

void store_memory_release(struct store *s, size_t had)
{
	struct store_memory *m = memory_of(s);

	pthread_mutex_lock(&m->lock);
	m->reserved -= had;
	m->stats.bytes -= had;
	bodies_uncounted(had);
	pthread_mutex_unlock(&m->lock);
}

/* The entry leaves its queue and comes back with the gzip form counted. */
bool store_memory_keep_gzip(struct store *s, const char *key, size_t len, struct object *body,
    const struct object *form)
{
	struct store_memory *m = memory_of(s);
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	size_t more = entry_gzip_bytes(form);
	struct memory_node *n;

	pthread_mutex_lock(&m->lock);
	n = memory_seek(m, hash_sip(m->secret, key, len), key, len);
	if (n && (n->entry->object != body || n->entry->bytes + more > m->room))
		n = NULL;
	if (n) {
		eviction_remove(&m->eviction, &n->eviction);
		memory_uncount(m, n);
		memory_make_room(m, memory_bytes(n) + more, &dead);
		object_gzip_end(body, OBJECT_GZIP_KEPT);
		memory_count(m, n);
		eviction_restore(&m->eviction, &n->eviction);
	}
	memory_unlock(m, &dead);
	return n;
}

/* ---- purging ---- */

/* Whether a bucket has so few entries that a purge of one URL looks at all of them at once. */
static bool bucket_is_short(const struct memory_bucket *b)
{
	const struct memory_node *n = LIST_FIRST(b);
	int left = URL_NODES;

	for (; n && left; left--)
		n = LIST_NEXT(n, by_url);
	return !n;
}

/* Under the lock. */
static int64_t memory_purge_url(struct store_memory *m, const char *url, size_t len, bool soft, int64_t now,
    struct eviction_list *dead)
{
	struct memory_node *n, *next;
	int64_t count = 0;

	for (n = LIST_FIRST(url_bucket(m, url, len)); n; n = next) {
		next = LIST_NEXT(n, by_url);
		if (n->entry && (n->eviction.seen == m->marks->number || memory_judge(m, n, dead)) &&
		    store_purges(PURGE_URL, url, len, n->entry->key, n->entry->key_len))
			memory_purge_one(m, n, soft, now, &count, dead);
	}
	return count;
}

int64_t store_memory_purge(struct store *s, enum store_purge what, const char *url, size_t len, bool soft, int64_t now,
    uint32_t *number)
{
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	struct store_memory *m = memory_of(s);
	int64_t count = -1;

	pthread_mutex_lock(&m->lock);
	if (what == PURGE_URL && bucket_is_short(url_bucket(m, url, len)))
		count = memory_purge_url(m, url, len, soft, now, &dead);
	else
		*number = marks_add(m->marks, what, url, len, soft, now, m->mask + 1);
	memory_unlock(m, &dead);
	return count;
}

bool store_memory_purged(struct store *s, uint32_t number, int64_t *count)
{
	struct store_memory *m = memory_of(s);
	bool done;

	pthread_mutex_lock(&m->lock);
	done = marks_are_done(m->marks, number, count);
	pthread_mutex_unlock(&m->lock);
	return done;
}

/* Takes up the sweep where it stands: the next entry of the present bucket. */
static struct memory_node *sweep_resume(struct store_memory *m)
{
	struct memory_node *n, *here = &m->sweeps_here;

	if (!here->by_url.le_prev)
		return LIST_FIRST(&m->by_url[m->sweeps_at]);
	n = LIST_NEXT(here, by_url);
	LIST_REMOVE(here, by_url);
	here->by_url.le_prev = NULL;
	return n;
}

/* The sweep has come to a bucket's end: it goes to the next bucket. */
static struct memory_node *sweep_next_bucket(struct store_memory *m)
{
	marks_pass(m->marks);
	m->sweeps_at = (m->sweeps_at + 1) & m->mask;
	return LIST_FIRST(&m->by_url[m->sweeps_at]);
}

/* Under the lock. */
static void sweep_hold(struct store_memory *m, struct eviction_list *dead)
{
	struct memory_node *n = sweep_resume(m), *next;
	int nodes = SWEEP_NODES, buckets = SWEEP_BUCKETS;

	while (m->marks->n && nodes && buckets) {
		if (!n) {
			n = sweep_next_bucket(m);
			buckets--;
			continue;
		}
		next = LIST_NEXT(n, by_url);
		if (n->eviction.seen != m->marks->number)
			memory_judge(m, n, dead);
		n = next;
		nodes--;
	}
	if (!n && m->marks->n)
		n = sweep_next_bucket(m);
	if (n && n != LIST_FIRST(&m->by_url[m->sweeps_at]))
		LIST_INSERT_BEFORE(n, &m->sweeps_here, by_url);
}

bool store_memory_sweep(struct store *s)
{
	struct store_memory *m = memory_of(s);
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	bool more;

	pthread_mutex_lock(&m->lock);
	sweep_hold(m, &dead);
	TAILQ_CONCAT(&dead, &m->dead, link);
	more = m->marks->n;
	memory_unlock(m, &dead);
	return more;
}

/* The whole sweep in one go is for who has no loop, as tests and the end of the store. */
static int64_t memory_purge(struct store *s, enum store_purge what, const char *url, size_t len, bool soft, int64_t now)
{
	uint32_t number;
	int64_t count = store_memory_purge(s, what, url, len, soft, now, &number);

	if (count < 0) {
		while (store_memory_sweep(s))
			;
		store_memory_purged(s, number, &count);
	}
	return count;
}

static bool memory_settle(struct store *s, struct store_wait *w)
{
	(void)s, (void)w;
	return false;
}

static void memory_tell_stats(struct store *s, struct store_stats *stats)
{
	struct store_memory *m = memory_of(s);

	pthread_mutex_lock(&m->lock);
	*stats = m->stats;
	pthread_mutex_unlock(&m->lock);
}

static void memory_free(struct store *s)
{
	struct store_memory *m = memory_of(s);

	memory_purge(s, PURGE_ALL, "", 0, false, 0);
	memory_free_dead(&m->dead);
	marks_free(&m->marks);
	eviction_destroy(&m->eviction);
	free(m->by_key);
	free(m->by_url);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static const struct store_ops memory_ops = {
	.name = "memory", .get = memory_get, .cancel = memory_cancel, .put = memory_put, .remove = memory_remove,
	.purge = memory_purge, .settle = memory_settle, .stats = memory_tell_stats, .free = memory_free,
};

struct store *store_memory_new(size_t budget, size_t max_entry)
{
	struct store_memory *m = calloc(1, sizeof *m);
	size_t buckets = BUCKETS_MIN, own;

	if (!m)
		return NULL;
	while (buckets < budget / BYTES_PER_BUCKET)
		buckets *= 2;
	m->store.ops = &memory_ops;
	m->budget = budget;
	m->mask = buckets - 1;
	m->by_key = calloc(buckets, sizeof *m->by_key);
	m->by_url = calloc(buckets, sizeof *m->by_url);
	m->marks = marks_new();
	TAILQ_INIT(&m->dead);
	if (!m->by_key || !m->by_url || !m->marks || eviction_init(&m->eviction, budget, buckets) ||
	    getrandom(m->secret, sizeof m->secret, 0) != sizeof m->secret) {
		eviction_destroy(&m->eviction);
		marks_free(&m->marks);
		free(m->by_key);
		free(m->by_url);
		free(m);
		return NULL;
	}
	pthread_mutex_init(&m->lock, NULL);
	m->stats.bytes = sizeof *m + sizeof *m->marks + 2 * buckets * sizeof *m->by_key + eviction_memory(&m->eviction);
	own = m->stats.bytes + heap_bytes_for(sizeof(struct memory_node));
	m->room = budget > own ? budget - own : 0;
	m->max_entry = max_entry < m->room ? max_entry : m->room;
	return &m->store;
}
