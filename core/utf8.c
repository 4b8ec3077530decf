/* Owns UTF-8 itself: validation, encoding, and the scan for ASCII runs.
 * Must not know: streams, carry, or what malformed bytes are replaced by. Pure functions.
 * Invariant: a byte past `len` is never read. */
#include "utf8.h"

#include <assert.h>
#include <string.h>

#include "ascii_block.h"

size_t
utf8_ascii_prefix(const uint8_t *p, size_t len)
{
	size_t i = 0;

	while (len - i >= ASCII_BLOCK && ascii_block(p + i))
		i += ASCII_BLOCK;
	while (i < len && p[i] < 0x80)
		i++;
	return i;
}

size_t
utf8_ascii_copy(uint8_t *out, const uint8_t *in, size_t len)
{
	size_t i = 0;

	while (len - i >= ASCII_BLOCK && ascii_block(in + i)) {
		memcpy(out + i, in + i, ASCII_BLOCK);
		i += ASCII_BLOCK;
	}
	while (i < len && in[i] < 0x80) {
		out[i] = in[i];
		i++;
	}
	return i;
}

size_t
utf8_encode(uint32_t cp, uint8_t out[4])
{
	assert(cp < 0x110000 && (cp < 0xD800 || cp > 0xDFFF));
	if (cp < 0x80) {
		out[0] = (uint8_t)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (uint8_t)(0xC0 | cp >> 6);
		out[1] = (uint8_t)(0x80 | (cp & 0x3F));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (uint8_t)(0xE0 | cp >> 12);
		out[1] = (uint8_t)(0x80 | (cp >> 6 & 0x3F));
		out[2] = (uint8_t)(0x80 | (cp & 0x3F));
		return 3;
	}
	out[0] = (uint8_t)(0xF0 | cp >> 18);
	out[1] = (uint8_t)(0x80 | (cp >> 12 & 0x3F));
	out[2] = (uint8_t)(0x80 | (cp >> 6 & 0x3F));
	out[3] = (uint8_t)(0x80 | (cp & 0x3F));
	return 4;
}

/* Table 3-7: how many bytes a lead byte announces (0: it is none), and where its second byte must lie. */
struct lead {
	uint8_t length, second_min, second_max;
};

static inline struct lead
lead_of(uint8_t b)
{
	if (b < 0xC2 || b > 0xF4)
		return (struct lead){ b < 0x80, 0, 0 };
	if (b < 0xE0)
		return (struct lead){ 2, 0x80, 0xBF };
	if (b < 0xF0)
		return (struct lead){ 3, b == 0xE0 ? 0xA0 : 0x80, b == 0xED ? 0x9F : 0xBF };
	return (struct lead){ 4, b == 0xF0 ? 0x90 : 0x80, b == 0xF4 ? 0x8F : 0xBF };
}

static inline bool
is_trail(uint8_t b)
{
	return (b & 0xC0) == 0x80;
}

/* Bytes at the start that table 3-7 allows; the sequence is well-formed when they are all that its lead announces. */
static inline size_t
subpart_length(const uint8_t *p, size_t len, struct lead lead)
{
	size_t n = 1;

	if (len > 1 && lead.length > 1 && p[1] >= lead.second_min && p[1] <= lead.second_max) {
		n = 2;
		while (n < lead.length && n < len && is_trail(p[n]))
			n++;
	}
	return n;
}

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

/* Whole blocks without an ill-formed sequence; the last character may go on behind them. */
static size_t
valid_blocks(const uint8_t *p, size_t len)
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

size_t
utf8_valid_prefix(const uint8_t *p, size_t len)
{
	size_t i = valid_blocks(p, len), back = 1;

	/* Back to the start of a character that the last block leaves open: one of its last three bytes is the lead. */
	while (back < 4 && back <= i && is_trail(p[i - back]))
		back++;
	if (back < 4 && back <= i && lead_of(p[i - back]).length > back)
		i -= back;
	while (i < len) {
		struct lead lead = lead_of(p[i]);

		if (lead.length == 0 || subpart_length(p + i, len - i, lead) < lead.length)
			break;
		i += lead.length;
	}
	return i;
}

size_t
utf8_bad_length(const uint8_t *p, size_t len, bool *incomplete)
{
	struct lead lead = lead_of(p[0]);
	size_t n = subpart_length(p, len, lead);

	assert(len > 0);
	*incomplete = n == len && n < lead.length;
	return n;
}

struct utf8_evidence
utf8_look(const uint8_t *p, size_t len, bool complete)
{
	struct utf8_evidence seen = { .ascii = true, .valid = true };
	size_t i = utf8_ascii_prefix(p, len);

	seen.ascii = i == len;
	while (i < len) {
		struct lead lead = lead_of(p[i]);
		size_t n;

		if (lead.length == 1) {
			i += utf8_ascii_prefix(p + i, len - i);
			continue;
		}
		n = subpart_length(p + i, len - i, lead);
		if (n == lead.length)
			seen.multibyte++;
		else if (complete || i + n < len || lead.length == 0)
			seen.stray++;
		i += n;
	}
	seen.valid = seen.stray == 0;
	return seen;
}
