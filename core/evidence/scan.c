/* Owns reading ASCII characters one by one out of any family's code units.
 * Must not know: what the characters mean. */
#include "core/evidence/scan.h"

#include <string.h>

/* The characters that have the same place in every EBCDIC code page (IBM's invariant set), plus those of declarations
 * and markup that differ only in pages in which markup cannot be written anyway. "!" has two places, those of IBM037
 * and of IBM500; any other character in these places is not markup. 0: none of these characters. */
static const char ebcdic[256] = {
	[0x05] = '\t', [0x0D] = '\r', [0x15] = '\n', [0x25] = '\n', [0x40] = ' ',
	[0x4B] = '.', [0x4C] = '<', [0x4D] = '(', [0x4E] = '+', [0x4F] = '!', [0x50] = '&', [0x5A] = '!', [0x5C] = '*',
	[0x5D] = ')',
	[0x5E] = ';', [0x60] = '-', [0x61] = '/', [0x6B] = ',', [0x6C] = '%', [0x6D] = '_', [0x6E] = '>', [0x6F] = '?',
	[0x7A] = ':', [0x7D] = '\'', [0x7E] = '=', [0x7F] = '"',
	[0x81] = 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', [0x91] = 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r',
	[0xA2] = 's', 't', 'u', 'v', 'w', 'x', 'y', 'z',
	[0xC1] = 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', [0xD1] = 'J', 'K', 'L', 'M', 'N', 'O', 'P', 'Q', 'R',
	[0xE2] = 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', [0xF0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
};

/* The position of the low byte in a unit (XML 1.0 Appendix F.1, the orders of UCS-4). */
static size_t low_byte(enum charset cs)
{
	switch (cs) {
	case CS_UTF_16BE: return 1;
	case CS_UTF_32BE: return 3;
	case CS_UCS_4_2143: return 2;
	case CS_UCS_4_3412: return 1;
	default: return 0;
	}
}

int scan_peek_unit(const struct scan *s, size_t ahead)
{
	size_t unit = s->family.unit;

	if (s->len - s->at < unit || (s->len - s->at) / unit <= ahead)
		return SCAN_END;
	const uint8_t *b = s->bytes + s->at + ahead * unit;
	size_t low = low_byte(s->family.charset);
	for (size_t i = 0; i < unit; i++)
		if (i != low && b[i] != 0)
			return SCAN_OTHER;
	if (s->family.family == FAMILY_EBCDIC)
		return ebcdic[b[0]] != 0 ? ebcdic[b[0]] : SCAN_OTHER;
	return b[low] < 0x80 ? b[low] : SCAN_OTHER;
}

void scan_skip_space(struct scan *s)
{
	while (scan_is_space(scan_peek(s, 0)))
		s->at += s->family.unit;
}

static int fold(int c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

enum scan_match scan_match(const struct scan *s, const char *text, bool ignore_case)
{
	int c;

	for (size_t i = 0; text[i] != '\0'; i++) {
		c = scan_peek(s, i);
		if (c == SCAN_END)
			return SCAN_SHORT;
		if (ignore_case ? fold(c) != fold(text[i]) : c != text[i])
			return SCAN_NO;
	}
	return SCAN_YES;
}

/* Writes U+FEFF as one unit: in every order the second lowest byte stands next to the lowest. */
static size_t wide_mark(const struct scan *s, uint8_t mark[4])
{
	size_t low = low_byte(s->family.charset);

	memset(mark, 0, 4);
	mark[low] = 0xFF;
	mark[low ^ 1] = 0xFE;
	return s->family.unit;
}

enum scan_match scan_skip_mark(struct scan *s)
{
	uint8_t mark[4] = { 0xEF, 0xBB, 0xBF };
	size_t n = s->family.unit > 1 ? wide_mark(s, mark) : 3, left = s->len - s->at;

	if (s->family.family == FAMILY_EBCDIC || memcmp(s->bytes + s->at, mark, left < n ? left : n) != 0)
		return SCAN_NO;
	if (left < n)
		return SCAN_SHORT;
	s->at += n;
	return SCAN_YES;
}

bool scan_past(struct scan *s, const char *text)
{
	struct scan look = *s;

	for (; scan_peek(&look, 0) != SCAN_END; look.at += look.family.unit) {
		if (scan_match(&look, text, false) == SCAN_YES) {
			s->at = look.at + strlen(text) * look.family.unit;
			return true;
		}
	}
	return false;
}
