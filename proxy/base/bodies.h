/* Owns the sum of bytes of bodies in memory, what of it a store's budget counts, and how much of the rest one transfer
 * may hold: bodies on their way to slow readers, and those that such still read though the store has given them up.
 * Many slow readers would otherwise hold transit-bytes each. Must not know: objects, stores.
 * Invariant: any thread may call at any time; what is just on its way may make a sum too small. */
#ifndef UTFEED_PROXY_BASE_BODIES_H
#define UTFEED_PROXY_BASE_BODIES_H

#include <stddef.h>

enum {
	/* what all that no budget counts comes to, as long as the least for each is not more */
	BODIES_LOOSE_MAX = 16 << 20,
	BODIES_LEAST = 4096
};

void bodies_took(size_t bytes);
void bodies_gave(size_t bytes);
/* Of these, what a budget counts from now on, or no more. */
void bodies_counted(size_t bytes);
void bodies_uncounted(size_t bytes);
size_t bodies_loose(void);             /* what none counts */
/* Of what a transfer may hold when there is room, `most`, what it may hold now: all of it until half of
 * BODIES_LOOSE_MAX is in use, then less and less, at least BODIES_LEAST. */
size_t bodies_share(size_t most);

#endif
