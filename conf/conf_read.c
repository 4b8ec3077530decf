/* Owns reading a file whole, with a limit.
 * Must not know: what the file is.
 * Invariant: what is returned ends in a zero byte behind its length. */
#include "conf/conf_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_BYTES = 65536 };

/* Reads until the end, with room for one byte more than max so as to see that there are more. -1: failed, in errno. */
static int read_all(int fd, size_t max, char **text, size_t *len)
{
	for (*len = 0; *len <= max;) {
		char *grown = realloc(*text, *len + READ_BYTES + 1);
		if (!grown)
			return -1;
		*text = grown;
		ssize_t got = read(fd, grown + *len, READ_BYTES);
		if (got < 0 && errno != EINTR)
			return -1;
		*len += got > 0 ? (size_t)got : 0;
		grown[*len] = '\0';
		if (got == 0)
			return 0;
	}
	errno = EFBIG;
	return -1;
}

char *conf_read(const char *path, size_t max, struct stat *about, size_t *len)
{
	/* Without O_NONBLOCK a FIFO would wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | (about ? O_NONBLOCK : 0)), status = -1, fault;
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if (about && fstat(fd, about) == 0 && !S_ISREG(about->st_mode))
		errno = S_ISDIR(about->st_mode) ? EISDIR : ENOTSUP;
	else
		status = read_all(fd, max, &text, len);
	fault = errno;
	close(fd);
	errno = fault;
	if (status == 0)
		return text;
	free(text);
	errno = fault;
	return NULL;
}
