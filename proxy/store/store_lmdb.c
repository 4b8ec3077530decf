/* Owns the LMDB store: entries in a file, which survive the process. The store's thread does the lookups, which another
 * process cannot block. Writes go to the writer's thread, which another process can block (store_lmdb_writer.c); until
 * they are in the file, lookups see them in memory (store_lmdb_pending.c). Must not know: freshness, what is in an
 * entry, the tables (store_lmdb_tables.c) and the file (store_lmdb_file.c).
 * Invariant: a process that blocks the file costs the entries that come meanwhile, never an answer, and at exit no more
 * than EXIT_WAIT_MS; a slow disk costs no more than EXIT_WAITS times that. */
#include "proxy/store/store_lmdb_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/store/store_lmdb.h"

enum { START_WAIT_MS = 5000, STUCK_AFTER_MS = 5000, EXIT_WAIT_MS = 5000, EXIT_WAITS = 6, WATCH_MS = 1000 };
/* How often it is looked whether another process has purged, and whether all others know what this one has purged. */
enum { NEWS_EVERY_MS = 100, PEERS_EVERY_MS = 10 };
#define NUMBER_UNKNOWN UINT64_MAX        /* of the purges before a settlement */

struct store_lmdb {
	struct store_thread thread;
	struct lmdb_writer *writer;
	struct lmdb_pending pending;
	struct task back;
	struct timer watch, exit, look;
	struct lmdb_news news;
	struct store_op_list awaiting;         /* settlements until all processes know of the purges before them */
	size_t waiting;                        /* operations that the writer has */
	bool stuck;                            /* another process holds the writer's lock; this was logged */
	bool ending, left;
	int exit_waits;
};

static struct store_lmdb *lmdb_of(struct store_thread *thread)
{
	return (struct store_lmdb *)(void *)thread;
}

/* ---- lookups ---- */

struct lmdb_lookup { struct lmdb_file *file; const struct store_op *op; struct entry *entry; bool damaged; };
struct lmdb_look { struct lmdb_file *file; struct lmdb_news *news; };

static int lmdb_lookup_run(void *arg)
{
	struct lmdb_lookup *lookup = arg;
	int rc = mdb_txn_renew(lookup->file->read);

	if (rc)
		return rc;
	rc = lmdb_get(lookup->file, lookup->file->read, lookup->op->key, lookup->op->len, &lookup->entry,
	    &lookup->damaged);
	mdb_txn_reset(lookup->file->read);
	return rc;
}

static int lmdb_look_run(void *arg)
{
	struct lmdb_look *look = arg;
	int rc = mdb_txn_renew(look->file->read);

	if (rc)
		return rc;
	rc = lmdb_marks_read(look->file, look->file->read, look->news);
	look->news->read = !rc;
	mdb_txn_reset(look->file->read);
	return rc;
}

/* Reads the file. While it is being opened or mapped anew, there is nothing to be read. */
static int lmdb_read_file(struct lmdb_file *file, int (*run)(void *), void *arg)
{
	int rc = 0;

	if (pthread_mutex_trylock(&file->use))
		return 0;
	if (file->env && file->read)
		rc = run(arg);
	if (lmdb_is_damaged(rc))
		lmdb_mark_damaged(file);
	pthread_mutex_unlock(&file->use);
	return rc;
}

static void lmdb_count_error(struct store_lmdb *lmdb)
{
	struct store_stats now;

	store_thread_stats(&lmdb->thread.store, &now);
	store_thread_count(&lmdb->thread, &(struct store_stats){ .entries = now.entries, .bytes = now.bytes,
	    .errors = 1 });
}

/* What a failure to read leads to. */
static void lmdb_complain(struct store_lmdb *lmdb, int rc)
{
	if (rc)
		lmdb_writer_ask(lmdb->writer, rc);
	if (rc && rc != MDB_MAP_RESIZED)
		log_warn("lmdb store: %s: %s; it is opened anew", lmdb->writer->file.path, lmdb_strerror(rc));
}

static struct entry *lmdb_look_up(struct store_lmdb *lmdb, const struct store_op *op)
{
	struct lmdb_lookup l = { .file = &lmdb->writer->file, .op = op };
	int rc = lmdb_read_file(l.file, lmdb_lookup_run, &l);

	lmdb_complain(lmdb, rc);
	if ((rc && rc != MDB_MAP_RESIZED) || l.damaged)
		lmdb_count_error(lmdb);
	if (l.damaged)
		store_thread_remove(&lmdb->thread.store, op->key, op->len);
	return l.entry;
}

static void lmdb_answer(struct store_lmdb *lmdb, struct store_op *op)
{
	struct entry *e = NULL;
	int64_t stale;

	pthread_mutex_lock(&lmdb->writer->lock);
	enum pending_answer answer = pending_get(&lmdb->pending, op->key, op->len, &e, &stale);
	pthread_mutex_unlock(&lmdb->writer->lock);
	if (answer == PENDING_UNKNOWN)
		e = lmdb_stale(lmdb_look_up(lmdb, op), stale);
	store_thread_done(&lmdb->thread, op, e);
}

/* ---- purges of other processes ---- */

static void lmdb_tell(struct store_lmdb *lmdb, const struct store_mark *mark)
{
	pthread_mutex_lock(&lmdb->writer->lock);
	pending_purge(&lmdb->pending, mark);
	pthread_mutex_unlock(&lmdb->writer->lock);
	store_thread_purged(&lmdb->thread, mark);
}

static void lmdb_tell_news(struct store_lmdb *lmdb)
{
	static const struct store_mark all = { .number = UINT64_MAX, .what = PURGE_ALL, .url = "" };

	if (lmdb->news.missed) {
		lmdb->news.others = lmdb->news.known;
		lmdb_tell(lmdb, &all);
	}
	for (size_t i = 0; i < lmdb->news.n; i++)
		lmdb_tell(lmdb, &lmdb->news.marks[i]);
	if (lmdb->news.missed || lmdb->news.n)
		store_thread_purged(&lmdb->thread, NULL);
}

/* Learns what other processes have purged, and lets them know that it is known. False: the file cannot be read now. */
static bool lmdb_learn(struct store_lmdb *lmdb)
{
	struct lmdb_file *file = &lmdb->writer->file;
	uint64_t known = lmdb->news.known;
	int rc;

	do {
		lmdb->news.read = false;
		rc = lmdb_read_file(file, lmdb_look_run, &(struct lmdb_look){ file, &lmdb->news });
		lmdb_complain(lmdb, rc);
		if (rc || !lmdb->news.read)
			return false;
		lmdb_tell_news(lmdb);
	} while (lmdb->news.more);
	if (lmdb->news.known != known) {
		atomic_store(&lmdb->thread.store.known, lmdb->news.known);
		lmdb_peers_tell(file, lmdb->news.known);
	}
	return true;
}

/* Answers the settlements whose purges all processes know. */
static void lmdb_look_at_peers(struct store_lmdb *lmdb, bool learnt)
{
	struct store_op *op, *next;

	for (op = TAILQ_FIRST(&lmdb->awaiting); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (learnt && op->number == NUMBER_UNKNOWN)
			op->number = lmdb->news.known;
		if (store_thread_awaits(&lmdb->thread, op, 0, 0) &&
		    (op->number == NUMBER_UNKNOWN || !lmdb_peers_know(&lmdb->writer->file, op->number)))
			continue;
		TAILQ_REMOVE(&lmdb->awaiting, op, link);
		store_thread_done(&lmdb->thread, op, NULL);
	}
}

static void lmdb_on_look(struct timer *timer)
{
	struct store_lmdb *lmdb = container_of(timer, struct store_lmdb, look);

	lmdb_look_at_peers(lmdb, lmdb_learn(lmdb));
	loop_arm(lmdb->thread.loop, timer, TAILQ_EMPTY(&lmdb->awaiting) ? NEWS_EVERY_MS : PEERS_EVERY_MS);
}

/* ---- writes ---- */

static void lmdb_write(struct store_lmdb *lmdb, struct store_op *op)
{
	if (op->type == OP_SETTLE && lmdb->stuck) {
		store_thread_owe(&lmdb->thread, op);
		return;
	}
	op->late = op->type == OP_PUT && op->entry->since < lmdb->news.others;
	if (lmdb_writer_do(lmdb->writer, &lmdb->pending, op, lmdb->stuck) == LMDB_LOST)
		lmdb_count_error(lmdb);
	lmdb->waiting++;
	if (!lmdb->watch.queue)
		loop_arm(lmdb->thread.loop, &lmdb->watch, WATCH_MS);
}

/* Gives up writes that another process has blocked for STUCK_AFTER_MS: entries become removals and leave memory. */
static void lmdb_on_watch(struct timer *timer)
{
	struct store_lmdb *lmdb = container_of(timer, struct store_lmdb, watch);

	if (!lmdb->stuck && lmdb_writer_waits_ms(lmdb->writer) >= STUCK_AFTER_MS) {
		lmdb->stuck = true;
		log_warn("lmdb store: %s: another process has held the writer's lock for %d s; what comes meanwhile is "
		         "not stored (%zu so far)",
		    lmdb->writer->file.path, STUCK_AFTER_MS / 1000, lmdb_writer_lose(lmdb->writer));
	}
	if (lmdb->waiting)
		loop_arm(lmdb->thread.loop, timer, WATCH_MS);
}

static void lmdb_leave(struct store_lmdb *lmdb)
{
	struct store_op *op;

	if (lmdb->left)
		return;
	lmdb->left = true;
	loop_disarm(lmdb->thread.loop, &lmdb->watch);
	loop_disarm(lmdb->thread.loop, &lmdb->exit);
	loop_disarm(lmdb->thread.loop, &lmdb->look);
	lmdb_writer_attach(lmdb->writer, NULL, NULL);
	while ((op = lmdb_writer_give_up(lmdb->writer)) != NULL)
		store_thread_owe(&lmdb->thread, op);
	while ((op = TAILQ_FIRST(&lmdb->awaiting)) != NULL) {
		TAILQ_REMOVE(&lmdb->awaiting, op, link);
		store_thread_owe(&lmdb->thread, op);
	}
	loop_forget(lmdb->thread.loop, &lmdb->back);
	store_thread_leave(&lmdb->thread);
}

/* A settlement waits for the other processes, too. */
static void lmdb_came_back(struct store_lmdb *lmdb, struct store_op *op)
{
	if (op->owed) {
		store_thread_owe(&lmdb->thread, op);
	} else if (op->type == OP_SETTLE) {
		op->number = NUMBER_UNKNOWN;
		TAILQ_INSERT_TAIL(&lmdb->awaiting, op, link);
	} else {
		store_thread_done(&lmdb->thread, op, NULL);
	}
}

static void lmdb_on_back(struct task *task)
{
	struct store_lmdb *lmdb = container_of(task, struct store_lmdb, back);
	struct store_stats stats = lmdb_writer_stats(lmdb->writer);
	struct store_op *op;
	bool news = false;

	while ((op = lmdb_writer_back(lmdb->writer)) != NULL) {
		pending_remove(op);
		news |= op->type == OP_PURGE || op->type == OP_SETTLE;
		lmdb_came_back(lmdb, op);
		lmdb->waiting--;
	}
	if (news)
		lmdb_on_look(&lmdb->look);
	store_thread_count(&lmdb->thread, &stats);
	if (lmdb->stuck && lmdb_writer_waits_ms(lmdb->writer) < STUCK_AFTER_MS) { /* else it is still the same wait */
		lmdb->stuck = false;
		log_info("lmdb store: %s: the writer's lock is free again", lmdb->writer->file.path);
	}
	if (lmdb->ending && lmdb_writer_ended(lmdb->writer))
		lmdb_leave(lmdb);
}

static void lmdb_run(struct store_thread *thread)
{
	struct store_op *op;

	while ((op = store_thread_take(thread)) != NULL)
		if (op->type == OP_GET)
			lmdb_answer(lmdb_of(thread), op);
		else
			lmdb_write(lmdb_of(thread), op);
}

/* ---- its life ---- */

static void lmdb_on_exit(struct timer *timer)
{
	struct store_lmdb *lmdb = container_of(timer, struct store_lmdb, exit);

	if (lmdb_writer_waits_ms(lmdb->writer) >= EXIT_WAIT_MS / 2 || ++lmdb->exit_waits == EXIT_WAITS)
		lmdb_leave(lmdb);
	else
		loop_arm(lmdb->thread.loop, timer, EXIT_WAIT_MS);
}

static void lmdb_end(struct store_thread *thread)
{
	struct store_lmdb *lmdb = lmdb_of(thread);

	if (lmdb->ending)
		return;
	lmdb->ending = true;
	lmdb_writer_stop(lmdb->writer);
	if (lmdb_writer_ended(lmdb->writer))
		lmdb_on_back(&lmdb->back);
	else
		loop_arm(thread->loop, &lmdb->exit, EXIT_WAIT_MS);
}

static void lmdb_begin_work(struct store_thread *thread)
{
	lmdb_watch(&lmdb_of(thread)->writer->file);
	lmdb_on_look(&lmdb_of(thread)->look);
}

static const struct store_work lmdb_work = { .begin = lmdb_begin_work, .run = lmdb_run, .end = lmdb_end };

/* Operations that were still queued are owed by now and told as such. This tells of those in the writer's hands, which
 * may or may not be written. */
static void lmdb_say_left(struct store_lmdb *lmdb)
{
	size_t left = lmdb_writer_left(lmdb->writer);

	if (!lmdb_writer_ended(lmdb->writer))
		log_warn("lmdb store: %s: not waited for any longer: %s", lmdb->writer->file.path,
			lmdb_writer_waits_ms(lmdb->writer) ? "another process has its lock" : "its disk is too slow");
	if (left)
		log_warn("lmdb store: %s: %zu entries and removals may not be written", lmdb->writer->file.path, left);
}

static void lmdb_free(struct store *store)
{
	struct store_lmdb *lmdb = (struct store_lmdb *)(void *)store;

	store_thread_stop(&lmdb->thread);
	lmdb_say_left(lmdb);
	lmdb_writer_free(&lmdb->writer, false);
	assert(task_is_out(&lmdb->back));
	free(lmdb);
}

static const struct store_ops lmdb_ops = {
	.name = "lmdb", .get = store_thread_get, .cancel = store_thread_cancel, .put = store_thread_put,
	.remove = store_thread_remove,
	.purge = store_thread_purge, .settle = store_thread_settle, .stats = store_thread_stats,
	.listen = store_thread_listen, .free = lmdb_free,
};

/* 0: the file is open, or may be later. */
static int lmdb_start(struct store_lmdb *lmdb, const char *path, size_t map_bytes)
{
	if (!(lmdb->writer = lmdb_writer_new(path, map_bytes)))
		return ENOMEM;
	int rc = lmdb_writer_opened(lmdb->writer, START_WAIT_MS);
	if (rc == OPEN_PENDING)
		log_warn("lmdb store: %s: still being opened after %d s; not waited for", path,
		    START_WAIT_MS / 1000);
	if (lmdb_is_misconfigured(rc))
		return rc;
	lmdb->thread.stats = lmdb_writer_stats(lmdb->writer);
	lmdb->thread.store.ops = &lmdb_ops;
	lmdb->back.run = lmdb_on_back;
	lmdb->watch.fire = lmdb_on_watch;
	lmdb->exit.fire = lmdb_on_exit;
	lmdb->look.fire = lmdb_on_look;
	TAILQ_INIT(&lmdb->awaiting);
	if (store_thread_start(&lmdb->thread, &lmdb_work, NULL))
		return EAGAIN;
	lmdb_writer_attach(lmdb->writer, &lmdb->thread, &lmdb->back);
	return 0;
}

struct store *store_lmdb_new(const char *path, size_t map_bytes)
{
	struct store_lmdb *lmdb = calloc(1, sizeof *lmdb);
	int rc = lmdb ? lmdb_start(lmdb, path, map_bytes) : ENOMEM;

	if (!rc)
		return &lmdb->thread.store;
	log_error("lmdb store: %s: %s", path, lmdb_strerror(rc));
	if (lmdb && lmdb->writer) {
		lmdb_writer_stop(lmdb->writer);
		lmdb_writer_free(&lmdb->writer, true);
	}
	free(lmdb);
	return NULL;
}
