/* Owns the validation of blocks of UTF-8 by AVX-512, 64 bytes a step (utf8_blocks.h).
 * Must not know: where in a step the fault is. What is a fault: utf8_lookup.h. */
#include "core/text/utf8_blocks.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>

#include "core/text/utf8_lookup.h"

#define AVX512 __attribute__((target("avx512f,avx512bw")))

/* Truth tables for the instruction that combines three operands. */
enum { A_AND_B_AND_C = 0x80, A_XOR_B_AND_C = 0x78 };

AVX512 static inline __m512i all(int byte)
{
	return _mm512_set1_epi8((char)byte);
}

/* All four quarters look up the same 16 entries. */
AVX512 static inline __m512i look_up(const uint8_t table[16], __m512i halves)
{
	return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table)),
	    halves);
}

AVX512 static inline __m512i high_half(__m512i bytes)
{
	return _mm512_and_si512(_mm512_srli_epi16(bytes, 4), all(0x0f));
}

/* Bytes that may not follow the ones before them have a bit set. `before` is the block before. */
AVX512 static inline __m512i faults(__m512i block, __m512i before)
{
	__m512i across = _mm512_alignr_epi32(block, before, 12);
	__m512i first = _mm512_alignr_epi8(block, across, 15);
	__m512i pairs = _mm512_ternarylogic_epi64(look_up(utf8_lookup.by_first_high, high_half(first)),
	    look_up(utf8_lookup.by_first_low, _mm512_and_si512(first, all(0x0f))),
	    look_up(utf8_lookup.by_second_high, high_half(block)), A_AND_B_AND_C);
	__m512i third = _mm512_subs_epu8(_mm512_alignr_epi8(block, across, 14), all(LEAD_OF_3));
	__m512i fourth = _mm512_subs_epu8(_mm512_alignr_epi8(block, across, 13), all(LEAD_OF_4));

	return _mm512_ternarylogic_epi64(pairs, _mm512_or_si512(third, fourth), all(TWO_TRAILS), A_XOR_B_AND_C);
}

/* Any bit is set where a sequence is open at the end of this block. */
AVX512 static inline __m512i open_behind(__m512i block)
{
	const unsigned most = (unsigned)MOST_LAST << 24 | MOST_SECOND_LAST << 16 | MOST_THIRD_LAST << 8 | 0xff;

	return _mm512_subs_epu8(block, _mm512_mask_set1_epi32(all(0xff), 1 << 15, (int)most));
}

AVX512 size_t utf8_blocks_avx512(const uint8_t *p, size_t len)
{
	enum { STEP = sizeof(__m512i) };
	__m512i before = _mm512_setzero_si512();
	size_t i = 0;

	for (; len - i >= STEP; i += STEP) {
		__m512i block = _mm512_loadu_si512(p + i);
		__m512i wrong = _mm512_movepi8_mask(block) == 0 ? open_behind(before) : faults(block, before);

		if (_mm512_test_epi32_mask(wrong, wrong) != 0)
			break;
		before = block;
	}
	return i;
}
#endif
