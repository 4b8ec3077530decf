/* Owns the sum of what the decoders of all transfers hold besides their states: windows, of up to 16 MiB each, whose
 * size the origins choose. Must not know: codings.
 * Invariant: any thread may call at any time; the sum never exceeds the limit of any call that was granted. */
#ifndef UTFEED_PROXY_CODING_DECODING_MEMORY_H
#define UTFEED_PROXY_CODING_DECODING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* so little is not counted */
enum { DECODING_LEAST = 64 * 1024 };

/* False: these bytes would make it more than `most` in all, and nothing was done. */
bool decoding_take(size_t bytes, uint64_t most);
void decoding_give(size_t bytes);

#endif
