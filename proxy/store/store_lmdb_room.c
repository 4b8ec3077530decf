/* Owns the room that the LMDB store has: the limit that all processes of one file keep to, the size of this process's
 * map, what a full file system leaves. On the writer's thread. Must not know: entries, operations, opening the file.
 *
 * The limit is the largest cache-lmdb-bytes of the processes that have the file open. It stands in the file (table
 * "meta"), and every write transaction reads it first. A process with a larger value raises it. A process with a
 * smaller value lowers it only while no other process has the file open. It does so at once if the file was never used
 * with two sizes. Otherwise it waits for LIMIT_KEPT_MS, because the process with the larger value may be about to come
 * back.
 *
 * If the file system is full, the file does not grow, and the map ends where the file ends. LMDB then writes to the
 * free pages of the file, and says MDB_MAP_FULL if there are none. SLACK_PAGES behind the end are taken from the file
 * system in time, and RESERVED_PAGES of the free pages are left, so that removals always have some.
 * Invariants: a full file system is not a reason to remove entries; no transaction begins with a map that is smaller
 * than the file. */
#include "proxy/store/store_lmdb_internal.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

enum { SLACK_PAGES = 64, SLACK_SHARE = 256 /* of the file */, RESERVED_PAGES = 32, BEGIN_TRIES = 5 };
enum { LIMIT_KEPT_MS = 10 * 60 * 1000 };

/* ---- the limit ---- */

struct limit { uint64_t bytes; bool shared; };         /* shared: two sizes were in use at the same time */

static char limit_name[] = "limit";
enum { LIMIT_BYTES = sizeof(uint64_t) + 1 };

int64_t lmdb_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* bytes 0: none stands there. */
static int limit_get(struct lmdb_file *file, MDB_txn *txn, struct limit *limit)
{
	MDB_val k = { sizeof limit_name, limit_name }, v;
	int rc = mdb_get(txn, file->meta, &k, &v);

	*limit = (struct limit){ 0 };
	if (!rc && v.mv_size == LIMIT_BYTES) {
		memcpy(&limit->bytes, v.mv_data, sizeof limit->bytes);
		limit->bytes = le64toh(limit->bytes) / file->page_bytes * file->page_bytes;
		limit->shared = ((char *)v.mv_data)[sizeof limit->bytes];
	}
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int limit_put(struct lmdb_file *file, MDB_txn *txn, const struct limit *limit)
{
	uint64_t bytes = htole64(limit->bytes);
	char value[LIMIT_BYTES];
	MDB_val k = { sizeof limit_name, limit_name }, v = { sizeof value, value };

	memcpy(value, &bytes, sizeof bytes);
	value[sizeof bytes] = limit->shared;
	return mdb_put(txn, file->meta, &k, &v, 0);
}

/* Whether another process has the file open: it holds a lock on the first byte of lock.mdb. */
static bool is_shared(const struct lmdb_file *file)
{
	struct flock first = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };

	return fcntl(file->lock_fd, F_GETLK, &first) || first.l_type != F_UNLCK;
}

/* Whether this process may lower the limit. A transaction that it did not make shows that another process was here. */
static bool limit_may_fall(struct lmdb_file *file, MDB_txn *txn, const struct limit *limit, bool shared)
{
	bool disturbed = shared || mdb_txn_id(txn) > file->last_txn + 1;
	int64_t now = lmdb_now_ms();

	file->last_txn = mdb_txn_id(txn);
	if (disturbed || !file->alone_since)
		file->alone_since = now;
	return !shared && (!limit->shared || now - file->alone_since >= LIMIT_KEPT_MS);
}

/* Reads the limit, in a write transaction, and raises or lowers it. */
static int limit_settle(struct lmdb_file *file, MDB_txn *txn)
{
	bool shared = is_shared(file);
	struct limit was, is;
	int rc = limit_get(file, txn, &was);

	if (rc)
		return rc;
	bool falls = limit_may_fall(file, txn, &was, shared);
	is.bytes = file->option_bytes < was.bytes && !falls ? was.bytes : file->option_bytes;
	is.shared = (was.shared && is.bytes >= was.bytes) || (shared && was.bytes && was.bytes != file->option_bytes);
	file->limit_bytes = is.bytes;
	return is.bytes == was.bytes && is.shared == was.shared ? 0 : limit_put(file, txn, &is);
}

int lmdb_turn(struct lmdb_file *file, MDB_txn *txn)
{
	struct limit l;
	int rc = limit_get(file, txn, &l);

	return rc ? rc : limit_put(file, txn, &l);
}

/* ---- the map ---- */

static size_t file_end(const struct lmdb_file *file, const MDB_envinfo *info)
{
	return (info->me_last_pgno + 1) * file->page_bytes;
}

/* What the file may come to. One that is larger than the limit already, because the limit fell, gets some pages more,
 * once: LMDB has no others for the removal of what is too much. */
static size_t file_most(struct lmdb_file *file, size_t end)
{
	if (end > file->limit_bytes && !file->most_bytes)
		file->most_bytes = end + (SLACK_PAGES + end / file->page_bytes / SLACK_SHARE) * file->page_bytes;
	return file->most_bytes > file->limit_bytes ? file->most_bytes : file->limit_bytes;
}

/* Gives the map the size that the file may come to. MDB_PANIC: the file is no longer mapped. */
int lmdb_remap(struct lmdb_file *file)
{
	MDB_envinfo info;
	int rc = mdb_env_info(file->env, &info);

	if (rc)
		return rc;
	size_t end = file_end(file, &info);
	size_t wanted = file->full ? end + file->spare_pages * file->page_bytes : file_most(file, end);
	if (wanted < end)
		wanted = end;
	if (wanted == info.me_mapsize)
		return 0;
	lmdb_use(file);
	rc = mdb_env_set_mapsize(file->env, wanted);
	lmdb_unuse(file);
	return rc ? MDB_PANIC : 0;
}

/* One try. MDB_MAP_RESIZED: the map has to be made anew, because the file or the limit is larger. */
static int begin_once(struct lmdb_file *file, MDB_txn **txn)
{
	size_t limit = file->limit_bytes;
	int rc = lmdb_remap(file);

	if (rc || (rc = mdb_txn_begin(file->env, NULL, 0, txn)) || !file->read)
		return rc;                     /* while the file is being opened it may lack its tables */
	if (!(rc = limit_settle(file, *txn)) && file->limit_bytes > limit && !file->full)
		rc = MDB_MAP_RESIZED;
	if (rc)
		mdb_txn_abort(*txn);
	return rc;
}

int lmdb_begin(struct lmdb_file *file, MDB_txn **txn)
{
	int rc = MDB_MAP_RESIZED;

	atomic_store(&file->waits_since, lmdb_now_ms());
	for (int i = 0; i < BEGIN_TRIES && rc == MDB_MAP_RESIZED; i++)
		rc = begin_once(file, txn);
	atomic_store(&file->waits_since, 0);
	return rc;
}

/* ---- the file system ---- */

/* 0, or why the file system has no room for that. One that cannot tell is asked by writing. */
static int take_room(int fd, size_t at, size_t bytes)
{
	if (!fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes))
		return 0;
	return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? errno : 0;
}

void lmdb_reserve(struct lmdb_file *file, size_t needs)
{
	MDB_envinfo info;
	int fd;

	file->full = 0;
	file->spare_pages = 0;
	if (mdb_env_info(file->env, &info) || mdb_env_get_fd(file->env, &fd))
		return;
	size_t end = file_end(file, &info);
	size_t most = file_most(file, end);
	if (end >= most)
		return;
	file->spare_pages = SLACK_PAGES + info.me_last_pgno / SLACK_SHARE;
	if (file->spare_pages > (most - end) / file->page_bytes)
		file->spare_pages = (most - end) / file->page_bytes;
	size_t wanted = file->spare_pages * file->page_bytes + needs;
	file->full = take_room(fd, end, wanted < most - end ? wanted : most - end);
	while (file->full && file->spare_pages && take_room(fd, end, file->spare_pages * file->page_bytes))
		file->spare_pages /= 2;
}

/* The number of pages in LMDB's lists of free ones, each of which begins with its length. */
static int count_free(MDB_txn *txn, size_t *pages)
{
	enum { FREE_LISTS = 0 };
	MDB_cursor *cursor;
	MDB_val k, v;
	size_t n;
	int rc = mdb_cursor_open(txn, FREE_LISTS, &cursor);

	if (rc)
		return rc;
	while (!(rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT))) {
		memcpy(&n, v.mv_data, sizeof n);
		*pages += n;
	}
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int lmdb_room(struct lmdb_file *file, size_t *bytes)
{
	size_t pages = file->spare_pages;
	MDB_txn *txn;
	int rc;

	*bytes = SIZE_MAX;
	if (!file->full)
		return 0;
	*bytes = 0;
	if ((rc = mdb_txn_begin(file->env, NULL, MDB_RDONLY, &txn)))
		return rc == MDB_MAP_RESIZED ? 0 : rc;
	rc = count_free(txn, &pages);
	mdb_txn_abort(txn);
	*bytes = pages > RESERVED_PAGES ? (pages - RESERVED_PAGES) * file->page_bytes : 0;
	return rc;
}
