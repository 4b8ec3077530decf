/* When malloc() gives memory back; see malloc_rest.h. */
#include "proxy/base/malloc_rest.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum {
	KEEP_BYTES = 32 << 20,         /* free at the end of a heap, before malloc() gives it back by itself */
	/* what is longer is mapped for its caller alone; of malloc()'s own bound, codecs' windows would be mapped anew
	 * for each transfer */
	ALONE_BYTES = 1 << 20,
	FEW = 16, FEW_SHARE = 8,       /* so many requests are few, and so are an eighth of the most there were */
	PEAK_SHARE = 64,               /* of which a part is forgotten each time */
	QUIET_S = 2
};

static atomic_llong busy_until_s;
static atomic_bool owed;               /* it has been busy since memory was given back */

static long long now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

void malloc_settle(void)
{
	mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
	mallopt(M_MMAP_THRESHOLD, ALONE_BYTES);
}

void malloc_rest(struct malloc_rest *r, uint64_t requests)
{
	bool expected = true;

	if (requests > FEW && requests > r->peak / FEW_SHARE) {
		atomic_store_explicit(&busy_until_s, now_s() + QUIET_S, memory_order_relaxed);
		atomic_store_explicit(&owed, true, memory_order_relaxed);
	} else if (now_s() > atomic_load_explicit(&busy_until_s, memory_order_relaxed) &&
	    atomic_compare_exchange_strong_explicit(&owed, &expected, false, memory_order_relaxed,
	        memory_order_relaxed)) {
		malloc_trim(0);
	}
	r->peak -= (r->peak + PEAK_SHARE - 1) / PEAK_SHARE;
	r->peak = requests > r->peak ? requests : r->peak;
}
