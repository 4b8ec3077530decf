/* Owns the end of several things with counted references that lie in one block of memory: the last one to end gives the
 * block back. Must not know: what they are. */
#ifndef UTFEED_PROXY_BASE_HOME_H
#define UTFEED_PROXY_BASE_HOME_H

#include <stdatomic.h>

#include "proxy/base/heap.h"

/* At the start of the block. */
struct home { atomic_uint things; };

static inline void home_leave(struct home *home)
{
	if (atomic_fetch_sub_explicit(&home->things, 1, memory_order_acq_rel) == 1)
		heap_give(home);
}

#endif
