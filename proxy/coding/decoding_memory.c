/* What decoders hold; see decoding_memory.h. */
#include "proxy/coding/decoding_memory.h"

#include <stdatomic.h>

static _Atomic uint64_t sum;

bool decoding_take(size_t bytes, uint64_t most)
{
	uint64_t before = atomic_fetch_add_explicit(&sum, bytes, memory_order_relaxed);

	if (bytes <= most && before <= most - bytes)
		return true;
	decoding_give(bytes);
	return false;
}

void decoding_give(size_t bytes)
{
	atomic_fetch_sub_explicit(&sum, bytes, memory_order_relaxed);
}
