/* Owns entries in a Redis or Valkey server that many instances share: one connection and one thread, requests pipelined.
 * Must not know: freshness, what is in an entry. While the server is away lookups miss at once and entries are dropped, both
 * counted; removals wait for it.
 *
 * A URL is a hash: PREFIX URL -> { "=" rest of the key: packed entry, "!": when it was last purged softly }, so that a URL goes
 * with all its variants at once. A hash expires a week after the last entry that came in. */
#include "store_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#ifdef HAVE_HIREDIS_SSL
#include <hiredis/hiredis_ssl.h>
#endif

#include "log.h"
#include "text.h"

enum { EXPIRE_S = 7 * 24 * 3600, VALUE_MAX_BYTES = 8 << 20, FLIGHT_MAX = 1024, FLIGHT_MAX_BYTES = 32 << 20 };
enum { RETRY_FIRST_MS = 100, RETRY_MAX_MS = 30000 };
#define SCAN_COUNT "1000"

struct store_redis {
	struct store_thread thread;
	struct redis_settings settings;
	redisAsyncContext *connection;         /* NULL: none */
	struct event *readable, *writable;     /* of the connection */
	bool up;                               /* it has said who we are and got an answer */
	bool complained, ending;
	bool scanning;                         /* a purge looks through all keys: what was asked for after it waits */
	size_t flying, flying_bytes;           /* operations without an answer yet */
	uint64_t retry_ms;
	struct timer retry, watch;             /* watch: the answer that must come next */
#ifdef HAVE_HIREDIS_SSL
	redisSSLContext *tls;
#endif
};

static struct store_redis *redis_of(struct store_thread *t)
{
	return (struct store_redis *)(void *)t;
}

/* hiredis on our loop: it asks to be told once when its socket is ready. */

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	redisAsyncHandleRead(((struct store_redis *)arg)->connection);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	redisAsyncHandleWrite(((struct store_redis *)arg)->connection);
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
	r->readable = event_new(base, ac->c.fd, EV_READ, on_readable, r);
	r->writable = event_new(base, ac->c.fd, EV_WRITE, on_writable, r);
	return r->readable && r->writable ? 0 : -1;
}

static void redis_count_error(struct store_redis *r)
{
	static const struct store_stats one = { .errors = 1 };

	store_thread_count(&r->thread, &one);
}

/* hiredis frees the connection once we return to it, or its caller does. */
static void redis_lost(struct store_redis *r, const char *why)
{
	r->connection = NULL;
	r->up = false;
	loop_disarm(r->thread.loop, &r->watch);
	store_thread_set_away(&r->thread, true);
	if (r->ending) {
		store_thread_leave(&r->thread);
		return;
	}
	redis_count_error(r);
	if (!r->complained)
		log_warn("redis store: %s; trying again", why);
	r->complained = true;
	loop_arm(r->thread.loop, &r->retry, r->retry_ms);
	r->retry_ms = r->retry_ms * 2 < RETRY_MAX_MS ? r->retry_ms * 2 : RETRY_MAX_MS;
}

static void redis_drop(struct store_redis *r, const char *why)
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

/* Operations */

struct redis_name { struct text key, field; };

/* false: out of memory. */
static bool name_make(struct redis_name *n, const struct store_redis *r, const char *key, size_t len)
{
	const char *end = memchr(key, '\n', len);
	size_t url = end ? (size_t)(end - key) : len;

	*n = (struct redis_name){ 0 };
	text_puts(&n->key, r->settings.prefix);
	text_add(&n->key, key, url);
	text_puts(&n->field, "=");
	if (end)
		text_add(&n->field, end + 1, len - url - 1);
	return !n->key.failed && !n->field.failed;
}

static void name_free(struct redis_name *n)
{
	free(n->key.bytes);
	free(n->field.bytes);
}

static void redis_send(struct store_redis *r, redisCallbackFn *done, struct store_op *op, int argc, const struct slice *args)
{
	const char *argv[6];
	size_t lens[6];

	for (int i = 0; i < argc; i++) {
		argv[i] = args[i].at;
		lens[i] = args[i].len;
	}
	if (r->connection && redisAsyncCommandArgv(r->connection, done, op, argc, argv, lens) == REDIS_OK)
		return;
	if (r->connection && !(r->connection->c.flags & (REDIS_DISCONNECTING | REDIS_FREEING)))
		redis_drop(r, "out of memory");
	if (done)
		done(r->connection, NULL, op);
}

#define WORD(literal) { (literal), sizeof (literal) - 1 }
#define TEXT(text) { (text).bytes, (text).len }

static void send_expire(struct store_redis *r, struct slice key)
{
	char seconds[16];
	struct slice args[] = { WORD("EXPIRE"), key, { seconds, 0 } };

	args[2].len = (size_t)snprintf(seconds, sizeof seconds, "%d", EXPIRE_S);
	redis_send(r, NULL, NULL, 3, args);
}

static void send_mark(struct store_redis *r, redisCallbackFn *done, struct store_op *op, struct slice key, int64_t now)
{
	char seconds[24];
	struct slice args[] = { WORD("HSET"), key, WORD("!"), { seconds, 0 } };

	args[3].len = (size_t)snprintf(seconds, sizeof seconds, "%lld", (long long)now);
	redis_send(r, done, op, 4, args);
	send_expire(r, key);
}

static void send_unlink(struct store_redis *r, redisCallbackFn *done, struct store_op *op, struct slice key)
{
	struct slice args[] = { WORD("UNLINK"), key };

	redis_send(r, done, op, 2, args);
}

static void redis_pump(struct store_redis *r);

static size_t op_flying_bytes(const struct store_op *op)
{
	return op->entry ? op->entry->bytes : 0;
}

static void redis_took_off(struct store_redis *r, struct store_op *op)
{
	r->flying++;
	r->flying_bytes += op_flying_bytes(op);
}

static void redis_land(struct store_redis *r, const struct store_op *op)
{
	r->flying--;
	r->flying_bytes -= op_flying_bytes(op);
	r->scanning &= op->type != OP_PURGE || op->what == PURGE_URL;
}

/* It never took off: out of memory. */
static void redis_failed(struct store_redis *r, struct store_op *op)
{
	redis_land(r, op);
	redis_count_error(r);
	store_thread_done(&r->thread, op, NULL);
}

/* reply NULL: the connection is going. A removal that may not have reached the server is made again when it is back. */
static void redis_landed(struct store_redis *r, struct store_op *op, const redisReply *reply, struct entry *answer)
{
	redis_land(r, op);
	if (!reply)
		r->up = false;
	if (!reply || reply->type == REDIS_REPLY_ERROR)
		redis_count_error(r);
	if (!reply && (op->type == OP_REMOVE || op->type == OP_PURGE))
		store_thread_again(&r->thread, op);
	else
		store_thread_done(&r->thread, op, answer);
	if (r->up)
		loop_arm(r->thread.loop, &r->watch, r->flying ? r->settings.timeout_ms : 0);
	redis_pump(r);
}

/* What was found for it: NULL where it is damaged, or none of ours. */
static struct entry *redis_read(const redisReply *value, const redisReply *mark, const struct store_op *op)
{
	struct entry *e = entry_unpack(value->str, value->len), *stale;
	int64_t since = mark->type == REDIS_REPLY_STRING ? strtoll(mark->str, NULL, 10) : INT64_MIN;

	if (e && (e->key_len != op->len || memcmp(e->key, op->key, op->len)))
		entry_unref(&e);
	if (!e || e->freshness.response_time > since)
		return e;
	stale = entry_expired(e, since);
	entry_unref(&e);
	return stale;
}

static void on_done(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;

	(void)ac;
	redis_landed(redis_of(op->thread), op, answer, NULL);
}

/* done NULL: the operation is on its way already. */
static void redis_forget(struct store_redis *r, redisCallbackFn *done, struct store_op *op)
{
	struct redis_name n;

	if (name_make(&n, r, op->key, op->len)) {
		struct slice args[] = { WORD("HDEL"), TEXT(n.key), TEXT(n.field) };

		redis_send(r, done, op, 3, args);
	} else if (done) {
		redis_failed(r, op);
	}
	name_free(&n);
}

static void on_got(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *r = redis_of(op->thread);
	const redisReply *reply = answer;
	struct entry *e = NULL;

	(void)ac;
	if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 && reply->element[0]->type == REDIS_REPLY_STRING) {
		e = redis_read(reply->element[0], reply->element[1], op);
		if (!e) {
			redis_count_error(r);
			redis_forget(r, NULL, op);
		}
	}
	redis_landed(r, op, reply, e);
}

static void redis_get(struct store_redis *r, struct store_op *op)
{
	struct redis_name n;

	if (name_make(&n, r, op->key, op->len)) {
		struct slice args[] = { WORD("HMGET"), TEXT(n.key), TEXT(n.field), WORD("!") };

		redis_send(r, on_got, op, 4, args);
	} else {
		redis_failed(r, op);
	}
	name_free(&n);
}

/* What is too large still ends what it would have replaced. */
static void redis_put(struct store_redis *r, struct store_op *op)
{
	struct redis_name n;
	size_t len;
	char *packed = op->entry->bytes <= VALUE_MAX_BYTES ? entry_pack(op->entry, &len) : NULL;

	if (!packed) {
		redis_forget(r, on_done, op);
		return;
	}
	if (name_make(&n, r, op->key, op->len)) {
		struct slice args[] = { WORD("HSET"), TEXT(n.key), TEXT(n.field), { packed, len } };
		struct slice key = TEXT(n.key);

		redis_send(r, on_done, op, 4, args);
		send_expire(r, key);
	} else {
		redis_failed(r, op);
	}
	name_free(&n);
	free(packed);
}

/* SCAN's pattern is a glob. */
static void send_scan(struct store_redis *r, redisCallbackFn *done, struct store_op *op, const char *cursor)
{
	struct slice args[] = { WORD("SCAN"), { cursor, strlen(cursor) }, WORD("MATCH"), { NULL, 0 }, WORD("COUNT"), WORD(SCAN_COUNT) };
	struct text pattern = { 0 };
	const char *parts[] = { r->settings.prefix, op->key };
	size_t lens[] = { strlen(r->settings.prefix), op->what == PURGE_ALL ? 0 : op->len };

	for (int p = 0; p < 2; p++)
		for (size_t i = 0; i < lens[p]; i++) {
			if (strchr("*?[]\\", parts[p][i]))
				text_puts(&pattern, "\\");
			text_add(&pattern, &parts[p][i], 1);
		}
	text_puts(&pattern, "*");
	args[3] = (struct slice)TEXT(pattern);
	if (pattern.failed)
		redis_failed(r, op);
	else
		redis_send(r, done, op, 6, args);
	free(pattern.bytes);
}

static void on_scanned(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *r = redis_of(op->thread);
	const redisReply *reply = answer, *keys;

	(void)ac;
	if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING) {
		redis_landed(r, op, reply, NULL);
		return;
	}
	keys = reply->element[1];
	for (size_t i = 0; keys->type == REDIS_REPLY_ARRAY && i < keys->elements; i++) {
		struct slice key = { keys->element[i]->str, keys->element[i]->len };

		if (op->soft)
			send_mark(r, NULL, NULL, key, op->now);
		else
			send_unlink(r, NULL, NULL, key);
	}
	if (strcmp(reply->element[0]->str, "0")) {
		loop_arm(r->thread.loop, &r->watch, r->settings.timeout_ms);
		send_scan(r, on_scanned, op, reply->element[0]->str);
	} else {
		redis_landed(r, op, reply, NULL);
	}
}

static void redis_purge(struct store_redis *r, struct store_op *op)
{
	struct redis_name n;
	struct slice key;

	if (op->what != PURGE_URL) {
		r->scanning = true;
		send_scan(r, on_scanned, op, "0");
		return;
	}
	if (!name_make(&n, r, op->key, op->len)) {
		redis_failed(r, op);
	} else {
		key = (struct slice)TEXT(n.key);
		if (op->soft)
			send_mark(r, on_done, op, key, op->now);
		else
			send_unlink(r, on_done, op, key);
	}
	name_free(&n);
}

static void redis_do(struct store_redis *r, struct store_op *op)
{
	switch (op->type) {
	case OP_GET: redis_get(r, op); break;
	case OP_PUT: redis_put(r, op); break;
	case OP_REMOVE: redis_forget(r, on_done, op); break;
	case OP_PURGE: redis_purge(r, op); break;
	}
}

static void redis_pump(struct store_redis *r)
{
	struct store_op *op;

	while (r->up && !r->ending && !r->scanning && r->flying < FLIGHT_MAX && r->flying_bytes < FLIGHT_MAX_BYTES &&
	    (op = store_thread_take(&r->thread)) != NULL) {
		redis_took_off(r, op);
		if (r->flying == 1)
			loop_arm(r->thread.loop, &r->watch, r->settings.timeout_ms);
		redis_do(r, op);
	}
}

/* Connecting */

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
	r->up = true;
	r->retry_ms = RETRY_FIRST_MS;
	if (r->complained)
		log_info("redis store: connected");
	r->complained = false;
	loop_disarm(r->thread.loop, &r->watch);
	store_thread_set_away(&r->thread, false);
	redis_pump(r);
}

/* Who we are, which database, and whether anybody is there: the last has an argument. */
static bool redis_greet(struct store_redis *r, redisAsyncContext *ac)
{
	const struct redis_settings *s = &r->settings;

	if (s->password && s->user && redisAsyncCommand(ac, on_greeted, NULL, "AUTH %s %s", s->user, s->password) != REDIS_OK)
		return false;
	if (s->password && !s->user && redisAsyncCommand(ac, on_greeted, NULL, "AUTH %s", s->password) != REDIS_OK)
		return false;
	if (s->db && redisAsyncCommand(ac, on_greeted, NULL, "SELECT %d", s->db) != REDIS_OK)
		return false;
	return redisAsyncCommand(ac, on_greeted, r, "PING") == REDIS_OK;
}

static int redis_secure(struct store_redis *r, redisAsyncContext *ac)
{
#ifdef HAVE_HIREDIS_SSL
	if (r->settings.tls)
		return redisInitiateSSLWithContext(&ac->c, r->tls) == REDIS_OK ? 0 : -1;
#endif
	(void)r, (void)ac;
	return 0;
}

/* Looks up the name on this thread, which has nothing else to do while the server is away. */
static void redis_connect(struct store_redis *r)
{
	const struct redis_settings *s = &r->settings;
	redisAsyncContext *ac = s->path ? redisAsyncConnectUnix(s->path) : redisAsyncConnect(s->host, s->port);

	if (!ac || ac->err) {
		redis_lost(r, ac ? ac->errstr : "out of memory");
		if (ac)
			redisAsyncFree(ac);
		return;
	}
	r->connection = ac;
	if (redis_attach(r, ac) || redis_secure(r, ac) || redisAsyncSetConnectCallback(ac, on_connect) != REDIS_OK ||
	    redisAsyncSetDisconnectCallback(ac, on_disconnect) != REDIS_OK || !redis_greet(r, ac)) {
		redis_drop(r, ac->err ? ac->errstr : "cannot connect");
		return;
	}
	loop_arm(r->thread.loop, &r->watch, s->timeout_ms);
}

static void on_retry(struct timer *t)
{
	redis_connect((struct store_redis *)(void *)((char *)t - offsetof(struct store_redis, retry)));
}

static void on_watch(struct timer *t)
{
	redis_drop((struct store_redis *)(void *)((char *)t - offsetof(struct store_redis, watch)), "no answer in time");
}

static void redis_begin(struct store_thread *t)
{
	redis_connect(redis_of(t));
}

static void redis_run(struct store_thread *t)
{
	redis_pump(redis_of(t));
}

/* What has been sent is still answered, if it comes in time. */
static void redis_end(struct store_thread *t)
{
	struct store_redis *r = redis_of(t);

	r->ending = true;
	loop_disarm(t->loop, &r->retry);
	if (!r->connection)
		store_thread_leave(t);
	else if (!r->flying)
		redis_drop(r, "");
	else
		redisAsyncDisconnect(r->connection);
}

static const struct store_work redis_work = { .begin = redis_begin, .run = redis_run, .end = redis_end };

static void redis_free(struct store *store)
{
	struct store_redis *r = (struct store_redis *)(void *)store;

	store_thread_stop(&r->thread);
#ifdef HAVE_HIREDIS_SSL
	if (r->tls)
		redisFreeSSLContext(r->tls);
#endif
	free(r);
}

static const struct store_ops redis_ops = {
	.name = "redis", .get = store_thread_get, .cancel = store_thread_cancel, .put = store_thread_put,
	.remove = store_thread_remove, .purge = store_thread_purge, .stats = store_thread_stats, .free = redis_free,
};

/* NULL: all is well. hiredis checks whom the server's certificate was signed by, not its name: where that matters, give a ca_file
 * of one's own. */
static const char *redis_prepare_tls(struct store_redis *r)
{
#ifdef HAVE_HIREDIS_SSL
	redisSSLContextError error = REDIS_SSL_CTX_NONE;

	if (!r->settings.tls)
		return NULL;
	redisInitOpenSSL();
	r->tls = redisCreateSSLContext(r->settings.ca_file, r->settings.ca_file ? NULL : "/etc/ssl/certs", NULL, NULL, r->settings.host, &error);
	return r->tls ? NULL : redisSSLContextGetError(error);
#else
	return r->settings.tls ? "TLS is not in this build: hiredis has it from 1.0 on (hiredis_ssl)" : NULL;
#endif
}

struct store *store_redis_new(const struct redis_settings *settings)
{
	struct store_redis *r = calloc(1, sizeof *r);
	const char *why = "out of memory";

	if (r) {
		r->thread.store.ops = &redis_ops;
		r->thread.away = true;
		r->settings = *settings;
		r->retry_ms = RETRY_FIRST_MS;
		r->retry.fire = on_retry;
		r->watch.fire = on_watch;
		if (!(why = redis_prepare_tls(r))) {
			if (!store_thread_start(&r->thread, &redis_work))
				return &r->thread.store;
			why = strerror(EAGAIN);
#ifdef HAVE_HIREDIS_SSL
			redisFreeSSLContext(r->tls);
#endif
		}
	}
	log_error("redis store: %s", why);
	free(r);
	return NULL;
}
