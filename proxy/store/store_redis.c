/* Owns the Redis or Valkey store that many instances share, from its making to its end: its settings, its thread and
 * the login. Must not know: commands, replies, how the connection is made.
 *
 * At the start operations wait until it is known whether a server is there. While it is away, lookups miss at once and
 * entries are dropped, and both are counted; removals wait for the server, including those of entries that the dropped
 * ones would have replaced. A server that refuses a removal counts as away until it has made that removal: until then
 * every lookup misses. */
#include "proxy/store/store_redis_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "proxy/base/log.h"
#include "proxy/store/store_shards.h"

/* A cluster's slots of these hash tags are evenly apart: 512, 1536, ... 15872. They never change, for the keys have
 * them. */
static const char *const redis_tags[STORE_SHARDS] = { "ms3", "mws", "pt6", "arf", "mb1", "eoi", "pe4", "acd",
	"gxm", "ou5", "c0h", "ky8", "gio", "qn", "ceb", "rc2" };

static void redis_begin(struct store_thread *thread)
{
	redis_connect(redis_of(thread));
}

static void redis_run(struct store_thread *thread)
{
	redis_pump(redis_of(thread));
}

static void redis_end(struct store_thread *thread)
{
	redis_disconnect(redis_of(thread));
}

static const struct store_work redis_work = { .begin = redis_begin, .run = redis_run, .end = redis_end };

static void redis_stats(struct store *store, struct store_stats *stats)
{
	store_thread_stats(store, stats);
	stats->shared = true;
}

static void redis_free_names(struct store_redis *redis)
{
	free(redis->prefix);
	free(redis->own);
}

static void redis_free(struct store *store)
{
	struct store_redis *redis = (struct store_redis *)(void *)store;

	store_thread_stop(&redis->thread);
	redis_access_unref(&redis->access);
	redis_marks_free(&redis->marks);
	redis_free_names(redis);
	free(redis);
}

static const struct store_ops redis_ops = {
	.name = "redis", .get = store_thread_get, .cancel = store_thread_cancel, .put = store_thread_put,
	.remove = store_thread_remove, .purge = store_thread_purge, .settle = store_thread_settle, .stats = redis_stats,
	.listen = store_thread_listen, .purges = redis_marks_each, .call = store_thread_call,
	.uncall = store_thread_uncall, .hear = store_thread_hear, .free = redis_free,
};

/* False: out of memory. */
static bool redis_name_keys(struct store_redis *redis, const char *prefix)
{
	struct text own = { 0 };
	size_t len;

	text_printf(&own, "%s%d:", prefix, ENTRY_FORMAT);
	text_add(&own, "", 1);
	redis->own = text_take(&own, &len);
	redis->prefix = strdup(prefix);
	return redis->own && redis->prefix;
}

/* beside NULL: it gets a thread of its own, and a number of the process. NULL: out of memory, or no thread. */
static struct store *redis_new(struct redis_access *access, const char *prefix, struct store *beside)
{
	struct store_redis *redis = calloc(1, sizeof *redis);

	if (!redis)
		return NULL;
	redis->thread.store.ops = &redis_ops;
	redis->thread.unknown = true;
	redis->thread.patience_ms = access->settings.timeout_ms;
	redis->access = redis_access_ref(access);
	TAILQ_INIT(&redis->held);
	TAILQ_INIT(&redis->hearing.asked);
	TAILQ_INIT(&redis->hearing.due);
	redis_marks_init(&redis->marks);
	if (beside)
		redis->process = redis_of((struct store_thread *)(void *)beside)->process;
	else if (getrandom(&redis->process, sizeof redis->process, 0) != sizeof redis->process)
		redis->process = 0;
	if (redis->process && redis_name_keys(redis, prefix) &&
	    !store_thread_start(&redis->thread, &redis_work, (struct store_thread *)(void *)beside))
		return &redis->thread.store;
	redis_access_unref(&redis->access);
	redis_free_names(redis);
	free(redis);
	return NULL;
}

/* All shards share one thread, because it has little to do. NULL: out of memory, or no thread. */
static struct store *redis_new_shards(struct redis_access *access, const char *prefix)
{
	struct store *of[STORE_SHARDS] = { NULL }, *store = NULL;
	size_t n = 0;

	for (; n < STORE_SHARDS; n++) {
		struct text name = { 0 };

		text_printf(&name, "%s{%s}", prefix, redis_tags[n]);
		text_add(&name, "", 1);
		of[n] = name.failed ? NULL : redis_new(access, name.bytes, of[0]);
		text_free(&name);
		if (!of[n])
			break;
	}
	if (n == STORE_SHARDS && (store = store_shards_new(of)))
		return store;
	for (; n; n--)
		of[n - 1]->ops->free(of[n - 1]);
	return NULL;
}

struct store *store_redis_new(const struct redis_settings *settings)
{
	struct store_redis_why why;
	struct redis_access *access = redis_access_new(settings, &why);
	struct store *store = NULL;

	if (access && settings->where->kind == CONF_REDIS_CLUSTER)
		store = redis_new_shards(access, settings->prefix);
	else if (access)
		store = redis_new(access, settings->prefix, NULL);
	if (!store)
		log_error("redis store: %s", access ? "no memory or no thread" : why.text);
	redis_access_unref(&access);
	return store;
}

const char *store_redis_tag(size_t shard)
{
	return redis_tags[shard];
}

bool store_redis_refuses(const struct redis_settings *settings, struct store_redis_why *why)
{
	struct redis_access *access = redis_access_new(settings, why);
	bool refuses = !access;

	redis_access_unref(&access);
	return refuses;
}

int store_redis_login(struct store *store, const char *user, const char *password)
{
	struct store_redis *redis = (struct store_redis *)(void *)store_of(store, "", 0);

	return redis_access_login(redis->access, user, password);
}
