/* Owns the validation of blocks of UTF-8 by NEON, 64 bytes a step (utf8_blocks.h).
 * Must not know: where in a step the fault is. What is a fault: utf8_lookup.h. */
#include "core/text/utf8_blocks.h"

#ifdef __aarch64__
#include <arm_neon.h>

#include "core/text/utf8_lookup.h"

enum { LANES = sizeof(uint8x16_t), STEP = 4 * LANES };

/* Bytes that may not follow the ones before them have a bit set. `before` is the block before. */
static inline uint8x16_t faults(uint8x16_t block, uint8x16_t before)
{
	uint8x16_t first = vextq_u8(before, block, 15);
	uint8x16_t pairs = vandq_u8(vandq_u8(vqtbl1q_u8(vld1q_u8(utf8_lookup.by_first_high), vshrq_n_u8(first, 4)),
	    vqtbl1q_u8(vld1q_u8(utf8_lookup.by_first_low), vandq_u8(first, vdupq_n_u8(0x0f)))),
	    vqtbl1q_u8(vld1q_u8(utf8_lookup.by_second_high), vshrq_n_u8(block, 4)));
	uint8x16_t third = vqsubq_u8(vextq_u8(before, block, 14), vdupq_n_u8(LEAD_OF_3));
	uint8x16_t fourth = vqsubq_u8(vextq_u8(before, block, 13), vdupq_n_u8(LEAD_OF_4));

	return veorq_u8(pairs, vandq_u8(vorrq_u8(third, fourth), vdupq_n_u8(TWO_TRAILS)));
}

/* Any bit is set where a sequence is open at the end of this block. */
static inline uint8x16_t open_behind(uint8x16_t block)
{
	static const uint8_t most[LANES] = { [0 ... LANES - 4] = 0xff, MOST_THIRD_LAST, MOST_SECOND_LAST, MOST_LAST };

	return vqsubq_u8(block, vld1q_u8(most));
}

size_t utf8_blocks_neon(const uint8_t *p, size_t len)
{
	uint8x16_t before = vdupq_n_u8(0);
	size_t i = 0;

	for (; len - i >= STEP; i += STEP) {
		uint8x16x4_t b = vld1q_u8_x4(p + i);
		uint8x16_t all = vorrq_u8(vorrq_u8(b.val[0], b.val[1]), vorrq_u8(b.val[2], b.val[3])), wrong;

		if (vmaxvq_u8(all) < 0x80)
			wrong = open_behind(before);
		else
			wrong = vorrq_u8(vorrq_u8(faults(b.val[0], before), faults(b.val[1], b.val[0])),
			    vorrq_u8(faults(b.val[2], b.val[1]), faults(b.val[3], b.val[2])));
		if (vmaxvq_u8(wrong) != 0)
			break;
		before = b.val[3];
	}
	for (; len - i >= LANES; i += LANES) {
		uint8x16_t block = vld1q_u8(p + i);

		if (vmaxvq_u8(faults(block, before)) != 0)
			break;
		before = block;
	}
	return i;
}
#endif
