/* Connecting to origins; see origin.h. */
#include "proxy/origin/origin.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/dns/resolve.h"
#include "proxy/net/conn.h"
#include "proxy/net/loop.h"
#include "proxy/net/own_sockets.h"
#include "proxy/origin/fetch_record.h"
#include "proxy/origin/happy_eyeballs.h"
#include "proxy/origin/parent_tunnel.h"
#include "proxy/settings/guard.h"
#include "proxy/settings/parent.h"

static const char origin_own[] = "own listener";

/* A connection under way to one address. */
struct attempt {
	struct origin *origin;
	struct conn *conn;             /* NULL: the attempt is over */
	enum dns_family family;
	const struct resolve_address *to;      /* one of the origin's addresses */
};

struct origin {
	struct log_id id;              /* of the request that needs the connection */
	struct fetch_record *record;   /* likewise, borrowed; NULL: nothing is measured */
	struct loop *loop;
	struct resolver *resolver;
	struct resolve *resolve;
	struct tls_context *tls;       /* NULL: plain */
	char *host;
	uint16_t port;
	const struct conf_parent *parent;      /* addresses are those of the parent; NULL: of the origin */
	bool by_connect;               /* a tunnel leads through the parent */
	struct parent_tunnel *tunnel;  /* the tunnel is being asked for */
	struct conn *conn;             /* the attempt that won; tunnel or TLS is under way */
	struct attempt *won;           /* that attempt, whose connection this is */
	bool anew;                     /* TLS failed on a session: this is another connection, which offers none */
	struct timer timer;            /* for all steps together */
	struct timer pace;             /* until the next attempt may begin */
	struct task refuse;            /* tells, in a later turn of the loop, that the guard refused the name */
	const struct guard *guard;     /* checks addresses; NULL: the operator chose the host, or the parent */
	struct guard_pass pass;
	origin_ready_f *ready;
	void *arg;
	struct failure failure;
	struct happy_eyeballs order;
	unsigned n_attempts, in_flight;
	struct attempt attempts[DNS_FAMILIES * DNS_ADDRESSES_MAX];
	struct resolve_address addresses[DNS_FAMILIES][DNS_ADDRESSES_MAX];
};

static void origin_end(struct origin *o, struct conn *conn)
{
	origin_ready_f *ready = o->ready;
	void *arg = o->arg;
	struct failure failure = o->failure;

	stats_add(loop_stats(o->loop), STAT_DESTINATIONS_REFUSED, !conn && failure_refuses(failure.error));
	o->conn = NULL;
	origin_cancel(&o);
	ready(arg, conn, conn ? NULL : &failure);
}

static void origin_fail(struct origin *o, enum failure_kind error, const char *details)
{
	failure_set(&o->failure, error, "%s", details);
	conn_close(&o->conn);
	origin_end(o, NULL);
}

static enum failure_kind origin_classify(int err)
{
	switch (err) {
	case ECONNREFUSED:
		return FAILURE_CONNECTION_REFUSED;
	case ETIMEDOUT:
		return FAILURE_CONNECTION_TIMEOUT;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EADDRNOTAVAIL:
	case EACCES:
	case EPERM:
		return FAILURE_IP_UNROUTABLE;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		return FAILURE_PROXY_INTERNAL_ERROR;
	default:
		return FAILURE_CONNECTION_TERMINATED;
	}
}

/* What the details of a failure begin with if it happened before the origin was reached. */
static const char *origin_whose(const struct origin *o)
{
	return o->parent ? "parent proxy: " : "";
}

/* Logs the address for the operator; clients are told what happened, but not where in the operator's network. */
static void origin_log(const struct origin *o, struct conn *conn, const char *what)
{
	log_line_of(LOG_LEVEL_INFO, &o->id, "%s%s: %s: %s", origin_whose(o), o->parent ? o->parent->host : o->host,
	    conn_peer(conn), what);
}

/* Notes why an attempt failed. The latest failure counts, except that having no route to an address says less than what
 * another attempt met. */
static void origin_note(struct origin *o, enum failure_kind error, int err)
{
	if (error != FAILURE_IP_UNROUTABLE || o->failure.error == FAILURE_NONE || o->failure.error == FAILURE_DNS_ERROR)
		failure_set(&o->failure, error, "%s%s", origin_whose(o), strerror(err));
}

/* why: origin_own, or what the guard says. */
static void origin_note_refusal(struct origin *o, const char *whose, const char *why)
{
	failure_set(&o->failure, why == origin_own ? FAILURE_OWN_LISTENER : FAILURE_IP_PROHIBITED, "%s%s", whose, why);
}

static void origin_on_attempt(void *arg, enum conn_event event);

/* Whether the address must not be connected to: the guard refuses it, or it is our own. The reason is noted only if no
 * attempt has failed yet. */
static bool origin_is_closed(struct origin *o, const struct resolve_address *a)
{
	const struct sockaddr *address = (const struct sockaddr *)&a->address;
	const char *why = o->guard ? guard_check_address(o->guard, &o->pass, address) : NULL;

	if (!why && own_sockets_have(address))
		why = origin_own;
	if (why && (o->failure.error == FAILURE_NONE || o->failure.error == FAILURE_DNS_ERROR ||
	    o->failure.error == FAILURE_DNS_TIMEOUT))
		origin_note_refusal(o, origin_whose(o), why);
	return why;
}

/* Tries an address; this is the one place that does. False: it failed at once. */
static bool origin_attempt(struct origin *o, enum dns_family family, const struct resolve_address *a)
{
	struct attempt *t = &o->attempts[o->n_attempts];

	if (origin_is_closed(o, a))
		return false;
	*t = (struct attempt){ .origin = o, .family = family, .to = a };
	t->conn = conn_connect(o->loop, (const struct sockaddr *)&a->address, a->len, origin_on_attempt, t);
	if (!t->conn) {
		origin_note(o, origin_classify(errno), errno);
		return false;
	}
	if (!o->n_attempts)
		fetch_record_begin(o->record, STAGE_CONNECT, o->loop);
	o->n_attempts++;
	o->in_flight++;
	return true;
}

static void origin_try(struct origin *o)
{
	enum dns_family family;
	unsigned i;

	while (happy_eyeballs_next(&o->order, &family, &i))
		if (origin_attempt(o, family, &o->addresses[family][i])) {
			loop_arm(o->loop, &o->pace, HAPPY_EYEBALLS_STAGGER_MS);
			return;
		}
	if (!o->in_flight && happy_eyeballs_advise(&o->order) == HAPPY_EYEBALLS_NONE)
		origin_end(o, NULL);
}

/* Goes on after an attempt has failed or addresses have come. May end o. */
static void origin_go_on(struct origin *o)
{
	switch (happy_eyeballs_advise(&o->order)) {
	case HAPPY_EYEBALLS_TRY:
		origin_try(o);
		break;
	case HAPPY_EYEBALLS_WAIT_SHORT:
		loop_arm(o->loop, &o->pace, HAPPY_EYEBALLS_RESOLUTION_MS);
		break;
	case HAPPY_EYEBALLS_WAIT:
		break;
	case HAPPY_EYEBALLS_NONE:
		if (!o->in_flight)
			origin_end(o, NULL);
		break;
	}
}

static void origin_on_pace(struct timer *t)
{
	struct origin *o = container_of(t, struct origin, pace);
	enum happy_eyeballs_advice advice = happy_eyeballs_advise(&o->order);

	if (advice == HAPPY_EYEBALLS_TRY || advice == HAPPY_EYEBALLS_WAIT_SHORT)
		origin_try(o);
}

/* Tries the address again, once, after a handshake that may have failed on the session alone. No address that is not
 * known yet is waited for any more. May end o. */
static void origin_again(struct origin *o)
{
	const struct attempt won = *o->won;

	log_step(&o->id, "origin: asked anew without a session of TLS");
	o->anew = true;
	o->n_attempts = 0;
	for (enum dns_family f = 0; f < DNS_FAMILIES; f++)
		if (!o->order.known[f])
			happy_eyeballs_add(&o->order, f, 0);
	if (!origin_attempt(o, won.family, won.to))
		origin_go_on(o);
}

static void origin_on_tls(void *arg, enum conn_event event)
{
	struct origin *o = arg;

	if (event == CONN_CONNECTED) {
		fetch_record_end(o->record, STAGE_TLS, o->loop);
		origin_end(o, o->conn);
		return;
	}
	if (!o->anew && conn_was_too_narrow(o->conn)) {
		fetch_record_end(o->record, STAGE_TLS, o->loop);
		conn_close(&o->conn);
		origin_again(o);
		return;
	}
	conn_explain(o->conn, FAILURE_CONNECTION_TERMINATED, &o->failure);
	conn_close(&o->conn);
	origin_end(o, NULL);
}

static int origin_start_tls(struct origin *o)
{
	struct text way = { 0 };
	int failed = -1;

	parent_add_way(&way, o->port, o->parent);
	text_add(&way, "", 1);
	if (!way.failed)
		failed = conn_start_tls(o->conn, o->tls, o->host, way.bytes);
	if (!failed && o->anew)
		conn_resume_none(o->conn);
	text_free(&way);
	return failed;
}

/* The connection leads to the origin, directly or through the parent: TLS is next. */
static void origin_secure(struct origin *o)
{
	fetch_record_end(o->record, STAGE_CONNECT, o->loop);
	if (!o->tls) {
		origin_end(o, o->conn);
		return;
	}
	fetch_record_begin(o->record, STAGE_TLS, o->loop);
	conn_set_owner(o->conn, origin_on_tls, o);
	if (origin_start_tls(o))
		origin_fail(o, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
}

static void origin_on_tunnel(void *arg, const struct failure *failure)
{
	struct origin *o = arg;

	if (failure) {
		o->failure = *failure;
		conn_close(&o->conn);
		origin_end(o, NULL);
		return;
	}
	parent_tunnel_free(&o->tunnel);
	stats_add(loop_stats(o->loop), STAT_PARENT_TUNNELS, 1);
	origin_secure(o);
}

/* The first attempt to connect wins; the others are closed before anything was sent on them. */
static void origin_win(struct origin *o, struct attempt *winner)
{
	o->conn = winner->conn;
	o->won = winner;
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
	if (!o->by_connect)
		origin_secure(o);
	else if (!(o->tunnel = parent_tunnel_open(o->conn, o->parent, o->host, o->port, origin_on_tunnel, o)))
		origin_fail(o, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
}

static void origin_on_attempt(void *arg, enum conn_event event)
{
	struct attempt *t = arg;
	struct origin *o = t->origin;

	if (event == CONN_CONNECTED) {
		origin_win(o, t);
		return;
	}
	origin_log(o, t->conn, strerror(conn_errno(t->conn)));
	origin_note(o, origin_classify(conn_errno(t->conn)), conn_errno(t->conn));
	conn_close(&t->conn);
	o->in_flight--;
	origin_go_on(o);
}

static void origin_on_resolved(void *arg, const struct resolve_result *r)
{
	struct origin *o = arg;

	if (r->last)
		o->resolve = NULL;
	if (r->status != DNS_OK && o->failure.error == FAILURE_NONE)
		failure_set(&o->failure, r->status == DNS_TIMEOUT ? FAILURE_DNS_TIMEOUT : FAILURE_DNS_ERROR, "%s%s",
		    origin_whose(o), r->reason);
	if (r->n)
		fetch_record_end(o->record, STAGE_DNS, o->loop);
	memcpy(o->addresses[r->family], r->addresses, r->n * sizeof *r->addresses);
	happy_eyeballs_add(&o->order, r->family, (unsigned)r->n);
	if (!o->in_flight || !o->pace.queue)
		origin_go_on(o);
}

static void origin_on_refuse(struct task *t)
{
	origin_end(container_of(t, struct origin, refuse), NULL);
}

static void origin_on_timeout(struct timer *timer)
{
	struct origin *o = container_of(timer, struct origin, timer);
	enum failure_kind error = !o->n_attempts && o->resolve ? FAILURE_DNS_TIMEOUT : FAILURE_CONNECTION_TIMEOUT;
	const char *what = error == FAILURE_DNS_TIMEOUT ? "no answer in time"
	    : o->tunnel                          ? "no answer to CONNECT"
	                                         : "TLS handshake";
	bool reached = o->conn && !o->tunnel;
	char details[FAILURE_DETAILS_MAX];

	for (unsigned i = 0; i < o->n_attempts; i++)
		if (o->attempts[i].conn)
			origin_log(o, o->attempts[i].conn, what = "no connection in time");
	snprintf(details, sizeof details, "%s%s", reached ? "" : origin_whose(o), what);
	origin_fail(o, error, details);
}

static const char *origin_ask_guard(struct origin *o, const struct origin_target *target)
{
	const char *why = guard_check_name(target->guard, target->host, target->port, &o->pass);

	return why || !o->parent ? why : guard_check_unresolved(target->guard, &o->pass, target->host);
}

/* Why the name is refused before it is looked up. If a parent looks it up, nothing more is checked after this; the
 * parent may be on this machine. NULL: it is not refused. */
static const char *origin_check_name(struct origin *o, const struct origin_target *target)
{
	const char *why = target->guard ? origin_ask_guard(o, target) : NULL;

	if (!why && o->parent && own_sockets_have_host(target->host, target->port))
		why = origin_own;
	return why;
}

struct origin *origin_open(struct loop *l, struct resolver *resolver, const struct origin_target *target,
    origin_ready_f *ready, void *arg)
{
	struct origin *o = calloc(1, sizeof *o);
	const char *why;

	if (!o)
		return NULL;
	o->loop = l;
	o->id = target->id;
	o->record = target->record;
	o->resolver = resolver;
	o->tls = target->tls;
	o->ready = ready;
	o->arg = arg;
	o->port = target->port;
	o->parent = target->parent;
	o->by_connect = o->parent && (target->tunnel || !parent_reads(o->parent, o->tls));
	o->guard = o->parent ? NULL : target->guard;
	o->refuse.run = origin_on_refuse;
	o->timer.fire = origin_on_timeout;
	o->pace.fire = origin_on_pace;
	if ((why = origin_check_name(o, target))) {
		origin_note_refusal(o, "", why);
		loop_defer(l, &o->refuse);
		return o;
	}
	fetch_record_begin(o->record, STAGE_DNS, l);
	happy_eyeballs_start(&o->order, resolver_first_family(resolver));
	if (!(o->host = strdup(target->host)) ||
	    !(o->resolve = resolve_start(resolver, o->parent ? o->parent->host : o->host,
	    o->parent ? o->parent->port : o->port, origin_on_resolved, o))) {
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
	resolve_cancel(&o->resolve);
	for (unsigned i = 0; i < o->n_attempts; i++)
		conn_close(&o->attempts[i].conn);
	parent_tunnel_free(&o->tunnel);
	conn_close(&o->conn);
	loop_disarm(o->loop, &o->timer);
	loop_disarm(o->loop, &o->pace);
	loop_forget(o->loop, &o->refuse);
	assert(task_is_out(&o->refuse));
	free(o->host);
	free(o);
}
