/* Owns a purge of the Redis store that looks through all of the server's keys (SCAN); there is one at a time. Must not
 * know: what waits for it (store_redis_flight.c).
 * Invariants: it ends once SCAN has named all keys and the removal or the mark of each was answered. The server
 * remembers the purge before the first, and once more behind the last: what another process found meanwhile it forgets
 * then. */
#include "proxy/store/store_redis_internal.h"

#include <string.h>

enum { SCAN_PAGES_MAX = 1000000 };
#define SCAN_COUNT "1000"

static void add_glob(struct text *pattern, const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strchr("*?[]\\", at[i]))
			text_puts(pattern, "\\");
		text_add(pattern, &at[i], 1);
	}
}

/* The pattern of SCAN is a glob, so its special characters are escaped. It fits keys of every format. */
static void send_scan(struct store_redis *redis, redisCallbackFn *done, struct store_op *op, const char *cursor)
{
	struct slice args[] = { REDIS_WORD("SCAN"), { cursor, strlen(cursor) }, REDIS_WORD("MATCH"), { NULL, 0 },
		REDIS_WORD("COUNT"), REDIS_WORD(SCAN_COUNT) };
	struct text pattern = { 0 };

	add_glob(&pattern, redis->prefix, strlen(redis->prefix));
	text_puts(&pattern, "[0-9]*:");
	add_glob(&pattern, op->key, op->what == PURGE_ALL ? 0 : op->len);
	text_puts(&pattern, "*");
	args[3] = (struct slice)REDIS_TEXT(pattern);
	if (pattern.failed)
		redis_failed(redis, op);
	else
		redis_link_send(&redis->link, done, op, 6, args);
	text_free(&pattern);
}

/* Remembers the purge. Of all keys that a purge of many covers, this one is no URL's. */
static void scan_mark(struct store_redis *redis, struct store_op *op, redisCallbackFn *done)
{
	struct text key = { 0 };

	text_puts(&key, redis->own);
	text_puts(&key, "!");
	if (key.failed)
		redis_failed(redis, op);
	else
		redis_send_purge(redis, done, op, (struct slice)REDIS_TEXT(key));
	text_free(&key);
}

static void on_scan_over(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *redis = redis_of(op->thread);
	const redisReply *reply = answer;

	(void)ac;
	if (reply && reply->type == REDIS_REPLY_ERROR)
		redis_refused(redis, op, reply->str);
	else
		redis_landed(redis, op, reply, NULL);
}

/* Ends a purge after the last page of SCAN, once all keys were answered. Where marking was refused, a second scan
 * removes the keys instead. */
static void redis_scan_ends(struct store_redis *redis)
{
	struct store_op *op = redis->scan;

	if (!redis->scan_over || redis->scanned)
		return;
	if (redis->scan_failed && op->soft) {
		op->soft = false;
		redis_scan(redis, op);
	} else if (redis->scan_failed) {
		redis_refused(redis, op, "a removal was refused");
	} else {
		scan_mark(redis, op, on_scan_over);
	}
}

static void on_scanned_key(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_redis *redis = arg;
	const redisReply *reply = answer;

	(void)ac;
	redis->scanned--;
	if (!redis->scan)
		return;
	if (!reply && redis->scan_over) {
		redis_landed(redis, redis->scan, NULL, NULL);
		return;
	}
	redis->scan_failed |= reply && reply->type == REDIS_REPLY_ERROR;
	redis_scan_ends(redis);
}

/* How many bytes of the key stand before the URL, of whatever format; 0: it is no URL's key. */
static size_t scanned_url_at(const struct store_redis *redis, struct slice key)
{
	size_t prefix = strlen(redis->prefix), at = prefix;

	if (key.len < prefix || memcmp(key.at, redis->prefix, prefix))
		return 0;
	while (at < key.len && key.at[at] >= '0' && key.at[at] <= '9')
		at++;
	if (at == prefix || at == key.len || key.at[at++] != ':' || (at < key.len && key.at[at] == '!'))
		return 0;
	return at;
}

/* Removes or marks a key that SCAN has named, if the purge covers it: a server may name any key. A key of another
 * format is removed, because this process does not know its marks. */
static void redis_scanned_key(struct store_redis *redis, const struct store_op *op, const redisReply *name)
{
	struct slice key = { name->str, name->type == REDIS_REPLY_STRING ? name->len : 0 };
	size_t at = scanned_url_at(redis, key), url = op->what == PURGE_ALL ? 0 : op->len;

	if (!at || key.len < at + url || memcmp(key.at + at, op->key, url))
		return;
	redis->scanned++;
	if (op->soft && at == strlen(redis->own) && !memcmp(key.at, redis->own, at))
		redis_send_mark(redis, on_scanned_key, redis, key, op);
	else
		redis_send_unlink(redis, on_scanned_key, redis, key);
}

static void on_scanned(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *redis = redis_of(op->thread);
	const redisReply *reply = answer, *keys;

	(void)ac;
	if (!reply) {
		redis_landed(redis, op, NULL, NULL);
		return;
	}
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING) {
		redis_refused(redis, op, reply->type == REDIS_REPLY_ERROR ? reply->str : "it does not answer SCAN");
		return;
	}
	keys = reply->element[1];
	for (size_t i = 0; keys->type == REDIS_REPLY_ARRAY && i < keys->elements && redis->link.connection; i++)
		redis_scanned_key(redis, op, keys->element[i]);
	redis_link_watch(&redis->link, redis->link.connection);
	redis->scan_over = redis->link.connection && !strcmp(reply->element[0]->str, "0");
	if (++redis->scan_pages == SCAN_PAGES_MAX && !redis->scan_over) {
		redis_refused(redis, op, "it looks through its keys without end");
		return;
	}
	if (redis->scan_over)
		redis_scan_ends(redis);
	else
		send_scan(redis, on_scanned, op, reply->element[0]->str);
}

static void on_scan_marked(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *redis = redis_of(op->thread);
	const redisReply *reply = answer;

	(void)ac;
	if (!reply) {
		redis_landed(redis, op, NULL, NULL);
		return;
	}
	if (reply->type != REDIS_REPLY_STRING) {
		redis_refused(redis, op, reply->type == REDIS_REPLY_ERROR ? reply->str : "it does not number a purge");
		return;
	}
	op->number = redis_number_read(reply->str);
	redis_link_watch(&redis->link, true);
	send_scan(redis, on_scanned, op, "0");
}

void redis_scan(struct store_redis *redis, struct store_op *op)
{
	redis->scan = op;
	redis->scan_over = redis->scan_failed = false;
	redis->scanned = redis->scan_pages = 0;
	loop_arm(redis->thread.loop, &redis->patience, redis->access->settings.timeout_ms);
	scan_mark(redis, op, on_scan_marked);
}
