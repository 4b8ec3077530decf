/* The bytes of bodies; see bodies.h. */
#include "proxy/base/bodies.h"

#include <stdatomic.h>
#include <stdint.h>

static atomic_size_t taken, counted;

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

size_t bodies_share(size_t most)
{
	size_t half = BODIES_LOOSE_MAX / 2, loose = bodies_loose(), least = most < BODIES_LEAST ? most : BODIES_LEAST,
	       share;

	if (loose <= half)
		return most;
	if (loose >= BODIES_LOOSE_MAX)
		return least;
	share = (size_t)((uint64_t)most * (BODIES_LOOSE_MAX - loose) / half);
	return share > least ? share : least;
}
