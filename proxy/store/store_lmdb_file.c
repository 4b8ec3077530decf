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

int lmdb_file_init(struct lmdb_file *f, const char *path, size_t map_bytes)
{
	f->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	f->option_bytes = f->limit_bytes = map_bytes / f->page_bytes * f->page_bytes;
	f->lock_fd = f->mark_fd = f->peers_fd = -1;
	if (getrandom(&f->process, sizeof f->process, 0) != sizeof f->process)
		return errno;
	pthread_mutex_init(&f->use, NULL);
	return (f->path = strdup(path)) ? 0 : ENOMEM;
}

void lmdb_file_free(struct lmdb_file *f)
{
	pthread_mutex_destroy(&f->use);
	if (f->peers_fd >= 0)
		close(f->peers_fd);
	free(f->path);
}

bool lmdb_use(struct lmdb_file *f)
{
	if (f->using)
		return false;
	pthread_mutex_lock(&f->use);
	return f->using = true;
}

void lmdb_unuse(struct lmdb_file *f, bool used)
{
	if (!used)
		return;
	f->using = false;
	pthread_mutex_unlock(&f->use);
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
static int file_fill(struct lmdb_file *f)
{
	MDB_envinfo info;
	MDB_stat stat;
	struct stat file;
	off_t needed;
	int fd, rc;

	if ((rc = mdb_env_info(f->env, &info)) || (rc = mdb_env_stat(f->env, &stat)) ||
	    (rc = mdb_env_get_fd(f->env, &fd)))
		return rc;
	f->page_bytes = stat.ms_psize;
	needed = (off_t)((info.me_last_pgno + 1) * stat.ms_psize);
	return fstat(fd, &file) || (f->alone && file.st_size < needed && ftruncate(fd, needed)) ? errno : 0;
}

/* A file in another format is left alone as long as another process has it open, as the former version in an upgrade:
 * the two would not read each other's entries, or take them for damage. */
static int format_get(struct lmdb_file *f, MDB_txn *txn, bool *same)
{
	char name[] = "format";
	MDB_val k = { sizeof name, name }, v;
	int rc = mdb_get(txn, f->meta, &k, &v);

	*same = !rc && v.mv_size == sizeof format_expected &&
	    !memcmp(v.mv_data, format_expected, sizeof format_expected);
	if (!rc && !*same && !f->alone)
		return LMDB_SHARED_FORMAT;
	if (!rc && !*same)
		log_warn("lmdb store: %s: it was written by another version of utfeed, in a format this one does not "
		         "read; it starts empty",
		    f->path);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int format_put(struct lmdb_file *f, MDB_txn *txn)
{
	char name[] = "format", value[sizeof format_expected];
	MDB_val k = { sizeof name, name }, v = { sizeof value, value };
	int rc = lmdb_wipe(f, txn);

	memcpy(value, format_expected, sizeof value);
	if (rc || (rc = lmdb_marks_begin(f, txn)))
		return rc;
	return mdb_put(txn, f->meta, &k, &v, 0);
}

static int tables_open(struct lmdb_file *f, MDB_txn *txn, unsigned flags)
{
	int rc;

	if ((rc = mdb_dbi_open(txn, "entries", flags, &f->entries)) ||
	    (rc = mdb_dbi_open(txn, "order", flags, &f->order)) ||
	    (rc = mdb_dbi_open(txn, "marks", flags, &f->marks)))
		return rc;
	return mdb_dbi_open(txn, "meta", flags, &f->meta);
}

/* Entries of another format are dropped. */
static int tables_make(struct lmdb_file *f)
{
	MDB_txn *txn;
	bool same = false;
	int rc = lmdb_begin(f, &txn);

	if (rc)
		return rc;
	if (!(rc = tables_open(f, txn, MDB_CREATE)) && !(rc = format_get(f, txn, &same)) && !same)
		rc = format_put(f, txn);
	if (rc) {
		mdb_txn_abort(txn);
		return rc;
	}
	return mdb_txn_commit(txn);
}

/* Whether the tables are there, found out without the writer's lock, which another process may hold. */
static int tables_there(struct lmdb_file *f, bool *there)
{
	MDB_txn *txn;
	int rc = mdb_txn_begin(f->env, NULL, MDB_RDONLY, &txn);

	*there = false;
	if (rc)
		return rc;
	rc = tables_open(f, txn, 0);
	if (!rc && !(rc = format_get(f, txn, there)) && *there &&
	    !(rc = lmdb_measure(f, txn, &f->counted.entries, &f->counted.bytes)))
		return mdb_txn_commit(txn);
	mdb_txn_abort(txn);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int file_open_tables(struct lmdb_file *f)
{
	bool there;
	int rc = tables_there(f, &there);

	if (!rc && !there && !(rc = tables_make(f)))
		rc = tables_there(f, &there);
	if (rc || (rc = mdb_txn_begin(f->env, NULL, MDB_RDONLY, &f->read)))
		return rc;
	mdb_txn_reset(f->read);
	return 0;
}

static int file_open_env(struct lmdb_file *f)
{
	int dead, rc;

	f->limit_bytes = f->option_bytes;
	f->most_bytes = 0;
	f->full = 0;
	f->last_txn = 0;
	f->alone_since = 0;
	if ((rc = mdb_env_create(&f->env))) {
		f->env = NULL;
		return rc;
	}
	if ((rc = mdb_env_set_mapsize(f->env, f->limit_bytes)) || (rc = mdb_env_set_maxdbs(f->env, 4)) ||
	    (rc = mdb_env_open(f->env, f->path, MDB_NOMETASYNC | MDB_NOTLS | MDB_NORDAHEAD, 0600)) ||
	    (rc = lmdb_mark_use(f)) || (rc = mdb_reader_check(f->env, &dead)) || (rc = file_fill(f)))
		return rc;
	return file_open_tables(f);
}

/* Returns whether all that was written has reached the disk. */
static bool file_close_env(struct lmdb_file *f)
{
	MDB_env *env = f->env;
	bool synced;

	if (!env)
		return false;
	f->env = NULL;
	if (f->news)
		mdb_cursor_close(f->news);
	f->news = NULL;
	if (f->read)
		mdb_txn_abort(f->read);
	f->read = NULL;
	synced = !mdb_env_sync(env, 1);
	mdb_env_close(env);
	return synced;
}

static void file_close(struct lmdb_file *f)
{
	lmdb_mark_close(f, file_close_env(f));
}

/* A damaged file is set aside and made anew, provided that no other process has it open. */
static int file_open(struct lmdb_file *f)
{
	int rc = mkdir(f->path, 0700) && errno != EEXIST ? errno : lmdb_peers_join(f);
	const char *fault;

	if (rc || (rc = lmdb_mark_open(f, &fault)))
		return rc;
	if (!fault) {
		rc = file_open_env(f);
		if (!lmdb_is_damaged(rc))
			return rc;
		fault = lmdb_strerror(rc);
		file_close_env(f);
		f->alone = lmdb_is_alone(f);
	}
	if (!f->alone)
		return LMDB_SHARED_DAMAGE;
	return (rc = lmdb_set_aside(f, fault)) ? rc : file_open_env(f);
}

int lmdb_open(struct lmdb_file *f)
{
	bool used = lmdb_use(f);
	int rc = file_open(f);

	if (rc)
		file_close(f);
	lmdb_unuse(f, used);
	return rc;
}

void lmdb_close(struct lmdb_file *f)
{
	bool used = lmdb_use(f);

	file_close(f);
	lmdb_unuse(f, used);
}
