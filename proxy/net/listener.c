/* Listening sockets; see listener.h. */
#include "proxy/net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/net/loop.h"

enum { LISTENER_BACKLOG = 4096, LISTENER_BATCH = 64, LISTENER_PAUSE_MS = 1000, LISTENER_DEFER_S = 1 };

struct listener {
	struct loop *loop;
	int fd;
	struct event *event;
	struct timer pause;
	bool accepting, added;
	bool ended;                    /* nothing waits and nothing will */
	listener_accept_f *accept;
	void (*emptied)(void *arg, struct listener *);         /* NULL: listener_finish() was not called */
	void *arg;
};

/* The client speaks first, with TLS or without: a connection is accepted when its first bytes come, and one that sends
 * nothing LISTENER_DEFER_S later. */
static void listener_defer_accept(int fd)
{
	static const int defer = LISTENER_DEFER_S;

	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer, sizeof defer);
}

/* A request is acknowledged along with its answer; for one that comes in pieces there is conn_acknowledge(). listen()
 * would undo it. */
static void listener_defer_acknowledging(int fd)
{
	static const int off;

	setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off);
}

int listener_bind(const struct sockaddr *address, socklen_t len, bool shared)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -1;
	listener_defer_accept(fd);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
	    (shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on)) ||
	    (address->sa_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on)) ||
	    bind(fd, address, len) || listen(fd, LISTENER_BACKLOG)) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	listener_defer_acknowledging(fd);
	return fd;
}

void listener_adopt(int fd)
{
	int on = 1;

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	listener_defer_accept(fd);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	listener_defer_acknowledging(fd);
}

static void listener_update(struct listener *listener)
{
	bool add = listener->accepting && !listener->pause.queue && !listener->ended;

	if (add == listener->added)
		return;
	if (add)
		event_add(listener->event, NULL);
	else
		event_del(listener->event);
	listener->added = add;
	if (add && listener->emptied)         /* no event would tell that no connection waits */
		event_active(listener->event, EV_READ, 1);
}

static void listener_on_pause_over(struct timer *timer)
{
	listener_update(container_of(timer, struct listener, pause));
}

static void listener_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;

	(void)what;
	loop_enter(listener->loop, (loop_callback *)listener_on_readable);
	if (listener->ended) {
		if (listener->emptied)
			listener->emptied(listener->arg, listener);
		return;
	}
	for (int i = 0; i < LISTENER_BATCH && listener->accepting; i++) {
		struct sockaddr_storage peer;
		socklen_t len = sizeof peer;
		int client = accept4(fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (client >= 0) {
			if (peer.ss_family == AF_UNIX)
				len = sizeof peer.ss_family;   /* the name that a client may have says nothing of it */
			listener->accept(listener->arg, client, (struct sockaddr *)&peer, len);
			/* Workers share a Unix socket, so each takes one connection at a time. */
			if (peer.ss_family == AF_UNIX || loop_is_spent(listener->loop))
				break;
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			log_warn("accept: %s; pausing for a second", strerror(errno));
			stats_add(loop_stats(listener->loop), STAT_ACCEPT_PAUSED, 1);
			loop_arm(listener->loop, &listener->pause, LISTENER_PAUSE_MS);
			listener_update(listener);
			return;
		}
		if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINVAL) {
			if (errno == EINVAL) {         /* a Unix socket after backlog_shut() stays readable for ever */
				listener->ended = true;
				listener_update(listener);
			}
			if (listener->emptied)
				listener->emptied(listener->arg, listener);
			return;
		}
	}
	if (listener->emptied && listener->added)
		event_active(listener->event, EV_READ, 1);
}

struct listener *listener_new(struct loop *loop, int fd, listener_accept_f *on_accept, void *arg)
{
	struct listener *listener = calloc(1, sizeof *listener);

	if (listener)
		listener->event = event_new(loop_base(loop), fd, EV_READ | EV_PERSIST, listener_on_readable, listener);
	if (!listener || !listener->event) {
		free(listener);
		close(fd);
		return NULL;
	}
	listener->loop = loop;
	listener->fd = fd;
	listener->accept = on_accept;
	listener->arg = arg;
	listener->pause.fire = listener_on_pause_over;
	listener_set_accepting(listener, true);
	return listener;
}

void listener_free(struct listener **lp)
{
	struct listener *listener = *lp;

	if (!listener)
		return;
	loop_disarm(listener->loop, &listener->pause);
	event_free(listener->event);
	close(listener->fd);
	free(listener);
	*lp = NULL;
}

void listener_set_accepting(struct listener *listener, bool accepting)
{
	listener->accepting = accepting;
	listener_update(listener);
}

void listener_finish(struct listener *listener, void (*emptied)(void *arg, struct listener *))
{
	listener->emptied = emptied;
	if (listener->added || listener->ended)
		event_active(listener->event, EV_READ, 1);
}
