/* Owns the cases of proxy/base/url_secrets.c: what of a URL logs do not show. Invariant: each row holds in every room, down to one byte. */
#include "proxy/base/url_secrets.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct { const char *rule, *url, *want; } cases[] = {
	{ "token", "/f?token=abc", "/f?token=***" },
	{ "key", "/f?a=1&key=abc&b=2", "/f?a=1&key=***&b=2" },
	{ "api_key", "/f?api_key=abc", "/f?api_key=***" },
	{ "apikey", "/f?APIKEY=abc", "/f?APIKEY=***" },
	{ "api-key", "/f?api-key=abc#x", "/f?api-key=***#x" },
	{ "password", "/f?password=a=b=c&x", "/f?password=***&x" },
	{ "sig", "/f?sig=abc", "/f?sig=***" },
	{ "auth", "/f?auth=abc", "/f?auth=***" },
	{ "a word of several", "/f?X-Amz-Signature=abc&X-Amz-Date=1", "/f?X-Amz-Signature=***&X-Amz-Date=1" },
	{ "words by capitals", "/f?accessToken=abc", "/f?accessToken=***" },
	{ "words in brackets", "/f?user[password]=abc", "/f?user[password]=***" },
	{ "the end of a word", "/f?feedtoken=abc", "/f?feedtoken=***" },
	{ "no secret: author, monkey, keyword", "/f?author=a&monkey=b&keyword=c", "/f?author=a&monkey=b&keyword=c" },
	{ "no secret: the value has the word", "/f?q=token", "/f?q=token" },
	{ "no secret: a path", "/token/key=1", "/token/key=1" },
	{ "empty", "/f?token=&a=1", "/f?token=***&a=1" },
	{ "without a value", "/f?token&a=1", "/f?token&a=1" },
	{ "a semicolon between", "/f?a=1;token=abc;b=2", "/f?a=1;token=***;b=2" },
	{ "in a fragment", "/f#access_token=abc", "/f#access_token=***" },
	{ "gateway", "/https://h/f?token=abc", "/https://h/f?token=***" },
	{ "within a URL that is a value", "/?url=https://h/f?token=abc&policy=auto", "/?url=https://h/f?token=***&policy=auto" },
	{ "percent-encoded within", "/?url=https%3A%2F%2Fh%2F%3ftoken%3Dabc%26b%3d1&p=2", "/?url=https%3A%2F%2Fh%2F%3ftoken%3D***%26b%3d1&p=2" },
	{ "percent-encoded twice", "/?url=x%3Fu%3Dy%253Ftoken%253Dabc%2526b%253D1", "/?url=x%3Fu%3Dy%253Ftoken%253D***%2526b%253D1" },
	{ "an encoded & belongs to the value", "/f?token=a%26bc&d=1", "/f?token=***&d=1" },
	{ "an encoded name", "/f?%74o%6Ben=abc", "/f?%74o%6Ben=***" },
	{ "a name too long to look at", "/f?" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" "=abc",
		"/f?" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" "=***" },
	{ "a broken escape", "/f?a%2=1&token=a%", "/f?a%2=1&token=***" },
	{ "bytes beyond ASCII", "/f?\xe9token=a\xff", "/f?\xe9token=***" },
	{ "nothing", "", "" },
};

static void hidden(void)
{
	char buf[160];

	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t len = strlen(cases[i].url), n = url_hide_secrets(buf, sizeof buf, cases[i].url, len);

		UNIT_ROW(n == strlen(cases[i].want) && !strcmp(buf, cases[i].want), "%s: %s", cases[i].rule, buf);
		UNIT_ROW(url_has_secret_sign(cases[i].url, len) || !strcmp(cases[i].url, cases[i].want), "%s", cases[i].rule);
		for (size_t cap = 1; cap <= n; cap++) {
			memset(buf, '#', sizeof buf);
			UNIT_ROW(url_hide_secrets(buf, cap, cases[i].url, len) == cap - 1 && !memcmp(buf, cases[i].want, cap - 1) && buf[cap] == '#',
				"%s, cut", cases[i].rule);
		}
	}
}

/* Both kinds of secrets together, in a URL that is longer than what is shown. */
static void shown(void)
{
	static const char begin[] = "/https://u:p@h/f?token=abc&x=";
	char url[2 * URL_SHOWN_MAX], out[URL_SHOWN_MAX];
	size_t n;

	memset(url, 'y', sizeof url);
	memcpy(url, begin, sizeof begin - 1);
	n = url_show(out, url, sizeof url);
	CU_ASSERT(n == URL_SHOWN_MAX - 1 - strlen("***@") - strlen("***") + strlen("u:p@") + strlen("abc") || n == URL_SHOWN_MAX - 1);
	CU_ASSERT(strncmp(out, "/https://***@h/f?token=***&x=yyy", 32) == 0);
	CU_ASSERT_EQUAL(strlen(out), n);
}

UNIT_SUITE(url_secrets, { "hidden", hidden }, { "shown", shown })
