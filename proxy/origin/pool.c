/* Connections to origins between uses; see pool.h. */
#include "proxy/origin/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/container_of.h"
#include "proxy/base/hash.h"
#include "proxy/base/log.h"
#include "proxy/net/conn.h"
#include "proxy/origin/fetch_timing.h"
#include "proxy/origin/pool_internal.h"
#include "proxy/settings/parent.h"

/* So long leases wait for a connection under way that may speak HTTP/2, and for what a new session says of its room. */
enum { POOL_TOGETHER_MS = 300 };

/* Bits of the phases that may follow. */
#define TO(phase) (1u << LEASE_##phase)
static const unsigned lease_next[] = {
	[LEASE_WAITING] = TO(LATE) | TO(OPENING),
	[LEASE_LATE] = 0,
	[LEASE_OPENING] = TO(READY),
	[LEASE_READY] = 0,
};

static void lease_enter(struct lease *lease, enum lease_phase phase)
{
	assert(lease_next[lease->phase] >> phase & 1);
	lease->phase = phase;
}

static bool pool_same(const struct dial_target *a, const struct dial_target *b)
{
	return a->generation == b->generation && a->port == b->port && a->tls == b->tls && a->guard == b->guard &&
	    parent_same(a->parent, b->parent) && !strcmp(a->host, b->host);
}

static void pool_on_serve(struct task *task)
{
	pool_serve(container_of(task, struct pool_origin, serve));
}

void pool_hold(struct pool_origin *origin, size_t dials)
{
	origin->dials = dials;
	origin->begun = 0;
	if (dials)
		loop_disarm(origin->pool->loop, &origin->together);
	else
		loop_arm(origin->pool->loop, &origin->together, POOL_TOGETHER_MS);
}

static void pool_on_together(struct timer *timer)
{
	struct pool_origin *origin = container_of(timer, struct pool_origin, together);

	pool_hold(origin, 2 * origin->dials + !origin->dials);
	pool_serve(origin);
}

static struct pool_origin *pool_origin_get(struct pool *pool, const struct dial_target *target)
{
	struct pool_bucket *bucket;
	struct pool_origin *origin;

	if (pool->latest && pool_same(&pool->latest->target, target))
		return pool->latest;
	bucket = &pool->buckets[(hash_keyed(target->host, strlen(target->host)) + target->port) % POOL_BUCKETS];
	LIST_FOREACH(origin, bucket, link)
		if (pool_same(&origin->target, target))
			return pool->latest = origin;
	if (!(origin = calloc(1, sizeof *origin)) || !(origin->host = strdup(target->host))) {
		free(origin);
		return NULL;
	}
	origin->pool = pool;
	origin->target = *target;
	origin->target.host = origin->host;
	origin->target.timing = NULL;       /* this request's alone */
	origin->surplus.fire = idle_on_surplus;
	origin->together.fire = pool_on_together;
	origin->serve.run = pool_on_serve;
	origin->dials = 1;
	TAILQ_INIT(&origin->idle);
	TAILQ_INIT(&origin->waiting);
	LIST_INSERT_HEAD(bucket, origin, link);
	return pool->latest = origin;
}

void pool_origin_put(struct pool_origin *origin)
{
	if (origin->n_leases || origin->n_idle || origin->n_sessions)
		return;
	if (origin->pool->latest == origin)
		origin->pool->latest = NULL;
	LIST_REMOVE(origin, link);
	loop_disarm(origin->pool->loop, &origin->surplus);
	loop_disarm(origin->pool->loop, &origin->together);
	loop_forget_own(origin->pool->loop, &origin->serve);
	free(origin->host);
	free(origin);
}

/* The connection is made, or is not: whether it is for all who wait. */
static struct conn *lease_share(struct lease *lease, struct conn *conn)
{
	struct pool_origin *origin = lease->at;

	if (!lease->h2)
		return conn;
	origin->apart = !conn || conn_protocol(conn) != CONN_HTTP_2;
	pool_hold(origin, origin->apart);
	if (!origin->apart) {
		lease->placed = false;
		origin->leased--;
		conn = session_begin(lease, conn);
	}
	pool_serve(origin);
	return conn;
}

static void lease_on_open(void *arg, struct conn *conn, const struct failure *failure)
{
	struct lease *lease = arg;
	bool made = conn;
	struct failure own;

	lease->dial = NULL;
	conn = lease_share(lease, conn);
	if (made && !conn) {
		failure_set(&own, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
		failure = &own;
	}
	lease_enter(lease, LEASE_READY);
	lease->ready(lease->arg, conn, false, failure);
}

static void lease_on_task(struct task *task)
{
	struct lease *lease = container_of(task, struct lease, task);
	struct conn *conn = lease->conn;
	struct failure failure;

	lease->conn = NULL;
	lease_enter(lease, LEASE_READY);
	if (!conn)
		failure_set(&failure, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
	lease->ready(lease->arg, conn, conn && lease->reused, conn ? NULL : &failure);
}

/* An idle connection on its way to ready() stays registered for events, since unregistering it and registering it again
 * costs two system calls. What arrives meanwhile waits for the next owner. */
static void lease_on_conn(void *arg, enum conn_event event)
{
	(void)arg, (void)event;
}

/* The lease's turn has come. */
static void lease_leave_queue(struct lease *lease)
{
	struct pool *pool = lease->at->pool;

	TAILQ_REMOVE(&lease->at->waiting, lease, link);
	loop_disarm(pool->loop, &lease->timer);
	lease_enter(lease, LEASE_OPENING);
	fetch_timing_end(lease->timing, STAGE_QUEUE, pool->loop);
}

/* Closes what is idle and of no use to the lease, where it would be one too many. */
static void lease_make_room(const struct lease *lease)
{
	struct pool_origin *origin = lease->at;
	size_t max = lease->terms.max;

	if (!max)
		return;
	if (lease->terms.fresh && origin->n_idle && origin->leased + origin->n_sessions + origin->n_idle > max)
		idle_drop_oldest(origin);
	if (origin->leased + origin->n_sessions > max)
		session_close_resting(origin);
}

/* An idle connection for the lease, or a new one. */
static void lease_open(struct lease *lease)
{
	struct pool_origin *origin = lease->at;
	struct pool *pool = origin->pool;
	struct dial_target target = origin->target;

	origin->leased++;
	lease->placed = true;
	lease_leave_queue(lease);
	lease->offered = target.h2 = lease->h2;
	target.timing = lease->timing;
	target.connect_timeout_ms = lease->connect_timeout_ms;
	target.id = lease->id;
	lease_make_room(lease);
	if (!lease->terms.fresh && (lease->conn = idle_pick(origin, lease->h2, &lease->offered)) != NULL) {
		lease->reused = true;
		conn_set_owner(lease->conn, lease_on_conn, lease);
	}
	if (lease->conn || !(lease->dial = dial_start(pool->loop, pool->resolver, &target, lease_on_open, lease)))
		loop_defer(pool->loop, &lease->task);
	else if (lease->h2 && !origin->begun++)
		loop_arm(pool->loop, &origin->together, POOL_TOGETHER_MS);
}

static bool lease_has_place(const struct lease *lease)
{
	struct pool_origin *origin = lease->at;

	return !lease->terms.max || origin->leased + origin->n_sessions < lease->terms.max ||
	    session_rests(origin);
}

/* Gives the lease what it can have now, a stream before a connection. False: it has to wait. */
static bool lease_serve(struct lease *lease)
{
	const struct pool_origin *origin = lease->at;

	if (lease->h2 && session_serve(lease)) {
		lease_leave_queue(lease);
		conn_set_owner(lease->conn, lease_on_conn, lease);
		loop_defer(origin->pool->loop, &lease->task);
		return true;
	}
	if (!lease_has_place(lease) || (lease->h2 && !origin->apart && origin->begun >= origin->dials))
		return false;
	lease_open(lease);
	return true;
}

/* First come, first served. But a lease that waits for a connection holds back none that can have a stream. */
void pool_serve(struct pool_origin *origin)
{
	struct lease *lease, *next;

	for (lease = TAILQ_FIRST(&origin->waiting); lease; lease = next) {
		next = TAILQ_NEXT(lease, link);
		if (!lease_serve(lease) && LIST_EMPTY(&origin->sessions) && !lease_has_place(lease))
			return;
	}
}

static void lease_on_timeout(struct timer *timer)
{
	struct lease *lease = container_of(timer, struct lease, timer);
	struct failure failure;

	if (lease_has_place(lease)) {
		lease_open(lease);
		return;
	}
	TAILQ_REMOVE(&lease->at->waiting, lease, link);
	lease_enter(lease, LEASE_LATE);
	failure_set(&failure, FAILURE_CONNECTION_LIMIT, "none of %zu connections free within %llu ms", lease->terms.max,
	    (unsigned long long)lease->terms.wait_ms);
	lease->ready(lease->arg, NULL, false, &failure);
}

struct lease *pool_lease(struct pool *pool, const struct dial_target *target, const struct lease_terms *terms,
    lease_ready_f *ready, void *arg)
{
	struct pool_origin *origin = pool_origin_get(pool, target);
	struct lease *lease = origin ? malloc(sizeof *lease) : NULL;

	if (!lease) {
		if (origin)
			pool_origin_put(origin);
		return NULL;
	}
	*lease = (struct lease){ .at = origin, .terms = *terms, .h2 = target->h2,
		.connect_timeout_ms = target->connect_timeout_ms,
		.id = target->id, .timing = target->timing, .ready = ready, .arg = arg, .task.run = lease_on_task,
		.timer.fire = lease_on_timeout };
	fetch_timing_begin(lease->timing, STAGE_QUEUE, pool->loop);
	origin->n_leases++;
	TAILQ_INSERT_TAIL(&origin->waiting, lease, link);
	if (!lease_serve(lease)) {
		log_step(&lease->id, "pool: waits for a connection");
		loop_arm(pool->loop, &lease->timer, terms->wait_ms);
	}
	return lease;
}

/* Gives back the place that the lease has, or waits for. */
static void lease_leave(struct lease *lease)
{
	struct pool_origin *origin = lease->at;

	if (lease->phase == LEASE_WAITING)
		TAILQ_REMOVE(&origin->waiting, lease, link);
	if (lease->placed)
		origin->leased--;
	if (lease->dial && lease->h2 && origin->begun)
		origin->begun--;
	dial_cancel(&lease->dial);
	conn_close(&lease->conn);
	loop_disarm(origin->pool->loop, &lease->timer);
	loop_forget_own(origin->pool->loop, &lease->task);
	assert(task_is_out(&lease->task));
}

void lease_end(struct lease **lp, struct conn **cp, bool keep)
{
	struct lease *lease = *lp;

	*lp = NULL;
	if (!lease)
		return;
	struct pool_origin *origin = lease->at;
	lease_leave(lease);
	if (*cp && keep && !lease->streams) {
		idle_keep(origin, *cp, lease->offered);
		*cp = NULL;
	}
	conn_close(cp);
	session_leave(lease);
	free(lease);
	pool_serve(origin);
	origin->n_leases--;
	pool_origin_put(origin);
}

bool lease_is_stream(const struct lease *lease)
{
	return lease->streams;
}

bool lease_offered_h2(const struct lease *lease)
{
	return lease->offered;
}

void lease_doubt(const struct lease *lease, struct conn *conn)
{
	if (lease->streams)
		h2_doubt(conn);
}

enum lease_fate lease_fate(const struct lease *lease, const struct conn *conn)
{
	static const enum lease_fate fates[] = { [H2_FATE_UNKNOWN] = LEASE_FAILED,
		[H2_FATE_UNPROCESSED] = LEASE_UNPROCESSED, [H2_FATE_NEEDS_HTTP_1] = LEASE_NEEDS_HTTP_1,
		[H2_FATE_TOO_LONG] = LEASE_TOO_LONG };
	enum lease_fate fate = lease->streams ? fates[h2_fate(conn)] : LEASE_FAILED;

	return fate == LEASE_FAILED && lease->reused && (lease->lost || !lease->streams) ? LEASE_DEAD : fate;
}

struct pool *pool_new(struct loop *loop, struct resolver *resolver)
{
	struct pool *pool = calloc(1, sizeof *pool);

	if (!pool)
		return NULL;
	pool->loop = loop;
	pool->resolver = resolver;
	TAILQ_INIT(&pool->ages);
	TAILQ_INIT(&pool->resting);
	return pool;
}

void pool_renew(struct pool *pool, const struct pool_limits *limits, unsigned generation)
{
	idle_drop_all(pool);
	session_close_all(pool, true);
	pool->limits = *limits;
	pool->generation = generation;
}

void pool_free(struct pool **pp)
{
	struct pool *pool = *pp;

	if (!pool)
		return;
	idle_drop_all(pool);
	session_close_all(pool, false);
	free(pool);
	*pp = NULL;
}
