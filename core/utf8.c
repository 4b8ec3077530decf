/* Owns UTF-8 itself: validation, encoding, and the scan for ASCII runs.
 * Must not know: streams, carry, or what malformed bytes are replaced by. Pure functions.
 * Invariant: a byte past `len` is never read. */
#include "utf8.h"

#include <assert.h>
#include <string.h>

#include "ascii_block.h"
#include "utf8_blocks.h"

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

size_t
utf8_valid_prefix(const uint8_t *p, size_t len)
{
	size_t i = utf8_blocks_fast_works() ? utf8_blocks_fast(p, len) : utf8_blocks_portable(p, len), back = 1;

	/* Back to the start of what the last block leaves open: its lead, or a byte that leads nothing, is one of the last three. */
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

size_t
utf8_bad_length(const uint8_t *p, size_t len, bool *incomplete)
{
	struct lead lead = lead_of(p[0]);
	size_t n = subpart_length(p, len, lead);

	assert(len > 0);
	*incomplete = n == len && n < lead.length;
	return n;
}

static size_t
count_leads(const uint8_t *p, size_t len)
{
	size_t leads = 0;

	for (size_t i = 0; i < len; i++)
		leads += p[i] >= 0xC0;
	return leads;
}

struct utf8_evidence
utf8_look(const uint8_t *p, size_t len, bool complete)
{
	struct utf8_evidence seen = { 0 };
	size_t i = 0;
	bool cut = false;

	while (i < len && !cut) {
		size_t valid = utf8_valid_prefix(p + i, len - i);

		seen.multibyte += count_leads(p + i, valid);
		i += valid;
		if (i == len)
			break;
		i += utf8_bad_length(p + i, len - i, &cut);
		seen.stray += !cut || complete;
	}
	seen.valid = seen.stray == 0;
	seen.ascii = seen.valid && seen.multibyte == 0 && !cut;
	return seen;
}
