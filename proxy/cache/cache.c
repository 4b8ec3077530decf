/* Stores and responses in the making; see cache.h. */
#include "proxy/cache/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "proxy/base/hash.h"
#include "proxy/base/heap.h"

enum { CACHE_BUCKETS = 1024, CACHE_HINTS = 4096, CACHE_GATES = 1024, CACHE_GATE_LOCKS = 16, CACHE_PREFIXES = 64 };

struct busy {
	LIST_ENTRY(busy) link;
	struct object *object;         /* the fill that makes it holds the reference */
	size_t len;
	char key[];
};

struct gate { unsigned purges, changes; };

/* The URLs of the latest purges by prefix. */
struct prefixes {
	pthread_mutex_t lock;
	atomic_uint n;                 /* purges by prefix so far; changes under the lock */
	/* purge number n is at n % CACHE_PREFIXES; url NULL, for want of memory: it counts for every URL */
	struct { char *url; size_t len; } latest[CACHE_PREFIXES];
};

struct cache {
	struct store *memory, *second;
	uint64_t secret[2];
	/* each guards every CACHE_GATE_LOCKS-th gate; held while an entry goes in */
	pthread_mutex_t gate_locks[CACHE_GATE_LOCKS];
	struct gate gates[CACHE_GATES];        /* by the hash of a URL */
	struct prefixes prefixes;
	atomic_uint generations;       /* of records of variants, given so far */
	atomic_uint ends;              /* objects that were in flight and were taken out */
	pthread_mutex_t lock;
	LIST_HEAD(, busy) busy[CACHE_BUCKETS];
	/* by hash of the key: the hash's upper half, then the second until which the hint holds; 0: none */
	_Atomic uint64_t hit_for_miss[CACHE_HINTS];
};

struct cache *cache_new(struct store *memory, struct store *second)
{
	struct cache *c = calloc(1, sizeof *c);

	if (!c || getrandom(c->secret, sizeof c->secret, 0) != sizeof c->secret) {
		free(c);
		return NULL;
	}
	c->memory = memory;
	c->second = second;
	for (size_t i = 0; i < CACHE_GATE_LOCKS; i++)
		pthread_mutex_init(&c->gate_locks[i], NULL);
	pthread_mutex_init(&c->prefixes.lock, NULL);
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
	for (size_t i = 0; i < CACHE_GATE_LOCKS; i++)
		pthread_mutex_destroy(&c->gate_locks[i]);
	for (size_t i = 0; i < CACHE_PREFIXES; i++)
		free(c->prefixes.latest[i].url);
	pthread_mutex_destroy(&c->prefixes.lock);
	pthread_mutex_destroy(&c->lock);
	free(c);
	*cp = NULL;
}

/* Clients choose the keys. The hash takes a secret, so that a client cannot choose keys that share a bucket. */
static uint64_t cache_hash(const struct cache *c, const char *key, size_t len)
{
	return hash_sip(c->secret, key, len);
}

static struct gate *gate_lock(struct cache *c, size_t i)
{
	pthread_mutex_lock(&c->gate_locks[i % CACHE_GATE_LOCKS]);
	return &c->gates[i];
}

/* Finds and locks the gate of the key's URL, which is the key's first line. */
static struct gate *gate_open(struct cache *c, const char *key, size_t len)
{
	const char *end = memchr(key, '\n', len);

	return gate_lock(c, cache_hash(c, key, end ? (size_t)(end - key) : len) % CACHE_GATES);
}

static void gate_close(struct cache *c, const struct gate *gate)
{
	pthread_mutex_unlock(&c->gate_locks[(size_t)(gate - c->gates) % CACHE_GATE_LOCKS]);
}

struct cache_ticket cache_ticket(struct cache *c, const char *key, size_t len)
{
	unsigned prefixes = atomic_load(&c->prefixes.n);       /* before the gate: a purge in between counts */
	const struct gate *gate = gate_open(c, key, len);
	struct cache_ticket ticket = { .gate = (unsigned)(gate - c->gates), .purges = gate->purges,
		.changes = gate->changes, .prefixes = prefixes };

	gate_close(c, gate);
	return ticket;
}

/* Whether a purge by prefix since the given number took away this key. Where more have come since than are remembered,
 * one of them is taken to have done so. */
static bool prefixes_purged(struct prefixes *p, unsigned since, const char *key, size_t len)
{
	bool purged;

	if (atomic_load(&p->n) == since)
		return false;
	pthread_mutex_lock(&p->lock);
	purged = p->n - since > CACHE_PREFIXES;
	for (unsigned i = since; i != p->n && !purged; i++) {
		const char *url = p->latest[i % CACHE_PREFIXES].url;

		purged = !url || store_purges(PURGE_PREFIX, url, p->latest[i % CACHE_PREFIXES].len, key, len);
	}
	pthread_mutex_unlock(&p->lock);
	return purged;
}

/* Called under the lock of the key's gate. */
static bool gate_lets_in(struct cache *c, const struct gate *gate, const struct cache_ticket *t, const char *key,
    size_t len)
{
	return gate->purges == t->purges && !prefixes_purged(&c->prefixes, t->prefixes, key, len);
}

static void prefixes_add(struct prefixes *p, const char *url, size_t len)
{
	char *copy = malloc(len ? len : 1);
	size_t at;

	if (copy)
		memcpy(copy, url, len);
	pthread_mutex_lock(&p->lock);
	at = p->n % CACHE_PREFIXES;
	free(p->latest[at].url);
	p->latest[at].url = copy;
	p->latest[at].len = len;
	atomic_fetch_add(&p->n, 1);
	pthread_mutex_unlock(&p->lock);
}

/* Takes the gate locks even for a prefix: an entry that is just being stored is in the store when this returns, and the
 * purge that follows finds it. */
static void gates_mark_purge(struct cache *c, enum store_purge what, const char *url, size_t len)
{
	struct gate *gate;

	if (what == PURGE_URL) {
		gate = gate_open(c, url, len);
		gate->purges++;
		gate_close(c, gate);
		return;
	}
	if (what == PURGE_PREFIX)
		prefixes_add(&c->prefixes, url, len);
	for (size_t i = 0; i < CACHE_GATE_LOCKS; i++) {
		pthread_mutex_lock(&c->gate_locks[i]);
		for (size_t at = i; what == PURGE_ALL && at < CACHE_GATES; at += CACHE_GATE_LOCKS)
			c->gates[at].purges++;
		pthread_mutex_unlock(&c->gate_locks[i]);
	}
}

enum store_result cache_get(struct cache *c, const char *key, size_t len, struct entry **entry, struct store_wait *w,
    struct cache_ticket *ticket)
{
	enum store_result r = c->memory->ops->get(c->memory, key, len, entry, w);

	if (r != STORE_MISSING || !c->second)
		return r;
	*ticket = cache_ticket(c, key, len);
	r = c->second->ops->get(c->second, key, len, entry, w);
	if (r == STORE_FOUND)
		cache_warm(c, *entry, ticket);
	return r;
}

struct entry *cache_peek(struct cache *c, const char *key, size_t len)
{
	return store_memory_peek(c->memory, key, len);
}

void cache_warm(struct cache *c, struct entry *e, const struct cache_ticket *ticket)
{
	struct gate *gate = gate_open(c, e->key, e->key_len);
	struct entry *there;

	if (gate->changes == ticket->changes && gate_lets_in(c, gate, ticket, e->key, e->key_len)) {
		if (!(there = store_memory_peek(c->memory, e->key, e->key_len)))
			c->memory->ops->put(c->memory, e);
		entry_unref(&there);
	}
	gate_close(c, gate);
}

void cache_cancel(struct cache *c, struct store_wait *w)
{
	if (c->second)
		c->second->ops->cancel(c->second, w);
}

/* Called under the lock of the key's gate. */
static void gate_put(struct cache *c, struct gate *gate, struct entry *e)
{
	gate->changes++;
	c->memory->ops->put(c->memory, e);
	if (c->second)
		c->second->ops->put(c->second, e);
}

bool cache_put(struct cache *c, struct entry *e, const struct cache_ticket *ticket)
{
	struct gate *gate = gate_open(c, e->key, e->key_len);
	bool good = gate_lets_in(c, gate, ticket, e->key, e->key_len);

	if (good)
		gate_put(c, gate, e);
	gate_close(c, gate);
	return good;
}

/* Of all processes that share a store no two give the same number, because the secret is the process's own. */
static uint64_t generation_new(struct cache *c)
{
	unsigned n = atomic_fetch_add(&c->generations, 1);
	uint64_t generation = hash_sip(c->secret, &n, sizeof n);

	return generation == CACHE_GENERATION_NONE ? 1 : generation;
}

/* Called under the lock of the key's gate. */
static uint64_t gate_generation(struct cache *c, const struct gate *gate, const struct entry *record, uint64_t known,
    const struct cache_ticket *ticket)
{
	struct entry *there = store_memory_peek(c->memory, record->key, record->key_len);
	uint64_t n = CACHE_GENERATION_NONE;

	if (there && there->vary && !strcmp(there->vary, record->vary))
		n = there->generation;
	else if (!there && gate->changes == ticket->changes)
		n = known;
	entry_unref(&there);
	return n != CACHE_GENERATION_NONE ? n : generation_new(c);
}

bool cache_put_variants(struct cache *c, struct entry *record, uint64_t known, const struct cache_ticket *ticket)
{
	struct gate *gate = gate_open(c, record->key, record->key_len);
	bool good = gate_lets_in(c, gate, ticket, record->key, record->key_len);

	if (good) {
		record->generation = gate_generation(c, gate, record, known, ticket);
		gate_put(c, gate, record);
	}
	gate_close(c, gate);
	return good;
}

bool cache_keep_gzip(struct cache *c, const char *key, size_t len, struct object *body, const struct object *form)
{
	return store_memory_keep_gzip(c->memory, key, len, body, form);
}

bool cache_reserve(struct cache *c, size_t had, size_t wants)
{
	return store_memory_reserve(c->memory, had, wants);
}

void cache_release(struct cache *c, size_t had)
{
	if (had)
		store_memory_release(c->memory, had);
}

void cache_remove(struct cache *c, const char *key, size_t len)
{
	struct gate *gate = gate_open(c, key, len);

	gate->changes++;
	c->memory->ops->remove(c->memory, key, len);
	if (c->second)
		c->second->ops->remove(c->second, key, len);
	gate_close(c, gate);
}

/* A response in the making was asked for before the purge, so no request may join it any more. */
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

int64_t cache_purge(struct cache *c, enum store_purge what, const char *url, size_t len, bool soft, int64_t now,
    uint32_t *number)
{
	gates_mark_purge(c, what, url, len);
	cache_purge_busy(c, what, url, len);
	if (c->second) {
		c->second->ops->purge(c->second, what, url, len, soft, now);
		/* A lookup that began after the first mark may have read the second store before its purge: the second
		 * mark keeps what that lookup found out of memory. */
		gates_mark_purge(c, what, url, len);
	}
	/* Memory is purged last, for the sake of entries that lookups brought back before the marks. */
	return store_memory_purge(c->memory, what, url, len, soft, now, number);
}

bool cache_sweep(struct cache *c)
{
	return store_memory_sweep(c->memory);
}

bool cache_purged(struct cache *c, uint32_t number, int64_t *count)
{
	return store_memory_purged(c->memory, number, count);
}

bool cache_settle(struct cache *c, struct store_wait *w)
{
	return c->second && c->second->ops->settle(c->second, w);
}

static void cache_memory_stats(struct store *memory, struct stats_gauges *to)
{
	struct heap_sums heap = heap_sums();
	struct store_stats s;

	memory->ops->stats(memory, &s);
	stats_tell(to, GAUGE_HEAP_BYTES, heap.pieces);
	stats_tell(to, GAUGE_HEAP_SPARE_BYTES, heap.used + heap.spare - heap.pieces);
	stats_tell(to, GAUGE_CACHE_ENTRIES, s.entries);
	stats_tell(to, GAUGE_CACHE_BYTES, s.bytes);
	stats_tell(to, GAUGE_CACHE_EVICTIONS, s.evictions);
	stats_tell(to, GAUGE_CACHE_LOOKUPS_FOUND, s.hits);
	stats_tell(to, GAUGE_CACHE_LOOKUPS_MISSED, s.misses);
}

static void second_stats(struct store *second, struct stats_gauges *to)
{
	struct store_stats s;

	second->ops->stats(second, &s);
	stats_tell(to, GAUGE_SECOND_HITS, s.hits);
	stats_tell(to, GAUGE_SECOND_MISSES, s.misses);
	stats_tell(to, GAUGE_SECOND_ERRORS, s.errors);
	stats_tell(to, GAUGE_SECOND_OWED, s.owed);
	stats_tell(to, GAUGE_SECOND_AWAY, s.away);
	if (s.shared)
		return;
	stats_tell(to, GAUGE_SECOND_ENTRIES, s.entries);
	stats_tell(to, GAUGE_SECOND_BYTES, s.bytes);
	stats_tell(to, GAUGE_SECOND_EVICTIONS, s.evictions);
}

void cache_stats(struct cache *c, struct stats_gauges *to)
{
	cache_memory_stats(c->memory, to);
	if (c->second)
		second_stats(c->second, to);
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

/* Where there is no memory for the record, the caller's response is made all the same, but nobody can join it. */
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
		gate = gate_lock(c, ticket->gate);
		if (gate_lets_in(c, gate, ticket, key->at, key->len))
			atomic_store_explicit(slot, hint, memory_order_relaxed);
		gate_close(c, gate);
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
