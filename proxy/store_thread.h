/* Owns what stores with a thread of their own share: the thread and its loop, the bounded queue of what workers ask of it, and
 * the way answers go back. Must not know: where entries are kept.
 * Invariants: operations are taken in the order they were asked for. A lookup or an entry that finds the queue full is refused; a
 * removal never is: where too many wait, everything is removed instead. */
#ifndef UTFEED_PROXY_STORE_THREAD_H
#define UTFEED_PROXY_STORE_THREAD_H

#include <pthread.h>

#include "store.h"

enum store_op_type { OP_GET, OP_PUT, OP_REMOVE, OP_PURGE };

struct store_thread;
struct store_op {
	TAILQ_ENTRY(store_op) link;
	struct store_thread *thread;
	enum store_op_type type;
	struct store_wait *wait;       /* GET: under the lock; NULL: nobody waits any more */
	char *key;                     /* PURGE: the URL */
	size_t len;
	struct entry *entry;           /* PUT */
	enum store_purge what;
	bool soft;
	int64_t now;
};
TAILQ_HEAD(store_op_list, store_op);

struct store_work {
	void (*begin)(struct store_thread *);      /* all three on its thread; begin may be NULL */
	void (*run)(struct store_thread *);        /* there are operations to take */
	void (*end)(struct store_thread *);        /* the last call: store_thread_leave(), now or later */
};

/* The first member of such a store. */
struct store_thread {
	struct store store;
	const struct store_work *work;
	pthread_t thread;
	struct loop *loop;             /* the thread's */
	struct task task;              /* on it */
	pthread_mutex_t lock;          /* what follows */
	pthread_cond_t started;
	struct store_op_list queue;
	size_t queued, queued_bytes;
	bool running, stopping, wipe;
	bool away;                     /* what it keeps entries in cannot be reached: lookups and entries are refused */
	struct store_stats stats;
};

int store_thread_start(struct store_thread *, const struct store_work *);      /* -1: no thread, no loop */
void store_thread_stop(struct store_thread *);                                 /* until work->end() is through; nobody may wait */

/* On the store's thread. */
struct store_op *store_thread_take(struct store_thread *);                     /* NULL: the queue is empty */
void store_thread_done(struct store_thread *, struct store_op *, struct entry *answer);        /* GET: a reference or NULL; frees it */
void store_thread_again(struct store_thread *, struct store_op *);             /* back to the front of the queue: a removal */
void store_thread_set_away(struct store_thread *, bool away);                  /* true: lookups and entries in the queue end too */
void store_thread_count(struct store_thread *, const struct store_stats *more);       /* added, but entries and bytes: set */
void store_thread_leave(struct store_thread *);

/* The functions of struct store_ops. */
enum store_result store_thread_get(struct store *, const char *key, size_t len, struct entry **, struct store_wait *);
void store_thread_cancel(struct store *, struct store_wait *);
void store_thread_put(struct store *, struct entry *);
void store_thread_remove(struct store *, const char *key, size_t len);
int64_t store_thread_purge(struct store *, enum store_purge, const char *url, size_t len, bool soft, int64_t now);
void store_thread_stats(struct store *, struct store_stats *);

#endif
