/* Pages to sockets; see splice.h. */
#include "splice.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

enum { SPLICE_PIPE_BYTES = 256 * 1024 };

void splice_init(struct splice *s)
{
	*s = (struct splice){ .in = -1, .out = -1 };
}

void splice_end(struct splice *s)
{
	if (s->in >= 0) {
		close(s->in);
		close(s->out);
	}
	s->in = s->out = -1;
}

/* A pipe that stays smaller takes less at a time. */
static int splice_open(struct splice *s)
{
	int ends[2];

	if (s->in >= 0)
		return 0;
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC))
		return -1;
	s->out = ends[0];
	s->in = ends[1];
	fcntl(s->in, F_SETPIPE_SZ, SPLICE_PIPE_BYTES);
	return 0;
}

ssize_t splice_send(struct splice *s, int fd, const struct iovec *iov, int n, bool more)
{
	ssize_t given = -1, sent = 0, step = 0;
	int err;

	if (!s->refused && (splice_open(s) || (given = vmsplice(s->in, iov, (size_t)n, SPLICE_F_NONBLOCK)) <= 0)) {
		log_warn("splice: %s; large bodies are copied to their clients", strerror(errno));
		splice_end(s);
		s->refused = true;
	}
	if (s->refused) {
		errno = ENOTSUP;
		return -1;
	}
	do
		step = splice(s->out, NULL, fd, NULL, (size_t)(given - sent), SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0));
	while ((step > 0 && (sent += step) < given) || (step < 0 && errno == EINTR));
	err = errno;
	if (sent < given)
		splice_end(s);         /* with what the socket did not take */
	errno = err;
	return sent ? sent : step;
}
