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

static bool reply_may_be(struct store_redis *r, const redisReadTask *task, size_t elements)
{
	if (!task->parent && !r->expected)
		r->odd = "it answers what nobody asked";
	else if (r->elements + elements > ELEMENTS_MAX)
		r->odd = "it answers without end";
	if (r->odd)
		return false;
	if (!task->parent) {
		r->expected--;
		r->elements = 0;
	}
	r->elements += elements;
	return true;
}

static void *make_string(const redisReadTask *task, char *at, size_t len)
{
	struct store_redis *r = task->privdata;

	return reply_may_be(r, task, 0) ? r->theirs->createString(task, at, len) : NULL;
}

static void *make_array(const redisReadTask *task, ELEMENTS elements)
{
	struct store_redis *r = task->privdata;

	return reply_may_be(r, task, (size_t)elements) ? r->theirs->createArray(task, elements) : NULL;
}

static void *make_integer(const redisReadTask *task, long long value)
{
	struct store_redis *r = task->privdata;

	return reply_may_be(r, task, 0) ? r->theirs->createInteger(task, value) : NULL;
}

static void *make_nil(const redisReadTask *task)
{
	struct store_redis *r = task->privdata;

	return reply_may_be(r, task, 0) ? r->theirs->createNil(task) : NULL;
}

#if HIREDIS_MAJOR >= 1
static void *make_double(const redisReadTask *task, double value, char *at, size_t len)
{
	struct store_redis *r = task->privdata;

	return reply_may_be(r, task, 0) ? r->theirs->createDouble(task, value, at, len) : NULL;
}

static void *make_bool(const redisReadTask *task, int value)
{
	struct store_redis *r = task->privdata;

	return reply_may_be(r, task, 0) ? r->theirs->createBool(task, value) : NULL;
}
#endif

void redis_guard(struct store_redis *r, redisAsyncContext *ac)
{
	redisReader *reader = ac->c.reader;

	r->theirs = reader->fn;
	r->functions = *reader->fn;
	r->functions.createString = make_string;
	r->functions.createArray = make_array;
	r->functions.createInteger = make_integer;
	r->functions.createNil = make_nil;
#if HIREDIS_MAJOR >= 1
	r->functions.createDouble = make_double;
	r->functions.createBool = make_bool;
#endif
	reader->fn = &r->functions;
	reader->privdata = r;
	r->expected = r->elements = 0;
	r->odd = NULL;
}

bool redis_is_too_much(const redisAsyncContext *ac)
{
	return ac->c.reader->len - ac->c.reader->pos > REPLY_MAX_BYTES;
}
