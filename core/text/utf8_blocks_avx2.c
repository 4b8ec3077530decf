/* Owns the validation of blocks of UTF-8 by AVX2, 32 bytes a step (utf8_blocks.h).
 * Must not know: where in a step the fault is. What is a fault: utf8_lookup.h. */
#include "core/text/utf8_blocks.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>

#include "core/text/utf8_lookup.h"

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i all(int byte)
{
	return _mm256_set1_epi8((char)byte);
}

/* Both halves look up the same 16 entries. */
AVX2 static inline __m256i look_up(const uint8_t table[16], __m256i halves)
{
	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table)),
	    halves);
}

AVX2 static inline __m256i high_half(__m256i bytes)
{
	return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), all(0x0f));
}

/* Bytes that may not follow the ones before them have a bit set. `before` is the block before. */
AVX2 static inline __m256i faults(__m256i block, __m256i before)
{
	__m256i across = _mm256_permute2x128_si256(before, block, 0x21);
	__m256i first = _mm256_alignr_epi8(block, across, 15);
	__m256i pairs = _mm256_and_si256(_mm256_and_si256(look_up(utf8_lookup.by_first_high, high_half(first)),
	                                     look_up(utf8_lookup.by_first_low, _mm256_and_si256(first, all(0x0f)))),
	    look_up(utf8_lookup.by_second_high, high_half(block)));
	__m256i third = _mm256_subs_epu8(_mm256_alignr_epi8(block, across, 14), all(LEAD_OF_3));
	__m256i fourth = _mm256_subs_epu8(_mm256_alignr_epi8(block, across, 13), all(LEAD_OF_4));

	return _mm256_xor_si256(pairs, _mm256_and_si256(_mm256_or_si256(third, fourth), all(TWO_TRAILS)));
}

/* Any bit is set where a sequence is open at the end of this block. */
AVX2 static inline __m256i open_behind(__m256i block)
{
	return _mm256_subs_epu8(block,
	    _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	        -1, -1, -1, -1, -1, -1, (char)MOST_THIRD_LAST, (char)MOST_SECOND_LAST, (char)MOST_LAST));
}

AVX2 size_t utf8_blocks_avx2(const uint8_t *p, size_t len)
{
	enum { STEP = sizeof(__m256i) };
	__m256i before = _mm256_setzero_si256();
	size_t i = 0;

	for (; len - i >= STEP; i += STEP) {
		__m256i block = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));
		__m256i wrong = _mm256_movemask_epi8(block) == 0 ? open_behind(before) : faults(block, before);

		if (!_mm256_testz_si256(wrong, wrong))
			break;
		before = block;
	}
	return i;
}
#endif
