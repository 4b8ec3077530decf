/* One worker; see worker.h. */
#include "proxy/server/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>

#include "conf/conf.h"
#include "proxy/base/container_of.h"
#include "proxy/base/heap.h"
#include "proxy/base/log.h"
#include "proxy/base/malloc_rest.h"
#include "proxy/client/client.h"
#include "proxy/client/greeting.h"
#include "proxy/dns/resolve.h"
#include "proxy/net/listener.h"
#include "proxy/net/loop.h"
#include "proxy/object/object.h"
#include "proxy/origin/fetch.h"
#include "proxy/origin/pool.h"
#include "proxy/settings/settings.h"
#include "proxy/settings/tls_set.h"

enum {
	WORKER_IDLE_MAX = 1024,        /* idle connections to all origins together */
	WORKER_IDLE_MS = 30 * 1000,    /* how long one stays open */
	WORKER_RESTS = 16              /* rests after the last client: by halves, all there was is given back by then */
};

struct worker {
	struct settings *settings;     /* those in force; one reference */
	_Atomic(struct settings *) next;       /* ordered, but not in force yet; one reference; NULL: none */
	pthread_t thread;
	struct loop *loop;
	struct resolver *resolver;
	struct pool *connections;
	struct fetch_pool *fetches;
	struct client_pool *clients;
	struct greeting_pool *greetings;
	struct listening { struct listener *listener; const atomic_bool *given; } *listeners;
	size_t n_listeners;
	int mailbox;                   /* eventfd, readable when orders have come in */
	struct event *mail_event;
	atomic_uint orders;            /* one bit for each enum worker_order */
	atomic_uint turns;
	struct timer rest;             /* armed while there are clients, or memory to give back */
	struct malloc_rest malloc_rest;
	uint64_t requests;             /* as of the last rest */
	unsigned quiet;                /* rests since a client was there */
	bool draining, accepting, done;
	void (*on_done)(void *arg);
	void *done_arg;
};

static void worker_close_listener(struct worker *worker, size_t i)
{
	listener_free(&worker->listeners[i].listener);
	worker->listeners[i] = worker->listeners[--worker->n_listeners];
}

static void worker_close_listeners(struct worker *worker)
{
	for (size_t i = 0; i < worker->n_listeners; i++)
		listener_free(&worker->listeners[i].listener);
	worker->n_listeners = 0;
}

static void worker_set_accepting(struct worker *worker, bool accepting)
{
	worker->accepting = accepting;
	for (size_t i = 0; i < worker->n_listeners; i++)
		listener_set_accepting(worker->listeners[i].listener, accepting);
}

/* How many clients the worker has; connections whose PROXY protocol header is still to come count too. */
static size_t worker_clients(const struct worker *worker)
{
	return client_count(worker->clients) + greeting_count(worker->greetings);
}

static bool worker_is_full(const struct worker *worker)
{
	return worker_clients(worker) >= worker->settings->max_clients;
}

/* Gives back what memory is not needed any more; ends once nobody has been there for a while. */
static void worker_on_rest(struct timer *timer)
{
	struct worker *worker = container_of(timer, struct worker, rest);
	uint64_t requests = stats_get(&loop_stats(worker->loop)->value[STAT_REQUESTS]);
	bool more = heap_rest(loop_now_ms(worker->loop));

	if (more) {
		loop_arm(worker->loop, timer, HEAP_REST_SOON_MS);
		return;
	}
	if (malloc_rests(&worker->malloc_rest, requests - worker->requests)) {
		client_pool_rest(worker->clients);
		fetch_pool_rest(worker->fetches);
		malloc_give_back();
	}
	worker->requests = requests;
	worker->quiet = worker_clients(worker) ? 0 : worker->quiet + 1;
	if (worker->quiet < WORKER_RESTS)
		loop_arm(worker->loop, timer, HEAP_REST_MS);
}

static void worker_serve(struct worker *worker, int fd, const struct sockaddr *peer, socklen_t len, bool tls,
    const struct requester *who)
{
	struct tls_context *context = tls ? tls_set_door(worker->settings->tls, TLS_DOOR_CLIENTS) : NULL;

	if (client_accept(worker->clients, fd, peer, len, context, who))
		stats_add(loop_stats(worker->loop), STAT_CLIENTS_REFUSED, 1);
}

static void worker_take(struct worker *worker, int fd, const struct sockaddr *peer, socklen_t len, bool tls)
{
	const struct conf *conf = worker->settings->conf;
	struct requester who;

	requester_of_peer(&who, peer);
	if (!worker->rest.queue)
		loop_arm(worker->loop, &worker->rest, HEAP_REST_MS);
	worker->quiet = 0;
	if (worker_is_full(worker) && !(tls && client_is_forbidden(worker->clients, &who)))
		client_pool_give_up(worker->clients);
	if (!conf->proxy_protocol || !requester_is_trusted(&who, conf))
		worker_serve(worker, fd, peer, len, tls, &who);
	else if (greeting_accept(worker->greetings, fd, peer, len, tls, &who, conf->request_timeout_ms))
		stats_add(loop_stats(worker->loop), STAT_CLIENTS_REFUSED, 1);
	if (worker_is_full(worker) && !client_pool_has_idle(worker->clients))
		worker_set_accepting(worker, false);
}

static void worker_on_accept(void *arg, int fd, const struct sockaddr *peer, socklen_t len)
{
	worker_take(arg, fd, peer, len, false);
}

static void worker_on_accept_tls(void *arg, int fd, const struct sockaddr *peer, socklen_t len)
{
	worker_take(arg, fd, peer, len, true);
}

static void worker_say_done(struct worker *worker)
{
	if (!worker->done && worker->on_done)
		worker->on_done(worker->done_arg);
	worker->done = true;
}

/* Reports that the worker is done if it is draining and no client is left or waits to be accepted. Its fetches go on:
 * other workers' clients may read their objects. */
static void worker_end_if_done(struct worker *worker)
{
	if (worker->draining && !worker->n_listeners && !worker_clients(worker))
		worker_say_done(worker);
}

static void worker_on_clients_changed(void *arg)
{
	struct worker *worker = arg;

	worker_end_if_done(worker);
	if (!worker->accepting)
		worker_set_accepting(worker, true);
}

/* Serves a connection whose header was read. If its client is turned away, no other callback tells that it left: so
 * what follows from that is done here. */
static void worker_on_greeted(void *arg, int fd, const struct sockaddr *peer, socklen_t len, bool tls,
    const struct requester *who)
{
	struct worker *worker = arg;

	worker_serve(worker, fd, peer, len, tls, who);
	worker_end_if_done(worker);
	if (!worker->accepting && !worker_is_full(worker))
		worker_set_accepting(worker, true);
}

static void worker_on_emptied(void *arg, struct listener *listener)
{
	struct worker *worker = arg;
	size_t i = 0;

	while (worker->listeners[i].listener != listener)
		i++;
	worker_close_listener(worker, i);
	worker_end_if_done(worker);
}

/* Puts the settings in force; takes over the reference. */
static void worker_take_settings(struct worker *worker, struct settings *settings)
{
	const struct conf *conf = settings->conf;
	const struct pool_limits limits = { (size_t)conf->origin_idle, WORKER_IDLE_MAX, WORKER_IDLE_MS,
		pool_h2_settings(conf) };

	pool_renew(worker->connections, &limits, settings->generation);
	client_pool_set(worker->clients, settings);
	settings_unref(&worker->settings);
	worker->settings = settings;
}

static void worker_on_renew(struct worker *worker)
{
	struct settings *settings = atomic_exchange(&worker->next, NULL);

	if (!settings)
		return;
	worker_take_settings(worker, settings);
	settings_taken(settings);
	if (!worker->accepting && (!worker_is_full(worker) || client_pool_has_idle(worker->clients)))
		worker_set_accepting(worker, true);
}

static void worker_drain(struct worker *worker)
{
	if (worker->draining)
		return;
	worker->draining = true;
	client_pool_drain(worker->clients);
	for (size_t i = worker->n_listeners; i--;)
		if (atomic_load(worker->listeners[i].given))
			worker_close_listener(worker, i);
		else
			listener_finish(worker->listeners[i].listener, worker_on_emptied);
	worker_end_if_done(worker);
}

static void worker_on_mail(evutil_socket_t fd, short what, void *arg)
{
	struct worker *worker = arg;
	unsigned orders = atomic_exchange(&worker->orders, 0);
	eventfd_t ignored;

	(void)what;
	loop_enter(worker->loop, (loop_callback *)worker_on_mail);
	eventfd_read(fd, &ignored);
	atomic_fetch_add(&worker->turns, 1);
	if (orders & 1u << WORKER_STOP) {
		loop_stop(worker->loop);
		return;
	}
	if (orders & 1u << WORKER_RENEW)
		worker_on_renew(worker);
	if (orders & 1u << WORKER_LEAVE)
		client_pool_leave(worker->clients);
	if (orders & 1u << WORKER_DRAIN)
		worker_drain(worker);
}

struct worker *worker_new(struct settings *settings, const struct worker_parts *parts, size_t number,
    const struct worker_listener *from, size_t n)
{
	struct worker *worker = calloc(1, sizeof *worker);
	const struct conf *conf = settings->conf;
	const struct greeting_hooks greetings = { worker_on_greeted, worker_on_clients_changed, worker };
	struct request_context ctx;
	const struct resolver_options names = { conf->resolver, conf->resolv_conf, conf->hosts_file };
	size_t taken = 0;

	if (!worker)
		goto fail;
	worker->mailbox = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (worker->mailbox < 0 || !(worker->loop = loop_new()) ||
	    !(worker->resolver = resolver_new(worker->loop, &names)) ||
	    !(worker->connections = pool_new(worker->loop, worker->resolver)) ||
	    !(worker->fetches = fetch_pool_new(worker->loop, worker->connections, parts->backoff,
	          parts->fleet)))
		goto fail;
	loop_count_turns(worker->loop);
	ctx = (struct request_context){ .worker = number, .loop = worker->loop, .fetches = worker->fetches,
		.backoff = parts->backoff, .fleet = parts->fleet, .cache = parts->cache, .feeds = parts->feeds,
		.resolver = worker->resolver };
	if (!(worker->clients = client_pool_new(&ctx, worker_on_clients_changed, worker)) ||
	    !(worker->greetings = greeting_pool_new(worker->loop, &greetings)) ||
	    !(worker->mail_event = event_new(loop_base(worker->loop), worker->mailbox, EV_READ | EV_PERSIST,
	          worker_on_mail, worker)) ||
	    event_add(worker->mail_event, NULL) || !(worker->listeners = calloc(n, sizeof *worker->listeners)))
		goto fail;
	worker_take_settings(worker, settings_ref(settings));
	while (taken < n) {
		const struct worker_listener *listener = &from[taken++];
		struct listening *listening = &worker->listeners[worker->n_listeners];

		listening->given = listener->given;
		listening->listener = listener_new(worker->loop, listener->fd,
		    listener->tls ? worker_on_accept_tls : worker_on_accept, worker);
		if (!listening->listener)
			goto fail;
		worker->n_listeners++;
	}
	worker->rest.fire = worker_on_rest;
	worker->accepting = true;
	return worker;
fail:
	log_error("worker: %s", strerror(errno ? errno : ENOMEM));
	while (taken < n)
		close(from[taken++].fd);
	worker_free(&worker);
	return NULL;
}

static void *worker_run(void *arg)
{
	struct worker *worker = arg;

	object_act_for(worker);
	if (loop_run(worker->loop))
		log_error("worker: the event loop failed");
	worker_say_done(worker);
	return NULL;
}

int worker_start(struct worker *worker)
{
	return pthread_create(&worker->thread, NULL, worker_run, worker);
}

void worker_on_done(struct worker *worker, void (*on_done)(void *arg), void *arg)
{
	worker->on_done = on_done;
	worker->done_arg = arg;
}

void worker_order(struct worker *worker, enum worker_order order)
{
	atomic_fetch_or(&worker->orders, 1u << order);
	eventfd_write(worker->mailbox, 1);
}

unsigned worker_turns(const struct worker *worker)
{
	return atomic_load(&worker->turns);
}

void worker_renew(struct worker *worker, struct settings *settings)
{
	struct settings *missed = atomic_exchange(&worker->next, settings_ref(settings));

	if (missed)
		settings_taken(missed);
	settings_unref(&missed);
	worker_order(worker, WORKER_RENEW);
}

void worker_join(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
}

void worker_free(struct worker **wp)
{
	struct worker *worker = *wp;

	if (!worker)
		return;
	object_act_for(worker);             /* its thread is over, if there was one */
	worker_close_listeners(worker);
	/* Clients before greetings: as each client leaves, worker_on_clients_changed() counts the greetings. */
	client_pool_free(&worker->clients);
	greeting_pool_free(&worker->greetings);
	fetch_pool_free(&worker->fetches);
	pool_free(&worker->connections);
	resolver_free(&worker->resolver);
	if (worker->mail_event)
		event_free(worker->mail_event);
	struct settings *next = atomic_load(&worker->next);
	settings_unref(&next);
	settings_unref(&worker->settings);
	if (worker->loop)
		loop_disarm(worker->loop, &worker->rest);
	loop_free(&worker->loop);
	if (worker->mailbox >= 0)
		close(worker->mailbox);
	free(worker->listeners);
	free(worker);
	object_act_for(NULL);
	*wp = NULL;
}

struct loop *worker_loop(struct worker *worker)
{
	return worker->loop;
}

struct stats *worker_stats(struct worker *worker)
{
	return loop_stats(worker->loop);
}
