/* Connections that begin with a PROXY protocol header; see greeting.h. */
#include "proxy/client/greeting.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include <event2/event.h>

#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/net/loop.h"
#include "proxy/net/proxy_protocol.h"

struct greeting {
	LIST_ENTRY(greeting) link;
	struct greeting_pool *pool;
	int fd;                        /* -1: handed over */
	struct event *event;
	struct timer timer;
	struct sockaddr_storage peer;
	socklen_t peer_len;
	bool tls;
	struct requester who;
	uint8_t head[PROXY_PROTOCOL_MAX];
	size_t len;                    /* bytes of the header taken from the socket into head */
	size_t skip;                   /* bytes of the header still to come, which are dropped */
};

struct greeting_pool {
	struct loop *loop;
	struct greeting_hooks hooks;
	LIST_HEAD(, greeting) waiting;
	size_t count;
};

static void greeting_free(struct greeting *g)
{
	struct greeting_pool *p = g->pool;

	LIST_REMOVE(g, link);
	p->count--;
	loop_disarm(p->loop, &g->timer);
	event_free(g->event);
	if (g->fd >= 0)
		close(g->fd);
	free(g);
}

static void greeting_close(struct greeting *g, const char *why)
{
	struct greeting_pool *p = g->pool;
	char text[REQUESTER_TEXT_MAX];

	if (why)
		log_info("proxy-protocol: %s: %s", requester_text(&g->who, text), why);
	stats_add(loop_stats(p->loop), STAT_CLIENTS_REFUSED, 1);
	greeting_free(g);
	p->hooks.left(p->hooks.arg);
}

static void greeting_done(struct greeting *g)
{
	struct greeting_pool *p = g->pool;
	struct sockaddr_storage peer = g->peer;
	socklen_t len = g->peer_len;
	struct requester who = g->who;
	bool tls = g->tls;
	int fd = g->fd;

	g->fd = -1;
	greeting_free(g);
	p->hooks.greeted(p->hooks.arg, fd, (struct sockaddr *)&peer, len, tls, &who);
}

/* Sets who the client is. A proxy that speaks for itself is known by its own address. So is one that does not know its
 * client (PROXY protocol, section 2.1), but then nothing that the request says of the client counts. */
static void greeting_introduce(struct greeting *g, const struct proxy_protocol *p)
{
	switch (p->whose) {
	case PROXY_PROTOCOL_CLIENT:
		g->who = (struct requester){ .ip = p->ip, .port = p->port, .known = true, .told = true,
		    .rights = true };
		break;
	case PROXY_PROTOCOL_LOCAL:
		g->who.rights = false;
		break;
	case PROXY_PROTOCOL_UNKNOWN:
		g->who.rights = false;
		g->who.settled = true;
	}
}

/* Drops bytes of the header that nobody looks at. False: nothing more can be read now, or g was freed. */
static bool greeting_skip(struct greeting *g)
{
	uint8_t nobody[1024];
	ssize_t n = recv(g->fd, nobody, g->skip < sizeof nobody ? g->skip : sizeof nobody, 0);

	if (n <= 0) {
		if (!n || (errno != EAGAIN && errno != EWOULDBLOCK))
			greeting_close(g, "closed within its header");
		return false;
	}
	g->skip -= (size_t)n;
	return true;
}

/* Looks at the bytes that have arrived, and takes those of the header. False: nothing more can be read now, or g was
 * freed. */
static bool greeting_look(struct greeting *g)
{
	struct proxy_protocol header;
	ssize_t n = recv(g->fd, g->head + g->len, sizeof g->head - g->len, MSG_PEEK);
	enum proxy_protocol_result r;
	size_t take;

	if (n <= 0) {
		/* a probe that only checks whether the port is open sends nothing: it is not logged */
		if (!n || (errno != EAGAIN && errno != EWOULDBLOCK))
			greeting_close(g, g->len ? "closed within its header" : NULL);
		return false;
	}
	r = proxy_protocol_read(&header, g->head, g->len + (size_t)n);
	take = r == PROXY_PROTOCOL_DONE && header.length < g->len + (size_t)n ? header.length - g->len : (size_t)n;
	if (r == PROXY_PROTOCOL_BAD || recv(g->fd, g->head + g->len, take, 0) != (ssize_t)take) {
		greeting_close(g, "does not begin with a PROXY protocol header");
		return false;
	}
	g->len += take;
	if (r == PROXY_PROTOCOL_MORE) {
		assert(g->len < sizeof g->head);
		return true;
	}
	greeting_introduce(g, &header);
	g->skip = header.length - g->len;
	if (g->skip)
		return true;
	greeting_done(g);
	return false;
}

static void greeting_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct greeting *g = arg;

	(void)fd, (void)what;
	loop_enter(g->pool->loop, (loop_callback *)greeting_on_readable);
	for (;;) {
		bool skips = g->skip;

		if (!(skips ? greeting_skip(g) : greeting_look(g)))
			return;
		if (skips && !g->skip) {
			greeting_done(g);
			return;
		}
	}
}

static void greeting_on_timeout(struct timer *t)
{
	greeting_close(container_of(t, struct greeting, timer), "its PROXY protocol header was not complete in time");
}

struct greeting_pool *greeting_pool_new(struct loop *l, const struct greeting_hooks *hooks)
{
	struct greeting_pool *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->loop = l;
	p->hooks = *hooks;
	LIST_INIT(&p->waiting);
	return p;
}

void greeting_pool_free(struct greeting_pool **pp)
{
	struct greeting_pool *p = *pp;

	if (!p)
		return;
	while (!LIST_EMPTY(&p->waiting))
		greeting_free(LIST_FIRST(&p->waiting));
	free(p);
	*pp = NULL;
}

int greeting_accept(struct greeting_pool *p, int fd, const struct sockaddr *peer, socklen_t len, bool tls,
    const struct requester *who, uint64_t timeout_ms)
{
	struct greeting *g = calloc(1, sizeof *g);

	if (g)
		g->event = event_new(loop_base(p->loop), fd, EV_READ | EV_PERSIST, greeting_on_readable, g);
	if (!g || !g->event || event_add(g->event, NULL)) {
		if (g && g->event)
			event_free(g->event);
		free(g);
		close(fd);
		return -1;
	}
	assert(len <= sizeof g->peer);
	memcpy(&g->peer, peer, len);
	g->peer_len = len;
	g->pool = p;
	g->fd = fd;
	g->tls = tls;
	g->who = *who;
	g->timer.fire = greeting_on_timeout;
	LIST_INSERT_HEAD(&p->waiting, g, link);
	p->count++;
	loop_arm(p->loop, &g->timer, timeout_ms);
	greeting_on_readable(fd, EV_READ, g);          /* the first bytes are often there already */
	return 0;
}

size_t greeting_count(const struct greeting_pool *p)
{
	return p->count;
}
