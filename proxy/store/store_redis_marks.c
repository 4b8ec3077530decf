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

static void marks_forget_first(struct redis_marks *m)
{
	struct redis_remembered *first = STAILQ_FIRST(&m->remembered);

	m->base = first->mark.number;
	STAILQ_REMOVE_HEAD(&m->remembered, link);
	m->n--;
	free(first);
}

/* Without memory for it nothing is remembered up to it. */
static void marks_remember(struct redis_marks *m, const struct store_mark *mark)
{
	struct redis_remembered *new = malloc(sizeof *new + mark->len);

	while (m->n && (!new || m->n >= REDIS_MARKS_KEPT))
		marks_forget_first(m);
	if (!new) {
		m->base = mark->number;
		return;
	}
	new->mark = *mark;
	new->mark.url = memcpy(new->url, mark->url, mark->len);
	STAILQ_INSERT_TAIL(&m->remembered, new, link);
	m->n++;
}

static void marks_forget(struct redis_marks *m)
{
	while (m->n)
		marks_forget_first(m);
}

/* The server has lost all purges behind the one of that number. */
static void redis_purge_again(struct store_redis *r, uint64_t number)
{
	struct redis_marks *m = &r->marks;
	struct store *s = &r->thread.store;
	struct redis_remembered *each;

	if (m->base > number)
		store_thread_purge(s, PURGE_ALL, "", 0, false, 0);
	STAILQ_FOREACH(each, &m->remembered, link)
		if (m->base <= number && each->mark.number > number)
			store_thread_purge(s, each->mark.what, each->mark.url, each->mark.len, each->mark.soft,
			    each->mark.now);
	marks_forget(m);
	m->base = m->known = number;
}

static void redis_learn_one(struct store_redis *r, const struct redis_news_mark *mark)
{
	struct redis_marks *m = &r->marks;

	if (mark->mark.number <= m->known)
		return;
	if (mark->kind != REDIS_MARK_BEGIN) {
		if (mark->process != r->process)
			store_thread_purged(&r->thread, &mark->mark);
		marks_remember(m, &mark->mark);
	}
	m->known = mark->mark.number;
}

/* False: the server has older data than before. */
static bool redis_learn_all(struct store_redis *r, const struct redis_news *news)
{
	static const struct store_mark all = { .what = PURGE_ALL, .url = "" };
	struct redis_marks *m = &r->marks;
	bool begins = news->n && news->marks[0].kind == REDIS_MARK_BEGIN,
	     missed = m->known ? news->last_known != m->known : !begins;

	if (missed && m->known && (news->last_known || news->length < REDIS_MARKS_KEPT))
		return false;
	if (missed) {
		store_thread_purged(&r->thread, &all);
		marks_forget(m);
		m->base = news->n ? news->marks[0].mark.number : m->known;
	}
	for (size_t i = 0; i < news->n; i++)
		redis_learn_one(r, &news->marks[i]);
	if (missed || news->n)
		store_thread_purged(&r->thread, NULL);
	return true;
}

/* Answers the settlements whose purges all processes know. */
static void redis_answer_awaiting(struct store_redis *r, uint64_t least)
{
	struct store_op *op, *next;

	for (op = TAILQ_FIRST(&r->marks.awaiting); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->number == NUMBER_ASKED)
			op->number = r->marks.known;
		if ((op->number == NUMBER_UNKNOWN || op->number > least) && store_thread_awaits(&r->thread, op))
			continue;
		TAILQ_REMOVE(&r->marks.awaiting, op, link);
		store_thread_done(&r->thread, op, NULL);
	}
}

static void redis_learnt(struct store_redis *r, const struct redis_news *news)
{
	bool joins = !r->up, same = redis_learn_all(r, news);

	if (!same && !joins) {
		redis_drop(r, "it has older data than before");
		return;
	}
	if (!same)
		redis_purge_again(r, news->last_known);
	atomic_store(&r->thread.store.known, r->marks.known);
	if (!same || news->n >= REDIS_NEWS) {
		redis_learn(r);
		return;
	}
	if (joins)
		redis_joined(r);
	else
		redis_answer_awaiting(r, news->least);
	loop_arm(r->thread.loop, &r->marks.timer, TAILQ_EMPTY(&r->marks.awaiting) ? LEARN_EVERY_MS : LEARN_SOON_MS);
}

static void on_learnt(redisAsyncContext *ac, void *answer, void *arg)
{
	const redisReply *reply = answer;
	struct store_redis *r = arg;
	struct redis_news news;

	r->marks.learning = false;
	if (!reply || r->connection != ac)
		return;
	loop_arm(r->thread.loop, &r->watch, r->flying ? r->settings.timeout_ms : 0);
	if (reply->type == REDIS_REPLY_ERROR)
		redis_drop(r, reply->str);
	else if (!redis_news_read(&news, reply))
		redis_drop(r, "it does not say what was purged");
	else
		redis_learnt(r, &news);
}

void redis_learn(struct store_redis *r)
{
	struct redis_marks *m = &r->marks;
	struct store_op *op;

	if (m->learning || !r->connection)
		return;
	m->learning = true;
	TAILQ_FOREACH(op, &m->awaiting, link)
		if (op->number == NUMBER_UNKNOWN)
			op->number = NUMBER_ASKED;
	if (!r->flying)
		loop_arm(r->thread.loop, &r->watch, r->settings.timeout_ms);
	redis_send_learn(r, on_learnt, r, m->known);
}

static void on_learn_time(struct timer *t)
{
	struct store_redis *r = container_of(t, struct store_redis, marks.timer);

	if (r->up && !r->ending)
		redis_learn(r);
}

void redis_await(struct store_redis *r, struct store_op *op)
{
	op->number = NUMBER_UNKNOWN;
	TAILQ_INSERT_TAIL(&r->marks.awaiting, op, link);
	redis_learn(r);
}

void redis_marks_lost(struct store_redis *r)
{
	struct store_op *op;

	loop_disarm(r->thread.loop, &r->marks.timer);
	while ((op = TAILQ_FIRST(&r->marks.awaiting)) != NULL) {
		TAILQ_REMOVE(&r->marks.awaiting, op, link);
		store_thread_owe(&r->thread, op);
	}
}

void redis_marks_init(struct redis_marks *m)
{
	m->timer.fire = on_learn_time;
	TAILQ_INIT(&m->awaiting);
	STAILQ_INIT(&m->remembered);
}

void redis_marks_free(struct redis_marks *m)
{
	marks_forget(m);
}
