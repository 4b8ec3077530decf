/* Owns what the files of the pool share: pool.c has origins and leases, pool_idle.c idle connections, pool_sessions.c
 * connections that speak HTTP/2. Must not know: what pool.h must not.
 * Invariant: an origin is there as long as anything of it is: a lease, an idle connection, a session. */
#ifndef UTFEED_PROXY_ORIGIN_POOL_INTERNAL_H
#define UTFEED_PROXY_ORIGIN_POOL_INTERNAL_H

#include <sys/queue.h>

#include "proxy/net/h2.h"
#include "proxy/net/loop.h"
#include "proxy/origin/pool.h"

enum { POOL_BUCKETS = 256 };

struct idle {
	TAILQ_ENTRY(idle) link;        /* in the origin's list, latest first */
	TAILQ_ENTRY(idle) age;         /* in the pool's list, oldest first */
	struct pool_origin *origin;
	struct conn *conn;
	bool offered;                  /* HTTP/2 was offered on it: the origin does not speak that */
	uint64_t since_ms;
	struct timer timer;
};

/* A connection that speaks HTTP/2. A lease has a stream of it. */
struct session {
	LIST_ENTRY(session) link;      /* in the origin's list, latest first */
	LIST_ENTRY(session) of_pool;
	TAILQ_ENTRY(session) age;      /* in the pool's list while it rests, longest first */
	struct pool_origin *origin;
	struct conn *conn;
	struct h2 *h2;
	LIST_HEAD(, lease) leases;
	bool rests;                    /* it is idle: it is silent, and no lease has a stream of it */
	bool silent;                   /* its streams have ended, though leases may still read what came */
	bool used;                     /* it had a stream before */

	bool settled;                  /* the origin has said how many streams it takes */
	uint64_t since_ms;             /* when it began to rest */
	struct timer timer;            /* while it rests */
};

TAILQ_HEAD(idle_list, idle);
TAILQ_HEAD(lease_list, lease);

/* The connections of one origin. */
struct pool_origin {
	LIST_ENTRY(pool_origin) link;
	struct pool *pool;
	char *host;
	struct dial_target target;   /* host points to the copy */
	size_t n_leases, n_idle, n_sessions;
	size_t leased;                 /* connections that leases have, or that are being made for them */
	struct idle_list idle;
	struct timer surplus;          /* runs while there are more idle ones than are kept */
	struct lease_list waiting;
	struct task serve;             /* serves them */
	LIST_HEAD(, session) sessions;
	/* Leases wait whether a connection under way, or a new session, is for all of them. How many of dials
	 * connections were begun since the timer was armed; with each time that it fires twice as many may be. */
	size_t dials, begun;
	struct timer together;
	bool apart;                    /* The latest was not: each lease makes its own. */
};

LIST_HEAD(pool_bucket, pool_origin);

struct pool {
	struct loop *loop;
	struct resolver *resolver;
	struct pool_limits limits;
	unsigned generation;           /* connections of this generation alone are kept idle */
	size_t n_idle;                 /* idle connections, of HTTP/2 too */
	struct pool_origin *latest;    /* which the latest lease was of; NULL: it is gone */
	struct idle_list ages;
	LIST_HEAD(, session) sessions;
	TAILQ_HEAD(, session) resting;
	struct pool_bucket buckets[POOL_BUCKETS];
};

enum lease_phase { LEASE_WAITING, LEASE_LATE, LEASE_OPENING, LEASE_READY };

struct lease {
	TAILQ_ENTRY(lease) link;       /* while WAITING */
	LIST_ENTRY(lease) on_session;  /* while it has a session */
	struct pool_origin *at;
	struct lease_terms terms;
	enum lease_phase phase;
	bool h2;                       /* a stream of HTTP/2 will do, and is offered to the origin */
	bool placed;                   /* one of the origin's places is its own */
	bool offered;                  /* as of struct idle */

	bool reused;                   /* the connection was idle before, or its stream is not its session's first */
	bool streams;                  /* it has a stream */
	bool lost;                     /* the session of its stream has ended */
	uint64_t connect_timeout_ms;
	struct log_id id;              /* of the request that needs the connection */
	struct fetch_timing *timing;   /* likewise; borrowed; NULL: nothing is measured */

	struct timer timer;            /* while WAITING */
	struct dial *dial;           /* while OPENING */
	struct conn *conn;             /* an idle connection, or a stream, on its way to ready() */
	struct session *session;       /* NULL: it has no stream, or its session has ended */
	struct task task;
	lease_ready_f *ready;
	void *arg;
};

/* pool.c */
/* Gives those who wait what they can have now. */
void pool_serve(struct pool_origin *);
/* So many connections may be begun now, each of which may be for all. 0: none for a while, since one was just made. */
void pool_hold(struct pool_origin *, size_t dials);
/* Frees an origin of which nothing is left. */
void pool_origin_put(struct pool_origin *);

/* pool_idle.c */
/* Keeps the connection if it may be idle, and closes it otherwise. */
void idle_keep(struct pool_origin *, struct conn *, bool offered);
/* The latest idle connection on which nothing has arrived; it is the caller's from now on. h2: the origin must not
 * speak HTTP/2, as far as is known. NULL: none. */
struct conn *idle_pick(struct pool_origin *, bool h2, bool *offered);
void idle_drop_oldest(struct pool_origin *);
void idle_drop_all(struct pool *);
void idle_on_surplus(struct timer *);
/* Closes the connection that is idle longest, of HTTP/2 too. */
void pool_trim(struct pool *);

/* pool_sessions.c */
/* Makes a session of a connection of the lease's origin, and a stream of it for the lease. Takes the connection over in
 * any case. NULL: out of memory. */
struct conn *session_begin(struct lease *, struct conn *);
/* A stream for the lease of a session that has room; false: there is none. */
bool session_serve(struct lease *);
/* The lease's stream is closed. */
void session_leave(struct lease *);
/* Whether one of the origin's rests; ends it. */
bool session_rests(const struct pool_origin *);
void session_close_resting(struct pool_origin *);
void session_close(struct session *);
void session_close_all(struct pool *, bool resting);    /* resting: only those that rest */

#endif
