/* The thread's side of a store with a thread: it takes operations and says what came of them; its start and its end.
 * See store_thread.h. */
#include "proxy/store/store_thread_internal.h"

#include <string.h>
#include <sys/random.h>

#include "proxy/base/container_of.h"
#include "proxy/base/log.h"

enum { TOLD_MAX = 8 /* URLs of owed removals that are logged when the store stops */ };

void store_thread_purged(struct store_thread *thread, const struct store_mark *mark)
{
	pthread_mutex_lock(&thread->listening);
	if (thread->purged)
		thread->purged(thread->purged_arg, mark);
	pthread_mutex_unlock(&thread->listening);
}

bool store_thread_awaits(struct store_thread *thread, const struct store_op *op, size_t others, size_t unaware)
{
	pthread_mutex_lock(&thread->lock);
	bool awaits = op->wait;
	if (awaits) {
		op->wait->others = others;
		op->wait->unaware = unaware;
	}
	pthread_mutex_unlock(&thread->lock);
	return awaits;
}

static struct store_op *thread_take_wipe(struct store_thread *thread)
{
	struct store_op *op = store_op_new(thread, OP_PURGE, "", 0);

	if (!op)
		return NULL;
	op->what = PURGE_ALL;
	op->asked = atomic_load(&thread->store.asked);
	thread->wipe = false;
	return op;
}

static struct store_op *thread_take(struct store_thread *thread)
{
	struct store_op *op = TAILQ_FIRST(&thread->queue);

	if (thread->wipe)
		return thread_take_wipe(thread);
	if (op)
		store_queue_dequeue(thread, op);
	return op;
}

struct store_op *store_thread_take(struct store_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	thread->again = NULL;
	struct store_op *op = thread_take(thread);
	pthread_mutex_unlock(&thread->lock);
	return op;
}

void store_thread_done(struct store_thread *thread, struct store_op *op, struct entry *answer)
{
	if (op->type == OP_GET || op->type == OP_SETTLE || op->type == OP_CALL) {
		pthread_mutex_lock(&thread->lock);
		store_queue_answer(thread, op, answer, false);
		pthread_mutex_unlock(&thread->lock);
	}
	store_op_free(op);
}

void store_thread_owe(struct store_thread *thread, struct store_op *op)
{
	bool removes = store_op_removes(op) || op->type == OP_PUT;

	pthread_mutex_lock(&thread->lock);
	if (!removes) {
		store_queue_answer(thread, op, NULL, true);
	} else if (!thread->wipe) {
		if (op->type == OP_PUT)
			store_op_make_removal(op);
		if (thread->again)
			TAILQ_INSERT_AFTER(&thread->queue, thread->again, op, link);
		else
			TAILQ_INSERT_HEAD(&thread->queue, op, link);
		thread->again = op;
		store_queue_count_in(thread, op);
		op = NULL;
	}
	pthread_mutex_unlock(&thread->lock);
	if (op)
		store_op_free(op);
}

size_t store_thread_owed(struct store_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	size_t owed = thread->owed + thread->wipe;
	pthread_mutex_unlock(&thread->lock);
	return owed;
}

bool store_thread_is_idle(struct store_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	bool idle = !thread->queued && !thread->wipe;
	pthread_mutex_unlock(&thread->lock);
	return idle;
}

/* Turns a queued entry into a removal in the same place, so that the order stays. */
static void thread_queued_removal(struct store_thread *thread, struct store_op *op)
{
	store_queue_count_out(thread, op);
	store_op_make_removal(op);
	if (!store_queue_owes(thread, op)) {
		store_queue_count_in(thread, op);
		return;
	}
	TAILQ_REMOVE(&thread->queue, op, link);
	store_op_free(op);
}

void store_thread_set_away(struct store_thread *thread, bool away)
{
	struct store_op *op, *next;

	pthread_mutex_lock(&thread->lock);
	thread->away = away;
	thread->unknown = false;
	for (op = TAILQ_FIRST(&thread->queue); op && away; op = next) {
		next = TAILQ_NEXT(op, link);
		thread->stats.errors += !store_op_removes(op);
		if (op->type == OP_PUT) {
			thread_queued_removal(thread, op);
		} else if (!store_op_removes(op)) {
			store_queue_dequeue(thread, op);
			store_queue_answer(thread, op, NULL, true);
			store_op_free(op);
		}
	}
	if (away && (thread->owed > STORE_OWED_MAX || thread->owed_bytes > STORE_OWED_BYTES_MAX))
		store_queue_wipe(thread);
	pthread_mutex_unlock(&thread->lock);
}

void store_thread_ask_again(struct store_thread *thread)
{
	struct store_op *op, *next;

	pthread_mutex_lock(&thread->lock);
	for (op = TAILQ_FIRST(&thread->queue); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->type != OP_GET)
			continue;
		store_queue_dequeue(thread, op);
		op->wait->again = true;
		store_queue_wake(thread, op->wait);
		store_op_free(op);
	}
	pthread_mutex_unlock(&thread->lock);
}

void store_thread_count(struct store_thread *thread, const struct store_stats *more)
{
	pthread_mutex_lock(&thread->lock);
	thread->stats.entries = more->entries;
	thread->stats.bytes = more->bytes;
	thread->stats.evictions += more->evictions;
	thread->stats.errors += more->errors;
	pthread_mutex_unlock(&thread->lock);
}

void store_thread_learned(struct store_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	thread->stats.learned_ms = loop_now_ms(thread->loop);
	pthread_mutex_unlock(&thread->lock);
}

static void on_left(struct task *task)
{
	struct store_thread *thread = container_of(task, struct store_thread, leaves);

	store_thread_set_away(thread, true);   /* may wake the task, for the last time */
	loop_forget(thread->loop, &thread->task);
	pthread_mutex_lock(&thread->lock);
	thread->left = true;
	pthread_cond_signal(&thread->changed);
	pthread_mutex_unlock(&thread->lock);
}

/* Beside another store it has left once its callers on this loop have returned. */
void store_thread_leave(struct store_thread *thread)
{
	if (thread->beside)
		loop_wake(thread->loop, &thread->leaves);
	else
		loop_stop(thread->loop);
}

static void on_work(struct task *task)
{
	struct store_thread *thread = container_of(task, struct store_thread, task);

	pthread_mutex_lock(&thread->lock);
	bool stopping = thread->stopping;
	pthread_mutex_unlock(&thread->lock);
	if (!thread->begun && thread->work->begin)
		thread->work->begin(thread);
	thread->begun = true;
	thread->work->run(thread);
	if (stopping)
		thread->work->end(thread);
}

static void *thread_main(void *arg)
{
	struct store_thread *thread = arg;
	struct loop *loop = loop_new();

	if (loop)
		thread->loop = loop;
	pthread_mutex_lock(&thread->lock);
	thread->running = true;
	pthread_cond_signal(&thread->changed);
	pthread_mutex_unlock(&thread->lock);
	if (loop && loop_run(loop))
		log_error("%s store: the event loop failed", thread->store.ops->name);
	return NULL;
}

static int thread_get_loop(struct store_thread *thread)
{
	if (thread->beside) {
		thread->loop = thread->beside->loop;
		return 0;
	}
	if (pthread_create(&thread->thread, NULL, thread_main, thread))
		return -1;
	pthread_mutex_lock(&thread->lock);
	while (!thread->running)
		pthread_cond_wait(&thread->changed, &thread->lock);
	pthread_mutex_unlock(&thread->lock);
	if (thread->loop)
		return 0;
	pthread_join(thread->thread, NULL);
	return -1;
}

int store_thread_start(struct store_thread *thread, const struct store_work *work, struct store_thread *beside)
{
	thread->work = work;
	thread->beside = beside;
	thread->task.run = on_work;
	thread->leaves.run = on_left;
	TAILQ_INIT(&thread->queue);
	if (getrandom(thread->secret, sizeof thread->secret, 0) != sizeof thread->secret)
		return -1;
	pthread_mutex_init(&thread->lock, NULL);
	pthread_mutex_init(&thread->listening, NULL);
	pthread_cond_init(&thread->changed, NULL);
	if (!thread_get_loop(thread)) {
		loop_wake(thread->loop, &thread->task);
		return 0;
	}
	pthread_cond_destroy(&thread->changed);
	pthread_mutex_destroy(&thread->listening);
	pthread_mutex_destroy(&thread->lock);
	return -1;
}

/* Logs the removals that were never made, since somebody may have to remove those entries by hand. */
static void thread_tell_owed(struct store_thread *thread)
{
	const char *name = thread->store.ops->name;
	size_t owed = thread->owed, told = 0;
	struct store_op *op;

	if (thread->wipe)
		log_warn("%s store: everything in it was to be removed, and could not be", name);
	else if (owed)
		log_warn("%s store: %zu removals could not be made: what they name may be found there again", name,
		    owed);
	TAILQ_FOREACH(op, &thread->queue, link) {
		char url[512];
		const char *end = memchr(op->key, '\n', op->len);

		if (!store_op_removes(op) || told++ == TOLD_MAX)
			continue;
		log_escape(url, sizeof url, op->key, end ? (size_t)(end - op->key) : op->len);
		log_warn("%s store: not removed: %s%s", name, url,
		    op->type == OP_PURGE && op->what != PURGE_URL ? "*" : "");
		if (told == TOLD_MAX)
			break;
	}
}

void store_thread_end(struct store_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	if (!thread->stopping)
		loop_wake(thread->loop, &thread->task);
	thread->stopping = true;
	pthread_mutex_unlock(&thread->lock);
}

static void thread_await_end(struct store_thread *thread)
{
	if (!thread->beside) {
		pthread_join(thread->thread, NULL);
		return;
	}
	pthread_mutex_lock(&thread->lock);
	while (!thread->left)
		pthread_cond_wait(&thread->changed, &thread->lock);
	pthread_mutex_unlock(&thread->lock);
}

void store_thread_stop(struct store_thread *thread)
{
	struct store_op *op;

	store_thread_end(thread);
	thread_await_end(thread);
	store_thread_set_away(thread, true);
	thread_tell_owed(thread);
	thread->wipe = false;
	while ((op = store_thread_take(thread)) != NULL)
		store_op_free(op);
	if (!thread->beside)
		loop_free(&thread->loop);
	pthread_cond_destroy(&thread->changed);
	pthread_mutex_destroy(&thread->listening);
	pthread_mutex_destroy(&thread->lock);
}
