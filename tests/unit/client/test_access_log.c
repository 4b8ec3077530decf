/* Owns the cases of the access log's line (proxy/client/access_log.c), of escaping (proxy/base/log.c), failures' words (proxy/base/failure.c) and
 * counters (proxy/base/stats.c). Invariant: no row leaves a peer's byte unescaped. */
#include "proxy/base/log.h"
#include "proxy/base/stats.h"
#include "proxy/base/url_mask.h"
#include "proxy/client/access_log.h"
#include "proxy/http/cache_status.h"
#include "proxy/origin/fetch_timing.h"
#include "tests/unit/unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void escaped(void)
{
	static const struct { const char *rule, *bytes; size_t len, cap; const char *want; } cases[] = {
		{ "plain", "GET", 3, 64, "GET" },
		{ "every other visible sign", "!#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}~", 36, 64, "!#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}~" },
		{ "blank, quote, backslash", " \"\\", 3, 64, "\\x20\\x22\\x5c" },
		{ "line ends and escape", "\r\n\x1b\t", 4, 64, "\\x0d\\x0a\\x1b\\x09" },
		{ "NUL and DEL", "a\0\x7f", 3, 64, "a\\x00\\x7f" },
		{ "8 bits", "\x80\xe9\xff", 3, 64, "\\x80\\xe9\\xff" },
		{ "nothing", "", 0, 64, "" },
		{ "just fits", "abc", 3, 4, "abc" },
		{ "cut", "abcd", 4, 4, "abc" },
		{ "never half an escape", "ab\n", 3, 6, "ab" },
		{ "escape just fits", "ab\n", 3, 7, "ab\\x0a" },
		{ "room for nothing", "a", 1, 1, "" },
	};
	char buf[80];

	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t n;

		memset(buf, '#', sizeof(buf));
		n = log_escape(buf, cases[i].cap, cases[i].bytes, cases[i].len);
		UNIT_ROW(n == strlen(cases[i].want) && strcmp(buf, cases[i].want) == 0, "%s: %s", cases[i].rule, buf);
		UNIT_ROW(buf[cases[i].cap] == '#', "%s", cases[i].rule);
	}
	CU_ASSERT_EQUAL(log_escape(buf, 0, "a", 1), 0);
}

/* RFC 3986 section 3.2.1: what stands before the @ of an authority is nobody's business. */
static void masked(void)
{
	static const struct { const char *rule, *target, *want; } cases[] = {
		{ "forward", "http://u:p@h/a", "http://***@h/a" },
		{ "gateway", "/https://u:p@h/a?b", "/https://***@h/a?b" },
		{ "gateway, slash squeezed", "/https:/u:p@h/", "/https:/***@h/" },
		{ "gateway, a slash more", "/https:///u:p@h/", "/https:///***@h/" },
		{ "query", "/?url=http://u:p@h/", "/?url=http://***@h/" },
		{ "query, escaped", "/?url=http%3A%2F%2Fu%3ap%40h%2f", "/?url=http%3A%2F%2F***@h%2f" },
		{ "all escaped", "/http%3A%2F%2Fu%3Ap%40h%2Fa", "/http%3A%2F%2F***@h%2Fa" },
		{ "feed:", "/feed://u:p@h/", "/feed://***@h/" },
		{ "feed: before https", "/feed:https://u:p@h/", "/feed:https://***@h/" },
		{ "feed: in a query, escaped", "/?url=feed%3Ahttps%3A%2F%2Fu%3Ap%40h%2F", "/?url=feed%3Ahttps%3A%2F%2F***@h%2F" },
		{ "a path without scheme", "/u:p@h.example/a", "/***@h.example/a" },
		{ "a query without scheme", "/?url=u:p@h.example/a", "/?url=***@h.example/a" },
		{ "capitals", "/HTTP://u:p@h/", "/HTTP://***@h/" },
		{ "any scheme", "ftp://u:p@h/", "ftp://***@h/" },
		{ "user alone", "http://u@h", "http://***@h" },
		{ "two @", "http://u:p@q@h/", "http://***@h/" },
		{ "a slash in the password", "http://u:p/q@h/a", "http://***@h/a" },
		{ "a question mark in it", "http://u:p?q@h/a", "http://***@h/a" },
		{ "a number sign in it", "http://u:p#q@h/a", "http://***@h/a" },
		{ "CONNECT", "u:p@h:443", "***@h:443" },
		{ "no scheme", "u:p@h/a", "***@h/a" },
		{ "no @", "http://h/a", "http://h/a" },
		{ "@ in a path", "http://h/@user", "http://h/@user" },
		{ "@ in a path behind a port", "/https://h:8443/@user/feed", "/https://h:8443/@user/feed" },
		{ "@ in a path, escaped URL", "/?url=https%3A%2F%2Fh%3a8443%2F%40user", "/?url=https%3A%2F%2Fh%3a8443%2F%40user" },
		{ "@ in a route's path", "/@user/feed", "/@user/feed" },
		{ "@ in a route's path behind a colon", "/a:b@c", "/a:b@c" },
		{ "@ in a query", "http://h?a=b@c", "http://h?a=b@c" },
		{ "an IPv6 host", "http://[::1]:80/@u", "http://[::1]:80/@u" },
		{ "a host beyond ASCII", "http://b\xc3\xbc" "cher.example/@u", "http://b\xc3\xbc" "cher.example/@u" },
		{ "client-auth: a token", "/a:b@/https://h/f", "/***@/https://h/f" },
		{ "client-auth: a token before a URL with a password", "/a:b@/https://u:p@h/f", "/***@/https://***@h/f" },
		{ "client-auth: a token before a query", "/a:b@/?url=https://u:p@h/", "/***@/?url=https://***@h/" },
		{ "client-auth: escaped", "/a%3Ab%2Fc%40/f", "/***@/f" },
		{ "client-auth: an @ in the password", "/a:b@c:d@/f", "/***@/f" },
		{ "client-auth: nothing behind it", "/a:b@", "/***@" },
		{ "client-auth: nothing but a query", "/a:b@?c", "/***@?c" },
		{ "client-auth: in a URL, as of Referer", "http://h:80/a:b@/https://h/f", "http://h:80/***@/https://h/f" },
		{ "client-auth: in a URL that has a password, too", "http://u:p@h/a:b@/f", "http://***@h/***@/f" },
		{ "client-auth: behind a route's path", "/news/a:b@/f", "/news/***@/f" },
		{ "client-auth: behind a dot", "/./a:b@/f", "/./***@/f" },
		{ "client-auth: behind what is undone", "/x/../a:b@/f", "/x/../***@/f" },
		{ "client-auth: an empty segment before it", "http://h//a:b@/x", "http://h//***@/x" },
		{ "client-auth: the end of a URL", "http://h/a:b@", "http://h/***@" },
		{ "client-auth: an escaped slash behind it", "/a:b@%2Ff", "/***@%2Ff" },
		{ "client-auth: a semicolon behind it", "/a:b@;x/f", "/***@;x/f" },
		{ "client-auth: escaped twice", "/a%253Ab%2540/f", "/***@/f" },
		{ "client-auth: escaped twice, the colon not", "/a:b%2540/f", "/***@/f" },
		{ "client-auth: a password that begins with a slash", "/a:%2Fb%2Fc@/f", "/***@/f" },
		{ "client-auth: of another utfeed", "/https://h/a:b@/https://h/f", "/https://h/***@/https://h/f" },
		{ "client-auth: in a query", "/?url=https://h/a:b@/f", "/?url=https://h/***@/f" },
		{ "client-auth: in a query, escaped", "/?url=https%3A%2F%2Fh%2Fa%3Ab%40%2Ff", "/?***@%2Ff" },
		{ "client-auth: no slash behind it", "/a:b@https://h/f", "/***@https://h/f" },
		{ "client-auth: no slash behind it, escaped", "/a:b@https%3A%2F%2Fh%2Ff", "/***@https%3A%2F%2Fh%2Ff" },
		{ "two of them", "/x/a:b@/y/c:d@/f", "/x/***@/y/***@/f" },
		{ "a password behind a route's path", "/news/https://u:p@h/f", "/news/https://***@h/f" },
		{ "a password in a query", "/f?next=https://u:p@h/", "/f?next=https://***@h/" },
		{ "a name before a scheme", "a@http://h/f", "***@http://h/f" },
		{ "a URL escaped twice", "/http%253A%252F%252Fu%253Ap%2540h%252Fa", "/http%253A%252F%252F***@h%252Fa" },
		{ "@ in a path, and a colon behind it", "/https://h/@u:v/f", "/https://h/@u:v/f" },
		{ "@ in a path behind a colon", "/https://h/npm:x@3.2.1/f", "/https://h/npm:x@3.2.1/f" },
		{ "a slash in a password, and more of it", "http://u:p/q:r@/a", "http://***@/a" },
		{ "nothing", "", "" },
		{ "the sign alone", "@", "***@" },
		{ "a scheme alone", "http://", "http://" },
	};
	char buf[80];

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *target = cases[i].target;
		size_t n = url_mask(buf, sizeof(buf), target, strlen(target));

		UNIT_ROW(n == strlen(cases[i].want) && strcmp(buf, cases[i].want) == 0, "trust 20: %s: %s", cases[i].rule, buf);
		UNIT_ROW(url_has_userinfo_sign(target, strlen(target)) || !strcmp(buf, target), "trust 20: %s", cases[i].rule);
		for (size_t cap = 1; cap < n; cap++) {
			memset(buf, '#', sizeof(buf));
			UNIT_ROW(url_mask(buf, cap, target, strlen(target)) == cap - 1 && buf[cap - 1] == '\0' && buf[cap] == '#', "%s, cut",
				cases[i].rule);
		}
	}
}

/* A segment of many authorities is looked at once, not once for each of them: this ends. */
static void masked_long(void)
{
	static const char part[] = "x:%2Fx%2F";
	size_t len = (1 << 20) / (sizeof part - 1) * (sizeof part - 1);
	char *target = malloc(len + 2);

	CU_ASSERT_PTR_NOT_NULL_FATAL(target);
	for (size_t at = 0; at < len; at += sizeof part - 1)
		memcpy(target + at, part, sizeof part - 1);
	memcpy(target + len, "@y", 2);
	CU_ASSERT_FALSE(url_has_userinfo(target, len + 2));
	free(target);
}

#define LINE(rest) "2026-11-21T03:04:05.006Z 127.0.0.1 " rest

static struct object_report report(enum verdict_kind kind)
{
	struct object_report r = { .decided = true, .repairs = 3, .malformed = 4 };

	if (kind == VERDICT_NONE)
		verdict_untouched(&r.verdict, POLICY_AUTO, VREASON_NOT_XML);
	else
		r.verdict = (struct verdict){ .kind = kind, .policy = POLICY_AUTO, .path = "2.1/decl", .charset = CS_UTF_8, .named = "utf-8" };
	if (kind == VERDICT_CHARSET)
		r.verdict.was = "us-ascii";
	if (kind == VERDICT_ERROR)
		r.verdict.error = VERR_MISMATCH;
	return r;
}

static void lines(void)
{
	struct object_report charset = report(VERDICT_CHARSET), none = report(VERDICT_NONE), error = report(VERDICT_ERROR), undecided = { .decided = false };
	const struct {
		const char *rule, *method, *target;
		int status;
		const struct object_report *report;
		const char *end, *want, *route;
	} cases[] = {
		{ "normalised", "GET", "/https://h/a", 200, &charset, "done",
			LINE("GET /https://h/a 200 12 auto:2.1/decl charset=utf-8 was=us-ascii reason=- repairs=3 malformed=4 time=1.002ms end=done id=c17.3 route=-\n"), NULL },
		{ "untouched", "HEAD", "/a", 200, &none, "cut",
			LINE("HEAD /a 200 12 none charset=- was=- reason=not-xml repairs=3 malformed=4 time=1.002ms end=cut id=c17.3 route=-\n"), NULL },
		{ "an error", "GET", "/a", 502, &error, "done",
			LINE("GET /a 502 12 auto:2.1/decl charset=utf-8 was=- reason=mismatch repairs=3 malformed=4 time=1.002ms end=done id=c17.3 route=-\n"), NULL },
		{ "no decision", "GET", "/a", 404, &undecided, "done", LINE("GET /a 404 12 - charset=- was=- reason=- repairs=0 malformed=0 time=1.002ms end=done id=c17.3 route=-\n"), NULL },
		{ "no response", "GET", "/a", 0, NULL, "dropped", LINE("GET /a 0 12 - charset=- was=- reason=- repairs=0 malformed=0 time=1.002ms end=dropped id=c17.3 route=-\n"), NULL },
		{ "no request line", "", "", 400, NULL, "done", LINE("- - 400 12 - charset=- was=- reason=- repairs=0 malformed=0 time=1.002ms end=done id=c17.3 route=-\n"), NULL },
		{ "hostile", "G\"T", "/a b\n\x1b[1m", 400, NULL, "done",
			LINE("G\\x22T /a\\x20b\\x0a\\x1b[1m 400 12 - charset=- was=- reason=- repairs=0 malformed=0 time=1.002ms end=done id=c17.3 route=-\n"), NULL },
		{ "B6: a route's name", "GET", "/a", 404, NULL, "done",
			LINE("GET /a 404 12 - charset=- was=- reason=- repairs=0 malformed=0 time=1.002ms end=done id=c17.3 route=news\n"), "news" },
		{ "B6: a pattern with blanks", "GET", "/a", 404, NULL, "done",
			LINE("GET /a 404 12 - charset=- was=- reason=- repairs=0 malformed=0 time=1.002ms end=done id=c17.3 route=/a\\x20b\n"), "/a b" },
	};
	char when[LOG_TIME_BYTES];

	log_write_time(when, 1795230245006);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct access_log_entry e = { .when = when, .client = "127.0.0.1", .method = { cases[i].method, strlen(cases[i].method) },
			.target = { cases[i].target, strlen(cases[i].target) }, .status = cases[i].status, .body_bytes = 12, .report = cases[i].report,
			.duration_us = 1002, .end = cases[i].end, .id = { 17, 3 }, .route = cases[i].route };
		char buf[ACCESS_LOG_LINE_MAX];
		size_t n = access_log_text(buf, &e);

		UNIT_ROW(n == strlen(cases[i].want) && memcmp(buf, cases[i].want, n) == 0, "%s: %.*s", cases[i].rule, (int)n, buf);
	}
}

static void tunnel_line(void)
{
	static const char want[] = LINE("CONNECT h:443 200 12 - charset=- was=- reason=- repairs=0 malformed=0 received=34 time=1.002ms end=idle id=c17.3 route=-\n");
	char when[LOG_TIME_BYTES];
	struct access_log_entry e = { .when = when, .client = "127.0.0.1", .method = { "CONNECT", 7 }, .target = { "h:443", 5 }, .status = 200,
		.body_bytes = 12, .tunnel = true, .received_bytes = 34, .duration_us = 1002, .end = "idle", .id = { 17, 3 }, .route = "" };
	char buf[ACCESS_LOG_LINE_MAX];
	size_t n;

	log_write_time(when, 1795230245006);
	n = access_log_text(buf, &e);
	UNIT_ROW(n == sizeof(want) - 1 && memcmp(buf, want, n) == 0, "%.*s", (int)n, buf);
	e.kept = "no_feed";
	CU_ASSERT_PTR_NOT_NULL(strstr((buf[access_log_text(buf, &e)] = '\0', buf), " malformed=0 kept=no_feed received=34 "));
	e.user = "al \"ice";
	CU_ASSERT_PTR_NOT_NULL(strstr((buf[access_log_text(buf, &e)] = '\0', buf), " id=c17.3 user=al\\x20\\x22ice route=-\n"));
}

static struct access_log_entry whole_entry(const struct object_report *r, const struct fetch_timing *timing, const struct cache_status *cache)
{
	return (struct access_log_entry){ .when = "2026-11-21T03:04:05.006Z", .client = "[2001:db8::1]:46192", .method = { "GET", 3 },
		.target = { "/f?token=a&b=\"", 14 }, .status = 200, .body_bytes = 12, .report = r, .duration_us = 1002, .end = "done",
		.id = { 17, 3 }, .route = "news", .wall_ms = 1795230245006, .version = "1.1", .referer = { "http://u:p@h/?sig=x", 19 },
		.user_agent = { "a \"b\"\xe9\xc3\xa9\n", 9 }, .received_bytes = 34, .sent_bytes = 56, .way = "route", .cache = cache, .timing = timing,
		.origin_host = "feeds.test", .first_byte_us = 1001, .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
}

static void as_json(void)
{
	static const char full[] =
		"{\"time\":\"2026-11-21T03:04:05.006Z\",\"id\":\"c17.3\",\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\","
		"\"client\":\"2001:db8::1\",\"client_port\":46192,\"method\":\"GET\",\"url\":\"/f?token=***&b=\\\"\",\"http\":\"1.1\",\"way\":\"route\","
		"\"route\":\"news\",\"user\":\"al \\\"ice\",\"user_agent\":\"a \\\"b\\\"\\ufffd\xc3\xa9\\u000a\",\"status\":200,\"bytes_in\":34,\"bytes_out\":56,\"body_bytes\":12,"
		"\"cache\":\"stale\",\"fwd_status\":304,\"ttl\":-7,\"stored\":true,\"collapsed\":true,\"cache_detail\":\"word\",\"kept\":\"304\",\"rule\":\"auto:2.1/decl\","
		"\"charset\":\"utf-8\",\"was\":\"us-ascii\",\"reason\":null,\"repairs\":3,\"malformed\":4,\"origin_host\":\"feeds.test\",\"origin\":\"127.0.0.1:80\",\"origin_http\":\"2.0\",\"retries\":2,"
		"\"queue_ms\":0.000,\"dns_ms\":1.234,\"connect_ms\":12.000,\"tls_ms\":null,\"origin_ms\":0.009,\"failure\":\"connection_refused\","
		"\"first_byte_ms\":1.001,\"total_ms\":1.002,\"end\":\"done\"}\n";
	static const char empty[] =
		"{\"time\":\"2026-11-21T03:04:05.006Z\",\"id\":\"c1.1\",\"traceparent\":null,\"client\":\"unknown\",\"client_port\":null,\"method\":null,\"url\":null,"
		"\"http\":null,\"way\":\"none\",\"route\":null,\"user\":null,\"user_agent\":null,\"status\":0,\"bytes_in\":0,\"bytes_out\":0,\"body_bytes\":0,\"cache\":null,"
		"\"fwd_status\":null,\"ttl\":null,\"stored\":false,\"collapsed\":false,\"cache_detail\":null,\"kept\":null,\"rule\":null,\"charset\":null,\"was\":null,"
		"\"reason\":null,\"repairs\":0,\"malformed\":0,\"origin_host\":null,\"origin\":null,\"origin_http\":null,\"retries\":0,\"queue_ms\":null,\"dns_ms\":null,\"connect_ms\":null,"
		"\"tls_ms\":null,\"origin_ms\":null,\"failure\":null,\"first_byte_ms\":null,\"total_ms\":0.000,\"end\":\"dropped\"}\n";
	const struct fetch_timing timing = { .retries = 2, .failure = FAILURE_CONNECTION_REFUSED, .address = "127.0.0.1:80", .version = "2.0",
		.us = { 0, 1234, 12000, -1, 9 } };
	const struct cache_status cache = { .fwd = FWD_STALE, .fwd_status = 304, .has_ttl = true, .ttl = -7, .stored = true, .collapsed = true, .detail = "word" };
	const struct object_report r = report(VERDICT_CHARSET);
	struct access_log_entry e = whole_entry(&r, &timing, &cache);
	const struct access_log_entry none = { .when = "2026-11-21T03:04:05.006Z", .client = "unknown", .end = "dropped", .id = { 1, 1 }, .way = "none",
		.first_byte_us = -1 };
	char buf[ACCESS_LOG_LINE_MAX];
	size_t n;

	e.kept = "304";
	e.user = "al \"ice";
	n = access_log_json(buf, &e);
	UNIT_ROW(n == sizeof full - 1 && !memcmp(buf, full, n), "%.*s", (int)n, buf);
	n = access_log_json(buf, &none);
	UNIT_ROW(n == sizeof empty - 1 && !memcmp(buf, empty, n), "%.*s", (int)n, buf);
}

/* What Apache and nginx write, escaped as nginx does it. */
static void as_combined(void)
{
	static const struct { const char *client, *user, *method, *version; int status; const char *want; } cases[] = {
		{ "[2001:db8::1]:46192", "al \"ice", "GET", "1.1", 200,
			"2001:db8::1 - al\\x20\\x22ice [21/Nov/2026:03:04:05 +0000] \"GET /f?token=***&b=\\x22 HTTP/1.1\" 200 12 \"http://***@h/?sig=***\" \"a \\x22b\\x22\\xe9\\xc3\\xa9\\x0a\"\n" },
		{ "192.0.2.7:80", NULL, "GET", "2.0", 200,
			"192.0.2.7 - - [21/Nov/2026:03:04:05 +0000] \"GET /f?token=***&b=\\x22 HTTP/2.0\" 200 12 \"http://***@h/?sig=***\" \"a \\x22b\\x22\\xe9\\xc3\\xa9\\x0a\"\n" },
		{ "192.0.2.7:-", NULL, "", NULL, 0,
			"192.0.2.7 - - [21/Nov/2026:03:04:05 +0000] \"-\" 000 12 \"http://***@h/?sig=***\" \"a \\x22b\\x22\\xe9\\xc3\\xa9\\x0a\"\n" },
	};
	char buf[ACCESS_LOG_LINE_MAX];

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct access_log_entry e = whole_entry(NULL, NULL, NULL);
		size_t n;

		e.client = cases[i].client;
		e.user = cases[i].user;
		e.method = (struct slice){ cases[i].method, strlen(cases[i].method) };
		e.version = cases[i].version;
		e.status = cases[i].status;
		n = access_log_combined(buf, &e);
		UNIT_ROW(n == strlen(cases[i].want) && !memcmp(buf, cases[i].want, n), "%.*s", (int)n, buf);
	}
}

/* A pipe takes the line as a whole. */
static void longest_of(access_log_f *write, struct access_log_entry e, const char *text, size_t len)
{
	static const struct cache_status cache = { .fwd = FWD_VARY_MISS, .fwd_status = 999, .has_ttl = true, .ttl = INT64_MIN, .stored = true, .detail = "word" };
	struct fetch_timing timing = { .retries = UINT_MAX, .version = "2.0", .failure = FAILURE_HTTP_HEADER_SIZE };
	char buf[ACCESS_LOG_LINE_MAX];
	size_t n;

	memset(timing.address, '1', sizeof timing.address - 1);
	for (size_t i = 0; i < STAGE_COUNT; i++)
		timing.us[i] = INT64_MAX;
	e.referer = e.user_agent = (struct slice){ text, len };
	e.sent_bytes = UINT64_MAX;
	e.version = "1.1";
	e.way = "connect";
	e.wall_ms = INT64_C(253402300799999);
	e.cache = &cache;
	e.timing = &timing;
	e.origin_host = text;
	e.user = text;
	e.first_byte_us = INT64_MAX;
	e.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
	n = write(buf, &e);
	CU_ASSERT_FATAL(n > 1000 && n <= PIPE_BUF);
	CU_ASSERT(memchr(buf, '\n', n) == buf + n - 1 && memchr("}\"", buf[n - 2], 2) != NULL);
}

/* The longest there can be is one line still. */
static void longest(void)
{
	struct object_report r = report(VERDICT_CHARSET);
	size_t len = 100000;
	char *text = malloc(len), buf[ACCESS_LOG_LINE_MAX], when[LOG_TIME_BYTES];
	struct access_log_entry e = { .when = when, .client = "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535", .method = { text, len },
		.target = { text, len }, .status = 999, .body_bytes = UINT64_MAX, .tunnel = true, .received_bytes = UINT64_MAX,
		.report = &r, .duration_us = UINT64_MAX, .end = "dropped", .id = { UINT64_MAX, UINT64_MAX }, .route = text, .user = text };
	size_t n;

	log_write_time(when, INT64_C(253402300799999));
	memset(text, '\n', len);
	text[len - 1] = '\0';
	r.repairs = r.malformed = UINT64_MAX;
	for (int format = CONF_LOG_JSON; format <= CONF_LOG_COMBINED; format++)
		longest_of(access_log_formats[format], e, text, len);
	n = access_log_text(buf, &e);
	CU_ASSERT_FATAL(n > 0 && n < ACCESS_LOG_LINE_MAX);
	CU_ASSERT(memchr(buf, '\n', n) == buf + n - 1);
	CU_ASSERT(memmem(buf, n, " end=dropped id=c", 17) != NULL);
	free(text);
}

/* Every way to fail has words for the client and a token (RFC 9209 section 2.3); details are a quoted string's inside. */
static void failures(void)
{
	struct failure f;
	char long_text[2 * FAILURE_DETAILS_MAX];

	for (int e = FAILURE_NONE + 1; e < FAILURE_COUNT; e++) {
		const char *token = failure_token((enum failure_kind)e);

		UNIT_ROW(*token && strspn(token, "abcdefghijklmnopqrstuvwxyz_") == strlen(token), "%s", token);
		UNIT_ROW(failure_status((enum failure_kind)e) >= 400 && failure_status((enum failure_kind)e) <= 504, "%s", token);
		UNIT_ROW(*failure_text((enum failure_kind)e) != '\0', "%s", token);
	}
	failure_set(&f, FAILURE_DNS_ERROR, "%s", "a \"b\" \\ \r\n\t\x01\x7f\xff~");
	CU_ASSERT_STRING_EQUAL(f.details, "a ?b? ? ??????~");
	memset(long_text, 'a', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	failure_set(&f, FAILURE_DNS_ERROR, "%s", long_text);
	CU_ASSERT_EQUAL(strlen(f.details), FAILURE_DETAILS_MAX - 1);
}

static void counters(void)
{
	static struct stats a, b;
	struct stats *const sets[] = { &a, &b };
	struct stats_gauges gauges = { 0 };
	char *text = NULL, *line;
	size_t len, lines_seen = 0;
	FILE *f = open_memstream(&text, &len);

	stats_add(&a, STAT_REQUESTS, 2);
	stats_add(&b, STAT_REQUESTS, 3);
	stats_add(&a, STAT_BYTES_TO_CLIENTS, UINT64_C(1) << 40);
	stats_tell(&gauges, GAUGE_CACHE_BYTES, UINT64_C(1) << 41);
	stats_tell(&gauges, GAUGE_SECOND_AWAY, 0);
	stats_print(f, sets, COUNT(sets), &gauges);
	fclose(f);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "requests 5\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "bytes_to_clients 1099511627776\n"));
	for (line = text; (line = strchr(line, '\n')) != NULL; line++)
		lines_seen++;
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "cache_bytes 2199023255552\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "second_away 0\n"));
	CU_ASSERT_PTR_NULL(strstr(text, "second_entries"));
	CU_ASSERT_EQUAL(lines_seen, STAT_COUNT + 2);
	free(text);
}

/* A request counts in one set; what is shown as requests is all of them. */
static void route_counters(void)
{
	static struct stats_of_route sets[2];
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	stats_add_route(&sets[0], ROUTE_HITS);
	stats_add_route(&sets[1], ROUTE_HITS);
	stats_add_route(&sets[1], ROUTE_MISSES);
	stats_add_route(&sets[0], ROUTE_REQUESTS);
	stats_print_route(f, "news", sets, COUNT(sets));
	fclose(f);
	CU_ASSERT_STRING_EQUAL(text, "route.news.requests 4\nroute.news.hits 2\nroute.news.misses 1\n");
	free(text);
}

UNIT_SUITE(access, { "trust 20: masked", masked }, { "trust 20: masked, long", masked_long }, { "escaped", escaped }, { "lines", lines }, { "tunnel", tunnel_line }, { "json", as_json }, { "combined", as_combined }, { "longest", longest }, { "failures", failures }, { "counters", counters }, { "route counters", route_counters })
