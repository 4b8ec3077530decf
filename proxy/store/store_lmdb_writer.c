/* Owns the thread that writes the LMDB file, and the queue of its operations. Only this thread waits for LMDB's writer
 * lock, because another process may hold it for ever. Only this thread opens the file and sets a damaged one aside.
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

/* The time that is ms from now. */
static struct timespec clock_due(int64_t ms)
{
	int64_t due = lmdb_now_ms() + ms;

	return (struct timespec){ .tv_sec = (time_t)(due / 1000), .tv_nsec = (long)(due % 1000) * 1000000 };
}

struct lmdb_writer *lmdb_writer_new(const char *path, size_t map_bytes)
{
	struct lmdb_writer *writer = calloc(1, sizeof *writer);
	pthread_condattr_t attr;

	if (!writer)
		return NULL;
	TAILQ_INIT(&writer->queue);
	TAILQ_INIT(&writer->back);
	writer->open_rc = OPEN_PENDING;
	writer->batch_max = LMDB_BATCH;
	pthread_mutex_init(&writer->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&writer->news, &attr);
	pthread_cond_init(&writer->opened, &attr);
	pthread_condattr_destroy(&attr);
	if (lmdb_file_init(&writer->file, path, map_bytes) ||
	    pthread_create(&writer->thread, NULL, writer_main, writer)) {
		writer->thread = pthread_self();
		lmdb_writer_free(&writer, true);
	}
	return writer;
}

int lmdb_writer_opened(struct lmdb_writer *writer, int64_t wait_ms)
{
	struct timespec until = clock_due(wait_ms);

	pthread_mutex_lock(&writer->lock);
	while (writer->open_rc == OPEN_PENDING &&
	    pthread_cond_timedwait(&writer->opened, &writer->lock, &until) != ETIMEDOUT)
		;
	int rc = writer->open_rc;
	pthread_mutex_unlock(&writer->lock);
	return rc;
}

void lmdb_writer_tell(struct lmdb_writer *writer)
{
	if (writer->store)
		loop_wake(writer->store->loop, writer->task);
}

void lmdb_writer_attach(struct lmdb_writer *writer, struct store_thread *store, struct task *task)
{
	pthread_mutex_lock(&writer->lock);
	writer->store = store;
	writer->task = task;
	lmdb_writer_tell(writer);
	pthread_mutex_unlock(&writer->lock);
}

void lmdb_writer_enqueue(struct lmdb_writer *writer, struct store_op *op, bool first)
{
	if (first)
		TAILQ_INSERT_HEAD(&writer->queue, op, link);
	else
		TAILQ_INSERT_TAIL(&writer->queue, op, link);
	writer->queued++;
	writer->queued_puts += op->type == OP_PUT;
	writer->queued_bytes += op->entry ? op->entry->bytes : 0;
}

void lmdb_writer_dequeue(struct lmdb_writer *writer, struct store_op *op)
{
	TAILQ_REMOVE(&writer->queue, op, link);
	writer->queued--;
	writer->queued_puts -= op->type == OP_PUT;
	writer->queued_bytes -= op->entry ? op->entry->bytes : 0;
}

/* Under the lock. Turns op into the removal of everything, which replaces all operations that wait; settlements wait
 * for it. */
static void writer_wipe_instead(struct lmdb_writer *writer, struct store_op *op)
{
	struct store_op *covered, *next;

	for (covered = TAILQ_FIRST(&writer->queue); covered; covered = next) {
		next = TAILQ_NEXT(covered, link);
		if (covered->type == OP_SETTLE)
			continue;
		lmdb_writer_dequeue(writer, covered);
		TAILQ_INSERT_TAIL(&writer->back, covered, link);
	}
	entry_unref(&op->entry);
	op->type = OP_PURGE;
	op->what = PURGE_ALL;
	op->soft = false;
	lmdb_writer_tell(writer);
}

/* An entry that is too large for the file becomes a removal, too. */
enum lmdb_taken lmdb_writer_do(struct lmdb_writer *writer, struct lmdb_pending *pending, struct store_op *op, bool lose)
{
	pthread_mutex_lock(&writer->lock);
	lose =
	    op->type == OP_PUT && (lose || writer->queued >= WAITING_MAX || writer->queued_bytes >= WAITING_MAX_BYTES);
	if (lose || (op->type == OP_PUT && op->entry->bytes > PIECE(writer->file.option_bytes)))
		store_op_make_removal(op);
	bool wipe = writer->queued >= REMOVALS_MAX && op->type != OP_SETTLE;
	if (wipe)
		writer_wipe_instead(writer, op);
	pending_add(pending, op);
	lmdb_writer_enqueue(writer, op, wipe);
	pthread_cond_signal(&writer->news);
	pthread_mutex_unlock(&writer->lock);
	return lose ? LMDB_LOST : LMDB_TAKEN;
}

struct store_op *lmdb_writer_back(struct lmdb_writer *writer)
{
	struct store_op *op;

	pthread_mutex_lock(&writer->lock);
	if ((op = TAILQ_FIRST(&writer->back)) != NULL)
		TAILQ_REMOVE(&writer->back, op, link);
	pthread_mutex_unlock(&writer->lock);
	return op;
}

struct store_stats lmdb_writer_stats(struct lmdb_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	struct store_stats stats = writer->told;
	writer->told.evictions = writer->told.errors = 0;
	pthread_mutex_unlock(&writer->lock);
	return stats;
}

void lmdb_writer_ask(struct lmdb_writer *writer, int why)
{
	pthread_mutex_lock(&writer->lock);
	if (why == MDB_MAP_RESIZED)
		writer->remap = true;
	else
		writer->reopen = true;
	pthread_cond_signal(&writer->news);
	pthread_mutex_unlock(&writer->lock);
}

size_t lmdb_writer_lose(struct lmdb_writer *writer)
{
	struct store_op *op;

	pthread_mutex_lock(&writer->lock);
	size_t lost = writer->queued_puts;
	TAILQ_FOREACH(op, &writer->queue, link)
		if (op->type == OP_PUT)
			store_op_make_removal(op);
	writer->queued_puts = writer->queued_bytes = 0;
	pthread_mutex_unlock(&writer->lock);
	return lost;
}

struct store_op *lmdb_writer_give_up(struct lmdb_writer *writer)
{
	struct store_op *op;

	pthread_mutex_lock(&writer->lock);
	if ((op = TAILQ_FIRST(&writer->queue)) != NULL)
		lmdb_writer_dequeue(writer, op);
	pthread_mutex_unlock(&writer->lock);
	return op;
}

void lmdb_writer_stop(struct lmdb_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->stop = true;
	pthread_cond_signal(&writer->news);
	pthread_mutex_unlock(&writer->lock);
}

bool lmdb_writer_ended(struct lmdb_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	bool ended = writer->ended;
	pthread_mutex_unlock(&writer->lock);
	return ended;
}

int64_t lmdb_writer_waits_ms(struct lmdb_writer *writer)
{
	int64_t since = atomic_load(&writer->file.waits_since);

	return since ? lmdb_now_ms() - since : 0;
}

size_t lmdb_writer_left(struct lmdb_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	size_t n = writer->queued + writer->n;
	pthread_mutex_unlock(&writer->lock);
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

static void writer_destroy(struct lmdb_writer *writer)
{
	ops_free(&writer->queue);
	ops_free(&writer->back);
	lmdb_file_free(&writer->file);
	pthread_cond_destroy(&writer->news);
	pthread_cond_destroy(&writer->opened);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

void lmdb_writer_free(struct lmdb_writer **wp, bool wait)
{
	struct lmdb_writer *writer = *wp;

	*wp = NULL;
	pthread_mutex_lock(&writer->lock);
	wait = wait || writer->ended;
	writer->abandoned = !wait;
	writer->store = NULL;
	pthread_t thread = writer->thread;
	pthread_mutex_unlock(&writer->lock);
	if (!wait) {
		pthread_detach(thread);
		return;
	}
	if (!pthread_equal(thread, pthread_self()))
		pthread_join(thread, NULL);
	writer_destroy(writer);
}

/* ---- its thread's side ---- */

static void writer_set_opened(struct lmdb_writer *writer, int rc)
{
	pthread_mutex_lock(&writer->lock);
	if (writer->open_rc == OPEN_PENDING)
		writer->open_rc = rc;
	pthread_cond_signal(&writer->opened);
	pthread_mutex_unlock(&writer->lock);
}

static int writer_open(struct lmdb_writer *writer)
{
	int rc = lmdb_open(&writer->file);

	if (rc && !writer->failing && (writer->open_rc != OPEN_PENDING || !lmdb_is_misconfigured(rc)))
		log_warn("lmdb store: %s: %s; it is not used until it can be", writer->file.path, lmdb_strerror(rc));
	else if (!rc && writer->failing)
		log_info("lmdb store: %s: it is used again", writer->file.path);
	writer->failing = rc != 0;
	if (!rc)
		lmdb_batch_done(writer);
	writer_set_opened(writer, rc);
	return rc;
}

/* Waits for something to do, under the lock. False: the thread ends. */
static bool writer_next(struct lmdb_writer *writer, int rc)
{
	bool open = writer->file.env;
	struct timespec until = clock_due(open ? WRITE_AGAIN_MS : OPEN_AGAIN_MS);

	while (rc && !writer->stop && pthread_cond_timedwait(&writer->news, &writer->lock, &until) != ETIMEDOUT)
		;
	while (open && !writer->stop && !writer->reopen && !writer->remap && !writer->queued)
		pthread_cond_wait(&writer->news, &writer->lock);
	if (writer->stop && (rc || !open || !writer->queued))
		return false;
	return true;
}

static int writer_turn(struct lmdb_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	bool reopen = writer->reopen;
	bool remap = writer->remap;
	writer->reopen = writer->remap = false;
	pthread_mutex_unlock(&writer->lock);
	if (writer->file.env && reopen)
		lmdb_close(&writer->file);
	if (!writer->file.env)
		return writer_open(writer);
	if (remap && lmdb_remap(&writer->file))
		lmdb_close(&writer->file);
	return writer->file.env ? lmdb_batch_run(writer) : 0;
}

static void *writer_main(void *arg)
{
	struct lmdb_writer *writer = arg;
	bool more = true;

	lmdb_watch(&writer->file);
	int rc = writer_open(writer);
	while (more) {
		pthread_mutex_lock(&writer->lock);
		more = writer_next(writer, rc);
		pthread_mutex_unlock(&writer->lock);
		rc = more ? writer_turn(writer) : 0;
	}
	lmdb_close(&writer->file);
	pthread_mutex_lock(&writer->lock);
	writer->ended = true;
	bool abandoned = writer->abandoned;
	lmdb_writer_tell(writer);
	pthread_mutex_unlock(&writer->lock);
	if (abandoned)
		writer_destroy(writer);
	return NULL;
}
