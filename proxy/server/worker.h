/* Owns one worker: a thread with its loop, listeners, clients and fetches. Nothing of it is touched by another thread
 * but its mailbox and counters. Must not know: signals, how many workers there are. */
#ifndef UTFEED_PROXY_SERVER_WORKER_H
#define UTFEED_PROXY_SERVER_WORKER_H

#include <stddef.h>

struct cache;
struct backoff;
struct settings;
struct stats;
struct worker;

enum worker_order {
	WORKER_RENEW,          /* go on under the settings of worker_renew() */
	WORKER_LEAVE,          /* go on, but every answer is the last of its connection */
	WORKER_DRAIN,          /* accept what waits and no more, finish what is in flight, say so */
	WORKER_STOP            /* end now */
};

/* number: of this worker, from 0. fds: n listening descriptors, taken over in any case: those of listen, then those of
 * tls-listen.
 * NULL: out of memory or descriptors (logged). The first settings must outlive it. */
struct worker *worker_new(struct settings *, struct backoff *, struct cache *, size_t number, const int *fds, size_t n);
/* Its thread. 0, or an errno. */
int worker_start(struct worker *) __attribute__((warn_unused_result));
/* From any thread. */
void worker_order(struct worker *, enum worker_order);
/* Requests from now on are served under these; a reference is taken. From one thread. */
void worker_renew(struct worker *, struct settings *);
/* Waits for the thread to end. */
void worker_join(struct worker *);
void worker_free(struct worker **);
struct stats *worker_stats(struct worker *);
/* Before worker_start(): called from its thread, once, when it has no clients any more and gets none, or has ended. */
void worker_on_done(struct worker *, void (*on_done)(void *arg), void *arg);

#endif
