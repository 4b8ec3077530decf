/* Owns UTF-8 itself: validation, encoding, and the scan for ASCII runs.
 * Must not know: streams or carry (decoder.h does). Pure functions.
 * Source: Unicode chapter 3, table 3-7 (well-formed byte sequences). */
#ifndef UTFEED_CORE_TEXT_UTF8_H
#define UTFEED_CORE_TEXT_UTF8_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the longest prefix of well-formed UTF-8. */
size_t utf8_valid_prefix(const uint8_t *, size_t len);
/* Length of the longest prefix of bytes under 0x80. */
size_t utf8_ascii_prefix(const uint8_t *, size_t len);
/* The same, and copies the prefix to `out` (room for len bytes; may not overlap). */
size_t utf8_ascii_copy(uint8_t *out, const uint8_t *in, size_t len);
/* How many bytes are 0xC0 and up: in well-formed text the characters beyond ASCII. */
size_t utf8_leads(const uint8_t *, size_t len);
/* Length of the maximal subpart at the start of an ill-formed sequence, 1 to 3 (table 3-7); sets *incomplete when more
 * bytes could still make it well-formed. */
size_t utf8_bad_length(const uint8_t *, size_t len, bool *incomplete);

/* How a held window looks as UTF-8. An incomplete character at the end is a fault only if the window is complete. */
struct utf8_evidence {
	bool ascii;                 /* every byte is under 0x80, except for a character that the window cuts */
	bool valid;                 /* well-formed */
	bool proven;                /* valid, and there are whole characters beyond ASCII */
};
struct utf8_evidence utf8_look(const uint8_t *, size_t len, bool complete);

/* Characters of two or more bytes, pairs of surrogates among them, and the faults beside them (utf8_fault.h). */
struct utf8_count {
	size_t multibyte, stray;
};
struct utf8_count utf8_count(const uint8_t *, size_t len, bool complete);

/* 1 to 4 bytes written; cp must be a scalar value. */
static inline size_t utf8_encode(uint32_t cp, uint8_t out[4])
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

/* Reads the first character of well-formed text; returns how many bytes it has. */
static inline size_t utf8_next(const uint8_t *text, uint32_t *character)
{
	size_t more = text[0] < 0x80 ? 0 : text[0] < 0xE0 ? 1 : text[0] < 0xF0 ? 2 : 3;
	uint32_t c = more == 0 ? text[0] : text[0] & (0x3Fu >> more);

	for (size_t i = 1; i <= more; i++)
		c = c << 6 | (text[i] & 0x3Fu);
	*character = c;
	return 1 + more;
}

#endif
