/* Owns which purges the Redis server remembers and who knows of them. From time to time this file learns the purges of
 * other processes, and reports which purges are known here. It keeps settlements until all processes know their purges,
 * and remembers the purges that the server may have forgotten. Must not know: scripts (store_redis_script.c), entries.
 * Invariants: store.known goes up only after the listener has heard of every purge up to it. A server that comes back
 * with older data gets all purges that it has lost, before anything is looked up there. If they are not known here, the
 * server loses everything. There are REDIS_MARKS_KEPT purges at most, on either side. */
#include "proxy/store/store_redis_internal.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/container_of.h"

/* Learning again while settlements wait, and while none does. */
enum { LEARN_SOON_MS = 10, LEARN_EVERY_MS = 100 };
/* Settlements whose purges have no number yet: it is that which the next reply tells, or the one on its way. */
#define NUMBER_UNKNOWN UINT64_MAX
#define NUMBER_ASKED (UINT64_MAX - 1)

struct redis_remembered {
	STAILQ_ENTRY(redis_remembered) link;
	struct store_mark mark;
	char url[];
};

static void marks_forget_first(struct redis_marks *marks)
{
	struct redis_remembered *first = STAILQ_FIRST(&marks->remembered);

	marks->base = first->mark.number;
	pthread_mutex_lock(&marks->lock);
	STAILQ_REMOVE_HEAD(&marks->remembered, link);
	pthread_mutex_unlock(&marks->lock);
	marks->n--;
	free(first);
}

/* Without memory for it nothing is remembered up to it. */
static void marks_remember(struct redis_marks *marks, const struct store_mark *mark)
{
	struct redis_remembered *new = malloc(sizeof *new + mark->len);

	while (marks->n && (!new || marks->n >= REDIS_MARKS_KEPT))
		marks_forget_first(marks);
	if (!new) {
		marks->base = mark->number;
		return;
	}
	new->mark = *mark;
	new->mark.url = memcpy(new->url, mark->url, mark->len);
	pthread_mutex_lock(&marks->lock);
	STAILQ_INSERT_TAIL(&marks->remembered, new, link);
	pthread_mutex_unlock(&marks->lock);
	marks->n++;
}

static void marks_forget(struct redis_marks *marks)
{
	while (marks->n)
		marks_forget_first(marks);
}

void redis_marks_each(struct store *store, void (*each)(void *arg, const struct store_mark *), void *arg)
{
	struct redis_marks *marks = &redis_of((struct store_thread *)store)->marks;
	struct redis_remembered *one;

	pthread_mutex_lock(&marks->lock);
	STAILQ_FOREACH(one, &marks->remembered, link)
		each(arg, &one->mark);
	pthread_mutex_unlock(&marks->lock);
}

/* The server has lost all purges behind the one of that number. */
static void redis_purge_again(struct store_redis *redis, uint64_t number)
{
	struct redis_marks *marks = &redis->marks;
	struct store *store = &redis->thread.store;
	struct redis_remembered *each;

	if (marks->base > number)
		store_thread_purge(store, PURGE_ALL, "", 0, false, 0);
	STAILQ_FOREACH(each, &marks->remembered, link)
		if (marks->base <= number && each->mark.number > number)
			store_thread_purge(store, each->mark.what, each->mark.url, each->mark.len, each->mark.soft,
			    each->mark.now);
	marks_forget(marks);
	marks->base = marks->known = number;
}

static void redis_learn_one(struct store_redis *redis, const struct redis_news_mark *mark)
{
	struct redis_marks *marks = &redis->marks;

	if (mark->mark.number <= marks->known)
		return;
	if (mark->kind != REDIS_MARK_BEGIN) {
		if (mark->mark.process != redis->process)
			store_thread_purged(&redis->thread, &mark->mark);
		marks_remember(marks, &mark->mark);
	}
	marks->known = mark->mark.number;
}

/* False: the server has older data than before. */
static bool redis_learn_all(struct store_redis *redis, const struct redis_news *news)
{
	static const struct store_mark all = { .what = PURGE_ALL, .url = "" };
	struct redis_marks *marks = &redis->marks;
	bool begins = news->n && news->marks[0].kind == REDIS_MARK_BEGIN,
	     missed = marks->known ? news->last_known != marks->known : !begins;

	if (missed && marks->known && (news->last_known || news->length < REDIS_MARKS_KEPT))
		return false;
	if (missed) {
		store_thread_purged(&redis->thread, &all);
		marks_forget(marks);
		marks->base = news->n ? news->marks[0].mark.number : marks->known;
	}
	for (size_t i = 0; i < news->n; i++)
		redis_learn_one(redis, &news->marks[i]);
	if (missed || news->n)
		store_thread_purged(&redis->thread, NULL);
	return true;
}

/* Answers the settlements whose purges all processes know. */
static void redis_answer_awaiting(struct store_redis *redis, const struct redis_news *news)
{
	struct store_op *op, *next;

	for (op = TAILQ_FIRST(&redis->marks.awaiting); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->number == NUMBER_ASKED)
			op->number = redis->marks.known;
		size_t others = news->others->elements;
		size_t unaware = op->number == NUMBER_UNKNOWN ? others : redis_news_unaware(news, op->number);
		if (store_thread_awaits(&redis->thread, op, others, unaware) &&
		    (op->number == NUMBER_UNKNOWN || unaware))
			continue;
		TAILQ_REMOVE(&redis->marks.awaiting, op, link);
		store_thread_done(&redis->thread, op, NULL);
	}
}

static void redis_learnt(struct store_redis *redis, const struct redis_news *news)
{
	bool joins = !redis->up, same = redis_learn_all(redis, news);

	if (!same && !joins) {
		redis_link_drop(&redis->link, "it has older data than before");
		return;
	}
	if (!same)
		redis_purge_again(redis, news->last_known);
	atomic_store(&redis->thread.store.known, redis->marks.known);
	bool heard = redis_hear_news(redis, news);
	if (!same || news->n >= REDIS_NEWS || !heard) {
		redis_learn(redis);
		return;
	}
	store_thread_learned(&redis->thread);
	if (joins)
		redis_joined(redis);
	else
		redis_answer_awaiting(redis, news);
	loop_arm(redis->thread.loop, &redis->marks.timer,
	    TAILQ_EMPTY(&redis->marks.awaiting) ? LEARN_EVERY_MS : LEARN_SOON_MS);
	redis_heard(redis);
}

static void on_learnt(redisAsyncContext *ac, void *answer, void *arg)
{
	const redisReply *reply = answer;
	struct store_redis *redis = arg;
	struct redis_news news;

	redis->marks.learning = false;
	if (!reply || redis->link.connection != ac)
		return;
	redis_link_watch(&redis->link, redis->flying);
	if (reply->type == REDIS_REPLY_ERROR)
		redis_link_drop(&redis->link, reply->str);
	else if (!redis_news_read(&news, reply))
		redis_link_drop(&redis->link, "it does not say what was purged");
	else
		redis_learnt(redis, &news);
}

void redis_learn(struct store_redis *redis)
{
	struct redis_marks *marks = &redis->marks;
	struct store_op *op;

	if (marks->learning || !redis->link.connection)
		return;
	marks->learning = true;
	TAILQ_FOREACH(op, &marks->awaiting, link)
		if (op->number == NUMBER_UNKNOWN)
			op->number = NUMBER_ASKED;
	if (!redis->flying)
		redis_link_watch(&redis->link, true);
	redis_hear_asked(redis);
	redis_send_learn(redis, on_learnt, redis, marks->known, redis->hearing.last);
}

static void on_learn_time(struct timer *timer)
{
	struct store_redis *redis = container_of(timer, struct store_redis, marks.timer);

	if (redis->up && !redis->ending)
		redis_learn(redis);
}

void redis_await(struct store_redis *redis, struct store_op *op)
{
	op->number = NUMBER_UNKNOWN;
	TAILQ_INSERT_TAIL(&redis->marks.awaiting, op, link);
	redis_learn(redis);
}

void redis_marks_lost(struct store_redis *redis)
{
	struct store_op *op;

	loop_disarm(redis->thread.loop, &redis->marks.timer);
	while ((op = TAILQ_FIRST(&redis->marks.awaiting)) != NULL) {
		TAILQ_REMOVE(&redis->marks.awaiting, op, link);
		store_thread_owe(&redis->thread, op);
	}
}

void redis_marks_init(struct redis_marks *marks)
{
	marks->timer.fire = on_learn_time;
	TAILQ_INIT(&marks->awaiting);
	STAILQ_INIT(&marks->remembered);
	pthread_mutex_init(&marks->lock, NULL);
}

void redis_marks_free(struct redis_marks *marks)
{
	marks_forget(marks);
	pthread_mutex_destroy(&marks->lock);
}
