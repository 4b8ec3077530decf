/* Owns the Redis or Valkey store that many instances share, from its making to its end: its settings, its thread and
 * the login. Must not know: commands, replies, how the connection is made.
 *
 * While the server is away, lookups miss at once and entries are dropped, and both are counted; removals wait for the
 * server, including those of entries that the dropped ones would have replaced. A server that refuses a removal counts
 * as away until it has made that removal: until then every lookup misses. */
#include "proxy/store/store_redis_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "proxy/base/log.h"

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
	redis_access_free(&redis->access);
	redis_marks_free(&redis->marks);
	redis_free_names(redis);
	free(redis);
}

int store_redis_login(struct store *store, const char *user, const char *password)
{
	return redis_access_login(&((struct store_redis *)(void *)store)->access, user, password);
}

static const struct store_ops redis_ops = {
	.name = "redis", .get = store_thread_get, .cancel = store_thread_cancel, .put = store_thread_put,
	.remove = store_thread_remove, .purge = store_thread_purge, .settle = store_thread_settle, .stats = redis_stats,
	.listen = store_thread_listen, .call = store_thread_call, .uncall = store_thread_uncall,
	.hear = store_thread_hear, .free = redis_free,
};

bool store_redis_refuses(const struct redis_settings *settings, struct store_redis_why *why)
{
	struct tls_why tls = { .file = TLS_FILE_NONE };
	struct redis_access access;
	const char *text = redis_access_init(&access, settings, &tls);

	redis_access_free(&access);
	snprintf(why->text, sizeof why->text, "%s", text ? text : "");
	why->ca_file = tls.file == TLS_FILE_CA;
	return text;
}

/* False: out of memory. */
static bool redis_name_keys(struct store_redis *redis, const char *prefix)
{
	struct text own = { 0 };
	size_t len;

	text_printf(&own, "%s%d:", prefix, REDIS_FORMAT);
	text_add(&own, "", 1);
	redis->own = text_take(&own, &len);
	redis->prefix = strdup(prefix);
	return redis->own && redis->prefix &&
	    getrandom(&redis->process, sizeof redis->process, 0) == sizeof redis->process;
}

struct store *store_redis_new(const struct redis_settings *settings)
{
	struct store_redis *redis = calloc(1, sizeof *redis);
	const char *why = "out of memory";
	struct tls_why tls_why;

	if (redis) {
		redis->thread.store.ops = &redis_ops;
		redis->thread.away = true;
		TAILQ_INIT(&redis->held);
		redis_marks_init(&redis->marks);
		if (redis_name_keys(redis, settings->prefix) &&
		    !(why = redis_access_init(&redis->access, settings, &tls_why))) {
			if (!store_thread_start(&redis->thread, &redis_work))
				return &redis->thread.store;
			why = strerror(EAGAIN);
		}
		redis_access_free(&redis->access);
		redis_free_names(redis);
	}
	log_error("redis store: %s", why);
	free(redis);
	return NULL;
}
