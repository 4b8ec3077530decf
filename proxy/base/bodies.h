/* Owns two sums over the bodies in memory: all their bytes, and those that the budget of a store counts. The rest, the
 * loose bytes, belong to bodies on their way to slow readers and to bodies that such readers still read though they
 * have left the store. Owns also how much a transfer may hold, since many slow readers would otherwise hold
 * transit-bytes each. Must not know: objects, stores.
 * Invariant: any thread may call at any time; while bytes are being added or moved a sum may be too small. */
#ifndef UTFEED_PROXY_BASE_BODIES_H
#define UTFEED_PROXY_BASE_BODIES_H

#include <stddef.h>

enum {
	/* the most loose bytes, unless BODIES_LEAST for each transfer come to more */
	BODIES_LOOSE_MAX = 16 << 20,
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

#endif
