/* Calls of scripts through a store's thread, and what the store hears of other processes; see store_call.h. Bounds: a
 * call stands in the queue as lookups do, and is refused where they are; its answer is as long as a reply may be. */
#include "proxy/store/store_thread_internal.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/container_of.h"

void store_reply_free(struct store_reply **reply)
{
	if (*reply)
		entry_unref(&(*reply)->entry);
	free(*reply);
	*reply = NULL;
}

void store_op_call_free(struct store_op_call **call)
{
	if (*call)
		store_reply_free(&(*call)->reply);
	free(*call);
	*call = NULL;
}

static void call_on_answer(struct task *task)
{
	struct store_call *call = (struct store_call *)(void *)task;
	struct store_reply *reply = call->reply;

	call->pending = NULL;
	loop_disarm(call->loop, &call->late);
	call->answered(call);                  /* may free the call */
	store_reply_free(&reply);
}

static void call_on_late(struct timer *timer)
{
	struct store_call *call = container_of(timer, struct store_call, late);

	store_thread_uncall(call->store, call);
	call->answered(call);
}

/* Under the lock. */
void store_queue_answer_call(struct store_op *op)
{
	struct store_call *by = op->call->by;

	if (!by)
		return;
	by->reply = op->call->reply;
	op->call->reply = NULL;
	by->pending = op->thread;
	loop_wake(by->loop, &by->task);
}

/* The name and the arguments lie in one block. NULL: out of memory. */
static struct store_op *call_op(struct store_thread *thread, const struct store_call *call)
{
	struct store_op *op = calloc(1, sizeof *op);
	size_t bytes = 0;

	for (size_t i = 0; i < call->n; i++)
		bytes += call->args[i].len;
	if (!op)
		return NULL;
	op->thread = thread;
	op->type = OP_CALL;
	op->len = call->name.len;
	op->call = calloc(1, sizeof *op->call);
	op->key = malloc(call->name.len + bytes + 1);
	if (!op->call || !op->key) {
		store_op_free(op);
		return NULL;
	}
	op->call->script = call->script;
	op->call->n = call->n;
	op->call->bytes = bytes;
	char *to = op->key;
	memcpy(to, call->name.at, call->name.len);
	to += call->name.len;
	for (size_t i = 0; i < call->n; i++) {
		op->call->args[i] = (struct slice){ to, call->args[i].len };
		if (call->args[i].len)
			memcpy(to, call->args[i].at, call->args[i].len);
		to += call->args[i].len;
	}
	return op;
}

bool store_thread_call(struct store *store, struct store_call *call)
{
	struct store_thread *thread = (struct store_thread *)(void *)store;
	struct store_op *op = call_op(thread, call);

	call->store = store;
	call->late = (struct timer){ .fire = call_on_late };
	pthread_mutex_lock(&thread->lock);
	bool refused = !op || store_queue_refuses(thread);
	if (refused) {
		thread->stats.errors++;
	} else {
		if (call->answered) {
			op->call->by = call;
			call->pending = op;
			call->reply = NULL;
			call->task.run = call_on_answer;
		}
		store_queue_enqueue(thread, op);
	}
	pthread_mutex_unlock(&thread->lock);
	if (refused && op)
		store_op_free(op);
	if (!refused && call->answered)
		loop_arm(call->loop, &call->late, thread->patience_ms);
	return !refused;
}

/* pending of an answered call points to the store: its operation is freed by then. */
void store_thread_uncall(struct store *store, struct store_call *call)
{
	struct store_thread *thread = (struct store_thread *)(void *)store;

	pthread_mutex_lock(&thread->lock);
	bool waits = call->pending;
	if (waits && call->pending != thread)
		store_queue_cancel(thread, call->pending);
	call->pending = NULL;
	pthread_mutex_unlock(&thread->lock);
	if (!waits)
		return;
	loop_forget(call->loop, &call->task);
	loop_disarm(call->loop, &call->late);
	store_reply_free(&call->reply);
}

void store_thread_hear(struct store *store, const struct store_ears *ears)
{
	struct store_thread *thread = (struct store_thread *)(void *)store;

	pthread_mutex_lock(&thread->listening);
	thread->ears = ears ? *ears : (struct store_ears){ 0 };
	pthread_mutex_unlock(&thread->listening);
}

bool store_thread_is_heard(struct store_thread *thread)
{
	pthread_mutex_lock(&thread->listening);
	bool heard = thread->ears.news;
	pthread_mutex_unlock(&thread->listening);
	return heard;
}

void store_thread_news(struct store_thread *thread, struct slice topic, struct slice text, uint64_t age_ms)
{
	pthread_mutex_lock(&thread->listening);
	if (thread->ears.news)
		thread->ears.news(thread->ears.arg, topic, text, age_ms);
	pthread_mutex_unlock(&thread->listening);
}

void store_thread_message(struct store_thread *thread, struct slice text)
{
	pthread_mutex_lock(&thread->listening);
	if (thread->ears.message)
		thread->ears.message(thread->ears.arg, text);
	pthread_mutex_unlock(&thread->listening);
}
