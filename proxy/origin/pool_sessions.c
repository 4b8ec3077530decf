/* Connections to origins that speak HTTP/2; see pool_internal.h. A session is one connection of its origin, however
 * many leases have a stream of it, and rests when none has.
 * Invariant: a session that rests has no lease; one that has ended is in no list, and its leases know that. */
#include "proxy/origin/pool_internal.h"

#include <stdlib.h>

#include "conf/conf.h"
#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/http/h2_fields.h"
#include "proxy/net/conn.h"

enum {
	/* of a body, on its way or not read yet: ten megabits a second from a tenth of a second away */
	SESSION_WINDOW_BYTES = 128 * 1024,
	SESSION_PING_MS = 10 * 1000    /* a session rests so long before it is asked whether it is still there */
};

/* ---- resting ---- */

static void session_wake(struct session *session)
{
	struct pool *pool = session->origin->pool;

	if (!session->rests)
		return;
	session->rests = false;
	TAILQ_REMOVE(&pool->resting, session, age);
	pool->n_idle--;
	loop_disarm(pool->loop, &session->timer);
}

static void session_rest(struct session *session)
{
	struct pool *pool = session->origin->pool;

	if (!pool->limits.idle_per_origin || session->origin->target.generation != pool->generation ||
	    !h2_room(session->h2)) {
		session_close(session);
		return;
	}
	session->rests = true;
	session->since_ms = loop_now_ms(pool->loop);
	TAILQ_INSERT_TAIL(&pool->resting, session, age);
	pool->n_idle++;
	loop_arm(pool->loop, &session->timer, pool->limits.idle_timeout_ms);
	if (pool->n_idle > pool->limits.idle_total)
		pool_trim(pool);
}

static void session_on_timeout(struct timer *timer)
{
	session_close(container_of(timer, struct session, timer));
}

/* ---- the end ---- */

/* Its streams fail. */
static void session_free(struct session *session)
{
	struct lease *lease;

	session_wake(session);
	LIST_REMOVE(session, link);
	LIST_REMOVE(session, of_pool);
	session->origin->n_sessions--;
	while ((lease = LIST_FIRST(&session->leases))) {
		LIST_REMOVE(lease, on_session);
		lease->session = NULL;
		lease->lost = true;
	}
	h2_free(&session->h2);
	conn_close(&session->conn);
	free(session);
}

void session_close(struct session *session)
{
	struct pool_origin *origin = session->origin;

	session_free(session);
	pool_serve(origin);
	pool_origin_put(origin);
}

static struct session *session_resting(const struct pool_origin *origin)
{
	struct session *session;

	LIST_FOREACH(session, &origin->sessions, link)
		if (session->rests)
			break;
	return session;
}

bool session_rests(const struct pool_origin *origin)
{
	return session_resting(origin);
}

void session_close_resting(struct pool_origin *origin)
{
	struct session *session = session_resting(origin);

	if (session)
		session_free(session);
}

void session_close_all(struct pool *pool, bool resting)
{
	struct session *session;

	while ((session = resting ? TAILQ_FIRST(&pool->resting) : LIST_FIRST(&pool->sessions)))
		session_close(session);
}

/* ---- what the session tells ---- */

static void session_on_conn(void *arg, enum conn_event event)
{
	struct session *session = arg;

	(void)event;
	h2_on_event(session->h2);
}

/* To serve somebody may end the session, if it rests, which is not to be done from within this call. */
static void session_on_room(void *arg)
{
	struct session *session = arg;
	struct pool_origin *origin = session->origin;

	session->settled = true;
	pool_hold(origin, 1);
	loop_defer(origin->pool->loop, &origin->serve);
}

static void session_on_idle(void *arg)
{
	struct session *session = arg;

	session->silent = true;
	if (!session->rests && LIST_EMPTY(&session->leases))
		session_rest(session);
}

static void session_on_end(void *arg, bool lost)
{
	struct session *session = arg;

	(void)lost;
	if (!session->settled) {
		session->origin->apart = true;
		pool_hold(session->origin, 1);
	}
	session_close(session);
}

/* ---- streams ---- */

struct h2_settings pool_h2_settings(const struct conf *conf)
{
	return (struct h2_settings){ .max_head = conf->max_header_bytes,
		.max_fields = (size_t)conf->max_header_fields, .head_timeout_ms = conf->first_byte_timeout_ms,
		.write_timeout_ms = conf->between_bytes_timeout_ms, .secure = true, .window = SESSION_WINDOW_BYTES,
		.ping_ms = SESSION_PING_MS };
}

static struct conn *session_give(struct session *session, struct lease *lease)
{
	struct conn *stream = h2_request(session->h2);

	if (!stream)
		return NULL;
	session_wake(session);
	session->silent = false;
	lease->session = session;
	lease->streams = true;
	lease->reused = session->used;
	session->used = true;
	LIST_INSERT_HEAD(&session->leases, lease, on_session);
	stats_add(loop_stats(session->origin->pool->loop), STAT_H2_ORIGIN_STREAMS, 1);
	return stream;
}

struct conn *session_begin(struct lease *lease, struct conn *conn)
{
	struct pool_origin *origin = lease->at;
	struct session *session = calloc(1, sizeof *session);
	struct conn *stream;
	const struct h2_owner owner = { .room = session_on_room, .idle = session_on_idle, .ended = session_on_end,
		.arg = session };

	if (session)
		session->h2 = h2_ask(conn, origin->pool->loop, &origin->pool->limits.h2, &h2_client_side, &owner);
	if (!session || !session->h2) {
		free(session);
		conn_close(&conn);
		return NULL;
	}
	session->origin = origin;
	session->conn = conn;
	session->timer.fire = session_on_timeout;
	conn_set_owner(conn, session_on_conn, session);
	LIST_INSERT_HEAD(&origin->sessions, session, link);
	LIST_INSERT_HEAD(&origin->pool->sessions, session, of_pool);
	origin->n_sessions++;
	stats_add(loop_stats(origin->pool->loop), STAT_H2_ORIGIN_CONNECTIONS, 1);
	log_step(&lease->id, "origin: speaks HTTP/2");
	if (!(stream = session_give(session, lease)))
		session_close(session);
	return stream;
}

/* A request that must not be lost goes upon no connection that rests, because that may be dead. */
static bool session_serves(struct session *session, const struct lease *lease)
{
	return (!session->rests || lease->terms.fresh == LEASE_ANY) && h2_room(session->h2);
}

bool session_serve(struct lease *lease)
{
	struct session *session;

	if (!lease->h2 || lease->terms.fresh == LEASE_ANEW)
		return false;
	LIST_FOREACH(session, &lease->at->sessions, link)
		if (session_serves(session, lease)) {
			lease->conn = session_give(session, lease);
			return lease->conn;
		}
	return false;
}

void session_leave(struct lease *lease)
{
	struct session *session = lease->session;

	if (!session)
		return;
	lease->session = NULL;
	LIST_REMOVE(lease, on_session);
	if (session->silent && LIST_EMPTY(&session->leases))
		session_rest(session);
}
