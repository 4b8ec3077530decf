/* Owns the scans by AVX-512, 64 bytes a step: forbidden characters, looked up by their halves, and marks; see
 * repair_scan.h. */
#include "core/repair/repair_scan.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>

enum { STEP = 64 };

static const uint8_t low_half[16] = REPAIR_HALVES(REPAIR_LOW), high_half[16] = REPAIR_HALVES(REPAIR_HIGH);
static const uint8_t next_low_half[16] = REPAIR_HALVES(REPAIR_NEXT_LOW);
static const uint8_t next_high_half[16] = REPAIR_HALVES(REPAIR_NEXT_HIGH);

#define AVX512 __attribute__((target("avx512f,avx512bw")))

AVX512 static inline __m512i classes4(const uint8_t *p, __m512i by_low, __m512i by_high)
{
	const __m512i half = _mm512_set1_epi8(0x0f);
	__m512i bytes = _mm512_loadu_si512(p);

	return _mm512_and_si512(_mm512_shuffle_epi8(by_low, _mm512_and_si512(bytes, half)),
	    _mm512_shuffle_epi8(by_high, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half)));
}

AVX512 static inline __m512i table4(const uint8_t table[16])
{
	return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table));
}

AVX512 size_t repair_scan_avx512(const uint8_t *in, size_t at, size_t len)
{
	const __m512i low = table4(low_half), high = table4(high_half), next_low = table4(next_low_half),
	              next_high = table4(next_high_half);

	for (; at + STEP + 1 <= len; at += STEP) {
		__mmask64 hits =
		    _mm512_test_epi8_mask(classes4(in + at, low, high), classes4(in + at + 1, next_low, next_high));

		if (hits)
			return at + (size_t)__builtin_ctzll(hits);
	}
	return at;
}

AVX512 size_t repair_marks_avx512(const uint8_t *in, size_t at, size_t len, uint64_t masks[REPAIR_BLOCKS])
{
	size_t n = 0;

	for (; n < REPAIR_BLOCKS && at + STEP <= len; at += STEP) {
		__m512i v = _mm512_loadu_si512(in + at);

		masks[n++] = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('<')) |
		    _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('&')) | _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(']'));
	}
	return n;
}
#endif
