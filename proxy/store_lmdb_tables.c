/* Owns the tables of the LMDB store: "entries" by key (a long one cut, with its hash) holds a number and the packed entry; "order" by
 * that number holds since when the entry is stale (soft purge; 0: not) and its key. The lowest number is the oldest, the first to
 * go when room runs out. Must not know: the file, operations in their queue. Invariant: every entry has its number in both. */
#include "store_lmdb_internal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

/* LMDB takes keys of up to 511 bytes. */
enum { KEY_CUT = 480, KEY_MAX_BYTES = KEY_CUT + 8 };

struct lmdb_key { char bytes[KEY_MAX_BYTES]; size_t len; };
struct lmdb_order { int64_t stale; struct lmdb_key key; };

static void key_make(struct lmdb_key *k, const char *key, size_t len)
{
	uint64_t hash;

	k->len = len;
	if (len <= KEY_CUT) {
		memcpy(k->bytes, key, len);
		return;
	}
	hash = htole64(hash_xx64(key, len));
	memcpy(k->bytes, key, KEY_CUT);
	memcpy(k->bytes + KEY_CUT, &hash, sizeof hash);
	k->len = KEY_MAX_BYTES;
}

static MDB_val key_val(struct lmdb_key *k)
{
	return (MDB_val){ k->len, k->bytes };
}

static uint64_t number_read(const void *at)
{
	uint64_t n;

	memcpy(&n, at, sizeof n);
	return be64toh(n);
}

/* Big-endian: LMDB orders keys by their bytes. */
static void number_write(void *at, uint64_t n)
{
	n = htobe64(n);
	memcpy(at, &n, sizeof n);
}

static bool order_read(struct lmdb_order *o, const MDB_val *v)
{
	if (v->mv_size < sizeof(uint64_t) || v->mv_size - sizeof(uint64_t) > KEY_MAX_BYTES)
		return false;
	o->stale = (int64_t)number_read(v->mv_data);
	o->key.len = v->mv_size - sizeof(uint64_t);
	memcpy(o->key.bytes, (const char *)v->mv_data + sizeof(uint64_t), o->key.len);
	return true;
}

static int order_write(struct store_lmdb *s, MDB_txn *txn, uint64_t number, const struct lmdb_order *o)
{
	char key[sizeof number], value[sizeof number + KEY_MAX_BYTES];
	MDB_val k = { sizeof key, key }, v = { sizeof number + o->key.len, value };

	number_write(key, number);
	number_write(value, (uint64_t)o->stale);
	memcpy(value + sizeof number, o->key.bytes, o->key.len);
	return mdb_put(txn, s->order, &k, &v, 0);
}

static int order_delete(struct store_lmdb *s, MDB_txn *txn, uint64_t number)
{
	char key[sizeof number];
	MDB_val k = { sizeof key, key };
	int rc;

	number_write(key, number);
	rc = mdb_del(txn, s->order, &k, NULL);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int lmdb_delete(struct store_lmdb *s, MDB_txn *txn, struct lmdb_key *key)
{
	MDB_val k = key_val(key), v;
	int rc = mdb_get(txn, s->entries, &k, &v);

	if (rc == MDB_NOTFOUND)
		return 0;
	if (!rc && v.mv_size >= sizeof(uint64_t))
		rc = order_delete(s, txn, number_read(v.mv_data));
	return rc ? rc : mdb_del(txn, s->entries, &k, NULL);
}

/* The number after the last. */
static int order_next(struct store_lmdb *s, MDB_txn *txn, uint64_t *number)
{
	MDB_cursor *cursor;
	MDB_val k, v;
	int rc = mdb_cursor_open(txn, s->order, &cursor);

	if (rc)
		return rc;
	rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST);
	*number = !rc && k.mv_size == sizeof *number ? number_read(k.mv_data) + 1 : 1;
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_put(struct store_lmdb *s, MDB_txn *txn, const struct entry *e)
{
	struct lmdb_order o = { 0 };
	size_t len;
	char *packed;
	uint64_t number;
	MDB_val k, v;
	int rc;

	key_make(&o.key, e->key, e->key_len);
	rc = lmdb_delete(s, txn, &o.key);
	if (rc || !e->key_len || e->bytes > PIECE(s->map_bytes) || !(packed = entry_pack(e, &len)))
		return rc;
	k = key_val(&o.key);
	v.mv_size = len + sizeof number;
	if (!(rc = order_next(s, txn, &number)) && !(rc = order_write(s, txn, number, &o)) &&
	    !(rc = mdb_put(txn, s->entries, &k, &v, MDB_RESERVE))) {
		number_write(v.mv_data, number);
		memcpy((char *)v.mv_data + sizeof number, packed, len);
	}
	free(packed);
	return rc;
}

/* What the value says, or NULL where it is damaged or another key's with the same hash. */
static struct entry *lmdb_read(struct store_lmdb *s, MDB_txn *txn, const MDB_val *v, const char *key, size_t len)
{
	char number[sizeof(uint64_t)];
	MDB_val k = { sizeof number, number }, found;
	struct lmdb_order o;
	struct entry *e, *stale;

	if (v->mv_size < sizeof number)
		return NULL;
	memcpy(number, v->mv_data, sizeof number);
	if (mdb_get(txn, s->order, &k, &found) || !order_read(&o, &found))
		return NULL;
	e = entry_unpack((const char *)v->mv_data + sizeof number, v->mv_size - sizeof number);
	if (e && (e->key_len != len || memcmp(e->key, key, len)))
		entry_unref(&e);
	if (!e || !o.stale)
		return e;
	stale = entry_expired(e, o.stale);
	entry_unref(&e);
	return stale;
}

int lmdb_get(struct store_lmdb *s, MDB_txn *txn, const char *key, size_t len, struct entry **entry)
{
	struct lmdb_key cut;
	MDB_val k, v;
	int rc;

	*entry = NULL;
	key_make(&cut, key, len);
	k = key_val(&cut);
	rc = len ? mdb_get(txn, s->entries, &k, &v) : MDB_NOTFOUND;
	if (rc)
		return rc == MDB_NOTFOUND ? 0 : rc;
	if ((*entry = lmdb_read(s, txn, &v, key, len)) != NULL)
		return 0;
	s->counted.errors++;
	return lmdb_delete(s, txn, &cut);
}

int lmdb_remove(struct store_lmdb *s, MDB_txn *txn, const char *key, size_t len)
{
	struct lmdb_key cut;

	key_make(&cut, key, len);
	return len ? lmdb_delete(s, txn, &cut) : 0;
}

int lmdb_wipe(struct store_lmdb *s, MDB_txn *txn)
{
	int rc = mdb_drop(txn, s->entries, 0);

	return rc ? rc : mdb_drop(txn, s->order, 0);
}

static bool purge_matches(const struct store_op *op, const MDB_val *v)
{
	struct slice key;

	if (v->mv_size < sizeof(uint64_t))
		return true;
	key = entry_packed_key((const char *)v->mv_data + sizeof(uint64_t), v->mv_size - sizeof(uint64_t));
	return key.at && store_purges(op->what, op->key, op->len, key.at, key.len);
}

static int purge_one(struct store_lmdb *s, MDB_txn *txn, MDB_cursor *cursor, const struct store_op *op, const MDB_val *k, const MDB_val *v)
{
	uint64_t number = v->mv_size < sizeof number ? 0 : number_read(v->mv_data);
	struct lmdb_order o = { .stale = op->now };
	int rc;

	if (op->soft && number) {
		memcpy(o.key.bytes, k->mv_data, o.key.len = k->mv_size);
		return order_write(s, txn, number, &o);
	}
	rc = order_delete(s, txn, number);
	return rc ? rc : mdb_cursor_del(cursor, 0);
}

/* Keys that begin alike stand together: from the first that can match to the first that cannot. */
int lmdb_purge(struct store_lmdb *s, MDB_txn *txn, const struct store_op *op)
{
	size_t begin = op->what == PURGE_ALL ? 0 : op->len < KEY_CUT ? op->len : KEY_CUT;
	MDB_val k = { begin, op->key }, v;
	MDB_cursor *cursor;
	int rc;

	if (op->what == PURGE_ALL && !op->soft)
		return lmdb_wipe(s, txn);
	if ((rc = mdb_cursor_open(txn, s->entries, &cursor)))
		return rc;
	rc = mdb_cursor_get(cursor, &k, &v, begin ? MDB_SET_RANGE : MDB_FIRST);
	while (!rc && k.mv_size >= begin && !memcmp(k.mv_data, op->key, begin)) {
		if (op->what == PURGE_ALL || purge_matches(op, &v))
			rc = purge_one(s, txn, cursor, op, &k, &v);
		if (!rc)
			rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_measure(struct store_lmdb *s, MDB_txn *txn, uint64_t *entries, uint64_t *bytes)
{
	MDB_dbi tables[] = { s->order, s->entries };
	MDB_stat stat = { 0 };
	int rc = 0;

	*bytes = 0;
	for (size_t i = 0; i < 2 && !rc; i++) {
		rc = mdb_stat(txn, tables[i], &stat);
		*bytes += (uint64_t)stat.ms_psize * (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages);
	}
	*entries = stat.ms_entries;
	return rc;
}

static int evict_oldest(struct store_lmdb *s, MDB_txn *txn, MDB_cursor *cursor)
{
	struct lmdb_order o;
	MDB_val k, v, entry;
	int rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);

	if (rc)
		return rc;
	if (!order_read(&o, &v))
		return MDB_CORRUPTED;
	if ((rc = mdb_cursor_del(cursor, 0)))
		return rc;
	entry = key_val(&o.key);
	rc = mdb_del(txn, s->entries, &entry, NULL);
	s->counted.evictions += !rc;
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_evict(struct store_lmdb *s, size_t limit)
{
	uint64_t entries, bytes;
	MDB_cursor *cursor;
	MDB_txn *txn;
	int rc = mdb_txn_begin(s->env, NULL, 0, &txn);

	if (rc)
		return rc;
	if ((rc = lmdb_measure(s, txn, &entries, &bytes)) || bytes <= limit || (rc = mdb_cursor_open(txn, s->order, &cursor))) {
		mdb_txn_abort(txn);
		return rc;
	}
	while (!rc && bytes > limit && !(rc = evict_oldest(s, txn, cursor)))
		rc = lmdb_measure(s, txn, &entries, &bytes);
	mdb_cursor_close(cursor);
	if (!rc || rc == MDB_NOTFOUND)
		return mdb_txn_commit(txn);
	mdb_txn_abort(txn);
	return rc;
}
