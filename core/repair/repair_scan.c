/* Owns finding the next byte that a repair must look at; see repair_scan.h.
 * It reads sixteen bytes at a time with the compiler's vectors, which become SSE2, NEON or plain words; more at a time
 * where the processor has AVX2 (repair_scan_avx2.c). */
#include "core/repair/repair_scan.h"

#include <stdbool.h>
#include <string.h>

#include "core/text/cpu.h"

enum { LANES = 16 };
typedef uint8_t lanes __attribute__((vector_size(LANES)));
typedef uint64_t halves __attribute__((vector_size(LANES)));

static inline lanes load(const uint8_t *p)
{
	lanes v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bool stops(const uint8_t *p, size_t len)
{
	if (p[0] < 0x20)
		return p[0] != '\t' && p[0] != '\n' && p[0] != '\r';
	return p[0] == 0xef && (len == 1 || p[1] == 0xbf);
}

/* A lane is all ones where its byte is a stop. */
static inline lanes stop_lanes(const uint8_t *p)
{
	lanes a = load(p), b = load(p + 1);
	lanes hit = (lanes)((a < 0x20) & ~((a == '\t') | (a == '\n') | (a == '\r')));

	return hit | (lanes)((a == 0xef) & (b == 0xbf));
}

static size_t scan_portable(const uint8_t *in, size_t at, size_t len)
{
	for (; at + 2 * LANES + 1 <= len; at += 2 * LANES) {
		lanes one = stop_lanes(in + at), two = stop_lanes(in + at + LANES);
		halves any = (halves)(one | two);

		if ((any[0] | any[1]) == 0)
			continue;
		for (size_t i = 0; i < LANES; i++)
			if (one[i])
				return at + i;
		for (size_t i = 0; i < LANES; i++)
			if (two[i])
				return at + LANES + i;
	}
	while (at < len && !stops(in + at, len - at))
		at++;
	return at;
}

size_t repair_scan_forbidden(const uint8_t *in, size_t at, size_t len)
{
#if defined(__x86_64__) || defined(__i386__)
	if (cpu_level() >= CPU_AVX2)
		at = repair_scan_avx2(in, at, len);
#endif
	return at < len && stops(in + at, len - at) ? at : scan_portable(in, at, len);
}

/* ---- marks ---- */

/* A bit for each lane that is all ones. */
static inline uint64_t lane_bits(lanes v)
{
	const uint64_t each = 0x0102040810204080, all = 0x0101010101010101;
	halves h = (halves)v;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	h[0] = __builtin_bswap64(h[0]);
	h[1] = __builtin_bswap64(h[1]);
#endif
	/* Each byte of the product's top sums the bits that were chosen, one of each byte */
	return ((h[0] & all) * each) >> 56 | ((h[1] & all) * each) >> 56 << 8;
}

static inline uint64_t block_marks(const uint8_t *p)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < REPAIR_BLOCK / LANES; i++) {
		lanes v = load(p + i * LANES);

		mask |= lane_bits((lanes)((v == '<') | (v == '&') | (v == ']'))) << i * LANES;
	}
	return mask;
}

size_t repair_scan_marks(const uint8_t *in, size_t at, size_t len, uint64_t masks[REPAIR_BLOCKS])
{
	uint8_t rest[REPAIR_BLOCK];
	size_t n = 0;

#if defined(__x86_64__) || defined(__i386__)
	if (cpu_level() >= CPU_AVX2)
		n = repair_marks_avx2(in, at, len, masks);
#endif
	for (at += n * REPAIR_BLOCK; n < REPAIR_BLOCKS && at + REPAIR_BLOCK <= len; n++, at += REPAIR_BLOCK)
		masks[n] = block_marks(in + at);
	if (n < REPAIR_BLOCKS && at < len) {
		memset(rest, 0, sizeof(rest));
		memcpy(rest, in + at, len - at);
		masks[n++] = block_marks(rest);
	}
	return n;
}
