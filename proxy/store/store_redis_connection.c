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
	struct store_redis *r = arg;

	(void)fd, (void)what;
	loop_enter(r->thread.loop, (loop_callback *)redis_on_readable);
	redisAsyncHandleRead(r->connection);
	if (r->connection && redis_is_too_much(r->connection))
		redis_drop(r, "it answers without end");
}

static void redis_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct store_redis *r = arg;

	(void)fd, (void)what;
	loop_enter(r->thread.loop, (loop_callback *)redis_on_writable);
	redisAsyncHandleWrite(r->connection);
}

static void add_read(void *arg) { event_add(((struct store_redis *)arg)->readable, NULL); }
static void del_read(void *arg) { event_del(((struct store_redis *)arg)->readable); }
static void add_write(void *arg) { event_add(((struct store_redis *)arg)->writable, NULL); }
static void del_write(void *arg) { event_del(((struct store_redis *)arg)->writable); }

static void cleanup_events(void *arg)
{
	struct store_redis *r = arg;

	if (r->readable)
		event_free(r->readable);
	if (r->writable)
		event_free(r->writable);
	r->readable = r->writable = NULL;
}

static int redis_attach(struct store_redis *r, redisAsyncContext *ac)
{
	struct event_base *base = loop_base(r->thread.loop);

	ac->data = r;
	ac->ev.data = r;
	ac->ev.addRead = add_read;
	ac->ev.delRead = del_read;
	ac->ev.addWrite = add_write;
	ac->ev.delWrite = del_write;
	ac->ev.cleanup = cleanup_events;
	r->readable = event_new(base, ac->c.fd, EV_READ, redis_on_readable, r);
	r->writable = event_new(base, ac->c.fd, EV_WRITE, redis_on_writable, r);
	return r->readable && r->writable ? 0 : -1;
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
static void redis_complain(struct store_redis *r, const char *why)
{
	if (!r->complained)
		redis_warn("trying again", why);
	r->complained = true;
}

/* The connection is lost. hiredis or the caller of this function frees it. */
static void redis_lost(struct store_redis *r, const char *why)
{
	const char *refusal = r->ssl ? tls_lent_refusal(r->ssl) : NULL;

	r->connection = NULL;
	r->ssl = NULL;
	r->up = false;
	loop_disarm(r->thread.loop, &r->watch);
	store_thread_set_away(&r->thread, true);
	redis_marks_lost(r);
	if (r->over) {
		store_thread_leave(&r->thread);
		return;
	}
	redis_count_error(r);
	redis_complain(r, r->odd ? r->odd : refusal ? refusal : why);
	loop_arm(r->thread.loop, &r->retry, r->ending ? RETRY_FIRST_MS : r->retry_ms);
	r->retry_ms = r->retry_ms * 2 < RETRY_MAX_MS ? r->retry_ms * 2 : RETRY_MAX_MS;
}

void redis_drop(struct store_redis *r, const char *why)
{
	redisAsyncContext *ac = r->connection;

	redis_lost(r, why);
	redisAsyncFree(ac);
}

static void on_disconnect(const redisAsyncContext *ac, int status)
{
	struct store_redis *r = ac->data;

	if (r->connection == ac)
		redis_lost(r, status == REDIS_OK ? "disconnected" : ac->errstr);
}

static void on_connect(const redisAsyncContext *ac, int status)
{
	if (status != REDIS_OK)
		on_disconnect(ac, status);
}

static void on_greeted(redisAsyncContext *ac, void *answer, void *arg)
{
	const redisReply *reply = answer;
	struct store_redis *r = ac->data;

	if (!reply || r->connection != ac)
		return;
	if (reply->type == REDIS_REPLY_ERROR) {
		redis_drop(r, reply->str);
		return;
	}
	if (!arg)
		return;
	redis_learn(r);
}

void redis_joined(struct store_redis *r)
{
	r->up = true;
	loop_disarm(r->thread.loop, &r->watch);
	if (!(r->debt = store_thread_owed(&r->thread)))
		redis_settled(r);
	redis_pump(r);
	redis_check_end(r);
}

void redis_settled(struct store_redis *r)
{
	r->retry_ms = RETRY_FIRST_MS;
	store_thread_set_away(&r->thread, false);
	if (r->complained)
		log_info("redis store: connected");
	r->complained = false;
}

/* Sends AUTH, where there is a password, and PING. Only PING has an argument, by which on_greeted() knows the last
 * answer. */
static bool redis_greet(struct store_redis *r, redisAsyncContext *ac)
{
	int status = REDIS_OK;

	pthread_mutex_lock(&r->thread.lock);
	r->expected = r->password ? 2 : 1;
	if (r->password && r->user)
		status = redisAsyncCommand(ac, on_greeted, NULL, "AUTH %s %s", r->user, r->password);
	else if (r->password)
		status = redisAsyncCommand(ac, on_greeted, NULL, "AUTH %s", r->password);
	pthread_mutex_unlock(&r->thread.lock);
	return status == REDIS_OK && redisAsyncCommand(ac, on_greeted, r, "PING") == REDIS_OK;
}

#ifdef HAVE_HIREDIS_SSL
enum { HAS_TLS = true };

/* Begins TLS where it is asked for. Returns NULL, or why that failed. */
static const char *redis_secure(struct store_redis *r, redisAsyncContext *ac)
{
	const char *why;

	if (!r->tls)
		return NULL;
	if (!(r->ssl = tls_context_lend(r->tls, r->settings.host)))
		return "out of memory";
	if (redisInitiateSSL(&ac->c, r->ssl) == REDIS_OK)
		return NULL;
	why = tls_lent_refusal(r->ssl);
	tls_lent_free(r->ssl);
	r->ssl = NULL;
	return why ? why : ac->c.errstr;
}
#else
enum { HAS_TLS = false };

static const char *redis_secure(struct store_redis *r, redisAsyncContext *ac)
{
	(void)r, (void)ac;
	return NULL;
}
#endif

/* The look-up of the host's name blocks this thread, which has nothing else to do while the server is away. */
void redis_connect(struct store_redis *r)
{
	const struct redis_settings *s = &r->settings;
	redisAsyncContext *ac = s->path ? redisAsyncConnectUnix(s->path) : redisAsyncConnect(s->host, s->port);
	const char *why = NULL;

	if (!ac || ac->err) {
		redis_lost(r, ac ? ac->errstr : "out of memory");
		if (ac)
			redisAsyncFree(ac);
		return;
	}
	r->connection = ac;
	redis_guard(r, ac);
	if (redis_attach(r, ac) || (why = redis_secure(r, ac)) ||
	    redisAsyncSetConnectCallback(ac, on_connect) != REDIS_OK ||
	    redisAsyncSetDisconnectCallback(ac, on_disconnect) != REDIS_OK || !redis_greet(r, ac)) {
		redis_drop(r, why ? why : ac->c.err ? ac->c.errstr : "cannot connect");
		return;
	}
	loop_arm(r->thread.loop, &r->watch, s->timeout_ms);
}

static void on_retry(struct timer *t)
{
	redis_connect(container_of(t, struct store_redis, retry));
}

static void on_watch(struct timer *t)
{
	redis_drop(container_of(t, struct store_redis, watch), "no answer in time");
}

static void redis_leave(struct store_redis *r)
{
	r->over = true;
	loop_disarm(r->thread.loop, &r->retry);
	loop_disarm(r->thread.loop, &r->last);
	loop_disarm(r->thread.loop, &r->patience);
	loop_disarm(r->thread.loop, &r->marks.timer);
	if (r->connection)
		redis_drop(r, "");
	else
		store_thread_leave(&r->thread);
}

static void on_last(struct timer *t)
{
	redis_leave(container_of(t, struct store_redis, last));
}

static void on_patience(struct timer *t)
{
	redis_give_up_lookups(container_of(t, struct store_redis, patience));
}

static void on_parted(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_redis *r = arg;

	(void)ac, (void)answer;
	if (!r->over)
		redis_leave(r);
}

/* Other processes do not wait any more for this one to know of their purges. */
static void redis_part(struct store_redis *r)
{
	if (r->parted)
		return;
	r->parted = true;
	redis_send_part(r, on_parted, r);
}

void redis_check_end(struct store_redis *r)
{
	if (!r->ending || r->over || !redis_is_idle(r))
		return;
	if (r->up)
		redis_part(r);
	else
		redis_leave(r);
}

void redis_disconnect(struct store_redis *r)
{
	if (r->ending)
		return;
	r->ending = true;
	loop_arm(r->thread.loop, &r->last, r->settings.timeout_ms);
	redis_check_end(r);
	if (r->over || r->connection)
		return;
	loop_disarm(r->thread.loop, &r->retry);
	redis_connect(r);
}

const char *redis_connection_init(struct store_redis *r, struct tls_why *why)
{
	const struct redis_settings *s = &r->settings;
	const struct tls_settings tls = { .side = TLS_CLIENT, .verify = true,
		.ca_file = s->ca_file ? s->ca_file : "", .cert = "", .key = "" };

	r->retry_ms = RETRY_FIRST_MS;
	r->retry.fire = on_retry;
	r->watch.fire = on_watch;
	r->last.fire = on_last;
	r->patience.fire = on_patience;
	if (!s->tls)
		return NULL;
	if (!HAS_TLS)
		return "TLS is not in this build: hiredis has it from 1.0 on (hiredis_ssl)";
	assert(s->host);
	return (r->tls = tls_context_new(&tls, why)) ? NULL : why->text;
}

void redis_connection_free(struct store_redis *r)
{
	tls_context_unref(&r->tls);
}
