/* Bytes that a connection gathers to write them with the next ones. They stand in the worker's buffer; those that the
 * socket did not take move to a buffer of the connection. See conn.h. */
#include "proxy/net/conn_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/net/cork.h"
#include "proxy/net/loop.h"

enum { BEHIND_IOV = 16 };

bool conn_cork(struct conn *conn, struct iovec *iov, int n_iov)
{
	struct cork *cork = loop_gather(conn->loop);
	uint8_t *end = conn->unsent ? conn->unsent_at + conn->unsent : cork->bytes;
	size_t len = 0;

	for (int i = 0; i < n_iov; i++)
		len += iov[i].iov_len;
	if (conn->kept || (cork->owner && cork->owner != conn) ||
	    len > (size_t)(cork->bytes + sizeof cork->bytes - end))
		return false;
	if (!conn->unsent)
		conn->unsent_at = cork->bytes;
	for (int i = 0; i < n_iov; end += iov[i++].iov_len)
		memcpy(end, iov[i].iov_base, iov[i].iov_len);
	cork->owner = conn;
	conn->unsent += len;
	return true;
}

void conn_drop_unsent(struct conn *conn)
{
	struct cork *cork = loop_gather(conn->loop);

	if (cork->owner == conn)
		cork->owner = NULL;
	free(conn->kept);
	conn->kept = NULL;
	conn->unsent = 0;
}

/* Moves the gathered bytes out of the worker's buffer, which other connections need. -1: out of memory. */
static int conn_keep(struct conn *conn)
{
	if (conn->kept)
		return 0;
	if (!(conn->kept = malloc(conn->unsent))) {
		conn->err = ENOMEM;
		return -1;
	}
	memcpy(conn->kept, conn->unsent_at, conn->unsent);
	conn->unsent_at = conn->kept;
	loop_gather(conn->loop)->owner = NULL;
	return 0;
}

ssize_t conn_writev_behind(struct conn *conn, struct iovec *iov, int n_iov, bool more)
{
	struct iovec all[1 + BEHIND_IOV];
	size_t part;
	ssize_t n;

	assert(n_iov <= BEHIND_IOV);
	for (int i = 0; i < n_iov; i++)
		all[1 + i] = iov[i];
	do {
		all[0] = (struct iovec){ conn->unsent_at, conn->unsent };
		if ((n = conn->transport->writev(conn, all, 1 + n_iov, more)) < 0)
			return n == CONN_AGAIN && conn_keep(conn) ? CONN_FAILED : n;
		part = (size_t)n < conn->unsent ? (size_t)n : conn->unsent;
		conn->unsent_at += part;
		conn->unsent -= part;
	} while (conn->unsent);
	conn_drop_unsent(conn);
	if ((size_t)n > part || !n_iov)
		return n - (ssize_t)part;
	return conn->transport->writev(conn, iov, n_iov, more);
}

int conn_flush(struct conn *conn)
{
	if (!conn->unsent)
		return 0;
	conn->held = false;
	ssize_t n = conn_writev_behind(conn, NULL, 0, false);
	return n < 0 ? (int)n : 0;
}

size_t conn_unsent(const struct conn *conn)
{
	return conn->unsent;
}
