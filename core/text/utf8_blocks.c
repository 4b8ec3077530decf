/* Owns the validation of whole blocks of UTF-8 in plain C, and the choice of the fastest form (utf8_blocks.h).
 * Must not know: where in a block the fault is, nor what the vector forms do (utf8_lookup.h).
 * Source: Unicode chapter 3, table 3-7. */
#include "core/text/utf8_blocks.h"

#include "core/text/ascii_block.h"
#include "core/text/cpu.h"

/* Table 3-7 as an automaton: a state is a shift count, and a row of `steps` holds for one byte the next state of every
 * state. A transition that is not listed leads to STATE_BAD, which is never left. */
enum state {
	STATE_BAD = 0,
	STATE_START = 6,
	STATE_ONE = 12,             /* one trail byte is missing; next: two, three */
	STATE_TWO = 18,
	STATE_THREE = 24,
	STATE_E0 = 30,              /* this and the next: leads with a narrower range of the second byte */
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

static size_t (*const ways[CPU_LEVELS])(const uint8_t *, size_t len) = {
	[CPU_PLAIN] = utf8_blocks_portable,
#if defined(__x86_64__) || defined(__i386__)
	[CPU_SSSE3] = utf8_blocks_ssse3,
	[CPU_AVX2] = utf8_blocks_avx2,
#elif defined(__aarch64__)
	[CPU_NEON] = utf8_blocks_neon,
#endif
};

size_t utf8_blocks(const uint8_t *p, size_t len)
{
	return ways[cpu_level()](p, len);
}
