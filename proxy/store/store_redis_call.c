/* Owns the scripts that the Redis server runs for others than the store (store_call.h), what they are given and what
 * becomes of their replies. Must not know: what the fleet makes of them.
 *
 * Each has KEYS: PREFIX "!" name; the hash of the URL that the name begins with; the processes that are alive
 * ("!seen"); the purges ("!marks"). ARGV 1 to 3: this process; its channel; the rest of the name behind the URL. Its
 * own arguments begin with ARGV 4. Its reply is an array of texts and numbers, in which one without an end is not
 * looked for.
 * Invariant: a script touches these keys and no others, so that one server has all of them. */
#include "proxy/store/store_redis_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 4096, DIGITS = 24, SIGHT = 3, WORDS_BEFORE = 10 };
_Static_assert(WORDS_BEFORE + CALL_ARGS_MAX <= REDIS_ARGS_MAX, "a call fits in a command");

/* Decides which process may ask the origin for a response. The lease is a hash, which ends by itself. Its field "by" is
 * one of three. The owner: a process and its token. "private": nobody has the lease, because each client has a response
 * of its own. "failed": nobody has it, and the owner before may have told news of the origin.
 * Field "since" is the latest purge when the lease began. The other fields are the channels of the processes that wait,
 * with the message that each wants.
 * ARGV 4 to 8: the token; how long the lease lasts in ms; the message that this process wants; where the version begins
 * in a packed entry; the version that is known here. "" stands for no version, "*" if no stored entry is an answer.
 * Answers: "stored" with the entry, if another version is stored. "private". "wait" with the owner, and for how many ms
 * to wait at most. "mine", with "hear" if the news must be heard first.
 * A lease is free if its owner is not alive, or if the URL was purged since it began: the response will not be stored.
 * After 64 purges any URL counts as purged. */
static const char lease_script[] = "-- utfeed lease\n"
	"local packed = ARGV[8] ~= '*' and redis.call('HGET', KEYS[2], '=' .. ARGV[3])\n"
	"if packed and string.sub(packed, ARGV[7] + 1, ARGV[7] + 24) ~= ARGV[8] then\n"
	" return { 'stored', packed, redis.call('HGET', KEYS[2], '!'), redis.call('HGET', KEYS[2], '!0') }\n"
	"end\n"
	"local lease = redis.call('HMGET', KEYS[1], 'by', 'since')\n"
	"local by, since = lease[1], lease[2] or '-'\n"
	"local marks = redis.call('XREVRANGE', KEYS[4], '+', since, 'COUNT', by and 64 or 1)\n"
	"local url, purged = string.match(string.sub(KEYS[2], #KEYS[4] - 5), '^%d+:(.*)$'), #marks == 64\n"
	"for i, mark in ipairs(by and marks or {}) do\n"
	" local what, purge = mark[2][2], mark[2][12]\n"
	" purged = purged or mark[1] ~= since and (what == 'a' or what == 'u' and url == purge"
	" or what == 'p' and string.sub(url, 1, #purge) == purge)\n"
	"end\n"
	"local failed = by == 'failed'\n"
	"if purged then by = nil end\n"
	"if by == 'private' then return { 'private' } end\n"
	"if by and not failed then\n"
	" local seen = redis.call('HGET', KEYS[3], string.match(by, '^%d+'))\n"
	" local time = redis.call('TIME')\n"
	" local lives = tonumber(seen and string.match(seen, ' (%d+)$') or 0) -"
	" (time[1] * 1000 + math.floor(time[2] / 1000))\n"
	" if lives > 0 then\n"
	"  redis.call('HSET', KEYS[1], ARGV[2], ARGV[6])\n"
	"  return { 'wait', by, math.min(lives, redis.call('PTTL', KEYS[1])) + 1 }\n"
	" end\n"
	"end\n"
	"redis.call('HSET', KEYS[1], 'by', ARGV[1] .. ' ' .. ARGV[4], 'since', marks[1] and marks[1][1] or '-')\n"
	"redis.call('PEXPIRE', KEYS[1], ARGV[5])\n"
	"return { 'mine', failed and 'hear' or nil }\n";

/* Ends a lease, and tells the processes that wait. ARGV: the token; the outcome ("private", "stored", or "" for
 * nothing); how long private holds, in ms. If this process took so long that another has the lease by now, it may still
 * have stored something. */
static const char release_script[] = "-- utfeed release\n"
	"local all, mine, since = redis.call('HGETALL', KEYS[1]), false, '-'\n"
	"for i = 1, #all, 2 do\n"
	" mine = mine or all[i] == 'by' and all[i + 1] == ARGV[1] .. ' ' .. ARGV[4]\n"
	" if all[i] == 'since' then since = all[i + 1] end\n"
	"end\n"
	"if not mine and ARGV[5] ~= 'stored' then return {} end\n"
	"if mine then redis.call('DEL', KEYS[1]) end\n"
	"if mine and ARGV[5] ~= 'stored' then\n"
	" local private = ARGV[5] == 'private'\n"
	" redis.call('HSET', KEYS[1], 'by', private and 'private' or 'failed', 'since', since)\n"
	" redis.call('PEXPIRE', KEYS[1], private and ARGV[6] or 2000)\n"
	"end\n"
	"for i = 1, #all, 2 do\n"
	" if all[i] ~= 'by' and all[i] ~= 'since' then redis.call('PUBLISH', all[i], all[i + 1]) end\n"
	"end\n"
	"return {}\n";

/* Tells all other processes. ARGV: the topic; the text; how many seconds the news are kept after the last. An empty
 * message has each of them learn at once. */
static const char tell_script[] = "-- utfeed tell\n"
	"redis.call('XADD', KEYS[1], 'MAXLEN', '~', 4096, '*', 'p', ARGV[1], 't', ARGV[4], 'x', ARGV[5])\n"
	"redis.call('EXPIRE', KEYS[1], ARGV[6])\n"
	"local channel = string.match(ARGV[2], '^(.*:)%d+$')\n"
	"for _, process in ipairs(redis.call('HKEYS', KEYS[3])) do\n"
	" if process ~= ARGV[1] then redis.call('PUBLISH', channel .. process, '') end\n"
	"end\n"
	"return {}\n";

/* Who belongs to the fleet: a hash of a row for each process, behind the time when it was written. ARGV: the row; for
 * how many ms a row counts; the largest number of rows to answer with; the longest row; "" if the caller wants no rows.
 * Answers: this process; the time; the number of processes; and a line for each: the process, the age of its row, and
 * the row. Removes rows that are old or are not one line. A future time comes from a server before a failover. */
static const char members_script[] = "-- utfeed members\n"
	"redis.call('UNLINK', KEYS[1] .. '-')\n"
	"local time = redis.call('TIME')\n"
	"local now, most = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[5])\n"
	"redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f ', now) .. ARGV[4])\n"
	"redis.call('PEXPIRE', KEYS[1], most)\n"
	"if ARGV[8] == '' then return {} end\n"
	"local all, lines, n = redis.call('HGETALL', KEYS[1]), {}, 0\n"
	"for i = 1, #all, 2 do\n"
	" local at, row = string.match(string.sub(all[i + 1], 1, ARGV[7] + 32), '^(%d+) (.*)$')\n"
	" local age = now - (tonumber(at) or 0)\n"
	" if not at or math.abs(age) > most or #row > tonumber(ARGV[7]) or string.find(row, '[%z%c]')\n"
	"  or not string.find(all[i], '^%d+$') then redis.call('HDEL', KEYS[1], all[i])\n"
	" else\n"
	"  n = n + 1\n"
	"  if n <= tonumber(ARGV[6]) then\n"
	"   lines[n] = string.format('%s %.0f %s', all[i], math.max(age, 0), row)\n"
	"  end\n"
	" end\n"
	"end\n"
	"return { ARGV[1], now, n, table.concat(lines, '\\n') }\n";

/* Gives requests their turns. The key is when the latest is, by the server's clock in ms. ARGV: the interval; how long
 * a request may wait for its turn. Answers how long it has to: beyond that it has no turn. A latest turn that is
 * further off is of a server whose clock was another, and counts for nothing. */
static const char pace_script[] = "-- utfeed pace\n"
	"redis.call('UNLINK', KEYS[1] .. '-')\n"
	"local time, most = redis.call('TIME'), tonumber(ARGV[5])\n"
	"local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"
	"local last = tonumber(redis.call('GET', KEYS[1]) or 0)\n"
	"if not last or last > now + most then last = 0 end\n"
	"local wait = math.max(0, last + ARGV[4] - now)\n"
	"if wait <= most then\n"
	" redis.call('SET', KEYS[1], string.format('%.0f', now + wait), 'PX', wait + ARGV[4])\n"
	"end\n"
	"return { wait }\n";

/* entry: where the reply has SIGHT fields behind its word, they are an entry (redis_read()). */
static const struct { struct slice text; bool entry; } redis_scripts[STORE_SCRIPTS] = {
	[SCRIPT_LEASE] = { REDIS_WORD(lease_script), true },
	[SCRIPT_HEAR] = { { NULL, 0 }, false },        /* none: the news are learnt */
	[SCRIPT_RELEASE] = { REDIS_WORD(release_script), false },
	[SCRIPT_TELL] = { REDIS_WORD(tell_script), false },
	[SCRIPT_MEMBERS] = { REDIS_WORD(members_script), false },
	[SCRIPT_PACE] = { REDIS_WORD(pace_script), false },
};

bool redis_call_sees(const struct store_op *op)
{
	return redis_scripts[op->call->script].entry;
}

bool redis_call_may_be(const struct store_redis *redis, const struct store_op *op)
{
	return op->call->script != SCRIPT_LEASE || redis->hearing.begun;
}

/* Nil is a text without bytes. */
static struct store_value call_value(const redisReply *r, char **to)
{
	if (r->type == REDIS_REPLY_INTEGER)
		return (struct store_value){ .number = r->integer };
	struct slice text = { *to, r->str ? r->len : 0 };

	if (text.len)
		memcpy(*to, r->str, text.len);
	*to += text.len;
	return (struct store_value){ .text = text };
}

/* NULL: it is none, or out of memory. The fields of an entry become one entry, and do not count as
 * values. */
static struct store_reply *call_reply(const redisReply *r, const struct store_op *op)
{
	size_t n = r->elements, bytes = 1;
	bool entry = redis_call_sees(op) && r->type == REDIS_REPLY_ARRAY && n == 1 + SIGHT;

	if (r->type != REDIS_REPLY_ARRAY || n > VALUES_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (r->element[i]->type == REDIS_REPLY_ARRAY)
			return NULL;
		bytes += i && entry ? 0 : r->element[i]->len;
	}
	n = entry ? 1 : n;
	struct store_reply *reply = malloc(sizeof *reply + n * sizeof reply->values[0] + bytes);
	if (!reply)
		return NULL;
	char *to = (char *)&reply->values[n];
	reply->n = n;
	for (size_t i = 0; i < n; i++)
		reply->values[i] = call_value(r->element[i], &to);
	reply->entry = entry && r->element[1]->type == REDIS_REPLY_STRING ? redis_read(r->element + 1, op) : NULL;
	return reply;
}

static void on_called(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_op *op = arg;
	struct store_redis *redis = redis_of(op->thread);
	const redisReply *reply = answer;

	(void)ac;
	if (reply && reply->type == REDIS_REPLY_ERROR) {
		if (!redis->mute)
			redis_warn("the other instances are not heard", reply->str);
		redis->mute = true;
	} else if (reply) {
		redis->mute = false;
		op->call->reply = call_reply(reply, op);
	}
	redis_landed(redis, op, reply, NULL);
}

void redis_call(struct store_redis *redis, struct store_op *op)
{
	const struct store_op_call *call = op->call;

	if (call->script == SCRIPT_HEAR) {
		redis_hear_await(redis, op);
		return;
	}
	struct text own = { 0 }, channel = { 0 }, seen = { 0 }, marks = { 0 };
	struct redis_name name;
	char process[DIGITS];
	bool made = redis_name_make(&name, redis, op->key, op->len);
	struct slice id = { process, (size_t)snprintf(process, sizeof process, "%" PRIu64, redis->process) };

	redis_own_key(redis, &own, op->key, op->len);
	redis_own_key(redis, &seen, "seen", 4);
	redis_own_key(redis, &marks, "marks", 5);
	redis_channel(redis, &channel);
	if (!made || own.failed || seen.failed || marks.failed || channel.failed) {
		redis_failed(redis, op);
	} else {
		struct slice args[WORDS_BEFORE + CALL_ARGS_MAX] = { REDIS_WORD("EVAL"),
			redis_scripts[call->script].text, REDIS_WORD("4"), REDIS_TEXT(own), REDIS_TEXT(name.key),
			REDIS_TEXT(seen), REDIS_TEXT(marks), id, REDIS_TEXT(channel),
			{ name.field.bytes + 1, name.field.len - 1 } };

		memcpy(args + WORDS_BEFORE, call->args, call->n * sizeof call->args[0]);
		redis_link_send(&redis->link, on_called, op, WORDS_BEFORE + (int)call->n, args);
	}
	redis_name_free(&name);
	text_free(&own);
	text_free(&seen);
	text_free(&marks);
	text_free(&channel);
}
