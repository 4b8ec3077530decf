/* Owns the tables of the vector forms of utf8_blocks.h. They have the errors that two neighbouring bytes may make, by
 * the low and the high half of the first byte and by the high half of the second. There is an error where its bit is
 * set in all three.
 * Must not know: any instruction set. Private to utf8_blocks_*.c.
 * Source: Unicode chapter 3, table 3-7; J. Keiser and D. Lemire, "Validating UTF-8 In Less Than One Instruction Per
 * Byte", 2020. */
#ifndef UTFEED_CORE_TEXT_UTF8_LOOKUP_H
#define UTFEED_CORE_TEXT_UTF8_LOOKUP_H

#include <stdint.h>

enum {
	TOO_SHORT = 1 << 0,         /* a lead, then a byte that is not a trail */
	TOO_LONG = 1 << 1,          /* ASCII, then a trail */
	OVERLONG_3 = 1 << 2,
	TOO_LARGE = 1 << 3,         /* F4 90 and up, F5 and up */
	SURROGATE = 1 << 4,
	OVERLONG_2 = 1 << 5,
	OVERLONG_4 = 1 << 6,        /* F0 80; also F5 80 and up */
	TWO_TRAILS = 1 << 7,        /* two trails in a row: no error where a lead of three or four bytes precedes */
	ANY_LOW = TOO_SHORT | TOO_LONG | TWO_TRAILS,
	PAST_F4 = ANY_LOW | TOO_LARGE | OVERLONG_4,
	TRAIL = TOO_LONG | OVERLONG_2 | TWO_TRAILS
};

struct utf8_lookup {
	uint8_t by_first_high[16], by_first_low[16], by_second_high[16];
};

static const struct utf8_lookup utf8_lookup = {
	.by_first_high = {
		[0x0 ... 0x7] = TOO_LONG,
		[0x8 ... 0xb] = TWO_TRAILS,
		[0xc] = TOO_SHORT | OVERLONG_2,
		[0xd] = TOO_SHORT,
		[0xe] = TOO_SHORT | OVERLONG_3 | SURROGATE,
		[0xf] = TOO_SHORT | TOO_LARGE | OVERLONG_4
	},
	.by_first_low = {
		[0x0] = ANY_LOW | OVERLONG_2 | OVERLONG_3 | OVERLONG_4,
		[0x1] = ANY_LOW | OVERLONG_2,
		[0x2 ... 0x3] = ANY_LOW,
		[0x4] = ANY_LOW | TOO_LARGE,
		[0x5 ... 0xc] = PAST_F4,
		[0xd] = PAST_F4 | SURROGATE,
		[0xe ... 0xf] = PAST_F4
	},
	.by_second_high = {
		[0x0 ... 0x7] = TOO_SHORT,
		[0x8] = TRAIL | OVERLONG_3 | OVERLONG_4,
		[0x9] = TRAIL | OVERLONG_3 | TOO_LARGE,
		[0xa ... 0xb] = TRAIL | SURROGATE | TOO_LARGE,
		[0xc ... 0xf] = TOO_SHORT
	}
};

/* Two trails in a row end exactly two bytes behind a lead of three bytes or more, and three behind a lead of four. The
 * byte that far back is such a lead if it is 80 (hex) or more after a saturating subtraction of this number. */
enum { LEAD_OF_3 = 0xe0 - 0x80, LEAD_OF_4 = 0xf0 - 0x80 };

/* The largest values that the last bytes of a block can have when no sequence is open at its end. */
enum { MOST_THIRD_LAST = 0xef, MOST_SECOND_LAST = 0xdf, MOST_LAST = 0xbf };

#endif
