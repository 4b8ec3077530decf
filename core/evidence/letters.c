/* Owns what a character is to the statistics of languages; see letters.h. */
#include "core/evidence/letters.h"

#include <stdbool.h>
#include <stddef.h>

static const struct {
	uint16_t code;
	uint8_t script;
} letters[] = {
#define LETTER(script, code, cost) { code, SCRIPT_##script },
#include "core/evidence/letters.def"
#undef LETTER
};

enum {
	LETTER_COUNT = sizeof letters / sizeof letters[0],
	/* all of signs[] are below the first, or between the others */
	SIGNS_LATIN1_END = 0x100, SIGNS_FROM = 0x2000, SIGNS_END = 0x2200
};

/* How the letters of a range have case. In EVEN and ODD ranges each capital, with that parity, stands before its small
 * letter. */
enum run_casing { ALL_SMALL, ALL_CAPITAL, EVEN_CAPITAL, ODD_CAPITAL };

/* Ranges of letters with case in Unicode's blocks, as far as single-byte charsets have them. `to_small` is what an
 * ALL_CAPITAL letter lacks to its small one. */
static const struct {
	uint16_t from, to;
	uint8_t casing;
	int8_t to_small;
} casings[] = {
	{ 0x00C0, 0x00D6, ALL_CAPITAL, 0x20 },
	{ 0x00D8, 0x00DE, ALL_CAPITAL, 0x20 },
	{ 0x00DF, 0x00F6, ALL_SMALL, 0 },
	{ 0x00F8, 0x00FF, ALL_SMALL, 0 },
	{ 0x0100, 0x012F, EVEN_CAPITAL, 0 },
	{ 0x0130, 0x0130, ALL_CAPITAL, 0 },
	{ 0x0131, 0x0131, ALL_SMALL, 0 },
	{ 0x0132, 0x0137, EVEN_CAPITAL, 0 },
	{ 0x0138, 0x0138, ALL_SMALL, 0 },
	{ 0x0139, 0x0148, ODD_CAPITAL, 0 },
	{ 0x014A, 0x0177, EVEN_CAPITAL, 0 },
	{ 0x0178, 0x0178, ALL_CAPITAL, -0x79 },
	{ 0x0179, 0x017E, ODD_CAPITAL, 0 },
	{ 0x01A0, 0x01A1, EVEN_CAPITAL, 0 },
	{ 0x01AF, 0x01B0, ODD_CAPITAL, 0 },
	{ 0x0218, 0x021B, EVEN_CAPITAL, 0 },
	{ 0x0386, 0x0386, ALL_CAPITAL, 0x26 },
	{ 0x0388, 0x038A, ALL_CAPITAL, 0x25 },
	{ 0x038C, 0x038C, ALL_CAPITAL, 0x40 },
	{ 0x038E, 0x038F, ALL_CAPITAL, 0x3F },
	{ 0x0391, 0x03AB, ALL_CAPITAL, 0x20 },
	{ 0x03AC, 0x03CE, ALL_SMALL, 0 },
	{ 0x0400, 0x040F, ALL_CAPITAL, 0x50 },
	{ 0x0410, 0x042F, ALL_CAPITAL, 0x20 },
	{ 0x0430, 0x045F, ALL_SMALL, 0 },
	{ 0x048A, 0x04BF, EVEN_CAPITAL, 0 },
	{ 0x04D0, 0x052F, EVEN_CAPITAL, 0 },
	{ 0x1E00, 0x1EFF, EVEN_CAPITAL, 0 },
};

/* The small letter; *flag says which case the letter had. */
static uint32_t small_of(uint32_t c, uint16_t *flag)
{
	bool capital;

	*flag = 0;
	for (size_t i = 0; i < sizeof casings / sizeof casings[0] && c >= casings[i].from; i++) {
		if (c > casings[i].to)
			continue;
		capital = casings[i].casing == ALL_CAPITAL || (casings[i].casing == EVEN_CAPITAL && c % 2 == 0) ||
		    (casings[i].casing == ODD_CAPITAL && c % 2 == 1);
		*flag = capital ? TOKEN_CAPITAL : TOKEN_SMALL;
		if (!capital)
			return c;
		return (uint32_t)((int32_t)c + (casings[i].casing == ALL_CAPITAL ? casings[i].to_small : 1));
	}
	return c;
}

static const struct {
	uint16_t code;
	uint8_t token;
} signs[] = {
	{ 0x201C, TOKEN_OPEN },
	{ 0x201E, TOKEN_OPEN },
	{ 0x00AB, TOKEN_OPEN },
	{ 0x2018, TOKEN_OPEN },
	{ 0x201A, TOKEN_OPEN },
	{ 0x2039, TOKEN_OPEN },
	{ 0x00BF, TOKEN_OPEN },
	{ 0x00A1, TOKEN_OPEN },
	{ 0x201D, TOKEN_CLOSE },
	{ 0x2019, TOKEN_CLOSE },
	{ 0x00BB, TOKEN_CLOSE },
	{ 0x203A, TOKEN_CLOSE },
	{ 0x2026, TOKEN_CLOSE },
	{ 0x2013, TOKEN_SIGN },
	{ 0x2014, TOKEN_SIGN },
	{ 0x00A9, TOKEN_SIGN },
	{ 0x00AE, TOKEN_SIGN },
	{ 0x00B0, TOKEN_SIGN },
	{ 0x00A7, TOKEN_SIGN },
	{ 0x20AC, TOKEN_SIGN },
	{ 0x2022, TOKEN_SIGN },
	{ 0x00B7, TOKEN_SIGN },
	{ 0x00B2, TOKEN_SIGN },
	{ 0x2122, TOKEN_SIGN },
	{ 0x2116, TOKEN_SIGN },
	{ 0x00BA, TOKEN_SIGN },
	{ 0x00AA, TOKEN_SIGN },
	{ 0x00B1, TOKEN_SIGN_FEW },
	{ 0x00D7, TOKEN_SIGN_FEW },
	{ 0x00B5, TOKEN_SIGN_FEW },
	{ 0x00BC, TOKEN_SIGN_FEW },
	{ 0x00BD, TOKEN_SIGN_FEW },
	{ 0x00BE, TOKEN_SIGN_FEW },
	{ 0x00A3, TOKEN_SIGN_FEW },
	{ 0x00A2, TOKEN_SIGN_FEW },
	{ 0x00A5, TOKEN_SIGN_FEW },
	{ 0x00B9, TOKEN_SIGN_FEW },
	{ 0x00B3, TOKEN_SIGN_FEW },
	{ 0x00F7, TOKEN_SIGN_FEW },
	{ 0x00B6, TOKEN_SIGN_FEW },
	{ 0x00AC, TOKEN_SIGN_FEW },
	{ 0x00AD, TOKEN_SIGN_FEW },
	{ 0x00B4, TOKEN_CLOSE },   /* for an apostrophe */
	{ 0x2020, TOKEN_SIGN_FEW },
	{ 0x2030, TOKEN_SIGN_FEW },
	{ 0x200C, TOKEN_SIGN_FEW },
	{ 0x00A0, TOKEN_NO_BREAK },
};

/* The row of a letter, or LETTER_COUNT. */
static size_t letter_row(uint32_t c)
{
	size_t low = 0, high = LETTER_COUNT, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (letters[mid].code < c)
			low = mid + 1;
		else
			high = mid;
	}
	return low < LETTER_COUNT && letters[low].code == c ? low : LETTER_COUNT;
}

static uint16_t ascii_token(uint32_t c)
{
	if (c >= 'a' && c <= 'z')
		return (uint16_t)((TOKEN_A + c - 'a') | TOKEN_SMALL);
	if (c >= 'A' && c <= 'Z')
		return (uint16_t)((TOKEN_A + c - 'A') | TOKEN_CAPITAL);
	return TOKEN_BREAK;
}

/* The token of a sign; TOKEN_COUNT: it is none of them. */
static unsigned sign_token(uint32_t c)
{
	if (c >= SIGNS_LATIN1_END && (c < SIGNS_FROM || c >= SIGNS_END))
		return TOKEN_COUNT;
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
		if (signs[i].code == c)
			return signs[i].token;
	return TOKEN_COUNT;
}

uint16_t letters_token(uint32_t c)
{
	uint16_t flag;

	if (c < 0x80)
		return ascii_token(c);
	if (c < 0xA0)
		return TOKEN_CONTROL;
	unsigned sign = sign_token(c);
	if (sign != TOKEN_COUNT)
		return (uint16_t)sign;
	if (c >= 0x2E80 && c < 0xD7A4)
		return TOKEN_HAN;
	if (c == 0xFFFD)
		return TOKEN_BAD;
	size_t row = c <= letters[LETTER_COUNT - 1].code ? letter_row(small_of(c, &flag)) : LETTER_COUNT;
	if (row < LETTER_COUNT)
		return (uint16_t)((TOKEN_LETTER + row) | flag);
	return c >= 0x0250 && c < 0x2000 ? TOKEN_STRANGER : TOKEN_SIGN_RARE;
}

enum letter_script letters_script(unsigned token)
{
	return letters[token - TOKEN_LETTER].script;
}
