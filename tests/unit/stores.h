/* Owns filling a store and asking it, and the folder a test program may use up. Must not know: which store it is, how it works.
 * Invariant: who asks gets the answer at once, on a loop of the test's own. */
#ifndef UTFEED_TESTS_STORES_H
#define UTFEED_TESTS_STORES_H

#include "proxy/store/store.h"

enum { STORES_MAP = 128 << 20 };

struct entry *stores_fetch_on(struct loop *, struct store *, const char *key, size_t len);
struct entry *stores_fetch(struct store *, const char *key);
struct loop *stores_loop(void);                 /* where stores_fetch() waits */

/* What entries_new() makes: put there; there and whole; not there; there, but stale. */
void stores_put(struct store *, const char *key, unsigned seed, size_t len);
bool stores_holds(struct store *, const char *key, unsigned seed, size_t len);
bool stores_misses(struct store *, const char *key);
bool stores_stale(struct store *, const char *key);

/* This process's own, below /tmp; whoever needs it makes it. */
const char *stores_folder(void);
void stores_folder_clear(void);
struct store *stores_lmdb(size_t map_bytes);    /* in that folder; open, however slow the disk is */

/* Whether what was asked for before is done; false: owed. */
bool stores_settle(struct store *);

void stores_nap(void);

#endif
