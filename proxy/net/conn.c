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
void conn_handshake(struct conn *conn)
{
	int r = conn->transport->handshake(conn);

	if (r == CONN_AGAIN) {
		conn_arm(conn);
		return;
	}
	conn->connecting = false;
	conn->need = 0;
	/* Where reading is armed it stays so: the owner is likely to want it, and conn_on_readable() disarms it
	 * otherwise. */
	if (r || !conn->armed_read)
		conn_arm(conn);
	else
		conn_arm_event(conn, &conn->write_event, &conn->armed_write, conn->want_write);
	conn->on_event(conn->arg, r ? CONN_READABLE : CONN_CONNECTED);
}

static void conn_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;
	struct loop *loop = conn->loop;      /* the callback may free the connection */

	(void)fd, (void)what;
	loop_enter(loop, (loop_callback *)conn->on_event);
	if (conn->connecting)
		conn_handshake(conn);
	else if (conn->armed_read && !conn->want_read && !(conn->need & CONN_NEED_READ))
		conn_arm(conn);           /* left armed by a handshake */
	else
		conn->on_event(conn->arg, CONN_READABLE);
	loop_leave(loop);
}

static void conn_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;
	struct loop *loop = conn->loop;      /* the callback may free the connection */

	(void)fd, (void)what;
	loop_enter(loop, (loop_callback *)conn->on_event);
	if (conn->connecting)
		conn_handshake(conn);
	else if (conn->need & CONN_NEED_WRITE) {          /* a read could not go on before TLS had written */
		conn->need = 0;
		conn_arm(conn);
		conn->on_event(conn->arg, CONN_READABLE);
	} else
		conn->on_event(conn->arg, CONN_WRITABLE);
	loop_leave(loop);
}

struct conn *conn_new(struct loop *loop, int fd, const struct sockaddr *peer, socklen_t len, conn_event_f *on_event,
    void *arg)
{
	struct conn *conn = calloc(1, sizeof *conn);

	if (!conn) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	conn->loop = loop;
	conn->transport = conn->keeper = &conn_plain;
	conn->fd = fd;
	conn->on_event = on_event;
	conn->arg = arg;
	assert(len <= sizeof conn->address);
	memcpy(&conn->address, peer, len);
	event_assign(&conn->read_event, loop_base(loop), fd, EV_READ | EV_PERSIST, conn_on_readable, conn);
	event_assign(&conn->write_event, loop_base(loop), fd, EV_WRITE | EV_PERSIST, conn_on_writable, conn);
	return conn;
}

struct conn *conn_new_without_socket(const struct conn *through, const struct conn_transport *transport)
{
	struct conn *conn = calloc(1, sizeof *conn);

	if (!conn)
		return NULL;
	conn->loop = through->loop;
	conn->transport = conn->keeper = transport;
	conn->fd = -1;
	conn->address = through->address;
	return conn;
}

struct conn *conn_connect(struct loop *loop, const struct sockaddr *address, socklen_t len, conn_event_f *on_event,
    void *arg)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
	struct conn *conn;

	if (fd < 0)
		return NULL;
	if (!(conn = conn_new(loop, fd, address, len, on_event, arg)))
		return NULL;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(fd, address, len) < 0 && errno != EINPROGRESS) {
		int err = errno;

		conn_close(&conn);
		errno = err;
		return NULL;
	}
	conn->connecting = true;
	conn->need = CONN_NEED_WRITE;
	conn_arm(conn);
	return conn;
}

void conn_set_owner(struct conn *conn, conn_event_f *on_event, void *arg)
{
	conn->on_event = on_event;
	conn->arg = arg;
}

void conn_close(struct conn **cp)
{
	struct conn *conn = *cp;

	if (!conn)
		return;
	*cp = NULL;
	if (conn->unsent)
		conn_drop_unsent(conn);
	conn->transport->shutdown(conn);
	conn->keeper->free(conn);
	/* Where received bytes are unread, close() sends a reset, and bytes that the kernel holds back would be
	 * lost. */
	if (conn->fd >= 0) {
		if (conn->held)
			shutdown(conn->fd, SHUT_WR);
		event_del(&conn->read_event);
		event_del(&conn->write_event);
		close(conn->fd);
	}
	free(conn);
}

void conn_abort(struct conn **cp)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	struct conn *conn = *cp;

	if (conn) {
		if (conn->fd >= 0)
			setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
		conn->held = false;
		conn->transport = &conn_plain;    /* no close_notify */
	}
	conn_close(cp);
}

static int broken_handshake(struct conn *conn)
{
	(void)conn;
	return CONN_FAILED;
}

static ssize_t broken_read(struct conn *conn, void *buf, size_t cap)
{
	(void)conn, (void)buf, (void)cap;
	return CONN_FAILED;
}

static ssize_t broken_writev(struct conn *conn, struct iovec *iov, int n_iov, bool more)
{
	(void)conn, (void)iov, (void)n_iov, (void)more;
	return CONN_FAILED;
}

static void broken_shutdown(struct conn *conn)
{
	(void)conn;
}

/* The transport of a connection whose socket cannot be watched. It is never a keeper. */
static const struct conn_transport conn_broken = {
	.handshake = broken_handshake, .read = broken_read, .writev = broken_writev, .shutdown = broken_shutdown
};

/* If memory to watch the socket runs out, the connection has failed; its owner gets an event in the next turn. */
static void conn_arm_event(struct conn *conn, struct event *event, bool *armed, bool arm)
{
	if (arm == *armed)
		return;
	if (!arm)
		event_del(event);
	else if (event_add(event, NULL)) {
		conn->err = ENOMEM;
		conn->transport = &conn_broken;
		event_active(event, EV_READ, 1);
		return;
	}
	*armed = arm;
}

void conn_arm(struct conn *conn)
{
	if (conn->fd < 0)
		return;
	conn_arm_event(conn, &conn->read_event, &conn->armed_read,
	    (conn->want_read && !conn->connecting) || conn->need & CONN_NEED_READ);
	conn_arm_event(conn, &conn->write_event, &conn->armed_write,
	    (conn->want_write && !conn->connecting) || conn->need & CONN_NEED_WRITE);
}

void conn_want(struct conn *conn, bool readable, bool writable)
{
	bool resumed = (readable && !conn->want_read) || (conn->fd < 0 && writable && !conn->want_write);

	if (readable == conn->want_read && writable == conn->want_write)
		return;
	conn->want_read = readable;
	conn->want_write = writable;
	conn_arm(conn);
	if (resumed && conn->keeper->pending(conn))
		conn->keeper->resume(conn);
}

ssize_t conn_result(struct conn *conn, ssize_t n)
{
	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return CONN_AGAIN;
	conn->err = errno;
	return CONN_FAILED;
}

bool conn_must_pause(const struct conn *conn)
{
	return loop_is_spent(conn->loop);
}

ssize_t conn_read(struct conn *conn, void *buf, size_t cap)
{
	conn->drained = false;
	ssize_t n = conn->transport->read(conn, buf, cap);
	if (n > 0)
		loop_took(conn->loop, (size_t)n);
	return n;
}

bool conn_discard(struct conn *conn)
{
	ssize_t n = 1;

	for (int i = 0; i < CONN_DISCARDS && n > 0; i++)
		n = conn_read(conn, loop_scratch(conn->loop), LOOP_SCRATCH_BYTES);
	return n > 0 || n == CONN_AGAIN;
}

bool conn_is_quiet(const struct conn *conn)
{
	return conn->drained && !(conn->read_event.ev_evcallback.evcb_flags & (EVLIST_ACTIVE | EVLIST_ACTIVE_LATER));
}

static ssize_t conn_write(struct conn *conn, struct iovec *iov, int n_iov, bool more)
{
	conn->held = more;
	return conn->unsent ? conn_writev_behind(conn, iov, n_iov, more)
	    : conn->transport->writev(conn, iov, n_iov, more);
}

ssize_t conn_writev(struct conn *conn, struct iovec *iov, int n_iov)
{
	return conn_write(conn, iov, n_iov, false);
}

ssize_t conn_writev_more(struct conn *conn, struct iovec *iov, int n_iov)
{
	return conn_write(conn, iov, n_iov, true);
}

bool conn_splices(const struct conn *conn)
{
	return conn->transport == &conn_plain && !splice_rests(loop_splice(conn->loop), loop_now_ms(conn->loop));
}

ssize_t conn_splice(struct conn *conn, struct iovec *iov, int n_copied, int n_iov, bool more)
{
	ssize_t n;

	if (!conn->unsent) {
		n = splice_send(loop_splice(conn->loop), loop_now_ms(conn->loop), conn->fd, iov, n_copied, n_iov, more);
		if (n < 0 && errno == ENOTSUP)
			return conn_write(conn, iov, n_iov, more);
		conn->held = more;
		return conn_result(conn, n);
	}
	ssize_t sent = conn_writev_more(conn, iov, n_copied);
	for (n = sent; n_copied && n >= (ssize_t)iov->iov_len; iov++, n_copied--, n_iov--)
		n -= (ssize_t)iov->iov_len;
	if (sent < 0 || n_copied)
		return sent;
	n = conn_splice(conn, iov, 0, n_iov, more);
	return n < 0 ? sent : sent + n;
}

void conn_acknowledge(struct conn *conn)
{
	int on = 1;

	if (conn->fd >= 0)
		setsockopt(conn->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

void conn_shutdown_write(struct conn *conn)
{
	conn->transport->shutdown(conn);
	if (conn->fd >= 0)
		shutdown(conn->fd, SHUT_WR);
}

bool conn_is_open(const struct conn *conn)
{
	return !conn->connecting;
}

enum conn_protocol conn_protocol(const struct conn *conn)
{
	return conn->keeper->protocol(conn);
}

bool conn_is_reset(const struct conn *conn)
{
	struct pollfd fd = { .fd = conn->fd };

	if (conn->fd < 0)
		return conn->keeper->failure(conn);
	return poll(&fd, 1, 0) == 1 && fd.revents & POLLERR;
}

int conn_errno(const struct conn *conn)
{
	return conn->err;
}

void conn_explain(const struct conn *conn, enum failure_kind otherwise, struct failure *failure)
{
	const struct failure *found = conn->keeper->failure(conn);

	if (!found)
		failure_set(failure, otherwise, "%s", strerror(conn->err));
	else if (found->error == FAILURE_NONE)
		failure_set(failure, otherwise, "%s", found->details);
	else
		*failure = *found;
}

const struct sockaddr *conn_peer_address(const struct conn *conn)
{
	return &conn->address.any;
}

const char *conn_peer(struct conn *conn)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (conn->peer[0])
		return conn->peer;
	if (conn->address.any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &conn->address.in.sin_addr, text, sizeof text);
		snprintf(conn->peer, sizeof conn->peer, "%s:%u", text, ntohs(conn->address.in.sin_port));
	} else if (conn->address.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &conn->address.in6.sin6_addr, text, sizeof text);
		snprintf(conn->peer, sizeof conn->peer, "[%s]:%u", text, ntohs(conn->address.in6.sin6_port));
	} else if (conn->address.any.sa_family == AF_UNIX)
		snprintf(conn->peer, sizeof conn->peer, "unix:");
	else
		snprintf(conn->peer, sizeof conn->peer, "unknown");
	return conn->peer;
}
