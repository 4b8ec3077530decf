/* Owns the seam between utf8.c and the two ways to validate whole blocks: portable, and SSSE3 where the processor has it.
 * Must not know: what comes behind the blocks. Private to utf8*.c and their test.
 * Both give a multiple of 16: every sequence that ends in those bytes is well-formed, and one may be open at their end. A byte at
 * the very end that can lead nothing may be among them too; utf8.c looks at it again. */
#ifndef UTFEED_CORE_UTF8_BLOCKS_H
#define UTFEED_CORE_UTF8_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t utf8_blocks_portable(const uint8_t *, size_t len);
/* Only where utf8_blocks_fast_works(). */
size_t utf8_blocks_fast(const uint8_t *, size_t len);
bool utf8_blocks_fast_works(void);

#endif
