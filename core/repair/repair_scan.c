/* Owns finding the next byte of UTF-8 text that repair must look at; see repair_scan.h.
 * It reads sixteen bytes at a time with the compiler's vectors, which become SSE2, NEON or plain words; more at a time
 * where the processor has AVX2 or AVX-512 (repair_scan_x86.c). */
#include "core/repair/repair_scan.h"

#include <stdbool.h>
#include <string.h>

#include "core/text/cpu.h"

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

/* A lane is all ones where its byte is a stop. */
static inline lanes stop_lanes(const struct repair_stops *s, const uint8_t *p)
{
	lanes a = load(p), b = load(p + 1);
	lanes hit = (lanes)((a < 0x20) & ~((a == '\t') | (a == '\n') | (a == '\r')));

	hit |= (lanes)((a == s->first) & ((b == s->second) | (b == s->second_too)));
	hit |= (lanes)((a == s->other) & (b == s->other_second));
	return hit | (lanes)((a == 0xef) & (b == 0xbf));
}

static size_t scan_portable(const struct repair_stops *s, const uint8_t *in, size_t at, size_t len)
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

size_t repair_scan(const struct repair_stops *s, const uint8_t *in, size_t at, size_t len)
{
#if defined(__x86_64__) || defined(__i386__)
	if (cpu_level() >= CPU_AVX512)
		at = repair_scan_avx512(s, in, at, len);
	else if (cpu_level() >= CPU_AVX2)
		at = repair_scan_avx2(s, in, at, len);
#endif
	return at < len && stops(s, in + at, len - at) ? at : scan_portable(s, in, at, len);
}
