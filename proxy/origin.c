/* Connecting to origins; see origin.h. */
#include "origin.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "loop.h"
#include "owner.h"
#include "resolve.h"

struct origin {
	struct loop *loop;
	struct resolve *resolve;
	struct conn *conn;
	struct tls_context *tls;       /* NULL: plain */
	bool secured;                  /* TLS was started */
	char *host;
	struct timer timer;
	origin_ready_f *ready;
	void *arg;
	struct proxy_failure failure;  /* of the latest address */
	size_t next, n;
	struct resolve_address addresses[RESOLVE_ADDRESSES_MAX];
};

static void origin_end(struct origin *o, struct conn *conn)
{
	origin_ready_f *ready = o->ready;
	void *arg = o->arg;
	struct proxy_failure failure = o->failure;

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

static void origin_on_conn(void *arg, enum conn_event event);

static void origin_try_next(struct origin *o)
{
	while (o->next < o->n) {
		const struct resolve_address *a = &o->addresses[o->next++];

		o->conn = conn_connect(o->loop, (const struct sockaddr *)&a->address, a->len, origin_on_conn, o);
		if (o->conn)
			return;
		proxy_failure_set(&o->failure, origin_classify(errno), "%s", strerror(errno));
	}
	origin_end(o, NULL);
}

/* Connected: TLS is next, where it is asked for, and then all is ready. */
static void origin_go_on(struct origin *o)
{
	if (!o->tls || o->secured) {
		origin_end(o, o->conn);
		return;
	}
	o->secured = true;
	if (conn_start_tls(o->conn, o->tls, o->host))
		origin_fail(o, PROXY_ERROR_PROXY_INTERNAL_ERROR, "out of memory");
}

static void origin_on_conn(void *arg, enum conn_event event)
{
	struct origin *o = arg;

	if (event == CONN_CONNECTED)
		origin_go_on(o);
	else if (o->secured) {
		conn_explain(o->conn, PROXY_ERROR_CONNECTION_TERMINATED, &o->failure);
		conn_close(&o->conn);
		origin_end(o, NULL);
	} else {
		proxy_failure_set(&o->failure, origin_classify(conn_errno(o->conn)), "%s: %s", conn_peer(o->conn),
		    strerror(conn_errno(o->conn)));
		conn_close(&o->conn);
		origin_try_next(o);
	}
}

static void origin_on_resolved(void *arg, const struct resolve_result *r)
{
	struct origin *o = arg;

	o->resolve = NULL;
	if (r->status != RESOLVE_OK) {
		origin_fail(o, r->status == RESOLVE_TIMEOUT ? PROXY_ERROR_DNS_TIMEOUT : PROXY_ERROR_DNS_ERROR, r->reason);
		return;
	}
	o->n = r->n;
	memcpy(o->addresses, r->addresses, r->n * sizeof *r->addresses);
	origin_try_next(o);
}

static void origin_on_timeout(struct timer *t)
{
	struct origin *o = OWNER_OF(t, struct origin, timer);

	if (o->resolve)
		origin_fail(o, PROXY_ERROR_DNS_TIMEOUT, "no answer in time");
	else
		origin_fail(o, PROXY_ERROR_CONNECTION_TIMEOUT, o->secured ? "TLS handshake" : o->conn ? conn_peer(o->conn) : "");
}

struct origin *origin_open(struct loop *l, struct resolver *resolver, const struct origin_target *target, origin_ready_f *ready,
    void *arg)
{
	struct origin *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	o->loop = l;
	o->ready = ready;
	o->arg = arg;
	o->tls = target->tls;
	o->timer.fire = origin_on_timeout;
	if (!(o->host = strdup(target->host)) || !(o->resolve = resolve_start(resolver, target->host, target->port, origin_on_resolved, o))) {
		free(o->host);
		free(o);
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
	resolve_cancel(&o->resolve);
	conn_close(&o->conn);
	free(o->host);
	free(o);
}
