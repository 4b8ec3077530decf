/* Owns the cases of proxy/report/log_line.c and log_json.c. Must not know: files. Invariant: each row names what it is about. */
#include "proxy/report/log_line.h"
#include "tests/unit/unit.h"

#include <string.h>

#define WHEN "2026-11-21T04:34:26.545Z 127.0.0.1:46192 "
#define REST " time=0.748ms end=done id=c17.3 route=-"

/* Lines of text, and of JSON with the same meaning; whether they count, are errors, are mislabelled; publisher and feed. */
static const struct {
	const char *rule, *line;
	bool counts, error, mislabelled;
	const char *publisher, *feed;
} cases[] = {
	{ "gateway", WHEN "GET /https://Example.org/feed.xml?a=b 200 466 auto:2.5/decl charset=shift_jis was=utf-8 reason=- repairs=1 malformed=0" REST,
	    true, false, true, "example.org", "https://Example.org/feed.xml?a=b" },
	{ "gateway, right", WHEN "GET /http://a.test:80/ 200 466 auto:2.5 charset=utf-8 was=- reason=- repairs=0 malformed=0" REST, true, false,
	    false, "a.test", "http://a.test:80/" },
	{ "gateway, encoded", WHEN "GET /http%3A%2F%2Fa.test%3a8080/%20x 200 1 auto:2.5 charset=utf-8 was=- repairs=0 malformed=0" REST, true,
	    false, false, "a.test:8080", "http://a.test:8080/%20x" },
	{ "gateway, in the query", WHEN "GET /?url=https%3A%2F%2Fa.test%2F%3Fb%3D1 200 1 auto:2.5 charset=utf-8 was=- repairs=0 malformed=0" REST,
	    true, false, false, "a.test", "https://a.test/?b=1" },
	{ "forward proxy", WHEN "GET http://a.test/feed 200 1 auto:2.5 charset=utf-8 was=- repairs=0 malformed=0" REST, true, false, false, "a.test",
	    "http://a.test/feed" },
	{ "a masked password", WHEN "GET /http://***@a.test/ 404 1 - charset=- was=- repairs=0 malformed=0" REST, true, true, false, "a.test",
	    "http://***@a.test/" },
	{ "a route", WHEN "GET /demo/a.xml 200 1 auto:2.5 charset=utf-8 was=us-ascii reason=- repairs=0 malformed=2 time=1.000ms end=done id=c1.1 route=/demo",
	    true, false, true, "/demo", "/demo/a.xml" },
	{ "text/xml without a charset", WHEN "GET /http://a.test/ 200 1 auto:2.1/utf8 charset=utf-8 was=us-ascii reason=- repairs=0 malformed=0" REST,
	    true, false, false, "a.test", "http://a.test/" },
	{ "the same as JSON", "{\"method\":\"GET\",\"url\":\"http://a.test/\",\"status\":200,\"rule\":\"auto:2.1/decl\",\"charset\":\"koi8-r\","
	    "\"was\":\"us-ascii\"}", true, false, false, "a.test", "http://a.test/" },
	{ "not even declared", WHEN "GET /http://a.test/ 200 1 auto:2.1/guess charset=koi8-r was=us-ascii reason=- repairs=0 malformed=0" REST,
	    true, false, true, "a.test", "http://a.test/" },
	{ "no route", WHEN "GET /demo/a.xml 502 1 - charset=- was=- repairs=0 malformed=0" REST, true, true, false, "(no host)", "/demo/a.xml" },
	{ "no feed", WHEN "GET /http://a.test/a.png 200 1 none charset=- was=- reason=not-xml repairs=0 malformed=0" REST, false, false, false, NULL,
	    NULL },
	{ "what the client did wrong", WHEN "GET /http://a 400 1 - charset=- was=- repairs=0 malformed=0" REST, false, false, false, NULL, NULL },
	{ "cut", WHEN "GET /http://a.test/ 200 1 auto:2.5 charset=utf-8 was=- repairs=0 malformed=0 time=1.000ms end=cut id=c1.1 route=-", true, true,
	    false, "a.test", "http://a.test/" },
	{ "a tunnel", WHEN "CONNECT a.test:443 502 0 - charset=- was=- repairs=0 malformed=0" REST, false, true, false, NULL, NULL },
	{ "JSON", "{\"time\":\"x\",\"method\":\"GET\",\"target\":\"\\/https:\\u002f/a.test/\\u00e9\\ud83d\\ude00\",\"status\":200,\"bytes\":466,"
	    "\"rule\":\"auto:2.5\",\"charset\":\"windows-1251\",\"was\":\"iso-8859-1\",\"repairs\":3,\"times\":{\"dns\":1.5,\"x\":[1,\"}\"]},"
	    "\"malformed\":0,\"end\":\"done\",\"route\":null}\n", true, false, true, "a.test", "https://a.test/\xc3\xa9\xf0\x9f\x98\x80" },
	{ "JSON, other names", " {\"a\":1}", false, false, false, NULL, NULL },
	{ "JSON with a URL", "{\"method\":\"GET\",\"url\":\"https://a.test/x\",\"status\":504,\"charset\":null,\"was\":null}", true, true, false, "a.test",
	    "https://a.test/x" },
#define ROUTED(more) "{\"method\":\"GET\",\"url\":\"/one/f\",\"route\":\"/one/\",\"status\":200,\"charset\":\"utf-8\"" more "}"
	{ "a route's origin", ROUTED(",\"origin_host\":\"A.test:8080\",\"origin\":\"192.0.2.1:8080\""), true, false, false, "a.test:8080", "/one/f" },
	{ "a route's origin of a hit", ROUTED(",\"origin_host\":\"a.test\",\"origin\":null"), true, false, false, "a.test", "/one/f" },
	{ "a name as the origin", ROUTED(",\"origin\":\"a.test:80\""), true, false, false, "a.test:80", "/one/f" },
	{ "an address as the origin, of a parent proxy, it may be", ROUTED(",\"origin\":\"192.0.2.1:80\""), true, false, false, "/one/", "/one/f" },
	{ "another address", ROUTED(",\"origin\":\"[2001:db8::1]:80\""), true, false, false, "/one/", "/one/f" },
	{ "a URL goes before the origin", "{\"method\":\"GET\",\"url\":\"/https://a.test/f\",\"origin_host\":\"b.test\",\"status\":200,"
	    "\"charset\":\"utf-8\"}", true, false, false, "a.test", "https://a.test/f" },
#undef ROUTED
};

static void lines(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char publisher[LOG_PUBLISHER_MAX], feed[LOG_FEED_MAX];
		struct log_line l;
		bool read = log_line_read(&l, cases[i].line, strlen(cases[i].line));

		UNIT_ROW(log_line_counts(&l) == cases[i].counts, "%s: read %d", cases[i].rule, read);
		UNIT_ROW(log_line_is_error(&l) == cases[i].error, "%s", cases[i].rule);
		UNIT_ROW(log_line_is_mislabelled(&l) == cases[i].mislabelled, "%s", cases[i].rule);
		if (!cases[i].publisher)
			continue;
		log_line_publisher(&l, publisher, feed);
		UNIT_ROW(read && strcmp(publisher, cases[i].publisher) == 0, "%s: %s", cases[i].rule, publisher);
		UNIT_ROW(strcmp(feed, cases[i].feed) == 0, "%s: %s", cases[i].rule, feed);
	}
}

/* What is no line of an access log. */
static void others(void)
{
	static const char *const texts[] = { "", "\n", "utfeed: info: ready", "a b c d e f", WHEN "GET / x 1 auto:2.5 charset=utf-8",
		WHEN "GET / 200  1 auto:2.5 charset=utf-8 was=-", WHEN "GET / 200 1 auto:2.5 charset=utf-8 repairs=x",
		WHEN "GET / 200 1 auto:2.5 charset=utf-8 repairs=99999999999999999999", "{", "{}", "{\"method\":\"GET\"}", "{\"method\":\"GET\",}",
		"{\"method\":\"GET\" \"url\":\"/\"}", "{\"method\":\"GET\",\"url\":\"/\"", "{\"method\":\"GET\",\"url\":\"/\\x\"}",
		"{\"method\":\"GET\",\"url\":\"/\\u12\"}", "{\"method\":\"GET\",\"url\":\"/\x01\"}", "{\"method\":\"GET\",\"url\":\"/\"} x",
		"{\"method\":\"GET\",\"url\":\"/\",\"status\":\"x\"}", "{\"method\":\"GET\",\"url\":\"/\",\"a\":[[}", "{\"method\":\"GET\",\"url\":\"/\",\"a\":}" };
	struct log_line l;

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		UNIT_ROW(!log_line_read(&l, texts[i], strlen(texts[i])), "%s", texts[i]);
	CU_ASSERT_FALSE(log_line_read(&l, "a\0b", 3));
}

/* What Apache, nginx and utfeed write as the combined or the common format, and what only looks like it. */
static void combined(void)
{
#define CLIENT "192.0.2.1 - - [21/Nov/2026:03:04:05 +0000] "
	static const struct { const char *line; bool is; } rows[] = {
		{ CLIENT "\"GET /f HTTP/1.1\" 200 12 \"-\" \"reader/1\"", true },
		{ CLIENT "\"GET /f HTTP/1.1\" 200 12", true },
		{ CLIENT "\"-\" 000 0 \"-\" \"-\"", true },
		{ "2001:db8::1 - user [21/Nov/2026:03:04:05 +0000] \"GET /\\\"f HTTP/1.1\" 304 - \"-\" \"a \\x22b\\x22\" more", true },
		{ "feeds.test:443 " CLIENT "\"GET /f HTTP/1.1\" 200 12 \"-\" \"-\"", true },
		{ "Nov 21 03:04:05 host utfeed[7]: " CLIENT "\"GET /f HTTP/1.1\" 200 12 \"-\" \"-\"", true },
		{ "a b c d e f g h i j k l m [x] \"GET /\" 200 1", false },
		{ "a b [x] \"GET /\" 200 1", false },
		{ CLIENT "\"GET /f HTTP/1.1\" x00 12", false },
		{ CLIENT "\"GET /f HTTP/1.1\" 200", false },
		{ CLIENT "\"GET /f HTTP/1.1", false },
		{ CLIENT "\"GET /f HTTP/1.1\\", false },
		{ CLIENT "GET /f HTTP/1.1 200 12", false },
		{ "192.0.2.1 - - [21/Nov/2026 \"GET /f HTTP/1.1\" 200 12", false },
		{ "192.0.2.1 - - ", false },
		{ WHEN "GET /f 200 1 auto:2.5 charset=utf-8", false },
		{ "{\"a\":1}", false },
		{ "", false },
	};
#undef CLIENT

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		UNIT_ROW(log_line_is_combined(rows[i].line, strlen(rows[i].line)) == rows[i].is, "%s", rows[i].line);
}

static void long_ones(void)
{
	static char text[LOG_LINE_MAX + 2];
	char publisher[LOG_PUBLISHER_MAX], feed[LOG_FEED_MAX];
	struct log_line l;

	memset(text, 'x', sizeof text);
	CU_ASSERT_FALSE(log_line_read(&l, text, LOG_LINE_MAX + 1));
	memcpy(text, "a b GET /http://", 16);
	memcpy(text + 8000, " 200 1 auto:2.5 charset=utf-8", 29);
	CU_ASSERT_TRUE_FATAL(log_line_read(&l, text, 8029));
	log_line_publisher(&l, publisher, feed);
	CU_ASSERT_EQUAL(strlen(publisher), LOG_PUBLISHER_MAX - 1);
	CU_ASSERT_TRUE(strlen(feed) < LOG_FEED_MAX);
}

UNIT_SUITE(log_line, { "lines", lines }, { "what is no line", others }, { "combined", combined }, { "long ones", long_ones })
