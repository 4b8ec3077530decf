/* Owns UTF-8 itself: validation, encoding, and the scan for ASCII runs.
 * Must not know: streams, carry, or what malformed bytes are replaced by. Pure functions.
 * Invariant: a byte past `len` is never read. */
#include "core/text/utf8.h"

#include <assert.h>
#include <string.h>

#include "core/text/ascii_block.h"
#include "core/text/utf8_blocks.h"
#include "core/text/utf8_fault.h"

size_t utf8_ascii_prefix(const uint8_t *p, size_t len)
{
	size_t i = 0;

	while (len - i >= ASCII_BLOCK && ascii_block(p + i))
		i += ASCII_BLOCK;
	while (i < len && p[i] < 0x80)
		i++;
	return i;
}

size_t utf8_ascii_copy(uint8_t *out, const uint8_t *in, size_t len)
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

/* Table 3-7: the length of the sequence that a lead byte begins (0: it is not a lead), and the range of its second
 * byte. */
struct lead {
	uint8_t length, second_min, second_max;
};

static inline struct lead lead_of(uint8_t b)
{
	if (b < 0xC2 || b > 0xF4)
		return (struct lead){ b < 0x80, 0, 0 };
	if (b < 0xE0)
		return (struct lead){ 2, 0x80, 0xBF };
	if (b < 0xF0)
		return (struct lead){ 3, b == 0xE0 ? 0xA0 : 0x80, b == 0xED ? 0x9F : 0xBF };
	return (struct lead){ 4, b == 0xF0 ? 0x90 : 0x80, b == 0xF4 ? 0x8F : 0xBF };
}

static inline bool is_trail(uint8_t b)
{
	return (b & 0xC0) == 0x80;
}

/* How many bytes of the sequence at p table 3-7 allows; it is well-formed when these are as many as its lead says. */
static inline size_t subpart_length(const uint8_t *p, size_t len, struct lead lead)
{
	size_t n = 1;

	if (len > 1 && lead.length > 1 && p[1] >= lead.second_min && p[1] <= lead.second_max) {
		n = 2;
		while (n < lead.length && n < len && is_trail(p[n]))
			n++;
	}
	return n;
}

size_t utf8_valid_prefix(const uint8_t *p, size_t len)
{
	size_t i = utf8_blocks(p, len), back = 1;

	/* Go back to the start of a sequence that the last block leaves open: its lead, or an impossible lead, is one
	 * of the last three bytes. */
	while (back < 4 && back <= i && is_trail(p[i - back]))
		back++;
	if (back < 4 && back <= i && p[i - back] >= 0xC0 && lead_of(p[i - back]).length != back)
		i -= back;
	while (i < len) {
		struct lead lead = lead_of(p[i]);

		if (lead.length == 0 || subpart_length(p + i, len - i, lead) < lead.length)
			break;
		i += lead.length;
	}
	return i;
}

size_t utf8_bad_length(const uint8_t *p, size_t len, bool *incomplete)
{
	struct lead lead = lead_of(p[0]);
	size_t n = subpart_length(p, len, lead);

	assert(len > 0);
	*incomplete = n == len && n < lead.length;
	return n;
}

/* They are counted sixteen at a time, in the lanes of a vector. */
size_t utf8_leads(const uint8_t *p, size_t len)
{
	enum { LANES = 16, SUM_MOST = 255 /* how often a lane can be added to */ };
	typedef int8_t lanes __attribute__((vector_size(LANES)));
	size_t n = 0, i = 0;

	while (len - i >= LANES) {
		size_t blocks = (len - i) / LANES;
		lanes leads = { 0 }, block;

		for (blocks = blocks < SUM_MOST ? blocks : SUM_MOST; blocks > 0; blocks--, i += LANES) {
			memcpy(&block, p + i, sizeof block);
			leads -= (lanes)((block < 0) & (block >= (int8_t)0xC0));
		}
		for (size_t lane = 0; lane < LANES; lane++)
			n += (uint8_t)leads[lane];
	}
	for (; i < len; i++)
		n += p[i] >= 0xC0;
	return n;
}

struct utf8_count utf8_count(const uint8_t *p, size_t len, bool complete)
{
	struct utf8_count n = { 0 };
	struct utf8_fault fault;
	size_t i = 0, valid;

	while (i < len) {
		valid = utf8_valid_prefix(p + i, len - i);
		n.multibyte += utf8_leads(p + i, valid);
		i += valid;
		if (i == len)
			break;
		fault = utf8_fault(p + i, len - i);
		n.multibyte += fault.kind == FAULT_PAIR;
		n.stray += fault.kind != FAULT_PAIR && (complete || !fault.incomplete);
		i += fault.len;
	}
	return n;
}

struct utf8_evidence utf8_look(const uint8_t *p, size_t len, bool complete)
{
	size_t ascii = utf8_ascii_prefix(p, len), valid = ascii + utf8_valid_prefix(p + ascii, len - ascii);
	bool cut = false;

	if (valid < len)
		utf8_bad_length(p + valid, len - valid, &cut);
	cut &= !complete;
	return (struct utf8_evidence){ .ascii = ascii == len || (cut && ascii == valid), .valid = valid == len || cut,
		.proven = (valid == len || cut) && ascii < valid };
}
