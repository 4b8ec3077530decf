/* Owns finding the next byte of UTF-8 text that repair must look at. See repair_scan.h.
 * Sixteen bytes at a time with the compiler's own vectors: SSE2, NEON or plain words, whatever the machine has; 32 by AVX2 where
 * the processor has it. */
#include "repair_scan.h"

#include <stdbool.h>
#include <string.h>

#include "cpu.h"

enum { LANES = 16 };
typedef uint8_t lanes __attribute__((vector_size(LANES)));
typedef uint64_t halves __attribute__((vector_size(LANES)));

static inline lanes load(const uint8_t *p)
{
	lanes v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static bool stops(const struct repair_stops *s, const uint8_t *p, size_t len)
{
	bool last = len == 1;

	if (p[0] < 0x20)
		return p[0] != '\t' && p[0] != '\n' && p[0] != '\r';
	if (p[0] == s->first)
		return last || p[1] == s->second || p[1] == s->second_too;
	if (p[0] == s->other)
		return last || p[1] == s->other_second;
	return p[0] == 0xef && (last || p[1] == 0xbf);
}

/* All ones where the lane is a stop. */
static inline lanes stop_lanes(const struct repair_stops *s, const uint8_t *p)
{
	lanes a = load(p), b = load(p + 1);
	lanes hit = (lanes)((a < 0x20) & ~((a == '\t') | (a == '\n') | (a == '\r')));

	hit |= (lanes)((a == s->first) & ((b == s->second) | (b == s->second_too)));
	hit |= (lanes)((a == s->other) & (b == s->other_second));
	return hit | (lanes)((a == 0xef) & (b == 0xbf));
}

size_t repair_scan_portable(const struct repair_stops *s, const uint8_t *in, size_t at, size_t len)
{
	for (; at + 2 * LANES + 1 <= len; at += 2 * LANES) {
		lanes one = stop_lanes(s, in + at), two = stop_lanes(s, in + at + LANES);
		halves any = (halves)(one | two);

		if ((any[0] | any[1]) == 0)
			continue;
		for (size_t i = 0; i < LANES; i++)
			if (one[i])
				return at + i;
		for (size_t i = 0; i < LANES; i++)
			if (two[i])
				return at + LANES + i;
	}
	while (at < len && !stops(s, in + at, len - at))
		at++;
	return at;
}

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i all(uint8_t byte)
{
	return _mm256_set1_epi8((char)byte);
}

AVX2 static inline __m256i equal(__m256i bytes, uint8_t byte)
{
	return _mm256_cmpeq_epi8(bytes, all(byte));
}

/* stop_lanes() of twice as many. */
AVX2 static inline __m256i stop_lanes_avx2(const struct repair_stops *s, const uint8_t *p)
{
	/* By low half: the byte itself where it is white space */
	const __m256i blanks = _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, '\t', '\n', -1, -1, '\r', -1, -1, -1, -1, -1, -1, -1, -1,
	    -1, -1, -1, '\t', '\n', -1, -1, '\r', -1, -1);
	__m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p), b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 1));
	__m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(a, all(0x1f)), a);
	__m256i hit = _mm256_andnot_si256(_mm256_cmpeq_epi8(_mm256_shuffle_epi8(blanks, a), a), control);

	hit = _mm256_or_si256(hit, _mm256_and_si256(equal(a, s->first), _mm256_or_si256(equal(b, s->second), equal(b, s->second_too))));
	hit = _mm256_or_si256(hit, _mm256_and_si256(equal(a, s->other), equal(b, s->other_second)));
	return _mm256_or_si256(hit, _mm256_and_si256(equal(a, 0xef), equal(b, 0xbf)));
}

/* Up to a stop, or to the last bytes. */
AVX2 static size_t scan_avx2(const struct repair_stops *s, const uint8_t *in, size_t at, size_t len)
{
	enum { STEP = 2 * sizeof(__m256i) };

	for (; at + STEP + 1 <= len; at += STEP) {
		__m256i one = stop_lanes_avx2(s, in + at), two = stop_lanes_avx2(s, in + at + sizeof(__m256i));
		uint64_t found;

		if (_mm256_testz_si256(_mm256_or_si256(one, two), all(0xff)))
			continue;
		found = (uint32_t)_mm256_movemask_epi8(one) | (uint64_t)(uint32_t)_mm256_movemask_epi8(two) << sizeof(__m256i);
		return at + (size_t)__builtin_ctzll(found);
	}
	return at;
}

size_t repair_scan(const struct repair_stops *s, const uint8_t *in, size_t at, size_t len)
{
	if (cpu_level() >= CPU_AVX2)
		at = scan_avx2(s, in, at, len);
	return at < len && stops(s, in + at, len - at) ? at : repair_scan_portable(s, in, at, len);
}
#else
size_t repair_scan(const struct repair_stops *s, const uint8_t *in, size_t at, size_t len)
{
	return repair_scan_portable(s, in, at, len);
}
#endif
