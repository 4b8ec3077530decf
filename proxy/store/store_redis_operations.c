/* Owns what each operation of the Redis store is in commands, and what the replies to them mean. Must not know: what
 * else is on its way, the connection. A purge of more than a URL is store_redis_scan.c's.
 * Invariant: each operation that begins here ends once, in redis_landed(), redis_refused() or redis_failed(). */
#include "proxy/store/store_redis_internal.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX_BYTES = 8 << 20 };
#define MARK_MAX (INT64_C(1) << 48)             /* seconds since the epoch: the latest time that an entry may have */

/* When a URL was purged softly, and by which purge; number 0: never. A mark without a number is a former version's, and
 * covers every entry. */
struct soft_mark { int64_t at; uint64_t number; };

static struct soft_mark soft_mark_read(const redisReply *reply)
{
	struct soft_mark m = { 0, UINT64_MAX };
	char *end;

	if (reply->type != REDIS_REPLY_STRING)
		return (struct soft_mark){ 0, 0 };
	m.at = strtoll(reply->str, &end, 10);
	m.at = m.at > MARK_MAX ? MARK_MAX : m.at;
	if (*end == ' ')
		m.number = redis_number_read(end + 1);
	return m;
}

struct entry *redis_read(redisReply *const *fields, const struct store_op *op)
{
	struct entry *e = entry_unpack(fields[0]->str, fields[0]->len);
	struct soft_mark last = soft_mark_read(fields[1]), first = soft_mark_read(fields[2]);

	if (e && (e->key_len != op->len || memcmp(e->key, op->key, op->len)))
		entry_unref(&e);
	if (!e || e->since >= last.number)
		return e;
	struct entry *stale = entry_expired(e, e->since < first.number ? first.at : last.at);
	entry_unref(&e);
	return stale;
}

static void on_unlinked(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *redis = redis_of(op->thread);
	const redisReply *reply = answer;

	(void)ac;
	redis->amends--;
	if (reply && reply->type == REDIS_REPLY_ERROR)
		redis_refused(redis, op, reply->str);
	else
		redis_landed(redis, op, reply, NULL);
}

/* Removes the whole URL where a single entry cannot be removed from it, or the URL cannot be marked. */
static void redis_unlink(struct store_redis *redis, struct store_op *op)
{
	struct redis_name n;

	if (redis_name_make(&n, redis, op->key, op->len)) {
		redis->amends++;
		redis_send_unlink(redis, on_unlinked, op, (struct slice)REDIS_TEXT(n.key));
	} else {
		redis_failed(redis, op);
	}
	redis_name_free(&n);
}

/* If the server refused the command because of the type of the key, or because memory is full, UNLINK may still work.
 * If it refused a script, some servers say that first. */
static void on_removed(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *redis = redis_of(op->thread);
	const redisReply *reply = answer;

	(void)ac;
	if (!reply || reply->type != REDIS_REPLY_ERROR)
		redis_landed(redis, op, reply, NULL);
	else if (strstr(reply->str, "WRONGTYPE") || strstr(reply->str, "OOM "))
		redis_unlink(redis, op);
	else
		redis_refused(redis, op, reply->str);
}

/* Removes the entry of op's key. done NULL: this is only a clean-up, and op ends elsewhere. */
static void redis_forget(struct store_redis *redis, redisCallbackFn *done, struct store_op *op)
{
	struct redis_name n;

	if (redis_name_make(&n, redis, op->key, op->len)) {
		struct slice args[] = { REDIS_WORD("HDEL"), REDIS_TEXT(n.key), REDIS_TEXT(n.field),
			REDIS_TEXT(n.ends) };

		redis_link_send(&redis->link, done, op, 4, args);
	} else if (done) {
		redis_failed(redis, op);
	}
	redis_name_free(&n);
}

/* An entry that cannot be stored still removes the one it would have replaced. */
static void redis_forget_instead(struct store_redis *redis, struct store_op *op)
{
	redis_make_removal(redis, op);
	redis_forget(redis, on_removed, op);
}

static void on_put(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *redis = redis_of(op->thread);
	const redisReply *reply = answer;

	(void)ac;
	if (!reply || reply->type != REDIS_REPLY_ERROR) {
		redis->refuses &= !reply;
		redis_landed(redis, op, reply, NULL);
		return;
	}
	if (!redis->refuses)                   /* full memory, or a user that may not EVAL; said once */
		redis_warn("entries are not stored", reply->str);
	redis->refuses = true;
	redis_count_error(redis);
	redis_forget_instead(redis, op);
}

static void on_got(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *redis = redis_of(op->thread);
	const redisReply *reply = answer;
	struct entry *e = NULL;

	(void)ac;
	if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
	    reply->element[0]->type == REDIS_REPLY_STRING) {
		e = redis_read(reply->element, op);
		if (!e) {
			redis_count_error(redis);
			redis_forget(redis, NULL, op);
		}
	}
	redis_landed(redis, op, reply, e);
}

static void redis_get(struct store_redis *redis, struct store_op *op)
{
	struct redis_name n;

	if (redis_name_make(&n, redis, op->key, op->len)) {
		struct slice args[] = { REDIS_WORD("HMGET"), REDIS_TEXT(n.key), REDIS_TEXT(n.field), REDIS_WORD("!"),
			REDIS_WORD("!0") };

		redis_link_send(&redis->link, on_got, op, 5, args);
	} else {
		redis_failed(redis, op);
	}
	redis_name_free(&n);
}

static void redis_put(struct store_redis *redis, struct store_op *op)
{
	struct redis_name n;
	size_t len;
	char *packed = op->entry->bytes <= VALUE_MAX_BYTES ? entry_pack(op->entry, &len) : NULL;

	if (!packed) {
		redis_forget_instead(redis, op);
		return;
	}
	if (redis_name_make(&n, redis, op->key, op->len))
		redis_send_put(redis, on_put, op, &n, (struct slice){ packed, len });
	else
		redis_failed(redis, op);
	redis_name_free(&n);
	free(packed);
}

static void redis_purge(struct store_redis *redis, struct store_op *op)
{
	struct redis_name n;

	if (op->what != PURGE_URL) {
		redis_scan(redis, op);
		return;
	}
	if (redis_name_make(&n, redis, op->key, op->len))
		redis_send_purge(redis, on_removed, op, (struct slice)REDIS_TEXT(n.key));
	else
		redis_failed(redis, op);
	redis_name_free(&n);
}

static void redis_settle(struct store_redis *redis, struct store_op *op);

/* The server answers in order, so all operations before this one are done, but for removals that are tried again by
 * UNLINK: for those the settlement asks once more. */
static void redis_on_settled(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *redis = redis_of(op->thread);

	(void)ac;
	if (answer && redis->amends)
		redis_settle(redis, op);
	else if (answer)
		redis_settled_here(redis, op);
	else
		redis_landed(redis, op, NULL, NULL);
}

static void redis_settle(struct store_redis *redis, struct store_op *op)
{
	struct slice args[] = { REDIS_WORD("PING") };

	redis_link_send(&redis->link, redis_on_settled, op, 1, args);
}

void redis_do(struct store_redis *redis, struct store_op *op)
{
	switch (op->type) {
	case OP_GET: redis_get(redis, op); break;
	case OP_PUT: redis_put(redis, op); break;
	case OP_REMOVE: redis_forget(redis, on_removed, op); break;
	case OP_PURGE: redis_purge(redis, op); break;
	case OP_SETTLE: redis_settle(redis, op); break;
	case OP_CALL: redis_call(redis, op); break;
	}
}
