/* Owns the file of the LMDB store: opening it, its format, and what is done with one that is damaged. Must not know: entries.
 * Invariant: what is open has this build's format, and no page that the file does not have.
 *
 * MDB_NOMETASYNC: a transaction's pages reach the disk before the next meta page can point at them, so neither kill -9 nor a power
 * cut damages the tree; a power cut may undo the last transaction, which a cache can afford. MDB_NOSYNC would be faster and may
 * leave a broken tree; full sync costs a second flush. Several processes may share the folder: LMDB's writer lock orders them. */
#include "store_lmdb_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

enum { LMDB_FORMAT = 1 };

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
	if (!rc)
		log_warn("lmdb store: %s: it was written by another version of utfeed, in a format this one does not read; it starts empty",
			s->path);
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

int lmdb_open(struct store_lmdb *s)
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

bool lmdb_is_damaged(int rc)
{
	return rc == MDB_INVALID || rc == MDB_CORRUPTED || rc == MDB_VERSION_MISMATCH || rc == MDB_PAGE_NOTFOUND || rc == MDB_PANIC ||
	    rc == MDB_INCOMPATIBLE || rc == MDB_BAD_TXN;
}

void lmdb_unlink(const struct store_lmdb *s)
{
	static const char *const files[] = { "data.mdb", "lock.mdb" };
	char name[4096];

	for (size_t i = 0; i < 2; i++)
		if (snprintf(name, sizeof name, "%s/%s", s->path, files[i]) < (int)sizeof name)
			unlink(name);
}

int lmdb_start_over(struct store_lmdb *s, int why)
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
