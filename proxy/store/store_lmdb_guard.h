/* Owns the way out of a call of LMDB that meets a fault: a page of the map that the file no longer has, or that the
 * disk cannot read, is a SIGBUS, and an inconsistency that LMDB finds in its own pages is an assertion. Both end the
 * guarded call. Must not know: LMDB, entries.
 * Invariant: a thread outside of lmdb_guarded() gets SIGBUS as if this file did not exist. */
#ifndef UTFEED_PROXY_STORE_STORE_LMDB_GUARD_H
#define UTFEED_PROXY_STORE_STORE_LMDB_GUARD_H

#include <stdbool.h>

enum { LMDB_FAULT = -30600 };          /* not one of LMDB's own error codes */

/* Returns the result of run(), or LMDB_FAULT: run() was left in the middle, and what it held was not released. Calls
 * may not be nested. */
int lmdb_guarded(int (*run)(void *), void *arg) __attribute__((warn_unused_result));
/* Ends the guarded call of this thread and does not return; false: there is no such call. */
bool lmdb_guard_leave(void);

#endif
