/* Owns writing characters of the basic plane as UTF-8, 32 at a time, where the processor can sort bytes (AVX-512 VBMI2).
 * Must not know: charsets, carry, malformed input. Private to the decoder*.c files and their test.
 * Invariant: blocks only, the rest is left; they write what the plain loops of the engines write, which are there for every processor. */
#ifndef UTFEED_CORE_DECODER_BASIC_H
#define UTFEED_CORE_DECODER_BASIC_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder_impl.h"
#include "decoder_table.h"

bool decoder_basic_works(void);

/* The rest only where it does. */

/* Code units of two bytes, up to the block that holds a surrogate. */
void decoder_basic_utf16(struct decoder_span *, bool big_endian);
/* Bytes under 0x80 are ASCII, those from there on mean points[byte - 0x80]. Returns how many were U+FFFD. */
uint64_t decoder_basic_single(struct decoder_span *, const uint16_t points[128]);
/* Pairs of bytes that the plane knows, 16 at a time; up to the first that is none, and to a run that is too short for this. */
void decoder_basic_pairs(struct decoder_span *, const struct double_plane *);

#endif
