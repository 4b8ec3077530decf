/* A store's thread and its queue; see store_thread.h. */
#include "proxy/store/store_thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "proxy/base/container_of.h"
#include "proxy/base/hash.h"
#include "proxy/base/log.h"

/* Beyond QUEUE_MAX lookups and entries are refused; beyond OWED_MAX removals everything is removed instead. */
enum { QUEUE_MAX = 8192, QUEUE_MAX_BYTES = 64 << 20, OWED_MAX = 65536, OWED_MAX_BYTES = 16 << 20 };
enum { TOLD_MAX = 8 /* URLs of owed removals that are logged when the store stops */ };

static struct store_thread *thread_of(struct store *store)
{
	return (struct store_thread *)(void *)store;
}

static void op_free(struct store_op *op)
{
	entry_unref(&op->entry);
	free(op->key);
	free(op);
}

static struct store_op *op_new(struct store_thread *thread, enum store_op_type type, const char *key, size_t len)
{
	struct store_op *op = calloc(1, sizeof *op);

	if (!op)
		return NULL;
	op->thread = thread;
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

/* Whether the operation is a removal, which is owed until it is done. */
static bool op_removes(const struct store_op *op)
{
	return op->type == OP_REMOVE || op->type == OP_PURGE;
}

static size_t op_bucket(const struct store_thread *thread, const struct store_op *op)
{
	return hash_sip(thread->secret, op->key, op->len) % STORE_OWED_BUCKETS;
}

/* The functions from here to op_make_removal() are called under the lock. */

static void thread_count_in(struct store_thread *thread, struct store_op *op)
{
	thread->queued++;
	thread->queued_bytes += op_bytes(op);
	if (!op_removes(op))
		return;
	thread->owed++;
	thread->owed_bytes += op_bytes(op);
	if (op->type == OP_REMOVE)
		LIST_INSERT_HEAD(&thread->owed_by_key[op_bucket(thread, op)], op, by_key);
}

static void thread_count_out(struct store_thread *thread, struct store_op *op)
{
	thread->queued--;
	thread->queued_bytes -= op_bytes(op);
	if (!op_removes(op))
		return;
	thread->owed--;
	thread->owed_bytes -= op_bytes(op);
	if (op->type == OP_REMOVE)
		LIST_REMOVE(op, by_key);
}

static void thread_enqueue(struct store_thread *thread, struct store_op *op)
{
	TAILQ_INSERT_TAIL(&thread->queue, op, link);
	thread_count_in(thread, op);
	loop_wake(thread->loop, &thread->task);
}

static void thread_dequeue(struct store_thread *thread, struct store_op *op)
{
	TAILQ_REMOVE(&thread->queue, op, link);
	if (thread->again == op)
		thread->again = NULL;
	thread_count_out(thread, op);
}

/* While everything is to be removed, no lookup or entry is accepted either. */
static bool thread_refuses(const struct store_thread *thread)
{
	return thread->away || thread->wipe || thread->queued >= QUEUE_MAX || thread->queued_bytes >= QUEUE_MAX_BYTES;
}

/* Whether this removal is in the queue already. While the store is away no entry can come between the two, so one
 * removal is enough. */
static bool thread_owes(const struct store_thread *thread, const struct store_op *op)
{
	const struct store_op *other;

	if (!thread->away || op->type != OP_REMOVE)
		return false;
	LIST_FOREACH(other, &thread->owed_by_key[op_bucket(thread, op)], by_key)
		if (other->len == op->len && !memcmp(other->key, op->key, op->len))
			return true;
	return false;
}

static void thread_answer(struct store_thread *thread, struct store_op *op, struct entry *answer, bool owed)
{
	if (op->type == OP_GET) {
		thread->stats.hits += answer != NULL;
		thread->stats.misses += !answer;
	}
	if (!op->wait) {
		entry_unref(&answer);
		return;
	}
	op->wait->entry = answer;
	op->wait->owed = owed;
	op->wait->pending = thread;
	loop_wake(op->wait->loop, &op->wait->task);
}

/* Replaces the queue by one removal of everything, for which there is always room. The lookups in the queue, and those
 * that come before it is done, find nothing; settlements wait for it. */
static void thread_wipe(struct store_thread *thread)
{
	struct store_op *op, *next;

	thread->wipe = true;
	for (op = TAILQ_FIRST(&thread->queue); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->type == OP_SETTLE)
			continue;
		thread_dequeue(thread, op);
		if (op->type == OP_GET)
			thread_answer(thread, op, NULL, false);
		op_free(op);
	}
	loop_wake(thread->loop, &thread->task);
}

/* op NULL: memory ran out for the removal, so everything is removed. */
static void thread_enqueue_removal(struct store_thread *thread, struct store_op *op)
{
	bool full = !op || thread->owed >= OWED_MAX || thread->owed_bytes + op_bytes(op) > OWED_MAX_BYTES;

	if (op && (thread->wipe || thread_owes(thread, op))) {
		op_free(op);
	} else if (full) {
		thread->stats.errors++;
		thread_wipe(thread);
		if (op)
			op_free(op);
	} else {
		thread_enqueue(thread, op);
	}
}

static void op_make_removal(struct store_op *op)
{
	op->type = OP_REMOVE;
	entry_unref(&op->entry);
}

static void store_thread_on_answer(struct task *task)
{
	struct store_wait *wait = (struct store_wait *)(void *)task;
	struct entry *e = wait->entry;

	wait->entry = NULL;
	wait->pending = NULL;
	wait->got(wait, e);
}

static void thread_enqueue_wait(struct store_thread *thread, struct store_op *op, struct store_wait *wait)
{
	op->wait = wait;
	wait->pending = op;
	wait->entry = NULL;
	wait->task.run = store_thread_on_answer;
	thread_enqueue(thread, op);
}

enum store_result store_thread_get(struct store *store, const char *key, size_t len, struct entry **entry,
    struct store_wait *wait)
{
	struct store_thread *thread = thread_of(store);
	struct store_op *op = op_new(thread, OP_GET, key, len);
	bool refused;

	(void)entry;
	pthread_mutex_lock(&thread->lock);
	refused = !op || thread_refuses(thread);
	if (refused) {
		thread->stats.misses++;
		thread->stats.errors++;
		if (thread->wipe)
			loop_wake(thread->loop, &thread->task);
	} else {
		thread_enqueue_wait(thread, op, wait);
	}
	pthread_mutex_unlock(&thread->lock);
	if (refused && op)
		op_free(op);
	return refused ? STORE_MISSING : STORE_WAIT;
}

bool store_thread_settle(struct store *store, struct store_wait *wait)
{
	struct store_thread *thread = thread_of(store);
	struct store_op *op = op_new(thread, OP_SETTLE, "", 0);

	wait->task.run = store_thread_on_answer;
	wait->owed = true;
	pthread_mutex_lock(&thread->lock);
	if (op && !thread->away) {
		thread_enqueue_wait(thread, op, wait);
		op = NULL;
	} else {
		wait->entry = NULL;
		wait->pending = thread;
		loop_wake(wait->loop, &wait->task);
	}
	pthread_mutex_unlock(&thread->lock);
	if (op)
		op_free(op);
	return true;
}

/* pending of an answered wait points to the store: its operation is freed by then. */
void store_thread_cancel(struct store *store, struct store_wait *wait)
{
	struct store_thread *thread = thread_of(store);

	pthread_mutex_lock(&thread->lock);
	if (wait->pending && wait->pending != thread)
		((struct store_op *)wait->pending)->wait = NULL;
	wait->pending = NULL;
	pthread_mutex_unlock(&thread->lock);
	loop_forget(wait->loop, &wait->task);
	entry_unref(&wait->entry);
}

void store_thread_put(struct store *store, struct entry *e)
{
	struct store_thread *thread = thread_of(store);
	struct store_op *op = op_new(thread, OP_PUT, e->key, e->key_len);

	if (op)
		op->entry = entry_ref(e);
	pthread_mutex_lock(&thread->lock);
	if (!op || thread_refuses(thread)) {
		thread->stats.errors++;
		if (op)
			op_make_removal(op);
		thread_enqueue_removal(thread, op);
	} else {
		thread_enqueue(thread, op);
	}
	pthread_mutex_unlock(&thread->lock);
}

static void thread_remove(struct store_thread *thread, struct store_op *op)
{
	pthread_mutex_lock(&thread->lock);
	thread_enqueue_removal(thread, op);
	pthread_mutex_unlock(&thread->lock);
}

void store_thread_remove(struct store *store, const char *key, size_t len)
{
	thread_remove(thread_of(store), op_new(thread_of(store), OP_REMOVE, key, len));
}

int64_t store_thread_purge(struct store *store, enum store_purge what, const char *url, size_t len, bool soft,
    int64_t now)
{
	struct store_op *op = op_new(thread_of(store), OP_PURGE, url, len);

	if (op) {
		op->what = what;
		op->soft = soft;
		op->now = now;
		op->asked = atomic_fetch_add(&store->asked, 1) + 1;
	}
	thread_remove(thread_of(store), op);
	return -1;
}

void store_thread_stats(struct store *store, struct store_stats *stats)
{
	struct store_thread *thread = thread_of(store);

	pthread_mutex_lock(&thread->lock);
	*stats = thread->stats;
	stats->owed = thread->owed + thread->wipe;
	stats->away = thread->away;
	pthread_mutex_unlock(&thread->lock);
}

void store_thread_listen(struct store *store, void (*purged)(void *arg, const struct store_mark *), void *arg)
{
	struct store_thread *thread = thread_of(store);

	pthread_mutex_lock(&thread->listening);
	thread->purged = purged;
	thread->purged_arg = arg;
	pthread_mutex_unlock(&thread->listening);
}

void store_thread_purged(struct store_thread *thread, const struct store_mark *mark)
{
	pthread_mutex_lock(&thread->listening);
	if (thread->purged)
		thread->purged(thread->purged_arg, mark);
	pthread_mutex_unlock(&thread->listening);
}

bool store_thread_awaits(struct store_thread *thread, const struct store_op *op)
{
	bool awaits;

	pthread_mutex_lock(&thread->lock);
	awaits = op->wait;
	pthread_mutex_unlock(&thread->lock);
	return awaits;
}

static struct store_op *thread_take_wipe(struct store_thread *thread)
{
	struct store_op *op = op_new(thread, OP_PURGE, "", 0);

	if (!op)
		return NULL;
	op->what = PURGE_ALL;
	op->asked = atomic_load(&thread->store.asked);
	thread->wipe = false;
	return op;
}

static struct store_op *thread_take(struct store_thread *thread)
{
	struct store_op *op;

	if (thread->wipe)
		return thread_take_wipe(thread);
	while ((op = TAILQ_FIRST(&thread->queue)) != NULL) {
		thread_dequeue(thread, op);
		if ((op->type != OP_GET && op->type != OP_SETTLE) || op->wait)
			break;
		op_free(op);
	}
	return op;
}

struct store_op *store_thread_take(struct store_thread *thread)
{
	struct store_op *op;

	pthread_mutex_lock(&thread->lock);
	thread->again = NULL;
	op = thread_take(thread);
	pthread_mutex_unlock(&thread->lock);
	return op;
}

void store_thread_done(struct store_thread *thread, struct store_op *op, struct entry *answer)
{
	if (op->type == OP_GET || op->type == OP_SETTLE) {
		pthread_mutex_lock(&thread->lock);
		thread_answer(thread, op, answer, false);
		pthread_mutex_unlock(&thread->lock);
	}
	op_free(op);
}

void store_op_free(struct store_op *op)
{
	op_free(op);
}

void store_thread_owe(struct store_thread *thread, struct store_op *op)
{
	bool removes = op_removes(op) || op->type == OP_PUT;

	pthread_mutex_lock(&thread->lock);
	if (!removes) {
		thread_answer(thread, op, NULL, true);
	} else if (!thread->wipe) {
		if (op->type == OP_PUT)
			op_make_removal(op);
		if (thread->again)
			TAILQ_INSERT_AFTER(&thread->queue, thread->again, op, link);
		else
			TAILQ_INSERT_HEAD(&thread->queue, op, link);
		thread->again = op;
		thread_count_in(thread, op);
		op = NULL;
	}
	pthread_mutex_unlock(&thread->lock);
	if (op)
		op_free(op);
}

size_t store_thread_owed(struct store_thread *thread)
{
	size_t owed;

	pthread_mutex_lock(&thread->lock);
	owed = thread->owed + thread->wipe;
	pthread_mutex_unlock(&thread->lock);
	return owed;
}

bool store_thread_is_idle(struct store_thread *thread)
{
	bool idle;

	pthread_mutex_lock(&thread->lock);
	idle = !thread->queued && !thread->wipe;
	pthread_mutex_unlock(&thread->lock);
	return idle;
}

/* Turns a queued entry into a removal in the same place, so that the order stays. */
static void thread_queued_removal(struct store_thread *thread, struct store_op *op)
{
	thread_count_out(thread, op);
	op_make_removal(op);
	if (!thread_owes(thread, op)) {
		thread_count_in(thread, op);
		return;
	}
	TAILQ_REMOVE(&thread->queue, op, link);
	op_free(op);
}

void store_thread_set_away(struct store_thread *thread, bool away)
{
	struct store_op *op, *next;

	pthread_mutex_lock(&thread->lock);
	thread->away = away;
	for (op = TAILQ_FIRST(&thread->queue); op && away; op = next) {
		next = TAILQ_NEXT(op, link);
		thread->stats.errors += !op_removes(op);
		if (op->type == OP_PUT) {
			thread_queued_removal(thread, op);
		} else if (!op_removes(op)) {
			thread_dequeue(thread, op);
			thread_answer(thread, op, NULL, true);
			op_free(op);
		}
	}
	if (away && (thread->owed > OWED_MAX || thread->owed_bytes > OWED_MAX_BYTES))
		thread_wipe(thread);
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

void store_thread_leave(struct store_thread *thread)
{
	loop_stop(thread->loop);
}

static void on_work(struct task *task)
{
	struct store_thread *thread = container_of(task, struct store_thread, task);
	bool stopping;

	pthread_mutex_lock(&thread->lock);
	stopping = thread->stopping;
	pthread_mutex_unlock(&thread->lock);
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
	pthread_cond_signal(&thread->started);
	pthread_mutex_unlock(&thread->lock);
	if (!loop)
		return NULL;
	if (thread->work->begin)
		thread->work->begin(thread);
	if (loop_run(loop))
		log_error("%s store: the event loop failed", thread->store.ops->name);
	return NULL;
}

int store_thread_start(struct store_thread *thread, const struct store_work *work)
{
	thread->work = work;
	thread->task.run = on_work;
	TAILQ_INIT(&thread->queue);
	if (getrandom(thread->secret, sizeof thread->secret, 0) != sizeof thread->secret)
		return -1;
	pthread_mutex_init(&thread->lock, NULL);
	pthread_mutex_init(&thread->listening, NULL);
	pthread_cond_init(&thread->started, NULL);
	if (!pthread_create(&thread->thread, NULL, thread_main, thread)) {
		pthread_mutex_lock(&thread->lock);
		while (!thread->running)
			pthread_cond_wait(&thread->started, &thread->lock);
		pthread_mutex_unlock(&thread->lock);
		if (thread->loop)
			return 0;
		pthread_join(thread->thread, NULL);
	}
	pthread_cond_destroy(&thread->started);
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

		if (!op_removes(op) || told++ == TOLD_MAX)
			continue;
		log_escape(url, sizeof url, op->key, end ? (size_t)(end - op->key) : op->len);
		log_warn("%s store: not removed: %s%s", name, url,
		    op->type == OP_PURGE && op->what != PURGE_URL ? "*" : "");
		if (told == TOLD_MAX)
			break;
	}
}

void store_thread_stop(struct store_thread *thread)
{
	struct store_op *op;

	pthread_mutex_lock(&thread->lock);
	thread->stopping = true;
	loop_wake(thread->loop, &thread->task);
	pthread_mutex_unlock(&thread->lock);
	pthread_join(thread->thread, NULL);
	store_thread_set_away(thread, true);
	thread_tell_owed(thread);
	thread->wipe = false;
	while ((op = store_thread_take(thread)) != NULL)
		op_free(op);
	loop_free(&thread->loop);
	pthread_cond_destroy(&thread->started);
	pthread_mutex_destroy(&thread->listening);
	pthread_mutex_destroy(&thread->lock);
}
