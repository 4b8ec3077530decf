/* Owns the decision which bytes of a server become a reply: hiredis parses them and calls these functions before it
 * makes a string, number or array of them.
 * Must not know: what replies say. Invariant: hiredis never gets a reply that nobody asked for (it would abort the
 * program), nor makes so much memory of a few bytes that this process cannot bear it. */
#include "proxy/store/store_redis_internal.h"

/* A page of SCAN has some thousand keys, whatever COUNT says; the largest value is a packed entry (VALUE_MAX_BYTES). */

enum { ELEMENTS_MAX = 100000, REPLY_MAX_BYTES = 32 << 20 };

#if HIREDIS_MAJOR >= 1
#define ELEMENTS size_t
#else
#define ELEMENTS int
#endif

static bool reply_may_be(struct store_redis *redis, const redisReadTask *task, size_t elements)
{
	if (!task->parent && !redis->expected)
		redis->odd = "it answers what nobody asked";
	else if (redis->elements + elements > ELEMENTS_MAX)
		redis->odd = "it answers without end";
	if (redis->odd)
		return false;
	if (!task->parent) {
		redis->expected--;
		redis->elements = 0;
	}
	redis->elements += elements;
	return true;
}

static void *make_string(const redisReadTask *task, char *at, size_t len)
{
	struct store_redis *redis = task->privdata;

	return reply_may_be(redis, task, 0) ? redis->theirs->createString(task, at, len) : NULL;
}

static void *make_array(const redisReadTask *task, ELEMENTS elements)
{
	struct store_redis *redis = task->privdata;

	return reply_may_be(redis, task, (size_t)elements) ? redis->theirs->createArray(task, elements) : NULL;
}

static void *make_integer(const redisReadTask *task, long long value)
{
	struct store_redis *redis = task->privdata;

	return reply_may_be(redis, task, 0) ? redis->theirs->createInteger(task, value) : NULL;
}

static void *make_nil(const redisReadTask *task)
{
	struct store_redis *redis = task->privdata;

	return reply_may_be(redis, task, 0) ? redis->theirs->createNil(task) : NULL;
}

#if HIREDIS_MAJOR >= 1
static void *make_double(const redisReadTask *task, double value, char *at, size_t len)
{
	struct store_redis *redis = task->privdata;

	return reply_may_be(redis, task, 0) ? redis->theirs->createDouble(task, value, at, len) : NULL;
}

static void *make_bool(const redisReadTask *task, int value)
{
	struct store_redis *redis = task->privdata;

	return reply_may_be(redis, task, 0) ? redis->theirs->createBool(task, value) : NULL;
}
#endif

void redis_guard(struct store_redis *redis, redisAsyncContext *ac)
{
	redisReader *reader = ac->c.reader;

	redis->theirs = reader->fn;
	redis->functions = *reader->fn;
	redis->functions.createString = make_string;
	redis->functions.createArray = make_array;
	redis->functions.createInteger = make_integer;
	redis->functions.createNil = make_nil;
#if HIREDIS_MAJOR >= 1
	redis->functions.createDouble = make_double;
	redis->functions.createBool = make_bool;
#endif
	reader->fn = &redis->functions;
	reader->privdata = redis;
	redis->expected = redis->elements = 0;
	redis->odd = NULL;
}

bool redis_is_too_much(const redisAsyncContext *ac)
{
	return ac->c.reader->len - ac->c.reader->pos > REPLY_MAX_BYTES;
}
