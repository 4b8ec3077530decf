/* Access lines in a file; see access_output.h. */
#include "proxy/net/access_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proxy/base/log.h"

enum { ACCESS_FILE_MODE = 0640 };

struct access_file {
	struct access_output base;
	int fd;                        /* -1: not open */
	bool torn;                     /* the latest line in the file is not whole */
	bool failing;                  /* the latest write failed, which was logged */
	char path[];
};

static int access_file_open(struct access_output *o)
{
	struct access_file *f = (struct access_file *)o;
	/* O_NONBLOCK: the path may be that of a named pipe, whose reader may be absent or slow. */
	int fd = open(f->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, ACCESS_FILE_MODE);

	if (fd < 0)
		return -1;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = fd;
	f->torn = false;
	return 0;
}

static bool access_file_waits(const struct access_file *f)
{
	struct pollfd p = { .fd = f->fd, .events = POLLOUT };

	return errno == EINTR || (errno == EAGAIN && poll(&p, 1, ACCESS_OUTPUT_WAIT_MS) == 1);
}

/* Returns how many bytes were written; fewer than len: errno says why. */
static size_t access_file_put(struct access_file *f, const char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = write(f->fd, bytes + at, len - at);

		if (n > 0)
			at += (size_t)n;
		else if (n == 0 || !access_file_waits(f))
			break;
	}
	return at;
}

static uint64_t access_file_lost(struct access_file *f, const char *lines, size_t at, size_t len)
{
	if (!f->failing)
		log_error("access-log-file %s: %s: lines are lost", f->path, strerror(errno));
	f->failing = true;
	if (at)
		f->torn = lines[at - 1] != '\n';
	return log_count_lines(lines + at, len - at);
}

static uint64_t access_file_write(struct access_output *o, const char *lines, size_t len)
{
	struct access_file *f = (struct access_file *)o;
	size_t at;

	if (f->torn && access_file_put(f, "\n", 1) != 1)
		return access_file_lost(f, lines, 0, len);
	f->torn = false;
	if ((at = access_file_put(f, lines, len)) < len)
		return access_file_lost(f, lines, at, len);
	f->failing = false;
	return 0;
}

static void access_file_free(struct access_output *o)
{
	struct access_file *f = (struct access_file *)o;

	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

struct access_output *access_output_file(const char *path)
{
	static const struct access_output_ops ops = { access_file_open, access_file_write, access_file_free };
	size_t size = strlen(path) + 1;
	struct access_file *f = malloc(sizeof *f + size);

	if (!f)
		return NULL;
	*f = (struct access_file){ .base = { &ops, f->path }, .fd = -1 };
	memcpy(f->path, path, size);
	return &f->base;
}
