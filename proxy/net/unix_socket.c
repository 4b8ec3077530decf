/* Listening Unix sockets; see unix_socket.h. */
#include "proxy/net/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { UNIX_SOCKET_BACKLOG = 4096, UNIX_SOCKET_LOCK_TRIES = 200, UNIX_SOCKET_LOCK_MS = 5 };

socklen_t unix_socket_address(struct sockaddr_storage *out, const char *path)
{
	struct sockaddr_un *un = (void *)out;

	memset(out, 0, sizeof *out);
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, path, strnlen(path, sizeof un->sun_path - 1));
	return sizeof *un;
}

enum { UNIX_SOCKET_PATH_BYTES = sizeof((struct unix_socket *)0)->path };

/* The path of the folder that holds the file, with its slash. */
static void folder_of(char folder[UNIX_SOCKET_PATH_BYTES], const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(folder, UNIX_SOCKET_PATH_BYTES, "%.*s", slash ? (int)(slash - path) + 1 : 2, slash ? path : "./");
}

int unix_socket_fault(const char *path)
{
	char folder[UNIX_SOCKET_PATH_BYTES];
	struct stat there;

	folder_of(folder, path);
	if (stat(folder, &there))
		return errno;
	if (!lstat(path, &there))
		return S_ISSOCK(there.st_mode) ? 0 : S_ISDIR(there.st_mode) ? EISDIR : ENOTSOCK;
	return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) ? errno : 0;
}

/* Opens and locks the folder that holds the path. Another holder of the lock makes a socket there and is done soon; if
 * the lock stays, somebody wants to block utfeed. */
static int folder_lock(const char *path)
{
	static const struct timespec pause = { .tv_nsec = UNIX_SOCKET_LOCK_MS * 1000000 };
	char folder[UNIX_SOCKET_PATH_BYTES];
	int fd, tries = UNIX_SOCKET_LOCK_TRIES, failed;

	folder_of(folder, path);
	if ((fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return -1;
	while ((failed = flock(fd, LOCK_EX | LOCK_NB)) && errno == EWOULDBLOCK && --tries)
		nanosleep(&pause, NULL);
	if (!failed)
		return fd;
	close(fd);
	errno = EBUSY;
	return -1;
}

/* Whether the file in the way is a socket whose process is gone; errno says otherwise what it is. */
static bool is_stale(int type, const struct sockaddr_storage *address, socklen_t len, const char *path)
{
	struct stat there;
	int fd;

	if (lstat(path, &there))
		return errno == ENOENT;
	if (!S_ISSOCK(there.st_mode)) {
		errno = ENOTSOCK;
		return false;
	}
	if ((fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0)
		return false;
	int failed = connect(fd, (const struct sockaddr *)address, len) ? errno : 0;
	close(fd);
	errno = !failed || failed == EAGAIN ? EADDRINUSE : failed;
	return failed == ECONNREFUSED;
}

static int bind_fresh(int fd, const struct sockaddr_storage *address, socklen_t len, const char *path)
{
	int type = SOCK_STREAM;
	socklen_t type_len = sizeof type;

	if (!bind(fd, (const struct sockaddr *)address, len))
		return 0;
	if (errno != EADDRINUSE || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) ||
	    !is_stale(type, address, len, path) || (unlink(path) && errno != ENOENT))
		return -1;
	return bind(fd, (const struct sockaddr *)address, len);
}

void unix_socket_know(struct unix_socket *place, const char *path)
{
	struct stat there;

	if (!*path || lstat(path, &there))
		return;
	place->device = there.st_dev;
	place->inode = there.st_ino;
	snprintf(place->path, sizeof place->path, "%s", path);
}

/* The file has its mode from its beginning: to change it by its path could change another file, in a folder where
 * others may write. */
static int bind_with_mode(int fd, const struct sockaddr_storage *address, socklen_t len, const char *path,
    mode_t mode)
{
	mode_t before = umask(0777 & ~mode);
	int failed = bind_fresh(fd, address, len, path), err = errno;

	umask(before);
	errno = err;
	return failed;
}

static int socket_open(struct unix_socket *place, int fd, const char *path, mode_t mode)
{
	struct sockaddr_storage address;
	socklen_t len = unix_socket_address(&address, path);

	if (bind_with_mode(fd, &address, len, path, mode))
		return -1;
	unix_socket_know(place, path);
	return listen(fd, UNIX_SOCKET_BACKLOG);
}

int unix_socket_bind(struct unix_socket *place, int type, const char *path, mode_t mode)
{
	int lock = folder_lock(path), err;
	int fd = lock < 0 ? -1 : socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	*place = (struct unix_socket){ 0 };
	if (fd >= 0 && socket_open(place, fd, path, mode)) {
		err = errno;
		unix_socket_remove(place);
		close(fd);
		errno = err;
		fd = -1;
	}
	err = errno;
	if (lock >= 0)
		close(lock);
	errno = err;
	return fd;
}

void unix_socket_remove(struct unix_socket *place)
{
	struct stat there;

	if (*place->path && !lstat(place->path, &there) && there.st_dev == place->device &&
	    there.st_ino == place->inode)
		unlink(place->path);
	*place->path = '\0';
}
