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

static void redis_free_texts(struct store_redis *redis)
{
	free(redis->prefix);
	free(redis->user);
	free(redis->password);
}

static void redis_free(struct store *store)
{
	struct store_redis *redis = (struct store_redis *)(void *)store;

	store_thread_stop(&redis->thread);
	redis_connection_free(redis);
	redis_marks_free(&redis->marks);
	redis_free_texts(redis);
	free(redis);
}

static char *copy_or_null(const char *text)
{
	return text ? strdup(text) : NULL;
}

int store_redis_login(struct store *store, const char *user, const char *password)
{
	struct store_redis *redis = (struct store_redis *)(void *)store;
	char *new_user = copy_or_null(user), *new_password = copy_or_null(password);

	if ((user && !new_user) || (password && !new_password)) {
		free(new_user);
		free(new_password);
		return -1;
	}
	pthread_mutex_lock(&redis->thread.lock);
	char *old_user = redis->user;
	char *old_password = redis->password;
	redis->user = new_user;
	redis->password = new_password;
	pthread_mutex_unlock(&redis->thread.lock);
	free(old_user);
	free(old_password);
	return 0;
}

static const struct store_ops redis_ops = {
	.name = "redis", .get = store_thread_get, .cancel = store_thread_cancel, .put = store_thread_put,
	.remove = store_thread_remove, .purge = store_thread_purge, .settle = store_thread_settle, .stats = redis_stats,
	.listen = store_thread_listen, .free = redis_free,
};

bool store_redis_refuses(const struct redis_settings *settings, struct store_redis_why *why)
{
	struct store_redis *redis = calloc(1, sizeof *redis);
	struct tls_why tls = { .file = TLS_FILE_NONE };
	const char *text = "out of memory";

	if (redis) {
		redis->settings = *settings;
		text = redis_connection_init(redis, &tls);
		redis_connection_free(redis);
	}
	snprintf(why->text, sizeof why->text, "%s", text ? text : "");
	why->ca_file = tls.file == TLS_FILE_CA;
	free(redis);
	return text;
}

/* False: out of memory. */
static bool redis_copy_settings(struct store_redis *redis, const struct redis_settings *settings)
{
	struct text prefix = { 0 };
	size_t len;

	text_printf(&prefix, "%s%d:", settings->prefix, ENTRY_FORMAT);
	text_add(&prefix, "", 1);
	redis->prefix = text_take(&prefix, &len);
	redis->user = copy_or_null(settings->user);
	redis->password = copy_or_null(settings->password);
	redis->settings = *settings;
	redis->settings.prefix = redis->settings.user = redis->settings.password = NULL;
	return getrandom(&redis->process, sizeof redis->process, 0) == sizeof redis->process && redis->prefix &&
	    (!settings->user || redis->user) && (!settings->password || redis->password);
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
		if (redis_copy_settings(redis, settings) && !(why = redis_connection_init(redis, &tls_why))) {
			if (!store_thread_start(&redis->thread, &redis_work))
				return &redis->thread.store;
			why = strerror(EAGAIN);
			redis_connection_free(redis);
		}
		redis_free_texts(redis);
	}
	log_error("redis store: %s", why);
	free(redis);
	return NULL;
}
