/* Owns the cases of routes: patterns, the most specific match, targets, inheritance.
 * Must not know: how a file or flag carries a route (test_conf.c). Invariant: each row names its rule. */
#include "tests/unit/conf/loads.h"

#include <stdio.h>

/* Loads `serve --route ROUTE ...`; the caller frees. */
static struct conf *load(const char *const *routes, size_t count, struct conf_error *error)
{
	const char *words[64] = { "serve" };
	size_t n = 1;
	struct conf *conf = make();

	for (size_t i = 0; i < count && routes[i]; i++) {
		words[n++] = "--route";
		words[n++] = routes[i];
	}
	if (load_words(conf, words, NULL, error) != 0)
		conf_free(&conf);
	return conf;
}

static void matches(void)
{
	static const char *const routes[] = {
		"/=http://o name=root", "/news=http://o name=news", "/news/=http://o name=news-below", "/news/old/=http://o name=old",
		"//feeds.example/=http://o name=host", "//feeds.example/news=http://o name=host-news",
		"//feeds.example:8080/=http://o name=port", "//[::1]/=http://o name=ipv6", "//Dot.Example./=http://o name=dot",
		"//plain.example:80/=http://o name=eighty", "//b\303\274cher.Example:8081/=http://o name=unicode",
		"//xn--fa-hia.example/=http://o name=a-label", "//%d0%bf%d1%80.example/=http://o name=encoded",
		"/\346\227\245/=http://o name=text", "/%C3%BC=http://o name=escaped",
	};
	static const struct { const char *rule, *host, *path, *name; } cases[] = {
		{ "any path", "x", "/feed.xml", "root" },
		{ "no Host", "", "/feed.xml", "root" },
		{ "bad Host", "a b", "/feed.xml", "root" },
		{ "segment itself", "x", "/news", "news" },
		{ "segment with query", "x", "/news?a=/news/old/", "news" },
		{ "segment border", "x", "/newsletter", "root" },
		{ "longest prefix", "x", "/news/a", "news-below" },
		{ "longer prefix", "x", "/news/old/a", "old" },
		{ "prefix ending in / wants the /", "x", "/news/old", "news-below" },
		{ "case of the path counts", "x", "/NEWS", "root" },
		{ "host before no host, though shorter", "feeds.example", "/news/old/a", "host-news" },
		{ "host, other path", "feeds.example", "/b", "host" },
		{ "case of the host does not count", "FEEDS.Example", "/b", "host" },
		{ "any port", "feeds.example:81", "/b", "host" },
		{ "host and port before host, though shorter", "feeds.example:8080", "/news", "port" },
		{ "root label of the field", "feeds.example.", "/b", "host" },
		{ "root label of the pattern", "dot.example", "/b", "dot" },
		{ "only whole hosts", "xfeeds.example", "/b", "root" },
		{ "only whole hosts", "feeds.example.com", "/b", "root" },
		{ "IPv6", "[::1]:8080", "/b", "ipv6" },
		{ "no port is port 80", "plain.example", "/b", "eighty" },
		{ "port 80 written", "plain.example:80", "/b", "eighty" },
		{ "another port", "plain.example:81", "/b", "root" },
		{ "RFC 5891: a pattern in Unicode", "xn--bcher-kva.example:8081", "/b", "unicode" },
		{ "RFC 5891: its port", "xn--bcher-kva.example", "/b", "root" },
		{ "RFC 5891: a pattern in A-labels", "XN--fa-hia.example", "/b", "a-label" },
		{ "RFC 3987 3.1: text in a pattern is its escapes", "x", "/%E6%97%A5/a", "text" },
		{ "a pattern of escapes", "x", "/%C3%BC/a", "escaped" },
		{ "RFC 3986 3.2.2: a pattern percent-encoded", "xn--o1ac.example", "/b", "encoded" },
	};
	struct conf_error error;
	struct conf *conf = load(routes, sizeof(routes) / sizeof(routes[0]), &error);

	CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct conf_route *route = conf_route_match(conf, cases[i].host, strlen(cases[i].host), cases[i].path, strlen(cases[i].path));
		UNIT_ROW(route && strcmp(route->name, cases[i].name) == 0, "%s: %s %s: got %s", cases[i].rule, cases[i].host, cases[i].path,
			route ? route->name : "none");
	}
	conf_free(&conf);
}

static void no_match(void)
{
	static const char *const routes[] = { "/a=http://o" };
	struct conf_error error;
	struct conf *conf = load(NULL, 0, &error);

	CU_ASSERT_PTR_NULL(conf_route_match(conf, "x", 1, "/", 1));
	conf_free(&conf);
	conf = load(routes, 1, &error);
	CU_ASSERT_PTR_NULL(conf_route_match(conf, "x", 1, "/", 1));
	CU_ASSERT_PTR_NULL(conf_route_match(conf, "x", 1, "", 0));
	CU_ASSERT_PTR_NULL(conf_route_match(conf, "x", 1, "*", 1));
	conf_free(&conf);
}

static void targets(void)
{
	static const struct { const char *rule, *route, *path, *target; } cases[] = {
		{ "no origin path", "/=http://o", "/a/b", "/a/b" },
		{ "root", "/=http://o/", "/", "/" },
		{ "query kept", "/=http://o/", "/a?b=c?d", "/a?b=c?d" },
		{ "prefix replaced", "/news/=http://o/feeds/", "/news/a.xml", "/feeds/a.xml" },
		{ "prefix dropped", "/news/=http://o", "/news/a.xml", "/a.xml" },
		{ "prefix dropped, no slash", "/news=http://o", "/news/a.xml", "/a.xml" },
		{ "segment itself", "/news=http://o/feeds", "/news", "/feeds" },
		{ "segment and below", "/news=http://o/feeds", "/news/a", "/feeds/a" },
		{ "segment with query", "/news=http://o/feeds", "/news?a", "/feeds?a" },
		{ "slash only in the origin", "/news=http://o/feeds/", "/news/a", "/feeds/a" },
		{ "slash only in the pattern", "/news/=http://o/feeds", "/news/a", "/feeds/a" },
		{ "one feed", "/f=http://o/x/feed.php?", "/f", NULL },
		{ "one feed", "/f=http://o/x/feed.php", "/f?id=1", "/x/feed.php?id=1" },
		{ "double slash kept", "/=http://o/", "//a", "//a" },
		{ "double slash under a base", "/=http://o/b", "//a", "/b//a" },
		{ "dots may not leave the base", "/=http://o/b/", "/../a", "" },
		{ "encoded dots neither", "/=http://o/b/", "/%2e%2e/a", "" },
		{ "dots in the query are text", "/=http://o/b/", "/a?../..", "/b/a?../.." },
		{ "no base, nothing to leave", "/=http://o/", "/../a", "/../a" },
		{ "percent-encoding left alone", "/=http://o/b/", "/%D0%BF%20", "/b/%D0%BF%20" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_error error;
		struct conf *conf = load(&cases[i].route, 1, &error);
		char target[64];
		UNIT_ROW((conf != NULL) == (cases[i].target != NULL), "%s", cases[i].rule);
		if (!conf)
			continue;
		const struct conf_route *route = conf_route_match(conf, "h", 1, cases[i].path, strlen(cases[i].path));
		CU_ASSERT_PTR_NOT_NULL_FATAL(route);
		size_t len = conf_route_target(route, cases[i].path, strlen(cases[i].path), target, sizeof(target));
		UNIT_ROW(len == strlen(cases[i].target) && memcmp(target, cases[i].target, len) == 0, "%s: %.*s", cases[i].rule, (int)len, target);
		for (size_t cap = 0; cap < len; cap++)
			UNIT_ROW(conf_route_target(route, cases[i].path, strlen(cases[i].path), target, cap) == 0, "%s: cap %zu", cases[i].rule, cap);
		conf_free(&conf);
	}
}

static void origins(void)
{
	static const struct { const char *text, *host, *path, *authority; unsigned port; enum url_scheme scheme; bool ipv6; } cases[] = {
		{ "/=http://Origin.Example", "origin.example", "/", "origin.example", 80, URL_HTTP, false },
		{ "/=http://o:80/a", "o", "/a", "o", 80, URL_HTTP, false },
		{ "/=https://o:443/a/", "o", "/a/", "o", 443, URL_HTTPS, false },
		{ "/=https://o:80/", "o", "/", "o:80", 80, URL_HTTPS, false },
		{ "/=http://[::1]:8100", "::1", "/", "[::1]:8100", 8100, URL_HTTP, true },
		{ "/=http://[2001:DB8::1]", "2001:db8::1", "/", "[2001:db8::1]", 80, URL_HTTP, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_error error;
		struct conf *conf = load(&cases[i].text, 1, &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
		const struct conf_origin *origin = &conf->routes.items[0].origin;
		UNIT_ROW(strcmp(origin->host, cases[i].host) == 0, "%s: %s", cases[i].text, origin->host);
		UNIT_ROW(strcmp(origin->path, cases[i].path) == 0, "%s: %s", cases[i].text, origin->path);
		UNIT_ROW(strcmp(origin->authority, cases[i].authority) == 0, "%s: %s", cases[i].text, origin->authority);
		UNIT_ROW(origin->port == cases[i].port && origin->scheme == cases[i].scheme && origin->ipv6 == cases[i].ipv6, "%s", cases[i].text);
		conf_free(&conf);
	}
}

static void refused(void)
{
	static const struct { const char *routes[2], *message; } cases[] = {
		{ { "/" }, "--route: '/' has no origin; write PATTERN=ORIGIN[ NAME=VALUE]..." },
		{ { "" }, "--route: '' has no origin; write PATTERN=ORIGIN[ NAME=VALUE]..." },
		{ { "news=http://o" }, "--route: 'news' is not a pattern; write /prefix or //host[:port]/prefix, without =" },
		{ { "/a b=http://o" }, "--route: '/a' has no origin; write PATTERN=ORIGIN[ NAME=VALUE]..." },
		{ { "/a?b=http://o" }, "--route: '/a?***' is not a pattern; write /prefix or //host[:port]/prefix, without =" },
		{ { "/a/../b=http://o" }, "--route: '/a/../b' has a dot segment; write /prefix or //host[:port]/prefix, without =" },
		{ { "//host=http://o" }, "--route: '//host' has no path, at least a final /; write /prefix or //host[:port]/prefix, without =" },
		{ { "///=http://o" }, "--route: '///' does not name a valid host; write /prefix or //host[:port]/prefix, without =" },
		{ { "//h:0/=http://o" }, "--route: '//h:0/' does not name a valid host; write /prefix or //host[:port]/prefix, without =" },
		{ { "/=o:80" }, "--route: origin: 'o:80' is not an origin: its scheme is neither http nor https; write http://host[:port][/path], or the same with https" },
		{ { "/=http://o?a" }, "--route: origin: 'http://o?***' has a query, which comes from the request; write http://host[:port][/path], or the same with https" },
		{ { "/=http://u:p@o/" }, "--route: origin: 'http://***@o/' is not an origin: it holds user information; write http://host[:port][/path], or the same with https" },
		{ { "/=http://o/a/../b" }, "--route: origin: 'http://o/a/../b' has a dot segment in its path; write http://host[:port][/path], or the same with https" },
		{ { "/=http://o fast=yes" }, "--route: 'fast' is not an option of a route; utfeed serve --help lists them" },
		{ { "/=http://o normalise" }, "--route: a word behind the origin is not NAME=VALUE; write quotes around a value with blanks" },
		{ { "/=http://o origin-fields=hunter2" }, "--route: origin-fields: field 1 is not NAME: VALUE; write NAME: VALUE, with commas "
			"between, and \\, for a comma in a value" },
		{ { "/=http://o user-agent=\"a b" }, "--route: user-agent: a quoted value has no closing quote; write \" at its end" },
		{ { "/=http://o user-agent=\"a\"b" }, "--route: user-agent: text stands behind a closing quote; write a blank there" },
		{ { "/=\"http://o" }, "--route: origin: a quoted value has no closing quote; write \" at its end" },
		{ { "/=http://o normalise=maybe" },
			"--route: normalise: 'maybe' is not a switch; write on or off" },
		{ { "/=http://o charset=utf-7" },
			"--route: charset: 'utf-7' is not an encoding that utfeed knows; write none, or a label that utfeed charsets lists" },
		{ { "/=http://o output=utf-8 output=utf-8" }, "--route: output: is given twice for the route /, first at --route; write it once" },
		{ { "/=http://o origin=http://p" }, "--route: origin: is given twice for the route /, first at --route; write it once" },
		{ { "/=http://o", "/=http://p" }, "--route: route / is also set at --route; write one route for each pattern" },
		{ { "//A/=http://o", "//a./=http://p" }, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_error error = { "" };
		struct conf *conf = load(cases[i].routes, 2, &error);
		UNIT_ROW(conf == NULL, "%s", cases[i].routes[0]);
		UNIT_ROW(!cases[i].message || strcmp(error.text, cases[i].message) == 0, "%s: got %s", cases[i].routes[0], error.text);
		conf_free(&conf);
	}
}

static void inherits(void)
{
	static const char *const words[] = { "serve", "--policy", "rfc7303", "--repair=-junk", "--output=us-ascii", "--on-error=pass",
		"--route=/a=http://o", "--route=/b=http://o policy=4suite charset=KOI8-R normalise=off repair=none output=utf-8 on-error=reject name=b", NULL };
	struct conf_error error;
	struct conf *conf = make();

	CU_ASSERT_EQUAL_FATAL(load_words(conf, words, NULL, &error), 0);
	const struct conf_route *a = conf_route_match(conf, "", 0, "/a", 2), *b = conf_route_match(conf, "", 0, "/b", 2);
	const struct conf_route *inheriting[] = { a, &conf->direct };
	for (size_t i = 0; i < 2; i++) {
		UNIT_ROW(inheriting[i]->policy == POLICY_RFC7303, "%zu", i);
		UNIT_ROW(inheriting[i]->repair == (REPAIR_ALL & ~REPAIR_JUNK), "%zu", i);
		UNIT_ROW(inheriting[i]->output == OUTPUT_US_ASCII, "%zu", i);
		UNIT_ROW(inheriting[i]->on_error == ON_ERROR_PASS, "%zu", i);
		UNIT_ROW(inheriting[i]->charset == CS_NONE, "%zu", i);
		UNIT_ROW(inheriting[i]->normalise, "%zu", i);
	}
	CU_ASSERT_PTR_NULL(conf->direct.origin.host);
	CU_ASSERT_STRING_EQUAL(a->name, "/a");
	CU_ASSERT_STRING_EQUAL(b->name, "b");
	CU_ASSERT_EQUAL(b->policy, POLICY_FOURSUITE);
	CU_ASSERT_EQUAL(b->charset, CS_KOI8_R);
	CU_ASSERT_EQUAL(b->repair, 0);
	CU_ASSERT_EQUAL(b->output, OUTPUT_UTF_8);
	CU_ASSERT_EQUAL(b->on_error, ON_ERROR_REJECT);
	CU_ASSERT_FALSE(b->normalise);
	conf_free(&conf);
}

/* The fields of origin-fields, "NAME=VALUE;" each; "!" and the beginning of an error. */
static void fields(void)
{
	static const struct { const char *rule, *value, *want, *shown; } cases[] = {
		{ "none", "", "", "" },
		{ "one", "X-Key: abc", "X-Key=abc;", "X-Key: ***" },
		{ "without a blank", "X-Key:abc", "X-Key=abc;", "X-Key: ***" },
		{ "several", "X-Key: a b , Cookie: c=d; e=f,Z:1", "X-Key=a b;Cookie=c=d; e=f;Z=1;", "X-Key: ***, Cookie: ***, Z: ***" },
		{ "a comma in a value", "X-Key: a\\, b, Z: 1", "X-Key=a, b;Z=1;", "X-Key: ***, Z: ***" },
		{ "another backslash stays", "X-Key: a\\b\\", "X-Key=a\\b\\;", "X-Key: ***" },
		{ "a line each", "X-Key: a\r\nZ: 1", "X-Key=a;Z=1;", "X-Key: ***, Z: ***" },
		{ "colons and quotes in a value", "Authorization: Digest a=\"b:c\"", "Authorization=Digest a=\"b:c\";", "Authorization: ***" },
		{ "9110 5.1: a name is a token", "!#$%&'*+-.^_`|~9: a", "!#$%&'*+-.^_`|~9=a;", "!#$%&'*+-.^_`|~9: ***" },
		{ "no colon", "hunter2", "!field 1 is not NAME: VALUE; write NAME: VALUE, ", "" },
		{ "no colon in the second", "X-Key: a, hunter2", "!field 2 is not NAME: VALUE", "" },
		{ "no name", ": hunter2", "!field 1 is not", "" },
		{ "no value", "X-Key:", "!field 1 is not", "" },
		{ "a blank in the name", "hunter 2: a", "!field 1 is not", "" },
		{ "a blank before the colon", "X-Key : a", "!field 1 is not", "" },
		{ "nothing behind a comma", "X-Key: a, ", "!field 2 is not", "" },
		{ "nothing between commas", "X-Key: a,,Z: 1", "!field 2 is not", "" },
		{ "a control in the value", "X-Key: a\x01", "!field 1 has the code 0x01 in its value; write printable ASCII characters alone", "" },
		{ "CR in the value", "X-Key: a\rZ: b", "!field 1 has the code 0x0d", "" },
		{ "beyond ASCII", "X-Key: \303\274", "!field 1 has the code 0xc3", "" },
		{ "twice", "X-Key: a, x-key: b", "!field 2 is given twice; write it once", "" },
		{ "too many", "A:1,B:1,C:1,D:1,E:1,F:1,G:1,H:1,I:1,J:1,K:1,L:1,M:1,N:1,O:1,P:1,Q:1", "!has too many fields; write at most 16", "" },
	};
	const struct conf_row *row = &conf_route_options[CONF_ROUTE_origin_fields];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct conf_route route = { 0 };
		struct conf_error error = { "" };
		struct conf_value value = { cases[i].value, "w" };
		char got[256] = "";
		int status = conf_fields_set(row, &route.origin_fields, &value, &error);
		if (status != 0)
			snprintf(got, sizeof(got), "!%.*s", (int)strlen(cases[i].want) - 1, error.text);
		for (size_t j = 0; j < route.origin_fields.count; j++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s=%s;", route.origin_fields.items[j].name,
				route.origin_fields.items[j].value);
		UNIT_ROW(strcmp(got, cases[i].want) == 0, "%s: got %s", cases[i].rule, got);
		UNIT_ROW(strstr(error.text, "hunter") == NULL, "%s: told", cases[i].rule);
		if (status == 0) {
			char *format = conf_format(row, &route), *shown = conf_show(row, &route);
			UNIT_ROW(strcmp(format, cases[i].value) == 0 && strcmp(shown, cases[i].shown) == 0, "%s: %s, %s", cases[i].rule, format, shown);
			free(format);
			free(shown);
		}
		conf_fields_clear(&route.origin_fields);
	}
}

UNIT_SUITE(route, { "fields", fields }, { "matches", matches }, { "no match", no_match }, { "targets", targets }, { "origins", origins }, { "refused", refused },
	{ "inherits", inherits })
