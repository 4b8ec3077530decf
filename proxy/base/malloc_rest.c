/* When malloc() gives memory back; see malloc_rest.h. */
#include "proxy/base/malloc_rest.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
	KEEP_BYTES = 32 << 20,         /* free at the end of a heap, before malloc() gives it back by itself */
	/* A longer block is mapped for its caller alone. With malloc()'s own bound each transfer would map its codec's
	 * window anew. */
	ALONE_BYTES = 1 << 20,
	FEW = 16, FEW_SHARE = 8,       /* so many requests are few, and so are an eighth of the most there were */
	PEAK_SHARE = 64,               /* of which a part is forgotten each time */
	QUIET_S = 2
};

static atomic_llong busy_until_s;

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

bool malloc_rests(struct malloc_rest *rest, uint64_t requests)
{
	bool busy = requests > FEW && requests > rest->peak / FEW_SHARE;

	if (busy)
		atomic_store_explicit(&busy_until_s, now_s() + QUIET_S, memory_order_relaxed);
	rest->owed |= busy;
	rest->peak -= (rest->peak + PEAK_SHARE - 1) / PEAK_SHARE;
	rest->peak = requests > rest->peak ? requests : rest->peak;
	bool rests = rest->owed && now_s() > atomic_load_explicit(&busy_until_s, memory_order_relaxed);
	rest->owed &= !rests;
	return rests;
}

/* malloc_trim() does not give back free memory at the end of a thread's heap. free() of a long block does, if there is
 * more than the threshold. So the threshold is low for this one block. */
void malloc_give_back(void)
{
	void *volatile last;

	mallopt(M_TRIM_THRESHOLD, 0);
	last = malloc(ALONE_BYTES / 2);
	free(last);
	malloc_settle();
	malloc_trim(0);
}
