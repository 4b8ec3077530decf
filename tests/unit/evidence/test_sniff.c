/* Is this body a feed, whatever its Content-Type says? utfeed-rules(7), "What is a feed". */
#include "tests/unit/collect.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/evidence/container.h"
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
	{ "white space",            " \r\n\t<rss>", SNIFF_FEED, SNIFF_MORE },
	{ "white space, declared",  "\n<?xml version='1.0'?><root>", SNIFF_FEED, SNIFF_MORE },
	{ "64 bytes of junk",       SIXTY_FOUR "<rss>", SNIFF_FEED, SNIFF_MORE },
	{ "65 bytes of junk",       SIXTY_FOUR "#<rss>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "junk, declared",         "Notice: y <?xml version='1.0'?><rss>", SNIFF_FEED, SNIFF_MORE },
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
	{ "image/svg+xml", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "image/x.other+xml", SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "application/vnd.google-earth.kml+xml", SNIFF_FEED, SNIFF_NOT_XML, SNIFF_NOT_XML, SNIFF_NOT_XML },
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

/* Issue 30, A8: what the type names stays what it is. */
static const struct {
	const char *rule, *type, *text;
	enum sniff answer;
} named[] = {
	{ "a drawing", "image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>", SNIFF_NOT_XML },
	{ "a drawing, declared", "image/svg+xml", "<?xml version='1.0'?><svg/>", SNIFF_NOT_XML },
	{ "a drawing behind its document type", "image/svg+xml", "<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY a 'b'>]><svg:svg/>", SNIFF_NOT_XML },
	{ "a drawing in capitals", "image/svg+xml", "<?xml version='1.0'?><SVG/>", SNIFF_NOT_XML },
	{ "corpus: no drawing at all", "image/svg+xml", "<?xml version='1.0'?><note/>", SNIFF_FEED },
	{ "corpus: no JSON at all", "application/json", "<?xml version='1.0'?><note/>", SNIFF_FEED },
	{ "a map", "application/vnd.google-earth.kml+xml", "<?xml version='1.0'?><kml/>", SNIFF_DOCUMENT },
	{ "a map, undeclared", "application/vnd.google-earth.kml+xml", "<kml/>", SNIFF_DOCUMENT },
	{ "a model", "model/x3d+xml", "<X3D/>", SNIFF_DOCUMENT },
	{ "text/ with +xml", "text/vnd.x+xml", "<x/>", SNIFF_DOCUMENT },
	{ "Atom under another type", "application/vnd.x+xml", "<a:feed xmlns:a='http://www.w3.org/2005/Atom'/>", SNIFF_FEED },
	{ "RDF of another kind", "application/owl+xml", "<rdf:RDF/>", SNIFF_DOCUMENT },
	{ "RDF", "application/rdf+xml", "<rdf:RDF/>", SNIFF_FEED },
	{ "a page for small screens", "application/vnd.wap.xhtml+xml", "<html/>", SNIFF_NOT_XML },
	{ "no XML at all", "application/vnd.x+xml", "words", SNIFF_NOT_XML },
	{ "a document type alone", "application/xml-dtd", "<!ELEMENT a (b)>", SNIFF_NOT_XML },
	{ "a sheet", "application/vnd.ms-excel", "<?xml version='1.0'?><Workbook/>", SNIFF_NOT_XML },
	{ "a style", "text/xsl", "<?xml version='1.0'?><xsl:stylesheet/>", SNIFF_NOT_XML },
	{ "a drawing under a vague type", "application/xml", "<svg/>", SNIFF_FEED },
	{ "a drawing under none", NULL, "<?xml version='1.0'?><svg/>", SNIFF_FEED },
	{ "OPML", "text/x-opml+xml", "<opml/>", SNIFF_FEED },
};

static void named_kinds(void)
{
	for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
		UNIT_ROW(decide_text(named[i].type, named[i].text) == named[i].answer, "%s: %s", named[i].rule, named[i].text);
}

/* Issue 30, A9: files of other kinds are no text, whatever their type says. */
#define BYTES(name, bytes) { name, bytes "<?xml version='1.0'?><rss/>", sizeof(bytes "<?xml version='1.0'?><rss/>") - 1 }
static const struct {
	const char *name, *bytes;
	size_t len;
} boxes[] = {
	BYTES("gzip", "\x1f\x8b\x08\0"), BYTES("zip", "PK\3\4"), BYTES("png", "\x89PNG\r\n\x1a\n"), BYTES("jpeg", "\xff\xd8\xff\xe1"),
	BYTES("gif", "GIF89a"), BYTES("webp", "RIFF\x10\0\0\0WEBPVP8X"), BYTES("tiff", "II*\0"), BYTES("pdf", "%PDF-1.4\n"),
	BYTES("psd", "8BPS\0\1"), BYTES("bzip2", "BZh91AY&SY"), BYTES("xz", "\xfd" "7zXZ\0"), BYTES("zstd", "\x28\xb5\x2f\xfd"),
	BYTES("ole", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), BYTES("sqlite", "SQLite format 3\0"), BYTES("wasm", "\0asm\1\0\0\0"),
	BYTES("woff", "wOFF\0\1\0\0"), BYTES("mp3", "ID3\3\0\0"), BYTES("mp4", "\0\0\0\x18" "ftypmp42"), BYTES("bmp", "BM\x10\0\0\0\0\0\0\0"),
};

/* Feeds whose beginning looks like that of a file. */
static const struct {
	const char *bytes;
	size_t len;
} unboxed[] = {
#define TEXT(bytes) { bytes "<?xml version='1.0'?><rss/>", sizeof(bytes "<?xml version='1.0'?><rss/>") - 1 }
	TEXT(""), TEXT("\xef\xbb\xbf"), TEXT("BM"), TEXT("PK"), TEXT("BZh"), TEXT("II*"), TEXT("MZ"), TEXT("ID3"), TEXT("RIFF"), TEXT("GIF"),
	TEXT("FWS 2008"), TEXT("\x1f\x8b"), TEXT("wOFF"), TEXT("Rar!"), TEXT("\xff\xfe\xfd"), TEXT("\x28\xb5 "), TEXT("8BPS"),
#undef TEXT
};

static void containers(void)
{
	static const char *const kinds[] = { NULL, "application/rss+xml", "text/xml; charset=utf-8", "application/xml", "text/html", "application/vnd.x+xml" };
	size_t i, k;

	for (i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
		const uint8_t *bytes = (const uint8_t *)boxes[i].bytes;

		CU_ASSERT_STRING_EQUAL(container_name(bytes, boxes[i].len), boxes[i].name);
		for (k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
			UNIT_ROW(decide(true, kinds[k], bytes, boxes[i].len, true) == SNIFF_NOT_XML, "%s as %s", boxes[i].name, kinds[k]);
		UNIT_ROW(decide(false, NULL, bytes, boxes[i].len, true) == SNIFF_NOT_XML, "%s, a file", boxes[i].name);
	}
	for (i = 0; i < sizeof unboxed / sizeof unboxed[0]; i++)
		UNIT_ROW(decide(true, "text/xml", (const uint8_t *)unboxed[i].bytes, unboxed[i].len, true) == SNIFF_FEED, "%s", unboxed[i].bytes);
}

/* The answer for a beginning is SNIFF_MORE or the answer for the whole. */
static void steady_row(bool http, const char *type, const char *bytes, size_t len, const char *name)
{
	const uint8_t *whole = (const uint8_t *)bytes;
	enum sniff last = decide(http, type, whole, len, true), first;

	for (size_t n = 0; n <= len; n++) {
		first = decide(http, type, whole, n, false);
		UNIT_ROW(first == SNIFF_MORE || first == last, "%zu bytes of %s as %s", n, name, type);
	}
}

static void steady_answers(void)
{
	static const char *const kinds[] = { "application/rss+xml", "text/xml", "text/html", "application/vnd.x+xml", "image/png" };
	static const char icon[] = "\0\0\1\0Y\0r";

	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
		steady_row(true, kinds[k], icon, sizeof icon - 1, "an icon");
		for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++)
			steady_row(true, kinds[k], boxes[i].bytes, boxes[i].len, boxes[i].name);
		for (size_t i = 0; i < sizeof unboxed / sizeof unboxed[0]; i++)
			steady_row(true, kinds[k], unboxed[i].bytes, unboxed[i].len, unboxed[i].bytes);
	}
	for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++)
		steady_row(false, NULL, boxes[i].bytes, boxes[i].len, boxes[i].name);
	CU_ASSERT_TRUE(container_may_come(NULL, 0));
	CU_ASSERT_TRUE(container_may_come((const uint8_t *)"\0\0\1", 3));
	CU_ASSERT_FALSE(container_may_come((const uint8_t *)"<", 1));
}

/* Under a type of XML: bytes that are neither text nor a known kind of file, and text with control characters in it. */
static void binary(void)
{
	enum { LEN = 2000 };
	static const struct { const char *rule; unsigned step, mask; const char *begin; size_t at; enum sniff answer; } cases[] = {
		{ "all zero", 0, 0, "", 0, SNIFF_NOT_XML }, { "all bytes", 37, 0xff, "", 0, SNIFF_NOT_XML }, { "high bytes alone", 37, 0x7f, NULL, 0, SNIFF_FEED },
		{ "markup at the start", 37, 0xff, "<a>", 0, SNIFF_FEED }, { "a mark", 37, 0xff, "\xef\xbb\xbf", 0, SNIFF_FEED },
		{ "a declaration further on", 37, 0xff, " <?xml version='1.0'?><rss>", 0, SNIFF_FEED },
		{ "a feed behind bytes", 0, 0, "<?xml version='1.0'?><rss>", 3, SNIFF_FEED },
	};
	char bytes[LEN];

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (size_t k = 0; k < LEN; k++)
			bytes[k] = (char)(cases[i].begin ? (k * cases[i].step + 5 * (cases[i].step != 0)) & cases[i].mask : 0x80 | (k * 37 & 0x7f));
		if (cases[i].begin)
			memcpy(bytes + cases[i].at, cases[i].begin, strlen(cases[i].begin));
		UNIT_ROW(decide(true, "text/xml", (const uint8_t *)bytes, LEN, true) == cases[i].answer, "%s", cases[i].rule);
		steady_row(true, "text/xml", bytes, LEN, cases[i].rule);
	}
	CU_ASSERT_EQUAL(decide_text("text/xml", "words\1 and a fault among them"), SNIFF_FEED);
	CU_ASSERT_EQUAL(decide_text("text/xml", "words\1\2\3\4"), SNIFF_NOT_XML);
	CU_ASSERT_EQUAL(decide_text("text/xml", "\033$B%K%e!<%9\033(B"), SNIFF_FEED);
}

static void tar_archives(void)
{
	uint8_t tar[512] = "feed.xml";

	memcpy(tar + 257, "ustar\0" "00", 8);
	CU_ASSERT_STRING_EQUAL(container_name(tar, sizeof tar), "tar");
	CU_ASSERT_PTR_NULL(container_name(tar, 260));
	steady_row(true, "text/xml", (const char *)tar, sizeof tar, "tar");
	memcpy(tar + 257, "ustar  ", 8);
	CU_ASSERT_STRING_EQUAL(container_name(tar, sizeof tar), "tar");
}

/* What may be unpacked, and what has to be in it. */
static void unpacked(void)
{
	static const struct {
		const char *text;
		enum sniff answer;
	} inside[] = {
		{ "<?xml version='1.0'?><rss/>", SNIFF_FEED }, { "<feed/>", SNIFF_FEED }, { "<?xml version='1.0'?><kml/>", SNIFF_NOT_XML },
		{ "<html/>", SNIFF_NOT_XML }, { "words", SNIFF_NOT_XML }, { "\x1f\x8b\x08", SNIFF_NOT_XML },
	};
	static const struct {
		bool http;
		const char *type;
		bool answer;
	} kinds[] = {
		{ true, "application/rss+xml", true }, { true, "text/xml", true }, { true, "text/html", true }, { false, "", true },
		{ true, "application/gzip", false }, { true, "application/octet-stream", false }, { true, "", false }, { true, "text/plain", false },
		{ true, "image/svg+xml", false }, { true, "application/vnd.google-earth.kml+xml", false },
	};
	struct evidence e;
	struct media_type m;

	for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
		evidence_labels(&e, true, "text/xml", 8, CS_NONE);
		e.unpacked = true;
		evidence_look(&e, (const uint8_t *)inside[i].text, strlen(inside[i].text), true);
		UNIT_ROW(sniff_decide(&e) == inside[i].answer, "%s", inside[i].text);
	}
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		media_type_read(&m, kinds[i].type, strlen(kinds[i].type));
		UNIT_ROW(sniff_unpacks(kinds[i].http, &m) == kinds[i].answer, "%s", kinds[i].type);
	}
	CU_ASSERT_TRUE(container_is_gzip((const uint8_t *)"\x1f\x8b\x08\x1f", 4));
	CU_ASSERT_FALSE(container_is_gzip((const uint8_t *)"\x1f\x8b\x08\x20", 4));
	CU_ASSERT_FALSE(container_is_gzip((const uint8_t *)"\x1f\x8b\x08", 3));
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
	{ "white space before it",     "\n\n<root>", SNIFF_FEED, SNIFF_MORE },
	{ "a mark before it",          "\xef\xbb\xbf<root>", SNIFF_FEED, SNIFF_MORE },
	{ "a feed behind words",       "Notice: y <?xml version='1.0'?><rss>", SNIFF_FEED, SNIFF_MORE },
	{ "any root behind words",     "Notice: y <root>", SNIFF_NOT_XML, SNIFF_MORE },
	{ "HTML",                      "<html><head>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "HTML by its document type", "<!DOCTYPE html><p>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "XHTML",                     "<?xml version='1.0'?><html>", SNIFF_NOT_XML, SNIFF_NOT_XML },
	{ "JSON",                      "{\"feed\": \"<b>\"}", SNIFF_NOT_XML, SNIFF_MORE },
	{ "a picture",                 "\x89PNG\r\n\x1a\n", SNIFF_NOT_XML, SNIFF_NOT_XML },
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

/* Issue 32: what may take the place of a feed that is kept. The type promises a feed, and the body's markup decides. */
static void own_markup(void)
{
	static const struct { const char *rule, *text; bool feed, open; } cases[] = {
		{ "RSS", "<?xml version='1.0'?><rss version='2.0'><channel/></rss>", true, true },
		{ "Atom without a declaration", "<feed xmlns='http://www.w3.org/2005/Atom'/>", true, true },
		{ "RDF behind comments", "<!-- a --><?b?><rdf:RDF>", true, true },
		{ "behind a message of PHP's", "<br /><b>Notice</b>: x in y <?xml version='1.0'?><rss>", true, true },
		{ "a malformed declaration", "<? XML version=1.0?>;<rss>", true, true },
		{ "a declaration that does not end", "<?xml version='1.0' <rss>", true, true },
		{ "HTML", "<!DOCTYPE html><html><body/></html>", false, false },
		{ "XHTML", "<?xml version='1.0'?><!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'/>", false, false },
		{ "HTML without its element", "<head><title>Just a moment...</title></head>", false, false },
		{ "XML that is no feed", "<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", false, false },
		{ "the same without a declaration", "<Error><Code>AccessDenied</Code></Error>", false, false },
		{ "JSON", "{\"error\": \"too many requests\"}", false, false },
		{ "text", "Too many requests. Please try again later; this address asks more often than others do.", false, false },
		{ "nothing but white space", " \n\n ", false, true },
		{ "a comment as long as the window", "<!-- and it goes on", false, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (int open = 0; open < 2; open++) {
			struct evidence e = { 0 };

			evidence_labels(&e, true, "application/rss+xml", strlen("application/rss+xml"), CS_NONE);
			evidence_look(&e, (const uint8_t *)cases[i].text, strlen(cases[i].text), !open);
			UNIT_ROW(sniff_is_feed(&e) == (open ? cases[i].open : cases[i].feed), "%s, %d", cases[i].rule, open);
		}
}

UNIT_SUITE(sniff, { "files without a type", files_without_a_type }, { "under text/html", under_html }, { "in every family", in_every_family }, { "by type", by_type }, { "trust 09: no feeds", no_feeds },
    { "issue 30: named kinds", named_kinds }, { "issue 30: containers", containers }, { "answers are steady", steady_answers }, { "binary", binary }, { "tar archives", tar_archives }, { "unpacked", unpacked }, { "issue 32: own markup", own_markup })
