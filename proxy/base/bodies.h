/* Owns two sums over the bodies in memory: all their bytes, and those that the budget of a store counts. The rest, the
 * loose bytes, belong to bodies on their way to slow readers and to bodies that such readers still read though they
 * have left the store. Owns also how much a transfer may hold, because many slow readers would otherwise hold
 * transit-bytes each. Owns how much of it may come before it is read, if utfeed promises that to its sender (the
 * windows of HTTP/2). Must not know: objects, stores, frames.
 * Invariant: any thread may call at any time; while bytes are being added or moved a sum may be too small. */
#ifndef UTFEED_PROXY_BASE_BODIES_H
#define UTFEED_PROXY_BASE_BODIES_H

#include <stddef.h>

enum {
	/* the most loose bytes, unless BODIES_LEAST for each transfer come to more */
	BODIES_LOOSE_MAX = 16 << 20,
	BODIES_PROMISED_MAX = 8 << 20,         /* likewise, of bytes that may come */
	BODIES_LEAST = 4096
};

void bodies_took(size_t bytes);
void bodies_gave(size_t bytes);
/* So many of these bytes are counted by a budget from now on, or no longer. */
void bodies_counted(size_t bytes);
void bodies_uncounted(size_t bytes);
size_t bodies_loose(void);             /* bytes that no budget counts */
/* How many bytes a transfer may hold now. It may hold `most` until half of BODIES_LOOSE_MAX is in use. Then the share
 * shrinks, but not below BODIES_LEAST. */
size_t bodies_share(size_t most);
/* The same of bytes that may come. The transfer was promised `had` before, and its share now takes their place; most 0:
 * nothing more may come. */
size_t bodies_promise(size_t had, size_t most);

#endif
