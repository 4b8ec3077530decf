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

static void worker_close_listener(struct worker *w, size_t i)
{
	listener_free(&w->listeners[i].listener);
	w->listeners[i] = w->listeners[--w->n_listeners];
}

static void worker_close_listeners(struct worker *w)
{
	for (size_t i = 0; i < w->n_listeners; i++)
		listener_free(&w->listeners[i].listener);
	w->n_listeners = 0;
}

static void worker_set_accepting(struct worker *w, bool accepting)
{
	w->accepting = accepting;
	for (size_t i = 0; i < w->n_listeners; i++)
		listener_set_accepting(w->listeners[i].listener, accepting);
}

/* How many clients the worker has; connections whose PROXY protocol header is still to come count too. */
static size_t worker_clients(const struct worker *w)
{
	return client_count(w->clients) + greeting_count(w->greetings);
}

static bool worker_is_full(const struct worker *w)
{
	return worker_clients(w) >= w->settings->max_clients;
}

/* Gives back what memory is not needed any more; ends once nobody has been there for a while. */
static void worker_on_rest(struct timer *t)
{
	struct worker *w = container_of(t, struct worker, rest);
	uint64_t requests = stats_get(&loop_stats(w->loop)->value[STAT_REQUESTS]);
	bool more = heap_rest(loop_now_ms(w->loop));

	if (more) {
		loop_arm(w->loop, t, HEAP_REST_SOON_MS);
		return;
	}
	if (malloc_rests(&w->malloc_rest, requests - w->requests)) {
		client_pool_rest(w->clients);
		fetch_pool_rest(w->fetches);
		malloc_give_back();
	}
	w->requests = requests;
	w->quiet = worker_clients(w) ? 0 : w->quiet + 1;
	if (w->quiet < WORKER_RESTS)
		loop_arm(w->loop, t, HEAP_REST_MS);
}

static void worker_wake_rest(struct worker *w)
{
	if (!w->rest.queue)
		loop_arm(w->loop, &w->rest, HEAP_REST_MS);
	w->quiet = 0;
}

static void worker_serve(struct worker *w, int fd, const struct sockaddr *peer, socklen_t len, bool tls,
    const struct requester *who)
{
	struct tls_context *context = tls ? tls_set_door(w->settings->tls, TLS_DOOR_CLIENTS) : NULL;

	if (client_accept(w->clients, fd, peer, len, context, who))
		stats_add(loop_stats(w->loop), STAT_CLIENTS_REFUSED, 1);
}

static void worker_take(struct worker *w, int fd, const struct sockaddr *peer, socklen_t len, bool tls)
{
	const struct conf *conf = w->settings->conf;
	struct requester who;

	requester_of_peer(&who, peer);
	worker_wake_rest(w);
	if (worker_is_full(w) && !(tls && client_is_forbidden(w->clients, &who)))
		client_pool_give_up(w->clients);
	if (!conf->proxy_protocol || !requester_is_trusted(&who, conf))
		worker_serve(w, fd, peer, len, tls, &who);
	else if (greeting_accept(w->greetings, fd, peer, len, tls, &who, conf->request_timeout_ms))
		stats_add(loop_stats(w->loop), STAT_CLIENTS_REFUSED, 1);
	if (worker_is_full(w) && !client_pool_has_idle(w->clients))
		worker_set_accepting(w, false);
}

static void worker_on_accept(void *arg, int fd, const struct sockaddr *peer, socklen_t len)
{
	worker_take(arg, fd, peer, len, false);
}

static void worker_on_accept_tls(void *arg, int fd, const struct sockaddr *peer, socklen_t len)
{
	worker_take(arg, fd, peer, len, true);
}

static void worker_say_done(struct worker *w)
{
	if (!w->done && w->on_done)
		w->on_done(w->done_arg);
	w->done = true;
}

/* Reports that the worker is done if it is draining and no client is left or waits to be accepted. Its fetches go on:
 * other workers' clients may read their objects. */
static void worker_end_if_done(struct worker *w)
{
	if (w->draining && !w->n_listeners && !worker_clients(w))
		worker_say_done(w);
}

static void worker_on_clients_changed(void *arg)
{
	struct worker *w = arg;

	worker_end_if_done(w);
	if (!w->accepting)
		worker_set_accepting(w, true);
}

/* Serves a connection whose header was read. If its client is turned away, no other callback tells that it left: so
 * what follows from that is done here. */
static void worker_on_greeted(void *arg, int fd, const struct sockaddr *peer, socklen_t len, bool tls,
    const struct requester *who)
{
	struct worker *w = arg;

	worker_serve(w, fd, peer, len, tls, who);
	worker_end_if_done(w);
	if (!w->accepting && !worker_is_full(w))
		worker_set_accepting(w, true);
}

static void worker_on_emptied(void *arg, struct listener *l)
{
	struct worker *w = arg;
	size_t i = 0;

	while (w->listeners[i].listener != l)
		i++;
	worker_close_listener(w, i);
	worker_end_if_done(w);
}

/* Puts the settings in force; takes over the reference. */
static void worker_take_settings(struct worker *w, struct settings *s)
{
	const struct conf *conf = s->conf;
	const struct pool_limits idle = { (size_t)conf->origin_idle, WORKER_IDLE_MAX, conf->origin_idle_timeout_ms };

	pool_renew(w->connections, &idle, s->generation);
	client_pool_set(w->clients, s);
	settings_unref(&w->settings);
	w->settings = s;
}

static void worker_on_renew(struct worker *w)
{
	struct settings *s = atomic_exchange(&w->next, NULL);

	if (!s)
		return;
	worker_take_settings(w, s);
	settings_taken(s);
	if (!w->accepting && (!worker_is_full(w) || client_pool_has_idle(w->clients)))
		worker_set_accepting(w, true);
}

static void worker_drain(struct worker *w)
{
	if (w->draining)
		return;
	w->draining = true;
	client_pool_drain(w->clients);
	for (size_t i = w->n_listeners; i--;)
		if (atomic_load(w->listeners[i].given))
			worker_close_listener(w, i);
		else
			listener_finish(w->listeners[i].listener, worker_on_emptied);
	worker_end_if_done(w);
}

static void worker_on_mail(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	unsigned orders = atomic_exchange(&w->orders, 0);
	eventfd_t ignored;

	(void)what;
	loop_enter(w->loop, (loop_callback *)worker_on_mail);
	eventfd_read(fd, &ignored);
	atomic_fetch_add(&w->turns, 1);
	if (orders & 1u << WORKER_STOP) {
		loop_stop(w->loop);
		return;
	}
	if (orders & 1u << WORKER_RENEW)
		worker_on_renew(w);
	if (orders & 1u << WORKER_LEAVE)
		client_pool_leave(w->clients);
	if (orders & 1u << WORKER_DRAIN)
		worker_drain(w);
}

struct worker *worker_new(struct settings *settings, const struct worker_parts *parts, size_t number,
    const struct worker_listener *from, size_t n)
{
	struct worker *w = calloc(1, sizeof *w);
	const struct conf *conf = settings->conf;
	const struct greeting_hooks greetings = { worker_on_greeted, worker_on_clients_changed, w };
	struct request_context ctx;
	const struct resolver_options names = { conf->resolver, conf->resolv_conf, conf->hosts_file };
	size_t taken = 0;

	if (!w)
		goto fail;
	w->mailbox = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (w->mailbox < 0 || !(w->loop = loop_new()) || !(w->resolver = resolver_new(w->loop, &names)) ||
	    !(w->connections = pool_new(w->loop, w->resolver)) ||
	    !(w->fetches = fetch_pool_new(w->loop, w->connections, parts->backoff)))
		goto fail;
	loop_count_turns(w->loop);
	ctx = (struct request_context){ .worker = number, .loop = w->loop, .fetches = w->fetches,
		.backoff = parts->backoff, .cache = parts->cache, .feeds = parts->feeds,
		.resolver = w->resolver };
	if (!(w->clients = client_pool_new(&ctx, worker_on_clients_changed, w)) ||
	    !(w->greetings = greeting_pool_new(w->loop, &greetings)) ||
	    !(w->mail_event = event_new(loop_base(w->loop), w->mailbox, EV_READ | EV_PERSIST, worker_on_mail, w)) ||
	    event_add(w->mail_event, NULL) || !(w->listeners = calloc(n, sizeof *w->listeners)))
		goto fail;
	worker_take_settings(w, settings_ref(settings));
	while (taken < n) {
		const struct worker_listener *f = &from[taken++];
		struct listening *l = &w->listeners[w->n_listeners];

		l->given = f->given;
		l->listener = listener_new(w->loop, f->fd, f->tls ? worker_on_accept_tls : worker_on_accept, w);
		if (!l->listener)
			goto fail;
		w->n_listeners++;
	}
	w->rest.fire = worker_on_rest;
	w->accepting = true;
	return w;
fail:
	log_error("worker: %s", strerror(errno ? errno : ENOMEM));
	while (taken < n)
		close(from[taken++].fd);
	worker_free(&w);
	return NULL;
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;

	object_act_for(w);
	if (loop_run(w->loop))
		log_error("worker: the event loop failed");
	worker_say_done(w);
	return NULL;
}

int worker_start(struct worker *w)
{
	return pthread_create(&w->thread, NULL, worker_run, w);
}

void worker_on_done(struct worker *w, void (*on_done)(void *arg), void *arg)
{
	w->on_done = on_done;
	w->done_arg = arg;
}

void worker_order(struct worker *w, enum worker_order order)
{
	atomic_fetch_or(&w->orders, 1u << order);
	eventfd_write(w->mailbox, 1);
}

unsigned worker_turns(const struct worker *w)
{
	return atomic_load(&w->turns);
}

void worker_renew(struct worker *w, struct settings *s)
{
	struct settings *missed = atomic_exchange(&w->next, settings_ref(s));

	if (missed)
		settings_taken(missed);
	settings_unref(&missed);
	worker_order(w, WORKER_RENEW);
}

void worker_join(struct worker *w)
{
	pthread_join(w->thread, NULL);
}

void worker_free(struct worker **wp)
{
	struct worker *w = *wp;
	struct settings *next;

	if (!w)
		return;
	object_act_for(w);             /* its thread is over, if there was one */
	worker_close_listeners(w);
	/* Clients before greetings: as each client leaves, worker_on_clients_changed() counts the greetings. */
	client_pool_free(&w->clients);
	greeting_pool_free(&w->greetings);
	fetch_pool_free(&w->fetches);
	pool_free(&w->connections);
	resolver_free(&w->resolver);
	if (w->mail_event)
		event_free(w->mail_event);
	next = atomic_load(&w->next);
	settings_unref(&next);
	settings_unref(&w->settings);
	if (w->loop)
		loop_disarm(w->loop, &w->rest);
	loop_free(&w->loop);
	if (w->mailbox >= 0)
		close(w->mailbox);
	free(w->listeners);
	free(w);
	object_act_for(NULL);
	*wp = NULL;
}

struct loop *worker_loop(struct worker *w)
{
	return w->loop;
}

struct stats *worker_stats(struct worker *w)
{
	return loop_stats(w->loop);
}
