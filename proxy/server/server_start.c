/* How a server starts, in which order and as which user, and how it is taken apart; see server_internal.h. */
#include "proxy/server/server_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/admin/admin.h"
#include "proxy/base/log.h"
#include "proxy/cache/cache.h"
#include "proxy/net/access_sink.h"
#include "proxy/net/loop.h"
#include "proxy/net/own_sockets.h"
#include "proxy/feeds/feeds_seen.h"
#include "proxy/origin/backoff.h"
#include "proxy/sandbox/sandbox.h"
#include "proxy/server/inherit.h"
#include "proxy/server/privileges.h"
#include "proxy/server/socket_address.h"
#include "proxy/server/stores.h"
#include "proxy/server/worker.h"
#include "proxy/settings/reload_report.h"
#include "proxy/settings/settings.h"

uint64_t server_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void server_outdate_feeds(struct server *s, struct slice url, bool prefix)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (s->feeds)
		feeds_seen_outdate(s->feeds, url, prefix,
		    (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

static void server_on_purged(void *arg, enum store_purge what, const char *url, size_t len)
{
	server_outdate_feeds(arg, (struct slice){ url, what == PURGE_ALL ? 0 : len }, what != PURGE_URL);
}

int64_t server_wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void server_on_worker_done(void *arg)
{
	(void)arg;
	kill(getpid(), SIG_WORKER_DONE);
}

/* The sockets of a group have one address. */
static int server_know_sockets(const struct sockets *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (own_sockets_add(s->groups[i].fds[0])) {
			log_error("listen: out of memory");
			return -1;
		}
	return 0;
}

/* Opens the listening sockets: those of the former process, those of the service manager, and what is left to bind. */
static int server_open_sockets(struct server *s)
{
	const struct conf *conf = s->first->conf;

	if (takeover_ask(&s->former, conf, &s->sockets, &s->notify) || inherit_sockets(&s->sockets, conf) ||
	    sockets_bind(&s->sockets, conf, s->n_workers) || server_know_sockets(&s->sockets))
		return -1;
	if (!*conf->takeover_socket)
		return 0;
	return (s->takeover = takeover_new(conf->takeover_socket, &s->former)) ? 0 : -1;
}

static int server_make_worker(struct server *s, size_t i)
{
	const struct worker_parts parts = { s->backoff, s->cache, s->feeds };
	struct worker_listener *listeners;
	int n = sockets_share(&s->sockets, false, i, s->n_workers, &listeners);

	if (n < 0)
		return -1;
	s->workers[i] = worker_new(s->first, &parts, i, listeners, (size_t)n);
	free(listeners);
	if (!s->workers[i])
		return -1;
	s->stats[i] = worker_stats(s->workers[i]);
	s->loops[i] = worker_loop(s->workers[i]);
	loop_set_access_sink(s->loops[i], s->access_sink);
	worker_on_done(s->workers[i], server_on_worker_done, s);
	return 0;
}

static int server_start_workers(struct server *s)
{
	for (; s->running < s->n_workers; s->running++) {
		int err = worker_start(s->workers[s->running]);

		if (err) {
			log_error("worker: %s", strerror(err));
			return -1;
		}
	}
	return 0;
}

static void server_on_drain(void *arg)
{
	(void)arg;
	kill(getpid(), SIGTERM);
}

static void server_on_reload(void *arg, bool trial)
{
	(void)arg;
	kill(getpid(), trial ? SIG_TRY_RELOAD : SIGHUP);
}

/* Makes the admin listener of the descriptors, which are taken over. */
static int server_make_admin(struct server *s, const struct worker_listener *listeners, size_t n)
{
	const struct admin_parts parts = { s->first, s->cache, s->backoff, s->feeds, s->loops, s->stats, s->n_workers,
		server_on_drain, server_on_reload, &s->reloads, s->report, s };
	int *fds = calloc(n, sizeof *fds);

	for (size_t i = 0; i < n; i++)
		if (fds)
			fds[i] = listeners[i].fd;
		else
			close(listeners[i].fd);
	s->admin = fds ? admin_new(&parts, fds, n) : NULL;
	free(fds);
	return s->admin ? 0 : -1;
}

/* Whether other machines may reach the socket, of which the configuration has said nothing yet. */
static bool server_is_wide(const struct socket_group *g)
{
	struct ip ip;

	return !g->configured && ip_from_sockaddr((const struct sockaddr *)&g->address, &ip) && !ip_is_loopback(&ip);
}

static void server_say_admin(const struct server *s)
{
	char text[SOCKET_TEXT_MAX];

	for (size_t i = 0; i < s->sockets.n; i++) {
		const struct socket_group *g = &s->sockets.groups[i];

		if (g->kind != SOCKET_ADMIN_LISTEN)
			continue;
		log_info("admin listener on %s", socket_address_text(text, &g->address));
		if (server_is_wide(g) && conf_admin_is_open(s->first->conf))
			log_warn("admin-listen: %s: " CONF_ADMIN_OPEN, text);
	}
}

/* The workers run already: the admin listener answers from the start that they do. */
static int server_start_admin(struct server *s)
{
	struct worker_listener *listeners;
	int n = sockets_share(&s->sockets, true, 0, 1, &listeners), err = 0;

	if (n > 0)
		err = server_make_admin(s, listeners, (size_t)n);
	free(listeners);
	if (n <= 0 || err)
		return n ? -1 : 0;
	s->stats[s->n_workers] = admin_stats(s->admin);
	server_say_admin(s);
	if ((err = admin_start(s->admin)))
		log_error("admin-listen: %s", strerror(err));
	return err ? -1 : 0;
}

static int server_give_up_files(struct server *s)
{
	const struct sandbox_needs needs = { .proc = sockets_have(&s->sockets, SOCKET_ADMIN_LISTEN),
		.abstract = notify_is_abstract(&s->notify) };

	return sandbox_files(&s->sandbox, s->first->conf, &needs);
}

/* Opens as the user who started utfeed what only that one may, and everything else as the user that it becomes. What
 * starts a thread comes after the files that no thread may open. */
static int server_open(struct server *s)
{
	struct privileges user;
	size_t memory_bytes;

	if (privileges_find(&user, s->first->conf) || server_open_sockets(s) ||
	    privileges_drop(&user, s->first->conf) || access_sink_new(&s->access_sink, s->first->conf))
		return -1;
	memory_bytes = stores_prepare(s->first, s->n_workers);
	if (server_give_up_files(s) || (s->access_sink && access_sink_start(s->access_sink)) ||
	    !(s->cache = stores_open(s->first, memory_bytes, &s->redis)))
		return -1;
	return 0;
}

/* The former process lets go. */
static int server_succeed(struct server *s)
{
	bool former = s->former.fd >= 0;

	if (takeover_finish(&s->former, &s->sockets))
		return -1;
	if (former)
		cache_inherit(s->cache);
	return 0;
}

/* Some 4 MB: a feed takes 300 bytes and the length of its URL. */
enum { FEEDS_LISTED = 10000 };

int server_start(struct server *s)
{
	s->workers = calloc(s->n_workers, sizeof *s->workers);
	s->stats = calloc(s->n_workers + 1, sizeof *s->stats);
	s->loops = calloc(s->n_workers, sizeof *s->loops);
	if (!s->workers || !s->stats || !s->loops || !(s->backoff = backoff_new()) || server_open(s))
		return -1;
	if (sockets_have(&s->sockets, SOCKET_ADMIN_LISTEN) &&
	    !(s->feeds = feeds_seen_new(FEEDS_LISTED, s->n_workers)))
		return -1;
	cache_listen(s->cache, server_on_purged, s);
	for (size_t i = 0; i < s->n_workers; i++)
		if (server_make_worker(s, i))
			return -1;
	if (sandbox_calls(s->first->conf) || server_start_workers(s) || server_start_admin(s) ||
	    server_succeed(s))
		return -1;
	if (s->takeover)
		takeover_own(s->takeover, s->first->conf->takeover_socket);
	return watchdog_start(&s->watchdog, &s->notify, s->workers, s->n_workers, server_now_ms());
}

void server_end(struct server *s)
{
	for (size_t i = 0; i < s->running; i++)
		worker_join(s->workers[i]);
	admin_free(&s->admin);
	for (size_t i = 0; s->workers && i < s->n_workers; i++)
		worker_free(&s->workers[i]);
	access_sink_free(&s->access_sink);
	cache_free(&s->cache);
	feeds_seen_free(&s->feeds);
	backoff_free(&s->backoff);
	reload_report_unref(&s->report);
	reload_report_unref(&s->due);
	settings_unref(&s->first);
	settings_unref(&s->settings);
	takeover_free(&s->takeover);
	takeover_former_free(&s->former);
	sockets_free(&s->sockets);
	own_sockets_free();
	watchdog_end(&s->watchdog);
	notify_close(&s->notify);
	if (s->signals >= 0)
		close(s->signals);
	free(s->workers);
	free(s->stats);
	free(s->loops);
}
