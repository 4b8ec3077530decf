/* Owns finding the next byte of UTF-8 text that repair must look at.
 * Must not know: what is done about the byte, or anything of streams. Pure function.
 * Invariant: it never passes over a byte that needs a look; it may stop at one that does not. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_SCAN_H
#define UTFEED_CORE_REPAIR_REPAIR_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* The bytes at which a scan stops. C0 controls that XML forbids, and EF BF (U+FFC0 to U+FFFF), stop every scan; to
 * these come two pairs of bytes, of which the first has two possible second bytes. The tables have the same as classes,
 * a bit for each kind of stop: two neighbouring bytes are a stop where the entries of all their halves have a bit in
 * common. */
struct repair_stops {
	uint8_t first, second, second_too;
	uint8_t other, other_second;
	uint8_t low[16], high[16];              /* by the halves of a byte */
	uint8_t next_low[16], next_high[16];    /* by the halves of the byte behind it */
};

/* The classes: 1 and 2 for C0 controls by their high half; 4, 8 and 16 for the pairs; 32 for EF BF. */
#define REPAIR_STOPS(first, second, second_too, other, other_second) \
	{ \
		first, second, second_too, other, other_second, REPAIR_HALVES(REPAIR_LOW, first, first, other), \
		    REPAIR_HALVES(REPAIR_HIGH, first, first, other), \
		    REPAIR_HALVES(REPAIR_NEXT_LOW, second, second_too, other_second), \
		    REPAIR_HALVES(REPAIR_NEXT_HIGH, second, second_too, other_second) \
	}
#define REPAIR_HALVES(f, a, b, c) \
	{ f(0, a, b, c), f(1, a, b, c), f(2, a, b, c), f(3, a, b, c), f(4, a, b, c), f(5, a, b, c), \
	f(6, a, b, c), f(7, a, b, c), f(8, a, b, c), f(9, a, b, c), f(10, a, b, c), f(11, a, b, c), f(12, a, b, c), \
	f(13, a, b, c), \
	f(14, a, b, c), f(15, a, b, c) }
#define REPAIR_PAIRS(half, a, b, c) (4 * ((half) == (a)) | 8 * ((half) == (b)) | 16 * ((half) == (c)))
#define REPAIR_LOW(half, a, b, c) (1 * ((half) != '\t' && (half) != '\n' && (half) != '\r') | 2 | \
	REPAIR_PAIRS(half, (a) & 15, (b) & 15, (c) & 15) | 32 * ((half) == (0xef & 15)))
#define REPAIR_HIGH(half, a, b, c) \
	(1 * ((half) == 0) | 2 * ((half) == 1) | REPAIR_PAIRS(half, (a) >> 4, (b) >> 4, (c) >> 4) | \
	32 * ((half) == 0xef >> 4))
#define REPAIR_NEXT_LOW(half, a, b, c) \
	(1 | 2 | REPAIR_PAIRS(half, (a) & 15, (b) & 15, (c) & 15) | 32 * ((half) == (0xbf & 15)))
#define REPAIR_NEXT_HIGH(half, a, b, c) \
	(1 | 2 | REPAIR_PAIRS(half, (a) >> 4, (b) >> 4, (c) >> 4) | 32 * ((half) == 0xbf >> 4))

/* The offset of the first stop at or after `at`; len: there is none. The last byte of the buffer is a stop also where
 * it only may start a pair or EF BF, since the byte behind it is not known yet. */
size_t repair_scan(const struct repair_stops *, const uint8_t *, size_t at, size_t len);

/* These return the offset of a stop, or of the last bytes, which are fewer than two steps. Private to repair_scan*.c;
 * to be called only where cpu.h allows it. */
size_t repair_scan_avx2(const struct repair_stops *, const uint8_t *, size_t at, size_t len);
size_t repair_scan_avx512(const struct repair_stops *, const uint8_t *, size_t at, size_t len);

#endif
