/* Owns the cases of proxy/http/start_page.c: the targets and clients that get the page, and the ways in that it names.
 * Invariant: each row names its rule. */
#include "proxy/http/start_page.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void targets(void)
{
	static const struct { const char *rule, *target; bool want; } cases[] = {
		{ "the root", "/", true },
		{ "a form without values", "/?", true },
		{ "a URL in a query is none", "/?url=http://a.example/", false },
		{ "nor is any other query", "/?x", false },
		{ "a path", "/index.html", false },
		{ "two slashes", "//", false },
		{ "the forward proxy", "http://a.example/", false },
		{ "OPTIONS *", "*", false },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		UNIT_ROW(start_page_is(head_slice(cases[i].target)) == cases[i].want, "%s", cases[i].rule);
}

static void clients(void)
{
	static const struct { const char *rule, *lines; enum start_page want; } cases[] = {
		{ "a browser", "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\n", START_PAGE_HTML },
		{ "curl", "Accept: */*\n", START_PAGE_TEXT },
		{ "a program without Accept", "", START_PAGE_TEXT },
		{ "RFC 9110 12.4.2: HTML is not acceptable", "Accept: text/html;q=0, */*\n", START_PAGE_TEXT },
		{ "text rather than HTML", "Accept: text/html;q=0.5, text/plain\n", START_PAGE_TEXT },
		{ "either", "Accept: text/plain, text/html\n", START_PAGE_HTML },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg m;

		head_read(&m, cases[i].lines, 0);
		UNIT_ROW(start_page_of(&m) == cases[i].want, "%s", cases[i].rule);
		head_free(&m);
	}
}

static void written(struct text *t, enum start_page page, const char *const words[4], const char *own)
{
	static char *const none[] = { NULL };
	const char *argv[5] = { "serve" };
	struct conf *conf = conf_new();
	struct conf_error error = { "" };
	int argc = 1;

	while (argc < 5 && words[argc - 1]) {
		argv[argc] = words[argc - 1];
		argc++;
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
	if (!UNIT_ROW(conf_load(conf, argc, (char *const *)(uintptr_t)argv, none, &error) == 0, "%s", error.text))
		CU_FAIL_FATAL("configuration");
	start_page_write(t, page, conf, head_slice(own));
	text_add(t, "", 1);
	CU_ASSERT_FATAL(!t->failed);
	conf_free(&conf);
}

#define ALONE "--gateway=off", "--forward=off", "--route=/a/=http://b.example/"
#define OWN "http://u.example:8080"

static void ways(void)
{
	static const struct {
		const char *rule, *words[4], *own;
		enum start_page page;
		const char *has, *lacks;
	} cases[] = {
		{ "the gateway for readers", { 0 }, OWN, START_PAGE_HTML, "<pre>" OWN "/https://example.org/feed.xml</pre>", "curl" },
		{ "the gateway for a shell", { 0 }, OWN, START_PAGE_TEXT, "\n    curl " OWN "/https://example.org/feed.xml\n", "<" },
		{ "a query that a shell leaves alone", { 0 }, OWN, START_PAGE_TEXT, "curl '" OWN "/?url=https://example.org/feed.xml'\n", "<" },
		{ "a form leads through the gateway", { 0 }, OWN, START_PAGE_HTML, "name=\"url\"", "action" },
		{ "no form without the gateway", { "--gateway", "off" }, OWN, START_PAGE_HTML, "<pre>" OWN "</pre>", "<form" },
		{ "no gateway", { "--gateway", "off" }, OWN, START_PAGE_TEXT, "curl -x " OWN " http://example.org/feed.xml", "/https:" },
		{ "no forward proxy", { "--forward", "off" }, OWN, START_PAGE_TEXT, "?url=", "-x" },
		{ "routes alone", { ALONE }, OWN, START_PAGE_TEXT, "serves only the paths", OWN },
		{ "routes alone, in HTML", { ALONE }, OWN, START_PAGE_HTML, "<p>utfeed serves only the paths", "<pre" },
		{ "paths are not all there is", { 0 }, OWN, START_PAGE_TEXT, "curl", "serves only the paths" },
		{ "routes are not named", { "--route", "/secret/=http://b.example/" }, OWN, START_PAGE_HTML, "utfeed", "secret" },
		{ "proxy.pac", { "--pac", "on" }, OWN, START_PAGE_TEXT, OWN "/proxy.pac", "<" },
		{ "no password", { 0 }, OWN, START_PAGE_TEXT, "curl", "PASSWORD" },
		{ "no proxy.pac", { 0 }, OWN, START_PAGE_TEXT, "curl", "proxy.pac" },
		{ "markup is escaped", { 0 }, "http://u.example/a&b<c>", START_PAGE_HTML, "<pre>http://u.example/a&amp;b&lt;c&gt;/https:", "a&b" },
		{ "text is not", { 0 }, "http://u.example/a&b", START_PAGE_TEXT, "curl http://u.example/a&b/https:", "&amp;" },
		{ "no version, in HTML", { 0 }, OWN, START_PAGE_HTML, "<title>utfeed</title>", PACKAGE_VERSION },
		{ "no version, in text", { 0 }, OWN, START_PAGE_TEXT, "utfeed makes", PACKAGE_VERSION },
		{ "no script", { 0 }, OWN, START_PAGE_HTML, "</html>", "script" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct text t = { 0 };

		written(&t, cases[i].page, cases[i].words, cases[i].own);
		UNIT_ROW(strstr(t.bytes, cases[i].has) && !strstr(t.bytes, cases[i].lacks), "%s: %s", cases[i].rule, t.bytes);
		UNIT_ROW(t.bytes[t.len - 2] != '\n', "%s: ends in a line feed", cases[i].rule);
		text_free(&t);
	}
}

UNIT_SUITE(start_page, { "targets", targets }, { "clients", clients }, { "ways", ways })
