/* Owns what the files of the LMDB store share. Only store_lmdb*.c include it. */
#ifndef UTFEED_PROXY_STORE_LMDB_INTERNAL_H
#define UTFEED_PROXY_STORE_LMDB_INTERNAL_H

#include <lmdb.h>

#include "store_thread.h"

struct store_lmdb {
	struct store_thread thread;
	char *path;
	MDB_env *env;                          /* NULL: it broke and would not open again */
	MDB_dbi entries, order, meta;
	size_t map_bytes, page_bytes;
	struct store_stats counted;            /* since the last store_thread_count() */
};

/* Shares of the map: filled up to FILL, the rest is for pages that wait to be free again; a batch, an entry: no more than PIECE. */
#define FILL(map) ((map) / 4 * 3)
#define PIECE(map) ((map) / 16)

/* The tables, in a transaction. All return LMDB's error, 0: none; what is not there is no error. */
int lmdb_get(struct store_lmdb *, MDB_txn *, const char *key, size_t len, struct entry **);    /* *entry: one reference or NULL */
int lmdb_put(struct store_lmdb *, MDB_txn *, const struct entry *);
int lmdb_remove(struct store_lmdb *, MDB_txn *, const char *key, size_t len);
int lmdb_purge(struct store_lmdb *, MDB_txn *, const struct store_op *);
int lmdb_wipe(struct store_lmdb *, MDB_txn *);
int lmdb_measure(struct store_lmdb *, MDB_txn *, uint64_t *entries, uint64_t *bytes);          /* entries and the pages all take */
/* Removes the oldest until no more than limit bytes are taken. A transaction of its own: its pages are free for later ones. */
int lmdb_evict(struct store_lmdb *, size_t limit);

/* The file. */
int lmdb_open(struct store_lmdb *);
bool lmdb_is_damaged(int rc);
void lmdb_unlink(const struct store_lmdb *);
/* After an error that eviction does not mend: empties it, by a new file where the old one does not even let that happen. */
int lmdb_start_over(struct store_lmdb *, int why);

#endif
