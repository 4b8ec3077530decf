/* Stores, and gates against purges; see cache.h. */
#include "proxy/cache/cache_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "proxy/base/heap.h"
#include "proxy/store/store_memory.h"

static void cache_on_purged(void *arg, const struct store_mark *);

struct cache *cache_new(struct store *memory, struct store *second)
{
	struct cache *c = calloc(1, sizeof *c);

	if (!c || getrandom(c->secret, sizeof c->secret, 0) != sizeof c->secret || !(c->moves = moves_new())) {
		free(c);
		return NULL;
	}
	c->memory = memory;
	c->second = second;
	for (size_t i = 0; i < CACHE_GATE_LOCKS; i++)
		pthread_mutex_init(&c->gate_locks[i], NULL);
	pthread_mutex_init(&c->prefixes.lock, NULL);
	pthread_mutex_init(&c->lock, NULL);
	if (second && second->ops->listen)
		second->ops->listen(second, cache_on_purged, c);
	return c;
}

void cache_free(struct cache **cp)
{
	struct cache *c = *cp;

	if (!c)
		return;
	if (c->second && c->second->ops->listen)
		c->second->ops->listen(c->second, NULL, NULL);
	c->memory->ops->free(c->memory);
	if (c->second)
		c->second->ops->free(c->second);
	for (size_t i = 0; i < CACHE_GATE_LOCKS; i++)
		pthread_mutex_destroy(&c->gate_locks[i]);
	for (size_t i = 0; i < CACHE_PREFIXES; i++)
		free(c->prefixes.latest[i].url);
	pthread_mutex_destroy(&c->prefixes.lock);
	pthread_mutex_destroy(&c->lock);
	moves_free(&c->moves);
	free(c);
	*cp = NULL;
}

struct gate *cache_gate_lock(struct cache *c, size_t i)
{
	pthread_mutex_lock(&c->gate_locks[i % CACHE_GATE_LOCKS]);
	return &c->gates[i];
}

/* Finds and locks the gate of the key's URL, which is the key's first line. */
static struct gate *gate_open(struct cache *c, const char *key, size_t len)
{
	const char *end = memchr(key, '\n', len);

	return cache_gate_lock(c, cache_hash(c, key, end ? (size_t)(end - key) : len) % CACHE_GATES);
}

void cache_gate_close(struct cache *c, const struct gate *gate)
{
	pthread_mutex_unlock(&c->gate_locks[(size_t)(gate - c->gates) % CACHE_GATE_LOCKS]);
}

struct cache_ticket cache_ticket(struct cache *c, const char *key, size_t len)
{
	/* all before the gate: a purge in between counts */
	unsigned prefixes = atomic_load(&c->prefixes.n);
	uint64_t since = c->second ? atomic_load(&c->second->known) : 0;
	uint64_t asked = c->second ? atomic_load(&c->second->asked) : 0;
	const struct gate *gate = gate_open(c, key, len);
	struct cache_ticket ticket = { .gate = (unsigned)(gate - c->gates), .purges = gate->purges,
		.changes = gate->changes, .prefixes = prefixes, .since = since, .asked = asked };

	cache_gate_close(c, gate);
	return ticket;
}

struct cache_ticket cache_ticket_of(struct cache *c, const struct entry *found)
{
	struct cache_ticket ticket = cache_ticket(c, found->key, found->key_len);
	struct entry *there = store_memory_peek(c->memory, found->key, found->key_len);

	ticket.lost = there != found;
	entry_unref(&there);
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

bool cache_gate_lets_in(struct cache *c, const struct gate *gate, const struct cache_ticket *t, const char *key,
    size_t len)
{
	return !t->lost && !atomic_load(&c->retired) && gate->purges == t->purges &&
	    !prefixes_purged(&c->prefixes, t->prefixes, key, len);
}

/* Many URLs share a gate, and prefixes are forgotten: what memory still has was not purged. */
bool cache_ticket_is_spent(struct cache *c, const struct cache_ticket *t, const struct entry *found)
{
	struct gate *gate = gate_open(c, found->key, found->key_len);
	bool spent = gate->purges != t->purges ||
	    prefixes_purged(&c->prefixes, t->prefixes, found->key, found->key_len);
	struct entry *there;

	cache_gate_close(c, gate);
	if (!spent)
		return false;
	there = store_memory_peek(c->memory, found->key, found->key_len);
	spent = !there || there->object != found->object;
	entry_unref(&there);
	return spent;
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
		cache_gate_close(c, gate);
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

	if (gate->changes == ticket->changes && cache_gate_lets_in(c, gate, ticket, e->key, e->key_len)) {
		if (!(there = store_memory_peek(c->memory, e->key, e->key_len)))
			c->memory->ops->put(c->memory, e);
		entry_unref(&there);
	}
	cache_gate_close(c, gate);
}

void cache_cancel(struct cache *c, struct store_wait *w)
{
	if (c->second)
		c->second->ops->cancel(c->second, w);
}

/* Called under the lock of the key's gate. */
static void gate_put(struct cache *c, struct gate *gate, struct entry *e, const struct cache_ticket *ticket)
{
	gate->changes++;
	e->since = ticket->since;
	e->asked = ticket->asked;
	c->memory->ops->put(c->memory, e);
	if (c->second)
		c->second->ops->put(c->second, e);
}

bool cache_put(struct cache *c, struct entry *e, const struct cache_ticket *ticket)
{
	struct gate *gate = gate_open(c, e->key, e->key_len);
	bool good = cache_gate_lets_in(c, gate, ticket, e->key, e->key_len);

	if (good)
		gate_put(c, gate, e, ticket);
	cache_gate_close(c, gate);
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
	bool good = cache_gate_lets_in(c, gate, ticket, record->key, record->key_len);

	if (good) {
		record->generation = gate_generation(c, gate, record, known, ticket);
		gate_put(c, gate, record, ticket);
	}
	cache_gate_close(c, gate);
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
	cache_gate_close(c, gate);
}

void cache_listen(struct cache *c, cache_told_f *told, void *arg)
{
	c->told = told;
	c->told_arg = arg;
}

static void cache_tell(struct cache *c, enum store_purge what, const char *url, size_t len)
{
	if (c->told)
		c->told(c->told_arg, what, url, len);
}

int64_t cache_purge(struct cache *c, enum store_purge what, const char *url, size_t len, bool soft, int64_t now,
    uint32_t *number)
{
	int64_t count;

	moves_purge(c->moves, what, url, len);
	gates_mark_purge(c, what, url, len);
	cache_purge_busy(c, what, url, len);
	if (c->second) {
		c->second->ops->purge(c->second, what, url, len, soft, now);
		/* A lookup that began after the first mark may have read the second store before its purge: the second
		 * mark keeps what that lookup found out of memory. */
		gates_mark_purge(c, what, url, len);
	}
	/* Memory is purged last, for the sake of entries that lookups brought back before the marks. */
	count = store_memory_purge(c->memory, what, url, len, soft, now, number);
	/* A fill that began meanwhile may make something of what it still found there. */
	gates_mark_purge(c, what, url, len);
	cache_tell(c, what, url, len);
	return count;
}

static void cache_purge_here(struct cache *c, const struct store_mark *m)
{
	uint32_t number;

	moves_purge(c->moves, m->what, m->url, m->len);
	gates_mark_purge(c, m->what, m->url, m->len);
	cache_purge_busy(c, m->what, m->url, m->len);
	c->unswept += store_memory_purge(c->memory, m->what, m->url, m->len, m->soft, m->now, &number) < 0;
	gates_mark_purge(c, m->what, m->url, m->len);
	cache_tell(c, m->what, m->url, m->len);
	cache_forget_hit_for_miss(c);
}

/* Another process has purged the second store, which both processes use. The second store's thread calls this. It
 * sweeps memory itself, because it does not wait for a worker: once for many purges, but before their marks become too
 * many and cover more than was purged. */
static void cache_on_purged(void *arg, const struct store_mark *m)
{
	struct cache *c = arg;

	if (m)
		cache_purge_here(c, m);
	if (!c->unswept || (m && c->unswept < CACHE_UNSWEPT_MAX))
		return;
	while (store_memory_sweep(c->memory))
		;
	c->unswept = 0;
}

void cache_retire(struct cache *c)
{
	uint32_t number;

	if (c->second)
		return;
	atomic_store(&c->retired, true);
	cache_purge(c, PURGE_ALL, "", 0, false, 0, &number);
}

bool cache_is_retired(struct cache *c)
{
	return atomic_load(&c->retired);
}

void cache_inherit(struct cache *c)
{
	uint32_t number;

	if (!c->second)
		cache_purge(c, PURGE_ALL, "", 0, false, 0, &number);
}

struct moves *cache_moves(struct cache *c)
{
	return c->moves;
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
	stats_tell(to, GAUGE_MOVES, moves_count(c->moves));
	if (c->second)
		second_stats(c->second, to);
}
