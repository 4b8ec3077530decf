/* One store of several; see store_shards.h. A URL with all its variants is in one of them, chosen by its hash. What
 * concerns more than a URL concerns all. */
#include "proxy/store/store_shards.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/container_of.h"
#include "proxy/base/hash.h"
#include "proxy/store/store_thread.h"

struct store_shards {
	struct store store;
	struct store *of[STORE_SHARDS];
};

/* A settlement of all. It belongs to the loop on which somebody waits for it. */
struct shard_wait { struct store_wait wait; struct shards_wait *all; };
struct shards_wait {
	struct store_wait *by;
	size_t waiting;
	struct shard_wait of[STORE_SHARDS];
};

static struct store_shards *shards_of(struct store *store)
{
	return container_of(store, struct store_shards, store);
}

static struct store *shards_shard(struct store *store, const char *key, size_t len)
{
	const char *end = memchr(key, '\n', len);

	return shards_of(store)->of[hash_xx64(key, end ? (size_t)(end - key) : len) % STORE_SHARDS];
}

static enum store_result shards_get(struct store *store, const char *key, size_t len, struct entry **entry,
    struct store_wait *wait)
{
	struct store *shard = shards_shard(store, key, len);

	return shard->ops->get(shard, key, len, entry, wait);
}

static void shards_put(struct store *store, struct entry *e)
{
	struct store *shard = shards_shard(store, e->key, e->key_len);

	shard->ops->put(shard, e);
}

static void shards_remove(struct store *store, const char *key, size_t len)
{
	struct store *shard = shards_shard(store, key, len);

	shard->ops->remove(shard, key, len);
}

static int64_t shards_purge(struct store *store, enum store_purge what, const char *url, size_t len, bool soft,
    int64_t now)
{
	struct store *shard = shards_shard(store, url, len);

	if (what == PURGE_URL)
		return shard->ops->purge(shard, what, url, len, soft, now);
	for (size_t i = 0; i < STORE_SHARDS; i++) {
		shard = shards_of(store)->of[i];
		shard->ops->purge(shard, what, url, len, soft, now);
	}
	return -1;
}

static void shards_on_settled(struct store_wait *wait, struct entry *none)
{
	struct shards_wait *all = container_of(wait, struct shard_wait, wait)->all;
	struct store_wait *by = all->by;

	(void)none;
	by->owed |= wait->owed;
	if (--all->waiting)
		return;
	by->pending = NULL;
	free(all);
	by->got(by, NULL);
}

static void shards_on_refused(struct task *task)
{
	struct store_wait *wait = container_of(task, struct store_wait, task);

	wait->got(wait, NULL);
}

static enum store_settling shards_settle(struct store *store, struct store_wait *wait)
{
	struct shards_wait *all = wait->pending = calloc(1, sizeof *all);

	wait->store = store;
	wait->owed = !all;
	if (!all) {
		wait->task.run = shards_on_refused;
		loop_wake(wait->loop, &wait->task);
		return SETTLING_WAIT;
	}
	all->by = wait;
	for (size_t i = 0; i < STORE_SHARDS; i++) {
		struct store *shard = shards_of(store)->of[i];

		all->of[i].all = all;
		all->of[i].wait.loop = wait->loop;
		all->of[i].wait.got = shards_on_settled;
		all->waiting += shard->ops->settle(shard, &all->of[i].wait) == SETTLING_WAIT;
	}
	if (all->waiting)
		return SETTLING_WAIT;
	free(all);
	wait->pending = NULL;
	return SETTLING_DONE;
}

static void shards_cancel(struct store *store, struct store_wait *wait)
{
	struct shards_wait *all = wait->pending;

	if (wait->store && wait->store != store) {
		wait->store->ops->cancel(wait->store, wait);
		return;
	}
	for (size_t i = 0; all && i < STORE_SHARDS; i++) {
		struct store_wait *one = &all->of[i].wait;

		shards_of(store)->of[i]->ops->cancel(shards_of(store)->of[i], one);
		wait->others = one->others > wait->others ? one->others : wait->others;
		wait->unaware = one->unaware > wait->unaware ? one->unaware : wait->unaware;
	}
	free(all);
	wait->pending = NULL;
	loop_forget(wait->loop, &wait->task);
}

static void shards_listen(struct store *store, void (*purged)(void *arg, const struct store_mark *), void *arg)
{
	for (size_t i = 0; i < STORE_SHARDS; i++)
		shards_of(store)->of[i]->ops->listen(shards_of(store)->of[i], purged, arg);
}

static void shards_hear(struct store *store, const struct store_ears *ears)
{
	for (size_t i = 0; i < STORE_SHARDS; i++)
		shards_of(store)->of[i]->ops->hear(shards_of(store)->of[i], ears);
}

static void shards_purges(struct store *store, void (*each)(void *arg, const struct store_mark *), void *arg)
{
	for (size_t i = 0; i < STORE_SHARDS; i++)
		shards_of(store)->of[i]->ops->purges(shards_of(store)->of[i], each, arg);
}

static bool shards_call(struct store *store, struct store_call *call)
{
	struct store *shard = shards_shard(store, call->name.at, call->name.len);

	return shard->ops->call(shard, call);
}

static void shards_uncall(struct store *store, struct store_call *call)
{
	(void)store;
	if (call->store)
		call->store->ops->uncall(call->store, call);
}

static void shards_stats(struct store *store, struct store_stats *stats)
{
	struct store_stats one;

	*stats = (struct store_stats){ .shared = true };
	for (size_t i = 0; i < STORE_SHARDS; i++) {
		shards_of(store)->of[i]->ops->stats(shards_of(store)->of[i], &one);
		stats->hits += one.hits;
		stats->misses += one.misses;
		stats->errors += one.errors;
		stats->owed += one.owed;
		stats->away |= one.away;
		stats->learned_ms = i && stats->learned_ms < one.learned_ms ? stats->learned_ms : one.learned_ms;
	}
}

/* The first has the thread of all. */
static void shards_free(struct store *store)
{
	struct store_shards *shards = shards_of(store);

	for (size_t i = 1; i < STORE_SHARDS; i++)
		store_thread_end((struct store_thread *)(void *)shards->of[i]);
	for (size_t i = STORE_SHARDS; i-- > 0;)
		shards->of[i]->ops->free(shards->of[i]);
	free(shards);
}

struct store *store_shards_new(struct store *const of[static STORE_SHARDS])
{
	static const struct store_ops ops = {
		.name = "redis", .get = shards_get, .cancel = shards_cancel, .put = shards_put,
		.remove = shards_remove, .purge = shards_purge, .settle = shards_settle, .listen = shards_listen,
		.purges = shards_purges,
		.call = shards_call, .uncall = shards_uncall, .hear = shards_hear, .shard = shards_shard,
		.stats = shards_stats, .free = shards_free,
	};
	struct store_shards *shards = calloc(1, sizeof *shards);

	if (!shards)
		return NULL;
	shards->store.ops = &ops;
	memcpy(shards->of, of, sizeof shards->of);
	return &shards->store;
}
