/* The two looks at first bytes: XML 1.0 Appendix F.1, row by row. */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/evidence/bom.h"

#define BYTES(s) (const uint8_t *)(s), sizeof(s) - 1

static const struct {
	const char *row;
	const uint8_t *bytes;
	size_t len;
	enum charset charset;
	size_t bom_len;
} marks[] = {
	{ "UCS-4 1234",            BYTES("\x00\x00\xFE\xFF<"), CS_UTF_32BE, 4 },
	{ "UCS-4 4321",            BYTES("\xFF\xFE\x00\x00<"), CS_UTF_32LE, 4 },
	{ "UCS-4 2143",            BYTES("\x00\x00\xFF\xFE<"), CS_UCS_4_2143, 4 },
	{ "UCS-4 3412",            BYTES("\xFE\xFF\x00\x00<"), CS_UCS_4_3412, 4 },
	{ "UTF-16BE",              BYTES("\xFE\xFF\x00<"), CS_UTF_16BE, 2 },
	{ "UTF-16LE",              BYTES("\xFF\xFE<\x00"), CS_UTF_16LE, 2 },
	{ "UTF-16BE, ## not 0000", BYTES("\xFE\xFF\x01\x00"), CS_UTF_16BE, 2 },
	{ "UTF-16LE, ## not 0000", BYTES("\xFF\xFE\x00\x01"), CS_UTF_16LE, 2 },
	{ "UTF-16LE alone",        BYTES("\xFF\xFE"), CS_UTF_16LE, 2 },
	{ "UTF-8",                 BYTES("\xEF\xBB\xBF<"), CS_UTF_8, 3 },
	{ "UTF-8 alone",           BYTES("\xEF\xBB\xBF"), CS_UTF_8, 3 },
	{ "UTF-8 cut",             BYTES("\xEF\xBB"), CS_NONE, 0 },
	{ "UTF-16 cut",            BYTES("\xFF"), CS_NONE, 0 },
	{ "none",                  BYTES("<?xml"), CS_NONE, 0 },
	{ "nothing",               BYTES(""), CS_NONE, 0 },
};

static const struct {
	const char *row;
	const uint8_t *bytes;
	size_t len;
	enum charset strict, loose;
	unsigned unit;              /* of loose */
} families[] = {
	{ "0000003C",            BYTES("\x00\x00\x00<"), CS_UTF_32BE, CS_UTF_32BE, 4 },
	{ "3C000000",            BYTES("<\x00\x00\x00"), CS_UTF_32LE, CS_UTF_32LE, 4 },
	{ "00003C00",            BYTES("\x00\x00<\x00"), CS_UCS_4_2143, CS_UCS_4_2143, 4 },
	{ "003C0000",            BYTES("\x00<\x00\x00"), CS_UCS_4_3412, CS_UCS_4_3412, 4 },
	{ "003C003F",            BYTES("\x00<\x00?"), CS_UTF_16BE, CS_UTF_16BE, 2 },
	{ "3C003F00",            BYTES("<\x00?\x00"), CS_UTF_16LE, CS_UTF_16LE, 2 },
	{ "3C3F786D",            BYTES("<?xml"), CS_UTF_8, CS_UTF_8, 1 },
	{ "4C6FA794",            BYTES("\x4C\x6F\xA7\x94"), CS_IBM037, CS_IBM037, 1 },
	{ "other",               BYTES("<rss>"), CS_NONE, CS_NONE, 0 },
	{ "too short",           BYTES("<?x"), CS_NONE, CS_NONE, 0 },
	{ "16BE root",           BYTES("\x00<\x00r"), CS_NONE, CS_UTF_16BE, 2 },
	{ "16LE root",           BYTES("<\x00r\x00"), CS_NONE, CS_UTF_16LE, 2 },
	{ "16LE comment",        BYTES("<\x00!\x00"), CS_NONE, CS_UTF_16LE, 2 },
	{ "16LE after spaces",   BYTES("\n\x00 \x00<\x00r\x00"), CS_NONE, CS_UTF_16LE, 2 },
	{ "16BE after spaces",   BYTES("\x00\n\x00\x09\x00<\x00r"), CS_NONE, CS_UTF_16BE, 2 },
	{ "16LE, no markup",     BYTES("a\x00<\x00r\x00"), CS_NONE, CS_NONE, 0 },
	{ "16LE, no name",       BYTES("<\x00 \x00"), CS_NONE, CS_NONE, 0 },
	{ "EBCDIC root",         BYTES("\x4C\x99\xA2\xA2\x40"), CS_NONE, CS_IBM037, 1 },
	{ "EBCDIC short prefix",  BYTES("\x4C\x99\x84\x7A"), CS_NONE, CS_IBM037, 1 },
	{ "EBCDIC rdf:",         BYTES("\x4C\x99\x84\x86\x7A"), CS_NONE, CS_IBM037, 1 },
	{ "EBCDIC comment",      BYTES("\x4C\x5A\x60\x60"), CS_NONE, CS_IBM037, 1 },
	{ "EBCDIC doctype",      BYTES("\x4C\x5A\xC4\xD6"), CS_NONE, CS_IBM037, 1 },
	{ "Latin L and accents", BYTES("L\xE9" "a "), CS_NONE, CS_NONE, 0 },
};

static void test_marks(void)
{
	size_t i, n;
	enum charset cs;

	for (i = 0; i < sizeof marks / sizeof marks[0]; i++) {
		cs = bom_detect(marks[i].bytes, marks[i].len, &n);
		UNIT_ROW(cs == marks[i].charset && n == marks[i].bom_len, "%s: %s, %zu bytes", marks[i].row, charset_name(cs), n);
	}
}

static void test_families(void)
{
	struct bom_family strict, loose;
	size_t i;

	for (i = 0; i < sizeof families / sizeof families[0]; i++) {
		strict = bom_family_strict(families[i].bytes, families[i].len);
		loose = bom_family_loose(families[i].bytes, families[i].len);
		UNIT_ROW(strict.charset == families[i].strict, "%s: strict %s", families[i].row, charset_name(strict.charset));
		UNIT_ROW(loose.charset == families[i].loose && loose.unit == families[i].unit, "%s: loose %s, %u bytes",
		    families[i].row, charset_name(loose.charset), loose.unit);
		UNIT_ROW(loose.charset == CS_NONE || loose.family == charset_info(loose.charset)->family, "%s: family", families[i].row);
	}
}

UNIT_SUITE(bom, { "marks", test_marks }, { "families", test_families })
