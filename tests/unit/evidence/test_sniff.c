/* Is this body a feed, whatever its Content-Type says? utfeed-rules(7), "What is a feed". */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/sniff.h"
#include "tests/unit/wide.h"

#define SIXTY_FOUR "################################################################"

/* Under text/html: complete, and as the start of something longer. */
static const struct {
	const char *rule, *text;
	enum sniff whole, open;
} bodies[] = {
	{ "rss",                    "<rss version='2.0'>", SNIFF_FEED, SNIFF_FEED },
	{ "feed",                   "<feed xmlns='http://www.w3.org/2005/Atom'>", SNIFF_FEED, SNIFF_FEED },
	{ "rdf:RDF",                "<rdf:RDF>", SNIFF_FEED, SNIFF_FEED },
	{ "channel",                "<channel>", SNIFF_FEED, SNIFF_FEED },
	{ "opml",                   "<opml version='1.0'>", SNIFF_FEED, SNIFF_FEED },
	{ "urlset",                 "<urlset>", SNIFF_FEED, SNIFF_FEED },
	{ "sitemapindex",           "<sitemapindex/>", SNIFF_FEED, SNIFF_FEED },
	{ "prefix",                 "<atom:feed>", SNIFF_FEED, SNIFF_FEED },
	{ "longer name",            "<rssx>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "other root",             "<root>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "declaration, rss",       "<?xml version='1.0'?><rss>", SNIFF_FEED, SNIFF_FEED },
	{ "declaration, any root",  "<?xml version='1.0'?><root>", SNIFF_FEED, SNIFF_FEED },
	{ "declaration, html",      "<?xml version='1.0'?><html>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "declaration, HTML",      "<?xml version='1.0'?>\n<HTML lang='en'>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "declaration, prefixed",  "<?xml version='1.0'?><h:html>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "declaration, XHTML",     "<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0//EN' 'x'><html>", SNIFF_NOT_XML,
	    SNIFF_NOT_XML },
	{ "html",                   "<html><head>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "doctype html",           "<!DOCTYPE html><html>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "doctype HTML",           "<!doctype HTML>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "doctype html, rss",      "<!DOCTYPE html><rss>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "doctype rss",            "<!DOCTYPE rss SYSTEM 'rss-0.91.dtd'><rss>", SNIFF_FEED, SNIFF_FEED },
	{ "doctype of htmlx",       "<!DOCTYPE htmlx><rss>", SNIFF_FEED, SNIFF_FEED },
	{ "doctype with subset",    "<!DOCTYPE rss [ <!ENTITY a '>]'> <!-- ' > --> ]><rss>", SNIFF_FEED, SNIFF_FEED },
	{ "comment",                "<!-- <html> --><rss>", SNIFF_FEED, SNIFF_FEED },
	{ "instruction",            "<?xml-stylesheet href='a'?><rss>", SNIFF_FEED, SNIFF_FEED },
	{ "all of them",            "<?xml version='1.0'?> <?a b?> <!-- c --> <!DOCTYPE rss> <!-- d --> <rss>", SNIFF_FEED, SNIFF_FEED },
	{ "white space",            " \r\n\t<rss>", SNIFF_FEED, SNIFF_FEED },
	{ "white space, declared",  "\n<?xml version='1.0'?><root>", SNIFF_FEED, SNIFF_FEED },
	{ "64 bytes of junk",       SIXTY_FOUR "<rss>", SNIFF_FEED, SNIFF_FEED },
	{ "65 bytes of junk",       SIXTY_FOUR "#<rss>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "junk, declared",         "Notice: y <?xml version='1.0'?><rss>", SNIFF_FEED, SNIFF_FEED },
	{ "trust 09: no feed behind other text", "Notice: y <?xml version='1.0'?><root>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "trust 09: nor behind code", "f('<?xml version=\"1.0\"?><rss>')", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "trust 09: nor in a quotation", "\"<?xml version='1.0'?><rss>\"", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "plain text",             "Nothing here is markup, and it goes on for longer than junk may do, for it is over sixty-four bytes.", SNIFF_NOT_XML,
	    SNIFF_NOT_XML },
	{ "plain text, short",      "Nothing here", SNIFF_NOT_XML, SNIFF_MORE },
	{ "less than",              "a < b", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "end tag",                "</rss>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "declaration not closed", "<?xml version='1.0' <rss>", SNIFF_FEED, SNIFF_MORE },
	{ "malformed declaration",  "<? XML version=1.0?>;<rss>", SNIFF_FEED, SNIFF_FEED },
	{ "malformed, HTML",        "<? XML version=1.0?>;<html>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "two declarations",       "<?xml version='1.0'?>\n<?xml version='1.0'?><rss>", SNIFF_FEED, SNIFF_FEED },
	{ "nothing",                "", SNIFF_NOT_XML, SNIFF_MORE },
	{ "name cut",               "<rs", SNIFF_NOT_XML, SNIFF_MORE },
	{ "< alone",                "<", SNIFF_NOT_XML, SNIFF_MORE },
	{ "comment open",           "<!-- <rss>", SNIFF_NOT_XML, SNIFF_MORE },
	{ "comment open, declared", "<?xml version='1.0'?><!-- <rss>", SNIFF_NOT_XML, SNIFF_MORE },
	{ "doctype open",           "<!DOCTYPE rss [", SNIFF_NOT_XML, SNIFF_MORE },
	{ "doctype's comment open", "<!DOCTYPE rss [ <!-- ]>", SNIFF_NOT_XML, SNIFF_MORE },
	{ "doctype's name cut",     "<!DOCTYPE ht", SNIFF_NOT_XML, SNIFF_MORE },
	{ "doctype's name at end",  "<!DOCTYPE html", SNIFF_NOT_XML, SNIFF_MORE },
	{ "instruction open",       "<?xml version='1.0'?><?a <rss>", SNIFF_NOT_XML, SNIFF_MORE },
	{ "declaration alone",      "<?xml version='1.0'?>", SNIFF_NOT_XML, SNIFF_MORE },
	{ "text after declaration", "<?xml version='1.0'?>text", SNIFF_NOT_XML, SNIFF_MORE },
};

static enum sniff decide(bool http, const char *type, const uint8_t *bytes, size_t len, bool complete)
{
	struct evidence e;

	evidence_collect(&e, http, type, type == NULL ? 0 : strlen(type), CS_NONE, bytes, len, complete);
	return sniff_decide(&e);
}

static void under_html(void)
{
	size_t i, len;
	uint8_t *bytes;

	for (i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
		bytes = wide_text((struct bom_family){ CS_UTF_8, FAMILY_ASCII, 1 }, bodies[i].text, 0, &len);
		UNIT_ROW(decide(true, "text/html", bytes, len, true) == bodies[i].whole, "%s", bodies[i].rule);
		UNIT_ROW(decide(true, "text/html", bytes, len, false) == bodies[i].open, "%s, open", bodies[i].rule);
		free(bytes);
	}
}

static void in_every_family(void)
{
	static const struct bom_family kinds[] = {
		{ CS_UTF_16BE, FAMILY_16BIT, 2 }, { CS_UTF_16LE, FAMILY_16BIT, 2 }, { CS_UTF_32BE, FAMILY_32BIT, 4 },
		{ CS_UTF_32LE, FAMILY_32BIT, 4 }, { CS_UCS_4_2143, FAMILY_32BIT, 4 }, { CS_UCS_4_3412, FAMILY_32BIT, 4 },
		{ CS_IBM037, FAMILY_EBCDIC, 1 },
	};
	static const struct {
		const char *text;
		enum sniff answer;
	} roots[] = {
		{ "<?xml version='1.0'?><!-- a --><root>", SNIFF_FEED }, { "<?xml version='1.0'?><html>", SNIFF_NOT_XML },
		{ "<rss version='2.0'>", SNIFF_FEED }, { "<feed>", SNIFF_FEED }, { "<rdf:RDF>", SNIFF_FEED },
		{ "<!DOCTYPE html><html>", SNIFF_NOT_XML },
	};
	size_t k, i, len;
	uint8_t *bytes;

	for (k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
		for (i = 0; i < sizeof roots / sizeof roots[0]; i++) {
			bytes = wide_text(kinds[k], roots[i].text, 0, &len);
			UNIT_ROW(decide(true, "application/octet-stream", bytes, len, true) == roots[i].answer, "%s in %s", roots[i].text,
			    charset_name(kinds[k].charset));
			free(bytes);
		}
	}
}

/* What the type alone decides; the body is one with a feed's root, one that is none, a feed behind words of a script's, a feed
 * behind a message of PHP's. */
static const struct {
	const char *type;
	enum sniff feed, page, words, message;
} types[] = {
	{ NULL, SNIFF_FEED, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_FEED },
	{ "application/xml", SNIFF_FEED, SNIFF_FEED, SNIFF_FEED, SNIFF_FEED },
	{ "text/xml; charset=utf-8", SNIFF_FEED, SNIFF_FEED, SNIFF_FEED, SNIFF_FEED },
	{ "application/rss+xml", SNIFF_FEED, SNIFF_FEED, SNIFF_FEED, SNIFF_FEED },
	{ "image/svg+xml", SNIFF_FEED, SNIFF_FEED, SNIFF_FEED, SNIFF_FEED },
	{ "application/rss", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_FEED, SNIFF_FEED },
	{ "application/xhtml+xml", SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "image/png", SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "audio/mpeg", SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "video/mp4", SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "font/woff", SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "text/html; charset=utf-8", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_FEED, SNIFF_FEED },
	{ "text/plain", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_FEED },
	{ "application/octet-stream", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_FEED },
	{ "application/json", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "text/javascript", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "text/csv", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "application/pdf", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "nonsense", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_FEED },
};

static enum sniff decide_text(const char *type, const char *text)
{
	return decide(true, type, (const uint8_t *)text, strlen(text), true);
}

static void by_type(void)
{
	size_t i;

	for (i = 0; i < sizeof types / sizeof types[0]; i++) {
		UNIT_ROW(decide_text(types[i].type, "<rss><channel/></rss>") == types[i].feed, "feed as %s", types[i].type);
		UNIT_ROW(decide_text(types[i].type, "<html></html>") == types[i].page, "page as %s", types[i].type);
		UNIT_ROW(decide_text(types[i].type, "Connected.\n<?xml version='1.0'?>\n<rss/>") == types[i].words,
		    "trust 09: a feed behind words as %s", types[i].type);
		UNIT_ROW(decide_text(types[i].type, "\nWarning: fopen(): no file in /srv/feed.php on line 3\n<?xml version='1.0'?>\n<rss/>") ==
		    types[i].message, "trust 09: a feed behind a message as %s", types[i].type);
	}
	CU_ASSERT_EQUAL(decide_text("application/json", " {\"a\":1}<rss>"), SNIFF_NOT_XML);
	CU_ASSERT_EQUAL(decide_text("application/json", "[]<rss>"), SNIFF_NOT_XML);
}

/* Fault 9: bodies that hold a feed and are none, under their own type and under one that says nothing. */
static void no_feeds(void)
{
	static const struct {
		const char *type, *text;
	} cases[] = {
		{ "application/json", "\"<?xml version=\\\"1.0\\\"?><rss version=\\\"2.0\\\"/>\"" },
		{ "application/json", "{\"feed\": \"<?xml version='1.0'?><rss/>\"}" },
		{ "application/javascript", "export default '<?xml version=\"1.0\"?><rss/>'" },
		{ "text/css", "/* <?xml version='1.0'?><rss/> */" },
		{ "text/css", "a { background: url('data:image/svg+xml,<?xml version=\"1.0\"?><svg/>') }" },
		{ "text/csv", "1,<?xml version='1.0'?><rss/>\n" },
		{ "text/tab-separated-values", "1\t<?xml version='1.0'?><rss/>\n" },
		{ "text/x-python", "feed = \"\"\"<?xml version='1.0'?>\n<rss/>\"\"\"\n" },
		{ "application/x-sh", "cat <<END\n<?xml version='1.0'?>\n<rss/>\nEND\n" },
		{ "text/x-php", "<?php header('Content-Type: text/xml') ?>\n<rss/>" },
		{ "text/markdown", "# Feeds\n\n    <?xml version='1.0'?><rss/>\n" },
		{ "message/rfc822", "Subject: feed\r\n\r\n<?xml version='1.0'?>\r\n<rss/>\r\n" },
		{ "text/plain", "A feed is this:\n<?xml version='1.0'?>\n<rss/>\n" },
		{ "text/plain", "title=\"<rss>" },
	};
	static const char *const vague[] = { NULL, "text/plain", "application/octet-stream" };
	size_t i, k;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		UNIT_ROW(decide_text(cases[i].type, cases[i].text) == SNIFF_NOT_XML, "trust 09: %s: %s", cases[i].type, cases[i].text);
		for (k = 0; k < sizeof vague / sizeof vague[0]; k++)
			UNIT_ROW(decide_text(vague[k], cases[i].text) == SNIFF_NOT_XML, "trust 09: as %s: %s", vague[k], cases[i].text);
	}
}

/* Complete, and as the start of something longer. */
static const struct {
	const char *rule, *text;
	enum sniff whole, open;
} files[] = {
	{ "a feed's root",             "<rss version='2.0'>", SNIFF_FEED, SNIFF_FEED },
	{ "any root",                  "<root>", SNIFF_FEED, SNIFF_FEED },
	{ "any root, declared",        "<?xml version='1.0'?><root>", SNIFF_FEED, SNIFF_FEED },
	{ "white space before it",     "\n\n<root>", SNIFF_FEED, SNIFF_FEED },
	{ "a mark before it",          "\xef\xbb\xbf<root>", SNIFF_FEED, SNIFF_FEED },
	{ "a feed behind words",       "Notice: y <?xml version='1.0'?><rss>", SNIFF_FEED, SNIFF_FEED },
	{ "any root behind words",     "Notice: y <root>", SNIFF_NOT_XML, SNIFF_MORE },
	{ "HTML",                      "<html><head>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "HTML by its document type", "<!DOCTYPE html><p>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "XHTML",                     "<?xml version='1.0'?><html>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "JSON",                      "{\"feed\": \"<b>\"}", SNIFF_NOT_XML, SNIFF_MORE },
	{ "a picture",                 "\x89PNG\r\n\x1a\n", SNIFF_NOT_XML, SNIFF_MORE },
	{ "words",                     "Nothing here", SNIFF_NOT_XML, SNIFF_MORE },
	{ "less than",                 "a < b", SNIFF_NOT_XML, SNIFF_MORE },
	{ "a root that is cut",        "<?xml version='1.0'?><ro", SNIFF_FEED, SNIFF_MORE },
	{ "a comment that is cut",     "<!-- a", SNIFF_FEED, SNIFF_MORE },
	{ "a broken declaration",      "<?xml version='1.0' <rss>", SNIFF_FEED, SNIFF_MORE },
	{ "nothing but white space",   " \n", SNIFF_NOT_XML, SNIFF_MORE },
};

static void files_without_a_type(void)
{
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		const uint8_t *bytes = (const uint8_t *)files[i].text;
		size_t len = strlen(files[i].text);

		UNIT_ROW(decide(false, NULL, bytes, len, true) == files[i].whole, "%s", files[i].rule);
		UNIT_ROW(decide(false, NULL, bytes, len, false) == files[i].open, "%s, open", files[i].rule);
	}
}

UNIT_SUITE(sniff, { "files without a type", files_without_a_type }, { "under text/html", under_html }, { "in every family", in_every_family }, { "by type", by_type }, { "trust 09: no feeds", no_feeds })
