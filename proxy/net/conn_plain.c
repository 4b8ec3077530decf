/* Owns the transport of plain TCP: bytes go through as they are. Must not know: events, owners.
 * Invariant: no state of its own. */
#include "proxy/net/conn_internal.h"

#include <errno.h>
#include <string.h>

/* Up to this size copying the pieces costs less than having the kernel read a list of them. */
enum { PLAIN_GATHER_BYTES = 4096 };

static int plain_handshake(struct conn *conn)
{
	socklen_t len = sizeof conn->err;

	if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &conn->err, &len) < 0)
		conn->err = errno;
	return conn->err ? CONN_FAILED : 0;
}

static ssize_t plain_read(struct conn *conn, void *buf, size_t cap)
{
	ssize_t n;

	do
		n = recv(conn->fd, buf, cap, 0);
	while (n < 0 && errno == EINTR);
	conn->drained = n < (ssize_t)cap && n != 0;
	return conn_result(conn, n);
}

/* The bytes of all pieces in one: the piece itself, where there is no other, or a copy in gathered. at NULL: they are
 * too many. */
static struct iovec plain_gather(const struct iovec *iov, int n_iov, char gathered[PLAIN_GATHER_BYTES])
{
	struct iovec all = { gathered, 0 };

	if (n_iov == 1)
		return *iov;
	for (int i = 0; i < n_iov; i++) {
		if (iov[i].iov_len > PLAIN_GATHER_BYTES - all.iov_len)
			return (struct iovec){ NULL, 0 };
		memcpy(gathered + all.iov_len, iov[i].iov_base, iov[i].iov_len);
		all.iov_len += iov[i].iov_len;
	}
	return all;
}

static ssize_t plain_writev(struct conn *conn, struct iovec *iov, int n_iov, bool more)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = (size_t)n_iov };
	int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
	char gathered[PLAIN_GATHER_BYTES];
	struct iovec all = plain_gather(iov, n_iov, gathered);
	ssize_t n;

	do
		n = all.iov_base ? send(conn->fd, all.iov_base, all.iov_len, flags) : sendmsg(conn->fd, &msg, flags);
	while (n < 0 && errno == EINTR);
	return conn_result(conn, n);
}

/* Closing the socket tells the peer; there is nothing to do here. */
static void plain_shutdown(struct conn *conn)
{
	(void)conn;
}

static bool plain_pending(const struct conn *conn)
{
	(void)conn;
	return false;
}

static const struct failure *plain_failure(const struct conn *conn)
{
	(void)conn;
	return NULL;
}

static void plain_nothing(struct conn *conn)
{
	(void)conn;
}

static enum conn_protocol plain_protocol(const struct conn *conn)
{
	(void)conn;
	return CONN_HTTP_1;
}

const struct conn_transport conn_plain = { plain_handshake, plain_read, plain_writev, plain_shutdown, plain_pending,
	plain_nothing, plain_failure, plain_nothing, plain_protocol };
