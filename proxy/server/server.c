/* `utfeed serve`; see server.h. */
#include "proxy/server/server.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/admin/admin.h"
#include "proxy/base/heap.h"
#include "proxy/base/log.h"
#include "proxy/base/malloc_rest.h"
#include "proxy/base/stats.h"
#include "proxy/cache/cache.h"
#include "proxy/net/access_sink.h"
#include "proxy/feeds/feeds_seen.h"
#include "proxy/origin/backoff.h"
#include "proxy/sandbox/sandbox.h"
#include "proxy/server/preflight.h"
#include "proxy/server/server_internal.h"
#include "proxy/server/socket_address.h"
#include "proxy/server/stores.h"
#include "proxy/server/worker.h"
#include "proxy/settings/fd_limit.h"
#include "proxy/settings/reload_report.h"
#include "proxy/settings/settings.h"

enum {
	/* a connection that brought nothing for longer has nothing to lose (LISTENER_DEFER_S) */
	SERVER_SHUT_MS = 1500,
	SERVER_LOOK_MS = 5,
	SERVER_LINE_MAX = 1024,
	SERVER_MISTAKEN = 2            /* exit status: the configuration has a mistake, and a restart will not help */
};

static void server_say_parent(const char *scheme, const struct conf_parent *parent)
{
	if (parent->host)
		log_info("%s URLs are fetched through the %sparent proxy %s port %u", scheme,
		    parent->kind == CONF_PARENT_SOCKS ? "SOCKS " : "", parent->host, parent->port);
}

void server_say_parents(const struct conf *conf)
{
	server_say_parent("http", &conf->http_proxy);
	server_say_parent("https", &conf->https_proxy);
}

/* Writes the addresses, those of the first kind first. Returns how long the text is. */
static int server_write_addresses(const struct server *s, char *line, int cap)
{
	char text[SOCKET_TEXT_MAX];
	int n = 0;

	for (enum socket_kind kind = SOCKET_LISTEN; kind <= SOCKET_TLS_LISTEN; kind++)
		for (size_t i = 0; i < s->sockets.n && n < cap - SOCKET_TEXT_MAX - 8; i++)
			if (s->sockets.groups[i].kind == kind)
				n += snprintf(line + n, (size_t)(cap - n), " %s%s",
				    socket_address_text(text, &s->sockets.groups[i].address),
				    kind == SOCKET_TLS_LISTEN ? " (TLS)" : "");
	return n;
}

static void server_say_ready(const struct server *s)
{
	char line[SERVER_LINE_MAX];
	int n = snprintf(line, sizeof line, "utfeed %s ready on", PACKAGE_VERSION);

	n += server_write_addresses(s, line + n, (int)sizeof line - n - 1);
	line[n] = '\0';
	notify_ready(&s->notify, strstr(line, "ready"));
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		log_warn("standard error: %s", strerror(errno));
}

static void server_print_stats(struct server *s)
{
	struct stats_gauges gauges = { 0 };

	settings_print_counts(s->settings, stderr);
	cache_stats(s->cache, &gauges);
	backoff_stats(s->backoff, server_now_ms(), &gauges);
	feeds_seen_stats(s->feeds, server_wall_ms() / 1000, &gauges);
	reload_report_stats(s->report, &gauges);
	stats_tell_longest_turn(&gauges, s->stats, s->n_workers);
	stats_print(stderr, s->stats, s->n_workers + (s->admin != NULL), &gauges);
}

static void server_order(struct server *s, enum worker_order order)
{
	for (size_t i = 0; i < s->running; i++)
		worker_order(s->workers[i], order);
}

void server_reopen_logs(struct server *s)
{
	if (s->access_sink)
		access_sink_reopen(s->access_sink);
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
	bool handed_over;              /* the next process serves: no client has to be told to go elsewhere */
};

static void server_enter(struct server *s, struct ending *e, enum phase phase)
{
	const struct conf *conf = s->settings->conf;
	uint64_t lasts_ms = 0;

	switch (phase) {
	case PHASE_LEAVING:
		lasts_ms = e->handed_over ? 0 : conf->drain_delay_ms;
		notify_stopping(&s->notify, "ending: finishing what is in flight");
		if (s->admin && !e->handed_over)
			admin_leave(s->admin);
		server_order(s, WORKER_LEAVE);
		if (lasts_ms)
			log_info(
			    "ending: clients are served until drain-delay is over, and told to come again elsewhere");
		break;
	case PHASE_SHUTTING:
		lasts_ms = SERVER_SHUT_MS;
		takeover_free(&s->takeover);
		sockets_shut(&s->sockets);
		break;
	case PHASE_DRAINING:
		lasts_ms = conf->drain_timeout_ms;
		server_order(s, WORKER_DRAIN);
		sockets_close(&s->sockets);
		log_info("ending: nobody new is accepted, what is in flight is finished");
		break;
	default:
		server_order(s, WORKER_STOP);
	}
	e->phase = phase;
	e->until_ms = server_now_ms() + lasts_ms;
}

/* The next process serves: the service manager is told so before that process tells it anything itself. */
static void server_hand_over(struct server *s, struct ending *e)
{
	log_info("takeover-socket: process %ld serves now", (long)takeover_heir(s->takeover));
	notify_main_pid(&s->notify, takeover_heir(s->takeover));
	notify_close(&s->notify);
	watchdog_end(&s->watchdog);
	if (s->admin)
		admin_give_up(s->admin);
	cache_retire(s->cache);
	takeover_leave(s->takeover);
	e->handed_over = true;
	server_enter(s, e, PHASE_LEAVING);
}

static uint64_t server_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How long to wait for a signal, in ms; -1: until one comes. */
static int server_patience(const struct server *s, const struct ending *e, uint64_t now_ms)
{
	uint64_t due = e->phase == PHASE_SERVING || e->phase == PHASE_CUTTING ? UINT64_MAX : e->until_ms;

	if (e->phase == PHASE_SHUTTING || s->due)
		due = server_least(due, now_ms + SERVER_LOOK_MS);
	if (s->watchdog.every_ms)
		due = server_least(due, s->watchdog.due_ms);
	if (s->takeover)
		due = server_least(due, takeover_due_ms(s->takeover));
	if (due == UINT64_MAX)
		return -1;
	return due <= now_ms ? 0 : (int)server_least(due - now_ms, INT_MAX);
}

/* Waits for the next signal; 0: none came, and there may be something else to do. */
static int server_signal(const struct server *s, const struct ending *e)
{
	struct pollfd polled[] = { { .fd = s->signals, .events = POLLIN },
		s->takeover ? takeover_poll(s->takeover) : (struct pollfd){ .fd = -1 } };
	struct signalfd_siginfo info;

	if (poll(polled, 2, server_patience(s, e, server_now_ms())) <= 0)
		return 0;
	return read(s->signals, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* What is looked at whenever something happened. */
static void server_look(struct server *s, struct ending *e)
{
	uint64_t now = server_now_ms();

	watchdog_look(&s->watchdog, &s->notify, s->workers, s->n_workers, now);
	switch (s->takeover ? takeover_turn(s->takeover, &s->sockets, &s->notify, now) : TAKEOVER_NOTHING) {
	case TAKEOVER_NOTHING: break;
	case TAKEOVER_GIVEN: server_hand_over(s, e); break;
	case TAKEOVER_ASKS_RELOAD: server_reload(s, false); break;
	case TAKEOVER_ASKS_TRIAL: server_reload(s, true); break;
	}
	server_end_reload(s);
}

static void server_go_on(struct server *s, struct ending *e)
{
	if (e->phase == PHASE_SERVING || e->phase == PHASE_CUTTING)
		return;
	if (server_now_ms() < e->until_ms && (e->phase != PHASE_SHUTTING || !sockets_are_quiet(&s->sockets)))
		return;
	if (e->phase == PHASE_DRAINING)
		log_warn("drain-timeout is over: cutting what is in flight");
	server_enter(s, e, e->phase + 1);
}

/* Waits for signals until every worker is done. Only then are the workers stopped: no worker needs another any more. */
static void server_wait(struct server *s)
{
	struct ending e = { .phase = PHASE_SERVING };
	size_t done = 0;

	while (done < s->running) {
		int sig = server_signal(s, &e);

		if (sig == SIGTERM || sig == SIGINT)
			server_enter(s, &e, e.phase == PHASE_SERVING ? PHASE_LEAVING : PHASE_CUTTING);
		else if (sig == SIGUSR1)
			server_print_stats(s);
		else if (sig == SIGUSR2)
			server_reopen_logs(s);
		else if (sig == SIGHUP || sig == SIG_TRY_RELOAD)
			server_reload(s, sig == SIG_TRY_RELOAD);
		else if (sig == SIG_WORKER_DONE)
			done++;
		else
			server_go_on(s, &e);
		server_look(s, &e);
	}
	server_order(s, WORKER_STOP);
}

struct settings *server_check(struct conf *conf)
{
	int status = preflight(conf);
	struct settings *s;

	fd_limit_raise();
	if (!(s = settings_new(conf, 0, NULL)))
		conf_free(&conf);
	if (status)
		settings_unref(&s);
	return s;
}

/* Signals are taken by the main thread alone, where it waits for them. -1: errno says why. */
static int server_take_signals(struct server *s)
{
	const int taken[] = { SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP, SIG_WORKER_DONE,
		SIG_TRY_RELOAD };
	sigset_t signals;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		sigaddset(&signals, taken[i]);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	s->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? -1 : 0;
}

int server_run(struct conf *conf, int argc, char **argv)
{
	struct server s = { .argc = argc, .argv = argv, .n_workers = (size_t)conf->workers, .former = { -1, -1, 0 },
		.signals = -1 };
	int status = EXIT_FAILURE;

	atomic_init(&s.reloads, 0);
	log_set_level((enum log_level)conf->log_level);
	malloc_settle();
	heap_settle();
	notify_open(&s.notify);
	if (server_take_signals(&s)) {
		conf_free(&conf);
		server_end(&s);
		return status;
	}
	if (!(s.first = server_check(conf))) {
		server_end(&s);
		return SERVER_MISTAKEN;
	}
	s.settings = settings_ref(s.first);
	if ((s.report = reload_report_new(0, false, server_wall_ms())) && !server_start(&s)) {
		server_say_parents(conf);
		server_say_ready(&s);
		server_wait(&s);
		status = EXIT_SUCCESS;
	} else
		server_order(&s, WORKER_STOP);
	server_end(&s);
	return status;
}
