/* Owns the commands that are sent on the Redis store's connection, one request behind the other, and the names in them.
 * Must not know: what an operation is, what a reply means.
 *
 * A URL is a Redis hash: PREFIX FORMAT ":" URL -> { "=" rest of the key: packed entry, "@" rest of the key: when that
 * entry ends, by the server's clock ("": with the last of the others), "!": when the URL was last purged softly, "!0":
 * when first }. So one command removes a URL with all its variants. An entry that was stored between the first and the
 * last soft purge counts as stale since the last, though another one may have come before that. FORMAT is
 * ENTRY_FORMAT: no version of utfeed meets the entries of another format.
 * Invariants: each entry ends by itself, whatever is stored beside it; the hash ends with its last entry; a URL has at
 * most VARIANTS_MAX entries that end. */
#include "proxy/store/store_redis_internal.h"

#include <stdio.h>
#include <string.h>

enum { EXPIRE_S = 7 * 24 * 3600, VARIANTS_MAX = 128 };

/* KEYS: the hash. ARGV: the rest of the key; the packed entry; the seconds until it ends, "" for a record of variants;
 * VARIANTS_MAX. Entries that have ended are removed, then those of the others that end first, as far as there are too
 * many. A hash with a soft purge in it is kept until the purge ends. */
static const char put_script[] =
    "local key, now = KEYS[1], tonumber(redis.call('TIME')[1])\n"
    "local mine, seconds, last = '@' .. ARGV[1], tonumber(ARGV[3]), now + 60\n"
    "if redis.call('HEXISTS', key, '!') == 1 then last = math.max(last, now + redis.call('TTL', key)) end\n"
    "redis.call('HSET', key, '=' .. ARGV[1], ARGV[2], mine, seconds and now + seconds or '')\n"
    "local ends, kept, page = {}, {}, { '0' }\n"
    "repeat\n"
    "  page = redis.call('HSCAN', key, page[1], 'MATCH', '@*', 'COUNT', 1000)\n"
    "  for i = 1, #page[2], 2 do ends[page[2][i]] = tonumber(page[2][i + 1]) end\n"
    "until page[1] == '0'\n"
    "local function drop(field) redis.call('HDEL', key, field, '=' .. string.sub(field, 2)) end\n"
    "for field, at in pairs(ends) do\n"
    "  if at < now then drop(field) elseif field ~= mine then kept[#kept + 1] = field end\n"
    "  last = math.max(last, at)\n"
    "end\n"
    "table.sort(kept, function(a, b) return ends[a] < ends[b] end)\n"
    "for i = 1, #kept - ARGV[4] + 1 do drop(kept[i]) end\n"
    "return redis.call('EXPIRE', key, last - now)\n";

/* False: out of memory. */
bool redis_name_make(struct redis_name *n, const struct store_redis *r, const char *key, size_t len)
{
	const char *end = memchr(key, '\n', len);
	size_t url = end ? (size_t)(end - key) : len;

	*n = (struct redis_name){ 0 };
	text_puts(&n->key, r->prefix);
	text_add(&n->key, key, url);
	text_puts(&n->field, "=");
	text_puts(&n->ends, "@");
	if (end) {
		text_add(&n->field, end + 1, len - url - 1);
		text_add(&n->ends, end + 1, len - url - 1);
	}
	return !n->key.failed && !n->field.failed && !n->ends.failed;
}

void redis_name_free(struct redis_name *n)
{
	text_free(&n->key);
	text_free(&n->field);
	text_free(&n->ends);
}

void redis_send(struct store_redis *r, redisCallbackFn *done, void *arg, int argc, const struct slice *args)
{
	const char *argv[REDIS_ARGS_MAX];
	size_t lens[REDIS_ARGS_MAX];

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

static struct slice number_text(char text[static 24], int64_t n)
{
	return (struct slice){ text, (size_t)snprintf(text, 24, "%lld", (long long)n) };
}

void redis_send_put(struct store_redis *r, redisCallbackFn *done, void *arg, const struct redis_name *n,
    struct slice packed, int64_t seconds)
{
	char ends[24], most[24];
	struct slice args[] = { REDIS_WORD("EVAL"), REDIS_WORD(put_script), REDIS_WORD("1"), REDIS_TEXT(n->key),
		{ n->field.bytes + 1, n->field.len - 1 }, packed,
		number_text(ends, seconds < EXPIRE_S ? seconds : EXPIRE_S), number_text(most, VARIANTS_MAX) };

	if (seconds == ENTRY_ENDS_LAST)
		args[6].len = 0;
	redis_send(r, done, arg, REDIS_ARGS_MAX, args);
}

void redis_send_mark(struct store_redis *r, redisCallbackFn *done, void *arg, struct slice key, int64_t now)
{
	char at[24], seconds[24];
	struct slice time = number_text(at, now);
	struct slice first[] = { REDIS_WORD("HSETNX"), key, REDIS_WORD("!0"), time };
	struct slice last[] = { REDIS_WORD("HSET"), key, REDIS_WORD("!"), time };
	struct slice expire[] = { REDIS_WORD("EXPIRE"), key, number_text(seconds, EXPIRE_S) };

	redis_send(r, NULL, NULL, 4, first);
	redis_send(r, done, arg, 4, last);
	redis_send(r, NULL, NULL, 3, expire);
}

void redis_send_unlink(struct store_redis *r, redisCallbackFn *done, void *arg, struct slice key)
{
	struct slice args[] = { REDIS_WORD("UNLINK"), key };

	redis_send(r, done, arg, 2, args);
}
