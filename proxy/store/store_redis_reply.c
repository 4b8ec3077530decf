/* Owns the decision which bytes of a server become a reply: hiredis parses them and calls these functions before it
 * makes a string, number or array of them.
 * Must not know: what replies say. Invariant: hiredis never gets a reply that nobody asked for (it would abort the
 * program), nor makes so much memory of a few bytes that this process cannot bear it. */
#include "proxy/store/store_redis_link.h"

/* A page of SCAN has some thousand keys, whatever COUNT says; the largest value is a packed entry (VALUE_MAX_BYTES). */

enum { ELEMENTS_MAX = 100000, REPLY_MAX_BYTES = 32 << 20 };

#if HIREDIS_MAJOR >= 1
#define ELEMENTS size_t
#else
#define ELEMENTS int
#endif

static const struct slice no_text;

/* Whether it is part of an array of three: "message" or "subscribe", a channel, and a text or a number. hiredis relies
 * on that. */
static bool message_may_be(const redisReadTask *task, size_t elements, struct slice text)
{
	if (!task->parent)
		return task->type == REDIS_REPLY_ERROR || (task->type == REDIS_REPLY_ARRAY && elements == 3);
	if (task->idx == 2)
		return task->type == REDIS_REPLY_STRING || task->type == REDIS_REPLY_INTEGER;
	return task->type == REDIS_REPLY_STRING &&
	    (task->idx == 1 || slice_is(text, "message") || slice_is(text, "subscribe"));
}

static bool reply_may_be(struct redis_link *link, const redisReadTask *task, size_t elements, struct slice text)
{
	if (link->subscribed ? !message_may_be(task, elements, text) : !task->parent && !link->expected)
		link->odd = "it answers what nobody asked";
	else if (link->elements + elements > ELEMENTS_MAX)
		link->odd = "it answers without end";
	if (link->odd)
		return false;
	if (!task->parent) {
		link->expected -= !link->subscribed;
		link->elements = 0;
	}
	link->elements += elements;
	return true;
}

static void *make_string(const redisReadTask *task, char *at, size_t len)
{
	struct redis_link *link = task->privdata;
	struct slice text = { at, len };
	enum redis_turning turns = REDIS_STAYS;

	if (!task->parent && task->type == REDIS_REPLY_ERROR && link->access->settings.where->kind != CONF_REDIS_SERVER)
		turns = redis_turning(text, link->place.host, &link->place);
	link->told |= turns == REDIS_MOVED;
	if (turns != REDIS_STAYS)
		link->odd = turns == REDIS_MOVED ? "another node has its keys" :
			"it answers with ASK, TRYAGAIN, CLUSTERDOWN, READONLY or MASTERDOWN";
	return reply_may_be(link, task, 0, text) ? link->theirs->createString(task, at, len) : NULL;
}

static void *make_array(const redisReadTask *task, ELEMENTS elements)
{
	struct redis_link *link = task->privdata;

	return reply_may_be(link, task, (size_t)elements, no_text) ? link->theirs->createArray(task, elements) : NULL;
}

static void *make_integer(const redisReadTask *task, long long value)
{
	struct redis_link *link = task->privdata;

	return reply_may_be(link, task, 0, no_text) ? link->theirs->createInteger(task, value) : NULL;
}

static void *make_nil(const redisReadTask *task)
{
	struct redis_link *link = task->privdata;

	if (link->subscribed)          /* no message has one; the type of its task is that of a text or of an array */
		link->odd = "it answers what nobody asked";
	return reply_may_be(link, task, 0, no_text) ? link->theirs->createNil(task) : NULL;
}

#if HIREDIS_MAJOR >= 1
static void *make_double(const redisReadTask *task, double value, char *at, size_t len)
{
	struct redis_link *link = task->privdata;

	return reply_may_be(link, task, 0, no_text) ? link->theirs->createDouble(task, value, at, len) : NULL;
}

static void *make_bool(const redisReadTask *task, int value)
{
	struct redis_link *link = task->privdata;

	return reply_may_be(link, task, 0, no_text) ? link->theirs->createBool(task, value) : NULL;
}
#endif

void redis_guard(struct redis_link *link, redisAsyncContext *ac)
{
	redisReader *reader = ac->c.reader;

	link->theirs = reader->fn;
	link->functions = *reader->fn;
	link->functions.createString = make_string;
	link->functions.createArray = make_array;
	link->functions.createInteger = make_integer;
	link->functions.createNil = make_nil;
#if HIREDIS_MAJOR >= 1
	link->functions.createDouble = make_double;
	link->functions.createBool = make_bool;
#endif
	reader->fn = &link->functions;
	reader->privdata = link;
	link->expected = link->elements = 0;
	link->odd = NULL;
}

bool redis_is_too_much(const redisAsyncContext *ac)
{
	return ac->c.reader->len - ac->c.reader->pos > REPLY_MAX_BYTES;
}
