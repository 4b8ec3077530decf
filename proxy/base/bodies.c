/* The bytes of bodies; see bodies.h. */
#include "proxy/base/bodies.h"

#include <stdatomic.h>
#include <stdint.h>

static atomic_size_t taken, counted, promised;

void bodies_took(size_t bytes)
{
	atomic_fetch_add_explicit(&taken, bytes, memory_order_relaxed);
}

void bodies_gave(size_t bytes)
{
	atomic_fetch_sub_explicit(&taken, bytes, memory_order_relaxed);
}

void bodies_counted(size_t bytes)
{
	atomic_fetch_add_explicit(&counted, bytes, memory_order_relaxed);
}

void bodies_uncounted(size_t bytes)
{
	atomic_fetch_sub_explicit(&counted, bytes, memory_order_relaxed);
}

size_t bodies_loose(void)
{
	size_t all = atomic_load_explicit(&taken, memory_order_relaxed),
	       in = atomic_load_explicit(&counted, memory_order_relaxed);

	return all > in ? all - in : 0;
}

static size_t share_of(size_t most, size_t used, size_t max)
{
	size_t half = max / 2, least = most < BODIES_LEAST ? most : BODIES_LEAST, share;

	if (used <= half)
		return most;
	if (used >= max)
		return least;
	share = (size_t)((uint64_t)most * (max - used) / half);
	return share > least ? share : least;
}

size_t bodies_share(size_t most)
{
	return share_of(most, bodies_loose(), BODIES_LOOSE_MAX);
}

size_t bodies_promise(size_t had, size_t most)
{
	size_t others = atomic_fetch_sub_explicit(&promised, had, memory_order_relaxed) - had;
	size_t share = share_of(most, others, BODIES_PROMISED_MAX);

	atomic_fetch_add_explicit(&promised, share, memory_order_relaxed);
	return share;
}
