/* Owns what stores with a thread of their own share: the thread and its loop, the bounded queue of what workers ask of
 * it, and the way answers go back. Must not know: where entries are kept.
 * Invariants: operations are taken in the order they were asked for. A lookup that finds the queue full, or the store
 * away, is refused. A removal never is, and what cannot come in, or got lost on its way, becomes the removal of its
 * key, which is owed until it is done: while too many are owed, everything is removed instead, and nothing is looked up
 * before. */
#ifndef UTFEED_PROXY_STORE_STORE_THREAD_H
#define UTFEED_PROXY_STORE_STORE_THREAD_H

#include <pthread.h>

#include "proxy/store/store.h"

enum store_op_type { OP_GET, OP_PUT, OP_REMOVE, OP_PURGE, OP_SETTLE };

struct store_thread;
struct store_op {
	TAILQ_ENTRY(store_op) link;
	LIST_ENTRY(store_op) by_key;   /* REMOVE: while it is in the queue */
	struct store_thread *thread;
	enum store_op_type type;
	struct store_wait *wait;       /* GET, SETTLE: under the lock; NULL: nobody waits any more */
	char *key;                     /* PURGE: the URL */
	size_t len;
	struct entry *entry;           /* PUT */
	enum store_purge what;
	bool soft;
	int64_t now;
	LIST_ENTRY(store_op) near;     /* this and what follows: whoever took it */
	uint64_t number;
	bool owed;
};
TAILQ_HEAD(store_op_list, store_op);
enum { STORE_OWED_BUCKETS = 1024 };

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
	size_t queued, queued_bytes;   /* of it; removals among them: */
	size_t owed, owed_bytes;
	LIST_HEAD(, store_op) owed_by_key[STORE_OWED_BUCKETS];
	uint64_t secret[2];
	struct store_op *again;        /* what was put back last, since the last was taken; NULL: nothing */
	bool running, stopping;
	bool wipe;                     /* everything is to be removed, before anything else is done */
	bool away;                     /* what it keeps entries in cannot be reached: lookups and entries are refused */
	struct store_stats stats;
};

/* -1: no thread, no loop */
int store_thread_start(struct store_thread *, const struct store_work *) __attribute__((warn_unused_result));
/* Until work->end() is through; nobody may wait. What is owed then is told. */
void store_thread_stop(struct store_thread *);

/* On the store's thread. */
struct store_op *store_thread_take(struct store_thread *);                     /* NULL: the queue is empty */
/* GET: a reference or NULL; frees it */
void store_thread_done(struct store_thread *, struct store_op *, struct entry *answer);
/* what nobody waits for, on any thread */
void store_op_free(struct store_op *);
/* It was not done, or nobody knows: who waits is told so, an entry becomes the removal of its key, and a removal goes
 * back to the front of the queue, behind those that went back before it. */
void store_thread_owe(struct store_thread *, struct store_op *);
size_t store_thread_owed(struct store_thread *);                               /* removals in the queue */
bool store_thread_is_idle(struct store_thread *);                              /* the queue is empty */
/* True: lookups and settlements in the queue end too, and entries become removals. */
void store_thread_set_away(struct store_thread *, bool away);
/* added, but entries and bytes: set */
void store_thread_count(struct store_thread *, const struct store_stats *more);
void store_thread_leave(struct store_thread *);

/* The functions of struct store_ops. */
enum store_result store_thread_get(struct store *, const char *key, size_t len, struct entry **, struct store_wait *);
void store_thread_cancel(struct store *, struct store_wait *);
void store_thread_put(struct store *, struct entry *);
void store_thread_remove(struct store *, const char *key, size_t len);
int64_t store_thread_purge(struct store *, enum store_purge, const char *url, size_t len, bool soft, int64_t now);
bool store_thread_settle(struct store *, struct store_wait *);
void store_thread_stats(struct store *, struct store_stats *);

#endif
