/* Owns the commands that are sent on the Redis store's connection, one request behind the other, and the names in them.
 * Must not know: what an operation is, what a reply means.
 *
 * A URL is a Redis hash, whose key is PREFIX FORMAT ":" URL. Field "=" with the rest of an entry's key behind it is the
 * packed entry. Field "@" with the same behind it is when that entry ends, by the server's clock. If that is "", the
 * entry ends with the last of the others. Field "!" is when the URL was last purged softly, and the number of that
 * purge. Field "!0" is the same of the first such purge. So one command removes a URL with all its variants. An entry
 * that was stored between the first and the last soft purge counts as stale since the last, though another one may have
 * come before that. FORMAT is ENTRY_FORMAT: a utfeed neither reads nor replaces entries of another format, but its
 * purges remove them, softly or not.
 * Invariants: each entry ends by itself, whatever is stored beside it; the hash ends with its last entry; a URL has at
 * most REDIS_VARIANTS_MAX entries that end. */
#include "proxy/store/store_redis_internal.h"

#include <stdio.h>
#include <string.h>

enum { MARK_TEXT = 96 };

/* False: out of memory. */
bool redis_name_make(struct redis_name *name, const struct store_redis *redis, const char *key, size_t len)
{
	const char *end = memchr(key, '\n', len);
	size_t url = end ? (size_t)(end - key) : len;

	*name = (struct redis_name){ 0 };
	text_puts(&name->key, redis->own);
	text_add(&name->key, key, url);
	text_puts(&name->field, "=");
	text_puts(&name->ends, "@");
	if (end) {
		text_add(&name->field, end + 1, len - url - 1);
		text_add(&name->ends, end + 1, len - url - 1);
	}
	return !name->key.failed && !name->field.failed && !name->ends.failed;
}

void redis_name_free(struct redis_name *name)
{
	text_free(&name->key);
	text_free(&name->field);
	text_free(&name->ends);
}

void redis_send_mark(struct store_redis *redis, redisCallbackFn *done, void *arg, struct slice key,
    const struct store_op *op)
{
	char mark[MARK_TEXT], number[MARK_TEXT / 2], seconds[16];
	struct slice n = redis_number_write(number, sizeof number, op->number);
	struct slice value = { mark, (size_t)snprintf(mark, sizeof mark, "%lld %.*s", (long long)op->now, (int)n.len,
	    n.at) };
	struct slice first[] = { REDIS_WORD("HSETNX"), key, REDIS_WORD("!0"), value };
	struct slice last[] = { REDIS_WORD("HSET"), key, REDIS_WORD("!"), value };
	struct slice expire[] = { REDIS_WORD("EXPIRE"), key, { seconds, 0 } };

	expire[2].len = (size_t)snprintf(seconds, sizeof seconds, "%d", REDIS_EXPIRE_S);

	redis_link_send(&redis->link, NULL, NULL, 4, first);
	redis_link_send(&redis->link, done, arg, 4, last);
	redis_link_send(&redis->link, NULL, NULL, 3, expire);
}

void redis_send_unlink(struct store_redis *redis, redisCallbackFn *done, void *arg, struct slice key)
{
	struct slice args[] = { REDIS_WORD("UNLINK"), key };

	redis_link_send(&redis->link, done, arg, 2, args);
}
