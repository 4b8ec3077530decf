/* Owns the file of the LMDB store: opening it, its format, and dealing with a damaged one. Must not know:
 * entries, threads. Invariants: an open file has this build's format, and was not open when the machine went down
 * (store_lmdb_mark.c); a file that another process has open is never moved.
 *
 * LMDB has no checksums and believes whatever its pages say. MDB_NOMETASYNC: each transaction learns whether the disk
 * takes its pages; the meta page follows with the next one, or when the file is closed. Several processes may share the
 * folder: LMDB's writer lock orders them. */
#include "proxy/store/store_lmdb_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "proxy/base/log.h"

enum { LMDB_FORMAT = 1 };
/* Error codes beside LMDB's own and those of errno. */
enum { LMDB_SHARED_DAMAGE = -30602, LMDB_SHARED_FORMAT = -30603 };

static const char format_expected[] = { 'f', LMDB_FORMAT, ENTRY_FORMAT };

int lmdb_file_init(struct lmdb_file *file, const char *path, size_t map_bytes)
{
	file->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	file->option_bytes = file->limit_bytes = map_bytes / file->page_bytes * file->page_bytes;
	file->lock_fd = file->mark_fd = file->peers_fd = -1;
	if (getrandom(&file->process, sizeof file->process, 0) != sizeof file->process)
		return errno;
	pthread_mutex_init(&file->use, NULL);
	return (file->path = strdup(path)) ? 0 : ENOMEM;
}

void lmdb_file_free(struct lmdb_file *file)
{
	pthread_mutex_destroy(&file->use);
	if (file->peers_fd >= 0)
		close(file->peers_fd);
	free(file->path);
}

void lmdb_use(struct lmdb_file *file)
{
	if (!file->uses++)
		pthread_mutex_lock(&file->use);
}

void lmdb_unuse(struct lmdb_file *file)
{
	if (!--file->uses)
		pthread_mutex_unlock(&file->use);
}

bool lmdb_is_damaged(int rc)
{
	return rc == MDB_INVALID || rc == MDB_CORRUPTED || rc == MDB_VERSION_MISMATCH || rc == MDB_PAGE_NOTFOUND ||
	    rc == MDB_INCOMPATIBLE || rc == MDB_CURSOR_FULL || rc == MDB_BAD_VALSIZE;
}

bool lmdb_is_misconfigured(int rc)
{
	return rc == ENOENT || rc == ENOTDIR || rc == EACCES || rc == EPERM || rc == EROFS || rc == ENAMETOOLONG ||
	    rc == ENOMEM || rc == EISDIR || rc == ELOOP;
}

const char *lmdb_strerror(int rc)
{
	switch (rc) {
	case LMDB_SHARED_FORMAT: return "another process has it open, in a format that this version does not read";
	case LMDB_SHARED_DAMAGE: return "it is damaged, and another process has it open";
	default: return mdb_strerror(rc);
	}
}

/* ---- opening ---- */

/* Makes pages that the file lacks at its end zeros: free ones may never have been written. If others are missing, LMDB
 * finds the zeros damaged; it would crash on a page that is not there. */
static int file_fill(struct lmdb_file *file)
{
	MDB_envinfo info;
	MDB_stat stat;
	struct stat there;
	int fd, rc;

	if ((rc = mdb_env_info(file->env, &info)) || (rc = mdb_env_stat(file->env, &stat)) ||
	    (rc = mdb_env_get_fd(file->env, &fd)))
		return rc;
	file->page_bytes = stat.ms_psize;
	off_t needed = (off_t)((info.me_last_pgno + 1) * stat.ms_psize);
	return fstat(fd, &there) || (file->alone && there.st_size < needed && ftruncate(fd, needed)) ? errno : 0;
}

/* A file in another format is left alone as long as another process has it open, as in an upgrade from a former
 * version. The two would not read each other's entries, or take them for damage. */
static int format_get(struct lmdb_file *file, MDB_txn *txn, bool *same)
{
	char name[] = "format";
	MDB_val k = { sizeof name, name }, v;
	int rc = mdb_get(txn, file->meta, &k, &v);

	*same = !rc && v.mv_size == sizeof format_expected &&
	    !memcmp(v.mv_data, format_expected, sizeof format_expected);
	if (!rc && !*same && !file->alone)
		return LMDB_SHARED_FORMAT;
	if (!rc && !*same)
		log_warn("lmdb store: %s: it was written by another version of utfeed, in a format this one does not "
		         "read; it starts empty",
		    file->path);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int format_put(struct lmdb_file *file, MDB_txn *txn)
{
	char name[] = "format", value[sizeof format_expected];
	MDB_val k = { sizeof name, name }, v = { sizeof value, value };
	int rc = lmdb_wipe(file, txn);

	memcpy(value, format_expected, sizeof value);
	if (rc || (rc = lmdb_marks_begin(file, txn)))
		return rc;
	return mdb_put(txn, file->meta, &k, &v, 0);
}

static int tables_open(struct lmdb_file *file, MDB_txn *txn, unsigned flags)
{
	int rc;

	if ((rc = mdb_dbi_open(txn, "entries", flags, &file->entries)) ||
	    (rc = mdb_dbi_open(txn, "order", flags, &file->order)) ||
	    (rc = mdb_dbi_open(txn, "marks", flags, &file->marks)))
		return rc;
	return mdb_dbi_open(txn, "meta", flags, &file->meta);
}

/* Entries of another format are dropped. */
static int tables_make(struct lmdb_file *file)
{
	MDB_txn *txn;
	bool same = false;
	int rc = lmdb_begin(file, &txn);

	if (rc)
		return rc;
	if (!(rc = tables_open(file, txn, MDB_CREATE)) && !(rc = format_get(file, txn, &same)) && !same)
		rc = format_put(file, txn);
	if (rc) {
		mdb_txn_abort(txn);
		return rc;
	}
	return mdb_txn_commit(txn);
}

/* Whether the tables are there, found out without the writer's lock, which another process may hold. */
static int tables_there(struct lmdb_file *file, bool *there)
{
	MDB_txn *txn;
	int rc = mdb_txn_begin(file->env, NULL, MDB_RDONLY, &txn);

	*there = false;
	if (rc)
		return rc;
	rc = tables_open(file, txn, 0);
	if (!rc && !(rc = format_get(file, txn, there)) && *there &&
	    !(rc = lmdb_measure(file, txn, &file->counted.entries, &file->counted.bytes)))
		return mdb_txn_commit(txn);
	mdb_txn_abort(txn);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int file_open_tables(struct lmdb_file *file)
{
	bool there;
	int rc = tables_there(file, &there);

	if (!rc && !there && !(rc = tables_make(file)))
		rc = tables_there(file, &there);
	if (rc || (rc = mdb_txn_begin(file->env, NULL, MDB_RDONLY, &file->read)))
		return rc;
	mdb_txn_reset(file->read);
	return 0;
}

static int file_open_env(struct lmdb_file *file)
{
	int dead, rc;

	file->limit_bytes = file->option_bytes;
	file->most_bytes = 0;
	file->full = 0;
	file->last_txn = 0;
	file->alone_since = 0;
	if ((rc = mdb_env_create(&file->env))) {
		file->env = NULL;
		return rc;
	}
	if ((rc = mdb_env_set_mapsize(file->env, file->limit_bytes)) || (rc = mdb_env_set_maxdbs(file->env, 4)) ||
	    (rc = mdb_env_open(file->env, file->path, MDB_NOMETASYNC | MDB_NOTLS | MDB_NORDAHEAD, 0600)) ||
	    (rc = lmdb_mark_use(file)) || (rc = mdb_reader_check(file->env, &dead)) || (rc = file_fill(file)))
		return rc;
	return file_open_tables(file);
}

/* Returns whether all that was written has reached the disk. */
static bool file_close_env(struct lmdb_file *file)
{
	MDB_env *env = file->env;

	if (!env)
		return false;
	file->env = NULL;
	if (file->news)
		mdb_cursor_close(file->news);
	file->news = NULL;
	if (file->read)
		mdb_txn_abort(file->read);
	file->read = NULL;
	bool synced = !mdb_env_sync(env, 1);
	mdb_env_close(env);
	return synced;
}

static void file_close(struct lmdb_file *file)
{
	lmdb_mark_close(file, file_close_env(file));
}

/* A damaged file is set aside and made anew, provided that no other process has it open. */
static int file_open(struct lmdb_file *file)
{
	int rc = mkdir(file->path, 0700) && errno != EEXIST ? errno : lmdb_peers_join(file);
	const char *fault;

	if (rc || (rc = lmdb_mark_open(file, &fault)))
		return rc;
	if (!fault) {
		rc = file_open_env(file);
		if (!lmdb_is_damaged(rc))
			return rc;
		fault = lmdb_strerror(rc);
		file_close_env(file);
		file->alone = lmdb_is_alone(file);
	}
	if (!file->alone)
		return LMDB_SHARED_DAMAGE;
	return (rc = lmdb_set_aside(file, fault)) ? rc : file_open_env(file);
}

int lmdb_open(struct lmdb_file *file)
{
	lmdb_use(file);
	int rc = file_open(file);

	if (rc)
		file_close(file);
	lmdb_unuse(file);
	return rc;
}

void lmdb_close(struct lmdb_file *file)
{
	lmdb_use(file);
	file_close(file);
	lmdb_unuse(file);
}
