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

static void greeting_free(struct greeting *greeting)
{
	struct greeting_pool *pool = greeting->pool;

	LIST_REMOVE(greeting, link);
	pool->count--;
	loop_disarm(pool->loop, &greeting->timer);
	event_free(greeting->event);
	if (greeting->fd >= 0)
		close(greeting->fd);
	free(greeting);
}

static void greeting_close(struct greeting *greeting, const char *why)
{
	struct greeting_pool *pool = greeting->pool;
	char text[REQUESTER_TEXT_MAX];

	if (why)
		log_info("proxy-protocol: %s: %s", requester_text(&greeting->who, text), why);
	stats_add(loop_stats(pool->loop), STAT_CLIENTS_REFUSED, 1);
	greeting_free(greeting);
	pool->hooks.left(pool->hooks.arg);
}

static void greeting_done(struct greeting *greeting)
{
	struct greeting_pool *pool = greeting->pool;
	struct sockaddr_storage peer = greeting->peer;
	socklen_t len = greeting->peer_len;
	struct requester who = greeting->who;
	bool tls = greeting->tls;
	int fd = greeting->fd;

	greeting->fd = -1;
	greeting_free(greeting);
	pool->hooks.greeted(pool->hooks.arg, fd, (struct sockaddr *)&peer, len, tls, &who);
}

/* Sets who the client is. A proxy that speaks for itself is known by its own address. So is one that does not know its
 * client (PROXY protocol, section 2.1), but then nothing that the request says of the client counts. */
static void greeting_introduce(struct greeting *greeting, const struct proxy_protocol *header)
{
	switch (header->whose) {
	case PROXY_PROTOCOL_CLIENT:
		greeting->who = (struct requester){ .ip = header->ip, .port = header->port, .known = true, .told = true,
		    .rights = true };
		break;
	case PROXY_PROTOCOL_LOCAL:
		greeting->who.rights = false;
		break;
	case PROXY_PROTOCOL_UNKNOWN:
		greeting->who.rights = false;
		greeting->who.settled = true;
	}
}

/* Drops bytes of the header that nobody looks at. False: nothing more can be read now, or g was freed. */
static bool greeting_skip(struct greeting *greeting)
{
	uint8_t nobody[1024];
	ssize_t n = recv(greeting->fd, nobody, greeting->skip < sizeof nobody ? greeting->skip : sizeof nobody, 0);

	if (n <= 0) {
		if (!n || (errno != EAGAIN && errno != EWOULDBLOCK))
			greeting_close(greeting, "closed within its header");
		return false;
	}
	greeting->skip -= (size_t)n;
	return true;
}

/* Looks at the bytes that have arrived, and takes those of the header. False: nothing more can be read now, or g was
 * freed. */
static bool greeting_look(struct greeting *greeting)
{
	struct proxy_protocol header;
	ssize_t n = recv(greeting->fd, greeting->head + greeting->len, sizeof greeting->head - greeting->len, MSG_PEEK);
	size_t take;

	if (n <= 0) {
		/* a probe that only checks whether the port is open sends nothing: it is not logged */
		if (!n || (errno != EAGAIN && errno != EWOULDBLOCK))
			greeting_close(greeting, greeting->len ? "closed within its header" : NULL);
		return false;
	}
	enum proxy_protocol_result r = proxy_protocol_read(&header, greeting->head, greeting->len + (size_t)n);
	take = r == PROXY_PROTOCOL_DONE && header.length < greeting->len + (size_t)n ? header.length - greeting->len
	    : (size_t)n;
	if (r == PROXY_PROTOCOL_BAD || recv(greeting->fd, greeting->head + greeting->len, take, 0) != (ssize_t)take) {
		greeting_close(greeting, "does not begin with a PROXY protocol header");
		return false;
	}
	greeting->len += take;
	if (r == PROXY_PROTOCOL_MORE) {
		assert(greeting->len < sizeof greeting->head);
		return true;
	}
	greeting_introduce(greeting, &header);
	greeting->skip = header.length - greeting->len;
	if (greeting->skip)
		return true;
	greeting_done(greeting);
	return false;
}

static void greeting_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct greeting *greeting = arg;

	(void)fd, (void)what;
	loop_enter(greeting->pool->loop, (loop_callback *)greeting_on_readable);
	for (;;) {
		bool skips = greeting->skip;

		if (!(skips ? greeting_skip(greeting) : greeting_look(greeting)))
			return;
		if (skips && !greeting->skip) {
			greeting_done(greeting);
			return;
		}
	}
}

static void greeting_on_timeout(struct timer *timer)
{
	greeting_close(container_of(timer, struct greeting, timer),
	    "its PROXY protocol header was not complete in time");
}

struct greeting_pool *greeting_pool_new(struct loop *loop, const struct greeting_hooks *hooks)
{
	struct greeting_pool *pool = calloc(1, sizeof *pool);

	if (!pool)
		return NULL;
	pool->loop = loop;
	pool->hooks = *hooks;
	LIST_INIT(&pool->waiting);
	return pool;
}

void greeting_pool_free(struct greeting_pool **pp)
{
	struct greeting_pool *pool = *pp;

	if (!pool)
		return;
	while (!LIST_EMPTY(&pool->waiting))
		greeting_free(LIST_FIRST(&pool->waiting));
	free(pool);
	*pp = NULL;
}

int greeting_accept(struct greeting_pool *pool, int fd, const struct sockaddr *peer, socklen_t len, bool tls,
    const struct requester *who, uint64_t timeout_ms)
{
	struct greeting *greeting = calloc(1, sizeof *greeting);

	if (greeting)
		greeting->event =
		    event_new(loop_base(pool->loop), fd, EV_READ | EV_PERSIST, greeting_on_readable, greeting);
	if (!greeting || !greeting->event || event_add(greeting->event, NULL)) {
		if (greeting && greeting->event)
			event_free(greeting->event);
		free(greeting);
		close(fd);
		return -1;
	}
	assert(len <= sizeof greeting->peer);
	memcpy(&greeting->peer, peer, len);
	greeting->peer_len = len;
	greeting->pool = pool;
	greeting->fd = fd;
	greeting->tls = tls;
	greeting->who = *who;
	greeting->timer.fire = greeting_on_timeout;
	LIST_INSERT_HEAD(&pool->waiting, greeting, link);
	pool->count++;
	loop_arm(pool->loop, &greeting->timer, timeout_ms);
	greeting_on_readable(fd, EV_READ, greeting);          /* the first bytes are often there already */
	return 0;
}

size_t greeting_count(const struct greeting_pool *pool)
{
	return pool->count;
}
