/* Owns what this process hears from the others through the Redis server. It learns their news together with their
 * purges (store_redis_marks.c). Their messages come on a channel of its own, over a link of its own. Must not know:
 * what is said. Invariants: each piece of news is delivered once at most, and so is each message. If messages
 * may be missing, the listener learns that. */
#include "proxy/store/store_redis_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/container_of.h"

enum { PING_MS = 5000, NUMBER_MS = 20, TOLD_FIELDS = 6 };

void redis_channel(struct store_redis *redis, struct text *channel)
{
	redis_own_key(redis, channel, "to:", 3);
	text_printf(channel, "%" PRIu64, redis->process);
}

/* ---- news ---- */

/* Names and values in the order of tell_script. */
static void hear_one(struct store_redis *redis, const redisReply *r, uint64_t now_ms)
{
	const redisReply *fields;

	if (r->type != REDIS_REPLY_ARRAY || r->elements != 2 || r->element[0]->type != REDIS_REPLY_STRING ||
	    !redis_reply_is_texts(fields = r->element[1], TOLD_FIELDS)) {
		redis_count_error(redis);
		return;
	}
	uint64_t number = redis_number_read(r->element[0]->str), at_ms = number >> NUMBER_MS;
	if (number > redis->hearing.last)
		redis->hearing.last = number;
	if (strtoull(fields->element[1]->str, NULL, 10) != redis->process)
		store_thread_news(&redis->thread, (struct slice){ fields->element[3]->str, fields->element[3]->len },
		    (struct slice){ fields->element[5]->str, fields->element[5]->len },
		    now_ms > at_ms ? now_ms - at_ms : 0);
}

void redis_hear_await(struct store_redis *redis, struct store_op *op)
{
	TAILQ_INSERT_TAIL(&redis->hearing.asked, op, link);
	redis_learn(redis);
}

void redis_hear_asked(struct store_redis *redis)
{
	TAILQ_CONCAT(&redis->hearing.due, &redis->hearing.asked, link);
}

bool redis_hear_news(struct store_redis *redis, const struct redis_news *news)
{
	uint64_t before = redis->hearing.last;

	for (size_t i = 0; i < news->told->elements && store_thread_is_heard(&redis->thread); i++)
		hear_one(redis, news->told->element[i], news->now_ms);
	return news->told->elements < REDIS_NEWS || redis->hearing.last == before;
}

/* An answer may lead to other calls, which come into the list of those that were asked. */
static void hear_land(struct store_redis *redis, struct store_op_list *list, const redisReply *reply)
{
	struct store_op_list ops = TAILQ_HEAD_INITIALIZER(ops);
	struct store_op *op;

	TAILQ_CONCAT(&ops, list, link);
	while ((op = TAILQ_FIRST(&ops)) != NULL) {
		TAILQ_REMOVE(&ops, op, link);
		redis_landed(redis, op, reply, NULL);
	}
}

void redis_heard(struct store_redis *redis)
{
	static const redisReply done = { .type = REDIS_REPLY_NIL };

	hear_land(redis, &redis->hearing.due, &done);
	if (!TAILQ_EMPTY(&redis->hearing.asked))
		redis_learn(redis);
}

/* ---- the link ---- */

static struct store_redis *redis_of_hearing(struct redis_link *link)
{
	return container_of(link, struct store_redis, hearing.link);
}

/* An empty one says that there are news. Those before the subscription are lost. */
static void hear_message(struct store_redis *redis, const redisReply *text)
{
	bool begins = text->type != REDIS_REPLY_STRING && !redis->hearing.begun;

	redis->hearing.begun = true;
	if (text->type == REDIS_REPLY_STRING && text->len)
		store_thread_message(&redis->thread, (struct slice){ text->str, text->len });
	else if (begins)
		store_thread_message(&redis->thread, (struct slice){ NULL, 0 });
	else if (text->type == REDIS_REPLY_STRING && redis->up && !redis->ending)
		redis_learn(redis);
}

static void on_heard(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_redis *redis = arg;
	const redisReply *reply = answer;

	if (!reply || redis->hearing.link.connection != ac)
		return;
	if (reply->type == REDIS_REPLY_ERROR) {
		redis_link_drop(&redis->hearing.link, reply->str);
	} else if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 3) {
		redis_link_watch(&redis->hearing.link, false);
		redis_link_works(&redis->hearing.link);
		hear_message(redis, reply->element[2]);
	}
}

static void hear_subscribe(struct store_redis *redis)
{
	struct text channel = { 0 };

	redis_channel(redis, &channel);
	redis_link_watch(&redis->hearing.link, true);
	loop_arm(redis->thread.loop, &redis->hearing.ping, PING_MS);
	if (channel.failed)
		redis_link_drop(&redis->hearing.link, "out of memory");
	else
		redis_link_subscribe(&redis->hearing.link, on_heard, redis, (struct slice)REDIS_TEXT(channel));
	text_free(&channel);
}

static void hear_greeted(struct redis_link *link)
{
	hear_subscribe(redis_of_hearing(link));
}

static void hear_lost(struct redis_link *link)
{
	struct store_redis *redis = redis_of_hearing(link);

	loop_disarm(redis->thread.loop, &redis->hearing.ping);
	redis->hearing.begun = false;
}

static void on_ping(struct timer *timer)
{
	hear_subscribe(container_of(timer, struct store_redis, hearing.ping));
}

void redis_hear_begin(struct store_redis *redis)
{
	static const struct redis_link_work work = { .greeted = hear_greeted, .lost = hear_lost };

	redis->hearing.link = (struct redis_link){ .place = redis->link.place, .told = true, .known = true };
	redis->hearing.ping.fire = on_ping;
	redis_link_open(&redis->hearing.link, redis->access, redis->thread.loop, &work);
}

void redis_hear_lost(struct store_redis *redis)
{
	if (redis->hearing.link.access)
		redis_link_close(&redis->hearing.link);
	redis_hear_asked(redis);
	hear_land(redis, &redis->hearing.due, NULL);
	store_thread_message(&redis->thread, (struct slice){ NULL, 0 });
}
