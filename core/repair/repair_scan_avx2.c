/* Owns the scans by AVX2, 64 bytes a step: forbidden characters, looked up by their halves, and marks; see
 * repair_scan.h. */
#include "core/repair/repair_scan.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>

enum { STEP = 64 };

static const uint8_t low_half[16] = REPAIR_HALVES(REPAIR_LOW), high_half[16] = REPAIR_HALVES(REPAIR_HIGH);
static const uint8_t next_low_half[16] = REPAIR_HALVES(REPAIR_NEXT_LOW);
static const uint8_t next_high_half[16] = REPAIR_HALVES(REPAIR_NEXT_HIGH);

#define AVX2 __attribute__((target("avx2")))

/* The classes that a byte has by its low half and by its high half as well. */
AVX2 static inline __m256i classes2(const uint8_t *p, __m256i by_low, __m256i by_high)
{
	const __m256i half = _mm256_set1_epi8(0x0f);
	__m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)p);

	return _mm256_and_si256(_mm256_shuffle_epi8(by_low, _mm256_and_si256(bytes, half)),
	    _mm256_shuffle_epi8(by_high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half)));
}

AVX2 static inline __m256i table2(const uint8_t table[16])
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
}

AVX2 static inline uint32_t mask2(__m256i hits)
{
	return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(hits, _mm256_setzero_si256()));
}

AVX2 size_t repair_scan_avx2(const uint8_t *in, size_t at, size_t len)
{
	const __m256i low = table2(low_half), high = table2(high_half), next_low = table2(next_low_half),
	              next_high = table2(next_high_half);

	for (; at + STEP + 1 <= len; at += STEP) {
		const uint8_t *p = in + at, *q = p + STEP / 2;
		__m256i one = _mm256_and_si256(classes2(p, low, high), classes2(p + 1, next_low, next_high));
		__m256i two = _mm256_and_si256(classes2(q, low, high), classes2(q + 1, next_low, next_high));
		__m256i any = _mm256_or_si256(one, two);

		if (!_mm256_testz_si256(any, any))
			return at + (size_t)__builtin_ctzll(mask2(one) | (uint64_t)mask2(two) << 32);
	}
	return at;
}

AVX2 static inline uint32_t marks2(const uint8_t *p)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
	__m256i hits = _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('<')),
	    _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('&')), _mm256_cmpeq_epi8(v, _mm256_set1_epi8(']'))));

	return (uint32_t)_mm256_movemask_epi8(hits);
}

AVX2 size_t repair_marks_avx2(const uint8_t *in, size_t at, size_t len, uint64_t masks[REPAIR_BLOCKS])
{
	size_t n = 0;

	for (; n < REPAIR_BLOCKS && at + STEP <= len; at += STEP)
		masks[n++] = marks2(in + at) | (uint64_t)marks2(in + at + STEP / 2) << 32;
	return n;
}
#endif
