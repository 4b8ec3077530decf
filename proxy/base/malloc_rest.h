/* Owns when malloc() gives memory back to the system. Transfers are faster with memory that they do not have to fault
 * in anew each time. So malloc() gives memory back by itself only when a lot is free; the rest follows once few
 * requests come. malloc_trim() looks at all free blocks, under the locks of malloc(). There are few, because bodies
 * and stored responses have memory of their own (heap.h). Must not know: whose memory it is. May be called on any
 * thread. */
#ifndef UTFEED_PROXY_BASE_MALLOC_REST_H
#define UTFEED_PROXY_BASE_MALLOC_REST_H

#include <stdbool.h>
#include <stdint.h>

void malloc_settle(void);              /* at start */

/* One for each thread that tells. */
struct malloc_rest {
	uint64_t peak;
	bool owed;                     /* the thread has been busy since it gave memory back */
};
/* Called every second or so: so many requests have come since the call before. True: the thread has been busy, and few
 * requests have come for a while, on any thread. It is to free what it keeps for further ones, since a few small blocks
 * hold much memory between them, and to call malloc_give_back(). */
bool malloc_rests(struct malloc_rest *, uint64_t requests);
/* Gives the system what malloc() has free, of the calling thread's memory also what is at its end. */
void malloc_give_back(void);

#endif
