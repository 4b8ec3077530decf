/* A store's thread and its queue; see store_thread.h. */
#include "store_thread.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "owner.h"

/* Lookups and entries are refused beyond these; removals are taken up to twice as many. */
enum { QUEUE_MAX = 8192, QUEUE_MAX_BYTES = 64 << 20 };

static struct store_thread *thread_of(struct store *s)
{
	return (struct store_thread *)(void *)s;
}

static void op_free(struct store_op *op)
{
	entry_unref(&op->entry);
	free(op->key);
	free(op);
}

static struct store_op *op_new(struct store_thread *t, enum store_op_type type, const char *key, size_t len)
{
	struct store_op *op = calloc(1, sizeof *op);

	if (!op)
		return NULL;
	op->thread = t;
	op->type = type;
	op->len = len;
	if (!(op->key = malloc(len ? len : 1))) {
		op_free(op);
		return NULL;
	}
	memcpy(op->key, key, len);
	return op;
}

static size_t op_bytes(const struct store_op *op)
{
	return sizeof *op + op->len + (op->entry ? op->entry->bytes : 0);
}

/* Under the lock. */
static void thread_enqueue(struct store_thread *t, struct store_op *op)
{
	TAILQ_INSERT_TAIL(&t->queue, op, link);
	t->queued++;
	t->queued_bytes += op_bytes(op);
	loop_wake(t->loop, &t->task);
}

static bool thread_refuses(const struct store_thread *t)
{
	return t->away || t->queued >= QUEUE_MAX || t->queued_bytes >= QUEUE_MAX_BYTES;
}

static void on_answer(struct task *task)
{
	struct store_wait *w = (struct store_wait *)(void *)task;
	struct entry *e = w->entry;

	w->entry = NULL;
	w->pending = NULL;
	w->got(w, e);
}

enum store_result store_thread_get(struct store *s, const char *key, size_t len, struct entry **entry, struct store_wait *w)
{
	struct store_thread *t = thread_of(s);
	struct store_op *op = op_new(t, OP_GET, key, len);
	bool refused;

	(void)entry;
	pthread_mutex_lock(&t->lock);
	refused = !op || thread_refuses(t);
	if (refused) {
		t->stats.misses++;
		t->stats.errors++;
	} else {
		op->wait = w;
		w->pending = op;
		w->entry = NULL;
		w->task.run = on_answer;
		thread_enqueue(t, op);
	}
	pthread_mutex_unlock(&t->lock);
	if (refused && op)
		op_free(op);
	return refused ? STORE_MISSING : STORE_WAIT;
}

/* An answered wait has the store for its pending: the operation is gone by then. */
void store_thread_cancel(struct store *s, struct store_wait *w)
{
	struct store_thread *t = thread_of(s);

	pthread_mutex_lock(&t->lock);
	if (w->pending && w->pending != t)
		((struct store_op *)w->pending)->wait = NULL;
	w->pending = NULL;
	pthread_mutex_unlock(&t->lock);
	loop_forget(w->loop, &w->task);
	entry_unref(&w->entry);
}

void store_thread_put(struct store *s, struct entry *e)
{
	struct store_thread *t = thread_of(s);
	struct store_op *op = op_new(t, OP_PUT, e->key, e->key_len);
	bool refused;

	if (op)
		op->entry = entry_ref(e);
	pthread_mutex_lock(&t->lock);
	refused = !op || thread_refuses(t);
	if (refused)
		t->stats.errors++;
	else
		thread_enqueue(t, op);
	pthread_mutex_unlock(&t->lock);
	if (refused && op)
		op_free(op);
}

static void thread_enqueue_removal(struct store_thread *t, struct store_op *op)
{
	bool refused;

	pthread_mutex_lock(&t->lock);
	refused = !op || t->queued >= 2 * QUEUE_MAX;
	if (refused) {
		t->stats.errors++;
		t->wipe = true;
		loop_wake(t->loop, &t->task);
	} else {
		thread_enqueue(t, op);
	}
	pthread_mutex_unlock(&t->lock);
	if (refused && op)
		op_free(op);
}

void store_thread_remove(struct store *s, const char *key, size_t len)
{
	thread_enqueue_removal(thread_of(s), op_new(thread_of(s), OP_REMOVE, key, len));
}

int64_t store_thread_purge(struct store *s, enum store_purge what, const char *url, size_t len, bool soft, int64_t now)
{
	struct store_op *op = op_new(thread_of(s), OP_PURGE, url, len);

	if (op) {
		op->what = what;
		op->soft = soft;
		op->now = now;
	}
	thread_enqueue_removal(thread_of(s), op);
	return -1;
}

void store_thread_stats(struct store *s, struct store_stats *stats)
{
	struct store_thread *t = thread_of(s);

	pthread_mutex_lock(&t->lock);
	*stats = t->stats;
	pthread_mutex_unlock(&t->lock);
}

/* In place of the removals that found no room: once what stood before them is done. */
static struct store_op *thread_take_wipe(struct store_thread *t)
{
	struct store_op *op = op_new(t, OP_PURGE, "", 0);

	if (!op)
		return NULL;
	op->what = PURGE_ALL;
	t->wipe = false;
	return op;
}

struct store_op *store_thread_take(struct store_thread *t)
{
	struct store_op *op;

	pthread_mutex_lock(&t->lock);
	while ((op = TAILQ_FIRST(&t->queue)) != NULL) {
		TAILQ_REMOVE(&t->queue, op, link);
		t->queued--;
		t->queued_bytes -= op_bytes(op);
		if (op->type != OP_GET || op->wait)
			break;
		op_free(op);
	}
	if (!op && t->wipe)
		op = thread_take_wipe(t);
	pthread_mutex_unlock(&t->lock);
	return op;
}

/* Under the lock. */
static void thread_answer(struct store_thread *t, struct store_op *op, struct entry *answer)
{
	t->stats.hits += answer != NULL;
	t->stats.misses += !answer;
	if (op->wait) {
		op->wait->entry = answer;
		op->wait->pending = t;
		loop_wake(op->wait->loop, &op->wait->task);
	} else {
		entry_unref(&answer);
	}
}

void store_thread_done(struct store_thread *t, struct store_op *op, struct entry *answer)
{
	if (op->type == OP_GET) {
		pthread_mutex_lock(&t->lock);
		thread_answer(t, op, answer);
		pthread_mutex_unlock(&t->lock);
	}
	op_free(op);
}

void store_thread_again(struct store_thread *t, struct store_op *op)
{
	pthread_mutex_lock(&t->lock);
	TAILQ_INSERT_HEAD(&t->queue, op, link);
	t->queued++;
	t->queued_bytes += op_bytes(op);
	pthread_mutex_unlock(&t->lock);
}

void store_thread_set_away(struct store_thread *t, bool away)
{
	struct store_op *op, *next;

	pthread_mutex_lock(&t->lock);
	t->away = away;
	for (op = TAILQ_FIRST(&t->queue); op && away; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->type != OP_GET && op->type != OP_PUT)
			continue;
		TAILQ_REMOVE(&t->queue, op, link);
		t->queued--;
		t->queued_bytes -= op_bytes(op);
		t->stats.errors++;
		if (op->type == OP_GET)
			thread_answer(t, op, NULL);
		op_free(op);
	}
	pthread_mutex_unlock(&t->lock);
}

void store_thread_count(struct store_thread *t, const struct store_stats *more)
{
	pthread_mutex_lock(&t->lock);
	t->stats.entries = more->entries;
	t->stats.bytes = more->bytes;
	t->stats.evictions += more->evictions;
	t->stats.errors += more->errors;
	pthread_mutex_unlock(&t->lock);
}

void store_thread_leave(struct store_thread *t)
{
	loop_stop(t->loop);
}

static void on_work(struct task *task)
{
	struct store_thread *t = OWNER_OF(task, struct store_thread, task);
	bool stopping;

	pthread_mutex_lock(&t->lock);
	stopping = t->stopping;
	pthread_mutex_unlock(&t->lock);
	t->work->run(t);
	if (stopping)
		t->work->end(t);
}

static void *thread_main(void *arg)
{
	struct store_thread *t = arg;
	struct loop *loop = loop_new();

	if (loop)
		t->loop = loop;
	pthread_mutex_lock(&t->lock);
	t->running = true;
	pthread_cond_signal(&t->started);
	pthread_mutex_unlock(&t->lock);
	if (!loop)
		return NULL;
	if (t->work->begin)
		t->work->begin(t);
	if (loop_run(loop))
		log_error("%s store: the event loop failed", t->store.ops->name);
	return NULL;
}

int store_thread_start(struct store_thread *t, const struct store_work *work)
{
	t->work = work;
	t->task.run = on_work;
	TAILQ_INIT(&t->queue);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->started, NULL);
	if (!pthread_create(&t->thread, NULL, thread_main, t)) {
		pthread_mutex_lock(&t->lock);
		while (!t->running)
			pthread_cond_wait(&t->started, &t->lock);
		pthread_mutex_unlock(&t->lock);
		if (t->loop)
			return 0;
		pthread_join(t->thread, NULL);
	}
	pthread_cond_destroy(&t->started);
	pthread_mutex_destroy(&t->lock);
	return -1;
}

void store_thread_stop(struct store_thread *t)
{
	struct store_op *op;

	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	loop_wake(t->loop, &t->task);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	while ((op = store_thread_take(t)) != NULL)
		op_free(op);
	loop_free(&t->loop);
	pthread_cond_destroy(&t->started);
	pthread_mutex_destroy(&t->lock);
}
