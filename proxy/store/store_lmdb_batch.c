/* Owns the batches of the LMDB writer: operations that are written in one transaction, and what is tried where that
 * fails. On the writer's thread. Must not know: who gave the operations, opening the file.
 * Invariant: an entry that cannot be written still removes the one it would have replaced. */
#include "proxy/store/store_lmdb_internal.h"

#include <errno.h>

#include "proxy/base/log.h"

enum { RETRIES = 4, SMALL_BATCH = 4 };

void lmdb_batch_done(struct lmdb_writer *w)
{
	struct store_stats *counted = &w->file.counted;

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->n; i++)
		TAILQ_INSERT_TAIL(&w->back, w->batch[i], link);
	w->n = 0;
	w->told.entries = counted->entries;
	w->told.bytes = counted->bytes;
	w->told.evictions += counted->evictions;
	w->told.errors += counted->errors;
	counted->evictions = counted->errors = 0;
	lmdb_writer_tell(w);
	pthread_mutex_unlock(&w->lock);
}

void lmdb_batch_again(struct lmdb_writer *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->n) {
		struct store_op *op = w->batch[--w->n];

		op->owed = op->type == OP_SETTLE;
		if (op->owed)
			TAILQ_INSERT_TAIL(&w->back, op, link);
		else
			lmdb_writer_enqueue(w, op, true);
	}
	lmdb_writer_tell(w);
	pthread_mutex_unlock(&w->lock);
}

static size_t op_room(const struct lmdb_file *f, const struct store_op *op)
{
	bool stores = op->type == OP_PUT && op->entry->bytes <= PIECE(f->limit_bytes);

	return stores ? op->entry->bytes + 2 * f->page_bytes : 0;
}

/* The bytes that the next batch may need. */
static size_t batch_needs(struct lmdb_writer *w)
{
	const struct store_op *op;
	size_t n = 0, bytes = 0;

	pthread_mutex_lock(&w->lock);
	TAILQ_FOREACH(op, &w->queue, link) {
		if (n++ == w->batch_max || bytes >= PIECE(w->file.limit_bytes))
			break;
		bytes += w->lossy ? 0 : op_room(&w->file, op);
	}
	pthread_mutex_unlock(&w->lock);
	return bytes;
}

/* Takes the next batch, of no more than room bytes. On a full disk, an entry that has no room even alone becomes a
 * removal. */
static void batch_take(struct lmdb_writer *w, size_t room)
{
	struct store_op *op;
	size_t bytes = 0;
	bool fits, lost;

	pthread_mutex_lock(&w->lock);
	while (w->n < w->batch_max && bytes < PIECE(w->file.limit_bytes) && (op = TAILQ_FIRST(&w->queue)) != NULL) {
		fits = w->lossy || (bytes += op_room(&w->file, op)) <= room;
		if (!fits && (w->n || !w->file.full))
			break;
		lmdb_writer_dequeue(w, op);
		lost = op->type == OP_PUT && (w->lossy || !fits);
		w->refused |= !fits;
		w->file.counted.errors += lost;
		if (lost)
			lmdb_op_lose(op);
		w->batch[w->n++] = op;
	}
	pthread_mutex_unlock(&w->lock);
}

static int op_do(struct lmdb_file *f, MDB_txn *txn, const struct store_op *op)
{
	switch (op->type) {
	case OP_PUT: return lmdb_put(f, txn, op->entry);
	case OP_REMOVE: return lmdb_remove(f, txn, op->key, op->len);
	case OP_PURGE: return lmdb_purge(f, txn, op);
	case OP_GET: case OP_SETTLE: break;
	}
	return 0;
}

static int batch_commit(struct lmdb_writer *w, MDB_txn *txn)
{
	uint64_t entries, bytes;
	int rc = lmdb_measure(&w->file, txn, &entries, &bytes);

	if (rc) {
		mdb_txn_abort(txn);
		return rc;
	}
	if ((rc = mdb_txn_commit(txn)))
		return rc;
	w->file.counted.entries = entries;
	w->file.counted.bytes = bytes;
	return 0;
}

/* Does all of a batch or nothing, so that it can be tried again. Nothing is taken from the queue before LMDB's writer
 * lock is held. */
static int batch_do(struct lmdb_writer *w, size_t room)
{
	MDB_txn *txn;
	int rc = lmdb_begin(&w->file, &txn);

	if (rc)
		return rc;
	batch_take(w, room);
	for (size_t i = 0; i < w->n && !rc; i++)
		rc = op_do(&w->file, txn, w->batch[i]);
	if (rc)
		mdb_txn_abort(txn);
	else
		rc = batch_commit(w, txn);
	if (rc)
		lmdb_batch_again(w);
	return rc;
}

static bool is_full(int rc)
{
	return rc == MDB_MAP_FULL || rc == MDB_TXN_FULL || rc == ENOSPC || rc == EDQUOT;
}

static int batch_once(struct lmdb_writer *w, int tries)
{
	size_t needs = batch_needs(w), room;
	int rc;

	lmdb_reserve(&w->file, needs);
	if ((needs || tries) && (rc = lmdb_evict(&w->file, needs, tries)))
		return rc;
	if ((rc = lmdb_room(&w->file, &room)))
		return rc;
	return batch_do(w, needs < room ? needs : room);
}

/* Where the map is full, the pages that one transaction frees can be used by the one after next only. LMDB keeps the
 * pages that a killed process was reading until mdb_reader_check() clears its slot. */
static int batch_try(struct lmdb_writer *w)
{
	int dead, rc;

	for (int tries = 0; is_full(rc = batch_once(w, tries)) && tries < RETRIES; tries++)
		mdb_reader_check(w->file.env, &dead);
	return rc;
}

/* On a full disk there may be too few pages for removals of many entries, though enough for that of all. */
static int batch_wipe(struct lmdb_writer *w)
{
	MDB_txn *txn;
	int rc = lmdb_begin(&w->file, &txn);

	if (rc)
		return rc;
	if ((rc = lmdb_wipe(&w->file, txn))) {
		mdb_txn_abort(txn);
		return rc;
	}
	log_warn("lmdb store: %s: the disk has no room for removals; everything is removed", w->file.path);
	return (rc = mdb_txn_commit(txn)) ? rc : batch_try(w);
}

static void writer_say(struct lmdb_writer *w, int rc)
{
	if (rc && !w->failing)
		log_warn("lmdb store: %s: %s; what cannot be written is not stored", w->file.path, lmdb_strerror(rc));
	else if (!rc && w->failing)
		log_info("lmdb store: %s: it takes entries again", w->file.path);
	w->failing = rc != 0;
}

/* The batch is in the queue again. A file that must be opened anew is closed; so is one so full that not even removals
 * can be made, because only setting it aside empties it. */
static void batch_failed(struct lmdb_writer *w, int rc)
{
	w->batch_max = SMALL_BATCH;
	if (lmdb_is_damaged(rc) || (rc == MDB_MAP_FULL && w->file.alone))
		lmdb_mark_damaged(&w->file);
	else if (rc != MDB_PANIC)
		return;
	lmdb_close(&w->file);
}

/* What to say of a batch that came to rc, at first to first. While the disk is full, what was said before holds. */
static int batch_trouble(const struct lmdb_writer *w, int rc, int first)
{
	if (w->file.full && (rc || first || w->refused || w->failing))
		return w->file.full;
	return rc ? rc : first;
}

int lmdb_batch_run(struct lmdb_writer *w)
{
	int rc, first;

	w->refused = false;
	first = rc = batch_try(w);
	if (rc && !lmdb_is_damaged(rc) && rc != MDB_PANIC && !w->lossy) {
		w->lossy = true;
		rc = batch_try(w);
	}
	if (is_full(rc) && w->file.full)
		rc = batch_wipe(w);
	writer_say(w, batch_trouble(w, rc, first));
	w->lossy = rc != 0;
	if (rc) {
		batch_failed(w, rc);
		return rc;
	}
	w->batch_max = LMDB_BATCH;
	lmdb_batch_done(w);
	return 0;
}
