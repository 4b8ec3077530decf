/* Owns the cases of proxy/http/accept_feeds.c. Invariant: each row names its rule (sections of RFC 9110). */
#include "proxy/http/accept_feeds.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void first(void)
{
	static const struct { const char *rule, *lines; bool want; } cases[] = {
		{ "none", "", false },
		{ "empty", "Accept:\n", false },
		{ "anything", "Accept: */*\n", false },
		{ "anything of a kind", "Accept: application/*\n", false },
		{ "RSS", "Accept: application/rss+xml\n", true },
		{ "Atom in capitals", "Accept: Application/Atom+XML\n", true },
		{ "RDF", "Accept: application/rdf+xml, */*;q=0.1\n", true },
		{ "XML", "Accept: text/xml\n", true },
		{ "XHTML is a page", "Accept: application/xhtml+xml, application/xml\n", false },
		{ "a browser", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\n", false },
		{ "JSON first", "Accept: application/json, application/rss+xml\n", false },
		{ "12.5.4: of equals the first", "Accept: application/rss+xml, text/html\n", true },
		{ "12.4.2: the heaviest counts", "Accept: text/html;q=0.2, application/rss+xml\n", true },
		{ "12.4.2: wherever it stands", "Accept: application/rss+xml;q=0.5, text/html;q=0.6\n", false },
		{ "12.4.2: three digits", "Accept: text/html;q=0.998, application/rss+xml;q=0.999\n", true },
		{ "12.4.2: q in capitals", "Accept: text/html;Q=0.2, application/rss+xml;Q=0.3\n", true },
		{ "12.4.2: 1.000 is 1", "Accept: text/html;q=1, application/rss+xml;q=1.000\n", false },
		{ "12.4.2: 0 is not acceptable", "Accept: application/rss+xml;q=0\n", false },
		{ "12.4.2: 0.000 neither", "Accept: application/rss+xml;q=0.000, text/html;q=0.001\n", false },
		{ "no weight counts as full", "Accept: text/html;q=0.9, application/rss+xml;q=x\n", true },
		{ "more than 1 counts as full", "Accept: text/html;q=0.9, application/rss+xml;q=1.5\n", true },
		{ "other parameters", "Accept: application/atom+xml;type=feed;q=0.9, text/html;q=0.8\n", true },
		{ "blanks", "Accept: text/html ; q=0.1 , application/rss+xml ; q=0.9\n", true },
		{ "two lines", "Accept: text/html;q=0.5\nAccept: application/rss+xml\n", true },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg m;

		head_read(&m, cases[i].lines, 0);
		UNIT_ROW(accept_feeds_first(&m) == cases[i].want, "%s", cases[i].rule);
		head_free(&m);
	}
}

static void ours(void)
{
	struct http_msg m;

	head_read(&m, "Accept: " ACCEPT_FEEDS "\n", 0);
	CU_ASSERT(accept_feeds_first(&m));
	head_free(&m);
}

static void named(void)
{
	static const struct { const char *rule, *lines; int want; } cases[] = {
		{ "none", "", 0 },
		{ "a browser", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\n", 1000 },
		{ "in capitals", "Accept: TEXT/HTML\n", 1000 },
		{ "12.5.1: a range does not name it", "Accept: */*, text/*\n", 0 },
		{ "12.4.2: its weight", "Accept: text/plain, text/html;level=1;q=0.25\n", 250 },
		{ "12.4.2: 0 is not acceptable", "Accept: text/html;q=0\n", 0 },
		{ "the second line", "Accept: text/plain\nAccept: text/html;q=0.5\n", 500 },
		{ "a longer type", "Accept: text/html+x\n", 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg m;

		head_read(&m, cases[i].lines, 0);
		UNIT_ROW(accept_named(&m, "text/html") == cases[i].want, "%s", cases[i].rule);
		head_free(&m);
	}
}

UNIT_SUITE(accept_feeds, { "first", first }, { "ours", ours }, { "named", named })
