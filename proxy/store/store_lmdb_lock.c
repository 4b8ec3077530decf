/* Owns what is done to the LMDB store's folder without LMDB: making room for lock.mdb before LMDB maps it, finding out
 * whether another process has the store open, setting a damaged data.mdb aside. Must not know: what is in either file.
 * Invariant: a file that another process has open is neither moved nor written over. A process shows by a lock
 * (fcntl(2)) on the first byte of lock.mdb that LMDB has the store open there: the lock is exclusive while the process
 * opens it and shared as long as it is open. */
#include "proxy/store/store_lmdb_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proxy/base/log.h"

/* More than LMDB asks for; it uses all of it, which is enough for 254 processes. */
enum { LOCK_BYTES = 16384 };

bool lmdb_lock_alone(struct lmdb_file *f)
{
	struct flock first = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };

	return !fcntl(f->lock_fd, F_SETLK, &first);
}

/* Every page is written now: LMDB maps the file, and a page for which the file system has no room later is a SIGBUS.
 * Pages that the file has already are kept. */
static int lock_fill(struct lmdb_file *f)
{
	static const char zeros[LOCK_BYTES];
	ssize_t n;

	n = pwrite(f->lock_fd, zeros, sizeof zeros, 0);
	if (n != (ssize_t)sizeof zeros)
		return n < 0 ? errno : ENOSPC;
	return ftruncate(f->lock_fd, sizeof zeros) ? errno : 0;
}

static int lock_open(const struct lmdb_file *f, int *fd)
{
	char name[4096];

	if (snprintf(name, sizeof name, "%s/lock.mdb", f->path) >= (int)sizeof name)
		return ENAMETOOLONG;
	*fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return *fd < 0 ? errno : 0;
}

/* The lock stays taken until LMDB, in this process, makes it a shared one. */
int lmdb_lock_prepare(struct lmdb_file *f)
{
	int rc;

	if (f->lock_fd < 0 && (rc = lock_open(f, &f->lock_fd)))
		return rc;
	f->alone = lmdb_lock_alone(f);
	return f->alone ? lock_fill(f) : 0;
}

int lmdb_set_aside(struct lmdb_file *f)
{
	char from[4096], to[4096];

	if (snprintf(from, sizeof from, "%s/data.mdb", f->path) >= (int)sizeof from ||
	    snprintf(to, sizeof to, "%s/data.mdb.damaged", f->path) >= (int)sizeof to)
		return ENAMETOOLONG;
	if (!f->full && !rename(from, to))
		log_warn("lmdb store: %s: it starts empty; the damaged file is %s now", f->path, to);
	else if (!unlink(from))
		log_warn("lmdb store: %s: it starts empty; the damaged file could not be kept", f->path);
	else if (errno != ENOENT)
		return errno;
	f->suspect = false;
	return 0;
}
