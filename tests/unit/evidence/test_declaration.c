/* What was meant as a declaration: XML 1.0 [22]-[26], [32], [80], and each kind of mistake that parsers refuse. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/declaration.h"
#include "tests/unit/wide.h"

/* Where it is malformed, `end` is behind the first, `goes` behind what goes. */
static const struct {
	const char *rule, *text;
	bool right;
	const char *encoding, *version;
	int standalone;
	size_t end, goes;           /* characters; goes 0: as end */
} cases[] = {
	{ "[23]: version alone", "<?xml version=\"1.0\"?><r/>", true, "", "1.0", -1, 21, 0 },
	{ "[23]: all of it", "<?xml version='1.0' encoding='koi8-r' standalone='no' ?><r/>", true, "koi8-r", "1.0", 0, 56, 0 },
	{ "[25]: white space", "<?xml\tversion = \"1.1\"\r\n encoding\n=\n'koi8-r'?><r/>", true, "koi8-r", "1.1", -1, 45, 0 },
	{ "[26]: versions to come", "<?xml version='1.10'?><r/>", true, "", "1.10", -1, 22, 0 },
	{ "no version", "<?xml encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 25, 0 },
	{ "nothing at all", "<?xml?><r/>", false, "", "1.0", -1, 7, 0 },
	{ "encoding first", "<?xml encoding='koi8-r' version='1.0'?><r/>", false, "koi8-r", "1.0", -1, 39, 0 },
	{ "standalone first", "<?xml version='1.0' standalone='yes' encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", 1, 56, 0 },
	{ "version 1.1, out of order", "<?xml encoding='koi8-r' version='1.1'?><r/>", false, "koi8-r", "1.1", -1, 39, 0 },
	{ "another version", "<?xml version='2.0' encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 39, 0 },
	{ "half a version", "<?xml version='1' encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 37, 0 },
	{ "an empty version", "<?xml version='' encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 36, 0 },
	{ "twice the same", "<?xml version='1.0' version='1.0' encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 53, 0 },
	{ "an unknown attribute", "<?xml version='1.0' encoding='koi8-r' a='b'?><r/>", false, "koi8-r", "1.0", -1, 45, 0 },
	{ "no quotes", "<?xml version=1.0 encoding=koi8-r?><r/>", false, "koi8-r", "1.0", -1, 35, 0 },
	{ "quotes of two kinds", "<?xml version=\"1.0' encoding=\"koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 39, 0 },
	{ "a quote that is not closed", "<?xml version='1.0' encoding='koi8-r?><r/>", false, "koi8-r", "1.0", -1, 38, 0 },
	{ "quotes of typographers", "<?xml version=\xe2\x80\x9c" "1.0\xe2\x80\x9d encoding=\xe2\x80\x9ckoi8-r\xe2\x80\x9d?><r/>", false, "koi8-r", "1.0", -1, 0, 0 },
	{ "quotes as references", "<?xml version=&quot;1.0&quot; encoding=&#34;koi8-r&#34;?><r/>", false, "koi8-r", "1.0", -1, 57, 0 },
	{ "quotes behind backslashes", "<?xml version=\\\"1.0\\\" encoding=\\\"koi8-r\\\"?><r/>", false, "koi8-r", "1.0", -1, 43, 0 },
	{ "no blank between", "<?xml version='1.0'encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 38, 0 },
	{ "no blank before", "<?xmlversion='1.0' encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 38, 0 },
	{ "no blank that is one", "<?xml&nbsp;version='1.0'&nbsp;encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 49, 0 },
	{ "no equals sign", "<?xml version '1.0' encoding: 'koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 40, 0 },
	{ "commas", "<?xml version='1.0', encoding='koi8-r';?><r/>", false, "koi8-r", "1.0", -1, 41, 0 },
	{ "capitals", "<?XML VERSION='1.0' ENCODING='KOI8-R' STANDALONE='YES'?><r/>", false, "KOI8-R", "1.0", 1, 56, 0 },
	{ "another name", "<?xml version='1.0' charset='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 38, 0 },
	{ "a misspelled name", "<?xml verison='1.0' enconding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 40, 0 },
	{ "blanks behind the name", "<?xml version='1.0' encoding=' koi8-r '?><r/>", false, "koi8-r", "1.0", -1, 41, 0 },
	{ "blanks in it", "<?xml version='1.0' encoding='koi8 - r'?><r/>", false, "koi8-r", "1.0", -1, 41, 0 },
	{ "signs behind it", "<?xml encoding='koi8-r.-'?><r/>", false, "koi8-r", "1.0", -1, 27, 0 },
	{ "a name that nobody knows", "<?xml version='1.0' encoding='x bogus'?><r/>", false, "x", "1.0", -1, 40, 0 },
	{ "standalone, another word", "<?xml version='1.0' encoding='koi8-r' standalone='true'?><r/>", false, "koi8-r", "1.0", -1, 57, 0 },
	{ "a blank before the name", "<? xml version='1.0' encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 40, 0 },
	{ "a blank in its end", "<?xml version='1.0' encoding='koi8-r'? ><r/>", false, "koi8-r", "1.0", -1, 40, 0 },
	{ "an element's end", "<?xml version='1.0' encoding='koi8-r'/><r/>", false, "koi8-r", "1.0", -1, 39, 0 },
	{ "a tag's end", "<?xml version='1.0' encoding='koi8-r'><r/>", false, "koi8-r", "1.0", -1, 38, 0 },
	{ "half its end", "<?xml version='1.0' encoding='koi8-r'?\n<r/>", false, "koi8-r", "1.0", -1, 38, 0 },
	{ "no end", "<?xml version='1.0' encoding='koi8-r'\n<r/>", false, "koi8-r", "1.0", -1, 37, 0 },
	{ "an end inside", "<?xml version='1.0' encoding='koi8-r'> ?>\n<r/>", false, "koi8-r", "1.0", -1, 38, 41 },
	{ "an element's beginning", "<xml version='1.0' encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 38, 0 },
	{ "that of a document type", "<!xml version='1.0' encoding='koi8-r'><r/>", false, "koi8-r", "1.0", -1, 38, 0 },
	{ "another mark", "<%xml version='1.0' encoding='koi8-r'%><r/>", false, "koi8-r", "1.0", -1, 39, 0 },
	{ "its beginning twice", "<?<?xml version='1.0' encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 41, 0 },
	{ "no beginning", "?xml version='1.0' encoding='koi8-r'?><r/>", false, "koi8-r", "1.0", -1, 38, 0 },
	{ "escaped", "&lt;?xml version='1.0' encoding='koi8-r'?&gt;<r/>", false, "koi8-r", "1.0", -1, 45, 0 },
	{ "a character behind it", "<?xml version='1.0' encoding='koi8-r'?>;\n<r/>", true, "koi8-r", "1.0", -1, 39, 40 },
	{ "text behind it", "<?xml version='1.0' encoding='koi8-r'?>\nHello, &<\n<r/>", true, "koi8-r", "1.0", -1, 39, 49 },
	{ "a message behind it", "<?xml version='1.0'?>\nWarning: a in b.php on line 3\n<r/>", true, "", "1.0", -1, 21, 52 },
	{ "two of them", "<?xml version='1.0' encoding='koi8-r'?>\n<?xml version='1.0' encoding='utf-8'?>\n<r/>", true, "koi8-r", "1.0", -1, 39, 78 },
	{ "the second has the name", "<?xml version='1.0'?><?xml version='1.0' encoding='koi8-r'?><r/>", true, "koi8-r", "1.0", -1, 21, 60 },
	{ "the second has a known name", "<?xml version='1.0' encoding='bogus'?><?xml encoding=koi8-r?><r/>", true, "koi8-r", "1.0", -1, 38, 61 },
	{ "text that goes on", "<?xml version='1.0'?>text", true, "", "1.0", -1, 21, 0 },
	{ "[2] of XML 1.1: its line ends", "<?xml version='1.1'?>\xc2\x85<r/>", true, "", "1.1", -1, 21, 0 },
};

static const struct bom_family kinds[] = {
	{ CS_UTF_8, FAMILY_ASCII, 1 }, { CS_UTF_16LE, FAMILY_16BIT, 2 }, { CS_UTF_32BE, FAMILY_32BIT, 4 },
};

enum { KINDS = sizeof kinds / sizeof kinds[0], CASES = sizeof cases / sizeof cases[0] };

static void declaration_of(struct declaration *d, struct bom_family kind, const uint8_t *bytes, size_t len, size_t at, bool complete)
{
	const struct scan s = { kind, bytes, len, at };

	declaration_read(d, &s, complete);
}

static size_t behind(size_t i, size_t at)
{
	return at ? at : strlen(cases[i].text) - strlen("<r/>");
}

static void every_family(void)
{
	struct declaration d;
	size_t k, i, len, shift = 4;
	uint8_t *bytes;

	for (k = 0; k < KINDS; k++) {
		for (i = 0; i < CASES; i++) {
			size_t end = behind(i, cases[i].end), goes = cases[i].goes ? cases[i].goes : end;

			bytes = wide_text(kinds[k], cases[i].text, shift, &len);
			declaration_of(&d, kinds[k], bytes, len, shift, true);
			UNIT_ROW(d.said.state == XMLDECL_PRESENT && d.right == cases[i].right && strcmp(d.said.encoding, cases[i].encoding) == 0 &&
			    strcmp(d.said.version, cases[i].version) == 0 && d.said.standalone == cases[i].standalone,
			    "%s in %s: state %d, right %d, <%s> <%s> %d", cases[i].rule, charset_name(kinds[k].charset), (int)d.said.state, d.right,
			    d.said.encoding, d.said.version, d.said.standalone);
			UNIT_ROW(d.said.start == shift && d.end == shift + end * kinds[k].unit && d.said.end == shift + goes * kinds[k].unit,
			    "%s in %s: to %zu and %zu", cases[i].rule, charset_name(kinds[k].charset), d.end, d.said.end);
			free(bytes);
		}
	}
}

/* Cut anywhere it is incomplete, or what it is as a whole. */
static void every_cut(void)
{
	struct declaration whole, part;

	for (size_t i = 0; i < CASES; i++) {
		const uint8_t *bytes = (const uint8_t *)cases[i].text;
		size_t len = strlen(cases[i].text);

		declaration_of(&whole, kinds[0], bytes, len, 0, true);
		for (size_t cut = 0; cut < len; cut++) {
			declaration_of(&part, kinds[0], bytes, cut, 0, false);
			UNIT_ROW(part.said.state == XMLDECL_INCOMPLETE || memcmp(&part, &whole, sizeof part) == 0, "%s cut at %zu", cases[i].rule, cut);
		}
	}
}

/* What starts like one and is none, or has no end. */
static void none(void)
{
	static const struct {
		const char *rule, *text;
		enum xmldecl_state state;
	} rows[] = {
		{ "[17]: a longer name", "<?xml-stylesheet href='a'?><r/>", XMLDECL_ABSENT }, { "[17]: one with its word", "<?xmlversion a?><r/>", XMLDECL_ABSENT },
		{ "[17]: beyond ASCII", "<?xml\xc3\xa9 version='1.0'?><r/>", XMLDECL_ABSENT }, { "an element of that name", "<xml version='1.0'><r/></xml>", XMLDECL_BROKEN },
		{ "that says something else", "<xml a='1.0'?><r/>", XMLDECL_ABSENT }, { "a word", "xml is dull", XMLDECL_ABSENT }, { "a root", "<r/>", XMLDECL_ABSENT },
		{ "no end and nothing behind it", "<?xml version='1.0'", XMLDECL_BROKEN }, { "its beginning", "<?xm", XMLDECL_ABSENT }, { "nothing", "", XMLDECL_ABSENT },
	};
	struct declaration d;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		declaration_of(&d, kinds[0], (const uint8_t *)rows[i].text, strlen(rows[i].text), 0, true);
		UNIT_ROW(d.said.state == rows[i].state && d.said.end == 0, "%s: %d", rows[i].rule, (int)d.said.state);
	}
}

/* XMLDECL_MAX_CHARS, and more text behind one than may be junk. */
static void limits(void)
{
	static const char start[] = "<?xml version='1.0'?>";
	char text[XMLDECL_MAX_CHARS + 64];
	struct declaration d;

	memset(text, ' ', sizeof text);
	memcpy(text, "<? xml", 6);
	text[XMLDECL_MAX_CHARS - 1] = '>';
	declaration_of(&d, kinds[0], (const uint8_t *)text, sizeof text, 0, true);
	CU_ASSERT_TRUE(d.said.state == XMLDECL_PRESENT && d.end == XMLDECL_MAX_CHARS);
	memcpy(text + XMLDECL_MAX_CHARS - 1, " >", 2);
	declaration_of(&d, kinds[0], (const uint8_t *)text, sizeof text, 0, true);
	CU_ASSERT_EQUAL(d.said.state, XMLDECL_BROKEN);
	memset(text, 'x', sizeof text);
	memcpy(text, start, strlen(start));
	memcpy(text + strlen(start) + 64, "<r/>", 4);
	declaration_of(&d, kinds[0], (const uint8_t *)text, sizeof text, 0, true);
	CU_ASSERT_EQUAL(d.said.end, strlen(start) + 64);
	memcpy(text + strlen(start) + 64, "x<r/>", 5);
	declaration_of(&d, kinds[0], (const uint8_t *)text, sizeof text, 0, true);
	CU_ASSERT_EQUAL(d.said.end, strlen(start));
}

/* The second byte of a quote in Shift_JIS is a letter. The name of a second charset is kept. */
static void names(void)
{
	static const char sjis[] = "<?xml version=\x81g1.0\x81h encoding=\x81gshift_jis\x81h?><r/>", two[] = "<?xml encoding='utf-8'?><?xml encoding='koi8-r'?><r/>",
	    same[] = "<?xml encoding='utf-8'?><?xml encoding='utf8'?><r/>";
	struct declaration d;

	declaration_of(&d, kinds[0], (const uint8_t *)sjis, strlen(sjis), 0, true);
	CU_ASSERT_STRING_EQUAL(d.said.encoding, "shift_jis");
	declaration_of(&d, kinds[0], (const uint8_t *)two, strlen(two), 0, true);
	CU_ASSERT_STRING_EQUAL(d.said.encoding, "utf-8");
	CU_ASSERT_STRING_EQUAL(d.other, "koi8-r");
	CU_ASSERT_TRUE(d.again);
	declaration_of(&d, kinds[0], (const uint8_t *)same, strlen(same), 0, true);
	CU_ASSERT_STRING_EQUAL(d.other, "");
}

UNIT_SUITE(declaration, { "every family", every_family }, { "every cut", every_cut }, { "none", none }, { "limits", limits }, { "names", names })
