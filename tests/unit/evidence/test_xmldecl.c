/* Reading a declaration in every family: XML 1.0 [23], [80]. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/xmldecl.h"
#include "tests/unit/wide.h"

static const struct {
	const char *rule;
	const char *text;
	enum xmldecl_state state;
	const char *encoding, *version;
	int standalone;
	size_t end;                 /* characters */
} cases[] = {
	{ "double quotes",      "<?xml version=\"1.0\" encoding=\"utf-8\"?><r/>", XMLDECL_PRESENT, "utf-8", "1.0", -1, 38 },
	{ "single quotes",      "<?xml version='1.0' encoding='utf-8'?>", XMLDECL_PRESENT, "utf-8", "1.0", -1, 38 },
	{ "mixed quotes",       "<?xml version='1.0' encoding=\"utf-8\"?>", XMLDECL_PRESENT, "utf-8", "1.0", -1, 38 },
	{ "blanks round =",     "<?xml version = \"1.0\"\tencoding =\r\n\"utf-8\" ?>", XMLDECL_PRESENT, "utf-8", "1.0", -1, 44 },
	{ "newlines",           "<?xml\nversion\n=\n'1.0'\nencoding\n=\n'utf-8'\n?>", XMLDECL_PRESENT, "utf-8", "1.0", -1, 43 },
	{ "no version",         "<?xml encoding=\"koi8-r\"?>", XMLDECL_PRESENT, "koi8-r", "", -1, 25 },
	{ "no encoding",        "<?xml version=\"1.0\"?>", XMLDECL_PRESENT, "", "1.0", -1, 21 },
	{ "standalone yes",     "<?xml version='1.0' standalone='yes'?>", XMLDECL_PRESENT, "", "1.0", 1, 38 },
	{ "standalone no",      "<?xml version='1.0' encoding='x' standalone='no'?>", XMLDECL_PRESENT, "x", "1.0", 0, 50 },
	{ "out of order",       "<?xml encoding='x' version='1.1'?>", XMLDECL_PRESENT, "x", "1.1", -1, 34 },
	{ "first of two",       "<?xml encoding='x' encoding='y'?>", XMLDECL_PRESENT, "x", "", -1, 33 },
	{ "blanks in value",    "<?xml encoding=' utf-8 '?>", XMLDECL_PRESENT, "utf-8", "", -1, 26 },
	{ "empty value",        "<?xml encoding=''?>", XMLDECL_PRESENT, "", "", -1, 19 },
	{ "says nothing",       "<?xml?>", XMLDECL_PRESENT, "", "", -1, 7 },
	{ "unquoted",           "<?xml version=1.0 encoding='x'?>", XMLDECL_PRESENT, "x", "", -1, 32 },
	{ "quote never closed", "<?xml encoding='utf-8?>", XMLDECL_PRESENT, "", "", -1, 23 },
	{ "quotes of two kinds", "<?xml encoding='utf-8\"?><a b='c'>", XMLDECL_PRESENT, "", "", -1, 24 },
	{ "upper-case name",    "<?xml ENCODING='utf-8'?>", XMLDECL_PRESENT, "", "", -1, 24 },
	{ "other instruction",  "<?xml-stylesheet href='a'?>", XMLDECL_ABSENT, "", "", -1, 0 },
	{ "not at the start",   " <?xml version='1.0'?>", XMLDECL_ABSENT, "", "", -1, 0 },
	{ "none",               "<rss version='2.0'>", XMLDECL_ABSENT, "", "", -1, 0 },
	{ "never ends",         "<?xml version='1.0' encoding='utf-8' <rss>", XMLDECL_BROKEN, "", "", -1, 0 },
};

static const struct bom_family kinds[] = {
	{ CS_UTF_8, FAMILY_ASCII, 1 }, { CS_UTF_16BE, FAMILY_16BIT, 2 }, { CS_UTF_16LE, FAMILY_16BIT, 2 },
	{ CS_UTF_32BE, FAMILY_32BIT, 4 }, { CS_UTF_32LE, FAMILY_32BIT, 4 }, { CS_UCS_4_2143, FAMILY_32BIT, 4 },
	{ CS_UCS_4_3412, FAMILY_32BIT, 4 }, { CS_IBM037, FAMILY_EBCDIC, 1 },
};

enum { KINDS = sizeof kinds / sizeof kinds[0], CASES = sizeof cases / sizeof cases[0] };

/* Every case in every family, at an offset, out of memory that ends where the text does. */
static void every_family(void)
{
	struct xmldecl d;
	uint8_t *bytes;
	size_t k, i, len, shift = 4;

	for (k = 0; k < KINDS; k++) {
		for (i = 0; i < CASES; i++) {
			bytes = wide_text(kinds[k], cases[i].text, shift, &len);
			xmldecl_read(&d, kinds[k], bytes, len, shift, true);
			UNIT_ROW(d.state == cases[i].state && strcmp(d.encoding, cases[i].encoding) == 0 &&
			    strcmp(d.version, cases[i].version) == 0 && d.standalone == cases[i].standalone &&
			    d.start == shift && d.end == shift + cases[i].end * kinds[k].unit,
			    "%s in %s: state %d <%s> <%s> %d, %zu to %zu", cases[i].rule, charset_name(kinds[k].charset), (int)d.state,
			    d.encoding, d.version, d.standalone, d.start, d.end);
			free(bytes);
		}
	}
}

/* Cut anywhere, a declaration is INCOMPLETE until it is PRESENT; a complete one that is cut is none or broken. */
static void every_cut(void)
{
	struct xmldecl d;
	uint8_t *bytes;
	size_t k, i, cut, len, end;

	for (k = 0; k < KINDS; k++) {
		for (i = 0; i < CASES; i++) {
			bytes = wide_text(kinds[k], cases[i].text, 0, &len);
			end = cases[i].end * kinds[k].unit;
			for (cut = 0; cut < end; cut++) {
				xmldecl_read(&d, kinds[k], bytes, cut, 0, false);
				UNIT_ROW(d.state == XMLDECL_INCOMPLETE, "%s cut at %zu", cases[i].rule, cut);
				xmldecl_read(&d, kinds[k], bytes, cut, 0, true);
				UNIT_ROW(d.state == XMLDECL_ABSENT || d.state == XMLDECL_BROKEN, "%s ends at %zu", cases[i].rule, cut);
			}
			free(bytes);
		}
	}
}

/* XMLDECL_MAX_CHARS, and labels longer than any. */
static void limits(void)
{
	char text[XMLDECL_MAX_CHARS + 64];
	struct xmldecl d;

	memset(text, ' ', sizeof text);
	memcpy(text, "<?xml encoding='x'", 18);
	memcpy(text + XMLDECL_MAX_CHARS - 2, "?>", 2);
	xmldecl_read(&d, kinds[0], (const uint8_t *)text, sizeof text, 0, false);
	CU_ASSERT_EQUAL(d.state, XMLDECL_PRESENT);
	CU_ASSERT_EQUAL(d.end, XMLDECL_MAX_CHARS);
	memset(text + XMLDECL_MAX_CHARS - 2, ' ', 2);
	memcpy(text + XMLDECL_MAX_CHARS, "?>", 2);
	xmldecl_read(&d, kinds[0], (const uint8_t *)text, sizeof text, 0, false);
	CU_ASSERT_EQUAL(d.state, XMLDECL_BROKEN);
	memset(text, 'a', 200);
	memcpy(text, "<?xml encoding='", 16);
	memcpy(text + 200, "'?>", 3);
	xmldecl_read(&d, kinds[0], (const uint8_t *)text, 203, 0, false);
	CU_ASSERT_EQUAL(strlen(d.encoding), XMLDECL_LABEL_MAX - 1);
	xmldecl_read(&d, kinds[0], (const uint8_t *)"<?xml encoding='\xE9\x01'?>", 21, 0, true);
	CU_ASSERT_STRING_EQUAL(d.encoding, "??");
}

/* EBCDIC's own line end, and labels in it. */
static void ebcdic_lines(void)
{
	static const uint8_t nel[] = { 0x4C, 0x6F, 0xA7, 0x94, 0x93, 0x15, 0x85, 0x95, 0x83, 0x96, 0x84, 0x89, 0x95, 0x87, 0x15, 0x7E,
		0x15, 0x7F, 0xC3, 0xD7, 0xF1, 0xF0, 0xF4, 0xF7, 0x7F, 0x6F, 0x6E };
	struct xmldecl d;

	xmldecl_read(&d, kinds[KINDS - 1], nel, sizeof nel, 0, true);
	CU_ASSERT_EQUAL(d.state, XMLDECL_PRESENT);
	CU_ASSERT_STRING_EQUAL(d.encoding, "CP1047");
}

/* A declaration of one character more than may be, in every family, with what ends it there or not yet there. */
static void one_too_long(void)
{
	char text[XMLDECL_MAX_CHARS + 8];
	struct xmldecl d;
	uint8_t *bytes;
	size_t k, len, more;

	memset(text, ' ', sizeof text);
	memcpy(text, "<?xml version='1.0'", 19);
	memcpy(text + XMLDECL_MAX_CHARS - 1, "?><rss>", 8);
	for (k = 0; k < KINDS; k++) {
		bytes = wide_text(kinds[k], text, 0, &len);
		for (more = XMLDECL_MAX_CHARS; more <= XMLDECL_MAX_CHARS + 4; more++) {
			xmldecl_read(&d, kinds[k], bytes, more * kinds[k].unit, 0, false);
			UNIT_ROW(d.state == XMLDECL_BROKEN, "trust 20: 1,025 characters, of which %zu are there, in %s: %d", more,
			    charset_name(kinds[k].charset), (int)d.state);
		}
		free(bytes);
	}
}

UNIT_SUITE(xmldecl, { "every family", every_family }, { "every cut", every_cut }, { "limits", limits },
    { "EBCDIC lines", ebcdic_lines }, { "trust 20: one too long", one_too_long })
