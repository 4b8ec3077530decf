/* Owns the cases of proxy/http/location.c. Invariant: each row names its rule; "WHATWG" is the URL Standard's "basic URL
 * parser", RFC numbers are sections of RFC 3986 where none is given. */
#include "proxy/http/location.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static struct slice slice(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

static void leads(const char *rule, const char *base, struct slice reference, const char *want)
{
	struct destination at = { .path = NULL }, to = { .path = NULL };
	struct text t = { 0 };
	const char *why = NULL;
	enum destination_error e;

	CU_ASSERT_EQUAL_FATAL(destination_from_url(&at, slice(base), &why), DESTINATION_OK);
	e = location_follow(&to, &at, reference, &why);
	if (e == DESTINATION_OK)
		destination_url(&t, &to);
	UNIT_ROW((e == DESTINATION_OK) == (want != NULL), "%s: %s", rule, why ? why : "no reason");
	UNIT_ROW(!want || (t.len == strlen(want) && !memcmp(t.bytes, want, t.len)), "%s: %.*s", rule, (int)t.len, t.bytes ? t.bytes : "");
	text_free(&t);
	destination_free(&at);
	destination_free(&to);
}

static void references(void)
{
	static const struct { const char *rule, *reference, *to; } cases[] = {
		{ "WHATWG path percent-encode set: a blank", "/new place", "http://h/new%20place" },
		{ "WHATWG: quotation marks", "/a\"b\"", "http://h/a%22b%22" },
		{ "WHATWG: angle brackets, braces, accent, circumflex", "/<a>`^{b}", "http://h/%3Ca%3E%60%5E%7Bb%7D" },
		{ "WHATWG: a bar and brackets stay", "/a|b[1]", "http://h/a|b[1]" },
		{ "WHATWG: an apostrophe stays in a path", "/it's", "http://h/it's" },
		{ "WHATWG special-query percent-encode set", "?q='a b\"<c>", "http://h/x/f?q=%27a%20b%22%3Cc%3E" },
		{ "WHATWG query set: braces and accent stay", "?{a}`^", "http://h/x/f?{a}`^" },
		{ "WHATWG UTF-8 percent-encode: bytes as they stand", "/caf\xc3\xa9", "http://h/caf%C3%A9" },
		{ "issue 32, part 8: bytes that are no UTF-8", "/caf\xe9?\xff=\x80", "http://h/caf%E9?%FF=%80" },
		{ "WHATWG: what is escaped stays, and what is none too", "/100%25 50%", "http://h/100%25%2050%" },
		{ "WHATWG special URLs: a backslash is a slash", "\\new\\a", "http://h/new/a" },
		{ "WHATWG: in dot segments too", "\\a\\..\\b", "http://h/b" },
		{ "WHATWG: two of them begin an authority", "\\\\k\\a", "http://k/a" },
		{ "WHATWG: behind a scheme", "http:\\\\k\\a", "http://k/a" },
		{ "no request line has one (RFC 9112 3.2.1): in a query it is escaped", "/a?b\\c", "http://h/a?b%5Cc" },
		{ "WHATWG: a tab is removed", "/ne\tw", "http://h/new" },
		{ "WHATWG: blanks round it go", "  /new \t", "http://h/new" },
		{ "a control character is no part of a URL", "/a\x01", NULL },
		{ "nor is DEL", "/a\x7f", NULL },
		{ "RFC 9110 10.2.2: the fragment is cut", "/new#top", "http://h/new" },
		{ "with blanks and marks in it", "/new#a b?c", "http://h/new" },
		{ "4.4: the fragment alone is the same document", "#top", "http://h/x/f?q" },
		{ "4.4: nothing at all, too", "", "http://h/x/f?q" },
		{ "5.2.2: a path drops the query", "g", "http://h/x/g" },
		{ "5.2.2: a query alone keeps the path", "?r", "http://h/x/f?r" },
		{ "5.2.2: an empty query counts", "?", "http://h/x/f?" },
		{ "5.2.4: dot segments", "../a/./b/..", "http://h/a/" },
		{ "5.2.4: more steps up than there are", "../../../g", "http://h/g" },
		{ "5.2.4: in an absolute URL too", "http://k/a/../b/.", "http://k/b/" },
		{ "WHATWG double-dot URL path segment: escaped", "/a/b/%2e%2E/.%2e/c", "http://h/c" },
		{ "5.2.4: not in the query", "/a?b/../c", "http://h/a?b/../c" },
		{ "three dots are a name", "/.../a", "http://h/.../a" },
		{ "4.2: another host, the same scheme", "//k/a", "http://k/a" },
		{ "4.2: its path may be empty", "//k?a b", "http://k/?a%20b" },
		{ "WHATWG special authority ignore slashes state", "///k/a", "http://k/a" },
		{ "WHATWG: a slash too few behind another scheme", "https:/k/a", "https://k/a" },
		{ "WHATWG: none", "https:k/a", "https://k/a" },
		{ "WHATWG: behind the same scheme it is relative", "http:a", "http://h/x/a" },
		{ "WHATWG: a path", "HTTP:/a", "http://h/a" },
		{ "WHATWG: one too many", "http:///k/a", "http://k/a" },
		{ "WHATWG IDNA: a host in UTF-8", "http://b\xc3\xbc" "cher.example/\xc3\xbc", "http://xn--bcher-kva.example/%C3%BC" },
		{ "behind two slashes too", "//b\xc3\xbc" "cher.example/ ", "http://xn--bcher-kva.example/" },
		{ "WHATWG host: no blanks", "http://b b/g", NULL },
		{ "WHATWG host: it is not empty", "http://", NULL },
		{ "RFC 9110 4.2.4: user information is an error", "http://u:p@k/", NULL },
		{ "the same behind slashes alone", "//u@k/", NULL },
		{ "a backslash ends the authority before @ (WHATWG)", "http://k\\@l/", "http://k/@l/" },
		{ "port 0 is none", "http://k:0/", NULL },
		{ "RFC 9110 4.2: another scheme", "ftp://k/a", NULL },
		{ "one that only begins like ours", "httpx://k/a", NULL },
		{ "one without slashes", "javascript:alert(1)", NULL },
		{ "4.2: a colon in a path behind ./ is no scheme", "./a:b", "http://h/x/a:b" },
	};
	char nul[] = "/a\0b";

	for (size_t i = 0; i < COUNT(cases); i++)
		leads(cases[i].rule, "http://h/x/f?q", slice(cases[i].reference), cases[i].to);
	leads("a NUL is no part of a URL", "http://h/", (struct slice){ nul, sizeof nul - 1 }, NULL);
	leads("an LF is none (RFC 9110 5.5)", "http://h/", slice("/a\nb"), NULL);
	leads("the port stays (5.2.2)", "http://h:81/f", slice("/g"), "http://h:81/g");
	leads("IPv6 stays in brackets", "http://[::1]:81/f", slice("g"), "http://[::1]:81/g");
	leads("the scheme stays", "https://h/f", slice("//k/"), "https://k/");
	leads("the base's scheme is the same one", "https://h/a/f", slice("https:g"), "https://h/a/g");
	leads("the base's is the other one", "https://h/a/f", slice("http:g"), "http://g/");
}

static void schemes(void)
{
	static const struct { const char *text; bool has; } cases[] = {
		{ "http://a", true }, { "feed:a", true }, { "a+b-c.1:x", true },
		{ "/a:b", false }, { "1a:b", false }, { ":a", false }, { "", false }, { "a b:c", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		UNIT_ROW(location_has_scheme(slice(cases[i].text)) == cases[i].has, "%s", cases[i].text);
}

UNIT_SUITE(location, { "references", references }, { "schemes", schemes })
