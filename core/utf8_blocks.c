/* Owns the validation of whole blocks of UTF-8 (utf8_blocks.h).
 * Must not know: where in a block the fault is.
 * Source: Unicode chapter 3, table 3-7; the vector form is the lookup algorithm of J. Keiser and D. Lemire, "Validating UTF-8
 * In Less Than One Instruction Per Byte", 2020. */
#include "utf8_blocks.h"

#include "ascii_block.h"

/* Table 3-7 as an automaton: a state is a shift count, a row of `steps` holds the next state of every state for a byte.
 * Whatever a row does not say is STATE_BAD, and that state never ends. */
enum state {
	STATE_BAD = 0,
	STATE_START = 6,
	STATE_ONE = 12,             /* one trail byte to go, two, three */
	STATE_TWO = 18,
	STATE_THREE = 24,
	STATE_E0 = 30,              /* leads with a narrower second byte */
	STATE_ED = 36,
	STATE_F0 = 42,
	STATE_F4 = 48
};
#define STEP(from, to) ((uint64_t)STATE_##to << STATE_##from)

static const uint64_t steps[256] = {
	[0x00 ... 0x7F] = STEP(START, START),
	[0x80 ... 0x8F] = STEP(ONE, START) | STEP(TWO, ONE) | STEP(THREE, TWO) | STEP(ED, ONE) | STEP(F4, TWO),
	[0x90 ... 0x9F] = STEP(ONE, START) | STEP(TWO, ONE) | STEP(THREE, TWO) | STEP(ED, ONE) | STEP(F0, TWO),
	[0xA0 ... 0xBF] = STEP(ONE, START) | STEP(TWO, ONE) | STEP(THREE, TWO) | STEP(E0, ONE) | STEP(F0, TWO),
	[0xC2 ... 0xDF] = STEP(START, ONE),
	[0xE0] = STEP(START, E0),
	[0xE1 ... 0xEC] = STEP(START, TWO),
	[0xED] = STEP(START, ED),
	[0xEE ... 0xEF] = STEP(START, TWO),
	[0xF0] = STEP(START, F0),
	[0xF1 ... 0xF3] = STEP(START, THREE),
	[0xF4] = STEP(START, F4),
};

size_t utf8_blocks_portable(const uint8_t *p, size_t len)
{
	uint64_t state = STATE_START;
	size_t i = 0;

	for (; len - i >= ASCII_BLOCK; i += ASCII_BLOCK) {
		if ((state & 63) == STATE_START && ascii_block(p + i))
			continue;
		for (size_t k = 0; k < ASCII_BLOCK; k++)
			state = steps[p[i + k]] >> (state & 63);
		if ((state & 63) == STATE_BAD)
			break;
	}
	return i;
}

#if defined(__x86_64__) || defined(__i386__)
#include <tmmintrin.h>

/* What may be wrong with two neighbouring bytes; an error where the first byte's two halves and the second's high half agree. */
enum {
	TOO_SHORT = 1 << 0,         /* a lead, then no trail */
	TOO_LONG = 1 << 1,          /* ASCII, then a trail */
	OVERLONG_3 = 1 << 2,
	TOO_LARGE = 1 << 3,         /* F4 90 and up, F5 and up */
	SURROGATE = 1 << 4,
	OVERLONG_2 = 1 << 5,
	OVERLONG_4 = 1 << 6,        /* F0 80; also F5 80 and up */
	TWO_TRAILS = -128,          /* two trails in a row: right where a longer lead stands before them */
	ANY_LOW = TOO_SHORT | TOO_LONG | TWO_TRAILS,
	PAST_F4 = ANY_LOW | TOO_LARGE | OVERLONG_4,
	TRAIL = TOO_LONG | OVERLONG_2 | TWO_TRAILS
};

#define SSSE3 __attribute__((target("ssse3")))

SSSE3 static inline __m128i high_half(__m128i bytes)
{
	return _mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(0x0F));
}

/* Bytes that are not what must follow: high bit or error bits set. `before` is the block before. */
SSSE3 static inline __m128i block_faults(__m128i block, __m128i before)
{
	const __m128i by_first_high = _mm_setr_epi8(TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
	    TOO_LONG, TWO_TRAILS, TWO_TRAILS, TWO_TRAILS, TWO_TRAILS, TOO_SHORT | OVERLONG_2, TOO_SHORT,
	    TOO_SHORT | OVERLONG_3 | SURROGATE, TOO_SHORT | TOO_LARGE | OVERLONG_4);
	const __m128i by_first_low = _mm_setr_epi8(ANY_LOW | OVERLONG_2 | OVERLONG_3 | OVERLONG_4, ANY_LOW | OVERLONG_2, ANY_LOW,
	    ANY_LOW, ANY_LOW | TOO_LARGE, PAST_F4, PAST_F4, PAST_F4, PAST_F4, PAST_F4, PAST_F4, PAST_F4, PAST_F4,
	    PAST_F4 | SURROGATE, PAST_F4, PAST_F4);
	const __m128i by_second_high = _mm_setr_epi8(TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
	    TOO_SHORT, TRAIL | OVERLONG_3 | OVERLONG_4, TRAIL | OVERLONG_3 | TOO_LARGE, TRAIL | SURROGATE | TOO_LARGE,
	    TRAIL | SURROGATE | TOO_LARGE, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT);
	__m128i first = _mm_alignr_epi8(block, before, 15);
	__m128i pairs = _mm_and_si128(_mm_and_si128(_mm_shuffle_epi8(by_first_high, high_half(first)),
	    _mm_shuffle_epi8(by_first_low, _mm_and_si128(first, _mm_set1_epi8(0x0F)))),
	    _mm_shuffle_epi8(by_second_high, high_half(block)));
	__m128i third = _mm_subs_epu8(_mm_alignr_epi8(block, before, 14), _mm_set1_epi8(0xE0 - 0x80));
	__m128i fourth = _mm_subs_epu8(_mm_alignr_epi8(block, before, 13), _mm_set1_epi8(0xF0 - 0x80));

	/* Two trails in a row are due exactly two behind a lead of three bytes, and three behind one of four */
	return _mm_xor_si128(pairs, _mm_and_si128(_mm_or_si128(third, fourth), _mm_set1_epi8((char)0x80)));
}

/* Bytes of a block after which a sequence is still open: nothing set when none is. */
SSSE3 static inline __m128i block_open(__m128i block)
{
	const __m128i most = _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, (char)0xEF, (char)0xDF, (char)0xBF);

	return _mm_subs_epu8(block, most);
}

SSSE3 static inline bool all_zero(__m128i bytes)
{
	return _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) == 0xFFFF;
}

SSSE3 size_t utf8_blocks_fast(const uint8_t *p, size_t len)
{
	__m128i before = _mm_setzero_si128();
	size_t i = 0;

	for (; len - i >= ASCII_BLOCK; i += ASCII_BLOCK) {
		__m128i block = _mm_loadu_si128((const __m128i *)(const void *)(p + i));

		if (!all_zero(_mm_movemask_epi8(block) == 0 ? block_open(before) : block_faults(block, before)))
			break;
		before = block;
	}
	return i;
}

bool utf8_blocks_fast_works(void)
{
	return __builtin_cpu_supports("ssse3") != 0;
}
#else
size_t utf8_blocks_fast(const uint8_t *p, size_t len)
{
	return utf8_blocks_portable(p, len);
}

bool utf8_blocks_fast_works(void)
{
	return false;
}
#endif
