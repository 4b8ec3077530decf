/* Owns how the processes that share the LMDB store's folder tell each other which purges they know. Each process locks
 * one byte of the folder's file "purges": the number of the byte is that of the latest purge it knows. The kernel takes
 * the lock away when the process ends, however it ends. So a process with a lower lock is alive and does not know.
 * Must not know: what is purged. Invariant: from lmdb_peers_join() on a process holds a lock at any time, which only
 * moves up. Source: fcntl(2), open file description locks. */
#include "proxy/store/store_lmdb_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int peers_set(int fd, short type, uint64_t at, uint64_t len)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = (off_t)len };

	return fcntl(fd, F_OFD_SETLK, &l);
}

int lmdb_peers_join(struct lmdb_file *file)
{
	char name[4096];
	int fd, err;

	if (file->peers_fd >= 0)
		return 0;
	if (snprintf(name, sizeof name, "%s/purges", file->path) >= (int)sizeof name)
		return ENAMETOOLONG;
	if ((fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0)
		return errno;
	if (peers_set(fd, F_RDLCK, 0, 1)) {
		err = errno;
		close(fd);
		return err;
	}
	file->peers_fd = fd;
	return 0;
}

void lmdb_peers_tell(struct lmdb_file *file, uint64_t known)
{
	if (file->peers_fd < 0 || !known || peers_set(file->peers_fd, F_RDLCK, known, 1))
		return;
	peers_set(file->peers_fd, F_UNLCK, 0, known);
}

bool lmdb_peers_know(struct lmdb_file *file, uint64_t number)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = (off_t)number };

	if (file->peers_fd < 0)
		return false;
	return !number || (!fcntl(file->peers_fd, F_OFD_GETLK, &l) && l.l_type == F_UNLCK);
}
