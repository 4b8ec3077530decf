/* A c-ares channel; see resolve_ares.h. */
#define CARES_NO_DEPRECATED
#include "proxy/dns/resolve_ares.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <ares.h>
#include <event2/event.h>

#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/dns/resolve.h"
#include "proxy/net/loop.h"

enum { ARES_TIMEOUT_MS = 2000, ARES_TRIES = 3, ARES_TICK_MS = 1000 };

/* One of c-ares' sockets. */
struct ares_watch {
	LIST_ENTRY(ares_watch) link;
	struct resolve_ares *owner;
	ares_socket_t fd;
	struct event *read_event, *write_event;
};

struct resolve_ares {
	struct loop *loop;
	ares_channel channel;
	unsigned waiting;              /* questions without an answer: the timer runs while there are any */
	bool closing;
	struct timer timer;
	LIST_HEAD(, ares_watch) watches;
};

struct question {
	struct resolve_ares *owner;
	enum dns_family family;
	resolve_ares_f *done;
	void *arg;
};

static pthread_once_t library_once = PTHREAD_ONCE_INIT;
static int library_status;

static void library_init(void)
{
	library_status = ares_library_init(ARES_LIB_INIT_ALL);
}

static void ares_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct ares_watch *w = arg;

	(void)what;
	loop_enter(w->owner->loop, (loop_callback *)ares_on_readable);
	ares_process_fd(w->owner->channel, fd, ARES_SOCKET_BAD);
}

static void ares_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct ares_watch *w = arg;

	(void)what;
	loop_enter(w->owner->loop, (loop_callback *)ares_on_writable);
	ares_process_fd(w->owner->channel, ARES_SOCKET_BAD, fd);
}

static void watch_free(struct ares_watch *w)
{
	LIST_REMOVE(w, link);
	if (w->read_event)
		event_free(w->read_event);
	if (w->write_event)
		event_free(w->write_event);
	free(w);
}

static struct ares_watch *watch_new(struct resolve_ares *r, ares_socket_t fd)
{
	struct ares_watch *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	LIST_INSERT_HEAD(&r->watches, w, link);
	w->owner = r;
	w->fd = fd;
	w->read_event = event_new(loop_base(r->loop), fd, EV_READ | EV_PERSIST, ares_on_readable, w);
	w->write_event = event_new(loop_base(r->loop), fd, EV_WRITE | EV_PERSIST, ares_on_writable, w);
	if (w->read_event && w->write_event)
		return w;
	watch_free(w);
	return NULL;
}

/* c-ares tells by this call which of its sockets to watch and when one is closed. Without memory for a watch the
 * question runs into its timeout. */
static void on_socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct resolve_ares *r = arg;
	struct ares_watch *w;

	LIST_FOREACH(w, &r->watches, link)
		if (w->fd == fd)
			break;
	if (!readable && !writable) {
		if (w)
			watch_free(w);
		return;
	}
	if (!w && !(w = watch_new(r, fd)))
		return;
	if (readable)
		event_add(w->read_event, NULL);
	else
		event_del(w->read_event);
	if (writable)
		event_add(w->write_event, NULL);
	else
		event_del(w->write_event);
}

static void on_timer(struct timer *t)
{
	struct resolve_ares *r = container_of(t, struct resolve_ares, timer);

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	if (r->waiting)
		loop_arm(r->loop, &r->timer, ARES_TICK_MS);
}

bool resolver_takes(const char *servers)
{
	ares_channel channel;
	bool takes;

	pthread_once(&library_once, library_init);
	if (!*servers || library_status || ares_init(&channel) != ARES_SUCCESS)
		return true;           /* what is wrong then has nothing to do with the servers */
	takes = ares_set_servers_ports_csv(channel, servers) == ARES_SUCCESS;
	ares_destroy(channel);
	return takes;
}

struct resolve_ares *resolve_ares_new(struct loop *l, const char *servers, const char *resolv_conf)
{
	struct resolve_ares *r = calloc(1, sizeof *r);
	char lookups[] = "b", *file = strdup(resolv_conf);     /* c-ares wants them writable, and copies them */
	struct ares_options options = { .flags = ARES_FLAG_EDNS, .timeout = ARES_TIMEOUT_MS, .tries = ARES_TRIES,
		.sock_state_cb = on_socket_state, .sock_state_cb_data = r, .lookups = lookups,
		.resolvconf_path = file };
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS |
	    ARES_OPT_DOMAINS | ARES_OPT_RESOLVCONF, status;

#if ARES_VERSION >= 0x011f00    /* from 1.31 on c-ares has a cache of its own */
	options.qcache_max_ttl = 0;
	mask |= ARES_OPT_QUERY_CACHE;
#endif
	if (!r || !file) {
		free(r);
		free(file);
		return NULL;
	}
	r->loop = l;
	r->timer.fire = on_timer;
	LIST_INIT(&r->watches);
	pthread_once(&library_once, library_init);
	status = library_status ? library_status : ares_init_options(&r->channel, &options, mask);
	free(file);
	if (status == ARES_SUCCESS && *servers &&
	    (status = ares_set_servers_ports_csv(r->channel, servers)) != ARES_SUCCESS)
		ares_destroy(r->channel);
	if (status == ARES_SUCCESS)
		return r;
	log_error("resolver: %s", ares_strerror(status));
	free(r);
	return NULL;
}

void resolve_ares_free(struct resolve_ares **rp)
{
	struct resolve_ares *r = *rp;

	if (!r)
		return;
	r->closing = true;
	ares_destroy(r->channel);
	loop_disarm(r->loop, &r->timer);
	while (!LIST_EMPTY(&r->watches))
		watch_free(LIST_FIRST(&r->watches));
	free(r);
	*rp = NULL;
}

bool resolve_ares_busy(const struct resolve_ares *r)
{
	return r->waiting;
}

static enum dns_status ares_classify(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return DNS_OK;
	case ARES_ENOTFOUND:
	case ARES_ENODATA:
	case ARES_EBADNAME:
		return DNS_NOT_FOUND;
	case ARES_ETIMEOUT:
		return DNS_TIMEOUT;
	default:
		return DNS_FAILED;
	}
}

static void answer_fill(struct dns_answer *a, const struct ares_addrinfo *info, enum dns_family family)
{
	int want = family == DNS_IPV4 ? AF_INET : AF_INET6;

	a->ttl_s = UINT32_MAX;
	for (const struct ares_addrinfo_cname *c = info->cnames; c; c = c->next)
		if (c->ttl >= 0 && (uint32_t)c->ttl < a->ttl_s)
			a->ttl_s = (uint32_t)c->ttl;
	for (const struct ares_addrinfo_node *n = info->nodes; n && a->n < DNS_ADDRESSES_MAX; n = n->ai_next) {
		if (n->ai_family != want)
			continue;
		if (n->ai_ttl >= 0 && (uint32_t)n->ai_ttl < a->ttl_s)
			a->ttl_s = (uint32_t)n->ai_ttl;
		if (family == DNS_IPV4)
			memcpy(a->address[a->n++], &((const struct sockaddr_in *)(const void *)n->ai_addr)->sin_addr,
			    4);
		else
			memcpy(a->address[a->n++], &((const struct sockaddr_in6 *)(const void *)n->ai_addr)->sin6_addr,
			    16);
	}
}

static void ares_on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct question *q = arg;
	struct resolve_ares *r = q->owner;
	struct dns_answer answer = { .n = 0 };

	(void)timeouts;
	r->waiting--;
	if (status == ARES_SUCCESS) {
		answer_fill(&answer, info, q->family);
		if (!answer.n)
			status = ARES_ENODATA;
	}
	if (info)
		ares_freeaddrinfo(info);
	answer.status = ares_classify(status);
	answer.reason = status == ARES_SUCCESS ? NULL : ares_strerror(status);
	if (!r->closing)
		q->done(q->arg, q->family, &answer);
	free(q);
}

void resolve_ares_ask(struct resolve_ares *r, const char *name, enum dns_family family, resolve_ares_f *done, void *arg)
{
	static const struct dns_answer no_memory = { .status = DNS_FAILED, .reason = "out of memory" };
	struct ares_addrinfo_hints hints = { .ai_flags = ARES_AI_NOSORT,
		.ai_family = family == DNS_IPV4 ? AF_INET : AF_INET6,
		.ai_socktype = SOCK_STREAM };
	struct question *q = malloc(sizeof *q);

	if (!q) {
		done(arg, family, &no_memory);
		return;
	}
	*q = (struct question){ r, family, done, arg };
	r->waiting++;
	ares_getaddrinfo(r->channel, name, NULL, &hints, ares_on_answer, q);
	if (r->waiting && !r->timer.queue)
		loop_arm(r->loop, &r->timer, ARES_TICK_MS);
}
