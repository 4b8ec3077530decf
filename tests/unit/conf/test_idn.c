/* Internationalised host names in URLs: RFC 5891, UTS 46; RFC 3986 section 3.2.2 for the percent-encoded. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "conf/idn.h"
#include "conf/url.h"

/* ascii NULL: left alone; "": converted to what is no valid URL, or rightly left for url_parse() to refuse. */
static const struct { const char *row, *url, *ascii; } cases[] = {
	{ "ASCII", "http://example.com/", NULL },
	{ "ASCII, UTF-8 in the path", "http://example.com/\xd0\xbf", NULL },
	{ "percent in the path", "http://example.com/%C3%BC", NULL },
	{ "UTF-8", "http://b\xc3\xbc" "cher.example/feed?x#y", "http://xn--bcher-kva.example/feed?x#y" },
	{ "port", "https://b\xc3\xbc" "cher.example:8443", "https://xn--bcher-kva.example:8443" },
	{ "percent-encoded", "http://b%c3%BCcher.example/%C3%BC", "http://xn--bcher-kva.example/%C3%BC" },
	{ "capitals", "http://B\xc3\x9c" "CHER.example/", "http://xn--bcher-kva.example/" },
	{ "decomposed", "http://bu\xcc\x88" "cher.example/", "http://xn--bcher-kva.example/" },
	{ "sharp s, not transitional", "http://fa\xc3\x9f.example/", "http://xn--fa-hia.example/" },
	{ "Cyrillic", "http://\xd0\xbf\xd1\x80\xd0\xb8\xd0\xbc\xd0\xb5\xd1\x80.\xd1\x80\xd1\x84/", "http://xn--e1afmkfd.xn--p1ai/" },
	{ "ideographic full stop", "http://a\xe3\x80\x82" "b\xc3\xbc.example/", "http://a.xn--b-eha.example/" },
	{ "full-width digits are an address", "http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/", "http://127.0.0.1/" },
	{ "maps to a slash", "http://a\xe2\x84\x80.example/", "" },
	{ "maps to a colon or percent", "http://a\xef\xbc\x9a\xef\xbc\x85.example/", "" },
	{ "not UTF-8", "http://b\xfc" "cher.example/", "" },
	{ "cut UTF-8", "http://b\xc3/", "" },
	{ "percent of ASCII", "http://b\xc3\xbc%2eexample/", "" },
	{ "cut percent", "http://b\xc3\xbc%c/", "" },
	{ "NUL by percent", "http://b\xc3\xbc%00/", "" },
	{ "empty label", "http://b\xc3\xbc..example/", "" },
	{ "label of over 63", "http://\xc3\xbc" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example/", "" },
	{ "user information", "http://\xc3\xbc@b.example/", "" },
	{ "brackets", "http://[\xc3\xbc]/", "" },
	{ "unassigned", "http://\xf0\xaf\xbf\xbe.example/", "" },
	{ "only a soft hyphen", "http://\xc2\xad/", "" },
};

static void test_urls(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *url = cases[i].url, *want = cases[i].ascii;
		size_t len = 0;
		char *got = idn_url(url, strlen(url), &len);
		struct url parsed;

		if (!want)
			UNIT_ROW(!got, "%s: %s", cases[i].row, got);
		else if (*want)
			UNIT_ROW(got && len == strlen(want) && !memcmp(got, want, len), "%s: %s", cases[i].row, got ? got : "left alone");
		else
			UNIT_ROW(url_parse(got ? got : url, got ? len : strlen(url), &parsed) != URL_OK, "%s: %s", cases[i].row, got ? got : url);
		free(got);
	}
}

static void test_hosts(void)
{
	static const struct { const char *row, *host, *ascii; } hosts[] = {
		{ "ASCII", "example.com:80", NULL }, { "UTF-8", "b\xc3\xbc" "cher.example", "xn--bcher-kva.example" },
		{ "port", "b\xc3\xbc" "cher.example:80", "xn--bcher-kva.example:80" }, { "root label", "\xc3\xbc.", "xn--tda." },
		{ "brackets", "[\xc3\xbc]", NULL }, { "not UTF-8", "\xfc", NULL }, { "empty", "", NULL },
	};

	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		size_t len = 0;
		char *got = idn_host(hosts[i].host, strlen(hosts[i].host), &len);

		UNIT_ROW(hosts[i].ascii ? got && len == strlen(hosts[i].ascii) && !memcmp(got, hosts[i].ascii, len) : !got, "%s: %s", hosts[i].row,
			got ? got : "left alone");
		free(got);
	}
}

UNIT_SUITE(idn, { "urls", test_urls }, { "hosts", test_hosts })
