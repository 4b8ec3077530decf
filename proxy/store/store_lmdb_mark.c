/* Owns what is done to the LMDB store's folder without LMDB. It makes room for lock.mdb before LMDB maps it, finds
 * other processes that have the store open, marks the store as in use, and sets data.mdb aside. Must not know: what is
 * in data.mdb or lock.mdb.
 *
 * The mark is the file "in-use". While a process has the store open, the mark holds the id of the machine's boot. The
 * last process that closes the store syncs it and writes "closed". So the id of another boot means that the machine
 * went down while the store was open: the disk may have any of its pages. A killed process loses nothing, because the
 * kernel has its pages. A store that LMDB finds damaged, or that crashes one of the store's threads, is marked as
 * damaged.
 * Invariants: a file that another process has open is neither moved nor written over; no process has the store open
 * while the mark says "closed". LMDB locks the first byte of lock.mdb (fcntl(2)): exclusively while a process opens the
 * store, shared as long as the store is open there. */
#include "proxy/store/store_lmdb_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proxy/base/log.h"

/* More than LMDB asks for; it uses all of it, which is enough for 254 processes. */
enum { LOCK_BYTES = 16384 };
/* Every text of the mark is written as long as a boot id, so that a full disk has room for it. */
enum { MARK_BYTES = 36 };
#define MARK_CLOSED "closed"
#define MARK_DAMAGED "damaged"
#define MARK_UNKNOWN "unknown boot"

/* ---- the mark ---- */

static bool mark_text(int fd, char text[MARK_BYTES + 1])
{
	ssize_t n = pread(fd, text, MARK_BYTES, 0);

	text[n > 0 ? n : 0] = '\0';
	return n == MARK_BYTES;
}

/* The text of a store that this process has open. False: the boot has no id that can be read. */
static bool mark_of_boot(char text[MARK_BYTES + 1])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	bool known = fd >= 0 && mark_text(fd, text);

	if (fd >= 0)
		close(fd);
	if (!known)
		strcpy(text, MARK_UNKNOWN);
	return known;
}

/* A mark without a byte is new: nothing was written to the store under it. */
static bool mark_is(const struct lmdb_file *file, const char *what)
{
	char text[MARK_BYTES + 1];

	mark_text(file->mark_fd, text);
	return !strncmp(*text ? text : MARK_CLOSED, what, strlen(what));
}

/* Why data.mdb is to be set aside; NULL: it is not. Another process of this boot may have the store open under the same
 * mark, also where the id is not known. */
static const char *mark_fault(const struct lmdb_file *file)
{
	char own[MARK_BYTES + 1];
	bool known = mark_of_boot(own);

	if (mark_is(file, MARK_CLOSED) || (mark_is(file, own) && (known || !file->alone)))
		return NULL;
	return mark_is(file, MARK_DAMAGED) ? "it was found damaged, or crashed utfeed"
	    : "it was open when the machine went down";
}

static int mark_write(const struct lmdb_file *file, const char *text)
{
	char padded[MARK_BYTES + 2];
	int n = snprintf(padded, sizeof padded, "%-*s\n", MARK_BYTES, text);
	ssize_t written = pwrite(file->mark_fd, padded, (size_t)n, 0);

	if (written != n)
		return written < 0 ? errno : ENOSPC;
	return fdatasync(file->mark_fd) ? errno : 0;
}

int lmdb_mark_use(struct lmdb_file *file)
{
	char own[MARK_BYTES + 1];

	if (!mark_of_boot(own))
		log_warn("lmdb store: %s: the machine's boot id cannot be read: if utfeed is killed, what is stored is "
		         "lost", file->path);
	return mark_is(file, own) ? 0 : mark_write(file, own);
}

void lmdb_mark_damaged(const struct lmdb_file *file)
{
	int rc = mark_write(file, MARK_DAMAGED);

	if (rc)
		log_warn("lmdb store: %s/in-use: %s", file->path, strerror(rc));
}

void lmdb_mark_close(struct lmdb_file *file, bool synced)
{
	char own[MARK_BYTES + 1];

	mark_of_boot(own);
	if (synced && lmdb_is_alone(file) && mark_is(file, own))
		(void)!mark_write(file, MARK_CLOSED);
	if (file->lock_fd >= 0)
		close(file->lock_fd);
	if (file->mark_fd >= 0)
		close(file->mark_fd);
	file->lock_fd = file->mark_fd = -1;
}

/* ---- crashes ---- */

static const int crashes[] = { SIGBUS, SIGSEGV, SIGABRT };
enum { CRASHES = sizeof crashes / sizeof *crashes };
static struct sigaction former[CRASHES];
static _Thread_local const struct lmdb_file *watched;

/* The former action is restored: the instruction runs again, or abort(3) raises the signal again, and that meets it. */
static void on_crash(int sig)
{
	if (watched && watched->mark_fd >= 0)
		(void)!pwrite(watched->mark_fd, MARK_DAMAGED, sizeof MARK_DAMAGED - 1, 0);
	for (size_t i = 0; i < CRASHES; i++)
		if (crashes[i] == sig)
			sigaction(sig, &former[i], NULL);
}

static void watch_install(void)
{
	struct sigaction action = { .sa_handler = on_crash };

	for (size_t i = 0; i < CRASHES; i++)
		sigaction(crashes[i], &action, &former[i]);
}

void lmdb_watch(const struct lmdb_file *file)
{
	static pthread_once_t installed = PTHREAD_ONCE_INIT;

	watched = file;
	pthread_once(&installed, watch_install);
}

/* ---- opening ---- */

bool lmdb_is_alone(const struct lmdb_file *file)
{
	struct flock first = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };

	return !fcntl(file->lock_fd, F_SETLK, &first);
}

static int folder_open(const struct lmdb_file *file, const char *part, int *fd)
{
	char name[4096];

	if (*fd >= 0)
		return 0;
	if (snprintf(name, sizeof name, "%s/%s", file->path, part) >= (int)sizeof name)
		return ENAMETOOLONG;
	*fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return *fd < 0 ? errno : 0;
}

/* Every page is written now: LMDB maps the file, and a page for which the file system has no room later is a SIGBUS.
 * Pages that the file has already are kept. */
static int lock_fill(const struct lmdb_file *file)
{
	static const char zeros[LOCK_BYTES];
	ssize_t n = pwrite(file->lock_fd, zeros, sizeof zeros, 0);

	if (n != (ssize_t)sizeof zeros)
		return n < 0 ? errno : ENOSPC;
	return ftruncate(file->lock_fd, sizeof zeros) ? errno : 0;
}

/* The lock stays taken until LMDB, in this process, makes it a shared one. */
int lmdb_mark_open(struct lmdb_file *file, const char **fault)
{
	int rc;

	if ((rc = folder_open(file, "lock.mdb", &file->lock_fd)) || (rc = folder_open(file, "in-use", &file->mark_fd)))
		return rc;
	file->alone = lmdb_is_alone(file);
	*fault = mark_fault(file);
	return file->alone ? lock_fill(file) : 0;
}

int lmdb_set_aside(struct lmdb_file *file, const char *why)
{
	char from[4096], to[4096];

	if (snprintf(from, sizeof from, "%s/data.mdb", file->path) >= (int)sizeof from ||
	    snprintf(to, sizeof to, "%s/data.mdb.damaged", file->path) >= (int)sizeof to)
		return ENAMETOOLONG;
	if (!file->full && !rename(from, to))
		log_warn("lmdb store: %s: %s; it starts empty, and the former file is %s now", file->path, why, to);
	else if (!unlink(from))
		log_warn("lmdb store: %s: %s; it starts empty, and the former file could not be kept", file->path, why);
	else if (errno != ENOENT)
		return errno;
	file->counted.errors++;
	return 0;
}
