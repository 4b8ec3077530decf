/* Owns the form of decoder_basic.h for AVX-512 VBMI2, which sorts bytes.
 * Must not know: where characters come from. Each is laid out in a lane, with NUL where it has no byte; then the bytes
 * are moved together. A NUL counts as a byte of a character only in the first place of a lane. */
#include "core/decode/decoder_basic.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VBMI2 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt,bmi,bmi2")))

enum {
	BLOCK = 32,
	STORE = 64,
	ROOM = 48 + STORE,  /* the most bytes of half a block, and one more store */
	PAIR_BLOCK = 64,    /* bytes */
	PAIR_ROOM = 2 * PAIR_BLOCK + 4 + STORE,     /* four bytes a pair, of which one may end behind the block */
	PAIR_LANES = 16,
	ASCII_RUN = 16      /* bytes of ASCII in a row that are worth a copy */
};

VBMI2 static inline uint8_t *put(uint8_t *out, __m512i bytes, __mmask64 count)
{
	_mm512_storeu_si512(out, _mm512_maskz_compress_epi8(count, bytes));
	return out + __builtin_popcountll(count);
}

/* Writes characters of one or two bytes, in lanes of two. */
VBMI2 static inline uint8_t *put_short(uint8_t *out, __m512i points, __mmask32 wide)
{
	const __mmask64 first = UINT64_C(0x5555555555555555);
	__m512i lead = _mm512_or_si512(_mm512_srli_epi16(points, 6), _mm512_set1_epi16(0xC0));
	__m512i trail = _mm512_or_si512(_mm512_and_si512(points, _mm512_set1_epi16(0x3F)), _mm512_set1_epi16(0x80));
	__m512i text = _mm512_mask_mov_epi16(points, wide, _mm512_or_si512(lead, _mm512_slli_epi16(trail, 8)));

	return put(out, text, first | _mm512_test_epi8_mask(text, text));
}

/* Writes characters of one to three bytes, in lanes of four. */
VBMI2 static inline uint8_t *put_long(uint8_t *out, __m256i points)
{
	const __mmask64 first = UINT64_C(0x1111111111111111);
	__m512i wide = _mm512_cvtepu16_epi32(points), low6 = _mm512_set1_epi32(0x3F);
	__m512i last = _mm512_or_si512(_mm512_and_si512(wide, low6), _mm512_set1_epi32(0x80));
	__m512i middle = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(wide, 6), low6), _mm512_set1_epi32(0x80));
	__m512i two = _mm512_or_si512(_mm512_or_si512(_mm512_srli_epi32(wide, 6), _mm512_set1_epi32(0xC0)),
	    _mm512_slli_epi32(last, 8));
	__m512i three = _mm512_or_si512(_mm512_or_si512(_mm512_srli_epi32(wide, 12), _mm512_set1_epi32(0xE0)),
	    _mm512_or_si512(_mm512_slli_epi32(middle, 8), _mm512_slli_epi32(last, 16)));
	__m512i text = _mm512_mask_mov_epi32(wide, _mm512_cmpge_epu32_mask(wide, _mm512_set1_epi32(0x80)), two);

	text = _mm512_mask_mov_epi32(text, _mm512_cmpge_epu32_mask(wide, _mm512_set1_epi32(0x800)), three);
	return put(out, text, first | _mm512_test_epi8_mask(text, text));
}

VBMI2 static inline uint8_t *put_block(uint8_t *out, __m512i points)
{
	__mmask32 wide = _mm512_cmpge_epu16_mask(points, _mm512_set1_epi16(0x80));

	if (wide == 0) {
		_mm256_storeu_si256((__m256i *)(void *)out, _mm512_cvtepi16_epi8(points));
		return out + BLOCK;
	}
	if (_mm512_cmpge_epu16_mask(points, _mm512_set1_epi16(0x800)) == 0)
		return put_short(out, points, wide);
	out = put_long(out, _mm512_castsi512_si256(points));
	return put_long(out, _mm512_extracti64x4_epi64(points, 1));
}

VBMI2 static void utf16(struct decoder_span *s, bool big_endian)
{
	const __m512i swap = _mm512_set_epi64(0x3E3F3C3D3A3B3839, 0x3637343532333031, 0x2E2F2C2D2A2B2829,
	    0x2627242522232021, 0x1E1F1C1D1A1B1819, 0x1617141512131011, 0x0E0F0C0D0A0B0809, 0x0607040502030001);
	const uint8_t *in = s->in;
	uint8_t *out = s->out;

	for (; s->in_end - in >= 2 * BLOCK && s->out_end - out >= ROOM; in += 2 * BLOCK) {
		__m512i points = _mm512_loadu_si512(in);

		if (big_endian)
			points = _mm512_permutexvar_epi8(swap, points);
		if (_mm512_cmpeq_epi16_mask(_mm512_and_si512(points, _mm512_set1_epi16((short)0xF800)),
		        _mm512_set1_epi16((short)0xD800)))
			break;
		out = put_block(out, points);
	}
	s->in = in;
	s->out = out;
}

VBMI2 static uint64_t single(struct decoder_span *s, const struct single_table *table)
{
	const __m512i a = _mm512_loadu_si512(table->points), b = _mm512_loadu_si512(table->points + 32),
	    c = _mm512_loadu_si512(table->points + 64), d = _mm512_loadu_si512(table->points + 96);
	const uint8_t *in = s->in;
	uint8_t *out = s->out;
	uint64_t replaced = 0;

	for (; s->in_end - in >= BLOCK && s->out_end - out >= ROOM; in += BLOCK) {
		__m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)in);
		__mmask32 beyond = _mm256_movepi8_mask(bytes);
		__m512i block, high;

		if (beyond == 0) {
			_mm256_storeu_si256((__m256i *)(void *)out, bytes);
			out += BLOCK;
			continue;
		}
		block = _mm512_cvtepu8_epi16(bytes);
		high = _mm512_mask_mov_epi16(_mm512_permutex2var_epi16(a, block, b),
		    _mm512_test_epi16_mask(block, _mm512_set1_epi16(0x40)), _mm512_permutex2var_epi16(c, block, d));
		block = _mm512_mask_mov_epi16(block, beyond, high);
		replaced +=
		    (uint64_t)__builtin_popcount(_mm512_cmpeq_epi16_mask(block, _mm512_set1_epi16((short)0xFFFD)));
		out = put_block(out, block);
	}
	s->in = in;
	s->out = out;
	return replaced;
}

/* Which of 64 bytes start a character, given which are beyond ASCII; the first byte starts one. In a row of bytes
 * beyond ASCII the first and every second after it is a lead; in a row of odd length the trail of the last lead is an
 * ASCII byte. A byte that stands for a character by itself is also taken for a lead; no plane knows such a pair. */
static inline uint64_t pair_starts(uint64_t beyond)
{
	const uint64_t even = UINT64_C(0x5555555555555555);
	uint64_t rows = beyond & ~(beyond << 1);
	/* The addition carries through each row that starts at an even place. */
	uint64_t even_rows = beyond & ~(beyond + (rows & even));
	uint64_t leads = (even_rows & even) | (beyond & ~even_rows & ~even);

	return ~(leads << 1);
}

/* Where ASCII_RUN bytes of ASCII in a row begin; 64: nowhere. */
VBMI2 static inline unsigned ascii_run(uint64_t beyond)
{
	uint64_t run = ~beyond;

	for (unsigned n = 1; n < ASCII_RUN; n *= 2)
		run &= run >> n;
	return (unsigned)_tzcnt_u64(run);
}

/* Looks up sixteen characters by their first bytes and the bytes that follow these; each is laid out in a lane. A pair
 * that the plane does not know has no bytes. */
VBMI2 static inline __m512i look_up_pairs(const struct double_plane *plane, __m128i firsts, __m128i seconds)
{
	__m512i first = _mm512_cvtepu8_epi32(firsts), second = _mm512_cvtepu8_epi32(seconds);
	__m512i code = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(first, _mm512_set1_epi32(0x7f)), 8), second);

	return _mm512_mask_i32gather_epi32(first, _mm512_test_epi32_mask(first, _mm512_set1_epi32(0x80)), code,
	    plane->text, sizeof plane->text[0][0]);
}

/* Handles ASCII and pairs in the same steps, because a processor cannot predict which of them comes next. */
VBMI2 static void pairs(struct decoder_span *s, const struct double_plane *plane)
{
	const uint8_t *in = s->in;
	uint8_t *out = s->out;
	uint64_t starts = 0;

	while (starts == 0 && s->in_end - in > PAIR_BLOCK && s->out_end - out >= PAIR_ROOM) {
		__m512i bytes = _mm512_loadu_si512(in), firsts, seconds;
		uint64_t beyond = _mm512_movepi8_mask(bytes);
		unsigned run = ascii_run(beyond), last, known = PAIR_LANES;

		if (run == 0) {
			_mm512_storeu_si512(out, bytes);
			run = (unsigned)_tzcnt_u64(beyond);
			in += run;
			out += run;
			continue;
		}
		starts = _bzhi_u64(pair_starts(beyond), run);
		last = 63 - (unsigned)__builtin_clzll(starts);
		firsts = _mm512_maskz_compress_epi8(starts, bytes);
		seconds = _mm512_maskz_compress_epi8(starts, _mm512_loadu_si512(in + 1));
		while (starts && known == PAIR_LANES) {
			__m512i text =
			    look_up_pairs(plane, _mm512_castsi512_si128(firsts), _mm512_castsi512_si128(seconds));

			known = _tzcnt_u32(~(unsigned)_mm512_test_epi32_mask(text, text));
			out = put(out, text, _bzhi_u64(_mm512_test_epi8_mask(text, text), 4 * known));
			starts ^= _pdep_u64(_bzhi_u64(UINT64_MAX, known), starts);
			firsts = _mm512_alignr_epi64(_mm512_setzero_si512(), firsts, 2);
			seconds = _mm512_alignr_epi64(_mm512_setzero_si512(), seconds, 2);
		}
		in += starts ? _tzcnt_u64(starts) : last + 1 + (beyond >> last & 1);
	}
	s->in = in;
	s->out = out;
}

const struct decoder_basic decoder_basic_avx512 = { .block = BLOCK, .utf16 = utf16, .single = single, .pairs = pairs };
#endif
