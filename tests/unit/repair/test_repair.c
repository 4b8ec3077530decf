/* Owns the cases of core/repair/repair.c: every repair, its count, its switch, and that no cut of the input changes anything.
 * Must not know: encodings. Invariant: each row names its rule; rows are fed whole and split in two at every byte. */
#include "core/evidence/xmldecl.h"
#include "tests/unit/repair/rows.h"

#include <stdlib.h>
#include <string.h>

/* These rows show the character that was there. */
#define ALL (REPAIR_ALL | REPAIR_REPLACE_CONTROLS)
#define ANEW "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"

static void prolog(void)
{
	static const struct row rows[] = {
		{ "empty", T(""), T(""), { 0 } },
		{ "nothing to do", T("<rss/>"), T("<rss/>"), { 0 } },
		{ "mark", T(BOM "<rss/>"), T("<rss/>"), COUNT(BOM, 1) },
		{ "nothing but a mark", T(BOM), T(""), COUNT(BOM, 1) },
		{ "the second mark is junk", T(BOM BOM "<?xml version='1.0'?><a/>"), T("<?xml version='1.0'?><a/>"), COUNT(BOM, 1), COUNT(JUNK, 1) },
		{ "utf-8 stays", T("<?xml version='1.0' encoding='utf-8'?><a/>"), T("<?xml version='1.0' encoding='utf-8'?><a/>"), { 0 } },
		{ "Utf-8 stays", T("<?xml version=\"1.0\" encoding=\"Utf-8\" ?><a/>"), T("<?xml version=\"1.0\" encoding=\"Utf-8\" ?><a/>"), { 0 } },
		{ "utf8 is no name of it", T("<?xml version='1.0' encoding='utf8'?><a/>"), T("<?xml version='1.0' encoding=\"UTF-8\"?><a/>"), COUNT(DECLARATION, 1) },
		{ "all else stays", T("<?xml\tversion='1.0'\n encoding = 'koi8-r'  standalone='yes' ?>\r\n<a/>"),
		    T("<?xml\tversion='1.0'\n encoding=\"UTF-8\"  standalone='yes' ?>\r\n<a/>"), COUNT(DECLARATION, 1) },
		{ "none is put in", T("<?xml version='1.0' standalone='no'?><a/>"), T("<?xml version='1.0' standalone='no'?><a/>"), { 0 } },
		{ "empty name", T("<?xml version='1.0' encoding=''?><a/>"), T(ANEW "<a/>"), COUNT(DECLARATION, 1) },
		{ "only the first declaration", T("<?xml version='1.0' encoding='a'?><a><?xml version='1.0' encoding='b'?></a>"),
		    T("<?xml version='1.0' encoding=\"UTF-8\"?><a>&lt;?xml version='1.0' encoding='b'?></a>"), COUNT(DECLARATION, 1), COUNT(AMPERSANDS, 1) },
		{ "space before it", T("\r\n\t <?xml version='1.0'?><a/>"), T("<?xml version='1.0'?><a/>"), COUNT(JUNK, 1) },
		{ "mark, space, name", T(BOM "\n<?xml version='1.0' encoding='windows-1251'?><a/>"), T("<?xml version='1.0' encoding=\"UTF-8\"?><a/>"),
		    COUNT(BOM, 1), COUNT(JUNK, 1), COUNT(DECLARATION, 1) },
		{ "junk before it", T("Notice: x<br />\n<?xml version='1.0'?><rss/>"), T("<?xml version='1.0'?><rss/>"), COUNT(JUNK, 1) },
		{ "trust 09: with no feed behind it is none", T("Notice: x<br />\n<?xml version='1.0'?><a/>"), T("Notice: x<br />\n<?xml version='1.0'?><a/>"), { 0 } },
		{ "a message of any length", T("<br />\n<b>Warning</b>:  fopen(): no such file or directory, nor any other of that name in <b>/srv/www/feed.php</b> on line "
		    "<b>12</b><br />\n<?xml version='1.0'?><rss/>"), T("<?xml version='1.0'?><rss/>"), COUNT(JUNK, 1) },
		{ "a mark read in another charset", T("п»ї<?xml version='1.0'?><a/>"), T("<?xml version='1.0'?><a/>"), COUNT(JUNK, 1) },
		{ "a comment before it", T("<!-- <?xml --><?xml version='1.0'?><rss/>"), T("<?xml version='1.0'?><rss/>"), COUNT(JUNK, 1) },
		{ "junk is at most 64 bytes", T("0123456789012345678901234567890123456789012345678901234567890123<?xml version='1.0'?><rss/>"),
		    T("<?xml version='1.0'?><rss/>"), COUNT(JUNK, 1) },
		{ "more is text", T("01234567890123456789012345678901234567890123456789012345678901234<?xml version='1.0'?><rss/>"),
		    T("01234567890123456789012345678901234567890123456789012345678901234<?xml version='1.0'?><rss/>"), { 0 } },
		{ "trust 10: one in a first CDATA section is text", T("<x><![CDATA[<?xml version='1.0' encoding='koi8-r'?><a/>]]></x>"),
		    T("<x><![CDATA[<?xml version='1.0' encoding='koi8-r'?><a/>]]></x>"), { 0 } },
		{ "trust 10: a feed in it too", T("<x><![CDATA[<?xml version='1.0' encoding='koi8-r'?><rss/>]]></x>"),
		    T("<x><![CDATA[<?xml version='1.0' encoding='koi8-r'?><rss/>]]></x>"), { 0 } },
		{ "trust 10: one in an instruction", T("<?a <?xml version='1.0' encoding='koi8-r'?><x/>"), T("<?a <?xml version='1.0' encoding='koi8-r'?><x/>"), { 0 } },
		{ "trust 10: one in a comment", T("<!-- <?xml encoding='koi8-r'?><rss/> --><x/>"), T("<!-- <?xml encoding='koi8-r'?><rss/> --><x/>"), { 0 } },
		{ "trust 10: one in an entity's value", T("<!DOCTYPE x [<!ENTITY a \"<?xml encoding='koi8-r'?><rss/>\">]><x/>"),
		    T("<!DOCTYPE x [<!ENTITY a \"<?xml encoding='koi8-r'?><rss/>\">]><x/>"), { 0 } },
		{ "trust 10: one behind an instruction in a document type", T("<!DOCTYPE x [<?a \"?><!ENTITY b '<?xml encoding=\"c\"?><rss/>'>]><x/>"),
		    T("<!DOCTYPE x [<?a \"?><!ENTITY b '<?xml encoding=\"c\"?><rss/>'>]><x/>"), { 0 } },
		{ "space before a root stays", T(" \n<rss/>"), T(" \n<rss/>"), { 0 } },
		{ "junk before a root goes", T(" x\n<rss/>"), T("<rss/>"), COUNT(JUNK, 1) },
		{ "comments of the document stay", T("x<!-- c --> <rss/>"), T("<!-- c --> <rss/>"), COUNT(JUNK, 1) },
		{ "and its instructions and type", T("x<?a b?><!DOCTYPE rss><rss/>"), T("<?a b?><!DOCTYPE rss><rss/>"), COUNT(JUNK, 1) },
		{ "no feed's root: nothing goes", T("x<a/>"), T("x<a/>"), { 0 } },
		{ "an element is never junk before a root", T("<x><rss/></x>"), T("<x><rss/></x>"), { 0 } },
		{ "a comment alone is none", T("<!-- c --><rss/>"), T("<!-- c --><rss/>"), { 0 } },
		{ "an instruction of a longer name", T("<?xml-stylesheet encoding='a'?><rss/>"), T("<?xml-stylesheet encoding='a'?><rss/>"), { 0 } },
		{ "cut declaration", T("<?xml version='1.0' encoding='koi8-r'"), T("<?xml version='1.0' encoding='koi8-r'"), { 0 } },
		{ "cut word", T("<?xm"), T("<?xm"), { 0 } },
		{ "only space", T(" \n "), T(" \n "), { 0 } },
		{ "only junk", T("junk"), T("junk"), { 0 } },
		{ "a root cut short", T("x<rs"), T("x<rs"), { 0 } },
		{ "an open comment", T("x<!-- "), T("x<!-- "), { 0 } },
		{ "a control in the declaration", T("<?xml version='1.0'\x01 encoding='a'?><a/>"), T(ANEW "<a/>"), COUNT(DECLARATION, 1), COUNT(CHARACTERS, 1) },
	};

	RUN(rows, ALL, 0);
}

/* XML 1.0 [22], [23]: a malformed declaration is written anew, and nothing stands between it and the document. */
static void declarations(void)
{
	static const struct row rows[] = {
		{ "no version", T("<?xml encoding='koi8-r'?><a/>"), T(ANEW "<a/>"), COUNT(DECLARATION, 1) },
		{ "its standalone stays", T("<?xml standalone=\"no\" encoding='koi8-r'?>\n<a/>"), T("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n<a/>"),
		    COUNT(DECLARATION, 1) },
		{ "a name of utf-8 does not make it right", T("<?XML version='1.0' encoding='utf-8'?><a/>"), T(ANEW "<a/>"), COUNT(DECLARATION, 1) },
		{ "the line end behind one that is not closed", T("<?xml version='1.0'\n<a/>"), T(ANEW "\n<a/>"), COUNT(DECLARATION, 1) },
		{ "two of them", T("<?xml version='1.0' encoding='utf-8'?>\n<?xml version='1.0' encoding='a'?>\n<a/>"), T("<?xml version='1.0' encoding='utf-8'?>\n<a/>"),
		    COUNT(DECLARATION, 1) },
		{ "two with names to be changed", T("<?xml version='1.0' encoding='a'?><?xml version='1.0' encoding='utf-8'?><a/>"),
		    T("<?xml version='1.0' encoding=\"UTF-8\"?><a/>"), COUNT(DECLARATION, 2) },
		{ "text behind it", T("<?xml version='1.0'?>;\n<a/>"), T("<?xml version='1.0'?>\n<a/>"), COUNT(JUNK, 1) },
		{ "text before it", T("x <?xml version=1.0?><rss/>"), T(ANEW "<rss/>"), COUNT(DECLARATION, 1), COUNT(JUNK, 1) },
		{ "a mark before it", T(BOM "<? xml version='1.0'?><a/>"), T(ANEW "<a/>"), COUNT(BOM, 1), COUNT(DECLARATION, 1) },
		{ "a control in its name", T("<?x\x01ml version='1.0' encoding='utf-8'?><a/>"), T("<?xml version='1.0' encoding='utf-8'?><a/>"), COUNT(CHARACTERS, 1) },
		{ "XML 1.1 stays", T("<?xml encoding='utf-8' version='1.1'?><a>&#1; & b</a>"), T("<?xml version=\"1.1\" encoding=\"UTF-8\"?><a>&#1; & b</a>"),
		    COUNT(DECLARATION, 1) },
		{ "an instruction is none", T("<?xml-stylesheet a=b?><a/>"), T("<?xml-stylesheet a=b?><a/>"), { 0 } },
		{ "nor what stands in the text", T("<a>&lt;?xml version='1.0'?> <rss/></a>"), T("<a>&lt;?xml version='1.0'?> <rss/></a>"), { 0 } },
	};
	static const struct row off[] = {
		{ "switched off", T("<?xml encoding='koi8-r'?>;<a/>"), T("<?xml encoding='koi8-r'?>;<a/>"), { 0 } },
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(off, REPAIR_ALL & ~(unsigned)(REPAIR_DECLARATION | REPAIR_JUNK), 0);
}

static void us_ascii(void)
{
	static const struct row rows[] = {
		{ "us-ascii stays", T("<?xml version='1.0' encoding='us-ascii'?><a/>"), T("<?xml version='1.0' encoding='us-ascii'?><a/>"), { 0 } },
		{ "in any case", T("<?xml version='1.0' encoding = \"US-ascii\" ?><a/>"), T("<?xml version='1.0' encoding = \"US-ascii\" ?><a/>"), { 0 } },
		{ "its alias is no name of it", T("<?xml version='1.0' encoding='ascii'?><a/>"), T("<?xml version='1.0' encoding=\"US-ASCII\"?><a/>"),
		    COUNT(DECLARATION, 1) },
		{ "utf-8 is another", T("<?xml version='1.0' encoding='utf-8'?><a/>"), T("<?xml version='1.0' encoding=\"US-ASCII\"?><a/>"),
		    COUNT(DECLARATION, 1) },
		{ "none is put in", T("<?xml version='1.0'?><a/>"), T("<?xml version='1.0'?><a/>"), { 0 } },
	};

	encoding = "US-ASCII";
	RUN(rows, ALL, 0);
	encoding = "UTF-8";
}

static void characters(void)
{
	static const struct row rows[] = {
		{ "NUL", T("<a>\0</a>"), T("<a>" FFFD "</a>"), COUNT(CHARACTERS, 1) },
		{ "all of C0", T("\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f"),
		    T(FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "\t\n" FFFD FFFD "\r" FFFD FFFD), COUNT(CHARACTERS, 12) },
		{ "and its other half", T("\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20"),
		    T(FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "\x20"), COUNT(CHARACTERS, 16) },
		{ "DEL and C1 are characters", T("\x7f\xc2\x80\xc2\x85\xc2\x9f"), T("\x7f\xc2\x80\xc2\x85\xc2\x9f"), { 0 } },
		{ "U+FFFE and U+FFFF", T("a\xef\xbf\xbe\xef\xbf\xbf" "b"), T("a" FFFD FFFD "b"), COUNT(CHARACTERS, 2) },
		{ "U+FFFD and U+FFC0 stay", T("a\xef\xbf\xbd\xef\xbf\x80" "b"), T("a\xef\xbf\xbd\xef\xbf\x80" "b"), { 0 } },
		{ "U+1FFFE is a character", T("\xf0\x9f\xbf\xbe"), T("\xf0\x9f\xbf\xbe"), { 0 } },
		{ "in CDATA, comments, instructions", T("<![CDATA[\x01]]><!--\x02--><?a \x03?>"), T("<![CDATA[" FFFD "]]><!--" FFFD "--><?a " FFFD "?>"),
		    COUNT(CHARACTERS, 3) },
		{ "line ends stay", T("a\r\nb\rc\nd"), T("a\r\nb\rc\nd"), { 0 } },
		{ "a long run around one", T("0123456789abcdef0123456789abcdef\x01" "0123456789abcdef0123456789abcdef"),
		    T("0123456789abcdef0123456789abcdef" FFFD "0123456789abcdef0123456789abcdef"), COUNT(CHARACTERS, 1) },
	};

	RUN(rows, ALL, 0);
	RUN(rows, BODY_ONLY, 0);
}

/* `characters = drop`: controls leave no trace; what says that something was there stays. */
static void dropped(void)
{
	static const struct row rows[] = {
		{ "C0", T("<r>a\x01" "b\x1f\0c\x0b\x0c</r>"), T("<r>abc</r>"), COUNT(CHARACTERS, 5) },
		{ "in markup", T("<r\x01 b='\x02'><![CDATA[\x03]]></\x04r>"), T("<r b=''><![CDATA[]]></r>"), COUNT(CHARACTERS, 4) },
		{ "references to them", T("<r b='&#1;'>&#0;&#x1F;&#00000000000000000000008;</r>"), T("<r b=''></r>"), COUNT(REFERENCES, 4) },
		{ "line ends and tabs stay", T("<r>\t\r\n&#9;&#10;&#13;</r>"), T("<r>\t\r\n&#9;&#10;&#13;</r>"), { 0 } },
		{ "noncharacters, surrogates, what is too large", T("<r>\xef\xbf\xbf&#xFFFE;&#xD800;&#x110000;&#4294967297;</r>"), T("<r>" FFFD FFFD FFFD FFFD FFFD "</r>"),
		    COUNT(CHARACTERS, 1), COUNT(REFERENCES, 4) },
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
}

/* Fault 10: what looks like markup in the literals of a document type is none, so that what follows is what it looks like. */
static void document_types(void)
{
	static const struct row rows[] = {
		{ "trust 10: an instruction's start in a value", T("<!DOCTYPE a [<!ENTITY b '<?'><!-- ?> &#1; -->]><a/>"),
		    T("<!DOCTYPE a [<!ENTITY b '<?'><!-- ?> &#1; -->]><a/>"), { 0 } },
		{ "trust 10: a comment's start in a value", T("<!DOCTYPE a [<!ENTITY b \"<!--\">]><a>&#1;<![CDATA[-->&#1;]]></a>"),
		    T("<!DOCTYPE a [<!ENTITY b \"<!--\">]><a>" FFFD "<![CDATA[-->&#1;]]></a>"), COUNT(REFERENCES, 1) },
		{ "trust 10: a section's start in a value", T("<!DOCTYPE a [<!ENTITY b '<![CDATA['>]><a>&#1;</a>"),
		    T("<!DOCTYPE a [<!ENTITY b '<![CDATA['>]><a>" FFFD "</a>"), COUNT(REFERENCES, 1) },
		{ "trust 10: in a system identifier", T("<!DOCTYPE a SYSTEM '<!--'><a>&#1;</a>"), T("<!DOCTYPE a SYSTEM '<!--'><a>" FFFD "</a>"),
		    COUNT(REFERENCES, 1) },
		{ "trust 10: a type's end in a value", T("<!DOCTYPE a [<!ENTITY b ']>'><!ENTITY c '<!--'>]><a>&#1;</a>"),
		    T("<!DOCTYPE a [<!ENTITY b ']>'><!ENTITY c '<!--'>]><a>" FFFD "</a>"), COUNT(REFERENCES, 1) },
		{ "trust 10: quotes in comments and instructions there", T("<!DOCTYPE a [<!-- ' --><?b \" ?><!ENTITY c '<!--'>]><a>&#1;</a>"),
		    T("<!DOCTYPE a [<!-- ' --><?b \" ?><!ENTITY c '<!--'>]><a>" FFFD "</a>"), COUNT(REFERENCES, 1) },
		{ "trust 10: a name of another entity holds no references", T("<!DOCTYPE a SYSTEM '&#1;' [<!ENTITY b SYSTEM '&#1;'><!NOTATION c PUBLIC 'd' \"&#1;\"><!ENTITY e '&#1;'>]>"),
		    T("<!DOCTYPE a SYSTEM '&#1;' [<!ENTITY b SYSTEM '&#1;'><!NOTATION c PUBLIC 'd' \"&#1;\"><!ENTITY e '" FFFD "'>]>"), COUNT(REFERENCES, 1) },
		{ "quotes in quotes", T("<!DOCTYPE a [<!ENTITY b '\"'><!ENTITY c \"'<!--'\">]><a>&#1;</a>"),
		    T("<!DOCTYPE a [<!ENTITY b '\"'><!ENTITY c \"'<!--'\">]><a>" FFFD "</a>"), COUNT(REFERENCES, 1) },
		{ "a quote that does not end costs no comment behind it", T("<!DOCTYPE a \"b><a c=\"d\"><e/><!-- &#1; --></a>"),
		    T("<!DOCTYPE a \"b><a c=\"d\"><e/><!-- &#1; --></a>"), { 0 } },
	};

	RUN(rows, ALL, 0);
	RUN(rows, BODY_ONLY, 0);
}

/* Fault 20: a declaration that ends one character too late is none, wherever the text is cut. */
static void long_declarations(void)
{
	static char in[XMLDECL_MAX_CHARS + 16];
	struct row row = { "trust 20: a declaration of 1,025 characters", { in, 0 }, { in, 0 }, { 0 } };

	memset(in, ' ', sizeof(in));
	memcpy(in, "<?xml encoding='koi8-r'", 23);
	memcpy(in + XMLDECL_MAX_CHARS - 1, "?><a/>", 6);
	row.in.len = row.out.len = XMLDECL_MAX_CHARS + 5;
	run_rows(&row, 1, ALL, 0);
}

/* Fault 10: XML 1.1 lets references stand for controls, U+0000 not among them; what may not stand in it by itself goes. */
static void xml_1_1(void)
{
	static const struct row rows[] = {
		{ "trust 10: references to controls", T("<?xml version='1.1'?><a b='&#1;'>&#x8;&#31;&#x1F;&#127;&#x85;&#x2028;</a>"),
		    T("<?xml version='1.1'?><a b='&#1;'>&#x8;&#31;&#x1F;&#127;&#x85;&#x2028;</a>"), { 0 } },
		{ "trust 10: its line ends", T("<?xml version='1.1'?>\xc2\x85<a>\xe2\x80\xa8\r\xc2\x85</a>"), T("<?xml version='1.1'?>\xc2\x85<a>\xe2\x80\xa8\r\xc2\x85</a>"), { 0 } },
		{ "what it forbids too", T("<?xml version='1.1'?><a>&#0;&#xFFFE;&#xD800;\x01</a>"), T("<?xml version='1.1'?><a>" FFFD FFFD FFFD FFFD "</a>"),
		    COUNT(REFERENCES, 3), COUNT(CHARACTERS, 1) },
	};

	RUN(rows, ALL | REPAIR_XML_1_1, 0);
	RUN(rows, BODY_ONLY | REPAIR_XML_1_1, 0);
}

static void references(void)
{
	static const struct row rows[] = {
		{ "decimal", T("<a>&#0;&#8;&#11;&#31;</a>"), T("<a>" FFFD FFFD FFFD FFFD "</a>"), COUNT(REFERENCES, 4) },
		{ "hexadecimal", T("<a>&#x0;&#x1F;&#x1f;&#xFFFE;&#xFFFF;</a>"), T("<a>" FFFD FFFD FFFD FFFD FFFD "</a>"), COUNT(REFERENCES, 5) },
		{ "surrogates", T("<r>&#xdfff;&#xD800;&#55296;</r>"), T("<r>" FFFD FFFD FFFD "</r>"), COUNT(REFERENCES, 3) },
		{ "the neighbours of surrogates", T("&#xD7FF;&#xE000;"), T("&#xD7FF;&#xE000;"), { 0 } },
		{ "above U+10FFFF", T("<r>&#x110000;&#1114112;</r>"), T("<r>" FFFD FFFD "</r>"), COUNT(REFERENCES, 2) },
		{ "U+10FFFF", T("&#x10FFFF;&#1114111;"), T("&#x10FFFF;&#1114111;"), { 0 } },
		{ "overflow", T("<r>&#4294967305;&#x100000009;&#99999999999999999999999999999999999;</r>"), T("<r>" FFFD FFFD FFFD "</r>"), COUNT(REFERENCES, 3) },
		{ "eight digits", T("<r>&#99999999;</r>"), T("<r>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "tab, line feed, return", T("&#9;&#xA;&#xd;"), T("&#9;&#xA;&#xd;"), { 0 } },
		{ "C1", T("&#128;&#x99;"), T("&#128;&#x99;"), { 0 } },
		{ "leading zeros, allowed", T("&#x00000000000000000000000000000000000000000041;"), T("&#x00000000000000000000000000000000000000000041;"), { 0 } },
		{ "leading zeros, forbidden", T("<r>&#00000000000000000000000000000000000000000001;</r>"), T("<r>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "nothing but zeros", T("<r>&#x0000000;</r>"), T("<r>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "attribute values", T("<a b=\"&#0;\" c='&#x1;'/>"), T("<a b=\"" FFFD "\" c='" FFFD "'/>"), COUNT(REFERENCES, 2) },
		{ "entity values", T("<!DOCTYPE a [<!ENTITY b '&#0;'>]>"), T("<!DOCTYPE a [<!ENTITY b '" FFFD "'>]>"), COUNT(REFERENCES, 1) },
		{ "not in CDATA", T("<r><![CDATA[&#0;]]>&#0;</r>"), T("<r><![CDATA[&#0;]]>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "not in comments", T("<!-- &#0; --><r>&#0;</r>"), T("<!-- &#0; --><r>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "not in instructions", T("<?a &#0; ?><r>&#0;</r>"), T("<?a &#0; ?><r>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "brackets before the end of CDATA", T("<r><![CDATA[]]]]]>&#0;</r>"), T("<r><![CDATA[]]]]]>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "a comment does not end where it starts", T("<!-->&#0;--><r>&#0;</r>"), T("<!-->&#0;--><r>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "nor an instruction", T("<?>&#0;?><r>&#0;</r>"), T("<?>&#0;?><r>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "marks before the end of an instruction", T("<?a ??\?><r>&#0;</r>"), T("<?a ??\?><r>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "text before the root: no reference", T("&#0;<![cdata[&#0;]]><!-&#0;"), T("&#0;<![cdata[&#0;]]><!-&#0;"), { 0 } },
		{ "no semicolon: no reference", T("&#0 &#x1"), T("&#0 &#x1"), { 0 } },
		{ "no digits: no reference", T("&#;&#x;&#"), T("&#;&#x;&#"), { 0 } },
		{ "X is no x", T("&#X0;"), T("&#X0;"), { 0 } },
		{ "one x", T("&#xx0;"), T("&#xx0;"), { 0 } },
		{ "x after zeros is none", T("&#0x0;"), T("&#0x0;"), { 0 } },
		{ "other digits end it", T("&#1a;&#x1g;"), T("&#1a;&#x1g;"), { 0 } },
		{ "allowed ones in a row", T("&#8217;&#8217;&#8220;x&#233;"), T("&#8217;&#8217;&#8220;x&#233;"), { 0 } },
		{ "cut openings", T("a<![CDATA"), T("a<![CDATA"), { 0 } },
	};

	static const struct row hyphens = { "hyphens before the end of a comment", T("<!---------><r>&#0;</r>"), T("<!---------><r>" FFFD "</r>"), COUNT(REFERENCES, 1) };

	RUN(rows, ALL, 0);
	RUN(rows, BODY_ONLY, 0);
	run_rows(&hyphens, 1, BODY_ONLY, 0);
}

static void line_ends(void)
{
	static const struct row rows[] = {
		{ "next line", T("a\xc2\x85" "b\xc2\x85"), T("a\nb\n"), COUNT(LINE_ENDS, 2) },
		{ "other characters of the same lead", T("\xc2\xa0\xc2\x86\xc2\x85\xc2\xa0"), T("\xc2\xa0\xc2\x86\n\xc2\xa0"), COUNT(LINE_ENDS, 1) },
		{ "after a declaration", T("<?xml version='1.0' encoding='ibm037'?>\xc2\x85<a/>"), T("<?xml version='1.0' encoding=\"UTF-8\"?>\n<a/>"),
		    COUNT(LINE_ENDS, 1), COUNT(DECLARATION, 1) },
		{ "inside a declaration", T("<?xml version='1.0'\xc2\x85" "encoding='ibm037'?><a/>"), T("<?xml version='1.0'\nencoding=\"UTF-8\"?><a/>"),
		    COUNT(LINE_ENDS, 1), COUNT(DECLARATION, 1) },
	};
	static const struct row others[] = { { "elsewhere U+0085 is a character", T("a\xc2\x85"), T("a\xc2\x85"), { 0 } } };

	RUN(rows, ALL, 1);
	RUN(others, ALL, 0);
	RUN(others, ALL & ~REPAIR_LINE_ENDS, 1);
}

/* Text that ends within a character leaves as it came: nothing carried is forgotten. */
static void cut_text(void)
{
	static const struct { const char *rule; struct text in; } cases[] = {
		{ "half a mark", T("\xef\xbb") }, { "half a next line", T("<a>\xc2") }, { "half a U+FFFF", T("<a>\xef\xbf") },
	};
	char buf[64];
	struct gathered g = { buf, 0, sizeof(buf) };
	uint64_t counts[REPAIR_COUNT];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		repair_all(&g, ALL & ~REPAIR_END, 1, cases[i].in, 0, 1, counts);
		UNIT_ROW(g.len == cases[i].in.len && memcmp(buf, cases[i].in.bytes, g.len) == 0, "%s", cases[i].rule);
	}
}

/* Every repair alone leaves everything else as it came. */
static void switches(void)
{
	static const char in[] = BOM "\n<?xml version='1.0' encoding='a'?><a>\xc2\x85\x01&#1;</a>";
	static const struct {
		unsigned flags;
		struct row row;
	} cases[] = {
		{ 0, { "none", T(in), T(in), { 0 } } },
		{ REPAIR_BOM, { "bom", T(in), T("\n<?xml version='1.0' encoding='a'?><a>\xc2\x85\x01&#1;</a>"), COUNT(BOM, 1) } },
		{ REPAIR_JUNK, { "junk", T(in), T(BOM "<?xml version='1.0' encoding='a'?><a>\xc2\x85\x01&#1;</a>"), COUNT(JUNK, 1) } },
		{ REPAIR_DECLARATION, { "declaration", T(in), T(BOM "\n<?xml version='1.0' encoding=\"UTF-8\"?><a>\xc2\x85\x01&#1;</a>"), COUNT(DECLARATION, 1) } },
		{ REPAIR_CHARACTERS, { "characters", T(in), T(BOM "\n<?xml version='1.0' encoding='a'?><a>\xc2\x85&#1;</a>"), COUNT(CHARACTERS, 1) } },
		{ REPAIR_REFERENCES, { "references", T(in), T(BOM "\n<?xml version='1.0' encoding='a'?><a>\xc2\x85\x01</a>"), COUNT(REFERENCES, 1) } },
		{ REPAIR_LINE_ENDS, { "line ends", T(in), T(BOM "\n<?xml version='1.0' encoding='a'?><a>\n\x01&#1;</a>"), COUNT(LINE_ENDS, 1) } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_rows(&cases[i].row, 1, cases[i].flags, 1);
}

/* White space ahead of the declaration beyond the first look, and beyond the last. */
static void far_declarations(void)
{
	static const struct { const char *rule; size_t space; bool found; } cases[] = {
		{ "past the first look", 300, true }, { "past several", 5000, true }, { "at the last", 65536 - 38, true },
		{ "past the last", 65536, false },
	};
	static const size_t steps[] = { 1, 7, 4096, 100000 };
	static const char declaration[] = "<?xml version='1.0' encoding='koi8-r'?>";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = cases[i].space + sizeof(declaration) - 2;
		char *in = malloc(len), *out = malloc(len + 64);
		struct gathered g = { out, 0, len + 64 };
		uint64_t counts[REPAIR_COUNT];

		memset(in, ' ', cases[i].space);
		memcpy(in + cases[i].space - 1, declaration, sizeof(declaration) - 1);
		for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++) {
			repair_all(&g, ALL, 0, (struct text){ in, len }, 0, steps[j], counts);
			UNIT_ROW(counts[REPAIRED_DECLARATION] == cases[i].found, "%s, in steps of %zu", cases[i].rule, steps[j]);
			UNIT_ROW(counts[REPAIRED_JUNK] == cases[i].found, "%s, in steps of %zu", cases[i].rule, steps[j]);
			UNIT_ROW(cases[i].found || (g.len == len && memcmp(in, out, len) == 0), "%s, in steps of %zu", cases[i].rule, steps[j]);
		}
		free(in);
		free(out);
	}
}

/* What the sink answers stops the producer, wherever it comes. */
static void sink_errors(void)
{
	static const char in[] = BOM "\n<?xml version='1.0' encoding='a'?>\x01&#1;&#65;<![CDATA[x]]>\xc2\x85y";
	char buf[128];

	for (size_t cap = 0; cap < sizeof(in) - 12; cap++) {
		struct gathered g = { buf, 0, cap };
		struct repair *r = repair_new(ALL, 1, "UTF-8", (struct sink){ gather, &g }, NULL);
		int rc = 0;

		for (size_t at = 0; at < sizeof(in) - 1 && rc == 0; at++)
			rc = repair_feed(r, (const uint8_t *)in + at, 1);
		if (rc == 0)
			rc = repair_finish(r);
		UNIT_ROW(rc == 7, "room for %zu bytes", cap);
		repair_free(&r);
	}
}

static void names(void)
{
	CU_ASSERT_STRING_EQUAL(repair_name(REPAIRED_BOM), "bom");
	CU_ASSERT_STRING_EQUAL(repair_name(REPAIRED_LINE_ENDS), "line-ends");
}

UNIT_SUITE(repair, { "prolog", prolog }, { "declarations", declarations }, { "us-ascii", us_ascii }, { "characters", characters }, { "dropped", dropped }, { "references", references }, { "trust 10: document types", document_types }, { "trust 10: XML 1.1", xml_1_1 }, { "trust 20: long declarations", long_declarations }, { "line ends", line_ends },
    { "cut text", cut_text }, { "switches", switches }, { "far declarations", far_declarations }, { "sink errors", sink_errors }, { "names", names })
