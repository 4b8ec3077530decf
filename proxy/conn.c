/* Plain TCP connections; see conn.h. */
#include "conn.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "loop.h"

enum { CONN_PEER_MAX = INET6_ADDRSTRLEN + 10 };

struct conn {
	struct loop *loop;
	struct event *read_event, *write_event;
	conn_event_f *on_event;
	void *arg;
	int fd, err;
	bool connecting, want_read, want_write;
	struct sockaddr_storage address;
	char peer[CONN_PEER_MAX];
};

static void conn_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd, (void)what;
	c->on_event(c->arg, CONN_READABLE);
}

static void conn_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	socklen_t len = sizeof c->err;

	(void)what;
	if (!c->connecting) {
		c->on_event(c->arg, CONN_WRITABLE);
		return;
	}
	c->connecting = false;
	event_del(c->write_event);
	c->want_write = false;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &c->err, &len) < 0)
		c->err = errno;
	c->on_event(c->arg, c->err ? CONN_READABLE : CONN_CONNECTED);
}

static struct conn *conn_make(struct loop *l, int fd, conn_event_f *on_event, void *arg)
{
	struct conn *c = calloc(1, sizeof *c);
	int on = 1;

	if (!c)
		goto fail;
	c->loop = l;
	c->fd = fd;
	c->on_event = on_event;
	c->arg = arg;
	c->read_event = event_new(loop_base(l), fd, EV_READ | EV_PERSIST, conn_on_readable, c);
	c->write_event = event_new(loop_base(l), fd, EV_WRITE | EV_PERSIST, conn_on_writable, c);
	if (!c->read_event || !c->write_event)
		goto fail;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return c;
fail:
	if (c && c->read_event)
		event_free(c->read_event);
	if (c && c->write_event)
		event_free(c->write_event);
	free(c);
	close(fd);
	errno = ENOMEM;
	return NULL;
}

struct conn *conn_new(struct loop *l, int fd, conn_event_f *on_event, void *arg)
{
	struct conn *c = conn_make(l, fd, on_event, arg);
	socklen_t len = sizeof c->address;

	if (c && getpeername(fd, (struct sockaddr *)&c->address, &len) < 0)
		c->address.ss_family = AF_UNSPEC;
	return c;
}

struct conn *conn_connect(struct loop *l, const struct sockaddr *address, socklen_t len, conn_event_f *on_event, void *arg)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct conn *c;

	if (fd < 0)
		return NULL;
	if (!(c = conn_make(l, fd, on_event, arg)))
		return NULL;
	memcpy(&c->address, address, len);
	if (connect(fd, address, len) < 0 && errno != EINPROGRESS) {
		int err = errno;

		conn_close(&c);
		errno = err;
		return NULL;
	}
	c->connecting = true;
	event_add(c->write_event, NULL);
	c->want_write = true;
	return c;
}

void conn_set_owner(struct conn *c, conn_event_f *on_event, void *arg)
{
	c->on_event = on_event;
	c->arg = arg;
}

void conn_close(struct conn **cp)
{
	struct conn *c = *cp;

	if (!c)
		return;
	*cp = NULL;
	event_free(c->read_event);
	event_free(c->write_event);
	close(c->fd);
	free(c);
}

void conn_abort(struct conn **cp)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	if (*cp)
		setsockopt((*cp)->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	conn_close(cp);
}

void conn_want(struct conn *c, bool readable, bool writable)
{
	if (c->connecting)
		return;
	if (readable != c->want_read) {
		if (readable)
			event_add(c->read_event, NULL);
		else
			event_del(c->read_event);
		c->want_read = readable;
	}
	if (writable != c->want_write) {
		if (writable)
			event_add(c->write_event, NULL);
		else
			event_del(c->write_event);
		c->want_write = writable;
	}
}

static ssize_t conn_result(struct conn *c, ssize_t n)
{
	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return CONN_AGAIN;
	c->err = errno;
	return CONN_FAILED;
}

ssize_t conn_read(struct conn *c, void *buf, size_t cap)
{
	ssize_t n;

	do
		n = recv(c->fd, buf, cap, 0);
	while (n < 0 && errno == EINTR);
	return conn_result(c, n);
}

ssize_t conn_writev(struct conn *c, const struct iovec *iov, int n_iov)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n_iov };
	ssize_t n;

	do
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return conn_result(c, n);
}

void conn_shutdown_write(struct conn *c)
{
	shutdown(c->fd, SHUT_WR);
}

int conn_errno(const struct conn *c)
{
	return c->err;
}

const struct sockaddr *conn_peer_address(const struct conn *c)
{
	return (const struct sockaddr *)&c->address;
}

const char *conn_peer(const struct conn *cc)
{
	struct conn *c = (struct conn *)(uintptr_t)cc;
	char text[INET6_ADDRSTRLEN] = "";

	if (c->peer[0])
		return c->peer;
	if (c->address.ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)&c->address;

		inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
		snprintf(c->peer, sizeof c->peer, "%s:%u", text, ntohs(in->sin_port));
	} else if (c->address.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)&c->address;

		inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
		snprintf(c->peer, sizeof c->peer, "[%s]:%u", text, ntohs(in6->sin6_port));
	} else
		snprintf(c->peer, sizeof c->peer, "unknown");
	return c->peer;
}
