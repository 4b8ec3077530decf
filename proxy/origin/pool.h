/* Owns connections to origins between uses: idle ones that are kept open, and how many an origin gets at a time.
 * Must not know: requests. A lease is one place among an origin's connections, whether its connection is there yet or
 * not. A connection that no guard has checked is not reused where a guard is in force: routes and clients' URLs never
 * share a connection. Nor do connections through a parent proxy and direct ones, nor two origins behind one parent.
 * Invariant: a connection is either leased or idle; an idle one on which anything arrives is closed. */
#ifndef UTFEED_PROXY_ORIGIN_POOL_H
#define UTFEED_PROXY_ORIGIN_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/origin/dial.h"

struct lease;
struct pool;

struct pool_limits {
	/* idle connections kept open, more of them for a tenth of a second; 0: none */
	size_t idle_per_origin;
	size_t idle_total;
	uint64_t idle_timeout_ms;
};

/* NULL: out of memory. The pool keeps no idle connection before pool_renew(). */
struct pool *pool_new(struct loop *, struct resolver *);
/* Puts other settings in force: closes the idle connections, and will keep of those in use only connections of this
 * generation. */
void pool_renew(struct pool *, const struct pool_limits *, unsigned generation);
/* Every lease must have been given back. */
void pool_free(struct pool **);

/* conn belongs to the lease until lease_end(), and its owner is to be set at once. NULL: it failed, and failure says
 * why; the lease still has to be given back. reused: the connection was idle before, and may turn out dead. */
typedef void lease_ready_f(void *arg, struct conn *conn, bool reused, const struct failure *);

struct lease_terms {
	size_t max;                    /* connections this origin gets at a time; 0: no limit */
	uint64_t wait_ms;              /* the longest wait for one of them */
	bool fresh;                    /* an idle connection will not do */
};

/* Asks for a connection. ready() is called from the loop, never from within this call. NULL: out of memory. */
struct lease *pool_lease(struct pool *, const struct dial_target *, const struct lease_terms *, lease_ready_f *ready,
    void *arg);
/* Gives the place back, from any state; sets both pointers to NULL. keep: the connection is sound and between
 * messages. */
void lease_end(struct lease **, struct conn **, bool keep);

#endif
