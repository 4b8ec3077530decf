/* How a server starts and is taken apart: the order of the steps, and the user of each; see server_internal.h. */
#include "proxy/server/server_internal.h"

#include <limits.h>
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
#include "proxy/fleet/fleet.h"
#include "proxy/fleet/members.h"
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

void server_outdate_feeds(struct server *server, struct slice url, bool prefix)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (server->feeds)
		feeds_seen_outdate(server->feeds, url, prefix,
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
static int server_know_sockets(const struct sockets *sockets)
{
	for (size_t i = 0; i < sockets->n; i++)
		if (own_sockets_add(sockets->groups[i].fds[0])) {
			log_error("listen: out of memory");
			return -1;
		}
	return 0;
}

/* Opens the listening sockets. The former process and the service manager give some; the rest is bound. */
static int server_open_sockets(struct server *server)
{
	const struct conf *conf = server->first->conf;

	if (takeover_ask(&server->former, conf, &server->sockets, &server->notify) ||
	    inherit_sockets(&server->sockets, conf) || sockets_bind(&server->sockets, conf, server->n_workers) ||
	    server_know_sockets(&server->sockets))
		return -1;
	if (!*conf->takeover_socket)
		return 0;
	return (server->takeover = takeover_new(conf->takeover_socket, &server->former)) ? 0 : -1;
}

static int server_make_worker(struct server *server, size_t i)
{
	const struct worker_parts parts = { server->backoff, server->fleet, server->cache, server->feeds };
	struct worker_listener *listeners;
	int n = sockets_share(&server->sockets, false, i, server->n_workers, &listeners);

	if (n < 0)
		return -1;
	server->workers[i] = worker_new(server->first, &parts, i, listeners, (size_t)n);
	free(listeners);
	if (!server->workers[i])
		return -1;
	server->stats[i] = worker_stats(server->workers[i]);
	server->loops[i] = worker_loop(server->workers[i]);
	loop_set_access_sink(server->loops[i], server->access_sink);
	worker_on_done(server->workers[i], server_on_worker_done, server);
	return 0;
}

static int server_start_workers(struct server *server)
{
	for (; server->running < server->n_workers; server->running++) {
		int err = worker_start(server->workers[server->running]);

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
static int server_make_admin(struct server *server, const struct worker_listener *listeners, size_t n)
{
	const struct admin_parts parts = { server->first, server->cache, server->backoff, server->feeds,
		server->members, server->loops, server->stats, server->n_workers, server_on_drain, server_on_reload,
		&server->reloads, server->report, server };
	int *fds = calloc(n, sizeof *fds);

	for (size_t i = 0; i < n; i++)
		if (fds)
			fds[i] = listeners[i].fd;
		else
			close(listeners[i].fd);
	server->admin = fds ? admin_new(&parts, fds, n) : NULL;
	free(fds);
	return server->admin ? 0 : -1;
}

/* Whether other machines may reach a socket that the configuration does not name. Sockets that it names are warned of
 * when it is read. */
static bool server_is_wide(const struct socket_group *group)
{
	struct ip ip;

	return !group->configured && ip_from_sockaddr((const struct sockaddr *)&group->address, &ip) &&
	    !ip_is_loopback(&ip);
}

static void server_say_admin(const struct server *server)
{
	char text[SOCKET_TEXT_MAX];

	for (size_t i = 0; i < server->sockets.n; i++) {
		const struct socket_group *group = &server->sockets.groups[i];

		if (group->kind != SOCKET_ADMIN_LISTEN)
			continue;
		log_info("admin listener on %s", socket_address_text(text, &group->address));
		if (server_is_wide(group) && conf_admin_is_open(server->first->conf))
			log_warn("admin-listen: %s: " CONF_ADMIN_OPEN, text);
	}
}

/* The workers run already: the admin listener answers from the start that they do. */
static int server_start_admin(struct server *server)
{
	struct worker_listener *listeners;
	int n = sockets_share(&server->sockets, true, 0, 1, &listeners), err = 0;

	if (n > 0)
		err = server_make_admin(server, listeners, (size_t)n);
	free(listeners);
	if (n <= 0 || err)
		return n ? -1 : 0;
	server->stats[server->n_workers] = admin_stats(server->admin);
	server_say_admin(server);
	if ((err = admin_start(server->admin)))
		log_error("admin-listen: %s", strerror(err));
	return err ? -1 : 0;
}

/* Belongs to the fleet from now on, if there is one; by the loop of the first worker, which does not run yet. */
static int server_join(struct server *server)
{
	const struct conf_listen_list *admin = &server->first->conf->admin_listen;
	char name[HOST_NAME_MAX + 1] = "", at[SOCKET_TEXT_MAX] = "";
	const struct members_self self = { .name = name, .version = PACKAGE_VERSION, .admin = at,
		.sets = server->stats, .n_sets = server->n_workers };

	if (!server->fleet)
		return 0;
	fleet_begin(server->fleet);
	if (gethostname(name, sizeof name - 1) || !*name)
		strcpy(name, "localhost");
	if (admin->count && admin->items[0].host)
		snprintf(at, sizeof at, admin->items[0].ipv6 ? "[%s]:%u" : "%s:%u", admin->items[0].host,
		    admin->items[0].port);
	if ((server->members = members_new(server->fleet, server->loops[0], &self)))
		return 0;
	log_error("cache-redis: out of memory");
	return -1;
}

/* Opens, before privileges are dropped, the sockets that only the starting user may bind. The process gives up files
 * before its first thread starts, because each thread keeps the rights of the one that started it. */
static int server_open(struct server *server)
{
	struct sandbox_needs needs;
	struct privileges user;

	if (privileges_find(&user, server->first->conf) || server_open_sockets(server) ||
	    privileges_drop(&user, server->first->conf) || access_sink_new(&server->access_sink, server->first->conf))
		return -1;
	size_t memory_bytes = stores_prepare(server->first, server->n_workers);
	needs = (struct sandbox_needs){ .proc = sockets_have(&server->sockets, SOCKET_ADMIN_LISTEN),
		.abstract = notify_is_abstract(&server->notify) };
	if (sandbox_files(&server->sandbox, server->first->conf, &needs) ||
	    (server->access_sink && access_sink_start(server->access_sink)) ||
	    !(server->cache = stores_open(server->first, memory_bytes, &server->redis)) ||
	    (server->redis && !(server->fleet = fleet_new(server->redis))))
		return -1;
	backoff_share(server->backoff, server->fleet);
	return 0;
}

/* The former process lets go. */
static int server_succeed(struct server *server)
{
	bool former = server->former.fd >= 0;

	if (takeover_finish(&server->former, &server->sockets))
		return -1;
	if (former)
		cache_inherit(server->cache);
	return 0;
}

/* Some 4 MB: a feed takes 300 bytes and the length of its URL. */
enum { FEEDS_LISTED = 10000 };

int server_start(struct server *server)
{
	server->workers = calloc(server->n_workers, sizeof *server->workers);
	server->stats = calloc(server->n_workers + 1, sizeof *server->stats);
	server->loops = calloc(server->n_workers, sizeof *server->loops);
	if (!server->workers || !server->stats || !server->loops || !(server->backoff = backoff_new()) ||
	    server_open(server))
		return -1;
	if (sockets_have(&server->sockets, SOCKET_ADMIN_LISTEN) &&
	    !(server->feeds = feeds_seen_new(FEEDS_LISTED, server->n_workers)))
		return -1;
	cache_listen(server->cache, server_on_purged, server);
	for (size_t i = 0; i < server->n_workers; i++)
		if (server_make_worker(server, i))
			return -1;
	if (server_join(server) || sandbox_calls(server->first->conf) || server_start_workers(server) ||
	    server_start_admin(server) || server_succeed(server))
		return -1;
	if (server->takeover)
		takeover_own(server->takeover, server->first->conf->takeover_socket);
	return watchdog_start(&server->watchdog, &server->notify, server->workers, server->n_workers, server_now_ms());
}

void server_end(struct server *server)
{
	for (size_t i = 0; i < server->running; i++)
		worker_join(server->workers[i]);
	admin_free(&server->admin);
	members_free(&server->members);
	for (size_t i = 0; server->workers && i < server->n_workers; i++)
		worker_free(&server->workers[i]);
	access_sink_free(&server->access_sink);
	cache_free(&server->cache);
	fleet_free(&server->fleet);
	feeds_seen_free(&server->feeds);
	backoff_free(&server->backoff);
	reload_report_unref(&server->report);
	reload_report_unref(&server->due);
	settings_unref(&server->first);
	settings_unref(&server->settings);
	takeover_free(&server->takeover);
	takeover_former_free(&server->former);
	sockets_free(&server->sockets);
	own_sockets_free();
	watchdog_end(&server->watchdog);
	notify_close(&server->notify);
	if (server->signals >= 0)
		close(server->signals);
	free(server->workers);
	free(server->stats);
	free(server->loops);
}
