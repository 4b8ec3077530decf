/* Owns the scripts that the Redis server runs for the store, and what their replies say. A purge and its mark are one
 * command, so that nothing comes between. An entry and its judgement are one command, too. Must not know: when they are
 * run.
 *
 * Beside the URLs (store_redis_command.c) the server has keys whose names no URL has. Processes share them,
 * whatever the format of their entries. PREFIX "!marks" is a stream of the latest purges, by the server's clock.
 * Fields: w what (u: URL, p: prefix, a: all, b: the stream begins here), s soft, n when, p the process, u the URL.
 * Field a counts the purges that the process had asked for by then. PREFIX
 * "!seen" is a hash of the processes: the latest purge that each knows, and until when it counts as alive, in ms. Its
 * field "format" is not a process, but the latest format that entries may still be stored in, and until when.
 * "!news" is a stream of what processes tell each other (store_redis_call.c). */
#include "proxy/store/store_redis_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEASE_MS = 4000, SEQUENCE_BITS = 20, MARK_FIELDS = 12, REDIS_VARIANTS_MAX = 128 };
#define LEASE "4000"
#define SILENT "3000"
#define KEPT "4096"
#define NEWS "256"
_Static_assert(LEASE_MS == 4000 && REDIS_MARKS_KEPT == 4096 && REDIS_NEWS == 256, "the scripts have these numbers");

/* KEYS: the purges, the hash, the processes. A command that removes comes first, even if its key does not exist: after
 * it Redis lets a script write although memory is full. The URL's hashes of other formats go, too: no process that runs
 * may be able to mark them. */
static const char mark_script[] = "-- utfeed mark\n"
	"redis.call('UNLINK', ARGV[2] == '' and KEYS[2] or KEYS[1] .. '-')\n"
	"local id = redis.call('XADD', KEYS[1], 'MAXLEN', " KEPT ", '*', 'w', ARGV[1], 's', ARGV[2],"
	" 'n', ARGV[3], 'p', ARGV[4], 'a', ARGV[5], 'u', ARGV[6])\n"
	"local prefix = string.sub(KEYS[1], 1, -7)\n"
	"local mine, url = string.match(string.sub(KEYS[2], #prefix + 1), '^(%d+)(:.*)$')\n"
	"local told = redis.call('HMGET', KEYS[3], 'format')[1]\n"
	"local last = math.max(tonumber(told and string.match(told, '^%d+') or 0), mine)\n"
	"for format = 1, math.min(last, mine + 99) do\n"
	" if format ~= tonumber(mine) then redis.call('UNLINK', prefix .. format .. url) end\n"
	"end\n"
	"if ARGV[2] ~= '' and ARGV[1] == 'u' then\n"
	" local mark = ARGV[3] .. ' ' .. id\n"
	" redis.call('HSETNX', KEYS[2], '!0', mark)\n"
	" redis.call('HSET', KEYS[2], '!', mark)\n"
	" redis.call('EXPIRE', KEYS[2], ARGV[7])\n"
	"end\n"
	"return id\n";

/* KEYS: the purges, the hash. ARGV 1 to 3: the latest purge known when the fetch began; the process; the purges it had
 * asked for. ARGV 4 to 8: the URL; the rest of the key; the packed entry; the seconds until it ends, "" for an index of
 * variants; REDIS_VARIANTS_MAX.
 * An entry that a later purge covers is not stored, nor is one that cannot be judged because later purges are not all
 * remembered. Entries that have ended are removed, then those of the others that end first, as far as there are too
 * many. A hash with a soft purge in it is kept until the purge ends. */
static const char put_script[] = "-- utfeed put\n"
	"local marks = redis.call('XRANGE', KEYS[1], ARGV[1], '+')\n"
	"local first = marks[1]\n"
	"if not first then return 0 end\n"
	"if ARGV[1] == '0-0' then if first[2][2] ~= 'b' then return 0 end\n"
	"elseif first[1] ~= ARGV[1] then return 0 end\n"
	"for i = 2, #marks do\n"
	"  local m = marks[i][2]\n"
	"  local what, url = m[2], m[12]\n"
	"  if (m[8] ~= ARGV[2] or tonumber(m[10]) > tonumber(ARGV[3])) and (what == 'a'\n"
	"    or what == 'u' and url == ARGV[4]\n"
	"    or what == 'p' and string.sub(ARGV[4], 1, #url) == url) then return 0 end\n"
	"end\n"
	"local key, now = KEYS[2], tonumber(redis.call('TIME')[1])\n"
	"local mine, seconds, last = '@' .. ARGV[5], tonumber(ARGV[7]), now + 60\n"
	"if redis.call('HEXISTS', key, '!') == 1 then last = math.max(last, now + redis.call('TTL', key)) end\n"
	"redis.call('HSET', key, '=' .. ARGV[5], ARGV[6], mine, seconds and now + seconds or '')\n"
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
	"for i = 1, #kept - ARGV[8] + 1 do drop(kept[i]) end\n"
	"redis.call('EXPIRE', key, last - now)\n"
	"return 1\n";

/* A process that the server knows no more may not be the only one: the server was away or has lost who knows what. So
 * all wait until those that are alive have told again. */
static const char learn_script[] = "-- utfeed learn\n"
	"if redis.call('EXISTS', KEYS[1]) == 0 then\n"
	" redis.call('UNLINK', KEYS[1] .. '-')\n"
	" redis.call('XADD', KEYS[1], '*', 'w', 'b', 's', '', 'n', '0', 'p', ARGV[2], 'a', '0', 'u', '')\n"
	"end\n"
	"local time = redis.call('TIME')\n"
	"local now, others, all = time[1] * 1000 + math.floor(time[2] / 1000), {}, redis.call('HGETALL', KEYS[2])\n"
	"local here, mine, format\n"
	"for i = 1, #all, 2 do\n"
	" local known, till = string.match(all[i + 1], '^(%S+) (%d+)$')\n"
	" if not known or tonumber(till) < now then redis.call('HDEL', KEYS[2], all[i])\n"
	" elseif all[i] == 'format' then format = tonumber(known)\n"
	" elseif all[i] ~= ARGV[2] then others[#others + 1] = known\n"
	" else here, mine = true, known == ARGV[1] and tonumber(till) > now + " SILENT " end\n"
	"end\n"
	"local function tell(who, known, ms)\n"
	" redis.call('HSET', KEYS[2], who, known .. ' ' .. string.format('%.0f', now + ms))\n"
	"end\n"
	"if not mine then\n"
	" redis.call('UNLINK', KEYS[1] .. '-')\n"
	" if not here and ARGV[1] ~= '0-0' then\n"
	"  tell('lost', '0-0', " SILENT ")\n"
	"  others[#others + 1] = '0-0'\n"
	" end\n"
	" tell(ARGV[2], ARGV[1], " LEASE ")\n"
	" local ours = tonumber(string.match(ARGV[4], '(%d+):$'))\n"
	" if not format or format <= ours then tell('format', ours, ARGV[3] * 1000) end\n"
	" redis.call('EXPIRE', KEYS[1], ARGV[3])\n"
	" redis.call('EXPIRE', KEYS[2], ARGV[3])\n"
	"end\n"
	"local last = redis.call('XREVRANGE', KEYS[1], ARGV[1], '-', 'COUNT', 1)[1]\n"
	"local told = redis.call('XREAD', 'COUNT', " NEWS ", 'STREAMS', KEYS[3], ARGV[5])\n"
	"return { last and last[1] or '0-0', redis.call('XLEN', KEYS[1]), others,"
	" redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', " NEWS "),"
	" told and told[1][2] or {}, string.format('%.0f', now) }\n";

/* ---- numbers of the stream ---- */

/* "MS-SEQUENCE" as one number. */
uint64_t redis_number_read(const char *text)
{
	char *end;
	uint64_t ms = strtoull(text, &end, 10), sequence = *end == '-' ? strtoull(end + 1, NULL, 10) : 0;

	if (ms >> (64 - SEQUENCE_BITS) || sequence >> SEQUENCE_BITS)
		return 0;
	return ms << SEQUENCE_BITS | sequence;
}

struct slice redis_number_write(char *to, size_t cap, uint64_t number)
{
	int len = snprintf(to, cap, "%" PRIu64 "-%" PRIu64, number >> SEQUENCE_BITS,
	    number & ((UINT64_C(1) << SEQUENCE_BITS) - 1));

	return (struct slice){ to, (size_t)len };
}

/* ---- commands ---- */

enum { DIGITS = 48 };

static struct slice digits(char *to, uint64_t n)
{
	return (struct slice){ to, (size_t)snprintf(to, DIGITS, "%" PRIu64, n) };
}

void redis_own_key(struct store_redis *redis, struct text *key, const char *name, size_t len)
{
	text_puts(key, redis->prefix);
	text_puts(key, "!");
	text_add(key, name, len);
}

static void own_key(struct store_redis *redis, struct text *key, const char *name)
{
	redis_own_key(redis, key, name, strlen(name));
}

void redis_send_purge(struct store_redis *redis, redisCallbackFn *done, struct store_op *op, struct slice key)
{
	static const char *const letters[] = { [PURGE_URL] = "u", [PURGE_PREFIX] = "p", [PURGE_ALL] = "a" };
	bool cut = op->what != PURGE_ALL && op->len > REDIS_MARK_URL;
	size_t len = op->what == PURGE_ALL ? 0 : cut ? REDIS_MARK_URL : op->len;
	char now[DIGITS], process[DIGITS], asked[DIGITS], ends[DIGITS];
	struct text marks = { 0 }, seen = { 0 };

	own_key(redis, &marks, "marks");
	own_key(redis, &seen, "seen");
	if (marks.failed || seen.failed) {
		done(NULL, NULL, op);
	} else {
		struct slice args[] = { REDIS_WORD("EVAL"), REDIS_WORD(mark_script), REDIS_WORD("3"),
			REDIS_TEXT(marks), key, REDIS_TEXT(seen), { letters[cut ? PURGE_PREFIX : op->what], 1 },
			{ "1", op->soft },
			{ now, (size_t)snprintf(now, sizeof now, "%" PRId64, op->now) },
			digits(process, redis->process), digits(asked, op->asked), { op->key, len },
			digits(ends, REDIS_EXPIRE_S) };

		redis_link_send(&redis->link, done, op, sizeof args / sizeof *args, args);
	}
	text_free(&marks);
	text_free(&seen);
}

void redis_send_put(struct store_redis *redis, redisCallbackFn *done, struct store_op *op,
    const struct redis_name *name, struct slice packed)
{
	const char *end = memchr(op->key, '\n', op->len);
	int64_t lasts = entry_ends_s(op->entry), seconds = lasts < REDIS_EXPIRE_S ? lasts : REDIS_EXPIRE_S;
	char since[DIGITS], process[DIGITS], asked[DIGITS], ends[DIGITS], most[DIGITS];
	struct text marks = { 0 };

	own_key(redis, &marks, "marks");
	if (marks.failed) {
		done(NULL, NULL, op);
	} else {
		struct slice args[] = { REDIS_WORD("EVAL"), REDIS_WORD(put_script), REDIS_WORD("2"), REDIS_TEXT(marks),
			REDIS_TEXT(name->key), redis_number_write(since, sizeof since, op->entry->since),
			digits(process, redis->process), digits(asked, op->entry->asked),
			{ op->key, end ? (size_t)(end - op->key) : op->len },
			{ name->field.bytes + 1, name->field.len - 1 }, packed, digits(ends, (uint64_t)seconds),
			digits(most, REDIS_VARIANTS_MAX) };

		if (lasts == ENTRY_ENDS_LAST)
			args[11].len = 0;
		redis_link_send(&redis->link, done, op, sizeof args / sizeof *args, args);
	}
	text_free(&marks);
}

void redis_send_learn(struct store_redis *redis, redisCallbackFn *done, void *arg, uint64_t known, uint64_t heard)
{
	struct text marks = { 0 }, seen = { 0 }, told = { 0 };
	char number[DIGITS], process[DIGITS], ends[DIGITS], last[DIGITS];

	own_key(redis, &marks, "marks");
	own_key(redis, &seen, "seen");
	own_key(redis, &told, "news");
	if (marks.failed || seen.failed || told.failed) {
		redis_link_drop(&redis->link, "out of memory");
		done(NULL, NULL, arg);
	} else {
		struct slice args[] = { REDIS_WORD("EVAL"), REDIS_WORD(learn_script), REDIS_WORD("3"),
			REDIS_TEXT(marks), REDIS_TEXT(seen), REDIS_TEXT(told),
			redis_number_write(number, sizeof number, known), digits(process, redis->process),
			digits(ends, REDIS_EXPIRE_S), { redis->own, strlen(redis->own) },
			redis_number_write(last, sizeof last, heard) };

		redis_link_send(&redis->link, done, arg, sizeof args / sizeof *args, args);
	}
	text_free(&marks);
	text_free(&seen);
	text_free(&told);
}

void redis_send_part(struct store_redis *redis, redisCallbackFn *done, void *arg)
{
	struct text seen = { 0 };
	char process[DIGITS];

	own_key(redis, &seen, "seen");
	if (seen.failed) {
		done(NULL, NULL, arg);
	} else {
		struct slice args[] = { REDIS_WORD("HDEL"), REDIS_TEXT(seen), digits(process, redis->process) };

		redis_link_send(&redis->link, done, arg, 3, args);
	}
	text_free(&seen);
}

/* ---- the reply of learn_script ---- */

static bool reply_is_text(const redisReply *r)
{
	return r->type == REDIS_REPLY_STRING;
}

static bool reply_is_array(const redisReply *r, size_t elements)
{
	return r->type == REDIS_REPLY_ARRAY && r->elements == elements;
}

bool redis_reply_is_texts(const redisReply *r, size_t elements)
{
	if (!reply_is_array(r, elements))
		return false;
	for (size_t i = 0; i < elements; i++)
		if (!reply_is_text(r->element[i]))
			return false;
	return true;
}

/* One mark: its number, and names and values in the order of mark_script. */
static bool news_mark_read(struct redis_news_mark *to, const redisReply *r)
{
	static const char letters[] = "upab";
	const redisReply *fields;

	if (!reply_is_array(r, 2) || !reply_is_text(r->element[0]) ||
	    !redis_reply_is_texts(fields = r->element[1], MARK_FIELDS))
		return false;
	const char *letter = fields->element[1]->len == 1 ? strchr(letters, fields->element[1]->str[0]) : NULL;
	if (!letter || fields->element[11]->len > REDIS_MARK_URL)
		return false;
	*to = (struct redis_news_mark){ .kind = (unsigned)(letter - letters),
		.mark = { .process = strtoull(fields->element[7]->str, NULL, 10),
			.number = redis_number_read(r->element[0]->str), .soft = fields->element[3]->len,
			.now = strtoll(fields->element[5]->str, NULL, 10), .url = fields->element[11]->str,
			.len = fields->element[11]->len } };
	to->mark.at_ms = to->mark.number >> SEQUENCE_BITS;
	to->mark.what = to->kind == REDIS_MARK_BEGIN ? PURGE_ALL : (enum store_purge)to->kind;
	return true;
}

bool redis_news_read(struct redis_news *news, const redisReply *r)
{
	const redisReply *marks;

	if (!reply_is_array(r, 6) || !reply_is_text(r->element[0]) || r->element[1]->type != REDIS_REPLY_INTEGER ||
	    (news->others = r->element[2])->type != REDIS_REPLY_ARRAY ||
	    (marks = r->element[3])->type != REDIS_REPLY_ARRAY || marks->elements > REDIS_NEWS ||
	    (news->told = r->element[4])->type != REDIS_REPLY_ARRAY || news->told->elements > REDIS_NEWS ||
	    !reply_is_text(r->element[5]))
		return false;
	news->now_ms = strtoull(r->element[5]->str, NULL, 10);
	news->last_known = redis_number_read(r->element[0]->str);
	news->length = (uint64_t)r->element[1]->integer;
	for (news->n = 0; news->n < marks->elements; news->n++)
		if (!news_mark_read(&news->marks[news->n], marks->element[news->n]))
			return false;
	return true;
}

size_t redis_news_unaware(const struct redis_news *news, uint64_t number)
{
	size_t n = 0;

	for (size_t i = 0; i < news->others->elements; i++) {
		const redisReply *known = news->others->element[i];

		n += !reply_is_text(known) || redis_number_read(known->str) < number;
	}
	return n;
}
