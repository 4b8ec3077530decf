/* Owns the batches of the LMDB writer: operations that are written in one transaction, and what is tried where that
 * fails. On the writer's thread. Must not know: who gave the operations, opening the file.
 * Invariant: an entry that cannot be written still removes the one it would have replaced. */
#include "proxy/store/store_lmdb_internal.h"

#include <errno.h>

#include "proxy/base/log.h"

enum { RETRIES = 4, SMALL_BATCH = 4 };

void lmdb_batch_done(struct lmdb_writer *writer)
{
	struct store_stats *counted = &writer->file.counted;

	pthread_mutex_lock(&writer->lock);
	for (size_t i = 0; i < writer->n; i++)
		TAILQ_INSERT_TAIL(&writer->back, writer->batch[i], link);
	writer->n = 0;
	writer->told.entries = counted->entries;
	writer->told.bytes = counted->bytes;
	writer->told.evictions += counted->evictions;
	writer->told.errors += counted->errors;
	counted->evictions = counted->errors = 0;
	lmdb_writer_tell(writer);
	pthread_mutex_unlock(&writer->lock);
}

/* Returns the batch to the front of the queue. Its settlements return at once: their removals are owed. */
static void batch_again(struct lmdb_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	while (writer->n) {
		struct store_op *op = writer->batch[--writer->n];

		op->owed = op->type == OP_SETTLE;
		if (op->owed)
			TAILQ_INSERT_TAIL(&writer->back, op, link);
		else
			lmdb_writer_enqueue(writer, op, true);
	}
	lmdb_writer_tell(writer);
	pthread_mutex_unlock(&writer->lock);
}

static size_t op_room(const struct lmdb_file *file, const struct store_op *op)
{
	bool stores = op->type == OP_PUT && op->entry->bytes <= PIECE(file->limit_bytes);

	return stores ? op->entry->bytes + 2 * file->page_bytes : 0;
}

/* The bytes that the next batch may need. */
static size_t batch_needs(struct lmdb_writer *writer)
{
	const struct store_op *op;
	size_t n = 0, bytes = 0;

	pthread_mutex_lock(&writer->lock);
	TAILQ_FOREACH(op, &writer->queue, link) {
		if (n++ == writer->batch_max || bytes >= PIECE(writer->file.limit_bytes))
			break;
		bytes += writer->lossy ? 0 : op_room(&writer->file, op);
	}
	pthread_mutex_unlock(&writer->lock);
	return bytes;
}

/* Takes the next batch, of no more than room bytes. On a full disk, an entry that has no room even alone becomes a
 * removal. */
static void batch_take(struct lmdb_writer *writer, size_t room)
{
	struct store_op *op;
	size_t bytes = 0;
	bool fits, lost;

	pthread_mutex_lock(&writer->lock);
	while (writer->n < writer->batch_max && bytes < PIECE(writer->file.limit_bytes) &&
	    (op = TAILQ_FIRST(&writer->queue)) != NULL) {
		fits = writer->lossy || (bytes += op_room(&writer->file, op)) <= room;
		if (!fits && (writer->n || !writer->file.full))
			break;
		lmdb_writer_dequeue(writer, op);
		lost = op->type == OP_PUT && (writer->lossy || !fits);
		writer->refused |= !fits;
		writer->file.counted.errors += lost;
		if (lost)
			store_op_make_removal(op);
		writer->batch[writer->n++] = op;
	}
	pthread_mutex_unlock(&writer->lock);
}

static int op_do(struct lmdb_file *file, MDB_txn *txn, const struct store_op *op)
{
	switch (op->type) {
	case OP_PUT: return lmdb_put(file, txn, op->entry);
	case OP_REMOVE: return lmdb_remove(file, txn, op->key, op->len);
	case OP_PURGE: return lmdb_purge(file, txn, op);
	case OP_GET: case OP_SETTLE: case OP_CALL: break;
	}
	return 0;
}

static int batch_commit(struct lmdb_writer *writer, MDB_txn *txn)
{
	uint64_t entries, bytes;
	int rc = lmdb_measure(&writer->file, txn, &entries, &bytes);

	if (rc) {
		mdb_txn_abort(txn);
		return rc;
	}
	if ((rc = mdb_txn_commit(txn)))
		return rc;
	writer->file.counted.entries = entries;
	writer->file.counted.bytes = bytes;
	return 0;
}

/* Does all of a batch or nothing, so that it can be tried again. Nothing is taken from the queue before LMDB's writer
 * lock is held. */
static int batch_do(struct lmdb_writer *writer, size_t room)
{
	MDB_txn *txn;
	int rc = lmdb_begin(&writer->file, &txn);

	if (rc)
		return rc;
	batch_take(writer, room);
	for (size_t i = 0; i < writer->n && !rc; i++)
		rc = op_do(&writer->file, txn, writer->batch[i]);
	if (rc)
		mdb_txn_abort(txn);
	else
		rc = batch_commit(writer, txn);
	if (rc)
		batch_again(writer);
	return rc;
}

static bool is_full(int rc)
{
	return rc == MDB_MAP_FULL || rc == MDB_TXN_FULL || rc == ENOSPC || rc == EDQUOT;
}

static int batch_once(struct lmdb_writer *writer, int tries)
{
	size_t needs = batch_needs(writer), room;
	int rc;

	lmdb_reserve(&writer->file, needs);
	if ((needs || tries) && (rc = lmdb_evict(&writer->file, needs, tries)))
		return rc;
	if ((rc = lmdb_room(&writer->file, &room)))
		return rc;
	return batch_do(writer, needs < room ? needs : room);
}

/* Where the map is full, the pages that one transaction frees can be used by the one after next only. LMDB keeps the
 * pages that a killed process was reading until mdb_reader_check() clears its slot. */
static int batch_try(struct lmdb_writer *writer)
{
	int dead, rc;

	for (int tries = 0; is_full(rc = batch_once(writer, tries)) && tries < RETRIES; tries++)
		mdb_reader_check(writer->file.env, &dead);
	return rc;
}

/* On a full disk there may be too few pages for removals of many entries, though enough for that of all. */
static int batch_wipe(struct lmdb_writer *writer)
{
	MDB_txn *txn;
	int rc = lmdb_begin(&writer->file, &txn);

	if (rc)
		return rc;
	if ((rc = lmdb_wipe(&writer->file, txn))) {
		mdb_txn_abort(txn);
		return rc;
	}
	log_warn("lmdb store: %s: the disk has no room for removals; everything is removed", writer->file.path);
	return (rc = mdb_txn_commit(txn)) ? rc : batch_try(writer);
}

static void writer_say(struct lmdb_writer *writer, int rc)
{
	if (rc && !writer->failing)
		log_warn("lmdb store: %s: %s; what cannot be written is not stored", writer->file.path,
		    lmdb_strerror(rc));
	else if (!rc && writer->failing)
		log_info("lmdb store: %s: it takes entries again", writer->file.path);
	writer->failing = rc != 0;
}

/* The batch is in the queue again. A file that must be opened anew is closed; so is one so full that not even removals
 * can be made, because only setting it aside empties it. */
static void batch_failed(struct lmdb_writer *writer, int rc)
{
	writer->batch_max = SMALL_BATCH;
	if (lmdb_is_damaged(rc) || (rc == MDB_MAP_FULL && writer->file.alone))
		lmdb_mark_damaged(&writer->file);
	else if (rc != MDB_PANIC)
		return;
	lmdb_close(&writer->file);
}

/* What to say of a batch that came to rc, at first to first. While the disk is full, what was said before holds. */
static int batch_trouble(const struct lmdb_writer *writer, int rc, int first)
{
	if (writer->file.full && (rc || first || writer->refused || writer->failing))
		return writer->file.full;
	return rc ? rc : first;
}

int lmdb_batch_run(struct lmdb_writer *writer)
{
	int rc;

	writer->refused = false;
	int first = rc = batch_try(writer);
	if (rc && !lmdb_is_damaged(rc) && rc != MDB_PANIC && !writer->lossy) {
		writer->lossy = true;
		rc = batch_try(writer);
	}
	if (is_full(rc) && writer->file.full)
		rc = batch_wipe(writer);
	writer_say(writer, batch_trouble(writer, rc, first));
	writer->lossy = rc != 0;
	if (rc) {
		batch_failed(writer, rc);
		return rc;
	}
	writer->batch_max = LMDB_BATCH;
	lmdb_batch_done(writer);
	return 0;
}
