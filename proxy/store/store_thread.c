/* The queue of a store's thread, and what workers ask of it; see store_thread.h. */
#include "proxy/store/store_thread_internal.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/container_of.h"
#include "proxy/base/hash.h"

/* Beyond QUEUE_MAX lookups and entries are refused. */
enum { QUEUE_MAX = 8192, QUEUE_MAX_BYTES = 64 << 20 };

static struct store_thread *thread_of(struct store *store)
{
	return (struct store_thread *)(void *)store;
}

void store_op_free(struct store_op *op)
{
	entry_unref(&op->entry);
	store_op_call_free(&op->call);
	free(op->key);
	free(op);
}

struct store_op *store_op_new(struct store_thread *thread, enum store_op_type type, const char *key, size_t len)
{
	struct store_op *op = calloc(1, sizeof *op);

	if (!op)
		return NULL;
	op->thread = thread;
	op->type = type;
	op->len = len;
	if (!(op->key = malloc(len ? len : 1))) {
		store_op_free(op);
		return NULL;
	}
	memcpy(op->key, key, len);
	return op;
}

static size_t op_bytes(const struct store_op *op)
{
	return sizeof *op + op->len + (op->entry ? op->entry->bytes : 0) + (op->call ? op->call->bytes : 0);
}

bool store_op_removes(const struct store_op *op)
{
	return op->type == OP_REMOVE || op->type == OP_PURGE;
}

static size_t op_bucket(const struct store_thread *thread, const struct store_op *op)
{
	return hash_sip(thread->secret, op->key, op->len) % STORE_OWED_BUCKETS;
}

/* The functions from here to store_op_make_removal() are called under the lock. */

void store_queue_count_in(struct store_thread *thread, struct store_op *op)
{
	op->queued = true;
	thread->queued++;
	thread->queued_bytes += op_bytes(op);
	if (!store_op_removes(op))
		return;
	thread->owed++;
	thread->owed_bytes += op_bytes(op);
	if (op->type == OP_REMOVE)
		LIST_INSERT_HEAD(&thread->owed_by_key[op_bucket(thread, op)], op, by_key);
}

void store_queue_count_out(struct store_thread *thread, struct store_op *op)
{
	op->queued = false;
	thread->queued--;
	thread->queued_bytes -= op_bytes(op);
	if (!store_op_removes(op))
		return;
	thread->owed--;
	thread->owed_bytes -= op_bytes(op);
	if (op->type == OP_REMOVE)
		LIST_REMOVE(op, by_key);
}

void store_queue_enqueue(struct store_thread *thread, struct store_op *op)
{
	TAILQ_INSERT_TAIL(&thread->queue, op, link);
	store_queue_count_in(thread, op);
	loop_wake(thread->loop, &thread->task);
}

void store_queue_dequeue(struct store_thread *thread, struct store_op *op)
{
	TAILQ_REMOVE(&thread->queue, op, link);
	if (thread->again == op)
		thread->again = NULL;
	store_queue_count_out(thread, op);
}

bool store_queue_refuses(const struct store_thread *thread)
{
	return thread->away || thread->wipe || thread->queued >= QUEUE_MAX || thread->queued_bytes >= QUEUE_MAX_BYTES;
}

bool store_queue_owes(const struct store_thread *thread, const struct store_op *op)
{
	const struct store_op *other;

	if (!thread->away || op->type != OP_REMOVE)
		return false;
	LIST_FOREACH(other, &thread->owed_by_key[op_bucket(thread, op)], by_key)
		if (other->len == op->len && !memcmp(other->key, op->key, op->len))
			return true;
	return false;
}

void store_queue_answer(struct store_thread *thread, struct store_op *op, struct entry *answer, bool owed)
{
	if (op->type == OP_GET) {
		thread->stats.hits += answer != NULL;
		thread->stats.misses += !answer;
	}
	if (op->type == OP_CALL)
		store_queue_answer_call(op);
	if (!op->wait) {
		entry_unref(&answer);
		return;
	}
	op->wait->entry = answer;
	op->wait->owed = owed;
	store_queue_wake(thread, op->wait);
}

void store_queue_wake(struct store_thread *thread, struct store_wait *wait)
{
	wait->pending = thread;
	loop_wake(wait->loop, &wait->task);
}

void store_queue_cancel(struct store_thread *thread, struct store_op *op)
{
	op->wait = NULL;
	if (op->call)
		op->call->by = NULL;
	if (!op->queued)
		return;
	store_queue_dequeue(thread, op);
	store_op_free(op);
}

void store_queue_wipe(struct store_thread *thread)
{
	struct store_op *op, *next;

	thread->wipe = true;
	for (op = TAILQ_FIRST(&thread->queue); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->type == OP_SETTLE)
			continue;
		store_queue_dequeue(thread, op);
		if (op->type == OP_GET || op->type == OP_CALL)
			store_queue_answer(thread, op, NULL, false);
		store_op_free(op);
	}
	loop_wake(thread->loop, &thread->task);
}

/* op NULL: memory ran out for the removal, so everything is removed. */
static void thread_enqueue_removal(struct store_thread *thread, struct store_op *op)
{
	bool full = !op || thread->owed >= STORE_OWED_MAX || thread->owed_bytes + op_bytes(op) > STORE_OWED_BYTES_MAX;

	if (op && (thread->wipe || store_queue_owes(thread, op))) {
		store_op_free(op);
	} else if (full) {
		thread->stats.errors++;
		store_queue_wipe(thread);
		if (op)
			store_op_free(op);
	} else {
		store_queue_enqueue(thread, op);
	}
}

void store_op_make_removal(struct store_op *op)
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
	loop_disarm(wait->loop, &wait->late);
	wait->got(wait, e);
}

static void store_thread_on_late(struct timer *timer)
{
	struct store_wait *wait = container_of(timer, struct store_wait, late);
	struct store_thread *thread = thread_of(wait->store);

	store_thread_cancel(wait->store, wait);
	pthread_mutex_lock(&thread->lock);
	thread->stats.misses++;
	thread->stats.errors++;
	pthread_mutex_unlock(&thread->lock);
	wait->timed_out = true;
	wait->got(wait, NULL);
}

static void wait_begin(struct store_wait *wait, struct store *store)
{
	wait->entry = NULL;
	wait->store = store;
	wait->others = wait->unaware = 0;
	wait->task.run = store_thread_on_answer;
	wait->late = (struct timer){ .fire = store_thread_on_late };
}

static void wait_limit(struct store_wait *wait, uint64_t patience_ms)
{
	uint64_t now_ms = loop_now_ms(wait->loop);

	if (!wait->until_ms)
		wait->until_ms = now_ms + patience_ms;
	loop_arm(wait->loop, &wait->late, wait->until_ms > now_ms ? wait->until_ms - now_ms : 1);
}

static void thread_enqueue_wait(struct store_thread *thread, struct store_op *op, struct store_wait *wait)
{
	op->wait = wait;
	wait->pending = op;
	store_queue_enqueue(thread, op);
}

enum store_result store_thread_get(struct store *store, const char *key, size_t len, struct entry **entry,
    struct store_wait *wait)
{
	struct store_thread *thread = thread_of(store);
	struct store_op *op = store_op_new(thread, OP_GET, key, len);

	(void)entry;
	wait_begin(wait, store);
	pthread_mutex_lock(&thread->lock);
	bool refused = !op || store_queue_refuses(thread);
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
		store_op_free(op);
	if (!refused && thread->patience_ms)
		wait_limit(wait, thread->patience_ms);
	return refused ? STORE_MISSING : STORE_WAIT;
}

enum store_settling store_thread_settle(struct store *store, struct store_wait *wait)
{
	struct store_thread *thread = thread_of(store);
	struct store_op *op = store_op_new(thread, OP_SETTLE, "", 0);

	wait_begin(wait, store);
	wait->owed = true;
	pthread_mutex_lock(&thread->lock);
	if (op && !thread->away) {
		thread_enqueue_wait(thread, op, wait);
		op = NULL;
	} else {
		wait->pending = thread;
		loop_wake(wait->loop, &wait->task);
	}
	pthread_mutex_unlock(&thread->lock);
	if (op)
		store_op_free(op);
	return SETTLING_WAIT;
}

/* pending of an answered wait points to the store: its operation is freed by then. */
void store_thread_cancel(struct store *store, struct store_wait *wait)
{
	struct store_thread *thread = thread_of(store);

	pthread_mutex_lock(&thread->lock);
	if (wait->pending && wait->pending != thread)
		store_queue_cancel(thread, wait->pending);
	wait->pending = NULL;
	pthread_mutex_unlock(&thread->lock);
	loop_forget(wait->loop, &wait->task);
	loop_disarm(wait->loop, &wait->late);
	entry_unref(&wait->entry);
}

void store_thread_put(struct store *store, struct entry *e)
{
	struct store_thread *thread = thread_of(store);
	struct store_op *op = store_op_new(thread, OP_PUT, e->key, e->key_len);

	if (op)
		op->entry = entry_ref(e);
	pthread_mutex_lock(&thread->lock);
	if (!op || store_queue_refuses(thread)) {
		thread->stats.errors++;
		if (op)
			store_op_make_removal(op);
		thread_enqueue_removal(thread, op);
	} else {
		store_queue_enqueue(thread, op);
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
	thread_remove(thread_of(store), store_op_new(thread_of(store), OP_REMOVE, key, len));
}

int64_t store_thread_purge(struct store *store, enum store_purge what, const char *url, size_t len, bool soft,
    int64_t now)
{
	struct store_op *op = store_op_new(thread_of(store), OP_PURGE, url, len);

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
	stats->away = thread->away || thread->unknown;
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
