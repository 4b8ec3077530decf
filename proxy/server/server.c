/* `utfeed serve`; see server.h. */
#include "proxy/server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/admin/admin.h"
#include "proxy/base/log.h"
#include "proxy/base/memory_limit.h"
#include "proxy/base/stats.h"
#include "proxy/cache/cache.h"
#include "proxy/net/backlog.h"
#include "proxy/net/listener.h"
#include "proxy/object/feeds_seen.h"
#include "proxy/origin/backoff.h"
#include "proxy/server/worker.h"
#include "proxy/settings/budget.h"
#include "proxy/settings/fd_limit.h"
#include "proxy/settings/settings.h"
#include "proxy/settings/tls_set.h"

enum {
	SERVER_REDIS_TIMEOUT_MS = 1000,
	/* a connection that brought nothing for longer has nothing to lose (LISTENER_DEFER_S) */
	SERVER_SHUT_MS = 1500,
	SERVER_LOOK_MS = 5,
	SERVER_ENTRY_MORE = 64 * 1024,     /* for heads and bookkeeping beside the largest body */
	/* less free memory of a worker is not given back to the system: every other transfer would ask for it again */
	SERVER_TRIM_BYTES = 1 << 20
};

enum { SERVER_ADDRESS_MAX = INET6_ADDRSTRLEN + 10 };

/* A worker that is done sends this signal to the main thread, which waits for signals. */
#define SIG_WORKER_DONE SIGRTMIN      /* real-time: several signals at once stay several */

struct server {
	struct settings *first;        /* resolvers and stores point into its configuration */
	struct settings *settings;     /* those in force */
	int argc;
	char **argv;
	struct cache *cache;
	struct backoff *backoff;
	size_t n_workers, running;
	struct worker **workers;
	struct stats **stats;          /* one of each worker, then that of the admin listener */
	struct loop **loops;           /* one of each worker */
	struct feeds_seen *feeds;      /* for the admin listener; NULL: there is none */
	struct admin *admin;           /* NULL: there is no admin listener */
	/* n_addresses for each worker, which owns them; they are open until the worker is told to drain */
	int *fds;
	size_t n_addresses;
	/* those of conf->listen, then those of conf->tls_listen; the port is filled in once bound */
	struct sockaddr_storage *addresses;
};

static socklen_t server_address(struct sockaddr_storage *out, const struct conf_listen *l)
{
	struct sockaddr_in *in = (void *)out;
	struct sockaddr_in6 *in6 = (void *)out;

	memset(out, 0, sizeof *out);
	if (l->ipv6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(l->port);
		inet_pton(AF_INET6, l->host, &in6->sin6_addr);
		return sizeof *in6;
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(l->port);
	inet_pton(AF_INET, l->host, &in->sin_addr);
	return sizeof *in;
}

static const char *server_address_text(char buf[SERVER_ADDRESS_MAX], const struct sockaddr_storage *a)
{
	char host[INET6_ADDRSTRLEN];

	if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)a;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
		snprintf(buf, SERVER_ADDRESS_MAX, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_in *in = (const void *)a;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
		snprintf(buf, SERVER_ADDRESS_MAX, "%s:%u", host, ntohs(in->sin_port));
	}
	return buf;
}

/* Binds one address for one worker. With SO_REUSEPORT a second utfeed could bind the port as well: before the first
 * worker binds, a probe without it finds out whether the port is free. */
static int server_bind_one(struct server *s, size_t worker, const struct sockaddr *address, socklen_t len)
{
	int probe;

	if (s->n_workers == 1)
		return listener_bind(address, len, false);
	if (!worker) {
		if ((probe = listener_bind(address, len, false)) < 0)
			return -1;
		close(probe);
	}
	return listener_bind(address, len, true);
}

/* Binds every address for one worker. -1: logged, and nothing stays open. */
static int server_bind(struct server *s, size_t worker, int *fds)
{
	for (size_t i = 0; i < s->n_addresses; i++) {
		socklen_t len =
		    s->addresses[i].ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
		char text[SERVER_ADDRESS_MAX];

		fds[i] = server_bind_one(s, worker, (struct sockaddr *)&s->addresses[i], len);
		if (fds[i] < 0) {
			log_error("listen %s: %s", server_address_text(text, &s->addresses[i]), strerror(errno));
			while (i)
				close(fds[--i]);
			return -1;
		}
		getsockname(fds[i], (struct sockaddr *)&s->addresses[i], &len);
	}
	return 0;
}

static void server_on_worker_done(void *arg)
{
	(void)arg;
	kill(getpid(), SIG_WORKER_DONE);
}

/* Opens the store behind memory, if one is configured. -1: failed, logged. */
static int server_open_second(struct server *s, struct store **second)
{
	const struct conf *conf = s->first->conf;
	const struct redis_settings redis = { .host = conf->cache_redis.host, .port = conf->cache_redis.port,
		.path = conf->cache_redis.path,
		.user = *conf->cache_redis_user ? conf->cache_redis_user : NULL,
		.password = *conf->cache_redis_password ? conf->cache_redis_password : NULL,
		.tls = conf->cache_redis_tls, .ca_file = *conf->cache_redis_ca_file ? conf->cache_redis_ca_file : NULL,
		.prefix = "utfeed:", .timeout_ms = SERVER_REDIS_TIMEOUT_MS };

	*second = NULL;
	if (*conf->cache_lmdb)
		*second = store_lmdb_new(conf->cache_lmdb, conf->cache_lmdb_bytes);
	else if (redis.host || redis.path)
		*second = store_redis_new(&redis);
	else
		return 0;
	return *second ? 0 : -1;
}

/* The budget of the memory store. Logs a warning if all that the configuration allows may not fit into memory: a
 * process that runs out of memory later is ended without a word. */
static size_t server_cache_bytes(const struct server *s)
{
	const struct conf *conf = s->first->conf;
	const struct budget b = { .group = memory_limit_group(""), .machine = memory_limit_machine(),
		.cache_bytes = conf->cache_bytes,
		.clients = s->first->max_clients * s->n_workers, .workers = s->n_workers };
	size_t bytes = budget_cache_bytes(&b);

	if (!conf->cache_bytes)
		log_info("cache-bytes auto: %zu KiB", bytes >> 10);
	if (budget_sum(&b) > budget_limit(&b))
		log_warn("memory: %zu KiB of stored responses (cache-bytes) and %zu clients (workers times "
		         "max-connections) may come to %llu KiB, but "
		         "the %s has %llu",
		    bytes >> 10, b.clients, (unsigned long long)(budget_sum(&b) >> 10),
		    b.group < b.machine ? "control group" : "machine", (unsigned long long)(budget_limit(&b) >> 10));
	return bytes;
}

static int server_open_cache(struct server *s)
{
	const struct conf *conf = s->first->conf;
	struct store *memory = store_memory_new(server_cache_bytes(s), conf->cache_object_max + SERVER_ENTRY_MORE),
	             *second = NULL;

	if (memory && !server_open_second(s, &second) && (s->cache = cache_new(memory, second)))
		return 0;
	if (memory)
		memory->ops->free(memory);
	if (second)
		second->ops->free(second);
	return -1;
}

static void server_on_drain(void *arg)
{
	(void)arg;
	kill(getpid(), SIGTERM);
}

/* Binds the addresses of the admin listener. Returns how many; -1: logged, and nothing stays open. */
static int server_bind_admin(const struct conf_listen_list *list, int *fds)
{
	for (size_t i = 0; i < list->count; i++) {
		struct sockaddr_storage address;
		socklen_t len = server_address(&address, &list->items[i]);
		char text[SERVER_ADDRESS_MAX];

		if ((fds[i] = listener_bind((struct sockaddr *)&address, len, false)) < 0) {
			log_error("admin-listen %s: %s", server_address_text(text, &address), strerror(errno));
			while (i)
				close(fds[--i]);
			return -1;
		}
		getsockname(fds[i], (struct sockaddr *)&address, &len);
		log_info("admin listener on %s", server_address_text(text, &address));
	}
	return (int)list->count;
}

/* The workers run already: the admin listener answers from the start that they do. */
static int server_start_admin(struct server *s)
{
	const struct conf_listen_list *list = &s->first->conf->admin_listen;
	const struct admin_parts parts = { s->first, s->cache, s->feeds, s->loops, s->stats, s->n_workers,
		server_on_drain, s };
	int *fds, n, err;

	if (!list->count)
		return 0;
	if (!(fds = calloc(list->count, sizeof *fds)))
		return -1;
	if ((n = server_bind_admin(list, fds)) > 0)
		s->admin = admin_new(&parts, fds, (size_t)n);
	free(fds);
	if (!s->admin)
		return -1;
	s->stats[s->n_workers] = admin_stats(s->admin);
	if ((err = admin_start(s->admin)))
		log_error("admin-listen: %s", strerror(err));
	return err ? -1 : 0;
}

static int server_start(struct server *s)
{
	const struct conf_listen_list *plain = &s->first->conf->listen, *tls = &s->first->conf->tls_listen;
	size_t n = s->n_addresses = plain->count + tls->count;
	struct worker_parts parts;

	s->fds = calloc(n * s->n_workers, sizeof *s->fds);
	s->workers = calloc(s->n_workers, sizeof *s->workers);
	s->stats = calloc(s->n_workers + 1, sizeof *s->stats);
	s->loops = calloc(s->n_workers, sizeof *s->loops);
	s->addresses = calloc(n, sizeof *s->addresses);
	if (!s->fds || !s->workers || !s->stats || !s->loops || !s->addresses || !(s->backoff = backoff_new()) ||
	    server_open_cache(s))
		return -1;
	if (s->first->conf->admin_listen.count &&
	    !(s->feeds = feeds_seen_new((size_t)s->first->conf->admin_feeds)))
		return -1;
	parts = (struct worker_parts){ s->backoff, s->cache, s->feeds };
	for (size_t i = 0; i < n; i++)
		server_address(&s->addresses[i], i < plain->count ? &plain->items[i] : &tls->items[i - plain->count]);
	for (size_t i = 0; i < s->n_workers; i++)
		if (server_bind(s, i, &s->fds[i * n]) ||
		    !(s->workers[i] = worker_new(s->first, &parts, i, &s->fds[i * n], n)))
			return -1;
	for (; s->running < s->n_workers; s->running++) {
		int err;

		s->stats[s->running] = worker_stats(s->workers[s->running]);
		s->loops[s->running] = worker_loop(s->workers[s->running]);
		worker_on_done(s->workers[s->running], server_on_worker_done, s);
		if ((err = worker_start(s->workers[s->running]))) {
			log_error("worker: %s", strerror(err));
			return -1;
		}
	}
	return server_start_admin(s);
}

static void server_say_parent(const char *scheme, const struct conf_parent *parent)
{
	if (parent->host)
		log_info("%s URLs are fetched through the parent proxy %s port %u", scheme, parent->host, parent->port);
}

static void server_say_parents(const struct conf *conf)
{
	server_say_parent("http", &conf->http_proxy);
	server_say_parent("https", &conf->https_proxy);
}

static void server_say_ready(const struct server *s)
{
	char line[1024], text[SERVER_ADDRESS_MAX];
	int n = snprintf(line, sizeof line, "utfeed %s ready on", PACKAGE_VERSION);

	for (size_t i = 0; i < s->n_addresses && n < (int)sizeof line - SERVER_ADDRESS_MAX - 8; i++)
		n += snprintf(line + n, sizeof line - (size_t)n, " %s%s", server_address_text(text, &s->addresses[i]),
		    i < s->first->conf->listen.count ? "" : " (TLS)");
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		log_warn("standard error: %s", strerror(errno));
}

static void server_print_stats(struct server *s)
{
	struct stats_gauges gauges = { 0 };

	settings_print_counts(s->settings, stderr);
	cache_stats(s->cache, &gauges);
	stats_print(stderr, s->stats, s->n_workers + (s->admin != NULL), &gauges);
}

static void server_order(struct server *s, enum worker_order order)
{
	for (size_t i = 0; i < s->n_workers; i++)
		worker_order(s->workers[i], order);
}

/* Reads the configuration again, as it is written now. NULL: it cannot be used, logged. */
static struct settings *server_read_again(const struct server *s)
{
	struct conf *conf = conf_new();
	struct settings *fresh = NULL;
	struct conf_error error = { "out of memory" };

	if (!conf || conf_load(conf, s->argc, s->argv, environ, &error) || conf_compare(s->first->conf, conf, &error))
		log_error("%s", error.text);
	else
		fresh = settings_new(conf, s->settings->generation + 1);
	if (fresh)
		settings_inherit(fresh, s->settings);
	else
		conf_free(&conf);
	return fresh;
}

static void server_reload(struct server *s)
{
	struct settings *fresh = server_read_again(s);

	if (!fresh) {
		log_error("reload: the former configuration stays in force");
		return;
	}
	log_set_level((enum log_level)fresh->conf->log_level);
	server_say_parents(fresh->conf);
	atomic_store(&fresh->awaited, (unsigned)s->running + (s->admin != NULL));
	for (size_t i = 0; i < s->running; i++)
		worker_renew(s->workers[i], fresh);
	if (s->admin)
		admin_renew(s->admin, fresh);
	settings_unref(&s->settings);
	s->settings = fresh;
}

/* The phases in which a server ends, in this order. Each but the first and the last leads to the next by itself. */
enum phase {
	PHASE_SERVING,
	PHASE_LEAVING,                 /* for drain-delay: clients are accepted, responses say Connection: close */
	PHASE_SHUTTING,                /* the kernel opens no new connections; those it has are still accepted */
	PHASE_DRAINING,                /* for drain-timeout: nothing is accepted, what is in flight ends */
	PHASE_CUTTING
};

struct ending {
	enum phase phase;
	uint64_t until_ms;             /* when the phase ends */
};

static uint64_t server_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void server_shut(struct server *s)
{
	for (size_t i = 0; i < s->n_workers * s->n_addresses; i++)
		if (backlog_shut(s->fds[i]))
			log_warn("a listener cannot be shut (%s): who comes in its last moment is lost",
			    strerror(errno));
}

/* Whether every connection that its client takes for open can be accepted already. */
static bool server_is_quiet(const struct server *s)
{
	for (size_t i = 0; i < s->n_addresses; i++)
		if (backlog_state((const struct sockaddr *)&s->addresses[i]) != BACKLOG_QUIET)
			return false;
	return true;
}

static void server_enter(struct server *s, struct ending *e, enum phase phase)
{
	const struct conf *conf = s->settings->conf;
	uint64_t lasts_ms = 0;

	switch (phase) {
	case PHASE_LEAVING:
		lasts_ms = conf->drain_delay_ms;
		if (s->admin)
			admin_leave(s->admin);
		server_order(s, WORKER_LEAVE);
		if (lasts_ms)
			log_info(
			    "ending: clients are served until drain-delay is over, and told to come again elsewhere");
		break;
	case PHASE_SHUTTING:
		lasts_ms = SERVER_SHUT_MS;
		server_shut(s);
		break;
	case PHASE_DRAINING:
		lasts_ms = conf->drain_timeout_ms;
		server_order(s, WORKER_DRAIN);
		log_info("ending: nobody new is accepted, what is in flight is finished");
		break;
	default:
		server_order(s, WORKER_STOP);
	}
	*e = (struct ending){ phase, server_now_ms() + lasts_ms };
}

/* Waits for the next signal; 0: none came, and the phase may be over. */
static int server_signal(const struct ending *e, const sigset_t *signals)
{
	uint64_t now = server_now_ms(), ms = e->until_ms > now ? e->until_ms - now : 0;
	struct timespec left;
	int sig;

	if (e->phase == PHASE_SHUTTING && ms > SERVER_LOOK_MS)
		ms = SERVER_LOOK_MS;
	left = (struct timespec){ (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
	do
		sig = e->phase == PHASE_SERVING || e->phase == PHASE_CUTTING
		    ? sigwaitinfo(signals, NULL)
		    : sigtimedwait(signals, NULL, &left);
	while (sig < 0 && errno == EINTR);
	return sig < 0 ? 0 : sig;
}

static void server_go_on(struct server *s, struct ending *e)
{
	if (server_now_ms() < e->until_ms && (e->phase != PHASE_SHUTTING || !server_is_quiet(s)))
		return;
	if (e->phase == PHASE_DRAINING)
		log_warn("drain-timeout is over: cutting what is in flight");
	server_enter(s, e, e->phase + 1);
}

/* Waits for signals until every worker is done. Only then are the workers stopped: no worker needs another any more. */
static void server_wait(struct server *s, const sigset_t *signals)
{
	struct ending e = { PHASE_SERVING, 0 };
	size_t done = 0;

	while (done < s->running) {
		int sig = server_signal(&e, signals);

		if (sig == SIGTERM || sig == SIGINT)
			server_enter(s, &e, e.phase == PHASE_SERVING ? PHASE_LEAVING : PHASE_CUTTING);
		else if (sig == SIGUSR1)
			server_print_stats(s);
		else if (sig == SIGHUP)
			server_reload(s);
		else if (sig == SIG_WORKER_DONE)
			done++;
		else
			server_go_on(s, &e);
	}
	server_order(s, WORKER_STOP);
}

int server_check(const struct conf *conf)
{
	struct tls_set *tls = tls_set_new(conf);
	int status = tls ? 0 : -1;

	tls_set_free(&tls);
	return status;
}

int server_run(struct conf *conf, int argc, char **argv)
{
	struct server s = { .argc = argc, .argv = argv, .n_workers = (size_t)conf->workers };
	int status = EXIT_FAILURE;
	sigset_t signals;

	log_set_level((enum log_level)conf->log_level);
	mallopt(M_TRIM_THRESHOLD, SERVER_TRIM_BYTES);
	signal(SIGPIPE, SIG_IGN);
	fd_limit_raise();
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIG_WORKER_DONE);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (!(s.first = settings_new(conf, 0))) {
		conf_free(&conf);
		return status;
	}
	s.settings = settings_ref(s.first);
	if (!server_start(&s)) {
		server_say_parents(conf);
		server_say_ready(&s);
		server_wait(&s, &signals);
		status = EXIT_SUCCESS;
	} else
		for (size_t i = 0; i < s.running; i++)
			worker_order(s.workers[i], WORKER_STOP);
	for (size_t i = 0; i < s.running; i++)
		worker_join(s.workers[i]);
	admin_free(&s.admin);
	for (size_t i = 0; s.workers && i < s.n_workers; i++)
		worker_free(&s.workers[i]);
	cache_free(&s.cache);
	feeds_seen_free(&s.feeds);
	backoff_free(&s.backoff);
	settings_unref(&s.first);
	settings_unref(&s.settings);
	free(s.workers);
	free(s.stats);
	free(s.loops);
	free(s.fds);
	free(s.addresses);
	return status;
}
