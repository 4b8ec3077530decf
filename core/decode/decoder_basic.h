/* Owns writing characters of the basic plane as UTF-8, a block at a time, where the processor has instructions for it
 * (cpu.h).
 * Must not know: charsets, carry, malformed input. Private to the decoder*.c files and their test.
 * Invariant: blocks only, the rest is left; they write what the plain loops of the engines write, which are there for
 * every processor. */
#ifndef UTFEED_CORE_DECODE_DECODER_BASIC_H
#define UTFEED_CORE_DECODE_DECODER_BASIC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/decode/decoder_impl.h"
#include "core/decode/decoder_table.h"

struct decoder_basic {
	unsigned block;             /* characters */
	/* Code units of two bytes, up to the block that holds a surrogate. */
	void (*utf16)(struct decoder_span *, bool big_endian);
	/* A set whose table is `basic`. Returns how many bytes were holes. */
	uint64_t (*single)(struct decoder_span *, const struct single_table *);
	/* Pairs of bytes that the plane knows, and ASCII between them; up to the first that is neither. NULL: no faster
	 * than the plain loop. */
	void (*pairs)(struct decoder_span *, const struct double_plane *);
};

/* NULL: this processor has none. */
const struct decoder_basic *decoder_basic(void);

extern const struct decoder_basic decoder_basic_avx2, decoder_basic_avx512;

#endif
