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
	struct cache *cache = calloc(1, sizeof *cache);

	if (!cache || getrandom(cache->secret, sizeof cache->secret, 0) != sizeof cache->secret ||
	    !(cache->moves = moves_new()) || !(cache->prefixes = prefixes_new())) {
		if (cache)
			moves_free(&cache->moves);
		free(cache);
		return NULL;
	}
	cache->memory = memory;
	cache->second = second;
	for (size_t i = 0; i < CACHE_GATE_LOCKS; i++)
		pthread_mutex_init(&cache->gate_locks[i], NULL);
	pthread_mutex_init(&cache->lock, NULL);
	if (second && second->ops->listen)
		second->ops->listen(second, cache_on_purged, cache);
	return cache;
}

void cache_free(struct cache **cp)
{
	struct cache *cache = *cp;

	if (!cache)
		return;
	if (cache->second && cache->second->ops->listen)
		cache->second->ops->listen(cache->second, NULL, NULL);
	cache->memory->ops->free(cache->memory);
	if (cache->second)
		cache->second->ops->free(cache->second);
	for (size_t i = 0; i < CACHE_GATE_LOCKS; i++)
		pthread_mutex_destroy(&cache->gate_locks[i]);
	prefixes_free(&cache->prefixes);
	pthread_mutex_destroy(&cache->lock);
	moves_free(&cache->moves);
	free(cache);
	*cp = NULL;
}

struct gate *cache_gate_lock(struct cache *cache, size_t i)
{
	pthread_mutex_lock(&cache->gate_locks[i % CACHE_GATE_LOCKS]);
	return &cache->gates[i];
}

/* The hash of the key's URL, which is the key's first line. */
static uint64_t gate_hash(const struct cache *cache, const char *key, size_t len)
{
	const char *end = memchr(key, '\n', len);

	return cache_hash(cache, key, end ? (size_t)(end - key) : len);
}

/* Finds and locks the gate of the key's URL. */
static struct gate *gate_open(struct cache *cache, const char *key, size_t len)
{
	return cache_gate_lock(cache, gate_hash(cache, key, len) % CACHE_GATES);
}

void cache_gate_close(struct cache *cache, const struct gate *gate)
{
	pthread_mutex_unlock(&cache->gate_locks[(size_t)(gate - cache->gates) % CACHE_GATE_LOCKS]);
}

struct cache_ticket cache_ticket(struct cache *cache, const char *key, size_t len)
{
	/* all before the gate: a purge in between counts */
	uint64_t prefixes = prefixes_number(cache->prefixes);
	struct store *second = cache->second ? store_of(cache->second, key, len) : NULL;
	uint64_t since = second ? atomic_load(&second->known) : 0, asked = second ? atomic_load(&second->asked) : 0;
	const struct gate *gate = gate_open(cache, key, len);
	struct cache_ticket ticket = { .gate = (unsigned)(gate - cache->gates), .purges = gate->purges,
		.changes = gate->changes, .prefixes = prefixes, .since = since, .asked = asked };

	cache_gate_close(cache, gate);
	return ticket;
}

struct cache_ticket cache_ticket_of(struct cache *cache, const struct entry *found)
{
	struct cache_ticket ticket = cache_ticket(cache, found->key, found->key_len);
	struct entry *there = store_memory_peek(cache->memory, found->key, found->key_len);

	ticket.lost = there != found;
	entry_unref(&there);
	return ticket;
}

/* Whether the latest purges have one of the key's URL since the given number. Called under the lock of its gate. */
static bool gate_knows_purge(const struct cache *cache, const struct gate *gate, uint64_t since, const char *key,
    size_t len)
{
	if (gate->purges == since)
		return false;
	uint64_t url = gate_hash(cache, key, len);
	bool purged = false;
	for (size_t i = 0; i < GATE_URLS && !purged; i++)
		purged = gate->latest[i].url == url && gate->latest[i].purge > since;
	return purged;
}

/* As gate_knows_purge(); a purge that is forgotten may have been of any URL. */
static bool gate_purged(const struct cache *cache, const struct gate *gate, uint64_t since, const char *key, size_t len)
{
	return gate->forgotten > since || gate_knows_purge(cache, gate, since, key, len);
}

bool cache_gate_lets_in(struct cache *cache, const struct gate *gate, const struct cache_ticket *ticket,
    const char *key, size_t len)
{
	return !ticket->lost && !atomic_load(&cache->retired) && !gate_purged(cache, gate, ticket->purges, key, len) &&
	    !prefixes_purged(cache->prefixes, ticket->prefixes, key, len);
}

/* Purges are forgotten, and count for more than they covered then: what memory still has was not purged. */
bool cache_ticket_is_spent(struct cache *cache, const struct cache_ticket *ticket, const struct entry *found)
{
	struct gate *gate = gate_open(cache, found->key, found->key_len);
	bool spent = gate_purged(cache, gate, ticket->purges, found->key, found->key_len) ||
	    prefixes_purged(cache->prefixes, ticket->prefixes, found->key, found->key_len);

	cache_gate_close(cache, gate);
	if (!spent)
		return false;
	struct entry *there = store_memory_peek(cache->memory, found->key, found->key_len);
	spent = !there || there->object != found->object;
	entry_unref(&there);
	return spent;
}

/* Called under the lock of the gate. */
static void gate_note_purge(struct gate *gate, uint64_t url)
{
	size_t at = 0;

	for (size_t i = 0; i < GATE_URLS && gate->latest[at].url != url; i++)
		if (gate->latest[i].url == url || gate->latest[i].purge < gate->latest[at].purge)
			at = i;
	if (gate->latest[at].url != url && gate->latest[at].purge > gate->forgotten)
		gate->forgotten = gate->latest[at].purge;
	gate->latest[at].url = url;
	gate->latest[at].purge = ++gate->purges;
}

/* Takes the gate locks even for a prefix: an entry that is just being stored is in the store when this returns, and the
 * purge that follows finds it. */
static void gates_mark_purge(struct cache *cache, enum store_purge what, const char *url, size_t len)
{
	if (what == PURGE_URL) {
		uint64_t hash = gate_hash(cache, url, len);
		struct gate *gate = cache_gate_lock(cache, hash % CACHE_GATES);

		gate_note_purge(gate, hash);
		cache_gate_close(cache, gate);
		return;
	}
	if (what == PURGE_PREFIX)
		prefixes_add(cache->prefixes, url, len);
	for (size_t i = 0; i < CACHE_GATE_LOCKS; i++) {
		pthread_mutex_lock(&cache->gate_locks[i]);
		for (size_t at = i; what == PURGE_ALL && at < CACHE_GATES; at += CACHE_GATE_LOCKS)
			cache->gates[at].forgotten = ++cache->gates[at].purges;
		pthread_mutex_unlock(&cache->gate_locks[i]);
	}
}

enum store_result cache_get(struct cache *cache, const char *key, size_t len, struct entry **entry,
    struct store_wait *wait, struct cache_ticket *ticket)
{
	enum store_result r = cache->memory->ops->get(cache->memory, key, len, entry, wait);

	if (r != STORE_MISSING || !cache->second)
		return r;
	*ticket = cache_ticket(cache, key, len);
	r = cache->second->ops->get(cache->second, key, len, entry, wait);
	if (r == STORE_FOUND)
		cache_warm(cache, *entry, ticket);
	return r;
}

struct entry *cache_peek(struct cache *cache, const char *key, size_t len)
{
	return store_memory_peek(cache->memory, key, len);
}

void cache_warm(struct cache *cache, struct entry *e, const struct cache_ticket *ticket)
{
	struct gate *gate = gate_open(cache, e->key, e->key_len);
	struct entry *there;

	if (gate->changes == ticket->changes && cache_gate_lets_in(cache, gate, ticket, e->key, e->key_len)) {
		if (!(there = store_memory_peek(cache->memory, e->key, e->key_len)))
			cache->memory->ops->put(cache->memory, e);
		entry_unref(&there);
	}
	cache_gate_close(cache, gate);
}

/* If memory has no entry, one may have been removed since the ticket. It may have been e, so e is not put back. */
static bool gate_freshens(const struct gate *gate, const struct entry *e, const struct entry *there,
    const struct cache_ticket *ticket)
{
	if (!there)
		return gate->changes == ticket->changes;
	return e->vary || there->vary || e->generation != there->generation ||
	    e->freshness.response_time > there->freshness.response_time;
}

bool cache_freshen(struct cache *cache, struct entry *e, const struct entry *known, const struct cache_ticket *ticket)
{
	struct gate *gate = gate_open(cache, e->key, e->key_len);
	struct entry *there = store_memory_peek(cache->memory, e->key, e->key_len);
	bool good = cache_gate_lets_in(cache, gate, ticket, e->key, e->key_len) &&
	    gate_freshens(gate, e, there, ticket);

	if (good)
		cache->memory->ops->put(cache->memory, e);
	cache_gate_close(cache, gate);
	good |= !there || there != known;
	entry_unref(&there);
	return good;
}

void cache_forget_index(struct cache *cache, const char *key, size_t len)
{
	cache->memory->ops->remove(cache->memory, key, len);
}

void cache_cancel(struct cache *cache, struct store_wait *wait)
{
	if (cache->second)
		cache->second->ops->cancel(cache->second, wait);
}

/* Called under the lock of the key's gate. */
static void gate_put(struct cache *cache, struct gate *gate, struct entry *e, const struct cache_ticket *ticket)
{
	gate->changes++;
	e->since = ticket->since;
	e->asked = ticket->asked;
	cache->memory->ops->put(cache->memory, e);
	if (cache->second)
		cache->second->ops->put(cache->second, e);
}

bool cache_put(struct cache *cache, struct entry *e, const struct cache_ticket *ticket)
{
	struct gate *gate = gate_open(cache, e->key, e->key_len);
	bool good = cache_gate_lets_in(cache, gate, ticket, e->key, e->key_len);

	if (good)
		gate_put(cache, gate, e, ticket);
	cache_gate_close(cache, gate);
	return good;
}

/* Of all processes that share a store no two give the same number, because the secret is the process's own. */
static uint64_t generation_new(struct cache *cache)
{
	unsigned n = atomic_fetch_add(&cache->generations, 1);
	uint64_t generation = hash_sip(cache->secret, &n, sizeof n);

	return generation == CACHE_GENERATION_NONE ? 1 : generation;
}

/* Called under the lock of the key's gate. */
static uint64_t gate_generation(struct cache *cache, const struct gate *gate, const struct entry *index,
    uint64_t known, const struct cache_ticket *ticket)
{
	struct entry *there = store_memory_peek(cache->memory, index->key, index->key_len);
	uint64_t n = CACHE_GENERATION_NONE;

	if (there && there->vary && !strcmp(there->vary, index->vary))
		n = there->generation;
	else if (!there && gate->changes == ticket->changes)
		n = known;
	entry_unref(&there);
	return n != CACHE_GENERATION_NONE ? n : generation_new(cache);
}

bool cache_put_variants(struct cache *cache, struct entry *index, uint64_t known, const struct cache_ticket *ticket)
{
	struct gate *gate = gate_open(cache, index->key, index->key_len);
	bool good = cache_gate_lets_in(cache, gate, ticket, index->key, index->key_len);

	if (good) {
		index->generation = gate_generation(cache, gate, index, known, ticket);
		gate_put(cache, gate, index, ticket);
	}
	cache_gate_close(cache, gate);
	return good;
}

bool cache_keep_gzip(struct cache *cache, const char *key, size_t len, struct object *body, const struct object *form)
{
	return store_memory_keep_gzip(cache->memory, key, len, body, form);
}

bool cache_reserve(struct cache *cache, size_t had, size_t wants)
{
	return store_memory_reserve(cache->memory, had, wants);
}

void cache_release(struct cache *cache, size_t had)
{
	if (had)
		store_memory_release(cache->memory, had);
}

/* Called under the lock of the key's gate. */
static void gate_remove(struct cache *cache, struct gate *gate, const char *key, size_t len)
{
	gate->changes++;
	cache->memory->ops->remove(cache->memory, key, len);
	if (cache->second)
		cache->second->ops->remove(cache->second, key, len);
}

void cache_remove(struct cache *cache, const char *key, size_t len)
{
	struct gate *gate = gate_open(cache, key, len);

	gate_remove(cache, gate, key, len);
	cache_gate_close(cache, gate);
}

void cache_outdate(struct cache *cache, const char *key, size_t len, const struct cache_ticket *ticket)
{
	struct gate *gate = gate_open(cache, key, len);

	if (!gate_knows_purge(cache, gate, ticket->purges, key, len))
		gate_remove(cache, gate, key, len);
	cache_gate_close(cache, gate);
}

void cache_listen(struct cache *cache, cache_told_f *told, void *arg)
{
	cache->told = told;
	cache->told_arg = arg;
}

static void cache_tell(struct cache *cache, enum store_purge what, const char *url, size_t len)
{
	if (cache->told)
		cache->told(cache->told_arg, what, url, len);
}

int64_t cache_purge(struct cache *cache, enum store_purge what, const char *url, size_t len, bool soft, int64_t now,
    uint32_t *number)
{
	moves_purge(cache->moves, what, url, len);
	gates_mark_purge(cache, what, url, len);
	cache_purge_busy(cache, what, url, len);
	if (cache->second) {
		cache->second->ops->purge(cache->second, what, url, len, soft, now);
		/* A lookup that began after the first mark may have read the second store before its purge: the second
		 * mark keeps what that lookup found out of memory. */
		gates_mark_purge(cache, what, url, len);
	}
	/* Memory is purged last, for the sake of entries that lookups brought back before the marks. */
	int64_t count = store_memory_purge(cache->memory, what, url, len, soft, now, number);
	/* A fill that began meanwhile may make something of what it still found there. */
	gates_mark_purge(cache, what, url, len);
	cache_tell(cache, what, url, len);
	return count;
}

static void cache_purge_here(struct cache *cache, const struct store_mark *mark)
{
	uint32_t number;

	moves_purge(cache->moves, mark->what, mark->url, mark->len);
	gates_mark_purge(cache, mark->what, mark->url, mark->len);
	cache_purge_busy(cache, mark->what, mark->url, mark->len);
	cache->unswept +=
	    store_memory_purge(cache->memory, mark->what, mark->url, mark->len, mark->soft, mark->now, &number) < 0;
	gates_mark_purge(cache, mark->what, mark->url, mark->len);
	cache_tell(cache, mark->what, mark->url, mark->len);
	cache_forget_hit_for_miss(cache);
}

/* Another process has purged the second store, which both processes use. The second store's thread calls this. It
 * sweeps memory itself, because it does not wait for a worker: once for many purges, but before their marks become too
 * many and cover more than was purged. */
static void cache_on_purged(void *arg, const struct store_mark *mark)
{
	struct cache *cache = arg;

	if (mark)
		cache_purge_here(cache, mark);
	if (!cache->unswept || (mark && cache->unswept < CACHE_UNSWEPT_MAX))
		return;
	while (!store_memory_sweep(cache->memory))
		;
	cache->unswept = 0;
}

void cache_retire(struct cache *cache)
{
	uint32_t number;

	if (cache->second)
		return;
	atomic_store(&cache->retired, true);
	cache_purge(cache, PURGE_ALL, "", 0, false, 0, &number);
}

bool cache_is_retired(struct cache *cache)
{
	return atomic_load(&cache->retired);
}

void cache_inherit(struct cache *cache)
{
	uint32_t number;

	if (!cache->second)
		cache_purge(cache, PURGE_ALL, "", 0, false, 0, &number);
}

struct moves *cache_moves(struct cache *cache)
{
	return cache->moves;
}

bool cache_sweep(struct cache *cache)
{
	return store_memory_sweep(cache->memory);
}

bool cache_purged(struct cache *cache, uint32_t number, int64_t *count)
{
	return store_memory_purged(cache->memory, number, count);
}

struct store *cache_behind(struct cache *cache, enum store_purge what, const char *url, size_t len)
{
	return cache->second && what == PURGE_URL ? store_of(cache->second, url, len) : cache->second;
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

void cache_stats(struct cache *cache, struct stats_gauges *to)
{
	cache_memory_stats(cache->memory, to);
	stats_tell(to, GAUGE_MOVES, moves_count(cache->moves));
	if (cache->second)
		second_stats(cache->second, to);
}
