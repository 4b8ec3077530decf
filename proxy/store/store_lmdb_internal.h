/* Owns what the files of the LMDB store share. Only store_lmdb*.c include it. */
#ifndef UTFEED_PROXY_STORE_STORE_LMDB_INTERNAL_H
#define UTFEED_PROXY_STORE_STORE_LMDB_INTERNAL_H

#include <lmdb.h>

#include "proxy/store/store_thread.h"

/* The file and its tables. Only the writer's thread changes this structure, and holds use while it does; a lookup holds
 * use while it reads. */
struct lmdb_file {
	char *path;
	size_t option_bytes;                   /* the configured size, in whole pages */
	size_t page_bytes;
	/* when the writer began to wait for LMDB's writer lock, which all processes share, in ms; 0: it does not
	 * wait */
	_Atomic int64_t waits_since;
	pthread_mutex_t use;
	unsigned uses;                         /* how often the writer's thread has taken use */
	MDB_env *env;                          /* NULL: not open */
	MDB_txn *read;                         /* the transaction of lookups, reset between them */
	MDB_cursor *news;                      /* its cursor of marks, renewed for each look; NULL: not open */
	MDB_dbi entries, order, meta, marks;
	size_t limit_bytes;                    /* the limit that all processes of the file keep to, as last seen */
	size_t most_bytes;                     /* the bound of a file that is above the limit; 0: it is not */

	int full;                              /* errno: why the file cannot grow; 0: it can */
	size_t spare_pages;                    /* pages that the file has behind its end */
	size_t last_txn;                       /* the latest transaction that began to write */

	int64_t alone_since;                   /* in ms: since when no other process was seen; 0: not known */
	/* of lock.mdb, kept open as long as env: closing any descriptor of that file loses the process's lock on it */
	int lock_fd;
	int mark_fd;                           /* of "in-use" (store_lmdb_mark.c) */
	uint64_t process;                      /* this process, as marks name it */
	int peers_fd;                          /* of "purges", by which processes tell what they know; -1: not yet */

	bool alone;                            /* no other process had the file open when this one opened it */
	/* evictions and errors since the store was last told of them; entries and bytes as they are now */
	struct store_stats counted;
};

/* Shares of the limit. Entries fill it up to FILL; the rest is for pages that LMDB cannot use again yet. One batch, and
 * one entry, takes no more than PIECE. */
#define FILL(limit) ((limit) / 4 * 3)
#define PIECE(limit) ((limit) / 16)

/* The tables, in a transaction. All return LMDB's error, 0: none. A key that is not there is not an error. */
/* *entry: one reference, or NULL */
int lmdb_get(struct lmdb_file *, MDB_txn *, const char *key, size_t len, struct entry **, bool *damaged)
    __attribute__((warn_unused_result));
int lmdb_put(struct lmdb_file *, MDB_txn *, const struct entry *) __attribute__((warn_unused_result));
int lmdb_remove(struct lmdb_file *, MDB_txn *, const char *key, size_t len) __attribute__((warn_unused_result));
int lmdb_purge(struct lmdb_file *, MDB_txn *, const struct store_op *) __attribute__((warn_unused_result));
int lmdb_wipe(struct lmdb_file *, MDB_txn *) __attribute__((warn_unused_result));
/* the number of entries, and the bytes of all pages of the tables */
int lmdb_measure(struct lmdb_file *, MDB_txn *, uint64_t *entries, uint64_t *bytes) __attribute__((warn_unused_result));
/* Removes the oldest entries, though not very many at once, until needs bytes have room in the limit. It does so in a
 * transaction of its own, so that later transactions can use the freed pages. tries: how often the room was too small
 * before. From the second try on the transaction is written even if it removes nothing. Each try leaves more room,
 * unless the file system is full. */
int lmdb_evict(struct lmdb_file *, size_t needs, int tries) __attribute__((warn_unused_result));

/* The purges that the file remembers (store_lmdb_marks.c). */
enum { LMDB_MARK_URL = 255, LMDB_NEWS = 32 };
struct lmdb_news {
	uint64_t known;                        /* the latest known here; 0: none yet */
	uint64_t others;                       /* the latest by another process, or possibly so; 0: none */
	bool read;                             /* the file could be read */
	bool missed;                           /* some behind the former known are gone */
	bool more;                             /* not all of them fit */
	size_t n;
	struct store_mark marks[LMDB_NEWS];    /* those by other processes; their texts stand in urls */
	char urls[LMDB_NEWS][LMDB_MARK_URL];
};
int lmdb_marks_begin(struct lmdb_file *, MDB_txn *) __attribute__((warn_unused_result));
int lmdb_marks_add(struct lmdb_file *, MDB_txn *, const struct store_op *) __attribute__((warn_unused_result));
/* Whether no purge that came after the beginning of its fetch covers the entry. */
int lmdb_marks_allow(struct lmdb_file *, MDB_txn *, const struct entry *, bool *allowed)
    __attribute__((warn_unused_result));
/* Reads what came behind news->known, which goes up with it. */
int lmdb_marks_read(struct lmdb_file *, MDB_txn *, struct lmdb_news *) __attribute__((warn_unused_result));

/* Which purges the processes know (store_lmdb_peers.c). */
/* From now on purges of other processes wait until this one knows them. Returns an error of errno. */
int lmdb_peers_join(struct lmdb_file *) __attribute__((warn_unused_result));
void lmdb_peers_tell(struct lmdb_file *, uint64_t known);
/* Whether every other process that is alive knows the purge of that number. */
bool lmdb_peers_know(struct lmdb_file *, uint64_t number);

/* The file; on the writer's thread. */
int lmdb_file_init(struct lmdb_file *, const char *path, size_t map_bytes) __attribute__((warn_unused_result));
void lmdb_file_free(struct lmdb_file *);
/* On failure env stays NULL. A damaged file is set aside, provided that no other process has it open. */
int lmdb_open(struct lmdb_file *) __attribute__((warn_unused_result));
void lmdb_close(struct lmdb_file *);
/* around changes of the file that lookups must not see; one pair may stand within another */
void lmdb_use(struct lmdb_file *);
void lmdb_unuse(struct lmdb_file *);
bool lmdb_is_damaged(int rc);
bool lmdb_is_misconfigured(int rc);                    /* waiting will not help */
const char *lmdb_strerror(int rc);
/* Its room (store_lmdb_room.c). */
int64_t lmdb_now_ms(void);                             /* by the monotonic clock */
/* begins a write transaction, in which limit_bytes is right; waits for any other process that writes */
int lmdb_begin(struct lmdb_file *, MDB_txn **) __attribute__((warn_unused_result));
/* called after MDB_MAP_RESIZED, when another process has made the file larger */
int lmdb_remap(struct lmdb_file *) __attribute__((warn_unused_result));
/* makes sure that the transaction is written: only then may later ones use the pages that earlier ones have freed */
int lmdb_turn(struct lmdb_file *, MDB_txn *) __attribute__((warn_unused_result));
/* Takes room in the file system for needs bytes of entries, and for the removals behind them; sets full. */
void lmdb_reserve(struct lmdb_file *, size_t needs);
/* the bytes that a batch may need where the file system is full; SIZE_MAX: it is not */
int lmdb_room(struct lmdb_file *, size_t *bytes) __attribute__((warn_unused_result));
/* lock.mdb, the mark that the store is in use, and setting damaged files aside (store_lmdb_mark.c). */
/* Before LMDB opens the store. fault: why data.mdb is to be set aside first; NULL: it is not. */
int lmdb_mark_open(struct lmdb_file *, const char **fault) __attribute__((warn_unused_result));
/* Takes the lock of lock.mdb; false: another process has the store open. */
bool lmdb_is_alone(const struct lmdb_file *);
int lmdb_set_aside(struct lmdb_file *, const char *why) __attribute__((warn_unused_result));
/* Once LMDB has it open, before anything is written. */
int lmdb_mark_use(struct lmdb_file *) __attribute__((warn_unused_result));
/* From the next opening on it is set aside. May be called by any thread while the store is open. */
void lmdb_mark_damaged(const struct lmdb_file *);
/* Once LMDB has closed it. synced: all of it has reached the disk. */
void lmdb_mark_close(struct lmdb_file *, bool synced);
/* If this thread crashes from now on, as LMDB does on a damaged page, the store is marked as damaged: it crashes utfeed
 * once, and not again at each restart. */
void lmdb_watch(const struct lmdb_file *);

/* The writer: its thread and the operations that wait for it. It outlives the store where waiting for its thread would
 * take too long. */
enum { LMDB_BATCH = 512 };
struct lmdb_writer {
	struct lmdb_file file;
	pthread_t thread;
	pthread_mutex_t lock;                  /* guards what follows, and the operations */
	pthread_cond_t news, opened;
	struct store_thread *store;            /* woken when operations come back; NULL: it does not wait any more */
	struct task *task;                     /* on the loop of store */
	struct store_op_list queue, back;
	size_t queued_puts, queued_bytes, queued;
	int open_rc;                           /* result of the first attempt; OPEN_PENDING: not known yet */
	bool remap, reopen;                    /* a lookup asks for it */
	bool stop, ended, abandoned;
	struct store_stats told;
	/* for the writer's thread alone */
	struct store_op *batch[LMDB_BATCH];
	size_t n, batch_max;
	bool lossy;                            /* entries of the next batch become removals */
	bool failing;                          /* a failure was logged and has not ended */
	bool refused;                          /* the batch leaves out an entry, for want of room on the disk */
};
enum { OPEN_PENDING = -1 };
struct lmdb_pending;

struct lmdb_writer *lmdb_writer_new(const char *path, size_t map_bytes);       /* NULL: out of memory, no thread */
/* open_rc, waiting for it up to wait_ms */
int lmdb_writer_opened(struct lmdb_writer *, int64_t wait_ms) __attribute__((warn_unused_result));
void lmdb_writer_attach(struct lmdb_writer *, struct store_thread *, struct task *);
/* Operations are done in the order of these calls. The operation stands in pending until it comes back. LOST: the entry
 * became a removal, because the queue is full or lose is set. */
enum lmdb_taken { LMDB_TAKEN, LMDB_LOST };
enum lmdb_taken lmdb_writer_do(struct lmdb_writer *, struct lmdb_pending *, struct store_op *, bool lose);
struct store_op *lmdb_writer_back(struct lmdb_writer *);                       /* a finished one; NULL: no more */
/* evictions and errors count since the last call */
struct store_stats lmdb_writer_stats(struct lmdb_writer *);
void lmdb_writer_ask(struct lmdb_writer *, int why);                           /* a lookup has failed with why */
/* turns waiting entries into removals of the entries they would have replaced, and returns how many */
size_t lmdb_writer_lose(struct lmdb_writer *);
/* takes the first operation out of the queue; NULL: the queue is empty */
struct store_op *lmdb_writer_give_up(struct lmdb_writer *);
void lmdb_writer_stop(struct lmdb_writer *);           /* the task is woken once it has ended */
bool lmdb_writer_ended(struct lmdb_writer *);
int64_t lmdb_writer_waits_ms(struct lmdb_writer *);    /* how long it has waited for another process; 0: not at all */
size_t lmdb_writer_left(struct lmdb_writer *);         /* operations that may or may not be done yet */

/* without wait, a writer whose thread has not ended yet frees itself when it ends */
void lmdb_writer_free(struct lmdb_writer **, bool wait);

/* The writer's queue and its batches, under the lock. */
void lmdb_writer_tell(struct lmdb_writer *);           /* operations have come back */
void lmdb_writer_enqueue(struct lmdb_writer *, struct store_op *, bool first);
void lmdb_writer_dequeue(struct lmdb_writer *, struct store_op *);
/* Batches (store_lmdb_batch.c), without the lock. */
/* Writes the next one. Where entries cannot be written, the entries they would have replaced are removed. Returns
 * LMDB's error, 0: none. */
int lmdb_batch_run(struct lmdb_writer *) __attribute__((warn_unused_result));
void lmdb_batch_done(struct lmdb_writer *);            /* returns its operations as done, and tells the counters */

/* Writes that the file may not have yet, the newest first: lookups see them here. On the store's thread. */
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
/* Another process has purged: entries that the purge covers are not found here any more. */
void pending_purge(struct lmdb_pending *, const struct store_mark *);
/* FOUND: *entry is one reference. UNKNOWN: the file has to be asked, and its entry is stale since *stale (0: not
 * stale). */
enum pending_answer pending_get(const struct lmdb_pending *, const char *key, size_t len, struct entry **entry,
    int64_t *stale);
/* like entry_expired(), but takes over the reference to the entry; since 0: returns the entry unchanged */
struct entry *lmdb_stale(struct entry *, int64_t since);

#endif
