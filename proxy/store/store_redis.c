/* Owns entries in a Redis or Valkey server that many instances share: one connection and one thread, requests
 * pipelined.
 * Must not know: freshness, what is in an entry, how the connection is made. While the server is away, lookups miss at
 * once and entries are dropped, and both are counted; removals wait for the server, including those of entries that the
 * dropped ones would have replaced. A server that refuses a removal counts as away: there are no lookups until it has
 * made the removal.
 *
 * A URL is a Redis hash: PREFIX URL -> { "=" rest of the key: packed entry, "!": when it was last purged softly, "!0":
 * when first }, so that one command removes a URL with all its variants. An entry that was stored between the first
 * and the last soft purge counts as stale since the last, though another one may have come before that. A hash expires
 * a week after the last entry that came into it. */
#include "proxy/store/store_redis_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/log.h"
#include "proxy/base/text.h"

enum { EXPIRE_S = 7 * 24 * 3600, VALUE_MAX_BYTES = 8 << 20, FLIGHT_MAX = 1024, FLIGHT_MAX_BYTES = 32 << 20,
	HELD_MAX = 16384, SCAN_PAGES_MAX = 1000000 };
#define MARK_MAX (INT64_C(1) << 48)             /* seconds since the epoch: the latest time that an entry may have */
#define SCAN_COUNT "1000"

void redis_count_error(struct store_redis *r)
{
	static const struct store_stats one = { .errors = 1 };

	store_thread_count(&r->thread, &one);
}

struct redis_name { struct text key, field; };

/* False: out of memory. */
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
	text_free(&n->key);
	text_free(&n->field);
}

static void redis_send(struct store_redis *r, redisCallbackFn *done, void *arg, int argc, const struct slice *args)
{
	const char *argv[6];
	size_t lens[6];

	for (int i = 0; i < argc; i++) {
		argv[i] = args[i].at;
		lens[i] = args[i].len;
	}
	if (r->connection && redisAsyncCommandArgv(r->connection, done, arg, argc, argv, lens) == REDIS_OK) {
		r->expected++;
		return;
	}
	if (r->connection && !(r->connection->c.flags & (REDIS_DISCONNECTING | REDIS_FREEING)))
		redis_drop(r, "out of memory");
	if (done)
		done(NULL, NULL, arg);
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

static void send_mark(struct store_redis *r, redisCallbackFn *done, void *arg, struct slice key, int64_t now)
{
	char seconds[24];
	struct slice time = { seconds, (size_t)snprintf(seconds, sizeof seconds, "%lld", (long long)now) };
	struct slice first[] = { WORD("HSETNX"), key, WORD("!0"), time };
	struct slice last[] = { WORD("HSET"), key, WORD("!"), time };

	redis_send(r, NULL, NULL, 4, first);
	redis_send(r, done, arg, 4, last);
	send_expire(r, key);
}

static void send_unlink(struct store_redis *r, redisCallbackFn *done, void *arg, struct slice key)
{
	struct slice args[] = { WORD("UNLINK"), key };

	redis_send(r, done, arg, 2, args);
}

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
	if (r->scan == op)
		r->scan = NULL;
}

static bool redis_has_room(const struct store_redis *r)
{
	return r->flying + r->n_held < FLIGHT_MAX && r->flying_bytes + r->held_bytes < FLIGHT_MAX_BYTES;
}

bool redis_is_idle(struct store_redis *r)
{
	return !r->flying && store_thread_is_idle(&r->thread);
}

/* Counts a removal against the debt; the removal of everything pays all of it. */
static void redis_pay(struct store_redis *r, const struct store_op *op)
{
	if (!r->debt || (op->type != OP_REMOVE && op->type != OP_PURGE))
		return;
	r->debt = op->type == OP_PURGE && op->what == PURGE_ALL && !op->soft ? 0 : r->debt - 1;
	if (!r->debt)
		redis_settled(r);
}

static bool op_purges(const struct store_op *purge, const struct store_op *op)
{
	return purge->type == OP_PURGE && store_purges(purge->what, purge->key, purge->len, op->key, op->len);
}

/* Whether the operation concerns entries that a purge in progress, or one held behind it, covers. */
static bool redis_is_purging(const struct store_redis *r, const struct store_op *op)
{
	const struct store_op *held;

	if (op->type == OP_SETTLE || (op->type == OP_PURGE && op->what != PURGE_URL) || op_purges(r->scan, op))
		return true;
	TAILQ_FOREACH(held, &r->held, link)
		if (op_purges(held, op))
			return true;
	return false;
}

/* Until a purge has looked through all keys, operations on entries that it covers are held. Lookups are held for a
 * limited time, entries as long as there is room; after that they are answered or dropped. True: op was dealt with. */
static bool redis_holds(struct store_redis *r, struct store_op *op)
{
	if (!r->scan || !redis_is_purging(r, op))
		return false;
	if ((op->type == OP_GET && r->slow) || (op->type == OP_PUT && !redis_has_room(r))) {
		store_thread_done(&r->thread, op, NULL);
	} else {
		TAILQ_INSERT_TAIL(&r->held, op, link);
		r->n_held++;
		r->held_bytes += op_flying_bytes(op);
	}
	return true;
}

void redis_give_up_lookups(struct store_redis *r)
{
	struct store_op *op, *next;

	r->slow = true;
	for (op = TAILQ_FIRST(&r->held); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->type != OP_GET)
			continue;
		TAILQ_REMOVE(&r->held, op, link);
		r->n_held--;
		store_thread_done(&r->thread, op, NULL);
	}
	redis_pump(r);
}

static void redis_do(struct store_redis *r, struct store_op *op);

static void redis_take_off(struct store_redis *r, struct store_op *op)
{
	if (redis_holds(r, op))
		return;
	redis_took_off(r, op);
	if (r->flying == 1)
		loop_arm(r->thread.loop, &r->watch, r->settings.timeout_ms);
	redis_do(r, op);
}

/* Called after every answer: the purge may be done, and then the held operations are sent. */
static void redis_release(struct store_redis *r)
{
	struct store_op_list held = TAILQ_HEAD_INITIALIZER(held);
	struct store_op *op;

	if (r->scan)
		return;
	r->slow = false;
	loop_disarm(r->thread.loop, &r->patience);
	TAILQ_CONCAT(&held, &r->held, link);
	r->n_held = r->held_bytes = 0;
	while ((op = TAILQ_FIRST(&held)) != NULL) {
		TAILQ_REMOVE(&held, op, link);
		if (r->up)
			redis_take_off(r, op);
		else
			store_thread_owe(&r->thread, op);
	}
}

/* reply NULL: the connection is being closed, and it is not known whether the operation was done. */
static void redis_landed(struct store_redis *r, struct store_op *op, const redisReply *reply, struct entry *answer)
{
	redis_land(r, op);
	if (!reply || reply->type == REDIS_REPLY_ERROR)
		redis_count_error(r);
	if (!reply) {
		r->up = false;
		store_thread_owe(&r->thread, op);
		redis_release(r);
		return;
	}
	redis_pay(r, op);
	store_thread_done(&r->thread, op, answer);
	redis_release(r);
	if (r->up)
		loop_arm(r->thread.loop, &r->watch, r->flying ? r->settings.timeout_ms : 0);
	redis_pump(r);
	redis_check_end(r);
}

/* The server refused a removal, which is owed now: the connection is dropped and made anew for it. */
static void redis_refused(struct store_redis *r, struct store_op *op, const char *why)
{
	redis_land(r, op);
	redis_count_error(r);
	store_thread_owe(&r->thread, op);
	if (r->connection)
		redis_drop(r, why);
	redis_release(r);
}

/* The operation could not be sent: out of memory. */
static void redis_failed(struct store_redis *r, struct store_op *op)
{
	if (r->connection)
		redis_drop(r, "out of memory");
	redis_landed(r, op, NULL, NULL);
}

static int64_t redis_mark(const redisReply *mark)
{
	int64_t at = mark->type == REDIS_REPLY_STRING ? strtoll(mark->str, NULL, 10) : INT64_MIN;

	return at > MARK_MAX ? MARK_MAX : at;
}

/* The entry in a reply (HMGET: the entry, "!", "!0"), made stale where a soft purge came later; NULL: it is damaged, or
 * not of this key. */
static struct entry *redis_read(const redisReply *reply, const struct store_op *op)
{
	struct entry *e = entry_unpack(reply->element[0]->str, reply->element[0]->len), *stale;
	int64_t last = redis_mark(reply->element[1]), first = redis_mark(reply->element[2]);

	if (e && (e->key_len != op->len || memcmp(e->key, op->key, op->len)))
		entry_unref(&e);
	if (!e || e->freshness.response_time > last)
		return e;
	stale = entry_expired(e, first < last && e->freshness.response_time <= first ? first : last);
	entry_unref(&e);
	return stale;
}

static void on_unlinked(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *r = redis_of(op->thread);
	const redisReply *reply = answer;

	(void)ac;
	r->amends--;
	if (reply && reply->type == REDIS_REPLY_ERROR)
		redis_refused(r, op, reply->str);
	else
		redis_landed(r, op, reply, NULL);
}

/* Removes the whole URL where a single entry cannot be removed from it, or the URL cannot be marked. */
static void redis_unlink(struct store_redis *r, struct store_op *op)
{
	struct redis_name n;

	if (name_make(&n, r, op->key, op->len)) {
		r->amends++;
		send_unlink(r, on_unlinked, op, (struct slice)TEXT(n.key));
	} else {
		redis_failed(r, op);
	}
	name_free(&n);
}

/* Whether the command was refused because of the type of the key, or for want of memory: then UNLINK may still work. */
static bool is_about_key(const redisReply *error)
{
	return !strncmp(error->str, "WRONGTYPE", 9) || !strncmp(error->str, "OOM", 3);
}

static void on_removed(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *r = redis_of(op->thread);
	const redisReply *reply = answer;

	(void)ac;
	if (!reply || reply->type != REDIS_REPLY_ERROR)
		redis_landed(r, op, reply, NULL);
	else if (is_about_key(reply))
		redis_unlink(r, op);
	else
		redis_refused(r, op, reply->str);
}

/* Removes the entry of op's key. done NULL: this is only a clean-up on the way, and op is answered elsewhere. */
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

/* An entry that cannot be stored still removes the one it would have replaced. */
static void redis_forget_instead(struct store_redis *r, struct store_op *op)
{
	r->flying_bytes -= op_flying_bytes(op);
	entry_unref(&op->entry);
	op->type = OP_REMOVE;
	redis_forget(r, on_removed, op);
}

static void on_put(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *r = redis_of(op->thread);
	const redisReply *reply = answer;

	(void)ac;
	if (!reply || reply->type != REDIS_REPLY_ERROR) {
		redis_landed(r, op, reply, NULL);
		return;
	}
	redis_count_error(r);
	redis_forget_instead(r, op);
}

static void on_got(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *r = redis_of(op->thread);
	const redisReply *reply = answer;
	struct entry *e = NULL;

	(void)ac;
	if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
	    reply->element[0]->type == REDIS_REPLY_STRING) {
		e = redis_read(reply, op);
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
		struct slice args[] = { WORD("HMGET"), TEXT(n.key), TEXT(n.field), WORD("!"), WORD("!0") };

		redis_send(r, on_got, op, 5, args);
	} else {
		redis_failed(r, op);
	}
	name_free(&n);
}

static void redis_put(struct store_redis *r, struct store_op *op)
{
	struct redis_name n;
	size_t len;
	char *packed = op->entry->bytes <= VALUE_MAX_BYTES ? entry_pack(op->entry, &len) : NULL;

	if (!packed) {
		redis_forget_instead(r, op);
		return;
	}
	if (name_make(&n, r, op->key, op->len)) {
		struct slice args[] = { WORD("HSET"), TEXT(n.key), TEXT(n.field), { packed, len } };
		struct slice key = TEXT(n.key);

		redis_send(r, on_put, op, 4, args);
		send_expire(r, key);
	} else {
		redis_failed(r, op);
	}
	name_free(&n);
	free(packed);
}

/* The pattern of SCAN is a glob, so its special characters are escaped. */
static void send_scan(struct store_redis *r, redisCallbackFn *done, struct store_op *op, const char *cursor)
{
	struct slice args[] = { WORD("SCAN"), { cursor, strlen(cursor) }, WORD("MATCH"), { NULL, 0 }, WORD("COUNT"),
		WORD(SCAN_COUNT) };
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
	text_free(&pattern);
}

static void redis_scan(struct store_redis *r, struct store_op *op);

/* Ends a purge after the last page of SCAN, once all keys were answered. Where marking was refused, a second scan
 * removes the keys instead. */
static void redis_scan_ends(struct store_redis *r, const redisReply *reply)
{
	struct store_op *op = r->scan;

	if (!r->scan_over || r->scanned)
		return;
	if (r->scan_failed && op->soft) {
		op->soft = false;
		redis_scan(r, op);
	} else if (r->scan_failed) {
		redis_refused(r, op, "a removal was refused");
	} else {
		redis_landed(r, op, reply, NULL);
	}
}

static void on_scanned_key(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_redis *r = arg;
	const redisReply *reply = answer;

	(void)ac;
	r->scanned--;
	if (!r->scan)
		return;
	if (!reply && r->scan_over) {
		redis_landed(r, r->scan, NULL, NULL);
		return;
	}
	r->scan_failed |= reply && reply->type == REDIS_REPLY_ERROR;
	redis_scan_ends(r, reply);
}

/* Removes or marks a key that SCAN has named, if the purge covers it: a server may name any key. */
static void redis_scanned_key(struct store_redis *r, const struct store_op *op, const redisReply *name)
{
	size_t prefix = strlen(r->settings.prefix), url = op->what == PURGE_ALL ? 0 : op->len;
	struct slice key = { name->str, name->len };

	if (name->type != REDIS_REPLY_STRING || key.len < prefix + url || memcmp(key.at, r->settings.prefix, prefix) ||
	    memcmp(key.at + prefix, op->key, url))
		return;
	r->scanned++;
	if (op->soft)
		send_mark(r, on_scanned_key, r, key, op->now);
	else
		send_unlink(r, on_scanned_key, r, key);
}

static void on_scanned(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *r = redis_of(op->thread);
	const redisReply *reply = answer, *keys;

	(void)ac;
	if (!reply) {
		redis_landed(r, op, NULL, NULL);
		return;
	}
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING) {
		redis_refused(r, op, reply->type == REDIS_REPLY_ERROR ? reply->str : "it does not answer SCAN");
		return;
	}
	keys = reply->element[1];
	for (size_t i = 0; keys->type == REDIS_REPLY_ARRAY && i < keys->elements && r->connection; i++)
		redis_scanned_key(r, op, keys->element[i]);
	loop_arm(r->thread.loop, &r->watch, r->connection ? r->settings.timeout_ms : 0);
	r->scan_over = r->connection && !strcmp(reply->element[0]->str, "0");
	if (++r->scan_pages == SCAN_PAGES_MAX && !r->scan_over) {
		redis_refused(r, op, "it looks through its keys without end");
		return;
	}
	if (r->scan_over)
		redis_scan_ends(r, reply);
	else
		send_scan(r, on_scanned, op, reply->element[0]->str);
}

static void redis_scan(struct store_redis *r, struct store_op *op)
{
	r->scan = op;
	r->scan_over = r->scan_failed = false;
	r->scanned = r->scan_pages = 0;
	loop_arm(r->thread.loop, &r->patience, r->settings.timeout_ms);
	send_scan(r, on_scanned, op, "0");
}

static void redis_purge(struct store_redis *r, struct store_op *op)
{
	struct redis_name n;
	struct slice key;

	if (op->what != PURGE_URL) {
		redis_scan(r, op);
		return;
	}
	if (!name_make(&n, r, op->key, op->len)) {
		redis_failed(r, op);
	} else {
		key = (struct slice)TEXT(n.key);
		if (op->soft)
			send_mark(r, on_removed, op, key, op->now);
		else
			send_unlink(r, on_removed, op, key);
	}
	name_free(&n);
}

static void redis_settle(struct store_redis *r, struct store_op *op);

/* The server answers in order, so all operations before this one are done, but for removals that are tried again by
 * UNLINK: for those the settlement asks once more. */
static void redis_on_settled(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *r = redis_of(op->thread);

	(void)ac;
	if (answer && r->amends)
		redis_settle(r, op);
	else
		redis_landed(r, op, answer, NULL);
}

static void redis_settle(struct store_redis *r, struct store_op *op)
{
	struct slice args[] = { WORD("PING") };

	redis_send(r, redis_on_settled, op, 1, args);
}

static void redis_do(struct store_redis *r, struct store_op *op)
{
	switch (op->type) {
	case OP_GET: redis_get(r, op); break;
	case OP_PUT: redis_put(r, op); break;
	case OP_REMOVE: redis_forget(r, on_removed, op); break;
	case OP_PURGE: redis_purge(r, op); break;
	case OP_SETTLE: redis_settle(r, op); break;
	}
}

void redis_pump(struct store_redis *r)
{
	struct store_op *op;

	while (r->up && !r->over && (r->scan || redis_has_room(r)) && r->n_held < HELD_MAX && r->flying < FLIGHT_MAX &&
	    (op = store_thread_take(&r->thread)) != NULL)
		redis_take_off(r, op);
}

static void redis_begin(struct store_thread *t)
{
	redis_connect(redis_of(t));
}

static void redis_run(struct store_thread *t)
{
	redis_pump(redis_of(t));
}

static void redis_end(struct store_thread *t)
{
	redis_disconnect(redis_of(t));
}

static const struct store_work redis_work = { .begin = redis_begin, .run = redis_run, .end = redis_end };

static void redis_stats(struct store *store, struct store_stats *stats)
{
	store_thread_stats(store, stats);
	stats->shared = true;
}

static void redis_free(struct store *store)
{
	struct store_redis *r = (struct store_redis *)(void *)store;

	store_thread_stop(&r->thread);
	redis_connection_free(r);
	free(r->user);
	free(r->password);
	free(r);
}

static char *copy_or_null(const char *text)
{
	return text ? strdup(text) : NULL;
}

int store_redis_login(struct store *store, const char *user, const char *password)
{
	struct store_redis *r = (struct store_redis *)(void *)store;
	char *new_user = copy_or_null(user), *new_password = copy_or_null(password), *old_user, *old_password;

	if ((user && !new_user) || (password && !new_password)) {
		free(new_user);
		free(new_password);
		return -1;
	}
	pthread_mutex_lock(&r->thread.lock);
	old_user = r->user;
	old_password = r->password;
	r->user = new_user;
	r->password = new_password;
	pthread_mutex_unlock(&r->thread.lock);
	free(old_user);
	free(old_password);
	return 0;
}

static const struct store_ops redis_ops = {
	.name = "redis", .get = store_thread_get, .cancel = store_thread_cancel, .put = store_thread_put,
	.remove = store_thread_remove, .purge = store_thread_purge, .settle = store_thread_settle, .stats = redis_stats,
	.free = redis_free,
};

bool store_redis_refuses(const struct redis_settings *settings, struct store_redis_why *why)
{
	struct store_redis *r = calloc(1, sizeof *r);
	struct tls_why tls = { .file = TLS_FILE_NONE };
	const char *text = "out of memory";

	if (r) {
		r->settings = *settings;
		text = redis_connection_init(r, &tls);
		redis_connection_free(r);
	}
	snprintf(why->text, sizeof why->text, "%s", text ? text : "");
	why->ca_file = tls.file == TLS_FILE_CA;
	free(r);
	return text;
}

struct store *store_redis_new(const struct redis_settings *settings)
{
	struct store_redis *r = calloc(1, sizeof *r);
	const char *why = "out of memory";
	struct tls_why tls_why;

	if (r) {
		r->thread.store.ops = &redis_ops;
		r->thread.away = true;
		TAILQ_INIT(&r->held);
		r->settings = *settings;
		r->settings.user = r->settings.password = NULL;
		r->user = copy_or_null(settings->user);
		r->password = copy_or_null(settings->password);
		if ((!settings->user || r->user) && (!settings->password || r->password) &&
		    !(why = redis_connection_init(r, &tls_why))) {
			if (!store_thread_start(&r->thread, &redis_work))
				return &r->thread.store;
			why = strerror(EAGAIN);
			redis_connection_free(r);
		}
		free(r->user);
		free(r->password);
	}
	log_error("redis store: %s", why);
	free(r);
	return NULL;
}
