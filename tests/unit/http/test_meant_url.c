/* Owns the cases of proxy/http/meant_url.c. Must not know: commands. Invariant: each row is what somebody may write. */
#include "proxy/http/meant_url.h"
#include "tests/unit/unit.h"

#include <string.h>

static const struct {
	const char *word;
	enum meant_url what;
	const char *url;
} cases[] = {
	/* without a scheme */
	{ "host.example/feed", MEANT_URL, "https://host.example/feed" },
	{ " host.example/ ", MEANT_URL, "https://host.example/" },
	{ "www.host.example/feed.xml", MEANT_URL, "https://www.host.example/feed.xml" },
	{ "www.host.example", MEANT_URL, "https://www.host.example" },
	{ "host.example", MEANT_URL, "https://host.example" },
	{ "host.example?feed=rss", MEANT_URL, "https://host.example?feed=rss" },
	{ "host.example:8443/feed", MEANT_URL, "https://host.example:8443/feed" },
	{ "host.example:8443", MEANT_URL, "https://host.example:8443" },
	{ "localhost:8080/feed", MEANT_URL, "https://localhost:8080/feed" },
	{ "192.0.2.1/feed", MEANT_URL, "https://192.0.2.1/feed" },
	{ "[2001:db8::1]:80/feed", MEANT_URL, "https://[2001:db8::1]:80/feed" },
	{ "b\xc3\xbc" "cher.example/feed", MEANT_URL, "https://b\xc3\xbc" "cher.example/feed" },
	{ "//host.example/feed", MEANT_URL, "https://host.example/feed" },
	/* schemes of feed readers */
	{ "feed:https://host.example/feed", MEANT_URL, "https://host.example/feed" },
	{ "feed:http://host.example/feed", MEANT_URL, "http://host.example/feed" },
	{ "feed://https://host.example/feed", MEANT_URL, "https://host.example/feed" },
	{ "feed://host.example/feed", MEANT_URL, "https://host.example/feed" },
	{ "FEED:host.example/feed", MEANT_URL, "https://host.example/feed" },
	{ "itpc://host.example/feed", MEANT_URL, "https://host.example/feed" },
	/* mistyped */
	{ "htpp://host/feed", MEANT_URL, "https://host/feed" },
	{ "htps://host/feed", MEANT_URL, "https://host/feed" },
	{ "ttp://host/feed", MEANT_URL, "https://host/feed" },
	{ "https:/host/feed", MEANT_URL, "https://host/feed" },
	{ "http:/host/feed", MEANT_URL, "http://host/feed" },
	{ "https:///host/feed", MEANT_URL, "https://host/feed" },
	{ "http:\\\\host\\feed", MEANT_URL, "http://host\\feed" },
	{ "https:host.example/feed", MEANT_URL, "https://host.example/feed" },
	{ "https//host/feed", MEANT_URL, "https://host/feed" },
	{ "https%3A%2F%2Fhost%2Ffeed", MEANT_URL, "https://host/feed" },
	{ "http://host/feed", MEANT_URL, "http://host/feed" },
	/* other schemes */
	{ "ftp://host.example/feed", MEANT_OTHER_SCHEME, "" },
	{ "feed:ftp://host.example/feed", MEANT_OTHER_SCHEME, "" },
	{ "gemini://host.example/", MEANT_OTHER_SCHEME, "" },
	{ "file:///srv/feed.xml", MEANT_OTHER_SCHEME, "" },
	{ "mailto:name@host.example", MEANT_OTHER_SCHEME, "" },
	/* files */
	{ "feed.xml", MEANT_NO_URL, "" },
	{ "feed.cp1251", MEANT_NO_URL, "" },
	{ "www.xml", MEANT_NO_URL, "" },
	{ "feeds/feed.xml", MEANT_NO_URL, "" },
	{ "conf.d/feed.xml", MEANT_NO_URL, "" },
	{ "../feed.xml", MEANT_NO_URL, "" },
	{ "./feed.xml", MEANT_NO_URL, "" },
	{ "/srv/host.example/feed.xml", MEANT_NO_URL, "" },
	{ "//srv/feed.xml", MEANT_NO_URL, "" },
	{ "2026.11/feed.xml", MEANT_NO_URL, "" },
	{ "C:\\feed.xml", MEANT_NO_URL, "" },
	{ "http", MEANT_NO_URL, "" },
	{ "http:", MEANT_NO_URL, "" },
	{ "http://", MEANT_NO_URL, "" },
	{ "http%3a// ", MEANT_NO_URL, "" },
	{ "https%3A%2F%2F", MEANT_NO_URL, "" },
	{ "feed:", MEANT_NO_URL, "" },
	{ "[", MEANT_NO_URL, "" },
	{ ":80/", MEANT_NO_URL, "" },
	{ "", MEANT_NO_URL, "" },
};

static void words(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct text url = { 0 };
		enum meant_url what = meant_url(&url, (struct slice){ cases[i].word, strlen(cases[i].word) });

		UNIT_ROW(what == cases[i].what && url.len == strlen(cases[i].url) && (!url.len || !memcmp(url.bytes, cases[i].url, url.len)),
		    "%s: %d %.*s", cases[i].word, what, (int)url.len, url.len ? url.bytes : "");
		text_free(&url);
	}
}

UNIT_SUITE(meant_url, { "words", words })
