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

static struct store_lmdb *lmdb_of(struct store_thread *t)
{
	return (struct store_lmdb *)(void *)t;
}

/* ---- lookups ---- */

struct lookup { struct lmdb_file *file; const struct store_op *op; struct entry *entry; bool damaged; };
struct look { struct lmdb_file *file; struct lmdb_news *news; };

static int lmdb_lookup_run(void *arg)
{
	struct lookup *l = arg;
	int rc = mdb_txn_renew(l->file->read);

	if (rc)
		return rc;
	rc = lmdb_get(l->file, l->file->read, l->op->key, l->op->len, &l->entry, &l->damaged);
	mdb_txn_reset(l->file->read);
	return rc;
}

static int lmdb_look_run(void *arg)
{
	struct look *l = arg;
	int rc = mdb_txn_renew(l->file->read);

	if (rc)
		return rc;
	rc = lmdb_marks_read(l->file, l->file->read, l->news);
	l->news->read = !rc;
	mdb_txn_reset(l->file->read);
	return rc;
}

/* Reads the file. While it is being opened or mapped anew, there is nothing to be read. */
static int lmdb_read_file(struct lmdb_file *f, int (*run)(void *), void *arg)
{
	int rc = 0;

	if (pthread_mutex_trylock(&f->use))
		return 0;
	if (f->env && f->read)
		rc = run(arg);
	if (lmdb_is_damaged(rc))
		lmdb_mark_damaged(f);
	pthread_mutex_unlock(&f->use);
	return rc;
}

static void lmdb_count_error(struct store_lmdb *s)
{
	struct store_stats now;

	store_thread_stats(&s->thread.store, &now);
	store_thread_count(&s->thread, &(struct store_stats){ .entries = now.entries, .bytes = now.bytes,
	    .errors = 1 });
}

/* What a failure to read leads to. */
static void lmdb_complain(struct store_lmdb *s, int rc)
{
	if (rc)
		lmdb_writer_ask(s->writer, rc);
	if (rc && rc != MDB_MAP_RESIZED)
		log_warn("lmdb store: %s: %s; it is opened anew", s->writer->file.path, lmdb_strerror(rc));
}

static struct entry *lmdb_look_up(struct store_lmdb *s, const struct store_op *op)
{
	struct lookup l = { .file = &s->writer->file, .op = op };
	int rc = lmdb_read_file(l.file, lmdb_lookup_run, &l);

	lmdb_complain(s, rc);
	if ((rc && rc != MDB_MAP_RESIZED) || l.damaged)
		lmdb_count_error(s);
	if (l.damaged)
		store_thread_remove(&s->thread.store, op->key, op->len);
	return l.entry;
}

static void lmdb_answer(struct store_lmdb *s, struct store_op *op)
{
	struct entry *e = NULL;
	int64_t stale;
	enum pending_answer answer;

	pthread_mutex_lock(&s->writer->lock);
	answer = pending_get(&s->pending, op->key, op->len, &e, &stale);
	pthread_mutex_unlock(&s->writer->lock);
	if (answer == PENDING_UNKNOWN)
		e = lmdb_stale(lmdb_look_up(s, op), stale);
	store_thread_done(&s->thread, op, e);
}

/* ---- purges of other processes ---- */

static void lmdb_tell(struct store_lmdb *s, const struct store_mark *m)
{
	pthread_mutex_lock(&s->writer->lock);
	pending_purge(&s->pending, m);
	pthread_mutex_unlock(&s->writer->lock);
	store_thread_purged(&s->thread, m);
}

static void lmdb_tell_news(struct store_lmdb *s)
{
	static const struct store_mark all = { .number = UINT64_MAX, .what = PURGE_ALL, .url = "" };

	if (s->news.missed) {
		s->news.others = s->news.known;
		lmdb_tell(s, &all);
	}
	for (size_t i = 0; i < s->news.n; i++)
		lmdb_tell(s, &s->news.marks[i]);
	if (s->news.missed || s->news.n)
		store_thread_purged(&s->thread, NULL);
}

/* Learns what other processes have purged, and lets them know that it is known. False: the file cannot be read now. */
static bool lmdb_learn(struct store_lmdb *s)
{
	struct lmdb_file *f = &s->writer->file;
	uint64_t known = s->news.known;
	int rc;

	do {
		s->news.read = false;
		rc = lmdb_read_file(f, lmdb_look_run, &(struct look){ f, &s->news });
		lmdb_complain(s, rc);
		if (rc || !s->news.read)
			return false;
		lmdb_tell_news(s);
	} while (s->news.more);
	if (s->news.known != known) {
		atomic_store(&s->thread.store.known, s->news.known);
		lmdb_peers_tell(f, s->news.known);
	}
	return true;
}

/* Answers the settlements whose purges all processes know. */
static void lmdb_look_at_peers(struct store_lmdb *s, bool learnt)
{
	struct store_op *op, *next;

	for (op = TAILQ_FIRST(&s->awaiting); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (learnt && op->number == NUMBER_UNKNOWN)
			op->number = s->news.known;
		if (store_thread_awaits(&s->thread, op) &&
		    (op->number == NUMBER_UNKNOWN || !lmdb_peers_know(&s->writer->file, op->number)))
			continue;
		TAILQ_REMOVE(&s->awaiting, op, link);
		store_thread_done(&s->thread, op, NULL);
	}
}

static void lmdb_on_look(struct timer *timer)
{
	struct store_lmdb *s = container_of(timer, struct store_lmdb, look);

	lmdb_look_at_peers(s, lmdb_learn(s));
	loop_arm(s->thread.loop, timer, TAILQ_EMPTY(&s->awaiting) ? NEWS_EVERY_MS : PEERS_EVERY_MS);
}

/* ---- writes ---- */

static void lmdb_write(struct store_lmdb *s, struct store_op *op)
{
	if (op->type == OP_SETTLE && s->stuck) {
		store_thread_owe(&s->thread, op);
		return;
	}
	op->late = op->type == OP_PUT && op->entry->since < s->news.others;
	if (lmdb_writer_do(s->writer, &s->pending, op, s->stuck))
		lmdb_count_error(s);
	s->waiting++;
	if (!s->watch.queue)
		loop_arm(s->thread.loop, &s->watch, WATCH_MS);
}

/* Writes that another process has blocked for STUCK_AFTER_MS are given up: entries become removals and leave memory. */
static void lmdb_on_watch(struct timer *timer)
{
	struct store_lmdb *s = container_of(timer, struct store_lmdb, watch);

	if (!s->stuck && lmdb_writer_waits_ms(s->writer) >= STUCK_AFTER_MS) {
		s->stuck = true;
		log_warn("lmdb store: %s: another process has held the writer's lock for %d s; what comes meanwhile is "
		         "not stored (%zu so far)",
		    s->writer->file.path, STUCK_AFTER_MS / 1000, lmdb_writer_lose(s->writer));
	}
	if (s->waiting)
		loop_arm(s->thread.loop, timer, WATCH_MS);
}

static void lmdb_leave(struct store_lmdb *s)
{
	struct store_op *op;

	if (s->left)
		return;
	s->left = true;
	loop_disarm(s->thread.loop, &s->watch);
	loop_disarm(s->thread.loop, &s->exit);
	loop_disarm(s->thread.loop, &s->look);
	lmdb_writer_attach(s->writer, NULL, NULL);
	while ((op = lmdb_writer_give_up(s->writer)) != NULL)
		store_thread_owe(&s->thread, op);
	while ((op = TAILQ_FIRST(&s->awaiting)) != NULL) {
		TAILQ_REMOVE(&s->awaiting, op, link);
		store_thread_owe(&s->thread, op);
	}
	loop_forget(s->thread.loop, &s->back);
	store_thread_leave(&s->thread);
}

/* A settlement waits for the other processes, too. */
static void lmdb_came_back(struct store_lmdb *s, struct store_op *op)
{
	if (op->owed) {
		store_thread_owe(&s->thread, op);
	} else if (op->type == OP_SETTLE) {
		op->number = NUMBER_UNKNOWN;
		TAILQ_INSERT_TAIL(&s->awaiting, op, link);
	} else {
		store_thread_done(&s->thread, op, NULL);
	}
}

static void lmdb_on_back(struct task *task)
{
	struct store_lmdb *s = container_of(task, struct store_lmdb, back);
	struct store_stats stats = lmdb_writer_stats(s->writer);
	struct store_op *op;
	bool news = false;

	while ((op = lmdb_writer_back(s->writer)) != NULL) {
		pending_remove(op);
		news |= op->type == OP_PURGE || op->type == OP_SETTLE;
		lmdb_came_back(s, op);
		s->waiting--;
	}
	if (news)
		lmdb_on_look(&s->look);
	store_thread_count(&s->thread, &stats);
	if (s->stuck && lmdb_writer_waits_ms(s->writer) < STUCK_AFTER_MS) {        /* else it is still the same wait */
		s->stuck = false;
		log_info("lmdb store: %s: the writer's lock is free again", s->writer->file.path);
	}
	if (s->ending && lmdb_writer_ended(s->writer))
		lmdb_leave(s);
}

static void lmdb_run(struct store_thread *t)
{
	struct store_op *op;

	while ((op = store_thread_take(t)) != NULL)
		if (op->type == OP_GET)
			lmdb_answer(lmdb_of(t), op);
		else
			lmdb_write(lmdb_of(t), op);
}

/* ---- its life ---- */

static void lmdb_on_exit(struct timer *timer)
{
	struct store_lmdb *s = container_of(timer, struct store_lmdb, exit);

	if (lmdb_writer_waits_ms(s->writer) >= EXIT_WAIT_MS / 2 || ++s->exit_waits == EXIT_WAITS)
		lmdb_leave(s);
	else
		loop_arm(s->thread.loop, timer, EXIT_WAIT_MS);
}

static void lmdb_end(struct store_thread *t)
{
	struct store_lmdb *s = lmdb_of(t);

	if (s->ending)
		return;
	s->ending = true;
	lmdb_writer_stop(s->writer);
	if (lmdb_writer_ended(s->writer))
		lmdb_on_back(&s->back);
	else
		loop_arm(t->loop, &s->exit, EXIT_WAIT_MS);
}

static void lmdb_begin_work(struct store_thread *t)
{
	lmdb_watch(&lmdb_of(t)->writer->file);
	lmdb_on_look(&lmdb_of(t)->look);
}

static const struct store_work lmdb_work = { .begin = lmdb_begin_work, .run = lmdb_run, .end = lmdb_end };

/* Operations that were still queued are owed by now and told as such. This tells of those in the writer's hands, which
 * may or may not be written. */
static void lmdb_say_left(struct store_lmdb *s)
{
	size_t left = lmdb_writer_left(s->writer);

	if (!lmdb_writer_ended(s->writer))
		log_warn("lmdb store: %s: not waited for any longer: %s", s->writer->file.path,
			lmdb_writer_waits_ms(s->writer) ? "another process has its lock" : "its disk is too slow");
	if (left)
		log_warn("lmdb store: %s: %zu entries and removals may not be written", s->writer->file.path, left);
}

static void lmdb_free(struct store *store)
{
	struct store_lmdb *s = (struct store_lmdb *)(void *)store;

	store_thread_stop(&s->thread);
	lmdb_say_left(s);
	lmdb_writer_free(&s->writer, false);
	assert(task_is_out(&s->back));
	free(s);
}

static const struct store_ops lmdb_ops = {
	.name = "lmdb", .get = store_thread_get, .cancel = store_thread_cancel, .put = store_thread_put,
	.remove = store_thread_remove,
	.purge = store_thread_purge, .settle = store_thread_settle, .stats = store_thread_stats,
	.listen = store_thread_listen, .free = lmdb_free,
};

/* 0: the file is open, or may be later. */
static int lmdb_start(struct store_lmdb *s, const char *path, size_t map_bytes)
{
	int rc;

	if (!(s->writer = lmdb_writer_new(path, map_bytes)))
		return ENOMEM;
	rc = lmdb_writer_opened(s->writer, START_WAIT_MS);
	if (rc == OPEN_PENDING)
		log_warn("lmdb store: %s: still being opened after %d s; not waited for", path,
		    START_WAIT_MS / 1000);
	if (lmdb_is_misconfigured(rc))
		return rc;
	s->thread.stats = lmdb_writer_stats(s->writer);
	s->thread.store.ops = &lmdb_ops;
	s->back.run = lmdb_on_back;
	s->watch.fire = lmdb_on_watch;
	s->exit.fire = lmdb_on_exit;
	s->look.fire = lmdb_on_look;
	TAILQ_INIT(&s->awaiting);
	if (store_thread_start(&s->thread, &lmdb_work))
		return EAGAIN;
	lmdb_writer_attach(s->writer, &s->thread, &s->back);
	return 0;
}

static void lmdb_drop(struct store_lmdb *s)
{
	if (s->writer) {
		lmdb_writer_stop(s->writer);
		lmdb_writer_free(&s->writer, true);
	}
	free(s);
}

struct store *store_lmdb_new(const char *path, size_t map_bytes)
{
	struct store_lmdb *s = calloc(1, sizeof *s);
	int rc = s ? lmdb_start(s, path, map_bytes) : ENOMEM;

	if (!rc)
		return &s->thread.store;
	log_error("lmdb store: %s: %s", path, lmdb_strerror(rc));
	if (s)
		lmdb_drop(s);
	return NULL;
}
