/* Connections to origins between uses; see pool.h. */
#include "proxy/origin/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/base/container_of.h"
#include "proxy/base/hash.h"
#include "proxy/net/conn.h"
#include "proxy/net/loop.h"
#include "proxy/origin/fetch_timing.h"
#include "proxy/settings/parent.h"

/* POOL_SURPLUS_MS: so long a connection that is one too many may be idle. Where many requests come at once most of them
 * find it again, instead of each making and closing one. */
enum { POOL_BUCKETS = 256, POOL_SURPLUS_MS = 100 };

struct idle {
	TAILQ_ENTRY(idle) link;        /* in the origin's list, latest first */
	TAILQ_ENTRY(idle) age;         /* in the pool's list, oldest first */
	struct pool_origin *origin;
	struct conn *conn;
	uint64_t since_ms;
	struct timer timer;
};

TAILQ_HEAD(idle_list, idle);
TAILQ_HEAD(lease_list, lease);

/* The connections of one origin; freed when nothing is leased, idle or waiting. */
struct pool_origin {
	LIST_ENTRY(pool_origin) link;
	struct pool *pool;
	char *host;
	struct dial_target target;   /* host points to the copy */
	size_t leased, n_idle;
	struct idle_list idle;
	struct timer surplus;          /* runs while there are more idle ones than are kept */
	struct lease_list waiting;
};

LIST_HEAD(pool_bucket, pool_origin);

struct pool {
	struct loop *loop;
	struct resolver *resolver;
	struct pool_limits limits;
	unsigned generation;           /* connections of this generation alone are kept idle */
	size_t n_idle;
	struct pool_origin *latest;    /* which the latest lease was of; NULL: it is gone */
	struct idle_list ages;
	struct pool_bucket buckets[POOL_BUCKETS];
};

enum lease_phase { LEASE_WAITING, LEASE_LATE, LEASE_OPENING, LEASE_READY };

struct lease {
	TAILQ_ENTRY(lease) link;       /* while WAITING */
	struct pool_origin *at;
	enum lease_phase phase;
	struct lease_terms terms;
	uint64_t connect_timeout_ms;
	struct log_id id;              /* of the request that needs the connection */
	struct fetch_timing *timing;   /* likewise; borrowed; NULL: nothing is measured */
	struct timer timer;            /* while WAITING */
	struct dial *dial;           /* while OPENING */
	struct conn *conn;             /* an idle connection on its way to ready() */
	struct task task;
	lease_ready_f *ready;
	void *arg;
};

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

static void pool_on_surplus(struct timer *);

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
	origin->surplus.fire = pool_on_surplus;
	TAILQ_INIT(&origin->idle);
	TAILQ_INIT(&origin->waiting);
	LIST_INSERT_HEAD(bucket, origin, link);
	return pool->latest = origin;
}

static void pool_origin_put(struct pool_origin *origin)
{
	if (origin->leased || origin->n_idle || !TAILQ_EMPTY(&origin->waiting))
		return;
	if (origin->pool->latest == origin)
		origin->pool->latest = NULL;
	LIST_REMOVE(origin, link);
	loop_disarm(origin->pool->loop, &origin->surplus);
	free(origin->host);
	free(origin);
}

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

/* Picks the latest idle connection on which nothing has arrived. The origin closed the others, or sent something
 * unasked, and only the event is yet to come: such bytes must not become the answer to a request (RFC 9112 section
 * 9.5). Bytes that arrive later in the same turn of the loop are not seen, nor those that are still under way. NULL:
 * none. */
static struct conn *idle_pick(struct pool_origin *origin)
{
	struct idle *idle;
	char byte;

	while ((idle = TAILQ_FIRST(&origin->idle))) {
		if (conn_is_quiet(idle->conn) || conn_read(idle->conn, &byte, sizeof byte) == CONN_AGAIN)
			return idle_take(idle);
		idle_drop(idle);
	}
	return NULL;
}

/* Closes those that are too many and have not been needed for a while, the one idle for longest first. At least one is
 * left, and keeps o. */
static void pool_on_surplus(struct timer *timer)
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

static void pool_keep(struct pool_origin *origin, struct conn *conn)
{
	struct pool *pool = origin->pool;
	bool keeps = pool->limits.idle_per_origin && origin->target.generation == pool->generation;
	struct idle *idle = keeps ? malloc(sizeof *idle) : NULL;

	if (!idle) {
		conn_close(&conn);
		return;
	}
	*idle = (struct idle){ .origin = origin, .conn = conn, .since_ms = loop_now_ms(pool->loop),
		.timer.fire = idle_on_timeout };
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
		idle_drop(TAILQ_FIRST(&pool->ages));
}

static void lease_on_open(void *arg, struct conn *conn, const struct failure *failure)
{
	struct lease *lease = arg;

	lease->dial = NULL;
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
	lease->ready(lease->arg, conn, conn, conn ? NULL : &failure);
}

static void lease_on_timeout(struct timer *timer)
{
	struct lease *lease = container_of(timer, struct lease, timer);
	struct failure failure;

	TAILQ_REMOVE(&lease->at->waiting, lease, link);
	lease_enter(lease, LEASE_LATE);
	failure_set(&failure, FAILURE_CONNECTION_LIMIT, "none of %zu connections free within %llu ms", lease->terms.max,
	    (unsigned long long)lease->terms.wait_ms);
	lease->ready(lease->arg, NULL, false, &failure);
}

/* An idle connection on its way to ready() stays registered for events, since unregistering it and registering it again
 * costs two system calls. What arrives meanwhile waits for the next owner. */
static void lease_on_conn(void *arg, enum conn_event event)
{
	(void)arg, (void)event;
}

/* The lease's turn has come: it gets an idle connection, or a new one. */
static void lease_open(struct lease *lease)
{
	struct pool_origin *origin = lease->at;
	struct pool *pool = origin->pool;
	struct dial_target target = origin->target;

	origin->leased++;
	loop_disarm(pool->loop, &lease->timer);
	lease_enter(lease, LEASE_OPENING);
	fetch_timing_end(lease->timing, STAGE_QUEUE, pool->loop);
	target.timing = lease->timing;
	target.connect_timeout_ms = lease->connect_timeout_ms;
	target.id = lease->id;
	if (lease->terms.fresh && lease->terms.max && origin->n_idle &&
	    origin->leased + origin->n_idle > lease->terms.max)
		idle_drop(TAILQ_LAST(&origin->idle, idle_list));
	else if (!lease->terms.fresh && (lease->conn = idle_pick(origin)))
		conn_set_owner(lease->conn, lease_on_conn, lease);
	if (lease->conn || !(lease->dial = dial_start(pool->loop, pool->resolver, &target, lease_on_open, lease)))
		loop_defer(pool->loop, &lease->task);
}

static void pool_serve(struct pool_origin *origin)
{
	struct lease *lease;

	while ((lease = TAILQ_FIRST(&origin->waiting)) && (!lease->terms.max || origin->leased < lease->terms.max)) {
		TAILQ_REMOVE(&origin->waiting, lease, link);
		lease_open(lease);
	}
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
	*lease = (struct lease){ .at = origin, .terms = *terms, .connect_timeout_ms = target->connect_timeout_ms,
		.id = target->id, .timing = target->timing, .ready = ready, .arg = arg, .task.run = lease_on_task,
		.timer.fire = lease_on_timeout };
	fetch_timing_begin(lease->timing, STAGE_QUEUE, pool->loop);
	TAILQ_INSERT_TAIL(&lease->at->waiting, lease, link);
	pool_serve(lease->at);
	if (lease->phase == LEASE_WAITING)
		loop_arm(pool->loop, &lease->timer, terms->wait_ms);
	return lease;
}

void lease_end(struct lease **lp, struct conn **cp, bool keep)
{
	struct lease *lease = *lp;

	*lp = NULL;
	if (!lease)
		return;
	struct pool_origin *origin = lease->at;
	if (lease->phase == LEASE_WAITING)
		TAILQ_REMOVE(&origin->waiting, lease, link);
	else if (lease->phase != LEASE_LATE)
		origin->leased--;
	dial_cancel(&lease->dial);
	conn_close(&lease->conn);
	loop_disarm(origin->pool->loop, &lease->timer);
	loop_forget_own(origin->pool->loop, &lease->task);
	assert(task_is_out(&lease->task));
	free(lease);
	origin->leased++;           /* keeps o until the connection is kept or closed */
	if (*cp && keep) {
		pool_keep(origin, *cp);
		*cp = NULL;
	}
	conn_close(cp);
	origin->leased--;
	pool_serve(origin);
	pool_origin_put(origin);
}

struct pool *pool_new(struct loop *loop, struct resolver *resolver)
{
	struct pool *pool = calloc(1, sizeof *pool);

	if (!pool)
		return NULL;
	pool->loop = loop;
	pool->resolver = resolver;
	TAILQ_INIT(&pool->ages);
	return pool;
}

void pool_renew(struct pool *pool, const struct pool_limits *limits, unsigned generation)
{
	while (!TAILQ_EMPTY(&pool->ages))
		idle_drop(TAILQ_FIRST(&pool->ages));
	pool->limits = *limits;
	pool->generation = generation;
}

void pool_free(struct pool **pp)
{
	struct pool *pool = *pp;

	if (!pool)
		return;
	while (!TAILQ_EMPTY(&pool->ages))
		idle_drop(TAILQ_FIRST(&pool->ages));
	free(pool);
	*pp = NULL;
}
