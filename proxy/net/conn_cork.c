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

bool conn_cork(struct conn *c, struct iovec *iov, int n_iov)
{
	struct cork *g = loop_gather(c->loop);
	uint8_t *end = c->unsent ? c->unsent_at + c->unsent : g->bytes;
	size_t len = 0;

	for (int i = 0; i < n_iov; i++)
		len += iov[i].iov_len;
	if (c->kept || (g->owner && g->owner != c) || len > (size_t)(g->bytes + sizeof g->bytes - end))
		return false;
	if (!c->unsent)
		c->unsent_at = g->bytes;
	for (int i = 0; i < n_iov; end += iov[i++].iov_len)
		memcpy(end, iov[i].iov_base, iov[i].iov_len);
	g->owner = c;
	c->unsent += len;
	return true;
}

void conn_drop_unsent(struct conn *c)
{
	struct cork *g = loop_gather(c->loop);

	if (g->owner == c)
		g->owner = NULL;
	free(c->kept);
	c->kept = NULL;
	c->unsent = 0;
}

/* Moves the gathered bytes out of the worker's buffer, which other connections need. -1: out of memory. */
static int conn_keep(struct conn *c)
{
	if (c->kept)
		return 0;
	if (!(c->kept = malloc(c->unsent))) {
		c->err = ENOMEM;
		return -1;
	}
	memcpy(c->kept, c->unsent_at, c->unsent);
	c->unsent_at = c->kept;
	loop_gather(c->loop)->owner = NULL;
	return 0;
}

ssize_t conn_writev_behind(struct conn *c, struct iovec *iov, int n_iov, bool more)
{
	struct iovec all[1 + BEHIND_IOV];
	size_t part;
	ssize_t n;

	assert(n_iov <= BEHIND_IOV);
	for (int i = 0; i < n_iov; i++)
		all[1 + i] = iov[i];
	do {
		all[0] = (struct iovec){ c->unsent_at, c->unsent };
		if ((n = c->transport->writev(c, all, 1 + n_iov, more)) < 0)
			return n == CONN_AGAIN && conn_keep(c) ? CONN_FAILED : n;
		part = (size_t)n < c->unsent ? (size_t)n : c->unsent;
		c->unsent_at += part;
		c->unsent -= part;
	} while (c->unsent);
	conn_drop_unsent(c);
	if ((size_t)n > part || !n_iov)
		return n - (ssize_t)part;
	return c->transport->writev(c, iov, n_iov, more);
}

int conn_flush(struct conn *c)
{
	ssize_t n;

	if (!c->unsent)
		return 0;
	c->held = false;
	n = conn_writev_behind(c, NULL, 0, false);
	return n < 0 ? (int)n : 0;
}

size_t conn_unsent(const struct conn *c)
{
	return c->unsent;
}
