/* Owns the file of the LMDB store: opening it, its format, and dealing with a damaged one. Must not know:
 * entries, threads. Invariants: an open file has this build's format, was found sound, and is long enough for every
 * page that LMDB knows; a file that another process has open is never moved.
 *
 * MDB_NOMETASYNC: a transaction's pages reach the disk before the next meta page can point at them, so neither kill -9
 * nor a power cut damages the tree; a power cut may undo the last transaction, which a cache can afford. MDB_NOSYNC
 * would be faster and may leave a broken tree; full sync costs a second flush. Several processes may share the folder:
 * LMDB's writer lock orders them. */
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
#include "proxy/store/store_lmdb_check.h"

enum { LMDB_FORMAT = 1, META_TRIES = 100, };
/* Error codes beside LMDB's own and those of errno. */
enum { LMDB_STOPPED = -30601, LMDB_SHARED_DAMAGE = -30602, LMDB_SHARED_FORMAT = -30603 };

static const char format_expected[] = { 'f', LMDB_FORMAT, ENTRY_FORMAT };

int lmdb_file_init(struct lmdb_file *f, const char *path, size_t map_bytes)
{
	f->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	f->option_bytes = f->limit_bytes = map_bytes / f->page_bytes * f->page_bytes;
	f->lock_fd = f->peers_fd = -1;
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
	    rc == MDB_INCOMPATIBLE || rc == MDB_CURSOR_FULL || rc == MDB_BAD_VALSIZE || rc == LMDB_FAULT;
}

bool lmdb_is_misconfigured(int rc)
{
	return rc == ENOENT || rc == ENOTDIR || rc == EACCES || rc == EPERM || rc == EROFS || rc == ENAMETOOLONG ||
	    rc == ENOMEM || rc == EISDIR || rc == ELOOP;
}

const char *lmdb_strerror(int rc)
{
	switch (rc) {
	case LMDB_FAULT: return "a page could not be read, or contradicts another";
	case LMDB_STOPPED: return "stopped";
	case LMDB_SHARED_FORMAT: return "another process has it open, in a format that this version does not read";
	case LMDB_SHARED_DAMAGE: return "it is damaged, and another process has it open";
	default: return mdb_strerror(rc);
	}
}

static void on_assertion(MDB_env *env, const char *text)
{
	(void)env;
	log_warn("lmdb store: LMDB says: %s", text);
	lmdb_guard_leave();
}

/* ---- opening ---- */

static int file_check_metas(struct lmdb_file *f, struct check_found *found)
{
	enum check_verdict verdict;
	char name[4096];
	int fd;

	*found = (struct check_found){ 0 };
	if (snprintf(name, sizeof name, "%s/data.mdb", f->path) >= (int)sizeof name)
		return ENAMETOOLONG;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	verdict = check_metas(fd, found);
	close(fd);
	if (verdict == CHECK_EMPTY)
		log_warn("lmdb store: %s: its file has no byte; it starts empty", f->path);
	if (verdict != CHECK_DAMAGED)
		return 0;
	log_warn("lmdb store: %s: it is damaged: %s (page %llu)", f->path, found->fault,
	    (unsigned long long)found->page);
	return MDB_CORRUPTED;
}

/* The check runs on the state that a read transaction keeps alive, since other processes may write meanwhile. */
static int file_check_now(struct lmdb_file *f, enum check_verdict *verdict, struct check_found *found)
{
	MDB_txn *txn;
	int fd, rc = mdb_env_get_fd(f->env, &fd);

	*verdict = CHECK_EMPTY;
	for (int i = 0; *verdict == CHECK_EMPTY && i < META_TRIES && !rc; i++) {
		if ((rc = mdb_txn_begin(f->env, NULL, MDB_RDONLY, &txn)))
			break;
		*verdict = check_tree(fd, mdb_txn_id(txn), &f->stop, found);
		mdb_txn_abort(txn);
	}
	return rc;
}

static int file_check(struct lmdb_file *f)
{
	struct check_found found;
	enum check_verdict verdict;
	int rc = file_check_now(f, &verdict, &found);

	if (rc)
		return rc;
	switch (verdict) {
	case CHECK_SOUND: return 0;
	case CHECK_EMPTY: return EAGAIN;
	case CHECK_STOPPED: return LMDB_STOPPED;
	case CHECK_NO_MEMORY: return ENOMEM;
	case CHECK_DAMAGED: break;
	}
	log_warn("lmdb store: %s: it is damaged: %s (page %llu)", f->path, found.fault, (unsigned long long)found.page);
	return MDB_CORRUPTED;
}

/* Free pages at the end of the file may never have been written. This makes them zeros, so that the file has every page
 * that LMDB knows. */
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
	struct check_found found;
	int dead, rc = file_check_metas(f, &found);

	if (rc)
		return rc;
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
	    (rc = mdb_env_set_assert(f->env, on_assertion)) ||
	    (rc = mdb_env_open(f->env, f->path, MDB_NOMETASYNC | MDB_NOTLS | MDB_NORDAHEAD, 0600)) ||
	    (rc = mdb_reader_check(f->env, &dead)) || (rc = file_check(f)) || (rc = file_fill(f)))
		return rc;
	return file_open_tables(f);
}

static void file_close_env(struct lmdb_file *f)
{
	MDB_env *env = f->env;

	if (!env)
		return;
	f->env = NULL;
	if (f->news)
		mdb_cursor_close(f->news);
	f->news = NULL;
	if (f->read)
		mdb_txn_abort(f->read);
	f->read = NULL;
	f->faulted = false;
	mdb_env_close(env);
}

static void file_close(struct lmdb_file *f)
{
	file_close_env(f);
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	f->lock_fd = -1;
}

/* A damaged file is set aside and made anew, provided that no other process has it open. */
static int file_open(struct lmdb_file *f)
{
	int rc = mkdir(f->path, 0700) && errno != EEXIST ? errno : lmdb_peers_join(f);

	if (rc || (rc = lmdb_lock_prepare(f)))
		return rc;
	if (!f->suspect || !f->alone) {
		f->suspect = false;
		rc = file_open_env(f);
		if (!lmdb_is_damaged(rc))
			return rc;
		file_close_env(f);
		if (!lmdb_lock_alone(f))
			return LMDB_SHARED_DAMAGE;
	}
	if ((rc = lmdb_set_aside(f)) || (rc = lmdb_lock_prepare(f)))
		return rc;
	return file_open_env(f);
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

void lmdb_fault(struct lmdb_file *f)
{
	lmdb_use(f);
	f->read = NULL;
	lmdb_unuse(f, true);
}
