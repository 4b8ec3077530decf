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

/* Whether the operation is a removal, which is owed until it is done. */
static bool op_removes(const struct store_op *op)
{
	return op->type == OP_REMOVE || op->type == OP_PURGE;
}

static size_t op_bucket(const struct store_thread *t, const struct store_op *op)
{
	return hash_sip(t->secret, op->key, op->len) % STORE_OWED_BUCKETS;
}

/* The functions from here to op_make_removal() are called under the lock. */

static void thread_count_in(struct store_thread *t, struct store_op *op)
{
	t->queued++;
	t->queued_bytes += op_bytes(op);
	if (!op_removes(op))
		return;
	t->owed++;
	t->owed_bytes += op_bytes(op);
	if (op->type == OP_REMOVE)
		LIST_INSERT_HEAD(&t->owed_by_key[op_bucket(t, op)], op, by_key);
}

static void thread_count_out(struct store_thread *t, struct store_op *op)
{
	t->queued--;
	t->queued_bytes -= op_bytes(op);
	if (!op_removes(op))
		return;
	t->owed--;
	t->owed_bytes -= op_bytes(op);
	if (op->type == OP_REMOVE)
		LIST_REMOVE(op, by_key);
}

static void thread_enqueue(struct store_thread *t, struct store_op *op)
{
	TAILQ_INSERT_TAIL(&t->queue, op, link);
	thread_count_in(t, op);
	loop_wake(t->loop, &t->task);
}

static void thread_dequeue(struct store_thread *t, struct store_op *op)
{
	TAILQ_REMOVE(&t->queue, op, link);
	if (t->again == op)
		t->again = NULL;
	thread_count_out(t, op);
}

/* While everything is to be removed, no lookup or entry is accepted either. */
static bool thread_refuses(const struct store_thread *t)
{
	return t->away || t->wipe || t->queued >= QUEUE_MAX || t->queued_bytes >= QUEUE_MAX_BYTES;
}

/* Whether this removal is in the queue already. While the store is away no entry can come between the two, so one
 * removal is enough. */
static bool thread_owes(const struct store_thread *t, const struct store_op *op)
{
	const struct store_op *other;

	if (!t->away || op->type != OP_REMOVE)
		return false;
	LIST_FOREACH(other, &t->owed_by_key[op_bucket(t, op)], by_key)
		if (other->len == op->len && !memcmp(other->key, op->key, op->len))
			return true;
	return false;
}

static void thread_answer(struct store_thread *t, struct store_op *op, struct entry *answer, bool owed)
{
	if (op->type == OP_GET) {
		t->stats.hits += answer != NULL;
		t->stats.misses += !answer;
	}
	if (!op->wait) {
		entry_unref(&answer);
		return;
	}
	op->wait->entry = answer;
	op->wait->owed = owed;
	op->wait->pending = t;
	loop_wake(op->wait->loop, &op->wait->task);
}

/* Replaces the queue by one removal of everything, for which there is always room. The lookups in the queue, and those
 * that come before it is done, find nothing; settlements wait for it. */
static void thread_wipe(struct store_thread *t)
{
	struct store_op *op, *next;

	t->wipe = true;
	for (op = TAILQ_FIRST(&t->queue); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->type == OP_SETTLE)
			continue;
		thread_dequeue(t, op);
		if (op->type == OP_GET)
			thread_answer(t, op, NULL, false);
		op_free(op);
	}
	loop_wake(t->loop, &t->task);
}

/* op NULL: there was no memory for the removal, so everything is removed. */
static void thread_enqueue_removal(struct store_thread *t, struct store_op *op)
{
	bool full = !op || t->owed >= OWED_MAX || t->owed_bytes + op_bytes(op) > OWED_MAX_BYTES;

	if (op && (t->wipe || thread_owes(t, op))) {
		op_free(op);
	} else if (full) {
		t->stats.errors++;
		thread_wipe(t);
		if (op)
			op_free(op);
	} else {
		thread_enqueue(t, op);
	}
}

static void op_make_removal(struct store_op *op)
{
	op->type = OP_REMOVE;
	entry_unref(&op->entry);
}

static void store_thread_on_answer(struct task *task)
{
	struct store_wait *w = (struct store_wait *)(void *)task;
	struct entry *e = w->entry;

	w->entry = NULL;
	w->pending = NULL;
	w->got(w, e);
}

static void thread_enqueue_wait(struct store_thread *t, struct store_op *op, struct store_wait *w)
{
	op->wait = w;
	w->pending = op;
	w->entry = NULL;
	w->task.run = store_thread_on_answer;
	thread_enqueue(t, op);
}

enum store_result store_thread_get(struct store *s, const char *key, size_t len, struct entry **entry,
    struct store_wait *w)
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
		if (t->wipe)
			loop_wake(t->loop, &t->task);
	} else {
		thread_enqueue_wait(t, op, w);
	}
	pthread_mutex_unlock(&t->lock);
	if (refused && op)
		op_free(op);
	return refused ? STORE_MISSING : STORE_WAIT;
}

bool store_thread_settle(struct store *s, struct store_wait *w)
{
	struct store_thread *t = thread_of(s);
	struct store_op *op = op_new(t, OP_SETTLE, "", 0);

	w->task.run = store_thread_on_answer;
	w->owed = true;
	pthread_mutex_lock(&t->lock);
	if (op && !t->away) {
		thread_enqueue_wait(t, op, w);
		op = NULL;
	} else {
		w->entry = NULL;
		w->pending = t;
		loop_wake(w->loop, &w->task);
	}
	pthread_mutex_unlock(&t->lock);
	if (op)
		op_free(op);
	return true;
}

/* pending of an answered wait points to the store: its operation is freed by then. */
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

	if (op)
		op->entry = entry_ref(e);
	pthread_mutex_lock(&t->lock);
	if (!op || thread_refuses(t)) {
		t->stats.errors++;
		if (op)
			op_make_removal(op);
		thread_enqueue_removal(t, op);
	} else {
		thread_enqueue(t, op);
	}
	pthread_mutex_unlock(&t->lock);
}

static void thread_remove(struct store_thread *t, struct store_op *op)
{
	pthread_mutex_lock(&t->lock);
	thread_enqueue_removal(t, op);
	pthread_mutex_unlock(&t->lock);
}

void store_thread_remove(struct store *s, const char *key, size_t len)
{
	thread_remove(thread_of(s), op_new(thread_of(s), OP_REMOVE, key, len));
}

int64_t store_thread_purge(struct store *s, enum store_purge what, const char *url, size_t len, bool soft, int64_t now)
{
	struct store_op *op = op_new(thread_of(s), OP_PURGE, url, len);

	if (op) {
		op->what = what;
		op->soft = soft;
		op->now = now;
		op->asked = atomic_fetch_add(&s->asked, 1) + 1;
	}
	thread_remove(thread_of(s), op);
	return -1;
}

void store_thread_stats(struct store *s, struct store_stats *stats)
{
	struct store_thread *t = thread_of(s);

	pthread_mutex_lock(&t->lock);
	*stats = t->stats;
	stats->owed = t->owed + t->wipe;
	stats->away = t->away;
	pthread_mutex_unlock(&t->lock);
}

void store_thread_listen(struct store *s, void (*purged)(void *arg, const struct store_mark *), void *arg)
{
	struct store_thread *t = thread_of(s);

	pthread_mutex_lock(&t->listening);
	t->purged = purged;
	t->purged_arg = arg;
	pthread_mutex_unlock(&t->listening);
}

void store_thread_purged(struct store_thread *t, const struct store_mark *m)
{
	pthread_mutex_lock(&t->listening);
	if (t->purged)
		t->purged(t->purged_arg, m);
	pthread_mutex_unlock(&t->listening);
}

bool store_thread_awaits(struct store_thread *t, const struct store_op *op)
{
	bool awaits;

	pthread_mutex_lock(&t->lock);
	awaits = op->wait;
	pthread_mutex_unlock(&t->lock);
	return awaits;
}

static struct store_op *thread_take_wipe(struct store_thread *t)
{
	struct store_op *op = op_new(t, OP_PURGE, "", 0);

	if (!op)
		return NULL;
	op->what = PURGE_ALL;
	op->asked = atomic_load(&t->store.asked);
	t->wipe = false;
	return op;
}

static struct store_op *thread_take(struct store_thread *t)
{
	struct store_op *op;

	if (t->wipe)
		return thread_take_wipe(t);
	while ((op = TAILQ_FIRST(&t->queue)) != NULL) {
		thread_dequeue(t, op);
		if ((op->type != OP_GET && op->type != OP_SETTLE) || op->wait)
			break;
		op_free(op);
	}
	return op;
}

struct store_op *store_thread_take(struct store_thread *t)
{
	struct store_op *op;

	pthread_mutex_lock(&t->lock);
	t->again = NULL;
	op = thread_take(t);
	pthread_mutex_unlock(&t->lock);
	return op;
}

void store_thread_done(struct store_thread *t, struct store_op *op, struct entry *answer)
{
	if (op->type == OP_GET || op->type == OP_SETTLE) {
		pthread_mutex_lock(&t->lock);
		thread_answer(t, op, answer, false);
		pthread_mutex_unlock(&t->lock);
	}
	op_free(op);
}

void store_op_free(struct store_op *op)
{
	op_free(op);
}

void store_thread_owe(struct store_thread *t, struct store_op *op)
{
	bool removes = op_removes(op) || op->type == OP_PUT;

	pthread_mutex_lock(&t->lock);
	if (!removes) {
		thread_answer(t, op, NULL, true);
	} else if (!t->wipe) {
		if (op->type == OP_PUT)
			op_make_removal(op);
		if (t->again)
			TAILQ_INSERT_AFTER(&t->queue, t->again, op, link);
		else
			TAILQ_INSERT_HEAD(&t->queue, op, link);
		t->again = op;
		thread_count_in(t, op);
		op = NULL;
	}
	pthread_mutex_unlock(&t->lock);
	if (op)
		op_free(op);
}

size_t store_thread_owed(struct store_thread *t)
{
	size_t owed;

	pthread_mutex_lock(&t->lock);
	owed = t->owed + t->wipe;
	pthread_mutex_unlock(&t->lock);
	return owed;
}

bool store_thread_is_idle(struct store_thread *t)
{
	bool idle;

	pthread_mutex_lock(&t->lock);
	idle = !t->queued && !t->wipe;
	pthread_mutex_unlock(&t->lock);
	return idle;
}

/* Turns a queued entry into a removal in the same place, so that the order stays. */
static void thread_queued_removal(struct store_thread *t, struct store_op *op)
{
	thread_count_out(t, op);
	op_make_removal(op);
	if (!thread_owes(t, op)) {
		thread_count_in(t, op);
		return;
	}
	TAILQ_REMOVE(&t->queue, op, link);
	op_free(op);
}

void store_thread_set_away(struct store_thread *t, bool away)
{
	struct store_op *op, *next;

	pthread_mutex_lock(&t->lock);
	t->away = away;
	for (op = TAILQ_FIRST(&t->queue); op && away; op = next) {
		next = TAILQ_NEXT(op, link);
		t->stats.errors += !op_removes(op);
		if (op->type == OP_PUT) {
			thread_queued_removal(t, op);
		} else if (!op_removes(op)) {
			thread_dequeue(t, op);
			thread_answer(t, op, NULL, true);
			op_free(op);
		}
	}
	if (away && (t->owed > OWED_MAX || t->owed_bytes > OWED_MAX_BYTES))
		thread_wipe(t);
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
	struct store_thread *t = container_of(task, struct store_thread, task);
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
	if (getrandom(t->secret, sizeof t->secret, 0) != sizeof t->secret)
		return -1;
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->listening, NULL);
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
	pthread_mutex_destroy(&t->listening);
	pthread_mutex_destroy(&t->lock);
	return -1;
}

/* Logs the removals that were never made, since somebody may have to remove those entries by hand. */
static void thread_tell_owed(struct store_thread *t)
{
	const char *name = t->store.ops->name;
	size_t owed = t->owed, told = 0;
	struct store_op *op;

	if (t->wipe)
		log_warn("%s store: everything in it was to be removed, and could not be", name);
	else if (owed)
		log_warn("%s store: %zu removals could not be made: what they name may be found there again", name,
		    owed);
	TAILQ_FOREACH(op, &t->queue, link) {
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

void store_thread_stop(struct store_thread *t)
{
	struct store_op *op;

	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	loop_wake(t->loop, &t->task);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	store_thread_set_away(t, true);
	thread_tell_owed(t);
	t->wipe = false;
	while ((op = store_thread_take(t)) != NULL)
		op_free(op);
	loop_free(&t->loop);
	pthread_cond_destroy(&t->started);
	pthread_mutex_destroy(&t->listening);
	pthread_mutex_destroy(&t->lock);
}
