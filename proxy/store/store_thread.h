/* Owns what the stores with a thread of their own have in common: the thread and its loop, the bounded queue of
 * operations that workers ask for, and the way the answers go back. Must not know: where entries are kept.
 * Invariants: operations are taken in the order they were asked for. A lookup that finds the queue full, or the store
 * away, is refused, and one that waits for longer than the store's patience finds nothing. A removal is never refused.
 * An entry that cannot be stored, or got lost on its way, becomes the removal of its key. A removal is owed until it is
 * done; once too many are owed, everything is removed instead, and no lookup is made before that. */
#ifndef UTFEED_PROXY_STORE_STORE_THREAD_H
#define UTFEED_PROXY_STORE_STORE_THREAD_H

#include <pthread.h>

#include "proxy/store/store.h"

enum store_op_type { OP_GET, OP_PUT, OP_REMOVE, OP_PURGE, OP_SETTLE, OP_CALL };

struct store_thread;
struct store_op {
	TAILQ_ENTRY(store_op) link;
	LIST_ENTRY(store_op) by_key;   /* REMOVE: in owed_by_key while it is in the queue */
	struct store_thread *thread;
	enum store_op_type type;
	bool queued;                   /* guarded by the lock: in the queue, which it leaves if nobody waits for it */
	struct store_wait *wait;       /* GET, SETTLE; guarded by the lock; NULL: cancelled */
	char *key;                     /* PURGE: the URL; CALL: the name, and behind it the arguments' bytes */
	size_t len;
	struct entry *entry;           /* PUT */
	struct store_op_call *call;    /* CALL */
	enum store_purge what;
	bool soft;
	int64_t now;
	uint64_t asked;                /* PURGE: store.asked with it */
	LIST_ENTRY(store_op) near;     /* this and the next two are for the store that has taken the operation */
	uint64_t number;
	bool owed;
	bool late;                     /* PUT: others may have purged it since its fetch began: the file judges it */
};
TAILQ_HEAD(store_op_list, store_op);

/* The further members of an operation that is a call. */
struct store_op_call {
	struct store_call *by;         /* guarded by the lock; NULL: cancelled, or nobody waits */
	enum store_script script;
	size_t n, bytes;               /* of the arguments */
	struct slice args[CALL_ARGS_MAX];
	struct store_reply *reply;     /* to go to the caller once the operation is done; NULL: none */
};
enum { STORE_OWED_BUCKETS = 1024 };

struct store_work {
	void (*begin)(struct store_thread *);      /* all three are called on the store's thread; begin may be NULL */
	void (*run)(struct store_thread *);        /* takes operations, if there are any */
	void (*end)(struct store_thread *);        /* must lead to store_thread_leave(), at once or later */
};

/* The first member of every store with a thread. */
struct store_thread {
	struct store store;
	const struct store_work *work;
	uint64_t patience_ms;          /* how long lookups and calls wait for an answer; 0: until it comes */
	struct store_thread *beside;   /* the store whose thread and loop it uses; NULL: they are its own */
	pthread_t thread;
	struct loop *loop;             /* the thread's */
	struct task task, leaves;      /* on that loop */
	bool begun;                    /* of the thread alone */
	pthread_mutex_t lock;          /* guards what follows */
	pthread_cond_t changed;        /* running, left */
	struct store_op_list queue;
	size_t queued, queued_bytes;   /* all operations in queue */
	size_t owed, owed_bytes;       /* the removals among them */
	LIST_HEAD(, store_op) owed_by_key[STORE_OWED_BUCKETS];
	uint64_t secret[2];
	struct store_op *again;        /* the last operation put back since one was taken; NULL: none */
	bool running, stopping, left;
	bool wipe;                     /* everything is to be removed before any operation is taken */
	bool away;                     /* the place of the entries cannot be reached: lookups and entries are refused */
	bool unknown;                  /* whether it is away: operations wait in the queue, and stats say "away" */
	struct store_stats stats;
	pthread_mutex_t listening;     /* guards the next two, and is held during the call */
	void (*purged)(void *arg, const struct store_mark *);          /* NULL: nobody listens */
	void *purged_arg;
	struct store_ears ears;        /* guarded likewise; all NULL: nobody hears */
};

/* beside: a started store that stops later; NULL: the store gets a thread and a loop of its own. -1: no thread, no
 * loop */
int store_thread_start(struct store_thread *, const struct store_work *, struct store_thread *beside)
    __attribute__((warn_unused_result));
void store_thread_end(struct store_thread *);          /* it begins to stop; nobody asks it for anything any more */
/* Returns once the store has left its thread; no store_wait may be pending. Removals that are still owed are logged. */
void store_thread_stop(struct store_thread *);

/* On the store's thread. */
struct store_op *store_thread_take(struct store_thread *);                     /* NULL: the queue is empty */
/* The operation is done and is freed. answer: for a GET one reference or NULL, else NULL. */
void store_thread_done(struct store_thread *, struct store_op *, struct entry *answer);
/* frees an operation whose answer is not waited for; on any thread */
void store_op_free(struct store_op *);
/* An entry that is not stored becomes the removal of its key. */
void store_op_make_removal(struct store_op *);
/* For an operation that was not done, or perhaps not. A lookup or settlement fails. An entry becomes the removal of its
 * key. A removal returns to the front of the queue, behind those that were put back before it. */
void store_thread_owe(struct store_thread *, struct store_op *);
size_t store_thread_owed(struct store_thread *);                               /* removals in the queue */
bool store_thread_is_idle(struct store_thread *);                              /* the queue is empty */
/* True: lookups and settlements in the queue fail at once, too, and entries in it become removals. Either way it is
 * known from now on. */
void store_thread_set_away(struct store_thread *, bool away);
/* The purges before are known now. Lookups in the queue are to be made again (store_wait.again). */
void store_thread_ask_again(struct store_thread *);
/* Tells who listens of a purge by another process. */
void store_thread_purged(struct store_thread *, const struct store_mark *);    /* as store_ops.listen says */
/* Whether somebody hears; and tells him. */
bool store_thread_is_heard(struct store_thread *);
void store_thread_news(struct store_thread *, struct slice topic, struct slice text, uint64_t age_ms);
void store_thread_message(struct store_thread *, struct slice text);
/* All purges of others are known now. */
void store_thread_learned(struct store_thread *);
/* Whether somebody still waits for the settlement; not so once its wait was cancelled. Of so many other processes so
 * many do not know of its purges yet. */
bool store_thread_awaits(struct store_thread *, const struct store_op *, size_t others, size_t unaware);
/* adds to the counters; entries and bytes are set instead */
void store_thread_count(struct store_thread *, const struct store_stats *more);
void store_thread_leave(struct store_thread *);

/* Functions for struct store_ops, which every store with a thread uses. */
enum store_result store_thread_get(struct store *, const char *key, size_t len, struct entry **, struct store_wait *);
void store_thread_cancel(struct store *, struct store_wait *);
void store_thread_put(struct store *, struct entry *);
void store_thread_remove(struct store *, const char *key, size_t len);
int64_t store_thread_purge(struct store *, enum store_purge, const char *url, size_t len, bool soft, int64_t now);
enum store_settling store_thread_settle(struct store *, struct store_wait *);
void store_thread_stats(struct store *, struct store_stats *);
void store_thread_listen(struct store *, void (*purged)(void *arg, const struct store_mark *), void *arg);
bool store_thread_call(struct store *, struct store_call *);
void store_thread_uncall(struct store *, struct store_call *);
void store_thread_hear(struct store *, const struct store_ears *);

#endif
