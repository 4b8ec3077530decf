/* Owns what the files of the LMDB store share. Only store_lmdb*.c include it. */
#ifndef UTFEED_PROXY_STORE_STORE_LMDB_INTERNAL_H
#define UTFEED_PROXY_STORE_STORE_LMDB_INTERNAL_H

#include <lmdb.h>

#include "proxy/store/store_lmdb_guard.h"
#include "proxy/store/store_thread.h"

/* The file and its tables. One thread, the writer's, changes what is in here, under use; who only looks things up holds
 * use meanwhile. */
struct lmdb_file {
	char *path;
	size_t option_bytes;                   /* what is configured, in whole pages */
	size_t page_bytes;
	atomic_bool stop;                      /* gives up checking */
	/* for the writer's lock that all processes share, in milliseconds; 0: does not */
	_Atomic int64_t waits_since;
	pthread_mutex_t use;
	bool using;                            /* by the writer's thread */
	MDB_env *env;                          /* NULL: not open */
	MDB_txn *read;                         /* of lookups, reset between them */
	MDB_dbi entries, order, meta;
	size_t map_bytes;                      /* what is filled of the file, at most */
	/* on lock.mdb while env is open: closing any such loses the process's lock */
	int lock_fd;
	bool alone;                            /* nobody else had it open when we did */
	bool faulted;                          /* by a lookup: nobody reads until it was opened again */
	bool suspect;                          /* it was found damaged: set aside before it is opened again */
	/* evictions and errors since they were told; entries and bytes as they are */
	struct store_stats counted;
};

/* Shares of the map: filled up to FILL, the rest is for pages that wait to be free again; a batch, an entry: no more
 * than PIECE. */
#define FILL(map) ((map) / 4 * 3)
#define PIECE(map) ((map) / 16)

/* The tables, in a transaction. All return LMDB's error, 0: none; what is not there is no error. */
/* a reference or NULL */
int lmdb_get(struct lmdb_file *, MDB_txn *, const char *key, size_t len, struct entry **, bool *damaged)
    __attribute__((warn_unused_result));
int lmdb_put(struct lmdb_file *, MDB_txn *, const struct entry *) __attribute__((warn_unused_result));
int lmdb_remove(struct lmdb_file *, MDB_txn *, const char *key, size_t len) __attribute__((warn_unused_result));
int lmdb_purge(struct lmdb_file *, MDB_txn *, const struct store_op *) __attribute__((warn_unused_result));
int lmdb_wipe(struct lmdb_file *, MDB_txn *) __attribute__((warn_unused_result));
/* entries and the pages all take */
int lmdb_measure(struct lmdb_file *, MDB_txn *, uint64_t *entries, uint64_t *bytes) __attribute__((warn_unused_result));
/* Removes the oldest until no more than limit bytes are taken. A transaction of its own: its pages are free for later
 * ones. */
int lmdb_evict(struct lmdb_file *, size_t limit) __attribute__((warn_unused_result));

/* The file; on the writer's thread. */
int lmdb_file_init(struct lmdb_file *, const char *path, size_t map_bytes) __attribute__((warn_unused_result));
void lmdb_file_free(struct lmdb_file *);
/* env stays NULL on failure; what is damaged was set aside if nobody else has it */
int lmdb_open(struct lmdb_file *) __attribute__((warn_unused_result));
void lmdb_close(struct lmdb_file *);
/* By the thread that has just had a fault, before it ends: nobody looks anything up any more. Its transactions are not
 * ended, for LMDB would free what its stack held; its end gives the writer's lock back. Then another thread closes. */
void lmdb_fault(struct lmdb_file *);
/* to write: waits for every other process that does */
int lmdb_begin(struct lmdb_file *, MDB_txn **) __attribute__((warn_unused_result));
/* after MDB_MAP_RESIZED: another process has made the file larger */
int lmdb_remap(struct lmdb_file *) __attribute__((warn_unused_result));
bool lmdb_is_damaged(int rc);
bool lmdb_is_misconfigured(int rc);                    /* waiting will not help */
const char *lmdb_strerror(int rc);
/* Sees to it that removals have room in the file system; false: it has none. */
bool lmdb_reserve(struct lmdb_file *);
/* lock.mdb and putting damaged files away (store_lmdb_lock.c). */
int lmdb_lock_prepare(struct lmdb_file *) __attribute__((warn_unused_result));
bool lmdb_lock_alone(struct lmdb_file *);
int lmdb_set_aside(struct lmdb_file *) __attribute__((warn_unused_result));

/* Its thread and the writes that wait for it: outlives the store where it cannot be waited for. */
enum { LMDB_BATCH = 512 };
struct lmdb_writer {
	struct lmdb_file file;
	pthread_t thread, former;
	pthread_mutex_t lock;                  /* what follows, and the operations */
	pthread_cond_t news, opened;
	struct store_thread *store;            /* where back is told; NULL: nobody waits any more */
	struct task *task;                     /* on its loop */
	struct store_op_list queue, back;
	size_t queued_puts, queued_bytes, queued;
	int open_rc;                           /* of the first time; OPEN_PENDING: not known yet */
	bool remap, reopen;                    /* a lookup asks for it */
	bool stop, ended, abandoned;
	struct store_stats told;
	/* its thread's */
	struct store_op *batch[LMDB_BATCH];
	size_t n, batch_max;
	bool settles;                          /* somebody wants to know when it is on the disk */
	bool lossy;                            /* entries of the next batch become removals */
	unsigned faults;                       /* since something was written */
	bool failing;                          /* said so */
};
enum { OPEN_PENDING = -1 };
struct lmdb_pending;

struct lmdb_writer *lmdb_writer_new(const char *path, size_t map_bytes);       /* NULL: out of memory, no thread */
/* as open_rc */
int lmdb_writer_opened(struct lmdb_writer *, int64_t wait_ms) __attribute__((warn_unused_result));
void lmdb_writer_attach(struct lmdb_writer *, struct store_thread *, struct task *);
/* In this order; it comes back, and stands in pending until then. An entry for which there is no room, or lose, becomes
 * a removal: true. */
bool lmdb_writer_do(struct lmdb_writer *, struct lmdb_pending *, struct store_op *, bool lose);
struct store_op *lmdb_writer_back(struct lmdb_writer *);                       /* what is through; NULL: no more */
/* evictions and errors since the last time */
struct store_stats lmdb_writer_stats(struct lmdb_writer *);
void lmdb_writer_ask(struct lmdb_writer *, int why);                           /* after a lookup that failed so */
/* entries that wait become removals of what they would have replaced: how many */
size_t lmdb_writer_lose(struct lmdb_writer *);
/* what waits first; NULL: nothing does */
struct store_op *lmdb_writer_give_up(struct lmdb_writer *);
void lmdb_writer_stop(struct lmdb_writer *);           /* ended comes back */
bool lmdb_writer_ended(struct lmdb_writer *);
int64_t lmdb_writer_waits_ms(struct lmdb_writer *);    /* for how long it has, for another process */
size_t lmdb_writer_left(struct lmdb_writer *);         /* operations that nobody knows of whether they will be done */
/* without wait it frees itself where it has not ended yet */
void lmdb_writer_free(struct lmdb_writer **, bool wait);

/* Writes that the file may not have yet, the newest first, for lookups; on the store's thread. */
enum { PENDING_BUCKETS = 1024 };
LIST_HEAD(lmdb_near, store_op);
struct lmdb_pending {
	struct lmdb_near urls[PENDING_BUCKETS];        /* by their URL */
	struct lmdb_near wide;                         /* purges of more than one URL */
	uint64_t number;
};
enum pending_answer { PENDING_FOUND, PENDING_GONE, PENDING_UNKNOWN };
void pending_add(struct lmdb_pending *, struct store_op *);
void pending_remove(struct store_op *);
/* FOUND: *entry is a reference. UNKNOWN: the file knows, and what it has is stale since *stale (0: not). */
enum pending_answer pending_get(const struct lmdb_pending *, const char *key, size_t len, struct entry **entry,
    int64_t *stale);
/* takes over the reference; as entry_expired(), since 0: as it is */
struct entry *lmdb_stale(struct entry *, int64_t since);

#endif
