/* Owns the cases of leading URLs of enclosures and images through a gateway.
 * Must not know: other repairs. Invariant: each row names its rule; rows are fed whole, split in two at every byte, and byte by byte. */
#include "core/repair/repair_gateway.h"
#include "tests/unit/repair/rows.h"

#include <stdlib.h>

#define SAME(why, text) { .rule = why, .in = T(text), .out = T(text) }
#define LED(why, before, after) { .rule = why, .in = T(before "https://a/" after), .out = T(before "http://gw:8080/https://a/" after), COUNT_LED(1) }

/* Each row of enclosures.def, and what stands beside it. */
static void places(void)
{
	static const struct row rows[] = {
		LED("RSS: enclosure", "<rss><enclosure type='b' url=\"", "c.mp3\" length='1'/></rss>"),
		LED("an element with an end", "<rss><enclosure url='", "'></enclosure></rss>"),
		LED("Media RSS: content", "<rss><media:content url='", "'/></rss>"),
		LED("Media RSS: thumbnail", "<rss><media:group><media:thumbnail width='1' url='", "'/></media:group></rss>"),
		LED("Atom: link", "<feed><link rel='enclosure' href='", "'/></feed>"),
		LED("rel behind href, in other letters", "<feed><link href='", "' rel=\"Enclosure\"/></feed>"),
		LED("Atom in RSS", "<rss><atom:link rel='enclosure' href='", "'/></rss>"),
		LED("Atom in RSS, .NET's prefix", "<rss><a10:link rel='enclosure' href='", "'/></rss>"),
		LED("iTunes", "<rss><itunes:image href='", "'/></rss>"),
		LED("Google Play", "<rss><googleplay:image href='", "'/></rss>"),
		LED("alternate enclosures", "<rss><podcast:source uri='", "'/></rss>"),
		LED("XHTML", "<feed><content type='xhtml'><div><img alt='' src='", "' /></div></content></feed>"),
		LED("XHTML with a prefix", "<feed><xhtml:img src='", "'/></feed>"),
		LED("RSS: image", "<rss><image><url>", "b.png</url><link>https://a/</link></image></rss>"),
		LED("Atom: logo", "<feed><logo>", "</logo></feed>"),
		LED("Atom: icon", "<feed><icon xml:base='https://a/'>", "</icon></feed>"),
		SAME("other links", "<feed><link rel='alternate' href='https://a/'/><link href='https://a/'/><link href='https://a/' rel='enclosures'/>"
		    "<link rel='' href='https://a/'/><link rel='enclosure'/></feed>"),
		SAME("other attributes", "<rss><enclosure href='https://a/' uri=\"https://a/\" xurl='https://a/' URL='https://a/'/><itunes:image url='https://a/'/></rss>"),
		SAME("other elements", "<rss><link>https://a/</link><url>https://a/</url><guid>https://a/</guid><a href='https://a/'>https://a/</a>"
		    "<x:enclosure url='https://a/'/><enclosures url='https://a/'/><media:player url='https://a/'/><comments>https://a/</comments></rss>"),
		SAME("elsewhere", "<rss><logo>https://a/</logo><icon>https://a/</icon><image url='https://a/'/><image><title>https://a/</title></image></rss>"),
		SAME("what looks like markup", "<rss><!--<enclosure url='https://a/'/>--><![CDATA[<enclosure url='https://a/'/>]]><?b <enclosure url='https://a/'/>?>"
		    "&lt;img src='https://a/'/></rss>"),
		SAME("a type's text", "<!DOCTYPE rss [<!ENTITY b \"<enclosure url='https://a/'/>\">]><rss>&b;</rss>"),
	};

	RUN(rows, REPAIR_ALL | REPAIR_GATEWAY, 0);
	RUN(rows, REPAIR_GATEWAY, 0);
}

/* What is a URL to be led, however it is written. */
static void urls(void)
{
	static const struct row rows[] = {
		LED("all else stays", "<rss  ><enclosure  a = 'https://b/' url  =  ' ", "?b=1&amp;c=%20&#x2f;\" '\t/><c/></rss>"),
		LED("white space before it", "<rss><image>\n <url>\r\n\t ", "\n</url></image></rss>"),
		LED("a section", "<rss><image><url><![CDATA[", "?b=1&c]]></url></image></rss>"),
		LED("white space before and in a section", "<rss><image><url>\n<![CDATA[ ", "]]></url></image></rss>"),
		LED("what comes behind it", "<rss><image><url>", "</url></image><image><url>http://a/</url></image></rss>"),
		LED("an end that is missing", "<rss><enclosure url='http://b/'><enclosure url='", "'></enclosure></enclosure></rss>"),
		{ .rule = "letters of any case", .in = T("<rss><enclosure url='HTTPS://a'/><image><url>HttpS://a</url></image></rss>"),
		    .out = T("<rss><enclosure url='http://gw:8080/HTTPS://a'/><image><url>http://gw:8080/HttpS://a</url></image></rss>"), COUNT_LED(2) },
		{ .rule = "references", .in = T("<rss><enclosure url='https&#58;&#x2F;&#047;a'/><image><url>&#x68;ttps:/&#x2f;a</url></image></rss>"),
		    .out = T("<rss><enclosure url='http://gw:8080/https&#58;&#x2F;&#047;a'/><image><url>http://gw:8080/&#x68;ttps:/&#x2f;a</url></image></rss>"),
		    COUNT_LED(2) },
		{ .rule = "several", .in = T("<rss><item><enclosure url='https://a'/><media:content url='https://b'/></item><image><url>https://c</url></image></rss>"),
		    .out = T("<rss><item><enclosure url='http://gw:8080/https://a'/><media:content url='http://gw:8080/https://b'/></item>"
			"<image><url>http://gw:8080/https://c</url></image></rss>"), COUNT_LED(3) },
		{ .rule = "the first of two values counts", .in = T("<rss><enclosure url='https://a' url='https://b'/></rss>"),
		    .out = T("<rss><enclosure url='http://gw:8080/https://a'/></rss>"), COUNT(TAGS, 1), COUNT_LED(1) },
		{ .rule = "quotes are put in, ampersands escaped", .in = T("<rss><enclosure url=https://a?b&c length=1></rss>"),
		    .out = T("<rss><enclosure url=\"http://gw:8080/https://a?b&amp;c\" length=\"1\"></enclosure></rss>"), COUNT(TAGS, 3), COUNT(AMPERSANDS, 1), COUNT_LED(1) },
		SAME("no TLS", "<rss><enclosure url='http://a/'/><image><url>http://a/</url></image><enclosure url='//a/'/><enclosure url='/a'/><enclosure url=''/></rss>"),
		SAME("through it already", "<rss><enclosure url='http://gw:8080/https://a/'/><image><url>http://gw:8080/https://a/</url></image></rss>"),
		SAME("no URL", "<rss><enclosure url='ahttps://a/'/><enclosure url='https:/a/'/><enclosure url='httpss://a'/><image><url>See https://a/</url></image>"
		    "<image><url>https</url></image><image><url/></image><image><url></url>https://a/</image><image><url><b>https://a/</b></url></image></rss>"),
		SAME("a comment before it", "<rss><image><url><!--b-->https://a/</url></image></rss>"),
		SAME("a section behind no URL", "<rss><image><url></url><title><![CDATA[https://a/]]></title></image></rss>"),
		SAME("references that are none of its letters", "<rss><enclosure url='&amp;https://a'/><enclosure url='&#x10068;ttps://a'/><enclosure url='&#x3a;https://a'/></rss>"),
		SAME("a section has no references", "<rss><image><url><![CDATA[https&#58;//a]]></url></image></rss>"),
	};

	RUN(rows, REPAIR_ALL | REPAIR_GATEWAY, 0);
}

/* Documents that end early, within or behind a URL. */
static void ends(void)
{
	static const struct row rows[] = {
		{ .rule = "within the scheme", .in = T("<rss><image><url>https:/"), .out = T("<rss><image><url>https:/</url></image></rss>"), COUNT(END, 1) },
		{ .rule = "within a reference", .in = T("<rss><image><url>https&#5"), .out = T("<rss><image><url>https</url></image></rss>"), COUNT(END, 1) },
		{ .rule = "behind it", .in = T("<rss><image><url>https://"), .out = T("<rss><image><url>http://gw:8080/https://</url></image></rss>"), COUNT(END, 1),
		    COUNT_LED(1) },
		{ .rule = "in a section", .in = T("<rss><image><url><![CDATA[https:"), .out = T("<rss><image><url><![CDATA[https:]]></url></image></rss>"), COUNT(END, 1) },
		{ .rule = "before it", .in = T("<rss><image><url>"), .out = T("<rss><image><url></url></image></rss>"), COUNT(END, 1) },
		{ .rule = "in a tag", .in = T("<rss><enclosure url='https://a"), .out = T("<rss></rss>"), COUNT(END, 1) },
	};

	RUN(rows, REPAIR_ALL | REPAIR_GATEWAY, 0);
}

/* A gateway that is https itself: a URL through it is https, too. */
static void own(void)
{
	static const struct row rows[] = {
		{ .rule = "another host's", .in = T("<rss><enclosure url='https://gw/p/x'/><image><url>https://gw.b/</url></image></rss>"),
		    .out = T("<rss><enclosure url='https://gw/p/q/https://gw/p/x'/><image><url>https://gw/p/q/https://gw.b/</url></image></rss>"), COUNT_LED(2) },
		{ .rule = "the end of the text tells", .in = T("<rss><image><url>https://gw/p</url></image></rss>"),
		    .out = T("<rss><image><url>https://gw/p/q/https://gw/p</url></image></rss>"), COUNT_LED(1) },
		SAME("its own", "<rss><enclosure url='https://gw/p/q/https://a/'/><image><url> https://GW/p/q/</url></image></rss>"),
	};

	gateway = "https://gw/p/q";
	RUN(rows, REPAIR_ALL | REPAIR_GATEWAY, 0);
}

static void fits(void)
{
	static const struct { const char *rule, *text; bool fits; } cases[] = {
		{ "a host", "http://a:8080", true }, { "an address and a path", "https://[::1]/b/c;d=1,2", true }, { "nothing", "", false },
		{ "a reference", "http://a/&", false }, { "a quote", "http://a/'", false }, { "another", "http://a/\"", false }, { "markup", "http://a/<", false },
		{ "white space", "http://a/ b", false }, { "a control", "http://a/\x7f", false }, { "beyond ASCII", "http://\xc3\xa9/", false },
	};
	static char large[GATEWAY_MAX + 2];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		UNIT_ROW(gateway_fits(cases[i].text) == cases[i].fits, "%s", cases[i].rule);
	memset(large, 'a', GATEWAY_MAX);
	CU_ASSERT(gateway_fits(large));
	large[GATEWAY_MAX] = 'a';
	CU_ASSERT(!gateway_fits(large));
}

/* The longest gateway, with a text that is its own but for the end, and a tag as long as is read. */
static void longest(void)
{
	static char name[GATEWAY_MAX + 1], in[8192], out[8192], got[16384];
	struct gathered g = { got, 0, sizeof got };
	uint64_t counts[REPAIR_COUNT];
	int n;

	memset(name, 'a', GATEWAY_MAX);
	memcpy(name, "https://", 8);
	gateway = name;
	n = snprintf(in, sizeof in, "<rss><image><url>%sb</url></image></rss>", name);
	snprintf(out, sizeof out, "<rss><image><url>%s/%sb</url></image></rss>", name, name);
	for (size_t step = 1; step < 90; step += 11) {
		repair_all(&g, REPAIR_ALL | REPAIR_GATEWAY, 0, (struct text){ in, (size_t)n }, 0, step, counts);
		UNIT_ROW(g.len == strlen(out) && memcmp(g.bytes, out, g.len) == 0 && led == 1, "in steps of %zu", step);
	}
	gateway = "http://gw:8080";
	n = snprintf(in, sizeof in, "<rss><enclosure url='https://%4100d'/></rss>", 0);
	repair_all(&g, REPAIR_ALL | REPAIR_GATEWAY, 0, (struct text){ in, (size_t)n }, 0, 100, counts);
	CU_ASSERT(g.len == (size_t)n && memcmp(g.bytes, in, g.len) == 0 && led == 0);
}

/* Texts that would take long if anything was looked at again and again; in whole and in small pieces. */
static void linear(void)
{
	static const struct { const char *rule, *start, *text; } cases[] = {
		{ "URLs", "<feed>", "<logo>https://a/</logo>" }, { "its own", "<feed>", "<logo>https://gw/p/q/</logo>" },
		{ "cut before its own end", "<feed>", "<icon>https://gw/p</icon>" }, { "open", "<feed>", "<logo>" }, { "white space", "<feed><logo>", " " },
		{ "white space in a section", "<feed><logo><![CDATA[", "\n" }, { "sections", "<feed>", "<logo><![CDATA[https://gw/" },
		{ "references", "<feed>", "<logo>&#104;&#x74;&#116;&#112;&#115;&#58;</logo>" }, { "tags", "<feed>", "<enclosure url='https://a/'/>" },
	};
	enum { LEN = 100000 };
	char *in = malloc(LEN), *out = malloc(8 * LEN);

	CU_ASSERT_FATAL(in && out);
	gateway = "https://gw/p/q";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const size_t steps[] = { LEN, 61, 1 };
		size_t n = strlen(cases[i].text), whole = 0, at = strlen(cases[i].start);
		uint64_t counts[REPAIR_COUNT];

		memcpy(in, cases[i].start, at);
		for (; at < LEN; at += n < LEN - at ? n : LEN - at)
			memcpy(in + at, cases[i].text, n < LEN - at ? n : LEN - at);
		for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++) {
			struct gathered g = { out, 0, 8 * LEN };

			repair_all(&g, REPAIR_ALL | REPAIR_GATEWAY, 0, (struct text){ in, LEN }, 0, steps[j], counts);
			whole = j == 0 ? g.len : whole;
			UNIT_ROW(g.len == whole, "%s, in steps of %zu", cases[i].rule, steps[j]);
		}
	}
	free(in);
	free(out);
}

static void all_places(void)
{
	gateway = "http://gw:8080";
	places();
	urls();
	ends();
}

UNIT_SUITE(repair_gateway, { "places, urls, ends", all_places }, { "own", own }, { "fits", fits }, { "longest", longest },
    { "linear", linear })
