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
	struct ares_watch *watch = arg;

	(void)what;
	loop_enter(watch->owner->loop, (loop_callback *)ares_on_readable);
	ares_process_fd(watch->owner->channel, fd, ARES_SOCKET_BAD);
}

static void ares_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct ares_watch *watch = arg;

	(void)what;
	loop_enter(watch->owner->loop, (loop_callback *)ares_on_writable);
	ares_process_fd(watch->owner->channel, ARES_SOCKET_BAD, fd);
}

static void watch_free(struct ares_watch *watch)
{
	LIST_REMOVE(watch, link);
	if (watch->read_event)
		event_free(watch->read_event);
	if (watch->write_event)
		event_free(watch->write_event);
	free(watch);
}

static struct ares_watch *watch_new(struct resolve_ares *ares, ares_socket_t fd)
{
	struct ares_watch *watch = calloc(1, sizeof *watch);

	if (!watch)
		return NULL;
	LIST_INSERT_HEAD(&ares->watches, watch, link);
	watch->owner = ares;
	watch->fd = fd;
	watch->read_event = event_new(loop_base(ares->loop), fd, EV_READ | EV_PERSIST, ares_on_readable, watch);
	watch->write_event = event_new(loop_base(ares->loop), fd, EV_WRITE | EV_PERSIST, ares_on_writable, watch);
	if (watch->read_event && watch->write_event)
		return watch;
	watch_free(watch);
	return NULL;
}

/* c-ares tells by this call which of its sockets to watch and when one is closed. Without memory for a watch the
 * question runs into its timeout. */
static void on_socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct resolve_ares *ares = arg;
	struct ares_watch *watch;

	LIST_FOREACH(watch, &ares->watches, link)
		if (watch->fd == fd)
			break;
	if (!readable && !writable) {
		if (watch)
			watch_free(watch);
		return;
	}
	if (!watch && !(watch = watch_new(ares, fd)))
		return;
	if (readable)
		event_add(watch->read_event, NULL);
	else
		event_del(watch->read_event);
	if (writable)
		event_add(watch->write_event, NULL);
	else
		event_del(watch->write_event);
}

static void on_timer(struct timer *timer)
{
	struct resolve_ares *ares = container_of(timer, struct resolve_ares, timer);

	ares_process_fd(ares->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	if (ares->waiting)
		loop_arm(ares->loop, &ares->timer, ARES_TICK_MS);
}

bool resolver_takes(const char *servers)
{
	ares_channel channel;

	pthread_once(&library_once, library_init);
	if (!*servers || library_status || ares_init(&channel) != ARES_SUCCESS)
		return true;           /* what is wrong then has nothing to do with the servers */
	bool takes = ares_set_servers_ports_csv(channel, servers) == ARES_SUCCESS;
	ares_destroy(channel);
	return takes;
}

struct resolve_ares *resolve_ares_new(struct loop *loop, const char *servers, const char *resolv_conf)
{
	struct resolve_ares *ares = calloc(1, sizeof *ares);
	char lookups[] = "b", *file = strdup(resolv_conf);     /* c-ares wants them writable, and copies them */
	struct ares_options options = { .flags = ARES_FLAG_EDNS, .timeout = ARES_TIMEOUT_MS, .tries = ARES_TRIES,
		.sock_state_cb = on_socket_state, .sock_state_cb_data = ares, .lookups = lookups,
		.resolvconf_path = file };
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | ARES_OPT_LOOKUPS |
	    ARES_OPT_DOMAINS | ARES_OPT_RESOLVCONF, status;

#if ARES_VERSION >= 0x011f00    /* from 1.31 on c-ares has a cache of its own */
	options.qcache_max_ttl = 0;
	mask |= ARES_OPT_QUERY_CACHE;
#endif
	if (!ares || !file) {
		free(ares);
		free(file);
		return NULL;
	}
	ares->loop = loop;
	ares->timer.fire = on_timer;
	LIST_INIT(&ares->watches);
	pthread_once(&library_once, library_init);
	status = library_status ? library_status : ares_init_options(&ares->channel, &options, mask);
	free(file);
	if (status == ARES_SUCCESS && *servers &&
	    (status = ares_set_servers_ports_csv(ares->channel, servers)) != ARES_SUCCESS)
		ares_destroy(ares->channel);
	if (status == ARES_SUCCESS)
		return ares;
	log_error("resolver: %s", ares_strerror(status));
	free(ares);
	return NULL;
}

void resolve_ares_free(struct resolve_ares **rp)
{
	struct resolve_ares *ares = *rp;

	if (!ares)
		return;
	ares->closing = true;
	ares_destroy(ares->channel);
	loop_disarm(ares->loop, &ares->timer);
	while (!LIST_EMPTY(&ares->watches))
		watch_free(LIST_FIRST(&ares->watches));
	free(ares);
	*rp = NULL;
}

bool resolve_ares_busy(const struct resolve_ares *ares)
{
	return ares->waiting;
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

static void answer_fill(struct dns_answer *answer, const struct ares_addrinfo *info, enum dns_family family)
{
	int want = family == DNS_IPV4 ? AF_INET : AF_INET6;

	answer->ttl_s = UINT32_MAX;
	for (const struct ares_addrinfo_cname *cname = info->cnames; cname; cname = cname->next)
		if (cname->ttl >= 0 && (uint32_t)cname->ttl < answer->ttl_s)
			answer->ttl_s = (uint32_t)cname->ttl;
	for (const struct ares_addrinfo_node *node = info->nodes; node && answer->n < DNS_ADDRESSES_MAX;
	    node = node->ai_next) {
		if (node->ai_family != want)
			continue;
		if (node->ai_ttl >= 0 && (uint32_t)node->ai_ttl < answer->ttl_s)
			answer->ttl_s = (uint32_t)node->ai_ttl;
		if (family == DNS_IPV4)
			memcpy(answer->address[answer->n++],
			    &((const struct sockaddr_in *)(const void *)node->ai_addr)->sin_addr, 4);
		else
			memcpy(answer->address[answer->n++],
			    &((const struct sockaddr_in6 *)(const void *)node->ai_addr)->sin6_addr, 16);
	}
}

static void ares_on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct question *question = arg;
	struct resolve_ares *ares = question->owner;
	struct dns_answer answer = { .n = 0 };

	(void)timeouts;
	ares->waiting--;
	if (status == ARES_SUCCESS) {
		answer_fill(&answer, info, question->family);
		if (!answer.n)
			status = ARES_ENODATA;
	}
	if (info)
		ares_freeaddrinfo(info);
	answer.status = ares_classify(status);
	answer.reason = status == ARES_SUCCESS ? NULL : ares_strerror(status);
	if (!ares->closing)
		question->done(question->arg, question->family, &answer);
	free(question);
}

void resolve_ares_ask(struct resolve_ares *ares, const char *name, enum dns_family family, resolve_ares_f *done,
    void *arg)
{
	static const struct dns_answer no_memory = { .status = DNS_FAILED, .reason = "out of memory" };
	struct ares_addrinfo_hints hints = { .ai_flags = ARES_AI_NOSORT,
		.ai_family = family == DNS_IPV4 ? AF_INET : AF_INET6,
		.ai_socktype = SOCK_STREAM };
	struct question *question = malloc(sizeof *question);

	if (!question) {
		done(arg, family, &no_memory);
		return;
	}
	*question = (struct question){ ares, family, done, arg };
	ares->waiting++;
	ares_getaddrinfo(ares->channel, name, NULL, &hints, ares_on_answer, question);
	if (ares->waiting && !ares->timer.queue)
		loop_arm(ares->loop, &ares->timer, ARES_TICK_MS);
}
