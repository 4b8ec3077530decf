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

static void lease_enter(struct lease *l, enum lease_phase phase)
{
	assert(lease_next[l->phase] >> phase & 1);
	l->phase = phase;
}

static size_t pool_hash(const struct dial_target *t)
{
	return (hash_keyed(t->host, strlen(t->host)) + t->port) % POOL_BUCKETS;
}

static bool pool_same(const struct dial_target *a, const struct dial_target *b)
{
	return a->generation == b->generation && a->port == b->port && a->tls == b->tls && a->guard == b->guard &&
	    parent_same(a->parent, b->parent) && !strcmp(a->host, b->host);
}

static void pool_on_surplus(struct timer *);

static struct pool_origin *pool_origin_get(struct pool *p, const struct dial_target *t)
{
	struct pool_bucket *b;
	struct pool_origin *o;

	if (p->latest && pool_same(&p->latest->target, t))
		return p->latest;
	b = &p->buckets[pool_hash(t)];
	LIST_FOREACH(o, b, link)
		if (pool_same(&o->target, t))
			return p->latest = o;
	if (!(o = calloc(1, sizeof *o)) || !(o->host = strdup(t->host))) {
		free(o);
		return NULL;
	}
	o->pool = p;
	o->target = *t;
	o->target.host = o->host;
	o->target.timing = NULL;       /* this request's alone */
	o->surplus.fire = pool_on_surplus;
	TAILQ_INIT(&o->idle);
	TAILQ_INIT(&o->waiting);
	LIST_INSERT_HEAD(b, o, link);
	return p->latest = o;
}

static void pool_origin_put(struct pool_origin *o)
{
	if (o->leased || o->n_idle || !TAILQ_EMPTY(&o->waiting))
		return;
	if (o->pool->latest == o)
		o->pool->latest = NULL;
	LIST_REMOVE(o, link);
	loop_disarm(o->pool->loop, &o->surplus);
	free(o->host);
	free(o);
}

/* Takes the connection out of the pool; it is the caller's from now on. */
static struct conn *idle_take(struct idle *i)
{
	struct pool_origin *o = i->origin;
	struct conn *conn = i->conn;

	TAILQ_REMOVE(&o->idle, i, link);
	TAILQ_REMOVE(&o->pool->ages, i, age);
	o->n_idle--;
	o->pool->n_idle--;
	loop_disarm(o->pool->loop, &i->timer);
	free(i);
	return conn;
}

static void idle_drop(struct idle *i)
{
	struct pool_origin *o = i->origin;
	struct conn *conn = idle_take(i);

	conn_close(&conn);
	pool_origin_put(o);
}

/* Drops an idle connection that the origin has closed, or on which it sent something unasked. Messages of TLS itself do
 * not count. */
static void idle_on_conn(void *arg, enum conn_event event)
{
	struct idle *i = arg;
	char byte;

	(void)event;
	if (conn_read(i->conn, &byte, sizeof byte) != CONN_AGAIN)
		idle_drop(i);
}

static void idle_on_timeout(struct timer *t)
{
	idle_drop(container_of(t, struct idle, timer));
}

/* Picks the latest idle connection on which nothing has arrived. The origin closed the others, or sent something
 * unasked, and only the event is yet to come: such bytes must not become the answer to a request (RFC 9112 section
 * 9.5). What comes while the loop is in one turn is not looked for, as little as what is under way to this machine.
 * NULL: none. */
static struct conn *idle_pick(struct pool_origin *o)
{
	struct idle *i;
	char byte;

	while ((i = TAILQ_FIRST(&o->idle))) {
		if (conn_is_quiet(i->conn) || conn_read(i->conn, &byte, sizeof byte) == CONN_AGAIN)
			return idle_take(i);
		idle_drop(i);
	}
	return NULL;
}

/* Closes those that are too many and have not been needed for a while, the one idle for longest first. At least one is
 * left, and keeps o. */
static void pool_on_surplus(struct timer *t)
{
	struct pool_origin *o = container_of(t, struct pool_origin, surplus);
	struct pool *p = o->pool;
	uint64_t now = loop_now_ms(p->loop);
	struct idle *oldest = TAILQ_LAST(&o->idle, idle_list);

	while (o->n_idle > p->limits.idle_per_origin && now - oldest->since_ms >= POOL_SURPLUS_MS) {
		idle_drop(oldest);
		oldest = TAILQ_LAST(&o->idle, idle_list);
	}
	if (o->n_idle > p->limits.idle_per_origin)
		loop_arm(p->loop, &o->surplus, POOL_SURPLUS_MS);
}

static void pool_keep(struct pool_origin *o, struct conn *conn)
{
	struct pool *p = o->pool;
	struct idle *i = p->limits.idle_per_origin && o->target.generation == p->generation ? malloc(sizeof *i) : NULL;

	if (!i) {
		conn_close(&conn);
		return;
	}
	*i = (struct idle){ .origin = o, .conn = conn, .since_ms = loop_now_ms(p->loop),
		.timer.fire = idle_on_timeout };
	TAILQ_INSERT_HEAD(&o->idle, i, link);
	TAILQ_INSERT_TAIL(&p->ages, i, age);
	o->n_idle++;
	p->n_idle++;
	conn_set_owner(conn, idle_on_conn, i);
	conn_want(conn, true, false);
	loop_arm(p->loop, &i->timer, p->limits.idle_timeout_ms);
	if (o->n_idle > p->limits.idle_per_origin && !o->surplus.queue)
		loop_arm(p->loop, &o->surplus, POOL_SURPLUS_MS);
	if (p->n_idle > p->limits.idle_total)
		idle_drop(TAILQ_FIRST(&p->ages));
}

static void lease_on_open(void *arg, struct conn *conn, const struct failure *failure)
{
	struct lease *l = arg;

	l->dial = NULL;
	lease_enter(l, LEASE_READY);
	l->ready(l->arg, conn, false, failure);
}

static void lease_on_task(struct task *t)
{
	struct lease *l = container_of(t, struct lease, task);
	struct conn *conn = l->conn;
	struct failure failure;

	l->conn = NULL;
	lease_enter(l, LEASE_READY);
	if (!conn)
		failure_set(&failure, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
	l->ready(l->arg, conn, conn, conn ? NULL : &failure);
}

static void lease_on_timeout(struct timer *t)
{
	struct lease *l = container_of(t, struct lease, timer);
	struct failure failure;

	TAILQ_REMOVE(&l->at->waiting, l, link);
	lease_enter(l, LEASE_LATE);
	failure_set(&failure, FAILURE_CONNECTION_LIMIT, "none of %zu connections free within %llu ms", l->terms.max,
	    (unsigned long long)l->terms.wait_ms);
	l->ready(l->arg, NULL, false, &failure);
}

/* An idle connection on its way to ready() stays registered for events, since unregistering it and registering it again
 * costs two system calls. What arrives meanwhile waits for the next owner. */
static void lease_on_conn(void *arg, enum conn_event event)
{
	(void)arg, (void)event;
}

/* The lease's turn has come: it gets an idle connection, or a new one. */
static void lease_open(struct lease *l)
{
	struct pool_origin *o = l->at;
	struct pool *p = o->pool;
	struct dial_target target = o->target;

	o->leased++;
	loop_disarm(p->loop, &l->timer);
	lease_enter(l, LEASE_OPENING);
	fetch_timing_end(l->timing, STAGE_QUEUE, p->loop);
	target.timing = l->timing;
	target.connect_timeout_ms = l->connect_timeout_ms;
	target.id = l->id;
	if (l->terms.fresh && l->terms.max && o->n_idle && o->leased + o->n_idle > l->terms.max)
		idle_drop(TAILQ_LAST(&o->idle, idle_list));
	else if (!l->terms.fresh && (l->conn = idle_pick(o)))
		conn_set_owner(l->conn, lease_on_conn, l);
	if (l->conn || !(l->dial = dial_start(p->loop, p->resolver, &target, lease_on_open, l)))
		loop_defer(p->loop, &l->task);
}

static void pool_serve(struct pool_origin *o)
{
	struct lease *l;

	while ((l = TAILQ_FIRST(&o->waiting)) && (!l->terms.max || o->leased < l->terms.max)) {
		TAILQ_REMOVE(&o->waiting, l, link);
		lease_open(l);
	}
}

struct lease *pool_lease(struct pool *p, const struct dial_target *t, const struct lease_terms *terms,
    lease_ready_f *ready, void *arg)
{
	struct pool_origin *o = pool_origin_get(p, t);
	struct lease *l = o ? malloc(sizeof *l) : NULL;

	if (!l) {
		if (o)
			pool_origin_put(o);
		return NULL;
	}
	*l = (struct lease){ .at = o, .terms = *terms, .connect_timeout_ms = t->connect_timeout_ms, .id = t->id,
		.timing = t->timing, .ready = ready, .arg = arg, .task.run = lease_on_task,
		.timer.fire = lease_on_timeout };
	fetch_timing_begin(l->timing, STAGE_QUEUE, p->loop);
	TAILQ_INSERT_TAIL(&l->at->waiting, l, link);
	pool_serve(l->at);
	if (l->phase == LEASE_WAITING)
		loop_arm(p->loop, &l->timer, terms->wait_ms);
	return l;
}

void lease_end(struct lease **lp, struct conn **cp, bool keep)
{
	struct lease *l = *lp;
	struct pool_origin *o;

	*lp = NULL;
	if (!l)
		return;
	o = l->at;
	if (l->phase == LEASE_WAITING)
		TAILQ_REMOVE(&o->waiting, l, link);
	else if (l->phase != LEASE_LATE)
		o->leased--;
	dial_cancel(&l->dial);
	conn_close(&l->conn);
	loop_disarm(o->pool->loop, &l->timer);
	loop_forget_own(o->pool->loop, &l->task);
	assert(task_is_out(&l->task));
	free(l);
	o->leased++;           /* keeps o until the connection is kept or closed */
	if (*cp && keep) {
		pool_keep(o, *cp);
		*cp = NULL;
	}
	conn_close(cp);
	o->leased--;
	pool_serve(o);
	pool_origin_put(o);
}

struct pool *pool_new(struct loop *l, struct resolver *r)
{
	struct pool *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->loop = l;
	p->resolver = r;
	TAILQ_INIT(&p->ages);
	return p;
}

void pool_renew(struct pool *p, const struct pool_limits *limits, unsigned generation)
{
	while (!TAILQ_EMPTY(&p->ages))
		idle_drop(TAILQ_FIRST(&p->ages));
	p->limits = *limits;
	p->generation = generation;
}

void pool_free(struct pool **pp)
{
	struct pool *p = *pp;

	if (!p)
		return;
	while (!TAILQ_EMPTY(&p->ages))
		idle_drop(TAILQ_FIRST(&p->ages));
	free(p);
	*pp = NULL;
}
