/* Owns writing characters of the basic plane as UTF-8, a block at a time, where the processor has instructions for it
 * (cpu.h).
 * Must not know: charsets, carry, malformed input. Private to the decoder*.c files and their test.
 * Invariant: these functions handle whole blocks and leave the rest; they write the same bytes as the plain loops of
 * the engines, which every processor can run. */
#ifndef UTFEED_CORE_DECODE_DECODER_BASIC_H
#define UTFEED_CORE_DECODE_DECODER_BASIC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/decode/decoder_impl.h"
#include "core/decode/decoder_table.h"

struct decoder_basic {
	unsigned block;             /* characters */
	/* Decodes code units of two bytes, up to the block that has a surrogate. */
	void (*utf16)(struct decoder_span *, bool big_endian);
	/* Decodes a set whose table is `basic`. Returns how many bytes were holes. */
	uint64_t (*single)(struct decoder_span *, const struct single_table *);
};

/* NULL: there is no such form for this processor. */
const struct decoder_basic *decoder_basic(void);

extern const struct decoder_basic decoder_basic_avx2;

#endif
