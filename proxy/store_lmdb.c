/* Owns entries in an LMDB file: they survive the process. One thread does all of it, many operations in one transaction; workers
 * never wait. Must not know: freshness, what is in an entry.
 *
 * Tables: "entries" by key (a long one cut, with its hash) holds a number and the packed entry; "order" by that number holds since
 * when the entry is stale (soft purge; 0: not) and its key. The lowest number is the oldest, the first to go when room runs out.
 *
 * MDB_NOMETASYNC: a transaction's pages reach the disk before the next meta page can point at them, so neither kill -9 nor a power
 * cut damages the tree; a power cut may undo the last transaction, which a cache can afford. MDB_NOSYNC would be faster and may
 * leave a broken tree; full sync costs a second flush. Several processes may share the folder: LMDB's writer lock orders them. */
#include "store_thread.h"

#include <endian.h>
#include <errno.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash.h"
#include "log.h"

/* LMDB takes keys of up to 511 bytes. */
enum { KEY_CUT = 480, KEY_MAX_BYTES = KEY_CUT + 8, BATCH_MAX = 512, RETRIES = 4 };
enum { LMDB_FORMAT = 1 };
/* Shares of the map: filled up to FILL, the rest is for pages that wait to be free again; a batch, an entry: no more than PIECE. */
#define FILL(map) ((map) / 4 * 3)
#define PIECE(map) ((map) / 16)

struct store_lmdb {
	struct store_thread thread;
	char *path;
	MDB_env *env;                          /* NULL: it broke and would not open again */
	MDB_dbi entries, order, meta;
	size_t map_bytes, page_bytes;
	struct store_stats counted;            /* since the last store_thread_count() */
};

struct lmdb_key { char bytes[KEY_MAX_BYTES]; size_t len; };
struct lmdb_order { int64_t stale; struct lmdb_key key; };

static struct store_lmdb *lmdb_of(struct store_thread *t)
{
	return (struct store_lmdb *)(void *)t;
}

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

static int lmdb_put(struct store_lmdb *s, MDB_txn *txn, const struct entry *e)
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

static int lmdb_get(struct store_lmdb *s, MDB_txn *txn, const char *key, size_t len, struct entry **entry)
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

static int lmdb_wipe(struct store_lmdb *s, MDB_txn *txn)
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
	return key.at && key.len >= op->len && !memcmp(key.at, op->key, op->len) &&
	    (op->what != PURGE_URL || (key.len > op->len && key.at[op->len] == '\n'));
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
static int lmdb_purge(struct store_lmdb *s, MDB_txn *txn, const struct store_op *op)
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

/* Entries and the pages both tables take. */
static int lmdb_measure(struct store_lmdb *s, MDB_txn *txn, uint64_t *entries, uint64_t *bytes)
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

/* Removes the oldest until no more than limit bytes are taken. A transaction of its own: its pages are free for later ones. */
static int lmdb_evict(struct store_lmdb *s, size_t limit)
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

/* Entries of another format are dropped. */
static int lmdb_check_format(struct store_lmdb *s, MDB_txn *txn)
{
	static const char expected[] = { 'f', LMDB_FORMAT, ENTRY_FORMAT };
	char name[] = "format";
	MDB_val k = { sizeof name, name }, v;
	int rc = mdb_get(txn, s->meta, &k, &v);

	if (!rc && v.mv_size == sizeof expected && !memcmp(v.mv_data, expected, sizeof expected))
		return 0;
	if (rc && rc != MDB_NOTFOUND)
		return rc;
	v = (MDB_val){ sizeof expected, (void *)(uintptr_t)expected };
	rc = lmdb_wipe(s, txn);
	return rc ? rc : mdb_put(txn, s->meta, &k, &v, 0);
}

/* Pages at the end may never have been written. Where they were and the file lost its end, reading would be a SIGBUS: now they are
 * zeros, which no table takes for a page of its own and no checksum for an entry. */
static int lmdb_fill_file(MDB_env *env)
{
	MDB_envinfo info;
	MDB_stat stat;
	struct stat file;
	off_t needed;
	int fd, rc;

	if ((rc = mdb_env_info(env, &info)) || (rc = mdb_env_stat(env, &stat)) || (rc = mdb_env_get_fd(env, &fd)))
		return rc;
	needed = (off_t)((info.me_last_pgno + 1) * stat.ms_psize);
	return fstat(fd, &file) || (file.st_size < needed && ftruncate(fd, needed)) ? errno : 0;
}

static int lmdb_open_tables(struct store_lmdb *s)
{
	MDB_txn *txn;
	int rc = mdb_txn_begin(s->env, NULL, 0, &txn);

	if (rc)
		return rc;
	if ((rc = mdb_dbi_open(txn, "entries", MDB_CREATE, &s->entries)) || (rc = mdb_dbi_open(txn, "order", MDB_CREATE, &s->order)) ||
	    (rc = mdb_dbi_open(txn, "meta", MDB_CREATE, &s->meta)) || (rc = lmdb_check_format(s, txn)) ||
	    (rc = lmdb_measure(s, txn, &s->counted.entries, &s->counted.bytes))) {
		mdb_txn_abort(txn);
		return rc;
	}
	return mdb_txn_commit(txn);
}

static int lmdb_open(struct store_lmdb *s)
{
	int dead, rc = mdb_env_create(&s->env);

	if (rc) {
		s->env = NULL;
		return rc;
	}
	if (!(rc = mdb_env_set_mapsize(s->env, s->map_bytes)) && !(rc = mdb_env_set_maxdbs(s->env, 3)) &&
	    !(rc = mdb_env_open(s->env, s->path, MDB_NOMETASYNC | MDB_NOTLS | MDB_NORDAHEAD, 0600)) &&
	    !(rc = lmdb_fill_file(s->env)) && !(rc = mdb_reader_check(s->env, &dead)) && !(rc = lmdb_open_tables(s)))
		return 0;
	mdb_env_close(s->env);
	s->env = NULL;
	return rc;
}

static bool lmdb_is_damaged(int rc)
{
	return rc == MDB_INVALID || rc == MDB_CORRUPTED || rc == MDB_VERSION_MISMATCH || rc == MDB_PAGE_NOTFOUND || rc == MDB_PANIC ||
	    rc == MDB_INCOMPATIBLE || rc == MDB_BAD_TXN;
}

static void lmdb_unlink(const struct store_lmdb *s)
{
	static const char *const files[] = { "data.mdb", "lock.mdb" };
	char name[4096];

	for (size_t i = 0; i < 2; i++)
		if (snprintf(name, sizeof name, "%s/%s", s->path, files[i]) < (int)sizeof name)
			unlink(name);
}

/* After an error that eviction does not mend: empties it, by a new file where the old one does not even let that happen. */
static int lmdb_start_over(struct store_lmdb *s, int why)
{
	MDB_txn *txn;
	int rc = mdb_txn_begin(s->env, NULL, 0, &txn);

	log_warn("lmdb store: %s: %s; it starts empty", s->path, mdb_strerror(why));
	if (!rc && (rc = lmdb_wipe(s, txn)))
		mdb_txn_abort(txn);
	else if (!rc)
		rc = mdb_txn_commit(txn);
	if (!rc)
		return 0;
	mdb_env_close(s->env);
	lmdb_unlink(s);
	return lmdb_open(s);
}

static int lmdb_do(struct store_lmdb *s, MDB_txn *txn, struct store_op *op, struct entry **answer)
{
	struct lmdb_key key;

	switch (op->type) {
	case OP_GET:
		return lmdb_get(s, txn, op->key, op->len, answer);
	case OP_PUT:
		return lmdb_put(s, txn, op->entry);
	case OP_REMOVE:
		key_make(&key, op->key, op->len);
		return key.len ? lmdb_delete(s, txn, &key) : 0;
	case OP_PURGE:
		return lmdb_purge(s, txn, op);
	}
	return 0;
}

struct lmdb_batch { struct store_op *ops[BATCH_MAX]; struct entry *answers[BATCH_MAX]; size_t n, bytes; };

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
	if ((rc = mdb_txn_commit(txn)))
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
	.purge = store_thread_purge, .stats = store_thread_stats, .free = lmdb_free,
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
