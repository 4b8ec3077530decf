/* Owns what XML calls a name, in UTF-8 text.
 * Must not know: what is named. Pure functions. Private to repair_*.c.
 * Invariant: a character that the end of the text cuts counts as one of a name, so that more text decides.
 * Source: XML 1.0, fifth edition, [4] NameStartChar, [4a] NameChar, [5] Name. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_NAME_H
#define UTFEED_CORE_REPAIR_REPAIR_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bits of name_bytes[], for bytes of ASCII: may start a name, may stand in it, white space, colon. */
enum { NAME_START = 1, NAME_CHAR = 2, NAME_SPACE = 4, NAME_COLON = 8 };
extern const uint8_t name_bytes[256];

/* The bytes of the name that the text starts with; 0: none. */
size_t name_length(const uint8_t *, size_t len);

/* How many bytes of ASCII that names have the text starts with. */
static inline size_t name_plain(const uint8_t *in, size_t len)
{
	typedef uint8_t lanes __attribute__((vector_size(16)));
	typedef uint64_t halves __attribute__((vector_size(16)));
	size_t n = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	if (len >= sizeof(lanes)) {
		lanes v;
		halves odd;

		/* Letters and colons, sixteen bytes at a time */
		memcpy(&v, in, sizeof(v));
		odd = ~(halves)((lanes)((lanes)((v | 0x20) - 'a') < 26) | (lanes)(v == ':'));
		if (odd[0])
			n = (size_t)__builtin_ctzll(odd[0]) / 8;
		else
			n = odd[1] ? 8 + (size_t)__builtin_ctzll(odd[1]) / 8 : sizeof(v);
	}
#endif
	while (n < len && (name_bytes[in[n]] & NAME_CHAR))
		n++;
	return n;
}

/* The bytes before the colon of a name; 0: there is none. `left` bytes may be read from the name on. */
static inline size_t name_prefix(const uint8_t *in, size_t len, size_t left)
{
	const uint8_t *colon;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	if (len <= 8 && left >= 8) {
		const uint64_t ones = 0x0101010101010101;
		uint64_t word;

		/* The lowest byte that is zero is found by what its subtraction borrows */
		memcpy(&word, in, sizeof(word));
		word ^= ones * ':';
		word = (word - ones) & ~word & ones << 7;
		return word && (size_t)__builtin_ctzll(word) / 8 < len ? (size_t)__builtin_ctzll(word) / 8 : 0;
	}
#endif
	colon = memchr(in, ':', len);
	return colon ? (size_t)(colon - in) : 0;
}

static inline bool name_is_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The offset, at or after `at`, of a character other than white space; len: there is nothing else. */
size_t name_skip_space(const uint8_t *, size_t at, size_t len);

#endif
