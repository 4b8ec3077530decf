/* Owns purging the store in memory. A purge of one URL is carried out at once if the URL has few entries. Any other is
 * a mark (purge_marks.h), and a sweep through the buckets carries it out bit by bit.
 * Must not know: the budget, how entries are found. Invariant: no entry is found that a mark covers, since whoever
 * finds one judges it (memory_judge()). */
#include "proxy/store/store_memory_internal.h"

/* The sweep looks at so many entries, or empty buckets, under one hold of the lock, which takes some ten microseconds.
 * A purge of one URL removes that many of its entries at once; a URL with more variants gets a mark. */
enum { SWEEP_NODES = 64, SWEEP_BUCKETS = 1024, URL_NODES = 256 };

/* Puts a stale copy in the entry's place. NULL: out of memory, and the entry is gone. */
static struct memory_node *memory_expire(struct store_memory *memory, struct memory_node *node, int64_t now,
    struct eviction_list *dead)
{
	struct entry *old = node->entry, *stale = entry_expired(old, now);

	if (!stale) {
		memory_drop(memory, node, dead);
		return NULL;
	}
	eviction_remove(&memory->eviction, &node->eviction);
	memory_uncount(memory, node);
	node->entry = stale;
	memory_count(memory, node);
	eviction_restore(&memory->eviction, &node->eviction);
	entry_unref(&old);
	return node;
}

/* Carries a purge out on one entry that it covers. NULL: the entry is gone. */
static struct memory_node *memory_purge_one(struct store_memory *memory, struct memory_node *node, bool soft,
    int64_t now, int64_t *count, struct eviction_list *dead)
{
	if (soft && !node->entry->object)
		return node;
	*count += node->entry->object != NULL;
	if (soft)
		return memory_expire(memory, node, now, dead);
	memory_drop(memory, node, dead);
	return NULL;
}

struct memory_node *memory_judge(struct store_memory *memory, struct memory_node *node,
    struct eviction_list *dead)
{
	struct purge_mark *mark;

	while (node &&
	    (mark = marks_next(memory->marks, &node->eviction.seen, node->entry->key, node->entry->key_len)) != NULL)
		node = memory_purge_one(memory, node, mark->soft, mark->now, &mark->count, dead);
	return node;
}

/* Whether a bucket has so few entries that a purge of one URL looks at all of them at once. */
static bool bucket_is_short(const struct memory_bucket *bucket)
{
	const struct memory_node *node = LIST_FIRST(bucket);
	int left = URL_NODES;

	for (; node && left; left--)
		node = LIST_NEXT(node, by_url);
	return !node;
}

/* Under the lock. */
static int64_t memory_purge_url(struct store_memory *memory, const char *url, size_t len, bool soft, int64_t now,
    struct eviction_list *dead)
{
	struct memory_node *node, *next;
	int64_t count = 0;

	for (node = LIST_FIRST(memory_url_bucket(memory, url, len)); node; node = next) {
		next = LIST_NEXT(node, by_url);
		if (node->entry && (node->eviction.seen == memory->marks->number || memory_judge(memory, node, dead)) &&
		    store_purges(PURGE_URL, url, len, node->entry->key, node->entry->key_len))
			memory_purge_one(memory, node, soft, now, &count, dead);
	}
	return count;
}

int64_t store_memory_purge(struct store *store, enum store_purge what, const char *url, size_t len, bool soft,
    int64_t now, uint32_t *number)
{
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);
	struct store_memory *memory = memory_of(store);
	int64_t count = -1;

	pthread_mutex_lock(&memory->lock);
	if (what == PURGE_URL && bucket_is_short(memory_url_bucket(memory, url, len)))
		count = memory_purge_url(memory, url, len, soft, now, &dead);
	else
		*number = marks_add(memory->marks, what, url, len, soft, now, memory->mask + 1);
	memory_unlock(memory, &dead);
	return count;
}

bool store_memory_purged(struct store *store, uint32_t number, int64_t *count)
{
	struct store_memory *memory = memory_of(store);

	pthread_mutex_lock(&memory->lock);
	bool done = marks_are_done(memory->marks, number, count);
	pthread_mutex_unlock(&memory->lock);
	return done;
}

/* Takes up the sweep where it stands: the next entry of the present bucket. */
static struct memory_node *sweep_resume(struct store_memory *memory)
{
	struct memory_node *here = &memory->sweeps_here;

	if (!here->by_url.le_prev)
		return LIST_FIRST(&memory->by_url[memory->sweeps_at]);
	struct memory_node *node = LIST_NEXT(here, by_url);
	LIST_REMOVE(here, by_url);
	here->by_url.le_prev = NULL;
	return node;
}

/* The sweep has come to a bucket's end: it goes to the next bucket. */
static struct memory_node *sweep_next_bucket(struct store_memory *memory)
{
	marks_pass(memory->marks);
	memory->sweeps_at = (memory->sweeps_at + 1) & memory->mask;
	return LIST_FIRST(&memory->by_url[memory->sweeps_at]);
}

/* Under the lock. */
static void sweep_step(struct store_memory *memory, struct eviction_list *dead)
{
	struct memory_node *node = sweep_resume(memory), *next;
	int nodes = SWEEP_NODES, buckets = SWEEP_BUCKETS;

	while (memory->marks->n && nodes && buckets) {
		if (!node) {
			node = sweep_next_bucket(memory);
			buckets--;
			continue;
		}
		next = LIST_NEXT(node, by_url);
		if (node->eviction.seen != memory->marks->number)
			memory_judge(memory, node, dead);
		node = next;
		nodes--;
	}
	if (!node && memory->marks->n)
		node = sweep_next_bucket(memory);
	if (node && node != LIST_FIRST(&memory->by_url[memory->sweeps_at]))
		LIST_INSERT_BEFORE(node, &memory->sweeps_here, by_url);
}

bool store_memory_sweep(struct store *store)
{
	struct store_memory *memory = memory_of(store);
	struct eviction_list dead = TAILQ_HEAD_INITIALIZER(dead);

	pthread_mutex_lock(&memory->lock);
	sweep_step(memory, &dead);
	TAILQ_CONCAT(&dead, &memory->dead, link);
	bool done = !memory->marks->n;
	memory_unlock(memory, &dead);
	return done;
}

int64_t memory_purge(struct store *store, enum store_purge what, const char *url, size_t len, bool soft,
    int64_t now)
{
	uint32_t number;
	int64_t count = store_memory_purge(store, what, url, len, soft, now, &number);

	if (count < 0) {
		while (!store_memory_sweep(store))
			;
		store_memory_purged(store, number, &count);
	}
	return count;
}
