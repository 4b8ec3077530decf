/* Is this body a feed, whatever its Content-Type says? utfeed-rules(7), "What is a feed". */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/sniff.h"
#include "wide.h"

#define SIXTY_FOUR "################################################################"

/* Under text/html: complete, and as the start of something longer. */
static const struct {
	const char *rule, *text;
	enum lookin whole, open;
} bodies[] = {
	{ "rss",                    "<rss version='2.0'>", LOOKIN_FEED, LOOKIN_FEED },
	{ "feed",                   "<feed xmlns='http://www.w3.org/2005/Atom'>", LOOKIN_FEED, LOOKIN_FEED },
	{ "rdf:RDF",                "<rdf:RDF>", LOOKIN_FEED, LOOKIN_FEED },
	{ "channel",                "<channel>", LOOKIN_FEED, LOOKIN_FEED },
	{ "opml",                   "<opml version='1.0'>", LOOKIN_FEED, LOOKIN_FEED },
	{ "urlset",                 "<urlset>", LOOKIN_FEED, LOOKIN_FEED },
	{ "sitemapindex",           "<sitemapindex/>", LOOKIN_FEED, LOOKIN_FEED },
	{ "prefix",                 "<atom:feed>", LOOKIN_FEED, LOOKIN_FEED },
	{ "longer name",            "<rssx>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "other root",             "<root>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "declaration, rss",       "<?xml version='1.0'?><rss>", LOOKIN_FEED, LOOKIN_FEED },
	{ "declaration, any root",  "<?xml version='1.0'?><root>", LOOKIN_FEED, LOOKIN_FEED },
	{ "declaration, html",      "<?xml version='1.0'?><html>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "declaration, HTML",      "<?xml version='1.0'?>\n<HTML lang='en'>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "declaration, prefixed",  "<?xml version='1.0'?><h:html>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "declaration, XHTML",     "<?xml version='1.0'?><!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0//EN' 'x'><html>", LOOKIN_NOT_XML,
	    LOOKIN_NOT_XML },
	{ "html",                   "<html><head>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "doctype html",           "<!DOCTYPE html><html>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "doctype HTML",           "<!doctype HTML>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "doctype html, rss",      "<!DOCTYPE html><rss>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "doctype rss",            "<!DOCTYPE rss SYSTEM 'rss-0.91.dtd'><rss>", LOOKIN_FEED, LOOKIN_FEED },
	{ "doctype of htmlx",       "<!DOCTYPE htmlx><rss>", LOOKIN_FEED, LOOKIN_FEED },
	{ "doctype with subset",    "<!DOCTYPE rss [ <!ENTITY a '>]'> <!-- ' > --> ]><rss>", LOOKIN_FEED, LOOKIN_FEED },
	{ "comment",                "<!-- <html> --><rss>", LOOKIN_FEED, LOOKIN_FEED },
	{ "instruction",            "<?xml-stylesheet href='a'?><rss>", LOOKIN_FEED, LOOKIN_FEED },
	{ "all of them",            "<?xml version='1.0'?> <?a b?> <!-- c --> <!DOCTYPE rss> <!-- d --> <rss>", LOOKIN_FEED, LOOKIN_FEED },
	{ "white space",            " \r\n\t<rss>", LOOKIN_FEED, LOOKIN_FEED },
	{ "white space, declared",  "\n<?xml version='1.0'?><root>", LOOKIN_FEED, LOOKIN_FEED },
	{ "64 bytes of junk",       SIXTY_FOUR "<rss>", LOOKIN_FEED, LOOKIN_FEED },
	{ "65 bytes of junk",       SIXTY_FOUR "#<rss>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "junk, declared",         "Notice: y <?xml version='1.0'?><rss>", LOOKIN_FEED, LOOKIN_FEED },
	{ "trust 09: no feed behind other text", "Notice: y <?xml version='1.0'?><root>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "trust 09: nor behind code", "f('<?xml version=\"1.0\"?><rss>')", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "trust 09: nor in a quotation", "\"<?xml version='1.0'?><rss>\"", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "plain text",             "Nothing here is markup, and it goes on for longer than junk may do, for it is over sixty-four bytes.", LOOKIN_NOT_XML,
	    LOOKIN_NOT_XML },
	{ "plain text, short",      "Nothing here", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "less than",              "a < b", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "end tag",                "</rss>", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "broken declaration",     "<?xml version='1.0' <rss>", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "nothing",                "", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "name cut",               "<rs", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "< alone",                "<", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "comment open",           "<!-- <rss>", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "comment open, declared", "<?xml version='1.0'?><!-- <rss>", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "doctype open",           "<!DOCTYPE rss [", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "doctype's comment open", "<!DOCTYPE rss [ <!-- ]>", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "doctype's name cut",     "<!DOCTYPE ht", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "doctype's name at end",  "<!DOCTYPE html", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "instruction open",       "<?xml version='1.0'?><?a <rss>", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "declaration alone",      "<?xml version='1.0'?>", LOOKIN_NOT_XML, LOOKIN_MORE },
	{ "text after declaration", "<?xml version='1.0'?>text", LOOKIN_NOT_XML, LOOKIN_NOT_XML },
};

static enum lookin decide(bool http, const char *type, const uint8_t *bytes, size_t len, bool complete)
{
	struct evidence e;

	evidence_collect(&e, http, type, type == NULL ? 0 : strlen(type), CS_NONE, bytes, len, complete);
	return lookin_decide(&e);
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
		enum lookin answer;
	} roots[] = {
		{ "<?xml version='1.0'?><!-- a --><root>", LOOKIN_FEED }, { "<?xml version='1.0'?><html>", LOOKIN_NOT_XML },
		{ "<rss version='2.0'>", LOOKIN_FEED }, { "<feed>", LOOKIN_FEED }, { "<rdf:RDF>", LOOKIN_FEED },
		{ "<!DOCTYPE html><html>", LOOKIN_NOT_XML },
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
	enum lookin feed, page, words, message;
} types[] = {
	{ NULL, LOOKIN_FEED, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_FEED },
	{ "application/xml", LOOKIN_FEED, LOOKIN_FEED, LOOKIN_FEED, LOOKIN_FEED },
	{ "text/xml; charset=utf-8", LOOKIN_FEED, LOOKIN_FEED, LOOKIN_FEED, LOOKIN_FEED },
	{ "application/rss+xml", LOOKIN_FEED, LOOKIN_FEED, LOOKIN_FEED, LOOKIN_FEED },
	{ "image/svg+xml", LOOKIN_FEED, LOOKIN_FEED, LOOKIN_FEED, LOOKIN_FEED },
	{ "application/rss", LOOKIN_FEED, LOOKIN_NOT_XML, LOOKIN_FEED, LOOKIN_FEED },
	{ "application/xhtml+xml", LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "image/png", LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "audio/mpeg", LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "video/mp4", LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "font/woff", LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "text/html; charset=utf-8", LOOKIN_FEED, LOOKIN_NOT_XML, LOOKIN_FEED, LOOKIN_FEED },
	{ "text/plain", LOOKIN_FEED, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_FEED },
	{ "application/octet-stream", LOOKIN_FEED, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_FEED },
	{ "application/json", LOOKIN_FEED, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "text/javascript", LOOKIN_FEED, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "text/csv", LOOKIN_FEED, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "application/pdf", LOOKIN_FEED, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_NOT_XML },
	{ "nonsense", LOOKIN_FEED, LOOKIN_NOT_XML, LOOKIN_NOT_XML, LOOKIN_FEED },
};

static enum lookin decide_text(const char *type, const char *text)
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
	CU_ASSERT_EQUAL(decide_text("application/json", " {\"a\":1}<rss>"), LOOKIN_NOT_XML);
	CU_ASSERT_EQUAL(decide_text("application/json", "[]<rss>"), LOOKIN_NOT_XML);
	CU_ASSERT_EQUAL(decide(false, NULL, (const uint8_t *)"<html></html>", 13, true), LOOKIN_FEED);
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
		UNIT_ROW(decide_text(cases[i].type, cases[i].text) == LOOKIN_NOT_XML, "trust 09: %s: %s", cases[i].type, cases[i].text);
		for (k = 0; k < sizeof vague / sizeof vague[0]; k++)
			UNIT_ROW(decide_text(vague[k], cases[i].text) == LOOKIN_NOT_XML, "trust 09: as %s: %s", vague[k], cases[i].text);
	}
}

UNIT_SUITE(lookin, { "under text/html", under_html }, { "in every family", in_every_family }, { "by type", by_type }, { "trust 09: no feeds", no_feeds })
