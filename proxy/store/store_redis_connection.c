/* Owns the connection of the Redis store: hiredis on the store's loop, TLS, authentication, reconnecting, and the limit
 * for an answer. Must not know: operations. Invariant: up is set only between the server's answer to the greeting and
 * the loss of the connection. */
#include "proxy/store/store_redis_internal.h"

#include <assert.h>
#include <event2/event.h>

#include "proxy/base/container_of.h"
#include "proxy/base/log.h"

enum { RETRY_FIRST_MS = 100, RETRY_MAX_MS = 30000 };

/* The adapter between hiredis and our loop: hiredis asks to be told once when its socket is ready. */

static void redis_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct store_redis *redis = arg;

	(void)fd, (void)what;
	loop_enter(redis->thread.loop, (loop_callback *)redis_on_readable);
	redisAsyncHandleRead(redis->connection);
	if (redis->connection && redis_is_too_much(redis->connection))
		redis_drop(redis, "it answers without end");
}

static void redis_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct store_redis *redis = arg;

	(void)fd, (void)what;
	loop_enter(redis->thread.loop, (loop_callback *)redis_on_writable);
	redisAsyncHandleWrite(redis->connection);
}

static void add_read(void *arg) { event_add(((struct store_redis *)arg)->readable, NULL); }
static void del_read(void *arg) { event_del(((struct store_redis *)arg)->readable); }
static void add_write(void *arg) { event_add(((struct store_redis *)arg)->writable, NULL); }
static void del_write(void *arg) { event_del(((struct store_redis *)arg)->writable); }

static void cleanup_events(void *arg)
{
	struct store_redis *redis = arg;

	if (redis->readable)
		event_free(redis->readable);
	if (redis->writable)
		event_free(redis->writable);
	redis->readable = redis->writable = NULL;
}

static int redis_attach(struct store_redis *redis, redisAsyncContext *ac)
{
	struct event_base *base = loop_base(redis->thread.loop);

	ac->data = redis;
	ac->ev.data = redis;
	ac->ev.addRead = add_read;
	ac->ev.delRead = del_read;
	ac->ev.addWrite = add_write;
	ac->ev.delWrite = del_write;
	ac->ev.cleanup = cleanup_events;
	redis->readable = event_new(base, ac->c.fd, EV_READ, redis_on_readable, redis);
	redis->writable = event_new(base, ac->c.fd, EV_WRITE, redis_on_writable, redis);
	return redis->readable && redis->writable ? 0 : -1;
}

void redis_warn(const char *what, const char *why)
{
	char text[256];
	size_t n = 0;

	for (; why[n] && n + 1 < sizeof text; n++)
		text[n] = why[n] >= ' ' && why[n] <= '~' ? why[n] : '?';
	text[n] = '\0';
	log_warn("redis store: %s; %s", text, what);
}

/* Logs why the server is away, once. */
static void redis_complain(struct store_redis *redis, const char *why)
{
	if (!redis->complained)
		redis_warn("trying again", why);
	redis->complained = true;
}

/* The connection is lost. hiredis or the caller of this function frees it. */
static void redis_lost(struct store_redis *redis, const char *why)
{
	const char *refusal = redis->ssl ? tls_lent_refusal(redis->ssl) : NULL;

	redis->connection = NULL;
	redis->ssl = NULL;
	redis->up = false;
	loop_disarm(redis->thread.loop, &redis->watch);
	store_thread_set_away(&redis->thread, true);
	redis_marks_lost(redis);
	if (redis->over) {
		store_thread_leave(&redis->thread);
		return;
	}
	redis_count_error(redis);
	redis_complain(redis, redis->odd ? redis->odd : refusal ? refusal : why);
	loop_arm(redis->thread.loop, &redis->retry, redis->ending ? RETRY_FIRST_MS : redis->retry_ms);
	redis->retry_ms = redis->retry_ms * 2 < RETRY_MAX_MS ? redis->retry_ms * 2 : RETRY_MAX_MS;
}

void redis_drop(struct store_redis *redis, const char *why)
{
	redisAsyncContext *ac = redis->connection;

	redis_lost(redis, why);
	redisAsyncFree(ac);
}

static void on_disconnect(const redisAsyncContext *ac, int status)
{
	struct store_redis *redis = ac->data;

	if (redis->connection == ac)
		redis_lost(redis, status == REDIS_OK ? "disconnected" : ac->errstr);
}

static void on_connect(const redisAsyncContext *ac, int status)
{
	if (status != REDIS_OK)
		on_disconnect(ac, status);
}

static void on_greeted(redisAsyncContext *ac, void *answer, void *arg)
{
	const redisReply *reply = answer;
	struct store_redis *redis = ac->data;

	if (!reply || redis->connection != ac)
		return;
	if (reply->type == REDIS_REPLY_ERROR) {
		redis_drop(redis, reply->str);
		return;
	}
	if (!arg)
		return;
	redis_learn(redis);
}

void redis_joined(struct store_redis *redis)
{
	redis->up = true;
	loop_disarm(redis->thread.loop, &redis->watch);
	if (!(redis->debt = store_thread_owed(&redis->thread)))
		redis_settled(redis);
	redis_pump(redis);
	redis_check_end(redis);
}

void redis_settled(struct store_redis *redis)
{
	redis->retry_ms = RETRY_FIRST_MS;
	store_thread_set_away(&redis->thread, false);
	if (redis->complained)
		log_info("redis store: connected");
	redis->complained = false;
}

/* Sends AUTH, where there is a password, and PING. Only PING has an argument, by which on_greeted() knows the last
 * answer. */
static bool redis_greet(struct store_redis *redis, redisAsyncContext *ac)
{
	int status = REDIS_OK;

	pthread_mutex_lock(&redis->thread.lock);
	redis->expected = redis->password ? 2 : 1;
	if (redis->password && redis->user)
		status = redisAsyncCommand(ac, on_greeted, NULL, "AUTH %s %s", redis->user, redis->password);
	else if (redis->password)
		status = redisAsyncCommand(ac, on_greeted, NULL, "AUTH %s", redis->password);
	pthread_mutex_unlock(&redis->thread.lock);
	return status == REDIS_OK && redisAsyncCommand(ac, on_greeted, redis, "PING") == REDIS_OK;
}

#ifdef HAVE_HIREDIS_SSL
enum { HAS_TLS = true };

/* Begins TLS where it is asked for. Returns NULL, or why that failed. */
static const char *redis_secure(struct store_redis *redis, redisAsyncContext *ac)
{
	if (!redis->tls)
		return NULL;
	if (!(redis->ssl = tls_context_lend(redis->tls, redis->settings.host)))
		return "out of memory";
	if (redisInitiateSSL(&ac->c, redis->ssl) == REDIS_OK)
		return NULL;
	const char *why = tls_lent_refusal(redis->ssl);
	tls_lent_free(redis->ssl);
	redis->ssl = NULL;
	return why ? why : ac->c.errstr;
}
#else
enum { HAS_TLS = false };

static const char *redis_secure(struct store_redis *redis, redisAsyncContext *ac)
{
	(void)redis, (void)ac;
	return NULL;
}
#endif

/* The look-up of the host's name blocks this thread, which has nothing else to do while the server is away. */
void redis_connect(struct store_redis *redis)
{
	const struct redis_settings *settings = &redis->settings;
	redisAsyncContext *ac =
	    settings->path ? redisAsyncConnectUnix(settings->path) : redisAsyncConnect(settings->host, settings->port);
	const char *why = NULL;

	if (!ac || ac->err) {
		redis_lost(redis, ac ? ac->errstr : "out of memory");
		if (ac)
			redisAsyncFree(ac);
		return;
	}
	redis->connection = ac;
	redis_guard(redis, ac);
	if (redis_attach(redis, ac) || (why = redis_secure(redis, ac)) ||
	    redisAsyncSetConnectCallback(ac, on_connect) != REDIS_OK ||
	    redisAsyncSetDisconnectCallback(ac, on_disconnect) != REDIS_OK || !redis_greet(redis, ac)) {
		redis_drop(redis, why ? why : ac->c.err ? ac->c.errstr : "cannot connect");
		return;
	}
	loop_arm(redis->thread.loop, &redis->watch, settings->timeout_ms);
}

static void on_retry(struct timer *timer)
{
	redis_connect(container_of(timer, struct store_redis, retry));
}

static void on_watch(struct timer *timer)
{
	redis_drop(container_of(timer, struct store_redis, watch), "no answer in time");
}

static void redis_leave(struct store_redis *redis)
{
	redis->over = true;
	loop_disarm(redis->thread.loop, &redis->retry);
	loop_disarm(redis->thread.loop, &redis->last);
	loop_disarm(redis->thread.loop, &redis->patience);
	loop_disarm(redis->thread.loop, &redis->marks.timer);
	if (redis->connection)
		redis_drop(redis, "");
	else
		store_thread_leave(&redis->thread);
}

static void on_last(struct timer *timer)
{
	redis_leave(container_of(timer, struct store_redis, last));
}

static void on_patience(struct timer *timer)
{
	redis_give_up_lookups(container_of(timer, struct store_redis, patience));
}

static void on_parted(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_redis *redis = arg;

	(void)ac, (void)answer;
	if (!redis->over)
		redis_leave(redis);
}

/* Other processes do not wait any more for this one to know of their purges. */
static void redis_part(struct store_redis *redis)
{
	if (redis->parted)
		return;
	redis->parted = true;
	redis_send_part(redis, on_parted, redis);
}

void redis_check_end(struct store_redis *redis)
{
	if (!redis->ending || redis->over || !redis_is_idle(redis))
		return;
	if (redis->up)
		redis_part(redis);
	else
		redis_leave(redis);
}

void redis_disconnect(struct store_redis *redis)
{
	if (redis->ending)
		return;
	redis->ending = true;
	loop_arm(redis->thread.loop, &redis->last, redis->settings.timeout_ms);
	redis_check_end(redis);
	if (redis->over || redis->connection)
		return;
	loop_disarm(redis->thread.loop, &redis->retry);
	redis_connect(redis);
}

const char *redis_connection_init(struct store_redis *redis, struct tls_why *why)
{
	const struct redis_settings *settings = &redis->settings;
	const struct tls_settings tls = { .side = TLS_CLIENT, .verify = true,
		.ca_file = settings->ca_file ? settings->ca_file : "", .cert = "", .key = "" };

	redis->retry_ms = RETRY_FIRST_MS;
	redis->retry.fire = on_retry;
	redis->watch.fire = on_watch;
	redis->last.fire = on_last;
	redis->patience.fire = on_patience;
	if (!settings->tls)
		return NULL;
	if (!HAS_TLS)
		return "this build has no TLS for Redis (hiredis_ssl, hiredis 1.0); write cache-redis-tls = off";
	assert(settings->host);
	return (redis->tls = tls_context_new(&tls, why)) ? NULL : why->text;
}

void redis_connection_free(struct store_redis *redis)
{
	tls_context_unref(&redis->tls);
}
