/* Owns the commands that are sent on the Redis store's connection, one request behind the other, and the names in them.
 * Must not know: what an operation is, what a reply means.
 *
 * A URL is a Redis hash: PREFIX URL -> { "=" rest of the key: packed entry, "!": when it was last purged softly, "!0":
 * when first }, so that one command removes a URL with all its variants. An entry that was stored between the first
 * and the last soft purge counts as stale since the last, though another one may have come before that. A hash expires
 * a week after the last entry that came into it. */
#include "proxy/store/store_redis_internal.h"

#include <stdio.h>
#include <string.h>

enum { EXPIRE_S = 7 * 24 * 3600 };

/* False: out of memory. */
bool redis_name_make(struct redis_name *n, const struct store_redis *r, const char *key, size_t len)
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

void redis_name_free(struct redis_name *n)
{
	text_free(&n->key);
	text_free(&n->field);
}

void redis_send(struct store_redis *r, redisCallbackFn *done, void *arg, int argc, const struct slice *args)
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

void redis_send_expire(struct store_redis *r, struct slice key)
{
	char seconds[16];
	struct slice args[] = { REDIS_WORD("EXPIRE"), key, { seconds, 0 } };

	args[2].len = (size_t)snprintf(seconds, sizeof seconds, "%d", EXPIRE_S);
	redis_send(r, NULL, NULL, 3, args);
}

void redis_send_mark(struct store_redis *r, redisCallbackFn *done, void *arg, struct slice key, int64_t now)
{
	char seconds[24];
	struct slice time = { seconds, (size_t)snprintf(seconds, sizeof seconds, "%lld", (long long)now) };
	struct slice first[] = { REDIS_WORD("HSETNX"), key, REDIS_WORD("!0"), time };
	struct slice last[] = { REDIS_WORD("HSET"), key, REDIS_WORD("!"), time };

	redis_send(r, NULL, NULL, 4, first);
	redis_send(r, done, arg, 4, last);
	redis_send_expire(r, key);
}

void redis_send_unlink(struct store_redis *r, redisCallbackFn *done, void *arg, struct slice key)
{
	struct slice args[] = { REDIS_WORD("UNLINK"), key };

	redis_send(r, done, arg, 2, args);
}
