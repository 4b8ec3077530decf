/* Connecting to origins; see dial.h. */
#include "proxy/origin/dial.h"

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
#include "proxy/origin/fetch_timing.h"
#include "proxy/origin/happy_eyeballs.h"
#include "proxy/origin/parent_tunnel.h"
#include "proxy/settings/guard.h"
#include "proxy/settings/parent.h"

static const char dial_own[] = "own listener";

/* A connection under way to one address. */
struct attempt {
	struct dial *dial;
	struct conn *conn;             /* NULL: the attempt is over */
	enum dns_family family;
	const struct resolve_address *to;      /* one of the origin's addresses */
};

struct dial {
	struct log_id id;              /* of the request that needs the connection */
	struct fetch_timing *timing;   /* likewise, borrowed; NULL: nothing is measured */
	struct loop *loop;
	struct resolver *resolver;
	struct resolve *resolve;
	struct tls_context *tls;       /* NULL: plain */
	char *host;
	uint16_t port;
	const struct conf_parent *parent;      /* Addresses are those of the parent; NULL: of the origin. */
	bool h2;                       /* Is offered over TLS. */
	bool by_connect;               /* A tunnel leads through the parent. */
	struct parent_tunnel *tunnel;  /* The tunnel is being asked for. */
	struct conn *conn;             /* The attempt that won; tunnel or TLS is under way. */
	struct attempt *won;           /* That attempt, whose connection this is. */
	bool anew;                     /* TLS failed on a session: this is another connection, which offers none. */
	struct timer timer;            /* For all steps together. */
	struct timer pace;             /* Until the next attempt may begin. */
	struct task refuse;            /* Tells, in a later turn of the loop, that the guard refused the name. */
	const struct guard *guard;     /* Checks addresses; NULL: the operator chose the host, or the parent. */
	struct guard_pass pass;
	dial_ready_f *ready;
	void *arg;
	struct failure failure;
	struct happy_eyeballs order;
	unsigned n_attempts, in_flight;
	struct attempt attempts[DNS_FAMILIES * DNS_ADDRESSES_MAX];
	struct resolve_address addresses[DNS_FAMILIES][DNS_ADDRESSES_MAX];
};

static void dial_end(struct dial *dial, struct conn *conn)
{
	dial_ready_f *ready = dial->ready;
	void *arg = dial->arg;
	struct failure failure = dial->failure;

	stats_add(loop_stats(dial->loop), STAT_DESTINATIONS_REFUSED, !conn && failure_refuses(failure.error));
	dial->conn = NULL;
	dial_cancel(&dial);
	ready(arg, conn, conn ? NULL : &failure);
}

static void dial_fail(struct dial *dial, enum failure_kind error, const char *details)
{
	failure_set(&dial->failure, error, "%s", details);
	conn_close(&dial->conn);
	dial_end(dial, NULL);
}

static enum failure_kind dial_classify(int err)
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
static const char *dial_whose(const struct dial *dial)
{
	return dial->parent ? "parent proxy: " : "";
}

/* Logs the address for the operator; clients learn what happened, but not where in the operator's network. */
static void dial_log(const struct dial *dial, struct conn *conn, const char *what)
{
	log_line_of(LOG_LEVEL_INFO, &dial->id, "%s%s: %s: %s", dial_whose(dial),
	    dial->parent ? dial->parent->host : dial->host, conn_peer(conn), what);
}

/* Notes why an attempt failed. The latest failure counts, except that having no route to an address says less than what
 * another attempt met. */
static void dial_note(struct dial *dial, enum failure_kind error, int err)
{
	if (error != FAILURE_IP_UNROUTABLE || dial->failure.error == FAILURE_NONE ||
	    dial->failure.error == FAILURE_DNS_ERROR)
		failure_set(&dial->failure, error, "%s%s", dial_whose(dial), strerror(err));
}

/* The longest host that leaves room for the rest of a failure's details. */
enum { DIAL_SHOWN_HOST = 64 };

/* why: dial_own, or what the guard says. The client learns which line of the configuration would open the host: its
 * own URL or a redirect named that. */
static void dial_note_refusal(struct dial *dial, const char *whose, const char *host, const char *why)
{
	const char *opener = strlen(host) > DIAL_SHOWN_HOST ? NULL : guard_opener(why);
	bool ipv6 = strchr(host, ':');

	if (opener)
		failure_set(&dial->failure, FAILURE_IP_PROHIBITED, "%s; opened by %s = %s%s%s:%u", why, opener,
		    ipv6 ? "[" : "", host, ipv6 ? "]" : "", (unsigned)dial->port);
	else
		failure_set(&dial->failure, why == dial_own ? FAILURE_OWN_LISTENER : FAILURE_IP_PROHIBITED, "%s%s",
		    whose, why);
}

static void dial_on_attempt(void *arg, enum conn_event event);

/* Whether the address must not be connected to: the guard refuses it, or it is our own. The reason is noted only if no
 * attempt has failed yet. */
static bool dial_is_closed(struct dial *dial, const struct resolve_address *to)
{
	const struct sockaddr *address = (const struct sockaddr *)&to->address;
	const char *why = dial->guard ? guard_check_address(dial->guard, &dial->pass, address) : NULL;

	if (!why && own_sockets_have(address))
		why = dial_own;
	if (why && (dial->failure.error == FAILURE_NONE || dial->failure.error == FAILURE_DNS_ERROR ||
	    dial->failure.error == FAILURE_DNS_TIMEOUT))
		dial_note_refusal(dial, dial_whose(dial), dial->host, why);
	return why;
}

/* Tries an address; this is the one place that does. False: it failed at once. */
static bool dial_attempt(struct dial *dial, enum dns_family family, const struct resolve_address *to)
{
	struct attempt *attempt = &dial->attempts[dial->n_attempts];

	if (dial_is_closed(dial, to))
		return false;
	*attempt = (struct attempt){ .dial = dial, .family = family, .to = to };
	attempt->conn = conn_connect(dial->loop, (const struct sockaddr *)&to->address, to->len, dial_on_attempt,
	    attempt);
	if (!attempt->conn) {
		dial_note(dial, dial_classify(errno), errno);
		return false;
	}
	if (!dial->n_attempts)
		fetch_timing_begin(dial->timing, STAGE_CONNECT, dial->loop);
	dial->n_attempts++;
	dial->in_flight++;
	return true;
}

static void dial_try(struct dial *dial)
{
	enum dns_family family;
	unsigned i;

	while (happy_eyeballs_next(&dial->order, &family, &i))
		if (dial_attempt(dial, family, &dial->addresses[family][i])) {
			loop_arm(dial->loop, &dial->pace, HAPPY_EYEBALLS_STAGGER_MS);
			return;
		}
	if (!dial->in_flight && happy_eyeballs_advise(&dial->order) == HAPPY_EYEBALLS_NONE)
		dial_end(dial, NULL);
}

/* Goes on after an attempt has failed or addresses have come. May end the dialling. */
static void dial_go_on(struct dial *dial)
{
	switch (happy_eyeballs_advise(&dial->order)) {
	case HAPPY_EYEBALLS_TRY:
		dial_try(dial);
		break;
	case HAPPY_EYEBALLS_WAIT_SHORT:
		loop_arm(dial->loop, &dial->pace, HAPPY_EYEBALLS_RESOLUTION_MS);
		break;
	case HAPPY_EYEBALLS_WAIT:
		break;
	case HAPPY_EYEBALLS_NONE:
		if (!dial->in_flight)
			dial_end(dial, NULL);
		break;
	}
}

static void dial_on_pace(struct timer *timer)
{
	struct dial *dial = container_of(timer, struct dial, pace);
	enum happy_eyeballs_advice advice = happy_eyeballs_advise(&dial->order);

	if (advice == HAPPY_EYEBALLS_TRY || advice == HAPPY_EYEBALLS_WAIT_SHORT)
		dial_try(dial);
}

/* Tries the address again, once, after a handshake that may have failed on the session alone. No address that is not
 * known yet is waited for any more. May end the dialling. */
static void dial_again(struct dial *dial)
{
	const struct attempt won = *dial->won;

	log_step(&dial->id, "origin: asked anew without a session of TLS");
	dial->anew = true;
	dial->n_attempts = 0;
	for (enum dns_family f = 0; f < DNS_FAMILIES; f++)
		if (!dial->order.known[f])
			happy_eyeballs_add(&dial->order, f, 0);
	if (!dial_attempt(dial, won.family, won.to))
		dial_go_on(dial);
}

static void dial_on_tls(void *arg, enum conn_event event)
{
	struct dial *dial = arg;

	if (event == CONN_CONNECTED) {
		fetch_timing_end(dial->timing, STAGE_TLS, dial->loop);
		dial_end(dial, dial->conn);
		return;
	}
	if (!dial->anew && conn_was_too_narrow(dial->conn)) {
		fetch_timing_end(dial->timing, STAGE_TLS, dial->loop);
		conn_close(&dial->conn);
		dial_again(dial);
		return;
	}
	conn_explain(dial->conn, FAILURE_CONNECTION_TERMINATED, &dial->failure);
	conn_close(&dial->conn);
	dial_end(dial, NULL);
}

static int dial_start_tls(struct dial *dial)
{
	struct text way = { 0 };
	int failed = -1;

	parent_add_way(&way, dial->port, dial->parent);
	text_add(&way, "", 1);
	if (!way.failed)
		failed = conn_start_tls(dial->conn, dial->tls, dial->host, way.bytes);
	if (!failed && dial->anew)
		conn_resume_none(dial->conn);
	if (!failed && dial->h2)
		conn_offer_h2(dial->conn);
	text_free(&way);
	return failed;
}

/* The connection leads to the origin, directly or through the parent: TLS is next. */
static void dial_secure(struct dial *dial)
{
	fetch_timing_end(dial->timing, STAGE_CONNECT, dial->loop);
	if (!dial->tls) {
		dial_end(dial, dial->conn);
		return;
	}
	fetch_timing_begin(dial->timing, STAGE_TLS, dial->loop);
	conn_set_owner(dial->conn, dial_on_tls, dial);
	if (dial_start_tls(dial))
		dial_fail(dial, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
}

static void dial_on_tunnel(void *arg, const struct failure *failure)
{
	struct dial *dial = arg;

	if (failure) {
		dial->failure = *failure;
		conn_close(&dial->conn);
		dial_end(dial, NULL);
		return;
	}
	parent_tunnel_free(&dial->tunnel);
	stats_add(loop_stats(dial->loop), STAT_PARENT_TUNNELS, 1);
	dial_secure(dial);
}

/* The first attempt to connect wins; the others are closed before anything was sent on them. */
static void dial_win(struct dial *dial, struct attempt *winner)
{
	dial->conn = winner->conn;
	dial->won = winner;
	winner->conn = NULL;
	for (unsigned i = 0; i < dial->n_attempts; i++)
		if (dial->attempts[i].conn) {
			if (dial->attempts[i].family == DNS_IPV6 && winner->family == DNS_IPV4)
				resolver_ipv6_is_slow(dial->resolver);
			conn_close(&dial->attempts[i].conn);
		}
	dial->in_flight = 0;
	loop_disarm(dial->loop, &dial->pace);
	resolve_cancel(&dial->resolve);
	if (!dial->by_connect)
		dial_secure(dial);
	else if (!(dial->tunnel = parent_tunnel_open(dial->conn, dial->parent, dial->host, dial->port,
	    dial_on_tunnel, dial)))
		dial_fail(dial, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
}

static void dial_on_attempt(void *arg, enum conn_event event)
{
	struct attempt *attempt = arg;
	struct dial *dial = attempt->dial;

	if (event == CONN_CONNECTED) {
		dial_win(dial, attempt);
		return;
	}
	dial_log(dial, attempt->conn, strerror(conn_errno(attempt->conn)));
	dial_note(dial, dial_classify(conn_errno(attempt->conn)), conn_errno(attempt->conn));
	conn_close(&attempt->conn);
	dial->in_flight--;
	dial_go_on(dial);
}

static void dial_on_resolved(void *arg, const struct resolve_result *result)
{
	struct dial *dial = arg;

	if (result->last)
		dial->resolve = NULL;
	if (result->status != DNS_OK && dial->failure.error == FAILURE_NONE)
		failure_set(&dial->failure, result->status == DNS_TIMEOUT ? FAILURE_DNS_TIMEOUT : FAILURE_DNS_ERROR,
		    "%s%s", dial_whose(dial), result->reason);
	if (result->n)
		fetch_timing_end(dial->timing, STAGE_DNS, dial->loop);
	memcpy(dial->addresses[result->family], result->addresses, result->n * sizeof *result->addresses);
	happy_eyeballs_add(&dial->order, result->family, (unsigned)result->n);
	if (!dial->in_flight || !dial->pace.queue)
		dial_go_on(dial);
}

static void dial_on_refuse(struct task *task)
{
	dial_end(container_of(task, struct dial, refuse), NULL);
}

static void dial_on_timeout(struct timer *timer)
{
	struct dial *dial = container_of(timer, struct dial, timer);
	enum failure_kind error = !dial->n_attempts && dial->resolve ? FAILURE_DNS_TIMEOUT : FAILURE_CONNECTION_TIMEOUT;
	const char *what = error == FAILURE_DNS_TIMEOUT ? "no answer in time"
	    : dial->tunnel                          ? "no answer to CONNECT"
	                                         : "TLS handshake";
	bool reached = dial->conn && !dial->tunnel;
	char details[FAILURE_DETAILS_MAX];

	for (unsigned i = 0; i < dial->n_attempts; i++)
		if (dial->attempts[i].conn)
			dial_log(dial, dial->attempts[i].conn, what = "no connection in time");
	snprintf(details, sizeof details, "%s%s", reached ? "" : dial_whose(dial), what);
	dial_fail(dial, error, details);
}

/* Why the name is refused before it is looked up. If a parent looks it up, nothing more is checked after this; the
 * parent may be on this machine. NULL: it is not refused. */
static const char *dial_check_name(struct dial *dial, const struct dial_target *target)
{
	const struct guard *guard = target->guard;
	const char *why = guard ? guard_check_name(guard, target->host, target->port, &dial->pass) : NULL;

	if (!why && dial->parent && guard)
		why = guard_check_unresolved(guard, &dial->pass, target->host);
	if (!why && dial->parent && own_sockets_have_host(target->host, target->port))
		why = dial_own;
	return why;
}

struct dial *dial_start(struct loop *loop, struct resolver *resolver, const struct dial_target *target,
    dial_ready_f *ready, void *arg)
{
	struct dial *dial = calloc(1, sizeof *dial);
	const char *why;

	if (!dial)
		return NULL;
	dial->loop = loop;
	dial->id = target->id;
	dial->timing = target->timing;
	dial->resolver = resolver;
	dial->tls = target->tls;
	dial->h2 = target->h2;
	dial->ready = ready;
	dial->arg = arg;
	dial->port = target->port;
	dial->parent = target->parent;
	dial->by_connect = dial->parent && (target->tunnel || !parent_reads(dial->parent, dial->tls));
	dial->guard = dial->parent ? NULL : target->guard;
	dial->refuse.run = dial_on_refuse;
	dial->timer.fire = dial_on_timeout;
	dial->pace.fire = dial_on_pace;
	if ((why = dial_check_name(dial, target))) {
		dial_note_refusal(dial, "", target->host, why);
		loop_defer(loop, &dial->refuse);
		return dial;
	}
	fetch_timing_begin(dial->timing, STAGE_DNS, loop);
	happy_eyeballs_start(&dial->order, resolver_first_family(resolver));
	if (!(dial->host = strdup(target->host)) ||
	    !(dial->resolve = resolve_start(resolver, dial->parent ? dial->parent->host : dial->host,
	    dial->parent ? dial->parent->port : dial->port, dial_on_resolved, dial))) {
		dial_cancel(&dial);
		return NULL;
	}
	loop_arm(loop, &dial->timer, target->connect_timeout_ms);
	return dial;
}

void dial_cancel(struct dial **dp)
{
	struct dial *dial = *dp;

	*dp = NULL;
	if (!dial)
		return;
	resolve_cancel(&dial->resolve);
	for (unsigned i = 0; i < dial->n_attempts; i++)
		conn_close(&dial->attempts[i].conn);
	parent_tunnel_free(&dial->tunnel);
	conn_close(&dial->conn);
	loop_disarm(dial->loop, &dial->timer);
	loop_disarm(dial->loop, &dial->pace);
	loop_forget(dial->loop, &dial->refuse);
	assert(task_is_out(&dial->refuse));
	free(dial->host);
	free(dial);
}
