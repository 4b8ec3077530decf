/* Owns the seam between utf8.c and the functions that validate whole blocks: one in plain C, and those that use vector
 * instructions (cpu.h).
 * Must not know: the bytes behind the blocks. Private to utf8*.c and their test.
 * Invariant: each returns a multiple of 16, the length of a prefix in which every sequence that ends there is
 * well-formed. At the end of the prefix a sequence may be open, and the last byte may be an impossible lead; utf8.c
 * looks at these again. The functions differ in how many blocks before a fault they leave to utf8.c. */
#ifndef UTFEED_CORE_TEXT_UTF8_BLOCKS_H
#define UTFEED_CORE_TEXT_UTF8_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* The fastest that this processor has. */
size_t utf8_blocks(const uint8_t *, size_t len);

size_t utf8_blocks_portable(const uint8_t *, size_t len);
size_t utf8_blocks_neon(const uint8_t *, size_t len);
size_t utf8_blocks_ssse3(const uint8_t *, size_t len);
size_t utf8_blocks_avx2(const uint8_t *, size_t len);

#endif
