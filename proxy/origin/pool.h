/* Owns connections to origins between uses: idle ones kept open, and how many an origin gets at a time.
 * Must not know: requests. A lease is one place among an origin's connections, with or without its connection yet.
 * What the guard did not see is not reused where it stands: routes and clients' URLs never share a connection. Nor do
 * ways through a parent proxy and direct ones, nor two origins behind one parent.
 * Invariant: a connection is either leased or idle; an idle one that says anything is closed. */
#ifndef UTFEED_PROXY_ORIGIN_POOL_H
#define UTFEED_PROXY_ORIGIN_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/origin/origin.h"

struct lease;
struct pool;

struct pool_limits {
	size_t idle_per_origin;        /* kept open; 0: none */
	size_t idle_total;
	uint64_t idle_timeout_ms;
};

/* NULL: out of memory. Keeps nothing idle until pool_renew() */
struct pool *pool_new(struct loop *, struct resolver *);
/* Under other settings from now on: closes what is idle, and keeps of what is in use only connections of this
 * generation. */
void pool_renew(struct pool *, const struct pool_limits *, unsigned generation);
/* Every lease must have been given back. */
void pool_free(struct pool **);

/* conn: the lease's until lease_end(), owner to be set at once; NULL: failed, and why (the lease is still to be given
 * back). reused: it was idle before: it may turn out dead. */
typedef void lease_ready_f(void *arg, struct conn *conn, bool reused, const struct failure *);

struct lease_terms {
	size_t max;                    /* connections this origin gets at a time; 0: no limit. It waits its turn, */
	uint64_t wait_ms;              /* this long at most */
	bool fresh;                    /* no idle one will do */
};

/* ready comes from the loop, never from within. NULL: out of memory. */
struct lease *pool_lease(struct pool *, const struct origin_target *, const struct lease_terms *, lease_ready_f *ready,
    void *arg);
/* Gives the place back, from any state; nulls both. keep: the connection is sound and between messages. */
void lease_end(struct lease **, struct conn **, bool keep);

#endif
