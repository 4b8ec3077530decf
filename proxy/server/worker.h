/* Owns one worker: a thread with its loop, listeners, clients and fetches. Other threads touch nothing of it but its
 * mailbox and counters. Must not know: signals, how many workers there are. */
#ifndef UTFEED_PROXY_SERVER_WORKER_H
#define UTFEED_PROXY_SERVER_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct cache;
struct backoff;
struct fleet;
struct feeds_seen;
struct loop;
struct settings;
struct stats;
struct worker;

enum worker_order {
	WORKER_TURN,           /* count a turn: worker_turns() */
	WORKER_RENEW,          /* serve under the settings of worker_renew() */
	WORKER_LEAVE,          /* go on, but make every response the last of its connection */

	/* accept the waiting connections and no more (where sockets were given away: none), finish what is in flight,
	 * report that */
	WORKER_DRAIN,
	WORKER_STOP            /* end now */
};

/* What all workers share; borrowed, and outlives them. */
struct worker_parts {
	struct backoff *backoff;
	struct fleet *fleet;           /* NULL: this process is alone */
	struct cache *cache;
	struct feeds_seen *feeds;      /* NULL: feeds are not listed */
};

/* A socket that a worker accepts from. */
struct worker_listener {
	int fd;
	bool tls;
	const atomic_bool *given;      /* another process accepts from it now; outlives the worker */
};

/* number: counts workers from 0. The descriptors of the n listeners are taken over in any case.
 * NULL: out of memory or descriptors (logged). The first settings must outlive the worker. */
struct worker *worker_new(struct settings *, const struct worker_parts *, size_t number,
    const struct worker_listener *, size_t n);
/* Starts the worker's thread. 0, or an errno. */
int worker_start(struct worker *) __attribute__((warn_unused_result));
/* May be called from any thread. */
void worker_order(struct worker *, enum worker_order);
/* How often the worker has looked at its orders. It is another number some time after WORKER_TURN was ordered, unless
 * the worker's loop is stuck. May be called from any thread. */
unsigned worker_turns(const struct worker *);
/* Requests from now on are served under these settings; a reference is taken. Called from one thread only. */
void worker_renew(struct worker *, struct settings *);
/* Waits for the thread to end. */
void worker_join(struct worker *);
void worker_free(struct worker **);
struct stats *worker_stats(struct worker *);
struct loop *worker_loop(struct worker *);     /* for loop_wake() from other threads */
/* Set before worker_start(). on_done() is called once, from the worker's thread, when the worker has no clients any
 * more and gets none, or when its thread ends. */
void worker_on_done(struct worker *, void (*on_done)(void *arg), void *arg);

#endif
