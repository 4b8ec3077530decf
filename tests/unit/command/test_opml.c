/* Owns the cases of proxy/command/opml.c. Must not know: files. Invariant: each row names what it is about; what is rewritten stays so. */
#include "proxy/command/opml.h"
#include "tests/unit/unit.h"

#include <string.h>

#define GATEWAY "http://utfeed:8080"
#define HEAD "<opml version='2.0'><body>"

static const struct {
	const char *rule, *in, *want;           /* want NULL: as it was */
	size_t rewritten, already, left;
} cases[] = {
	{ "one feed", HEAD "<outline xmlUrl=\"http://a.test/feed.xml\"/>", HEAD "<outline xmlUrl=\"" GATEWAY "/http://a.test/feed.xml\"/>",
	    1, 0, 0 },
	{ "https, single quotes", HEAD "<outline text='a' xmlUrl='https://a.test/?b=1' />",
	    HEAD "<outline text='a' xmlUrl='" GATEWAY "/https://a.test/?b=1' />", 1, 0, 0 },
	{ "white space around =", HEAD "<outline xmlUrl \n=\t'http://a.test/'\n></outline>",
	    HEAD "<outline xmlUrl \n=\t'" GATEWAY "/http://a.test/'\n></outline>", 1, 0, 0 },
	{ "white space within", HEAD "<outline xmlUrl=' http://a.test/ '/>", HEAD "<outline xmlUrl='" GATEWAY "/http://a.test/'/>", 1, 0, 0 },
	{ "any case", HEAD "<Outline XMLURL='HTTP://a.test/'/>", HEAD "<Outline XMLURL='" GATEWAY "/HTTP://a.test/'/>", 1, 0, 0 },
	{ "entities decoded and encoded", HEAD "<outline xmlUrl='http://a.test/?a=1&amp;b=&#x32;&#38;c=&lt;&apos;'/>",
	    HEAD "<outline xmlUrl='" GATEWAY "/http://a.test/?a=1&amp;b=2&amp;c=&lt;&#39;'/>", 1, 0, 0 },
	{ "an & that means itself", HEAD "<outline xmlUrl='http://a.test/?a=1&b=2'/>",
	    HEAD "<outline xmlUrl='" GATEWAY "/http://a.test/?a=1&amp;b=2'/>", 1, 0, 0 },
	{ "an entity of a document type", HEAD "<outline xmlUrl='http://a.test/&host;'/>", NULL, 0, 0, 1 },
	{ "a reference to no character", HEAD "<outline xmlUrl='http://a.test/&#xd800;'/>", NULL, 0, 0, 1 },
	{ "control characters", HEAD "<outline xmlUrl='http://a.test/\x01'/><outline xmlUrl='http://a.test/&#1;'/>", NULL, 0, 0, 2 },
	{ "a line feed within", HEAD "<outline xmlUrl='http://a.test/\n&#10;b'/>", HEAD "<outline xmlUrl='" GATEWAY "/http://a.test/&#10;&#10;b'/>", 1, 0,
	    0 },
	{ "beyond ASCII", HEAD "<outline text='é' xmlUrl='http://ä.test/ö'/>", HEAD "<outline text='é' xmlUrl='" GATEWAY "/http://ä.test/ö'/>",
	    1, 0, 0 },
	{ "rewritten before", HEAD "<outline xmlUrl='" GATEWAY "/http://a.test/'/>", NULL, 0, 1, 0 },
	{ "another host like the gateway", HEAD "<outline xmlUrl='" GATEWAY ".test/'/>",
	    HEAD "<outline xmlUrl='" GATEWAY "/" GATEWAY ".test/'/>", 1, 0, 0 },
	{ "no http URL", HEAD "<outline xmlUrl='feed:a'/><outline xmlUrl=''/><outline xmlUrl='/a'/>", NULL, 0, 0, 3 },
	{ "other attributes", HEAD "<outline htmlUrl='http://a.test/' url='http://b.test/' axmlUrl='http://c.test/'/>", NULL, 0, 0, 0 },
	{ "other elements", HEAD "<feed xmlUrl='http://a.test/'/>", NULL, 0, 0, 0 },
	{ "comments, CDATA, instructions", HEAD "<!-- <outline xmlUrl='http://a.test/'/> --><![CDATA[<outline xmlUrl='http://a.test/'/>]]>"
	    "<?a <outline xmlUrl='http://a.test/'?>", NULL, 0, 0, 0 },
	{ "the text of another attribute", HEAD "<outline text=\"xmlUrl='http://a.test/'\" title='>' xmlUrl='http://b.test/'/>",
	    HEAD "<outline text=\"xmlUrl='http://a.test/'\" title='>' xmlUrl='" GATEWAY "/http://b.test/'/>", 1, 0, 0 },
	{ "prolog", "<?xml version='1.0'?>\n<!DOCTYPE opml [<!ENTITY a '<outline xmlUrl=\"http://a.test/\"/>'> <!-- ]> -->]>\n"
	    "<opml><outline xmlUrl='http://b.test/'/>",
	    "<?xml version='1.0'?>\n<!DOCTYPE opml [<!ENTITY a '<outline xmlUrl=\"http://a.test/\"/>'> <!-- ]> -->]>\n"
	    "<opml><outline xmlUrl='" GATEWAY "/http://b.test/'/>", 1, 0, 0 },
	{ "outlines in outlines", HEAD "<outline text='a'><outline xmlUrl='http://a.test/'/></outline>",
	    HEAD "<outline text='a'><outline xmlUrl='" GATEWAY "/http://a.test/'/></outline>", 1, 0, 0 },
	{ "a value without quotes", HEAD "<outline xmlUrl=http://a.test/ >", NULL, 0, 0, 0 },
	{ "a tag that is cut", HEAD "<outline xmlUrl='http://a.test/", NULL, 0, 0, 0 },
	{ "a tag within a tag", HEAD "<outline <outline xmlUrl='http://a.test/'/>", HEAD "<outline <outline xmlUrl='" GATEWAY "/http://a.test/'/>",
	    1, 0, 0 },
};

static void rows(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *want = cases[i].want ? cases[i].want : cases[i].in;
		struct text out = { 0 }, again = { 0 };
		struct opml_counts n, m;

		CU_ASSERT_EQUAL_FATAL(opml_rewrite(&out, cases[i].in, strlen(cases[i].in), GATEWAY, &n), OPML_OK);
		UNIT_ROW(out.len == strlen(want) && memcmp(out.bytes, want, out.len) == 0, "%s: %.*s", cases[i].rule, (int)out.len, out.bytes);
		UNIT_ROW(n.rewritten == cases[i].rewritten && n.already == cases[i].already && n.left == cases[i].left, "%s: %zu, %zu, %zu",
		    cases[i].rule, n.rewritten, n.already, n.left);
		CU_ASSERT_EQUAL_FATAL(opml_rewrite(&again, out.bytes, out.len, GATEWAY, &m), OPML_OK);
		UNIT_ROW(again.len == out.len && memcmp(again.bytes, out.bytes, out.len) == 0, "%s, again", cases[i].rule);
		UNIT_ROW(m.rewritten == 0 && m.already == n.already + n.rewritten, "%s, again: %zu", cases[i].rule, m.rewritten);
		text_free(&out);
		text_free(&again);
	}
}

static void no_opml(void)
{
	static const char *const texts[] = { "", "opml", "<rss><opml/></rss>", "<!-- <opml> --><rss/>", "<opmlx>", "<!DOCTYPE opml>", "</opml>" };

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct text out = { 0 };
		struct opml_counts n;

		UNIT_ROW(opml_rewrite(&out, texts[i], strlen(texts[i]), GATEWAY, &n) == OPML_NOT_OPML, "%s", texts[i]);
		UNIT_ROW(out.len == 0, "%s", texts[i]);
		text_free(&out);
	}
}

UNIT_SUITE(opml, { "rows", rows }, { "what is no OPML", no_opml })
