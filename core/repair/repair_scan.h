/* Owns finding the next byte of UTF-8 text that repair must look at.
 * Must not know: what is done about it, or anything of streams. Pure function.
 * Invariant: never passes over a byte that needs a look; it may stop at one that does not. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_SCAN_H
#define UTFEED_CORE_REPAIR_REPAIR_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* Besides C0 controls XML forbids and EF BF (U+FFC0 to U+FFFF), which always stop it: two byte pairs, of which the
 * first has two possible second bytes. The same again as classes, a bit for each of what can stop it: a pair of bytes
 * does where the halves of both have a bit in common. */
struct repair_stops {
	uint8_t first, second, second_too;
	uint8_t other, other_second;
	uint8_t low[16], high[16];              /* by the halves of a byte */
	uint8_t next_low[16], next_high[16];    /* by those of the byte behind it */
};

/* Classes: 1 and 2, C0 controls by their high half; 4, 8 and 16, the pairs; 32, EF BF. */
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

/* Offset of the first stop at or after `at`, len without one. A byte that may start a pair or EF BF stops it also as
 * the last of the buffer, where its partner is not known yet. */
size_t repair_scan(const struct repair_stops *, const uint8_t *, size_t at, size_t len);

/* Up to a stop, or to the last bytes, fewer than two steps. Private to repair_scan*.c; only where cpu.h says so. */
size_t repair_scan_avx2(const struct repair_stops *, const uint8_t *, size_t at, size_t len);
size_t repair_scan_avx512(const struct repair_stops *, const uint8_t *, size_t at, size_t len);

#endif
