/* Connecting to origins; see origin.h. */
#include "origin.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "eyeballs.h"
#include "guard.h"
#include "loop.h"
#include "owner.h"
#include "resolve.h"

/* A connection under way to one address. */
struct attempt {
	struct origin *origin;
	struct conn *conn;             /* NULL: over */
	enum dns_family family;
};

struct origin {
	struct loop *loop;
	struct resolver *resolver;
	struct resolve *resolve;
	struct tls_context *tls;       /* NULL: plain */
	char *host;
	struct conn *conn;             /* the first that connected; TLS is under way */
	struct timer timer;            /* for everything */
	struct timer pace;             /* until the next attempt may begin */
	struct task refuse;            /* tells in a turn of its own that the guard closed the name */
	const struct guard *guard;
	struct guard_pass pass;
	origin_ready_f *ready;
	void *arg;
	struct proxy_failure failure;
	struct eyeballs order;
	unsigned n_attempts, in_flight;
	struct attempt attempts[DNS_FAMILIES * DNS_ADDRESSES_MAX];
	struct resolve_address addresses[DNS_FAMILIES][DNS_ADDRESSES_MAX];
};

static void origin_end(struct origin *o, struct conn *conn)
{
	origin_ready_f *ready = o->ready;
	void *arg = o->arg;
	struct proxy_failure failure = o->failure;

	stats_add(loop_stats(o->loop), STAT_DESTINATIONS_REFUSED, !conn && failure.error == PROXY_ERROR_IP_PROHIBITED);
	o->conn = NULL;
	origin_cancel(&o);
	ready(arg, conn, conn ? NULL : &failure);
}

static void origin_fail(struct origin *o, enum proxy_error error, const char *details)
{
	proxy_failure_set(&o->failure, error, "%s", details);
	conn_close(&o->conn);
	origin_end(o, NULL);
}

static enum proxy_error origin_classify(int err)
{
	switch (err) {
	case ECONNREFUSED:
		return PROXY_ERROR_CONNECTION_REFUSED;
	case ETIMEDOUT:
		return PROXY_ERROR_CONNECTION_TIMEOUT;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EADDRNOTAVAIL:
	case EACCES:
	case EPERM:
		return PROXY_ERROR_IP_UNROUTABLE;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		return PROXY_ERROR_PROXY_INTERNAL_ERROR;
	default:
		return PROXY_ERROR_CONNECTION_TERMINATED;
	}
}

/* The latest counts, but that a family has no route here says less than what the other one met. */
static void origin_note(struct origin *o, enum proxy_error error, const char *peer, int err)
{
	if (error != PROXY_ERROR_IP_UNROUTABLE || o->failure.error == PROXY_ERROR_NONE || o->failure.error == PROXY_ERROR_DNS_ERROR)
		proxy_failure_set(&o->failure, error, "%s%s%s", peer, *peer ? ": " : "", strerror(err));
}

static void origin_on_attempt(void *arg, enum conn_event event);

/* What the guard says of an address counts only while nothing was tried. */
static bool origin_is_closed(struct origin *o, const struct resolve_address *a)
{
	const char *why = o->guard ? guard_check_address(o->guard, &o->pass, (const struct sockaddr *)&a->address) : NULL;

	if (why && (o->failure.error == PROXY_ERROR_NONE || o->failure.error == PROXY_ERROR_DNS_ERROR ||
	    o->failure.error == PROXY_ERROR_DNS_TIMEOUT))
		proxy_failure_set(&o->failure, PROXY_ERROR_IP_PROHIBITED, "%s", why);
	return why;
}

/* The one place where an address is tried. False: it failed at once. */
static bool origin_attempt(struct origin *o, enum dns_family family, const struct resolve_address *a)
{
	struct attempt *t = &o->attempts[o->n_attempts];

	if (origin_is_closed(o, a))
		return false;
	*t = (struct attempt){ .origin = o, .family = family };
	t->conn = conn_connect(o->loop, (const struct sockaddr *)&a->address, a->len, origin_on_attempt, t);
	if (!t->conn) {
		origin_note(o, origin_classify(errno), "", errno);
		return false;
	}
	o->n_attempts++;
	o->in_flight++;
	return true;
}

static void origin_try(struct origin *o)
{
	enum dns_family family;
	unsigned i;

	while (eyeballs_next(&o->order, &family, &i))
		if (origin_attempt(o, family, &o->addresses[family][i])) {
			loop_arm(o->loop, &o->pace, EYEBALLS_STAGGER_MS);
			return;
		}
	if (!o->in_flight && eyeballs_advise(&o->order) == EYEBALLS_NONE)
		origin_end(o, NULL);
}

/* Something changed while nothing was to be waited for. May end o. */
static void origin_go_on(struct origin *o)
{
	switch (eyeballs_advise(&o->order)) {
	case EYEBALLS_TRY:
		origin_try(o);
		break;
	case EYEBALLS_WAIT_SHORT:
		loop_arm(o->loop, &o->pace, EYEBALLS_RESOLUTION_MS);
		break;
	case EYEBALLS_WAIT:
		break;
	case EYEBALLS_NONE:
		if (!o->in_flight)
			origin_end(o, NULL);
		break;
	}
}

static void origin_on_pace(struct timer *t)
{
	struct origin *o = OWNER_OF(t, struct origin, pace);
	enum eyeballs_advice advice = eyeballs_advise(&o->order);

	if (advice == EYEBALLS_TRY || advice == EYEBALLS_WAIT_SHORT)
		origin_try(o);
}

static void origin_on_tls(void *arg, enum conn_event event)
{
	struct origin *o = arg;

	if (event == CONN_CONNECTED) {
		origin_end(o, o->conn);
		return;
	}
	conn_explain(o->conn, PROXY_ERROR_CONNECTION_TERMINATED, &o->failure);
	conn_close(&o->conn);
	origin_end(o, NULL);
}

/* The first to connect wins; the others are closed before anything was said on them. */
static void origin_win(struct origin *o, struct attempt *winner)
{
	o->conn = winner->conn;
	winner->conn = NULL;
	for (unsigned i = 0; i < o->n_attempts; i++)
		if (o->attempts[i].conn) {
			if (o->attempts[i].family == DNS_IPV6 && winner->family == DNS_IPV4)
				resolver_ipv6_is_slow(o->resolver);
			conn_close(&o->attempts[i].conn);
		}
	o->in_flight = 0;
	loop_disarm(o->loop, &o->pace);
	resolve_cancel(&o->resolve);
	if (!o->tls) {
		origin_end(o, o->conn);
		return;
	}
	conn_set_owner(o->conn, origin_on_tls, o);
	if (conn_start_tls(o->conn, o->tls, o->host))
		origin_fail(o, PROXY_ERROR_PROXY_INTERNAL_ERROR, "out of memory");
}

static void origin_on_attempt(void *arg, enum conn_event event)
{
	struct attempt *t = arg;
	struct origin *o = t->origin;

	if (event == CONN_CONNECTED) {
		origin_win(o, t);
		return;
	}
	origin_note(o, origin_classify(conn_errno(t->conn)), conn_peer(t->conn), conn_errno(t->conn));
	conn_close(&t->conn);
	o->in_flight--;
	origin_go_on(o);
}

static void origin_on_resolved(void *arg, const struct resolve_result *r)
{
	struct origin *o = arg;

	if (r->last)
		o->resolve = NULL;
	if (r->status != DNS_OK && o->failure.error == PROXY_ERROR_NONE)
		proxy_failure_set(&o->failure, r->status == DNS_TIMEOUT ? PROXY_ERROR_DNS_TIMEOUT : PROXY_ERROR_DNS_ERROR, "%s", r->reason);
	memcpy(o->addresses[r->family], r->addresses, r->n * sizeof *r->addresses);
	eyeballs_add(&o->order, r->family, (unsigned)r->n);
	if (!o->in_flight || !o->pace.queue)
		origin_go_on(o);
}

static void origin_on_refuse(struct task *t)
{
	origin_end(OWNER_OF(t, struct origin, refuse), NULL);
}

static void origin_on_timeout(struct timer *timer)
{
	struct origin *o = OWNER_OF(timer, struct origin, timer);
	const char *peer = "";

	if (!o->n_attempts && o->resolve) {
		origin_fail(o, PROXY_ERROR_DNS_TIMEOUT, "no answer in time");
		return;
	}
	for (unsigned i = 0; i < o->n_attempts; i++)
		if (o->attempts[i].conn)
			peer = conn_peer(o->attempts[i].conn);
	origin_fail(o, PROXY_ERROR_CONNECTION_TIMEOUT, o->conn ? "TLS handshake" : peer);
}

struct origin *origin_open(struct loop *l, struct resolver *resolver, const struct origin_target *target, origin_ready_f *ready,
    void *arg)
{
	struct origin *o = calloc(1, sizeof *o);
	const char *why;

	if (!o)
		return NULL;
	o->loop = l;
	o->resolver = resolver;
	o->tls = target->tls;
	o->ready = ready;
	o->arg = arg;
	o->guard = target->guard;
	o->refuse.run = origin_on_refuse;
	o->timer.fire = origin_on_timeout;
	o->pace.fire = origin_on_pace;
	if (o->guard && (why = guard_check_name(o->guard, target->host, target->port, &o->pass))) {
		proxy_failure_set(&o->failure, PROXY_ERROR_IP_PROHIBITED, "%s", why);
		loop_defer(l, &o->refuse);
		return o;
	}
	eyeballs_start(&o->order, resolver_first_family(resolver));
	if (!(o->host = strdup(target->host)) ||
	    !(o->resolve = resolve_start(resolver, target->host, target->port, origin_on_resolved, o))) {
		origin_cancel(&o);
		return NULL;
	}
	loop_arm(l, &o->timer, target->connect_timeout_ms);
	return o;
}

void origin_cancel(struct origin **op)
{
	struct origin *o = *op;

	*op = NULL;
	if (!o)
		return;
	loop_disarm(o->loop, &o->timer);
	loop_disarm(o->loop, &o->pace);
	loop_undefer(o->loop, &o->refuse);
	resolve_cancel(&o->resolve);
	for (unsigned i = 0; i < o->n_attempts; i++)
		conn_close(&o->attempts[i].conn);
	conn_close(&o->conn);
	free(o->host);
	free(o);
}
