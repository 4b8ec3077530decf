/* Connections: descriptor, events, ownership; see conn.h. */
#include "proxy/net/conn.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "proxy/net/conn_internal.h"
#include "proxy/net/loop.h"
#include "proxy/net/splice.h"

static void conn_arm_event(struct conn *, struct event *, bool *armed, bool arm);

enum { CONN_DISCARDS = 4 };     /* reads of one call of conn_discard() */

/* One step of connecting. The owner may close the connection in its callback. */
void conn_handshake(struct conn *c)
{
	int r = c->transport->handshake(c);

	if (r == CONN_AGAIN) {
		conn_arm(c);
		return;
	}
	c->connecting = false;
	c->need = 0;
	/* Where reading is armed it stays so: the owner is likely to want it, and conn_on_readable() disarms it
	 * otherwise. */
	if (r || !c->armed_read)
		conn_arm(c);
	else
		conn_arm_event(c, &c->write_event, &c->armed_write, c->want_write);
	c->on_event(c->arg, r ? CONN_READABLE : CONN_CONNECTED);
}

static void conn_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	struct loop *l = c->loop;      /* the callback may free the connection */

	(void)fd, (void)what;
	loop_enter(l, (loop_callback *)c->on_event);
	if (c->connecting)
		conn_handshake(c);
	else if (c->armed_read && !c->want_read && !(c->need & CONN_NEED_READ))
		conn_arm(c);           /* left armed by a handshake */
	else
		c->on_event(c->arg, CONN_READABLE);
	loop_leave(l);
}

static void conn_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	struct loop *l = c->loop;      /* the callback may free the connection */

	(void)fd, (void)what;
	loop_enter(l, (loop_callback *)c->on_event);
	if (c->connecting)
		conn_handshake(c);
	else if (c->need & CONN_NEED_WRITE) {          /* a read could not go on before TLS had written */
		c->need = 0;
		conn_arm(c);
		c->on_event(c->arg, CONN_READABLE);
	} else
		c->on_event(c->arg, CONN_WRITABLE);
	loop_leave(l);
}

struct conn *conn_new(struct loop *l, int fd, const struct sockaddr *peer, socklen_t len, conn_event_f *on_event,
    void *arg)
{
	struct conn *c = calloc(1, sizeof *c);

	if (!c) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	c->loop = l;
	c->transport = c->keeper = &conn_plain;
	c->fd = fd;
	c->on_event = on_event;
	c->arg = arg;
	assert(len <= sizeof c->address);
	memcpy(&c->address, peer, len);
	event_assign(&c->read_event, loop_base(l), fd, EV_READ | EV_PERSIST, conn_on_readable, c);
	event_assign(&c->write_event, loop_base(l), fd, EV_WRITE | EV_PERSIST, conn_on_writable, c);
	return c;
}

struct conn *conn_connect(struct loop *l, const struct sockaddr *address, socklen_t len, conn_event_f *on_event,
    void *arg)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
	struct conn *c;

	if (fd < 0)
		return NULL;
	if (!(c = conn_new(l, fd, address, len, on_event, arg)))
		return NULL;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(fd, address, len) < 0 && errno != EINPROGRESS) {
		int err = errno;

		conn_close(&c);
		errno = err;
		return NULL;
	}
	c->connecting = true;
	c->need = CONN_NEED_WRITE;
	conn_arm(c);
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
	if (c->unsent)
		conn_drop_unsent(c);
	c->transport->shutdown(c);
	c->keeper->free(c);
	/* Where received bytes are unread, close() sends a reset, and bytes that the kernel holds back would be
	 * lost. */
	if (c->held)
		shutdown(c->fd, SHUT_WR);
	event_del(&c->read_event);
	event_del(&c->write_event);
	close(c->fd);
	free(c);
}

void conn_abort(struct conn **cp)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	struct conn *c = *cp;

	if (c) {
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
		c->held = false;
		c->transport = &conn_plain;    /* nothing more is said to the peer */
	}
	conn_close(cp);
}

static int broken_handshake(struct conn *c)
{
	(void)c;
	return CONN_FAILED;
}

static ssize_t broken_read(struct conn *c, void *buf, size_t cap)
{
	(void)c, (void)buf, (void)cap;
	return CONN_FAILED;
}

static ssize_t broken_writev(struct conn *c, struct iovec *iov, int n_iov, bool more)
{
	(void)c, (void)iov, (void)n_iov, (void)more;
	return CONN_FAILED;
}

static void broken_shutdown(struct conn *c)
{
	(void)c;
}

/* The transport of a connection whose socket cannot be watched. It is never a keeper. */
static const struct conn_transport conn_broken = {
	.handshake = broken_handshake, .read = broken_read, .writev = broken_writev, .shutdown = broken_shutdown
};

/* Where there is no memory to watch the socket, the connection has failed; its owner is told so in the next turn. */
static void conn_arm_event(struct conn *c, struct event *event, bool *armed, bool arm)
{
	if (arm == *armed)
		return;
	if (!arm)
		event_del(event);
	else if (event_add(event, NULL)) {
		c->err = ENOMEM;
		c->transport = &conn_broken;
		event_active(event, EV_READ, 1);
		return;
	}
	*armed = arm;
}

void conn_arm(struct conn *c)
{
	conn_arm_event(c, &c->read_event, &c->armed_read, (c->want_read && !c->connecting) || c->need & CONN_NEED_READ);
	conn_arm_event(c, &c->write_event, &c->armed_write,
	    (c->want_write && !c->connecting) || c->need & CONN_NEED_WRITE);
}

void conn_want(struct conn *c, bool readable, bool writable)
{
	bool resumed = readable && !c->want_read;

	if (readable == c->want_read && writable == c->want_write)
		return;
	c->want_read = readable;
	c->want_write = writable;
	conn_arm(c);
	if (resumed && c->keeper->pending(c))
		c->keeper->resume(c);
}

ssize_t conn_result(struct conn *c, ssize_t n)
{
	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return CONN_AGAIN;
	c->err = errno;
	return CONN_FAILED;
}

bool conn_must_pause(const struct conn *c)
{
	return loop_is_spent(c->loop);
}

ssize_t conn_read(struct conn *c, void *buf, size_t cap)
{
	ssize_t n;

	c->drained = false;
	n = c->transport->read(c, buf, cap);
	if (n > 0)
		loop_took(c->loop, (size_t)n);
	return n;
}

bool conn_discard(struct conn *c)
{
	ssize_t n = 1;

	for (int i = 0; i < CONN_DISCARDS && n > 0; i++)
		n = conn_read(c, loop_scratch(c->loop), LOOP_SCRATCH_BYTES);
	return n > 0 || n == CONN_AGAIN;
}

bool conn_is_quiet(const struct conn *c)
{
	return c->drained && !(c->read_event.ev_evcallback.evcb_flags & (EVLIST_ACTIVE | EVLIST_ACTIVE_LATER));
}

static ssize_t conn_write(struct conn *c, struct iovec *iov, int n_iov, bool more)
{
	c->held = more;
	return c->unsent ? conn_writev_behind(c, iov, n_iov, more) : c->transport->writev(c, iov, n_iov, more);
}

ssize_t conn_writev(struct conn *c, struct iovec *iov, int n_iov)
{
	return conn_write(c, iov, n_iov, false);
}

ssize_t conn_writev_more(struct conn *c, struct iovec *iov, int n_iov)
{
	return conn_write(c, iov, n_iov, true);
}

bool conn_splices(const struct conn *c)
{
	return c->transport == &conn_plain && !splice_rests(loop_splice(c->loop), loop_now_ms(c->loop));
}

ssize_t conn_splice(struct conn *c, struct iovec *iov, int n_copied, int n_iov, bool more)
{
	ssize_t n, sent;

	if (!c->unsent) {
		n = splice_send(loop_splice(c->loop), loop_now_ms(c->loop), c->fd, iov, n_copied, n_iov, more);
		if (n < 0 && errno == ENOTSUP)
			return conn_write(c, iov, n_iov, more);
		c->held = more;
		return conn_result(c, n);
	}
	sent = conn_writev_more(c, iov, n_copied);
	for (n = sent; n_copied && n >= (ssize_t)iov->iov_len; iov++, n_copied--, n_iov--)
		n -= (ssize_t)iov->iov_len;
	if (sent < 0 || n_copied)
		return sent;
	n = conn_splice(c, iov, 0, n_iov, more);
	return n < 0 ? sent : sent + n;
}

void conn_acknowledge(struct conn *c)
{
	int on = 1;

	setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

void conn_shutdown_write(struct conn *c)
{
	c->transport->shutdown(c);
	shutdown(c->fd, SHUT_WR);
}

bool conn_is_open(const struct conn *c)
{
	return !c->connecting;
}

bool conn_is_reset(const struct conn *c)
{
	struct pollfd fd = { .fd = c->fd };

	return poll(&fd, 1, 0) == 1 && fd.revents & POLLERR;
}

int conn_errno(const struct conn *c)
{
	return c->err;
}

void conn_explain(const struct conn *c, enum failure_kind otherwise, struct failure *f)
{
	const struct failure *found = c->keeper->failure(c);

	if (!found)
		failure_set(f, otherwise, "%s", strerror(c->err));
	else if (found->error == FAILURE_NONE)
		failure_set(f, otherwise, "%s", found->details);
	else
		*f = *found;
}

const struct sockaddr *conn_peer_address(const struct conn *c)
{
	return &c->address.any;
}

const char *conn_peer(struct conn *c)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (c->peer[0])
		return c->peer;
	if (c->address.any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &c->address.in.sin_addr, text, sizeof text);
		snprintf(c->peer, sizeof c->peer, "%s:%u", text, ntohs(c->address.in.sin_port));
	} else if (c->address.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &c->address.in6.sin6_addr, text, sizeof text);
		snprintf(c->peer, sizeof c->peer, "[%s]:%u", text, ntohs(c->address.in6.sin6_port));
	} else if (c->address.any.sa_family == AF_UNIX)
		snprintf(c->peer, sizeof c->peer, "unix:");
	else
		snprintf(c->peer, sizeof c->peer, "unknown");
	return c->peer;
}
