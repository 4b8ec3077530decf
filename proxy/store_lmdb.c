/* Owns entries in an LMDB file: they survive the process. One thread does all of it, many operations in one transaction; workers
 * never wait. Must not know: freshness, what is in an entry, its tables (store_lmdb_tables.c) and its file (store_lmdb_file.c). */
#include "store_lmdb_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

enum { BATCH_MAX = 512, RETRIES = 4 };

static struct store_lmdb *lmdb_of(struct store_thread *t)
{
	return (struct store_lmdb *)(void *)t;
}

static int lmdb_do(struct store_lmdb *s, MDB_txn *txn, struct store_op *op, struct entry **answer)
{
	switch (op->type) {
	case OP_GET:
		return lmdb_get(s, txn, op->key, op->len, answer);
	case OP_PUT:
		return lmdb_put(s, txn, op->entry);
	case OP_REMOVE:
		return lmdb_remove(s, txn, op->key, op->len);
	case OP_PURGE:
		return lmdb_purge(s, txn, op);
	case OP_SETTLE:
		return 0;
	}
	return 0;
}

struct lmdb_batch { struct store_op *ops[BATCH_MAX]; struct entry *answers[BATCH_MAX]; size_t n, bytes; bool settles; };

/* All of it or nothing: may be done again. */
static int lmdb_do_batch(struct store_lmdb *s, struct lmdb_batch *b)
{
	struct store_stats seen;
	MDB_txn *txn;
	int rc = mdb_txn_begin(s->env, NULL, 0, &txn);

	if (rc)
		return rc;
	for (size_t i = 0; i < b->n && !rc; i++) {
		entry_unref(&b->answers[i]);
		rc = lmdb_do(s, txn, b->ops[i], &b->answers[i]);
	}
	if (!rc)
		rc = lmdb_measure(s, txn, &seen.entries, &seen.bytes);
	if (rc) {
		mdb_txn_abort(txn);
		return rc;
	}
	/* A power cut must not undo what is said to be settled. */
	if ((rc = mdb_txn_commit(txn)) || (b->settles && (rc = mdb_env_sync(s->env, 1))))
		return rc;
	s->counted.entries = seen.entries;
	s->counted.bytes = seen.bytes;
	return 0;
}

static bool lmdb_take_batch(struct store_lmdb *s, struct lmdb_batch *b)
{
	*b = (struct lmdb_batch){ 0 };
	while (b->n < BATCH_MAX && b->bytes < PIECE(s->map_bytes) && (b->ops[b->n] = store_thread_take(&s->thread)) != NULL) {
		if (b->ops[b->n]->type == OP_PUT && b->ops[b->n]->entry->bytes <= PIECE(s->map_bytes))
			b->bytes += b->ops[b->n]->entry->bytes + 2 * s->page_bytes;
		b->settles |= b->ops[b->n]->type == OP_SETTLE;
		b->n++;
	}
	return b->n;
}

/* A full map: the pages of one transaction's removals serve the one after next, so some more go each time. */
static void lmdb_run_batch(struct store_lmdb *s, struct lmdb_batch *b)
{
	size_t limit = FILL(s->map_bytes) - b->bytes;
	int rc = s->env && b->bytes ? lmdb_evict(s, limit) : 0;

	for (int tries = 0; ; tries++) {
		if (!rc && s->env)
			rc = lmdb_do_batch(s, b);
		if ((rc != MDB_MAP_FULL && rc != MDB_TXN_FULL) || tries == RETRIES)
			break;
		limit = limit / 4 * 3;
		rc = lmdb_evict(s, limit);
	}
	if (rc) {
		s->counted.errors++;
		if ((rc = lmdb_start_over(s, rc)) || (rc = lmdb_do_batch(s, b)))
			log_error("lmdb store: %s: %s", s->path, mdb_strerror(rc));
		store_thread_set_away(&s->thread, !s->env);
	}
	for (size_t i = 0; i < b->n; i++)
		if (rc && b->ops[i]->type == OP_SETTLE)
			store_thread_owe(&s->thread, b->ops[i]);
		else
			store_thread_done(&s->thread, b->ops[i], b->answers[i]);
	store_thread_count(&s->thread, &s->counted);
	s->counted.evictions = s->counted.errors = 0;
}

static void lmdb_run(struct store_thread *t)
{
	struct lmdb_batch b;

	while (lmdb_take_batch(lmdb_of(t), &b))
		lmdb_run_batch(lmdb_of(t), &b);
}

static const struct store_work lmdb_work = { .run = lmdb_run, .end = store_thread_leave };

static void lmdb_free(struct store *store)
{
	struct store_lmdb *s = (struct store_lmdb *)(void *)store;

	store_thread_stop(&s->thread);
	if (s->env)
		mdb_env_close(s->env);
	free(s->path);
	free(s);
}

static const struct store_ops lmdb_ops = {
	.name = "lmdb", .get = store_thread_get, .cancel = store_thread_cancel, .put = store_thread_put, .remove = store_thread_remove,
	.purge = store_thread_purge, .settle = store_thread_settle, .stats = store_thread_stats, .free = lmdb_free,
};

struct store *store_lmdb_new(const char *path, size_t map_bytes)
{
	struct store_lmdb *s = calloc(1, sizeof *s);
	int rc = ENOMEM;

	if (s && (s->path = strdup(path))) {
		s->thread.store.ops = &lmdb_ops;
		s->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
		s->map_bytes = map_bytes / s->page_bytes * s->page_bytes;
		rc = mkdir(path, 0700) && errno != EEXIST ? errno : lmdb_open(s);
		if (lmdb_is_damaged(rc)) {
			log_warn("lmdb store: %s: %s; it starts empty", path, mdb_strerror(rc));
			lmdb_unlink(s);
			rc = lmdb_open(s);
		}
	}
	if (!rc) {
		s->thread.stats.entries = s->counted.entries;
		s->thread.stats.bytes = s->counted.bytes;
		if (!store_thread_start(&s->thread, &lmdb_work))
			return &s->thread.store;
		mdb_env_close(s->env);
		rc = EAGAIN;
	}
	log_error("lmdb store: %s: %s", path, mdb_strerror(rc));
	if (s)
		free(s->path);
	free(s);
	return NULL;
}
