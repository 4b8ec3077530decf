/* Owns the seam between utf8.c and the ways to validate whole blocks: portable, and what the processor has (cpu.h).
 * Must not know: what comes behind the blocks. Private to utf8*.c and their test.
 * Each gives a multiple of 16: every sequence that ends in those bytes is well-formed, and one may be open at their
 * end. A byte at the very end that can lead nothing may be among them too; utf8.c looks at it again. How many blocks
 * before a fault are left to utf8.c differs. */
#ifndef UTFEED_CORE_TEXT_UTF8_BLOCKS_H
#define UTFEED_CORE_TEXT_UTF8_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The best there is. */
size_t utf8_blocks(const uint8_t *, size_t len);

size_t utf8_blocks_portable(const uint8_t *, size_t len);
size_t utf8_blocks_neon(const uint8_t *, size_t len);
size_t utf8_blocks_ssse3(const uint8_t *, size_t len);
size_t utf8_blocks_avx2(const uint8_t *, size_t len);
size_t utf8_blocks_avx512(const uint8_t *, size_t len);

#endif
