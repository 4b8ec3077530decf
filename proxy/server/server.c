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
#include "proxy/fleet/members.h"
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
static int server_write_addresses(const struct server *server, char *line, int cap)
{
	char text[SOCKET_TEXT_MAX];
	int n = 0;

	for (enum socket_kind kind = SOCKET_LISTEN; kind <= SOCKET_TLS_LISTEN; kind++)
		for (size_t i = 0; i < server->sockets.n && n < cap - SOCKET_TEXT_MAX - 8; i++)
			if (server->sockets.groups[i].kind == kind)
				n += snprintf(line + n, (size_t)(cap - n), " %s%s",
				    socket_address_text(text, &server->sockets.groups[i].address),
				    kind == SOCKET_TLS_LISTEN ? " (TLS)" : "");
	return n;
}

static void server_say_ready(const struct server *server)
{
	char line[SERVER_LINE_MAX];
	int n = snprintf(line, sizeof line, "utfeed %s ready on", PACKAGE_VERSION);

	n += server_write_addresses(server, line + n, (int)sizeof line - n - 1);
	line[n] = '\0';
	notify_ready(&server->notify, strstr(line, "ready"));
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		log_warn("standard error: %s", strerror(errno));
}

static void server_print_stats(struct server *server)
{
	struct stats_gauges gauges = { 0 };

	settings_print_counts(server->settings, stderr);
	cache_stats(server->cache, &gauges);
	backoff_stats(server->backoff, server_now_ms(), &gauges);
	feeds_seen_stats(server->feeds, server_wall_ms() / 1000, &gauges);
	reload_report_stats(server->report, &gauges);
	members_stats(server->members, &gauges);
	stats_tell_longest_turn(&gauges, server->stats, server->n_workers);
	stats_print(stderr, server->stats, server->n_workers + (server->admin != NULL), &gauges);
}

static void server_order(struct server *server, enum worker_order order)
{
	for (size_t i = 0; i < server->running; i++)
		worker_order(server->workers[i], order);
}

void server_reopen_logs(struct server *server)
{
	if (server->access_sink)
		access_sink_reopen(server->access_sink);
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

static void server_enter(struct server *server, struct ending *ending, enum phase phase)
{
	const struct conf *conf = server->settings->conf;
	uint64_t lasts_ms = 0;

	switch (phase) {
	case PHASE_LEAVING:
		lasts_ms = ending->handed_over ? 0 : conf->drain_delay_ms;
		notify_stopping(&server->notify, "ending: finishing what is in flight");
		if (server->admin && !ending->handed_over)
			admin_leave(server->admin);
		server_order(server, WORKER_LEAVE);
		if (lasts_ms)
			log_info(
			    "ending: clients are served until drain-delay is over, and told to come again elsewhere");
		break;
	case PHASE_SHUTTING:
		lasts_ms = SERVER_SHUT_MS;
		takeover_free(&server->takeover);
		sockets_shut(&server->sockets);
		break;
	case PHASE_DRAINING:
		lasts_ms = conf->drain_timeout_ms;
		server_order(server, WORKER_DRAIN);
		sockets_close(&server->sockets);
		log_info("ending: nobody new is accepted, what is in flight is finished");
		break;
	default:
		server_order(server, WORKER_STOP);
	}
	ending->phase = phase;
	ending->until_ms = server_now_ms() + lasts_ms;
}

/* The next process serves. This process says so to the service manager first, before the next one speaks to it. */
static void server_hand_over(struct server *server, struct ending *ending)
{
	log_info("takeover-socket: process %ld serves now", (long)takeover_heir(server->takeover));
	notify_main_pid(&server->notify, takeover_heir(server->takeover));
	notify_close(&server->notify);
	watchdog_end(&server->watchdog);
	if (server->admin)
		admin_give_up(server->admin);
	cache_retire(server->cache);
	takeover_leave(server->takeover);
	ending->handed_over = true;
	server_enter(server, ending, PHASE_LEAVING);
}

static uint64_t server_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How long to wait for a signal, in ms; -1: until one comes. */
static int server_patience(const struct server *server, const struct ending *ending, uint64_t now_ms)
{
	uint64_t due = ending->phase == PHASE_SERVING || ending->phase == PHASE_CUTTING ? UINT64_MAX : ending->until_ms;

	if (ending->phase == PHASE_SHUTTING || server->due)
		due = server_least(due, now_ms + SERVER_LOOK_MS);
	if (server->watchdog.every_ms)
		due = server_least(due, server->watchdog.due_ms);
	if (server->takeover)
		due = server_least(due, takeover_due_ms(server->takeover));
	if (due == UINT64_MAX)
		return -1;
	return due <= now_ms ? 0 : (int)server_least(due - now_ms, INT_MAX);
}

/* Waits for the next signal; 0: none came, and there may be something else to do. */
static int server_signal(const struct server *server, const struct ending *ending)
{
	struct pollfd polled[] = { { .fd = server->signals, .events = POLLIN },
		server->takeover ? takeover_poll(server->takeover) : (struct pollfd){ .fd = -1 } };
	struct signalfd_siginfo info;

	if (poll(polled, 2, server_patience(server, ending, server_now_ms())) <= 0)
		return 0;
	return read(server->signals, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* What is looked at whenever something happened. */
static void server_look(struct server *server, struct ending *ending)
{
	uint64_t now = server_now_ms();

	watchdog_look(&server->watchdog, &server->notify, server->workers, server->n_workers, now);
	switch (server->takeover ? takeover_turn(server->takeover, &server->sockets, &server->notify, now)
	    : TAKEOVER_NOTHING) {
	case TAKEOVER_NOTHING: break;
	case TAKEOVER_GIVEN: server_hand_over(server, ending); break;
	case TAKEOVER_ASKS_RELOAD: server_reload(server, false); break;
	case TAKEOVER_ASKS_TRIAL: server_reload(server, true); break;
	}
	server_end_reload(server);
}

static void server_go_on(struct server *server, struct ending *ending)
{
	if (ending->phase == PHASE_SERVING || ending->phase == PHASE_CUTTING)
		return;
	if (server_now_ms() < ending->until_ms &&
	    (ending->phase != PHASE_SHUTTING || !sockets_are_quiet(&server->sockets)))
		return;
	if (ending->phase == PHASE_DRAINING)
		log_warn("drain-timeout is over: cutting what is in flight");
	server_enter(server, ending, ending->phase + 1);
}

/* Waits for signals until every worker is done. Only then are the workers stopped: no worker needs another any more. */
static void server_wait(struct server *server)
{
	struct ending e = { .phase = PHASE_SERVING };
	size_t done = 0;

	while (done < server->running) {
		int sig = server_signal(server, &e);

		if (sig == SIGTERM || sig == SIGINT)
			server_enter(server, &e, e.phase == PHASE_SERVING ? PHASE_LEAVING : PHASE_CUTTING);
		else if (sig == SIGUSR1)
			server_print_stats(server);
		else if (sig == SIGUSR2)
			server_reopen_logs(server);
		else if (sig == SIGHUP || sig == SIG_TRY_RELOAD)
			server_reload(server, sig == SIG_TRY_RELOAD);
		else if (sig == SIG_WORKER_DONE)
			done++;
		else
			server_go_on(server, &e);
		server_look(server, &e);
	}
	server_order(server, WORKER_STOP);
}

struct settings *server_check(struct conf *conf)
{
	int status = preflight(conf);
	struct settings *settings;

	fd_limit_raise();
	if (!(settings = settings_new(conf, 0, NULL)))
		conf_free(&conf);
	else
		stores_weigh(settings);
	if (status)
		settings_unref(&settings);
	return settings;
}

/* Signals are taken by the main thread alone, where it waits for them. -1: errno says why. */
static int server_take_signals(struct server *server)
{
	const int taken[] = { SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP, SIG_WORKER_DONE,
		SIG_TRY_RELOAD };
	sigset_t signals;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		sigaddset(&signals, taken[i]);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	server->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return server->signals < 0 ? -1 : 0;
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
