/* Sends pages to sockets; see splice.h. */
#include "proxy/net/splice.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "proxy/base/log.h"

enum { SPLICE_PIPE_BYTES = 256 * 1024, SPLICE_REST_MS = 1000, SPLICE_REST_MAX_MS = 64 * 1000 };

void splice_init(struct splice *self)
{
	*self = (struct splice){ .in = -1, .out = -1 };
}

void splice_end(struct splice *self)
{
	if (self->in >= 0) {
		close(self->in);
		close(self->out);
	}
	self->in = self->out = -1;
}

/* Where the pipe cannot be made larger, it takes less at a time. */
static int splice_open(struct splice *self)
{
	int ends[2];

	if (self->in >= 0)
		return 0;
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC))
		return -1;
	self->out = ends[0];
	self->in = ends[1];
	fcntl(self->in, F_SETPIPE_SZ, SPLICE_PIPE_BYTES);
	return 0;
}

/* Puts as many of the bytes into the pipe as fit. */
static ssize_t splice_fill(struct splice *self, const struct iovec *iov, int n_copied, int n)
{
	ssize_t len = 0, copied = 0;

	for (int i = 0; i < n_copied; i++)
		len += (ssize_t)iov[i].iov_len;
	if (len && (copied = writev(self->in, iov, n_copied)) < len)
		return copied;
	ssize_t referred = vmsplice(self->in, iov + n_copied, (size_t)(n - n_copied), SPLICE_F_NONBLOCK);
	if (referred < 0)
		return copied && errno == EAGAIN ? copied : -1;
	return copied + referred;
}

/* Whether splice(2) failed for a reason of its own and not of the socket. */
static bool splice_is_at_fault(int err)
{
	static const int faults[] = { EINVAL, ENOMEM, ENOBUFS, ENOSYS, EPERM, ENFILE };

	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		if (faults[i] == err)
			return true;
	return false;
}

/* Each kind of failure is logged once, however often it comes and goes. */
static ssize_t splice_rest(struct splice *self, uint64_t now_ms)
{
	if (self->logged != errno)
		log_warn("splice: %s; large bodies are copied to their clients meanwhile", strerror(errno));
	self->logged = errno;
	splice_end(self);
	self->rest_ms = !self->rest_ms ? SPLICE_REST_MS
	    : self->rest_ms < SPLICE_REST_MAX_MS ? 2 * self->rest_ms
	    : SPLICE_REST_MAX_MS;
	self->again_ms = now_ms + self->rest_ms;
	errno = ENOTSUP;
	return -1;
}

ssize_t splice_send(struct splice *self, uint64_t now_ms, int fd, const struct iovec *iov, int n_copied, int n,
    bool more)
{
	ssize_t given = -1, sent = 0, step = 0;

	if (splice_rests(self, now_ms)) {
		errno = ENOTSUP;
		return -1;
	}
	if (splice_open(self) || (given = splice_fill(self, iov, n_copied, n)) <= 0)
		return splice_rest(self, now_ms);
	do
		step = splice(self->out, NULL, fd, NULL, (size_t)(given - sent),
		    SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0));
	while ((step > 0 && (sent += step) < given) || (step < 0 && errno == EINTR));
	if (!sent && step < 0 && splice_is_at_fault(errno))
		return splice_rest(self, now_ms);
	self->again_ms = self->rest_ms = 0;
	int err = errno;
	if (sent < given)
		splice_end(self);         /* drops the bytes that the socket did not take */
	errno = err;
	return sent ? sent : step;
}
