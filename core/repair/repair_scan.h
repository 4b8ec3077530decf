/* Owns finding, in UTF-8 text, the next byte that a repair must look at.
 * Must not know: what is done about the byte, or anything of streams. Pure functions.
 * Invariant: none passes over a byte that needs a look; repair_scan_forbidden() may stop at one that does not. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_SCAN_H
#define UTFEED_CORE_REPAIR_REPAIR_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* The offset, at or after `at`, of a C0 control that XML forbids or of EF BF, which starts U+FFC0 to U+FFFF; len: there
 * is none. EF as the last byte is a stop, too, since the byte behind it is not known yet. */
size_t repair_scan_forbidden(const uint8_t *, size_t at, size_t len);

enum { REPAIR_BLOCK = 64, REPAIR_BLOCKS = 8 };

/* Sets a bit for each "<", "&" and "]" of the text, in a mask for each block of REPAIR_BLOCK bytes from `at` on.
 * Returns the masks that it has set: at most REPAIR_BLOCKS, all that the text has if it is that short. */
size_t repair_scan_marks(const uint8_t *, size_t at, size_t len, uint64_t masks[REPAIR_BLOCKS]);

/* These return the offset of a stop, or of the last bytes, which are fewer than two steps. Private to repair_scan*.c;
 * to be called only where cpu.h allows it. */
size_t repair_scan_avx2(const uint8_t *, size_t at, size_t len);

/* The same for whole blocks. */
size_t repair_marks_avx2(const uint8_t *, size_t at, size_t len, uint64_t masks[REPAIR_BLOCKS]);

/* The classes of bytes have a bit for each kind of stop. Two neighbouring bytes are a stop if the entries of all their
 * halves have a bit in common. Bits 1 and 2 are C0 controls by their high half, 4 is EF BF. */
#define REPAIR_HALVES(f) \
	{ f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15) }
#define REPAIR_LOW(half) (1 * ((half) != '\t' && (half) != '\n' && (half) != '\r') | 2 | 4 * ((half) == 0xf))
#define REPAIR_HIGH(half) (1 * ((half) == 0) | 2 * ((half) == 1) | 4 * ((half) == 0xe))
#define REPAIR_NEXT_LOW(half) (1 | 2 | 4 * ((half) == 0xf))
#define REPAIR_NEXT_HIGH(half) (1 | 2 | 4 * ((half) == 0xb))

#endif
