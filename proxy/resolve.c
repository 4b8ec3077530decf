/* Name lookups by c-ares; see resolve.h. */
#include "resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <ares.h>
#include <event2/event.h>

#include "log.h"
#include "loop.h"
#include "owner.h"

enum { RESOLVE_TIMEOUT_MS = 2000, RESOLVE_TRIES = 3, RESOLVE_TICK_MS = 1000 };

/* One of c-ares' sockets. */
struct resolve_socket {
	LIST_ENTRY(resolve_socket) link;
	struct resolver *resolver;
	ares_socket_t fd;
	struct event *read_event, *write_event;
};

struct resolver {
	struct loop *loop;
	ares_channel channel;
	unsigned waiting;              /* lookups c-ares is busy with: the timer runs while there are any */
	struct timer timer;
	LIST_HEAD(, resolve_socket) sockets;
};

struct resolve {
	struct resolver *resolver;
	struct task task;              /* delivers the result in a turn of its own */
	resolve_done_f *done;          /* NULL: cancelled; freed when c-ares lets go of it */
	void *arg;
	uint16_t port;
	bool asked;                    /* c-ares will call back */
	struct resolve_result result;
};

static pthread_once_t library_once = PTHREAD_ONCE_INIT;
static int library_status;

static void library_init(void)
{
	library_status = ares_library_init(ARES_LIB_INIT_ALL);
}

static void on_socket_readable(evutil_socket_t fd, short what, void *arg)
{
	struct resolve_socket *s = arg;

	(void)what;
	ares_process_fd(s->resolver->channel, fd, ARES_SOCKET_BAD);
}

static void on_socket_writable(evutil_socket_t fd, short what, void *arg)
{
	struct resolve_socket *s = arg;

	(void)what;
	ares_process_fd(s->resolver->channel, ARES_SOCKET_BAD, fd);
}

static void socket_free(struct resolve_socket *s)
{
	LIST_REMOVE(s, link);
	if (s->read_event)
		event_free(s->read_event);
	if (s->write_event)
		event_free(s->write_event);
	free(s);
}

static struct resolve_socket *socket_new(struct resolver *r, ares_socket_t fd)
{
	struct resolve_socket *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	LIST_INSERT_HEAD(&r->sockets, s, link);
	s->resolver = r;
	s->fd = fd;
	s->read_event = event_new(loop_base(r->loop), fd, EV_READ | EV_PERSIST, on_socket_readable, s);
	s->write_event = event_new(loop_base(r->loop), fd, EV_WRITE | EV_PERSIST, on_socket_writable, s);
	if (s->read_event && s->write_event)
		return s;
	socket_free(s);
	return NULL;
}

/* c-ares opens, watches and closes its sockets through this. Without memory for a watcher the lookup runs into its timeout. */
static void on_socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct resolver *r = arg;
	struct resolve_socket *s;

	LIST_FOREACH(s, &r->sockets, link)
		if (s->fd == fd)
			break;
	if (!readable && !writable) {
		if (s)
			socket_free(s);
		return;
	}
	if (!s && !(s = socket_new(r, fd)))
		return;
	if (readable)
		event_add(s->read_event, NULL);
	else
		event_del(s->read_event);
	if (writable)
		event_add(s->write_event, NULL);
	else
		event_del(s->write_event);
}

static void on_timer(struct timer *t)
{
	struct resolver *r = OWNER_OF(t, struct resolver, timer);

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	if (r->waiting)
		loop_arm(r->loop, &r->timer, RESOLVE_TICK_MS);
}

struct resolver *resolver_new(struct loop *l)
{
	struct resolver *r = calloc(1, sizeof *r);
	struct ares_options options = { .timeout = RESOLVE_TIMEOUT_MS, .tries = RESOLVE_TRIES, .sock_state_cb = on_socket_state,
		.sock_state_cb_data = r };
	int status;

	if (!r)
		return NULL;
	r->loop = l;
	r->timer.fire = on_timer;
	pthread_once(&library_once, library_init);
	status = library_status ? library_status :
	    ares_init_options(&r->channel, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
	if (status != ARES_SUCCESS) {
		log_error("resolver: %s", ares_strerror(status));
		free(r);
		return NULL;
	}
	return r;
}

void resolver_free(struct resolver **rp)
{
	struct resolver *r = *rp;

	if (!r)
		return;
	ares_destroy(r->channel);
	loop_disarm(r->loop, &r->timer);
	while (!LIST_EMPTY(&r->sockets))
		socket_free(LIST_FIRST(&r->sockets));
	free(r);
	*rp = NULL;
}

static void resolve_deliver(struct task *t)
{
	struct resolve *q = OWNER_OF(t, struct resolve, task);
	resolve_done_f *done = q->done;

	if (done)
		done(q->arg, &q->result);
	free(q);
}

static void resolve_add(struct resolve *q, const struct sockaddr *address, socklen_t len)
{
	struct resolve_address *a = &q->result.addresses[q->result.n];

	if (q->result.n == RESOLVE_ADDRESSES_MAX || len > sizeof a->address)
		return;
	memcpy(&a->address, address, len);
	a->len = len;
	q->result.n++;
}

static enum resolve_status resolve_classify(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return RESOLVE_OK;
	case ARES_ENOTFOUND:
	case ARES_ENODATA:
	case ARES_EBADNAME:
		return RESOLVE_NOT_FOUND;
	case ARES_ETIMEOUT:
		return RESOLVE_TIMEOUT;
	default:
		return RESOLVE_FAILED;
	}
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct resolve *q = arg;

	(void)timeouts;
	q->resolver->waiting--;
	if (status == ARES_SUCCESS)
		for (struct ares_addrinfo_node *n = info->nodes; n; n = n->ai_next)
			resolve_add(q, n->ai_addr, n->ai_addrlen);
	if (info)
		ares_freeaddrinfo(info);
	if (!q->done) {
		free(q);
		return;
	}
	q->asked = false;
	q->result.status = status == ARES_SUCCESS && !q->result.n ? RESOLVE_NOT_FOUND : resolve_classify(status);
	q->result.reason = q->result.status == RESOLVE_OK ? "" : ares_strerror(status == ARES_SUCCESS ? ARES_ENODATA : status);
	loop_defer(q->resolver->loop, &q->task);
}

/* An address as text needs no lookup. */
static bool resolve_literal(struct resolve *q, const char *host)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(q->port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(q->port) };

	if (inet_pton(AF_INET, host, &in.sin_addr) == 1)
		resolve_add(q, (struct sockaddr *)&in, sizeof in);
	else if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1)
		resolve_add(q, (struct sockaddr *)&in6, sizeof in6);
	return q->result.n;
}

struct resolve *resolve_start(struct resolver *r, const char *host, uint16_t port, resolve_done_f *done, void *arg)
{
	struct ares_addrinfo_hints hints = { .ai_flags = ARES_AI_NUMERICSERV, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct resolve *q = calloc(1, sizeof *q);
	char service[8];

	if (!q)
		return NULL;
	q->resolver = r;
	q->task.run = resolve_deliver;
	q->done = done;
	q->arg = arg;
	q->port = port;
	q->result.reason = "";
	if (resolve_literal(q, host)) {
		loop_defer(r->loop, &q->task);
		return q;
	}
	stats_add(loop_stats(r->loop), STAT_RESOLVES, 1);
	snprintf(service, sizeof service, "%u", (unsigned)port);
	q->asked = true;
	r->waiting++;
	ares_getaddrinfo(r->channel, host, service, &hints, on_answer, q);
	if (r->waiting && !r->timer.queue)
		loop_arm(r->loop, &r->timer, RESOLVE_TICK_MS);
	return q;
}

void resolve_cancel(struct resolve **qp)
{
	struct resolve *q = *qp;

	*qp = NULL;
	if (!q)
		return;
	q->done = NULL;
	if (q->asked)
		return;
	loop_undefer(q->resolver->loop, &q->task);
	free(q);
}
