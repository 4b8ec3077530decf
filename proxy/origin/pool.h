/* Owns connections to origins between uses: idle ones that are kept open, and how many an origin gets at a time.
 * Must not know: requests. A lease is one place among an origin's connections, whether its connection is there yet or
 * not. A connection that no guard has checked is not reused where a guard is in force: routes and clients' URLs never
 * share a connection. Nor do connections through a parent proxy and direct ones, nor two origins behind one parent.
 * Over TLS an origin may choose HTTP/2: then its connection is one for many leases, each of which has a stream of it.
 * A stream is a connection as others are (net/h2.h); it takes no place among those of its origin.
 * Invariant: a connection is either leased or idle; an idle one on which anything arrives is closed, unless it is a
 * frame of HTTP/2 that asks for nothing. */
#ifndef UTFEED_PROXY_ORIGIN_POOL_H
#define UTFEED_PROXY_ORIGIN_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/net/h2.h"
#include "proxy/origin/dial.h"

struct conf;
struct lease;
struct pool;

struct pool_limits {
	/* idle connections kept open, more of them for a tenth of a second; 0: none */
	size_t idle_per_origin;
	size_t idle_total;
	uint64_t idle_timeout_ms;
	struct h2_settings h2;         /* of connections that speak HTTP/2 */
};

/* Of connections that speak HTTP/2. */
struct h2_settings pool_h2_settings(const struct conf *);

/* NULL: out of memory. The pool keeps no idle connection before pool_renew(). */
struct pool *pool_new(struct loop *, struct resolver *);
/* Puts other settings in force: closes the idle connections, and will keep of those in use only connections of this
 * generation. */
void pool_renew(struct pool *, const struct pool_limits *, unsigned generation);
/* Every lease must have been given back. */
void pool_free(struct pool **);

/* conn belongs to the lease until lease_end(), and its owner is to be set at once. NULL: it failed, and failure says
 * why; the lease still has to be given back. If reused is set, the connection was idle before, or
 * is a stream of one that had others before. Then it may turn out dead. */
typedef void lease_ready_f(void *arg, struct conn *conn, bool reused, const struct failure *);

/* What a lease does not take. */
enum lease_fresh {
	LEASE_ANY,
	LEASE_SOUND,                   /* no connection that is idle: it may be dead */
	LEASE_ANEW                     /* none that is there already */
};

struct lease_terms {
	size_t max;                    /* connections this origin gets at a time; 0: no limit */
	uint64_t wait_ms;              /* the longest wait for one of them */
	enum lease_fresh fresh;
};

/* Asks for a connection. ready() is called from the loop, never from within this call. NULL: out of memory. */
struct lease *pool_lease(struct pool *, const struct dial_target *, const struct lease_terms *, lease_ready_f *ready,
    void *arg);
/* Gives the place back, from any state; sets both pointers to NULL. keep: the connection is sound and between
 * messages. */
void lease_end(struct lease **, struct conn **, bool keep);

/* Whether its connection is a stream of HTTP/2; whether HTTP/2 was offered on it. */
bool lease_is_stream(const struct lease *);
bool lease_offered_h2(const struct lease *);
/* No answer came in time: its session takes no further requests before the origin says something on it. */
void lease_doubt(const struct lease *, struct conn *);

/* What a failure of its connection, before a byte came, says of the request. */
enum lease_fate {
	LEASE_FAILED,
	LEASE_DEAD,                    /* the connection was there before, and is gone */
	LEASE_UNPROCESSED,             /* nothing was done (RFC 9113 section 8.7) */
	LEASE_NEEDS_HTTP_1,            /* the origin wants it by HTTP/1.1 */
	LEASE_TOO_LONG                 /* its head is too long for the origin's HTTP/2 */
};
enum lease_fate lease_fate(const struct lease *, const struct conn *);

#endif
