/* Owns coming out of LMDB alive: a page of its map that the file does not have any more, or that the disk does not
 * give, is a SIGBUS, and what LMDB finds wrong in its own pages is an assertion. Both end the guarded call. Must not
 * know: LMDB, entries.
 * Invariant: whoever is outside of lmdb_guarded() gets the signal as if this were not here. */
#ifndef UTFEED_PROXY_STORE_STORE_LMDB_GUARD_H
#define UTFEED_PROXY_STORE_STORE_LMDB_GUARD_H

#include <stdbool.h>

enum { LMDB_FAULT = -30600 };          /* none of LMDB's own errors */

/* What run gives, or LMDB_FAULT: it was left in the middle, with what it held. Calls may not be nested. */
int lmdb_guarded(int (*run)(void *), void *arg) __attribute__((warn_unused_result));
/* Ends the guarded call of this thread; false: there is none. */
bool lmdb_guard_leave(void);

#endif
