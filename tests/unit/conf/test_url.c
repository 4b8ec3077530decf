/* Owns the cases of conf/url.c: URLs, Host fields, paths. Must not know: routes. Invariant: each row names its rule. */
#include "conf/url.h"
#include "tests/unit/unit.h"

#include <string.h>

#define PART(text, part) (int)(part).len, (text) + (part).at

static bool part_is(const char *text, struct url_part part, const char *want)
{
	return part.len == strlen(want) && memcmp(text + part.at, want, part.len) == 0;
}

static void urls(void)
{
	static const struct {
		const char *rule, *text, *host;
		unsigned port;
		const char *path, *query, *authority;
	} cases[] = {
		{ "plain", "http://example.com/feed.xml", "example.com", 80, "/feed.xml", "", "example.com" },
		{ "https has port 443", "https://example.com/", "example.com", 443, "/", "", "example.com" },
		{ "scheme in capitals", "HTTPS://Example.COM/", "Example.COM", 443, "/", "", "Example.COM" },
		{ "no path", "http://example.com", "example.com", 80, "", "", "example.com" },
		{ "no path but a query", "http://example.com?a=b", "example.com", 80, "", "a=b", "example.com" },
		{ "port", "http://example.com:8080/a?b", "example.com", 8080, "/a", "b", "example.com:8080" },
		{ "empty port is the default", "http://example.com:/", "example.com", 80, "/", "", "example.com:" },
		{ "leading zeroes of a port", "http://example.com:00080/", "example.com", 80, "/", "", "example.com:00080" },
		{ "IPv4", "http://127.0.0.1:1/", "127.0.0.1", 1, "/", "", "127.0.0.1:1" },
		{ "IPv6", "http://[2001:db8::1]:65535/x", "2001:db8::1", 65535, "/x", "", "[2001:db8::1]:65535" },
		{ "IPv6 with IPv4 tail", "http://[::ffff:10.0.0.1]/", "::ffff:10.0.0.1", 80, "/", "", "[::ffff:10.0.0.1]" },
		{ "IPv6 whole", "http://[1:2:3:4:5:6:7:8]/", "1:2:3:4:5:6:7:8", 80, "/", "", "[1:2:3:4:5:6:7:8]" },
		{ "root label", "http://example.com./", "example.com.", 80, "/", "", "example.com." },
		{ "underscore, as container names have", "http://my_feed/", "my_feed", 80, "/", "", "my_feed" },
		{ "second ? belongs to the query", "http://h/a?b?c", "h", 80, "/a", "b?c", "h" },
		{ "@ in the path", "http://h/a@b", "h", 80, "/a@b", "", "h" },
		{ "@ in the query", "http://h?a@b", "h", 80, "", "a@b", "h" },
		{ "percent-encoding left alone", "http://h/%D0%BF?100%", "h", 80, "/%D0%BF", "100%", "h" },
		{ "what feeds' queries hold", "http://h/?a[]=1|2", "h", 80, "/", "a[]=1|2", "h" },
		{ "a URL in a query", "http://h/?u=http://x:1/", "h", 80, "/", "u=http://x:1/", "h" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text;
		struct url url;
		enum url_error error = url_parse(text, strlen(text), &url);
		UNIT_ROW(error == URL_OK, "%s: %s", cases[i].rule, url_error_text(error));
		if (error)
			continue;
		UNIT_ROW(part_is(text, url.host, cases[i].host), "%s: %.*s", cases[i].rule, PART(text, url.host));
		UNIT_ROW(url.port == cases[i].port, "%s: %u", cases[i].rule, url.port);
		UNIT_ROW(part_is(text, url.path, cases[i].path), "%s: %.*s", cases[i].rule, PART(text, url.path));
		UNIT_ROW(part_is(text, url.query, cases[i].query), "%s: %.*s", cases[i].rule, PART(text, url.query));
		UNIT_ROW(part_is(text, url.authority, cases[i].authority), "%s: %.*s", cases[i].rule, PART(text, url.authority));
		UNIT_ROW(url.has_query == (strchr(text, '?') != NULL), "%s", cases[i].rule);
		UNIT_ROW(url.target.at == url.path.at && url.target.at + url.target.len == strlen(text), "%s", cases[i].rule);
		UNIT_ROW(url.ipv6 == (strstr(text, "//[") != NULL), "%s", cases[i].rule);
	}
}

static void refused(void)
{
	static const struct { const char *rule, *text; enum url_error error; } cases[] = {
		{ "empty", "", URL_NO_SCHEME },
		{ "no scheme", "example.com/feed", URL_NO_SCHEME },
		{ "no slashes", "http:example.com", URL_NO_SCHEME },
		{ "one slash", "http:/example.com", URL_NO_SCHEME },
		{ "relative", "/feed.xml", URL_NO_SCHEME },
		{ "scheme must begin with a letter", "1http://h/", URL_NO_SCHEME },
		{ "other scheme", "ftp://example.com/", URL_BAD_SCHEME },
		{ "file", "file:///etc/passwd", URL_BAD_SCHEME },
		{ "scheme by prefix only", "httpx://h/", URL_BAD_SCHEME },
		{ "user", "http://user@example.com/", URL_USERINFO },
		{ "user and password", "http://user:secret@example.com/", URL_USERINFO },
		{ "empty user", "http://@example.com/", URL_USERINFO },
		{ "empty host", "http:///feed", URL_BAD_HOST },
		{ "only a port", "http://:80/", URL_BAD_HOST },
		{ "empty label", "http://a..b/", URL_BAD_HOST },
		{ "leading dot", "http://.a/", URL_BAD_HOST },
		{ "blank in host", "http://a b/", URL_BAD_HOST },
		{ "percent in host", "http://a%2eb/", URL_BAD_HOST },
		{ "backslash in host", "http://a\\b/", URL_BAD_HOST },
		{ "letters beyond ASCII", "http://\xd0\xbf.example/", URL_BAD_HOST },
		{ "IPv6 not closed", "http://[::1/", URL_BAD_HOST },
		{ "IPv6 without brackets", "http://::1/", URL_BAD_HOST },
		{ "IPv6 two gaps", "http://[1::2::3]/", URL_BAD_HOST },
		{ "IPv6 three colons", "http://[:::1]/", URL_BAD_HOST },
		{ "IPv6 seven groups", "http://[1:2:3:4:5:6:7]/", URL_BAD_HOST },
		{ "IPv6 nine groups", "http://[1:2:3:4:5:6:7:8:9]/", URL_BAD_HOST },
		{ "IPv6 group of five", "http://[12345::]/", URL_BAD_HOST },
		{ "IPv6 tail of three numbers", "http://[::1.2.3]/", URL_BAD_HOST },
		{ "IPv6 tail out of range", "http://[::1.2.3.256]/", URL_BAD_HOST },
		{ "IPv6 zone", "http://[fe80::1%25eth0]/", URL_BAD_HOST },
		{ "IPv6 empty", "http://[]/", URL_BAD_HOST },
		{ "text behind the bracket", "http://[::1]x/", URL_BAD_HOST },
		{ "port 0", "http://h:0/", URL_BAD_PORT },
		{ "port 65536", "http://h:65536/", URL_BAD_PORT },
		{ "port wraps", "http://h:18446744073709551696/", URL_BAD_PORT },
		{ "port with letters", "http://h:80a/", URL_BAD_PORT },
		{ "signed port", "http://h:+80/", URL_BAD_PORT },
		{ "second port", "http://h:80:81/", URL_BAD_PORT },
		{ "fragment", "http://h/#top", URL_FRAGMENT },
		{ "fragment behind the host", "http://h#@evil/", URL_FRAGMENT },
		{ "blank in path", "http://h/a b", URL_BAD_CHARACTER },
		{ "line end in path", "http://h/a\r\nHost: x", URL_BAD_CHARACTER },
		{ "tab in query", "http://h/?a\tb", URL_BAD_CHARACTER },
		{ "DEL", "http://h/\x7f", URL_BAD_CHARACTER },
		{ "raw UTF-8", "http://h/\xd0\xbf", URL_BAD_CHARACTER },
		{ "backslash", "http://h/a\\..\\b", URL_BAD_CHARACTER },
	};
	struct url url;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum url_error error = url_parse(cases[i].text, strlen(cases[i].text), &url);
		UNIT_ROW(error == cases[i].error, "%s: got %d", cases[i].rule, error);
	}
	CU_ASSERT_EQUAL(url_parse("http://h/a\0b", 12, &url), URL_BAD_CHARACTER);
	CU_ASSERT_EQUAL(url_parse("http://h\0/", 10, &url), URL_BAD_HOST);
}

static void lengths(void)
{
	static char text[URL_MAX_BYTES + 2];
	struct url url;

	memset(text, 'a', sizeof(text));
	memcpy(text, "http://h/", 9);
	CU_ASSERT_EQUAL(url_parse(text, URL_MAX_BYTES, &url), URL_OK);
	CU_ASSERT_EQUAL(url_parse(text, URL_MAX_BYTES + 1, &url), URL_TOO_LONG);
	memset(text + 7, 'a', sizeof(text) - 7);
	text[7 + 63] = '/';
	CU_ASSERT_EQUAL(url_parse(text, 100, &url), URL_OK);
	text[7 + 63] = 'a';
	text[7 + 64] = '/';
	CU_ASSERT_EQUAL(url_parse(text, 100, &url), URL_BAD_HOST);
	for (size_t i = 0; i < 300; i++)
		text[7 + i] = i % 2 ? '.' : 'a';
	CU_ASSERT_EQUAL(url_parse(text, 7 + URL_MAX_HOST, &url), URL_OK);
	CU_ASSERT_EQUAL(url_parse(text, 7 + URL_MAX_HOST + 1, &url), URL_BAD_HOST);
}

static void hosts(void)
{
	static const struct { const char *rule, *text; enum url_error error; const char *host; unsigned port; } cases[] = {
		{ "name", "example.com", URL_OK, "example.com", 0 },
		{ "name and port", "example.com:8080", URL_OK, "example.com", 8080 },
		{ "IPv6 and port", "[::1]:8080", URL_OK, "::1", 8080 },
		{ "gap alone", "[::]", URL_OK, "::", 0 },
		{ "empty", "", URL_BAD_HOST, "", 0 },
		{ "user information", "a@b", URL_BAD_HOST, "", 0 },
		{ "a path", "a/b", URL_BAD_HOST, "", 0 },
		{ "port 0", "a:0", URL_BAD_PORT, "", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct url_host host;
		enum url_error error = url_parse_host(cases[i].text, strlen(cases[i].text), &host);
		UNIT_ROW(error == cases[i].error, "%s: got %d", cases[i].rule, error);
		if (error)
			continue;
		UNIT_ROW(part_is(cases[i].text, host.host, cases[i].host), "%s", cases[i].rule);
		UNIT_ROW(host.port == cases[i].port && host.port_given == (cases[i].port != 0), "%s: %u", cases[i].rule, host.port);
	}
}

static void paths(void)
{
	static const struct { const char *text; bool valid, dots; } cases[] = {
		{ "/", true, false }, { "/a/b;c=d/@:!$&'()*+,-._~", true, false }, { "/%d0%BF", true, false },
		{ "", false, false }, { "a", false, false }, { "/a b", false, false }, { "/a?b", false, false }, { "/%d", false, false },
		{ "/%zz", false, false }, { "/[", false, false }, { "/\x01", false, false },
		{ "/.", true, true }, { "/..", true, true }, { "/a/../b", true, true }, { "/a/./b", true, true }, { "/a/..", true, true },
		{ "/%2e%2E/a", true, true }, { "/.%2e/", true, true }, { "/a%2f..%2fb", true, true }, { "/a%5C..%5cb", true, true },
		{ "/a\\..\\b", false, true }, { "/..;x=y/a", true, true }, { "/.;/a", true, true },
		{ "/...", true, false }, { "/..a", true, false }, { "/a..", true, false }, { "/.a./", true, false }, { "/.well-known/x", true, false },
		{ "/a;../b", true, false }, { "/...;/a", true, false }, { "/.%2", false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		UNIT_ROW(url_path_valid(cases[i].text, strlen(cases[i].text)) == cases[i].valid, "valid: %s", cases[i].text);
		UNIT_ROW(url_path_has_dots(cases[i].text, strlen(cases[i].text)) == cases[i].dots, "dots: %s", cases[i].text);
	}
}

static void names(void)
{
	CU_ASSERT_STRING_EQUAL(url_scheme_name(URL_HTTP), "http");
	CU_ASSERT_STRING_EQUAL(url_scheme_name(URL_HTTPS), "https");
	for (int error = URL_OK; error <= URL_FRAGMENT; error++)
		UNIT_ROW(url_error_text((enum url_error)error) != NULL, "%d", error);
}

UNIT_SUITE(url, { "urls", urls }, { "refused", refused }, { "lengths", lengths }, { "hosts", hosts }, { "paths", paths }, { "names", names })
