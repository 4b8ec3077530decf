/* Owns the cases of references: names that HTML has and XML has not, ampersands that begin none, what a document type declares.
 * Must not know: tags, elements. Invariant: each row names its rule; rows are fed whole and split in two at every byte. */
#include "core/repair/repair_entities.h"
#include "tests/unit/repair/rows.h"

#define LONG64 "a23456789b123456789c123456789d123456789e123456789f123456789g1234"
#define SAME(rule, text) { rule, T(text), T(text), { 0 } }

static void entities(void)
{
	static const struct row rows[] = {
		{ "HTML 4.01 24.2: Latin 1", T("<r>caf&eacute;&nbsp;&yuml;</r>"), T("<r>caf&#233;&#160;&#255;</r>"), COUNT(ENTITIES, 3) },
		{ "HTML 4.01 24.3: symbols", T("<r>&Alpha;&thetasym;&alefsym;</r>"), T("<r>&#913;&#977;&#8501;</r>"), COUNT(ENTITIES, 3) },
		{ "HTML 4.01 24.4: special", T("<r>&mdash;&euro;&zwj;&OElig;</r>"), T("<r>&#8212;&#8364;&#8205;&#338;</r>"), COUNT(ENTITIES, 4) },
		{ "HTML 13.5: what came later, and two characters of one name", T("<r>&check;&NewLine;&hellip;&NotEqualTilde;&lang;</r>"),
		    T("<r>&#10003;&#10;&#8230;&#8770;&#824;&#10216;</r>"), COUNT(ENTITIES, 5) },
		{ "XML's own in capitals", T("<r a='&LT;'>&AMP;&GT;&QUOT;</r>"), T("<r a='&#60;'>&#38;&#62;&#34;</r>"), COUNT(ENTITIES, 4) },
		SAME("XML's own stay", "<r>&amp;&lt;&gt;&quot;&apos;</r>"),
		{ "in a value", T("<r b='&uuml;' c=\"&amp;&szlig;\"/>"), T("<r b='&#252;' c=\"&amp;&#223;\"/>"), COUNT(ENTITIES, 2) },
		SAME("not in CDATA, comments, instructions", "<r><![CDATA[&nbsp;]]><!-- &nbsp; --><?b &nbsp; ?></r>"),
		{ "names are told by case", T("<r>&Eacute;&EACUTE;</r>"), T("<r>&#201;&amp;EACUTE;</r>"), COUNT(ENTITIES, 1), COUNT(AMPERSANDS, 1) },
		{ "a name needs its semicolon", T("<r>?x=1&copy=2&nbsp</r>"), T("<r>?x=1&amp;copy=2&amp;nbsp</r>"), COUNT(AMPERSANDS, 2) },
		{ "behind the root they are no content", T("<r>&nbsp;</r> &nbsp;"), T("<r>&#160;</r> "), COUNT(ENTITIES, 1), COUNT(TRAILING, 1) },
	};
	static const struct row alone[] = {
		SAME("so do numbers that are too large", "<r>&#12345678901234567890;&#x123456789a</r>"),
		{ "entities alone leave the rest", T("<r>&nbsp;&x; & &#;</r>"), T("<r>&#160;&x; & &#;</r>"), COUNT(ENTITIES, 1) },
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
	RUN(alone, REPAIR_ENTITIES, 0);
}

/* XML 1.0 4.1, WFC Entity Declared: a name is an error only where all declarations are there to be read. */
static void declared(void)
{
	static const struct row rows[] = {
		{ "a type that declares nothing", T("<!DOCTYPE r><r>&nbsp;</r>"), T("<!DOCTYPE r><r>&#160;</r>"), COUNT(ENTITIES, 1) },
		SAME("declared in the internal subset", "<!DOCTYPE r [<!ENTITY nbsp '&#160;'>]><r>&nbsp;</r>"),
		SAME("a name that HTML has not", "<!DOCTYPE r [ <!ENTITY\n me \"I\" > ]><r b='&me;'>&me;</r>"),
		SAME("declared as another resource", "<!DOCTYPE r [<!ENTITY pi SYSTEM 'pi.xml'>]><r>&pi;</r>"),
		{ "others are not", T("<!DOCTYPE r [<!ENTITY me 'I'><!ENTITY you 'U'>]><r>&you;&me;&eacute;&m;&mee;</r>"),
		    T("<!DOCTYPE r [<!ENTITY me 'I'><!ENTITY you 'U'>]><r>&you;&me;&#233;&amp;m;&amp;mee;</r>"), COUNT(ENTITIES, 1), COUNT(AMPERSANDS, 2) },
		{ "a comment declares nothing", T("<!DOCTYPE r [<!-- <!ENTITY pi '3'> -->]><r>&pi;</r>"), T("<!DOCTYPE r [<!-- <!ENTITY pi '3'> -->]><r>&#960;</r>"),
		    COUNT(ENTITIES, 1) },
		{ "nor does an instruction or a value", T("<!DOCTYPE r [<?b <!ENTITY pi '3'>?><!ENTITY c '<!ENTITY pi 3>'>]><r>&pi;</r>"),
		    T("<!DOCTYPE r [<?b <!ENTITY pi '3'>?><!ENTITY c '<!ENTITY pi 3>'>]><r>&#960;</r>"), COUNT(ENTITIES, 1) },
		{ "a parameter entity declares no name of text", T("<!DOCTYPE r [<!ENTITY % pi '3'>]><r>&pi;</r>"), T("<!DOCTYPE r [<!ENTITY % pi '3'>]><r>&#960;</r>"),
		    COUNT(ENTITIES, 1) },
		SAME("an external subset may declare all", "<!DOCTYPE rss SYSTEM 'rss-0.91.dtd'><rss a='&eacute;'>&nbsp;&any;</rss>"),
		SAME("a public one as well", "<!DOCTYPE rss PUBLIC '-//N//DTD RSS 0.91//EN' \"u\"><rss>&nbsp;</rss>"),
		SAME("so may a parameter entity that is used", "<!DOCTYPE r [<!ENTITY % p SYSTEM 'p'> %p;]><r>&nbsp;</r>"),
		{ "but an ampersand alone is none for any", T("<!DOCTYPE rss SYSTEM 'u'><rss>&nbsp; & &nbsp</rss>"), T("<!DOCTYPE rss SYSTEM 'u'><rss>&nbsp; &amp; &amp;nbsp</rss>"),
		    COUNT(AMPERSANDS, 2) },
		SAME("names of 64 bytes are told", "<!DOCTYPE r [<!ENTITY " LONG64 " ''>]><r>&" LONG64 ";</r>"),
		SAME("longer ones are not: then any may be declared", "<!DOCTYPE r [<!ENTITY " LONG64 "5 ''>]><r>&" LONG64 "5;&" LONG64 "6;&nbsp;</r>"),
		SAME("names beyond ASCII", "<!DOCTYPE r [<!ENTITY \xc3\xa9\xe4\xb8\xad '1'>]><r>&\xc3\xa9\xe4\xb8\xad;</r>"),
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
}

static void ampersands(void)
{
	static const struct row rows[] = {
		{ "before white space", T("<r>this & that &\n</r>"), T("<r>this &amp; that &amp;\n</r>"), COUNT(AMPERSANDS, 2) },
		{ "at the end of text", T("<r>AT&T&</r>"), T("<r>AT&amp;T&amp;</r>"), COUNT(AMPERSANDS, 2) },
		{ "in a URL", T("<r href='/?b=1&c=2'>/?b=1&c=2</r>"), T("<r href='/?b=1&amp;c=2'>/?b=1&amp;c=2</r>"), COUNT(AMPERSANDS, 2) },
		{ "in a row", T("<r>&&amp;&&</r>"), T("<r>&amp;&amp;&amp;&amp;</r>"), COUNT(AMPERSANDS, 3) },
		{ "a name that nothing has", T("<r>&foo;</r>"), T("<r>&amp;foo;</r>"), COUNT(AMPERSANDS, 1) },
		{ "a name of 64 bytes and of more", T("<r>&" LONG64 ";&" LONG64 "5;</r>"), T("<r>&amp;" LONG64 ";&amp;" LONG64 "5;</r>"), COUNT(AMPERSANDS, 2) },
		{ "no name", T("<r>&;&1;&-a;&\xc2\xb7;</r>"), T("<r>&amp;;&amp;1;&amp;-a;&amp;\xc2\xb7;</r>"), COUNT(AMPERSANDS, 4) },
		{ "a number without an end", T("<r>&#2...&#x41 &#</r>"), T("<r>&amp;#2...&amp;#x41 &amp;#</r>"), COUNT(AMPERSANDS, 3) },
		{ "a number without digits", T("<r>&#;&#x;&#X41;&#-1;</r>"), T("<r>&amp;#;&amp;#x;&amp;#X41;&amp;#-1;</r>"), COUNT(AMPERSANDS, 4) },
		{ "zeros go as they came", T("<r>&#0000000000000000000000000000000000000000000000000000000000000000000000000065</r>"),
		    T("<r>&amp;#0000000000000000000000000000000000000000000000000000000000000000000000000065</r>"), COUNT(AMPERSANDS, 1) },
		{ "a number too large stays a forbidden one", T("<r>&#99999999</r>"), T("<r>" FFFD "</r>"), COUNT(REFERENCES, 1) },
		{ "less-than before what starts no name", T("<r>1 < 2 <3 <= <</r>"), T("<r>1 &lt; 2 &lt;3 &lt;= &lt;</r>"), COUNT(AMPERSANDS, 4) },
		{ "and before almost markup", T("<r><!x <![cdata[ </> <? ?> <!-x</r>"), T("<r>&lt;!x &lt;![cdata[ &lt;/> &lt;? ?> &lt;!-x</r>"), COUNT(AMPERSANDS, 5) },
		{ "[17]: xml is no instruction's name", T("<r><?xml version='1.0'?><?xml-b?><?c</r>?></r>"), T("<r>&lt;?xml version='1.0'?><?xml-b?>&lt;?c</r>"),
		    COUNT(AMPERSANDS, 2), COUNT(TRAILING, 1) },
		{ "[14]: the end of a section that there is not", T("<r>]]>]]]>]] ></r>"), T("<r>]]&gt;]]]&gt;]] ></r>"), COUNT(AMPERSANDS, 2) },
		{ "nor one that comes about where something vanished", T("<r>]]&#0;>]</b>]>]&#0;]&#1;></b>]></r>"), T("<r>]]&gt;]]&gt;]]&gt;]></r>"),
		    COUNT(AMPERSANDS, 3), COUNT(TAGS, 2), COUNT(REFERENCES, 3) },
		SAME("before the root nothing is content", "& <r/>"),
	};
	static const struct row alone[] = {
		{ "a number too large is none, and no digit of it is lost", T("<r>&#12345678901234567890;&#x00010FFFF00;&#1234567;</r>"),
		    T("<r>&amp;#12345678901234567890;&amp;#x00010FFFF00;&#1234567;</r>"), COUNT(AMPERSANDS, 2) },
		{ "ampersands alone leave HTML's names", T("<r>&nbsp;&x; &</r>"), T("<r>&nbsp;&amp;x; &amp;</r>"), COUNT(AMPERSANDS, 2) },
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
	RUN(alone, REPAIR_AMPERSANDS, 0);
}

/* XML 1.1 has other white space and other line ends: what reads by XML 1.0's grammar is left out. */
static void xml_1_1(void)
{
	static const struct row rows[] = { SAME("all as it came", "<?xml version='1.1'?><r\xc2\x85" "b='1'>&nbsp; & <</b>") };

	RUN(rows, REPAIR_ALL | REPAIR_XML_1_1, 0);
}

/* UTF-16's two halves of a character, each as a reference of its own: XML 1.0 4.1 allows neither. */
static void surrogates(void)
{
	static const struct row rows[] = {
		{ "a pair is its character", T("<r>&#xD83D;&#xDE00;</r>"), T("<r>\xf0\x9f\x98\x80</r>"), COUNT(REFERENCES, 1) },
		{ "in decimal, or one of each", T("<r>&#55357;&#56832;&#xd83d;&#56832;</r>"), T("<r>\xf0\x9f\x98\x80\xf0\x9f\x98\x80</r>"), COUNT(REFERENCES, 2) },
		{ "the first and the last", T("<r>&#xD800;&#xDC00;&#xDBFF;&#xDFFF;</r>"), T("<r>\xf0\x90\x80\x80\xf4\x8f\xbf\xbf</r>"), COUNT(REFERENCES, 2) },
		{ "in a value", T("<r a='&#xD83D;&#xDE00;' b=\"&#xD83D;\"/>"), T("<r a='\xf0\x9f\x98\x80' b=\"" FFFD "\"/>"), COUNT(REFERENCES, 2) },
		{ "in an entity's value", T("<!DOCTYPE r [<!ENTITY a '&#xD83D;&#xDE00;'>]><r/>"), T("<!DOCTYPE r [<!ENTITY a '\xf0\x9f\x98\x80'>]><r/>"), COUNT(REFERENCES, 1) },
		{ "a half alone is none", T("<r>&#xD83D;x&#xDE00;</r>"), T("<r>" FFFD "x" FFFD "</r>"), COUNT(REFERENCES, 2) },
		{ "two of one half", T("<r>&#xD83D;&#xD83D;&#xDE00;&#xDE00;</r>"), T("<r>" FFFD "\xf0\x9f\x98\x80" FFFD "</r>"), COUNT(REFERENCES, 3) },
		{ "another character behind it", T("<r>&#xD83D;&#65;&#xD83D;&amp;</r>"), T("<r>" FFFD "&#65;" FFFD "&amp;</r>"), COUNT(REFERENCES, 2) },
		{ "zeros before it, up to 16 bytes", T("<r>&#x00000000D83D;&#x00000000DE00;</r>"), T("<r>\xf0\x9f\x98\x80</r>"), COUNT(REFERENCES, 1) },
		{ "and more", T("<r>&#x000000000D83D;&#xDE00;&#xD83D;&#x000000000DE00;</r>"), T("<r>" FFFD FFFD FFFD FFFD "</r>"), COUNT(REFERENCES, 4) },
		{ "a second one without its end", T("<r>&#xD83D;&#xDE00</r>"), T("<r>" FFFD "&amp;#xDE00</r>"), COUNT(REFERENCES, 1), COUNT(AMPERSANDS, 1) },
		{ "a second one too large", T("<r>&#xD83D;&#xDE0000000;</r>"), T("<r>" FFFD FFFD "</r>"), COUNT(REFERENCES, 2) },
		{ "the text ends", T("<r>&#xD83D;&#xDE"), T("<r></r>"), COUNT(END, 1) },
		SAME("no reference at all", "<r><![CDATA[&#xD83D;&#xDE00;]]></r>"),
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
}

/* What stands before the root may be its tag, spoilt: without its references it would be read another way. */
static void before_the_root(void)
{
	static const struct row rows[] = {
		SAME("in a name", "<rs&#0;s>&nbsp;"),
		SAME("in an attribute's name", "<rss ver&#x1F;sion='2.0'>&nbsp;"),
		SAME("between quotes and what follows", "<rss a='2.0'&#xD83D;>&nbsp;"),
		SAME("and in the root behind it", "<rss a='<b>'&#0;></b>"),
		{ "end tags do not go either", T("<rss a='<b>'</i>></b>"), T("<rss a='<b>'&lt;/i>></b>"), COUNT(AMPERSANDS, 1) },
		SAME("other text before it", "&#0;&#xD83D; <r/>"),
		SAME("a declaration behind it", "&#0;<?xml version='1.0' encoding='a'?><r/>"),
		{ "in a document type", T("<!DOCTYPE r [<!ENTITY a 'b&#0;c & d'>]><r/>"), T("<!DOCTYPE r [<!ENTITY a 'b" FFFD "c &amp; d'>]><r/>"),
		    COUNT(REFERENCES, 1), COUNT(AMPERSANDS, 1) },
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
}

static void table(void)
{
	static const struct {
		const char *name;
		bool known;
		struct entity_text text;
	} rows[] = {
		{ "AElig", true, { 198, 0 } }, { "zwnj", true, { 8204, 0 } }, { "zwnjx", false, { 0, 0 } }, { "zwn", false, { 0, 0 } }, { "amp", false, { 0, 0 } },
		{ "CounterClockwiseContourIntegral", true, { 0x2233, 0 } }, { "NotEqualTilde", true, { 0x2242, 0x338 } }, { "zopf", true, { 0x1d56b, 0 } },
		{ "", false, { 0, 0 } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct entity_text text = { 0, 0 };
		bool known = entity_find((const uint8_t *)rows[i].name, strlen(rows[i].name), &text);

		UNIT_ROW(known == rows[i].known && text.first == rows[i].text.first && text.second == rows[i].text.second, "%s: %u %u", rows[i].name, (unsigned)text.first,
		    (unsigned)text.second);
	}
	CU_ASSERT_TRUE(entity_is_predefined((const uint8_t *)"amp", 3));
	CU_ASSERT_FALSE(entity_is_predefined((const uint8_t *)"am", 2));
}

UNIT_SUITE(repair_reference, { "entities", entities }, { "declared", declared }, { "ampersands", ampersands }, { "XML 1.1", xml_1_1 }, { "surrogates", surrogates },
    { "before the root", before_the_root }, { "table", table })
