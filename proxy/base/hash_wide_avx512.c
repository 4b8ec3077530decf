/* Owns the sums of a block by carry-less products of 64 bits, four a step; see hash_wide_sums.h. */
#include "proxy/base/hash_wide_sums.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { STEP = 64, WORDS = STEP / 8 };

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,vpclmulqdq")))

/* Adds to the sum the product of the words of each pair, each with its key added. */
AVX512 static inline __m512i add_products(__m512i sum, __m512i words, const uint64_t *key)
{
	__m512i keyed = _mm512_xor_si512(words, _mm512_loadu_si512(key));

	return _mm512_xor_si512(sum, _mm512_clmulepi64_epi128(keyed, keyed, 0x10));
}

AVX512 static inline void put_sum(uint64_t out[2], __m512i sum)
{
	__m256i half = _mm256_xor_si256(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
	__m128i all = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));

	_mm_storeu_si128((__m128i *)(void *)out, all);
}

AVX512 void hash_wide_sums_avx512(const uint64_t *key, const uint8_t *bytes, size_t n, uint64_t sums[2][2])
{
	__m512i one = _mm512_setzero_si512(), two = one;
	size_t i = 0;

	for (; i + WORDS <= n; i += WORDS) {
		__m512i words = _mm512_loadu_si512(bytes + i * 8);

		one = add_products(one, words, key + i);
		two = add_products(two, words, key + i + 2);
	}
	if (i < n) {
		/* The words that are not there have no key either, so that their products are zero. */
		__mmask8 there = (__mmask8)((1u << (n - i)) - 1);
		__m512i words = _mm512_maskz_loadu_epi64(there, bytes + i * 8);
		__m512i a = _mm512_xor_si512(words, _mm512_maskz_loadu_epi64(there, key + i));
		__m512i b = _mm512_xor_si512(words, _mm512_maskz_loadu_epi64(there, key + i + 2));

		one = _mm512_xor_si512(one, _mm512_clmulepi64_epi128(a, a, 0x10));
		two = _mm512_xor_si512(two, _mm512_clmulepi64_epi128(b, b, 0x10));
	}
	put_sum(sums[0], one);
	put_sum(sums[1], two);
}

#endif
