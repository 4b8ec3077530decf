/* Access lines in a file; see access_file.h. */
#include "proxy/net/access_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proxy/base/log.h"

enum { ACCESS_FILE_MODE = 0640, ACCESS_FILE_WAIT_MS = 1000 };

struct access_file {
	int fd;                        /* -1: not open */
	bool torn;                     /* the latest line in the file is not whole */
	bool failing;                  /* the latest write failed, which was logged */
	char path[];
};

int access_file_open(struct access_file *file)
{
	/* O_NONBLOCK: the path may be that of a named pipe, whose reader may be absent or slow. */
	int fd = open(file->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, ACCESS_FILE_MODE);

	if (fd < 0) {
		log_error("access-log-file %s: %s", file->path, strerror(errno));
		return -1;
	}
	if (file->fd >= 0)
		close(file->fd);
	file->fd = fd;
	file->torn = false;
	return 0;
}

static bool access_file_waits(const struct access_file *file)
{
	struct pollfd p = { .fd = file->fd, .events = POLLOUT };

	return errno == EINTR || (errno == EAGAIN && poll(&p, 1, ACCESS_FILE_WAIT_MS) == 1);
}

/* Returns how many bytes were written; fewer than len: errno says why. */
static size_t access_file_put(struct access_file *file, const char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = write(file->fd, bytes + at, len - at);

		if (n > 0)
			at += (size_t)n;
		else if (n == 0 || !access_file_waits(file))
			break;
	}
	return at;
}

static uint64_t access_file_lost(struct access_file *file, const char *lines, size_t at, size_t len)
{
	if (!file->failing)
		log_error("access-log-file %s: %s: lines are lost", file->path, strerror(errno));
	file->failing = true;
	if (at)
		file->torn = lines[at - 1] != '\n';
	return log_count_lines(lines + at, len - at);
}

uint64_t access_file_write(struct access_file *file, const char *lines, size_t len)
{
	size_t at;

	if (file->torn && access_file_put(file, "\n", 1) != 1)
		return access_file_lost(file, lines, 0, len);
	file->torn = false;
	if ((at = access_file_put(file, lines, len)) < len)
		return access_file_lost(file, lines, at, len);
	file->failing = false;
	return 0;
}

struct access_file *access_file_new(const char *path)
{
	size_t size = strlen(path) + 1;
	struct access_file *file = malloc(sizeof *file + size);

	if (!file)
		return NULL;
	*file = (struct access_file){ .fd = -1 };
	memcpy(file->path, path, size);
	return file;
}

void access_file_free(struct access_file **fp)
{
	if (*fp && (*fp)->fd >= 0)
		close((*fp)->fd);
	free(*fp);
	*fp = NULL;
}
