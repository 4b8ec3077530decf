/* Owns the form of decoder_basic.h for AVX2.
 * Must not know: where characters come from. Each is laid out in a lane of two or four bytes; a shuffle, chosen by the
 * lengths of the characters in the lanes, then closes the gaps between them. */
#include "core/decode/decoder_basic.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,popcnt")))

enum {
	SINGLE_BLOCK = 32,
	UNIT_BLOCK = 16,
	LANES = 16,                     /* bytes that a shuffle by one row writes */
	ROOM = 3 * SINGLE_BLOCK + LANES /* the most bytes of a block, and one more store */
};

/* The rows of shuffles, one for each mask. The first byte of a lane is always kept, further bytes where a mask has the
 * lane's bit: BELOW() counts these in the lanes before lane k. */
#define BELOW(mask, k) __builtin_popcount((mask) & ((1 << (k)) - 1))
#define BYTE(from, to, half) ((to) / 8 == (half) ? (uint64_t)(from) << (to) % 8 * 8 : 0)

/* Eight lanes of two bytes; a bit of the mask keeps the second byte. */
#define PAIR(m, k, half) (BYTE(2 * (k), (k) + BELOW(m, k), half) | \
	((m) >> (k) & 1 ? BYTE(2 * (k) + 1, (k) + BELOW(m, k) + 1, half) : 0))
#define PAIRS(m, half) (PAIR(m, 0, half) | PAIR(m, 1, half) | PAIR(m, 2, half) | PAIR(m, 3, half) | \
	PAIR(m, 4, half) | PAIR(m, 5, half) | PAIR(m, 6, half) | PAIR(m, 7, half))
#define PAIRS_ROW(m) { PAIRS(m, 0), PAIRS(m, 1) }

/* Four lanes of four bytes; the low bits of the mask keep the second byte, the high bits the third, too. */
#define QUAD_AT(m, k) ((k) + BELOW((m) & 15, k) + BELOW((m) >> 4, k))
#define QUAD(m, k, half) \
	(BYTE(4 * (k), QUAD_AT(m, k), half) | ((m) >> (k) & 1 ? BYTE(4 * (k) + 1, QUAD_AT(m, k) + 1, half) : 0) | \
	((m) >> (k) & 16 ? BYTE(4 * (k) + 2, QUAD_AT(m, k) + 2, half) : 0))
#define QUADS(m, half) (QUAD(m, 0, half) | QUAD(m, 1, half) | QUAD(m, 2, half) | QUAD(m, 3, half))
#define QUADS_ROW(m) { QUADS(m, 0), QUADS(m, 1) }

#define ROWS_4(row, m) row(m), row(m + 1), row(m + 2), row(m + 3)
#define ROWS_16(row, m) ROWS_4(row, m), ROWS_4(row, m + 4), ROWS_4(row, m + 8), ROWS_4(row, m + 12)
#define ROWS_64(row, m) ROWS_16(row, m), ROWS_16(row, m + 16), ROWS_16(row, m + 32), ROWS_16(row, m + 48)
#define ROWS_256(row) { ROWS_64(row, 0), ROWS_64(row, 64), ROWS_64(row, 128), ROWS_64(row, 192) }

static const uint64_t pairs_rows[256][2] = ROWS_256(PAIRS_ROW), quads_rows[256][2] = ROWS_256(QUADS_ROW);

AVX2 static inline __m128i load(const void *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

AVX2 static inline __m256i load_block(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

AVX2 static inline uint8_t *put(uint8_t *out, __m128i lanes, const uint64_t row[2], size_t len)
{
	_mm_storeu_si128((__m128i *)(void *)out, _mm_shuffle_epi8(lanes, load(row)));
	return out + len;
}

/* Writes eight characters of one or two bytes; wide: a bit for each of two. */
AVX2 static inline uint8_t *put_pairs(uint8_t *out, __m128i lanes, unsigned wide)
{
	return put(out, lanes, pairs_rows[wide], 8 + (size_t)__builtin_popcount(wide));
}

/* Writes eight characters of one to three bytes. */
AVX2 static inline uint8_t *put_long(uint8_t *out, __m128i points)
{
	__m256i wide = _mm256_cvtepu16_epi32(points), low6 = _mm256_set1_epi32(0x3f);
	__m256i last = _mm256_or_si256(_mm256_and_si256(wide, low6), _mm256_set1_epi32(0x80));
	__m256i middle = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi32(wide, 6), low6), _mm256_set1_epi32(0x80));
	__m256i two = _mm256_or_si256(_mm256_or_si256(_mm256_srli_epi32(wide, 6), _mm256_set1_epi32(0xc0)),
	    _mm256_slli_epi32(last, 8));
	__m256i three = _mm256_or_si256(_mm256_or_si256(_mm256_srli_epi32(wide, 12), _mm256_set1_epi32(0xe0)),
	    _mm256_or_si256(_mm256_slli_epi32(middle, 8), _mm256_slli_epi32(last, 16)));
	__m256i is_two = _mm256_cmpgt_epi32(wide, _mm256_set1_epi32(0x7f)),
	        is_three = _mm256_cmpgt_epi32(wide, _mm256_set1_epi32(0x7ff));
	__m256i text = _mm256_blendv_epi8(_mm256_blendv_epi8(wide, two, is_two), three, is_three);
	unsigned twos = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(is_two));
	unsigned threes = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(is_three));
	unsigned low = (twos & 15) | (threes & 15) << 4, high = twos >> 4 | (threes & 0xf0);

	out = put(out, _mm256_castsi256_si128(text), quads_rows[low], 4 + (size_t)__builtin_popcount(low));
	return put(out, _mm256_extracti128_si256(text, 1), quads_rows[high], 4 + (size_t)__builtin_popcount(high));
}

AVX2 static inline __m256i at_least(__m256i points, int least)
{
	__m256i bar = _mm256_set1_epi16((short)least);

	return _mm256_cmpeq_epi16(_mm256_max_epu16(points, bar), points);
}

AVX2 static inline uint8_t *put_block(uint8_t *out, __m256i points)
{
	__m256i wide = at_least(points, 0x80);

	if (_mm256_testz_si256(wide, wide)) {
		_mm_storeu_si128((__m128i *)(void *)out,
		    _mm_packus_epi16(_mm256_castsi256_si128(points), _mm256_extracti128_si256(points, 1)));
		return out + UNIT_BLOCK;
	}
	if (!_mm256_testz_si256(points, _mm256_set1_epi16((short)0xf800))) {
		out = put_long(out, _mm256_castsi256_si128(points));
		return put_long(out, _mm256_extracti128_si256(points, 1));
	}
	__m256i lead = _mm256_or_si256(_mm256_srli_epi16(points, 6), _mm256_set1_epi16(0xc0));
	__m256i trail = _mm256_or_si256(_mm256_and_si256(points, _mm256_set1_epi16(0x3f)), _mm256_set1_epi16(0x80));
	__m256i text = _mm256_blendv_epi8(points, _mm256_or_si256(lead, _mm256_slli_epi16(trail, 8)), wide);
	unsigned mask = (unsigned)_mm256_movemask_epi8(_mm256_packs_epi16(wide, wide));
	out = put_pairs(out, _mm256_castsi256_si128(text), mask & 0xff);
	return put_pairs(out, _mm256_extracti128_si256(text, 1), mask >> 24);
}

AVX2 static void utf16(struct decoder_span *s, bool big_endian)
{
	const __m256i swap =
	    _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
	const uint8_t *in = s->in;
	uint8_t *out = s->out;

	for (; s->in_end - in >= 2 * UNIT_BLOCK && s->out_end - out >= ROOM; in += 2 * UNIT_BLOCK) {
		__m256i points = load_block(in), surrogates;

		if (big_endian)
			points = _mm256_shuffle_epi8(points, swap);
		surrogates = _mm256_cmpeq_epi16(_mm256_and_si256(points, _mm256_set1_epi16((short)0xf800)),
		    _mm256_set1_epi16((short)0xd800));
		if (!_mm256_testz_si256(surrogates, surrogates))
			break;
		out = put_block(out, points);
	}
	s->in = in;
	s->out = out;
}

/* Decodes eight bytes by the plain table, for characters of three bytes. Returns how many were holes. */
AVX2 static inline unsigned put_entries(uint8_t **out, const uint8_t *in, const struct single_table *table)
{
	unsigned holes = 0;

	for (unsigned i = 0; i < 8; i++) {
		const uint8_t *entry = table->text[in[i]];

		holes += (entry[SINGLE_LENGTH] & SINGLE_HOLE) != 0;
		*out = single_put(*out, entry);
	}
	return holes;
}

AVX2 static uint64_t single(struct decoder_span *s, const struct single_table *table)
{
	const uint8_t *in = s->in;
	uint8_t *out = s->out;
	uint64_t holes = 0;

	for (; table->narrow && s->in_end - in >= SINGLE_BLOCK && s->out_end - out >= ROOM; in += SINGLE_BLOCK) {
		__m256i bytes = load_block(in), beyond = _mm256_cmpgt_epi8(_mm256_setzero_si256(), bytes), index, first,
		        second, low, high, bar;
		__m128i groups[4];
		uint32_t wide, three;

		if (_mm256_testz_si256(beyond, beyond)) {
			_mm256_storeu_si256((__m256i *)(void *)out, bytes);
			out += SINGLE_BLOCK;
			continue;
		}
		/* The changes of all rows of 16 up to the byte's own row are xored; the rows of ASCII come before all
		 * of them and have none. */
		index = _mm256_xor_si256(bytes, _mm256_set1_epi8((char)0x80));
		first = _mm256_andnot_si256(beyond, bytes);
		second = _mm256_setzero_si256();
#pragma GCC unroll 8
		for (unsigned row = 0; row < 8; row++) {
			first = _mm256_xor_si256(first,
			    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load(table->first_change[row])), index));
			second = _mm256_xor_si256(second,
			    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load(table->second_change[row])), index));
			index = _mm256_subs_epi8(index, _mm256_set1_epi8(16));
		}
		wide = (uint32_t)_mm256_movemask_epi8(second);
		bar = _mm256_set1_epi8((char)0xe0);
		three = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(first, bar), first));
		low = _mm256_unpacklo_epi8(first, second);
		high = _mm256_unpackhi_epi8(first, second);
		groups[0] = _mm256_castsi256_si128(low);
		groups[1] = _mm256_castsi256_si128(high);
		groups[2] = _mm256_extracti128_si256(low, 1);
		groups[3] = _mm256_extracti128_si256(high, 1);
		if (three == 0) {
			out = put_pairs(out, groups[0], wide & 0xff);
			out = put_pairs(out, groups[1], wide >> 8 & 0xff);
			out = put_pairs(out, groups[2], wide >> 16 & 0xff);
			out = put_pairs(out, groups[3], wide >> 24);
			continue;
		}
		for (unsigned i = 0; i < 4; i++, wide >>= 8, three >>= 8)
			if ((three & 0xff) == 0)
				out = put_pairs(out, groups[i], wide & 0xff);
			else
				holes += put_entries(&out, in + 8 * i, table);
	}
	s->in = in;
	s->out = out;
	return holes;
}

const struct decoder_basic decoder_basic_avx2 = { .block = UNIT_BLOCK, .utf16 = utf16, .single = single };
#endif
