/* Owns when malloc() gives memory back to the system. Transfers are better off with memory that they need not fault in
 * anew each time, so it does so by itself only where a lot is free; the rest follows once few requests come.
 * malloc_trim() looks at all that is free, under the locks that malloc() takes: bodies and stored responses have memory
 * of their own (heap.h), so that there is little to look at. Must not know: whose memory it is. May be called on any
 * thread. */
#ifndef UTFEED_PROXY_BASE_MALLOC_REST_H
#define UTFEED_PROXY_BASE_MALLOC_REST_H

#include <stdint.h>

void malloc_settle(void);              /* at start */

/* One for each thread that tells. */
struct malloc_rest { uint64_t peak; };
/* Called every second or so: so many requests have come since the call before. */
void malloc_rest(struct malloc_rest *, uint64_t requests);

#endif
