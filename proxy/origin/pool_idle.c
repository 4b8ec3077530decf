/* Idle connections of HTTP/1; see pool_internal.h. */
#include "proxy/origin/pool_internal.h"

#include <stdlib.h>

#include "proxy/base/container_of.h"
#include "proxy/net/conn.h"

/* So long a connection that is one too many may be idle. Where many requests come at once most of them find it again,
 * instead of each making and closing one. */
enum { POOL_SURPLUS_MS = 100 };

/* Takes the connection out of the pool; it is the caller's from now on. */
static struct conn *idle_take(struct idle *idle)
{
	struct pool_origin *origin = idle->origin;
	struct conn *conn = idle->conn;

	TAILQ_REMOVE(&origin->idle, idle, link);
	TAILQ_REMOVE(&origin->pool->ages, idle, age);
	origin->n_idle--;
	origin->pool->n_idle--;
	loop_disarm(origin->pool->loop, &idle->timer);
	free(idle);
	return conn;
}

static void idle_drop(struct idle *idle)
{
	struct pool_origin *origin = idle->origin;
	struct conn *conn = idle_take(idle);

	conn_close(&conn);
	pool_origin_put(origin);
}

void idle_drop_oldest(struct pool_origin *origin)
{
	idle_drop(TAILQ_LAST(&origin->idle, idle_list));
}

void idle_drop_all(struct pool *pool)
{
	while (!TAILQ_EMPTY(&pool->ages))
		idle_drop(TAILQ_FIRST(&pool->ages));
}

/* Drops an idle connection that the origin has closed, or on which it sent something unasked. Messages of TLS itself do
 * not count. */
static void idle_on_conn(void *arg, enum conn_event event)
{
	struct idle *idle = arg;
	char byte;

	(void)event;
	if (conn_read(idle->conn, &byte, sizeof byte) != CONN_AGAIN)
		idle_drop(idle);
}

static void idle_on_timeout(struct timer *timer)
{
	idle_drop(container_of(timer, struct idle, timer));
}

/* The origin closed some, or sent something unasked on them, and only the event is yet to come: such bytes must not
 * become the answer to a request (RFC 9112 section 9.5). Bytes that arrive later in the same turn of the loop are not
 * seen, nor those that are still under way. */
struct conn *idle_pick(struct pool_origin *origin, bool h2, bool *offered)
{
	struct idle *idle, *next;
	char byte;

	for (idle = TAILQ_FIRST(&origin->idle); idle; idle = next) {
		next = TAILQ_NEXT(idle, link);
		if (h2 && !idle->offered)
			continue;
		if (conn_is_quiet(idle->conn) || conn_read(idle->conn, &byte, sizeof byte) == CONN_AGAIN) {
			*offered = idle->offered;
			return idle_take(idle);
		}
		idle_drop(idle);
	}
	return NULL;
}

/* Closes those that are too many and have not been needed for a while, the one idle for longest first. At least one is
 * left, and keeps the origin. */
void idle_on_surplus(struct timer *timer)
{
	struct pool_origin *origin = container_of(timer, struct pool_origin, surplus);
	struct pool *pool = origin->pool;
	uint64_t now = loop_now_ms(pool->loop);
	struct idle *oldest = TAILQ_LAST(&origin->idle, idle_list);

	while (origin->n_idle > pool->limits.idle_per_origin && now - oldest->since_ms >= POOL_SURPLUS_MS) {
		idle_drop(oldest);
		oldest = TAILQ_LAST(&origin->idle, idle_list);
	}
	if (origin->n_idle > pool->limits.idle_per_origin)
		loop_arm(pool->loop, &origin->surplus, POOL_SURPLUS_MS);
}

void pool_trim(struct pool *pool)
{
	struct idle *idle = TAILQ_FIRST(&pool->ages);
	struct session *session = TAILQ_FIRST(&pool->resting);

	if (idle && (!session || idle->since_ms <= session->since_ms))
		idle_drop(idle);
	else
		session_close(session);
}

void idle_keep(struct pool_origin *origin, struct conn *conn, bool offered)
{
	struct pool *pool = origin->pool;
	bool keeps = pool->limits.idle_per_origin && origin->target.generation == pool->generation;
	struct idle *idle = keeps ? malloc(sizeof *idle) : NULL;

	if (!idle) {
		conn_close(&conn);
		return;
	}
	*idle = (struct idle){ .origin = origin, .conn = conn, .offered = offered,
		.since_ms = loop_now_ms(pool->loop), .timer.fire = idle_on_timeout };
	TAILQ_INSERT_HEAD(&origin->idle, idle, link);
	TAILQ_INSERT_TAIL(&pool->ages, idle, age);
	origin->n_idle++;
	pool->n_idle++;
	conn_set_owner(conn, idle_on_conn, idle);
	conn_want(conn, true, false);
	loop_arm(pool->loop, &idle->timer, pool->limits.idle_timeout_ms);
	if (origin->n_idle > pool->limits.idle_per_origin && !origin->surplus.queue)
		loop_arm(pool->loop, &origin->surplus, POOL_SURPLUS_MS);
	if (pool->n_idle > pool->limits.idle_total)
		pool_trim(pool);
}
