/* Owns the tables of the LMDB store. The table "entries" maps a key to a number and the packed entry. A long key is
 * cut and has its hash at its end. The table "order" maps that number to the time since when the entry is stale (soft
 * purge; 0: it is not) and to its key. The entry with the lowest number is the oldest and the first to go when room
 * runs out.
 * Must not know: the file, operations in their queue. Invariant: every entry has its number in both tables. */
#include "proxy/store/store_lmdb_internal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/hash.h"

/* LMDB takes keys of up to 511 bytes. */
enum { KEY_CUT = 480, KEY_MAX_BYTES = KEY_CUT + 8 };
/* One transaction evicts no more entries, so that no other process waits for long. */
enum { EVICT_MAX = 4096 };

struct lmdb_key { char bytes[KEY_MAX_BYTES]; size_t len; };
struct lmdb_order { int64_t stale; struct lmdb_key key; };

static void key_make(struct lmdb_key *cut, const char *key, size_t len)
{
	cut->len = len;
	if (len <= KEY_CUT) {
		memcpy(cut->bytes, key, len);
		return;
	}
	uint64_t hash = htole64(hash_xx64(key, len));
	memcpy(cut->bytes, key, KEY_CUT);
	memcpy(cut->bytes + KEY_CUT, &hash, sizeof hash);
	cut->len = KEY_MAX_BYTES;
}

static MDB_val key_val(struct lmdb_key *cut)
{
	return (MDB_val){ cut->len, cut->bytes };
}

static uint64_t number_read(const void *at)
{
	uint64_t n;

	memcpy(&n, at, sizeof n);
	return be64toh(n);
}

/* The number is big-endian because LMDB orders keys by their bytes. */
static void number_write(void *at, uint64_t n)
{
	n = htobe64(n);
	memcpy(at, &n, sizeof n);
}

/* A row without a key is refused, because LMDB refuses to look for an empty key. */
static bool order_read(struct lmdb_order *order, const MDB_val *v)
{
	if (v->mv_size <= sizeof(uint64_t) || v->mv_size - sizeof(uint64_t) > KEY_MAX_BYTES)
		return false;
	order->stale = (int64_t)number_read(v->mv_data);
	order->key.len = v->mv_size - sizeof(uint64_t);
	memcpy(order->key.bytes, (const char *)v->mv_data + sizeof(uint64_t), order->key.len);
	return true;
}

static int order_write(struct lmdb_file *file, MDB_txn *txn, uint64_t number, const struct lmdb_order *order)
{
	char key[sizeof number], value[sizeof number + KEY_MAX_BYTES];
	MDB_val k = { sizeof key, key }, v = { sizeof number + order->key.len, value };

	number_write(key, number);
	number_write(value, (uint64_t)order->stale);
	memcpy(value + sizeof number, order->key.bytes, order->key.len);
	return mdb_put(txn, file->order, &k, &v, 0);
}

/* Since when the entry of that number is stale; 0: it is not, as far as is known. */
static int64_t order_stale(struct lmdb_file *file, MDB_txn *txn, uint64_t number)
{
	char key[sizeof number];
	MDB_val k = { sizeof key, key }, v;
	struct lmdb_order o;

	number_write(key, number);
	return !mdb_get(txn, file->order, &k, &v) && order_read(&o, &v) ? o.stale : 0;
}

static int order_delete(struct lmdb_file *file, MDB_txn *txn, uint64_t number)
{
	char key[sizeof number];
	MDB_val k = { sizeof key, key };

	number_write(key, number);
	int rc = mdb_del(txn, file->order, &k, NULL);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int lmdb_delete(struct lmdb_file *file, MDB_txn *txn, struct lmdb_key *key)
{
	MDB_val k = key_val(key), v;
	int rc = k.mv_size ? mdb_get(txn, file->entries, &k, &v) : MDB_NOTFOUND;

	if (rc == MDB_NOTFOUND)
		return 0;
	if (!rc && v.mv_size >= sizeof(uint64_t))
		rc = order_delete(file, txn, number_read(v.mv_data));
	return rc ? rc : mdb_del(txn, file->entries, &k, NULL);
}

/* The number for the next entry, one above the last. */
static int order_next(struct lmdb_file *file, MDB_txn *txn, uint64_t *number)
{
	MDB_cursor *cursor;
	MDB_val k, v;
	int rc = mdb_cursor_open(txn, file->order, &cursor);

	if (rc)
		return rc;
	rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST);
	*number = !rc && k.mv_size == sizeof *number ? number_read(k.mv_data) + 1 : 1;
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_put(struct lmdb_file *file, MDB_txn *txn, const struct entry *e)
{
	struct lmdb_order o = { 0 };
	size_t len;
	char *packed;
	uint64_t number;
	MDB_val k, v;
	bool allowed;
	int rc = lmdb_marks_allow(file, txn, e, &allowed);

	if (rc || !allowed)
		return rc;
	key_make(&o.key, e->key, e->key_len);
	rc = lmdb_delete(file, txn, &o.key);
	if (rc || !e->key_len || e->bytes > PIECE(file->limit_bytes) || !(packed = entry_pack(e, &len)))
		return rc;
	k = key_val(&o.key);
	v.mv_size = len + sizeof number;
	if (!(rc = order_next(file, txn, &number)) && !(rc = order_write(file, txn, number, &o)) &&
	    !(rc = mdb_put(txn, file->entries, &k, &v, MDB_RESERVE))) {
		number_write(v.mv_data, number);
		memcpy((char *)v.mv_data + sizeof number, packed, len);
	}
	free(packed);
	return rc;
}

/* The entry in the value; NULL: it is damaged, or belongs to another key with the same hash. */
static struct entry *lmdb_read(struct lmdb_file *file, MDB_txn *txn, const MDB_val *v, const struct lmdb_key *cut,
    const char *key, size_t len)
{
	char number[sizeof(uint64_t)];
	MDB_val k = { sizeof number, number }, found;
	struct lmdb_order o;

	if (v->mv_size < sizeof number)
		return NULL;
	memcpy(number, v->mv_data, sizeof number);
	if (mdb_get(txn, file->order, &k, &found) || !order_read(&o, &found) || o.key.len != cut->len ||
	    memcmp(o.key.bytes, cut->bytes, cut->len))
		return NULL;
	struct entry *e = entry_unpack((const char *)v->mv_data + sizeof number, v->mv_size - sizeof number);
	if (e && (e->key_len != len || memcmp(e->key, key, len)))
		entry_unref(&e);
	return lmdb_stale(e, o.stale);
}

int lmdb_get(struct lmdb_file *file, MDB_txn *txn, const char *key, size_t len, struct entry **entry, bool *damaged)
{
	struct lmdb_key cut;
	MDB_val k, v;

	*entry = NULL;
	key_make(&cut, key, len);
	k = key_val(&cut);
	int rc = len ? mdb_get(txn, file->entries, &k, &v) : MDB_NOTFOUND;
	if (!rc)
		*damaged = !(*entry = lmdb_read(file, txn, &v, &cut, key, len));
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_remove(struct lmdb_file *file, MDB_txn *txn, const char *key, size_t len)
{
	struct lmdb_key cut;

	key_make(&cut, key, len);
	return len ? lmdb_delete(file, txn, &cut) : 0;
}

int lmdb_wipe(struct lmdb_file *file, MDB_txn *txn)
{
	int rc = mdb_drop(txn, file->entries, 0);

	return rc ? rc : mdb_drop(txn, file->order, 0);
}

static bool purge_matches(const struct store_op *op, const MDB_val *v)
{
	if (v->mv_size < sizeof(uint64_t))
		return true;
	struct slice key = entry_packed_key((const char *)v->mv_data + sizeof(uint64_t), v->mv_size - sizeof(uint64_t));
	return key.at && store_purges(op->what, op->key, op->len, key.at, key.len);
}

static int purge_one(struct lmdb_file *file, MDB_txn *txn, MDB_cursor *cursor, const struct store_op *op,
    const MDB_val *k, const MDB_val *v)
{
	uint64_t number = v->mv_size < sizeof number ? 0 : number_read(v->mv_data);
	struct lmdb_order o;

	if (op->soft && number) {
		o.stale = order_stale(file, txn, number);
		o.stale = o.stale ? o.stale : op->now;     /* what is stale already stays so since then */
		memcpy(o.key.bytes, k->mv_data, o.key.len = k->mv_size);
		return order_write(file, txn, number, &o);
	}
	int rc = order_delete(file, txn, number);
	return rc ? rc : mdb_cursor_del(cursor, 0);
}

/* Keys that begin alike stand together, so the purge walks from the first key that can match to the first that
 * cannot. */
int lmdb_purge(struct lmdb_file *file, MDB_txn *txn, const struct store_op *op)
{
	size_t begin = op->what == PURGE_ALL ? 0 : op->len < KEY_CUT ? op->len : KEY_CUT;
	MDB_val k = { begin, op->key }, v;
	MDB_cursor *cursor;
	int rc = lmdb_marks_add(file, txn, op);

	if (rc)
		return rc;
	if (op->what == PURGE_ALL && !op->soft)
		return lmdb_wipe(file, txn);
	if ((rc = mdb_cursor_open(txn, file->entries, &cursor)))
		return rc;
	rc = mdb_cursor_get(cursor, &k, &v, begin ? MDB_SET_RANGE : MDB_FIRST);
	while (!rc && k.mv_size >= begin && !memcmp(k.mv_data, op->key, begin)) {
		if (op->what == PURGE_ALL || purge_matches(op, &v))
			rc = purge_one(file, txn, cursor, op, &k, &v);
		if (!rc)
			rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_measure(struct lmdb_file *file, MDB_txn *txn, uint64_t *entries, uint64_t *bytes)
{
	MDB_dbi tables[] = { file->order, file->entries };
	MDB_stat stat = { 0 };
	int rc = 0;

	*bytes = 0;
	for (size_t i = 0; i < 2 && !rc; i++) {
		rc = mdb_stat(txn, tables[i], &stat);
		*bytes += (uint64_t)stat.ms_psize *
		    (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages);
	}
	*entries = stat.ms_entries;
	return rc;
}

static int evict_oldest(struct lmdb_file *file, MDB_txn *txn, MDB_cursor *cursor)
{
	struct lmdb_order o;
	MDB_val k, v, entry;
	int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);
	bool right = !rc && order_read(&o, &v);

	if (rc || (rc = mdb_cursor_del(cursor, 0)) || !right)
		return rc;
	entry = key_val(&o.key);
	rc = mdb_del(txn, file->entries, &entry, NULL);
	file->counted.evictions += !rc;
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int evict_down(struct lmdb_file *file, MDB_txn *txn, size_t limit)
{
	uint64_t entries, bytes;
	MDB_cursor *cursor;
	int rc = lmdb_measure(file, txn, &entries, &bytes);

	if (rc || bytes <= limit || (rc = mdb_cursor_open(txn, file->order, &cursor)))
		return rc;
	for (int i = 0; !rc && bytes > limit && i < EVICT_MAX; i++)
		if (!(rc = evict_oldest(file, txn, cursor)))
			rc = lmdb_measure(file, txn, &entries, &bytes);
	mdb_cursor_close(cursor);
	if (rc != MDB_NOTFOUND)
		return rc;
	/* "order" is empty and the tables are still too large: they hold entries whose number was lost. */
	file->counted.evictions += entries;
	return lmdb_wipe(file, txn);
}

/* What entries may take in an open transaction. LMDB may need some of the pages that are evicted for longer, such as
 * those that a killed process was reading, so every try evicts more. */
static size_t evict_limit(const struct lmdb_file *file, size_t needs, int tries)
{
	size_t limit = FILL(file->limit_bytes), most = 2 * PIECE(file->limit_bytes);

	for (int i = 0; i < tries && !file->full; i++)
		limit = limit / 4 * 3;
	return limit - (needs < most ? needs : most);
}

int lmdb_evict(struct lmdb_file *file, size_t needs, int tries)
{
	MDB_txn *txn;
	int rc = lmdb_begin(file, &txn);

	if (rc)
		return rc;
	if ((rc = evict_down(file, txn, evict_limit(file, needs, tries))) || (tries && (rc = lmdb_turn(file, txn)))) {
		mdb_txn_abort(txn);
		return rc;
	}
	return mdb_txn_commit(txn);
}
