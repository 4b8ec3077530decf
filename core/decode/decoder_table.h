/* Owns the layout of the decode tables, and the way to get one.
 * Must not know: streams. Private to the decoder*.c files.
 * Invariant: a table is built once, never changed, and lives as long as the process; fetching one takes no lock. */
#ifndef UTFEED_CORE_DECODE_DECODER_TABLE_H
#define UTFEED_CORE_DECODE_DECODER_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/decode/charset.h"

/* An entry of text[] has three bytes of UTF-8 and then their number, to which SINGLE_HOLE is added where the byte means
 * nothing (its text is U+FFFD). */
enum { SINGLE_LENGTH = 3, SINGLE_HOLE = 0x80 };
struct single_table {
	bool ascii;                 /* bytes under 0x80 are ASCII */
	bool holes;                 /* the set has holes */
	bool basic;                 /* ascii, and every other byte is one character: points[byte - 0x80] */
	bool narrow;                /* basic, and most of those characters take two bytes */
	uint16_t points[128];
	uint8_t text[256][4];
	/* The first and second bytes of text[0x80] and up, in rows of 16; each is xored with the byte 16 before it. */
	uint8_t first_change[8][16], second_change[8][16];
};

/* Writes all four bytes of an entry, of which the last is its length and does not count: one load serves text and
 * length. The caller must have room for it. */
static inline uint8_t *single_put(uint8_t *out, const uint8_t entry[4])
{
	uint32_t word;

	memcpy(&word, entry, sizeof word);
	memcpy(out, &word, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return out + (word & 0xff & ~(uint32_t)SINGLE_HOLE);
#else
	return out + (word >> 24 & ~(uint32_t)SINGLE_HOLE);
#endif
}

/* The text of a code: two to four bytes of UTF-8, padded with NUL; all NUL: the code means nothing. Four bytes may be
 * two characters (Big5). */
struct double_text {
	uint8_t utf8[4];
};

/* The four bytes of a text as a word; 0: the text is empty. */
static inline uint32_t double_word(const struct double_text *text)
{
	uint32_t word;

	memcpy(&word, text->utf8, sizeof word);
	return word;
}

/* Writes four bytes, of which the last two may be padding: the caller must have room for them. */
static inline uint8_t *double_put(uint8_t *out, uint32_t word)
{
	memcpy(out, &word, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return out + 2 + ((word & 0xffff) != 0) + ((word & 0xff) != 0);
#else
	return out + 2 + (word > 0xffff) + (word > 0xffffff);
#endif
}

struct double_plane {
	struct double_text text[128][256];          /* [lead - 0x80][trail] */
};

/* Pointers of gb18030's four-byte codes into the basic plane (WHATWG section 10.2.1). */
enum { GB18030_BASIC = 39420 };

struct double_table {
	struct double_plane pair;
	struct double_text single[128];             /* bytes of 0x80 and up that stand alone */
	bool lead[128];
	struct double_plane *jis0212;               /* EUC-JP: after 0x8F; else NULL */
	uint16_t *four;                             /* gb18030: GB18030_BASIC code points, 0 a hole; else NULL */
};

/* NULL with errno set: out of memory, or iconv has no such converter. */
const struct single_table *decoder_table_single(enum charset, bool literal);
const struct double_table *decoder_table_double(enum charset, bool literal);

#endif
