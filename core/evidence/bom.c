/* Owns the two checks of the first bytes in XML 1.0 Appendix F.1.
 * Must not know: declarations, labels, HTTP.
 * Invariant: pure functions; rows in the order of the appendix, the longer mark before the shorter. */
#include "core/evidence/bom.h"

#include <stdbool.h>
#include <string.h>

static const struct {
	uint8_t len;
	uint8_t bytes[4];
	enum charset charset;
} marks[] = {
	{ 4, { 0x00, 0x00, 0xFE, 0xFF }, CS_UTF_32BE },
	{ 4, { 0xFF, 0xFE, 0x00, 0x00 }, CS_UTF_32LE },
	{ 4, { 0x00, 0x00, 0xFF, 0xFE }, CS_UCS_4_2143 },
	{ 4, { 0xFE, 0xFF, 0x00, 0x00 }, CS_UCS_4_3412 },
	{ 2, { 0xFE, 0xFF },             CS_UTF_16BE },
	{ 2, { 0xFF, 0xFE },             CS_UTF_16LE },
	{ 3, { 0xEF, 0xBB, 0xBF },       CS_UTF_8 },
};

static const struct {
	uint8_t bytes[4];
	struct bom_family family;
} patterns[] = {
	{ { 0x00, 0x00, 0x00, 0x3C }, { CS_UTF_32BE,   FAMILY_32BIT,  4 } },
	{ { 0x3C, 0x00, 0x00, 0x00 }, { CS_UTF_32LE,   FAMILY_32BIT,  4 } },
	{ { 0x00, 0x00, 0x3C, 0x00 }, { CS_UCS_4_2143, FAMILY_32BIT,  4 } },
	{ { 0x00, 0x3C, 0x00, 0x00 }, { CS_UCS_4_3412, FAMILY_32BIT,  4 } },
	{ { 0x00, 0x3C, 0x00, 0x3F }, { CS_UTF_16BE,   FAMILY_16BIT,  2 } },
	{ { 0x3C, 0x00, 0x3F, 0x00 }, { CS_UTF_16LE,   FAMILY_16BIT,  2 } },
	{ { 0x3C, 0x3F, 0x78, 0x6D }, { CS_UTF_8,      FAMILY_ASCII,  1 } },
	{ { 0x4C, 0x6F, 0xA7, 0x94 }, { CS_IBM037,     FAMILY_EBCDIC, 1 } },
};

enum charset bom_detect(const uint8_t *bytes, size_t len, size_t *bom_len)
{
	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
		if (len >= marks[i].len && memcmp(bytes, marks[i].bytes, marks[i].len) == 0) {
			*bom_len = marks[i].len;
			return marks[i].charset;
		}
	}
	*bom_len = 0;
	return CS_NONE;
}

struct bom_family bom_family_strict(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; len >= 4 && i < sizeof patterns / sizeof patterns[0]; i++)
		if (memcmp(bytes, patterns[i].bytes, 4) == 0)
			return patterns[i].family;
	return (struct bom_family){ CS_NONE, FAMILY_NONE, 0 };
}

static bool is_markup(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '!' || c == '?';
}

/* Whether c is a letter in every EBCDIC code page. */
static bool is_ebcdic_letter(uint8_t c)
{
	uint8_t low = c & 0x0F, zone = c & 0xB0;

	return (zone == 0x80 && low >= 1 && low <= 9) || (zone == 0x90 && low >= 1 && low <= 9) ||
	    (zone == 0xA0 && low >= 2 && low <= 9);
}

/* Whether the bytes are "<" and three characters of a name, or "<!D" or "<!-", in EBCDIC: fewer could be Latin text. */
static bool is_ebcdic_markup(const uint8_t *b)
{
	if (b[0] != 0x4C)
		return false;
	if (b[1] == 0x5A || b[1] == 0x4F)
		return b[2] == 0xC4 || b[2] == 0x60;
	return is_ebcdic_letter(b[1]) && is_ebcdic_letter(b[2]) && (is_ebcdic_letter(b[3]) || b[3] == 0x7A);
}

/* Markup in 16 bits, behind white space perhaps. (32-bit units need no look here: "<" alone tells them.) */
static struct bom_family wide_16(const uint8_t *b, size_t len)
{
	static const struct bom_family be = { CS_UTF_16BE, FAMILY_16BIT, 2 }, le = { CS_UTF_16LE, FAMILY_16BIT, 2 };

	if (len < 4 || (b[0] == 0) == (b[1] == 0))
		return (struct bom_family){ CS_NONE, FAMILY_NONE, 0 };
	size_t low = b[0] == 0 ? 1 : 0;
	for (size_t at = 0; at + 4 <= len && b[at + 1 - low] == 0; at += 2) {
		if (b[at + low] == '<' && b[at + 3 - low] == 0 && is_markup(b[at + 2 + low]))
			return low == 1 ? be : le;
		if (b[at + low] != ' ' && b[at + low] != '\t' && b[at + low] != '\r' && b[at + low] != '\n')
			break;
	}
	return (struct bom_family){ CS_NONE, FAMILY_NONE, 0 };
}

struct bom_family bom_family_loose(const uint8_t *bytes, size_t len)
{
	struct bom_family found = bom_family_strict(bytes, len);

	if (found.family == FAMILY_NONE)
		found = wide_16(bytes, len);
	if (found.family == FAMILY_NONE && len >= 4 && is_ebcdic_markup(bytes))
		found = (struct bom_family){ CS_IBM037, FAMILY_EBCDIC, 1 };
	return found;
}
