/* Owns the thread that writes the LMDB file: it alone waits for LMDB's writer lock, which another process may hold for
 * ever, and it alone opens the file and sets a damaged one aside; and the queue of operations that it is given.
 * Must not know: lookups, loops but to wake one, how operations are written (store_lmdb_batch.c).
 * Invariant: operations are done in the order they were given, and each comes back once. */
#include "proxy/store/store_lmdb_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "proxy/base/log.h"

/* Limits of the queue: an entry beyond WAITING_MAX becomes a removal, and a removal beyond REMOVALS_MAX becomes one
 * removal of everything. */
enum { WAITING_MAX = 8192, WAITING_MAX_BYTES = 64 << 20, REMOVALS_MAX = 65536 };
enum { OPEN_AGAIN_MS = 10000, WRITE_AGAIN_MS = 1000 };

/* ---- the store's side ---- */

static void *writer_main(void *arg);

static int64_t clock_ms(struct timespec *t)
{
	clock_gettime(CLOCK_MONOTONIC, t);
	return (int64_t)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

/* The time that is ms from now. */
static struct timespec clock_due(int64_t ms)
{
	struct timespec t;
	int64_t due = clock_ms(&t) + ms;

	return (struct timespec){ .tv_sec = (time_t)(due / 1000), .tv_nsec = (long)(due % 1000) * 1000000 };
}

struct lmdb_writer *lmdb_writer_new(const char *path, size_t map_bytes)
{
	struct lmdb_writer *w = calloc(1, sizeof *w);
	pthread_condattr_t attr;

	if (!w)
		return NULL;
	TAILQ_INIT(&w->queue);
	TAILQ_INIT(&w->back);
	w->open_rc = OPEN_PENDING;
	w->batch_max = LMDB_BATCH;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->news, &attr);
	pthread_cond_init(&w->opened, &attr);
	pthread_condattr_destroy(&attr);
	if (lmdb_file_init(&w->file, path, map_bytes) || pthread_create(&w->thread, NULL, writer_main, w)) {
		w->thread = pthread_self();
		lmdb_writer_free(&w, true);
	}
	return w;
}

int lmdb_writer_opened(struct lmdb_writer *w, int64_t wait_ms)
{
	struct timespec until = clock_due(wait_ms);
	int rc;

	pthread_mutex_lock(&w->lock);
	while (w->open_rc == OPEN_PENDING && pthread_cond_timedwait(&w->opened, &w->lock, &until) != ETIMEDOUT)
		;
	rc = w->open_rc;
	pthread_mutex_unlock(&w->lock);
	return rc;
}

void lmdb_writer_tell(struct lmdb_writer *w)
{
	if (w->store)
		loop_wake(w->store->loop, w->task);
}

void lmdb_writer_attach(struct lmdb_writer *w, struct store_thread *store, struct task *task)
{
	pthread_mutex_lock(&w->lock);
	w->store = store;
	w->task = task;
	lmdb_writer_tell(w);
	pthread_mutex_unlock(&w->lock);
}

void lmdb_writer_enqueue(struct lmdb_writer *w, struct store_op *op, bool first)
{
	if (first)
		TAILQ_INSERT_HEAD(&w->queue, op, link);
	else
		TAILQ_INSERT_TAIL(&w->queue, op, link);
	w->queued++;
	w->queued_puts += op->type == OP_PUT;
	w->queued_bytes += op->entry ? op->entry->bytes : 0;
}

void lmdb_writer_dequeue(struct lmdb_writer *w, struct store_op *op)
{
	TAILQ_REMOVE(&w->queue, op, link);
	w->queued--;
	w->queued_puts -= op->type == OP_PUT;
	w->queued_bytes -= op->entry ? op->entry->bytes : 0;
}

void lmdb_op_lose(struct store_op *op)
{
	op->type = OP_REMOVE;
	entry_unref(&op->entry);
}

/* Under the lock. Turns op into the removal of everything, which replaces all operations that wait; settlements wait
 * for it. */
static void writer_wipe_instead(struct lmdb_writer *w, struct store_op *op)
{
	struct store_op *covered, *next;

	for (covered = TAILQ_FIRST(&w->queue); covered; covered = next) {
		next = TAILQ_NEXT(covered, link);
		if (covered->type == OP_SETTLE)
			continue;
		lmdb_writer_dequeue(w, covered);
		TAILQ_INSERT_TAIL(&w->back, covered, link);
	}
	entry_unref(&op->entry);
	op->type = OP_PURGE;
	op->what = PURGE_ALL;
	op->soft = false;
	lmdb_writer_tell(w);
}

/* An entry that is too large for the file becomes a removal, too. */
bool lmdb_writer_do(struct lmdb_writer *w, struct lmdb_pending *pending, struct store_op *op, bool lose)
{
	bool wipe;

	pthread_mutex_lock(&w->lock);
	lose = op->type == OP_PUT && (lose || w->queued >= WAITING_MAX || w->queued_bytes >= WAITING_MAX_BYTES);
	if (lose || (op->type == OP_PUT && op->entry->bytes > PIECE(w->file.option_bytes)))
		lmdb_op_lose(op);
	wipe = w->queued >= REMOVALS_MAX && op->type != OP_SETTLE;
	if (wipe)
		writer_wipe_instead(w, op);
	pending_add(pending, op);
	lmdb_writer_enqueue(w, op, wipe);
	pthread_cond_signal(&w->news);
	pthread_mutex_unlock(&w->lock);
	return lose;
}

struct store_op *lmdb_writer_back(struct lmdb_writer *w)
{
	struct store_op *op;

	pthread_mutex_lock(&w->lock);
	if ((op = TAILQ_FIRST(&w->back)) != NULL)
		TAILQ_REMOVE(&w->back, op, link);
	pthread_mutex_unlock(&w->lock);
	return op;
}

struct store_stats lmdb_writer_stats(struct lmdb_writer *w)
{
	struct store_stats stats;

	pthread_mutex_lock(&w->lock);
	stats = w->told;
	w->told.evictions = w->told.errors = 0;
	pthread_mutex_unlock(&w->lock);
	return stats;
}

void lmdb_writer_ask(struct lmdb_writer *w, int why)
{
	pthread_mutex_lock(&w->lock);
	if (why == MDB_MAP_RESIZED)
		w->remap = true;
	else
		w->reopen = true;
	pthread_cond_signal(&w->news);
	pthread_mutex_unlock(&w->lock);
}

size_t lmdb_writer_lose(struct lmdb_writer *w)
{
	struct store_op *op;
	size_t lost;

	pthread_mutex_lock(&w->lock);
	lost = w->queued_puts;
	TAILQ_FOREACH(op, &w->queue, link)
		if (op->type == OP_PUT)
			lmdb_op_lose(op);
	w->queued_puts = w->queued_bytes = 0;
	pthread_mutex_unlock(&w->lock);
	return lost;
}

struct store_op *lmdb_writer_give_up(struct lmdb_writer *w)
{
	struct store_op *op;

	pthread_mutex_lock(&w->lock);
	if ((op = TAILQ_FIRST(&w->queue)) != NULL)
		lmdb_writer_dequeue(w, op);
	pthread_mutex_unlock(&w->lock);
	return op;
}

void lmdb_writer_stop(struct lmdb_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->news);
	pthread_mutex_unlock(&w->lock);
}

bool lmdb_writer_ended(struct lmdb_writer *w)
{
	bool ended;

	pthread_mutex_lock(&w->lock);
	ended = w->ended;
	pthread_mutex_unlock(&w->lock);
	return ended;
}

int64_t lmdb_writer_waits_ms(struct lmdb_writer *w)
{
	struct timespec t;
	int64_t since = atomic_load(&w->file.waits_since);

	return since ? clock_ms(&t) - since : 0;
}

size_t lmdb_writer_left(struct lmdb_writer *w)
{
	size_t n;

	pthread_mutex_lock(&w->lock);
	n = w->queued + w->n;
	pthread_mutex_unlock(&w->lock);
	return n;
}

static void ops_free(struct store_op_list *list)
{
	struct store_op *op;

	while ((op = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, op, link);
		store_op_free(op);
	}
}

static void writer_destroy(struct lmdb_writer *w)
{
	ops_free(&w->queue);
	ops_free(&w->back);
	lmdb_file_free(&w->file);
	pthread_cond_destroy(&w->news);
	pthread_cond_destroy(&w->opened);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

void lmdb_writer_free(struct lmdb_writer **wp, bool wait)
{
	struct lmdb_writer *w = *wp;
	pthread_t thread;

	*wp = NULL;
	pthread_mutex_lock(&w->lock);
	wait = wait || w->ended;
	w->abandoned = !wait;
	w->store = NULL;
	thread = w->thread;
	pthread_mutex_unlock(&w->lock);
	if (!wait) {
		pthread_detach(thread);
		return;
	}
	if (!pthread_equal(thread, pthread_self()))
		pthread_join(thread, NULL);
	writer_destroy(w);
}

/* ---- its thread's side ---- */

static void writer_set_opened(struct lmdb_writer *w, int rc)
{
	pthread_mutex_lock(&w->lock);
	if (w->open_rc == OPEN_PENDING)
		w->open_rc = rc;
	pthread_cond_signal(&w->opened);
	pthread_mutex_unlock(&w->lock);
}

static int writer_open(struct lmdb_writer *w)
{
	int rc = lmdb_open(&w->file);

	if (rc && !w->failing && (w->open_rc != OPEN_PENDING || !lmdb_is_misconfigured(rc)))
		log_warn("lmdb store: %s: %s; it is not used until it can be", w->file.path, lmdb_strerror(rc));
	else if (!rc && w->failing)
		log_info("lmdb store: %s: it is used again", w->file.path);
	w->failing = rc != 0;
	writer_set_opened(w, rc);
	if (!rc)
		lmdb_batch_done(w);
	return rc;
}

/* Waits for something to do, under the lock. False: the thread ends. */
static bool writer_next(struct lmdb_writer *w, int rc)
{
	bool open = w->file.env;
	struct timespec until = clock_due(open ? WRITE_AGAIN_MS : OPEN_AGAIN_MS);

	while (rc && !w->stop && pthread_cond_timedwait(&w->news, &w->lock, &until) != ETIMEDOUT)
		;
	while (open && !w->stop && !w->reopen && !w->remap && !w->queued)
		pthread_cond_wait(&w->news, &w->lock);
	if (w->stop && (rc || !open || !w->queued))
		return false;
	return true;
}

static int writer_turn(struct lmdb_writer *w)
{
	bool reopen, remap;

	pthread_mutex_lock(&w->lock);
	reopen = w->reopen;
	remap = w->remap;
	w->reopen = w->remap = false;
	pthread_mutex_unlock(&w->lock);
	if (w->file.env && reopen)
		lmdb_close(&w->file);
	if (!w->file.env)
		return writer_open(w);
	if (remap && lmdb_remap(&w->file))
		lmdb_close(&w->file);
	return w->file.env ? lmdb_batch_run(w) : 0;
}

static void *writer_main(void *arg)
{
	struct lmdb_writer *w = arg;
	bool more = true, abandoned;
	int rc;

	lmdb_watch(&w->file);
	rc = writer_open(w);
	while (more) {
		pthread_mutex_lock(&w->lock);
		more = writer_next(w, rc);
		pthread_mutex_unlock(&w->lock);
		rc = more ? writer_turn(w) : 0;
	}
	lmdb_close(&w->file);
	pthread_mutex_lock(&w->lock);
	w->ended = true;
	abandoned = w->abandoned;
	lmdb_writer_tell(w);
	pthread_mutex_unlock(&w->lock);
	if (abandoned)
		writer_destroy(w);
	return NULL;
}
