/* Owns the one machine-dependent step of ASCII scans: whether a block of bytes is all ASCII. It uses SSE2 or NEON where
 * the compiler may, else two words.
 * Must not know: what is done with the answer. */
#ifndef UTFEED_CORE_TEXT_ASCII_BLOCK_H
#define UTFEED_CORE_TEXT_ASCII_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

enum { ASCII_BLOCK = 16 };

/* The same without vectors. */
static inline bool ascii_block_portable(const uint8_t *p)
{
	uint64_t words[2];

	memcpy(words, p, sizeof words);
	return ((words[0] | words[1]) & UINT64_C(0x8080808080808080)) == 0;
}

static inline bool ascii_block(const uint8_t *p)
{
#ifdef __SSE2__
	return _mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(const void *)p)) == 0;
#elif defined __aarch64__
	return vmaxvq_u8(vld1q_u8(p)) < 0x80;
#else
	return ascii_block_portable(p);
#endif
}

#endif
