/* Owns the validation of blocks of UTF-8 by SSSE3, 16 bytes a step (utf8_blocks.h).
 * Must not know: where in a step the fault is. What is a fault: utf8_lookup.h. */
#include "core/text/utf8_blocks.h"

#if defined(__x86_64__) || defined(__i386__)
#include <stdbool.h>
#include <immintrin.h>

#include "core/text/utf8_lookup.h"

#define SSSE3 __attribute__((target("ssse3")))

SSSE3 static inline __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

SSSE3 static inline __m128i high_half(__m128i bytes)
{
	return _mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(0x0f));
}

/* Bytes that may not follow the ones before them have a bit set. `before` is the block before. */
SSSE3 static inline __m128i faults(__m128i block, __m128i before)
{
	__m128i first = _mm_alignr_epi8(block, before, 15);
	__m128i pairs = _mm_and_si128(_mm_and_si128(_mm_shuffle_epi8(load(utf8_lookup.by_first_high), high_half(first)),
	    _mm_shuffle_epi8(load(utf8_lookup.by_first_low), _mm_and_si128(first, _mm_set1_epi8(0x0f)))),
	    _mm_shuffle_epi8(load(utf8_lookup.by_second_high), high_half(block)));
	__m128i third = _mm_subs_epu8(_mm_alignr_epi8(block, before, 14), _mm_set1_epi8(LEAD_OF_3));
	__m128i fourth = _mm_subs_epu8(_mm_alignr_epi8(block, before, 13), _mm_set1_epi8(LEAD_OF_4));

	return _mm_xor_si128(pairs, _mm_and_si128(_mm_or_si128(third, fourth), _mm_set1_epi8((char)TWO_TRAILS)));
}

/* Any bit is set where a sequence is open at the end of this block. */
SSSE3 static inline __m128i open_behind(__m128i block)
{
	return _mm_subs_epu8(block,
	    _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, (char)MOST_THIRD_LAST,
	        (char)MOST_SECOND_LAST, (char)MOST_LAST));
}

SSSE3 static inline bool all_zero(__m128i bytes)
{
	return _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) == 0xffff;
}

SSSE3 size_t utf8_blocks_ssse3(const uint8_t *p, size_t len)
{
	enum { STEP = sizeof(__m128i) };
	__m128i before = _mm_setzero_si128();
	size_t i = 0;

	for (; len - i >= STEP; i += STEP) {
		__m128i block = load(p + i);

		if (!all_zero(_mm_movemask_epi8(block) == 0 ? open_behind(before) : faults(block, before)))
			break;
		before = block;
	}
	return i;
}
#endif
