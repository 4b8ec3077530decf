/* Owns the cases of proxy/object/response_head.c: each header's way to the client (RFC 9110 sections 7.6, 7.7, 8.8), by what was done to
 * the body. Must not know: bodies. Invariant: each row names its field or rule. */
#include "proxy/http/http_parse.h"
#include "proxy/object/response_head.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { TEXT_MAX = 2048 };

/* Line feeds become CRLF. */
static void crlf(char out[TEXT_MAX], const char *text)
{
	size_t n = 0;

	for (; *text && n + 3 < TEXT_MAX; text++) {
		if (*text == '\n')
			out[n++] = '\r';
		out[n++] = *text;
	}
	out[n] = '\0';
}

/* The head of lines as an origin's; msg points into buf. */
static void parse(struct http_msg *m, char buf[TEXT_MAX], const char *status_line, const char *fields)
{
	struct http_parser *parser = http_parser_new(false, NULL, NULL);
	char lines[TEXT_MAX];
	size_t used;

	snprintf(lines, sizeof(lines), "%s\n%s\n", status_line, fields);
	crlf(buf, lines);
	CU_ASSERT_EQUAL_FATAL(http_msg_init(m, 16), 0);
	http_parser_start(parser, m, false);
	m->base = buf;
	if (!UNIT_ROW(http_parse(parser, buf, strlen(buf), &used) == PARSE_HEAD, "%s: %s", fields, http_parser_reason(parser)))
		CU_FAIL_FATAL("fixture");
	http_parser_free(&parser);
}

static const struct response_settings plain = { .via = "me", .date = "NOW", .etag_suffix = ";utf-0123abcd", .output = OUTPUT_UTF_8 };

static void build(char out[TEXT_MAX], struct object_head *head, const char *status_line, const char *fields, enum response_body body,
	const struct response_settings *s)
{
	char buf[TEXT_MAX];
	struct http_msg m;

	parse(&m, buf, status_line, fields);
	struct object_head *built = response_head_build(&m, body, s);
	CU_ASSERT_PTR_NOT_NULL_FATAL(built);
	snprintf(out, TEXT_MAX, "%.*s", (int)built->len, built->bytes);
	*head = *built;
	object_head_unref(&built);
	http_msg_free(&m);
}

#define CT "Content-Type: application/xml; charset=utf-8\n"
#define OWN_A "W/\"own-d24ec4f1a98c6e5b" TAG
#define TAG ";utf-0123abcd\"\n"

static void rows(void)
{
	static const struct {
		const char *fields;
		const char *raw, *decoded, *normalised, *not_modified;   /* not_modified: a 304 about our bytes; NULL: as raw */
	} cases[] = {
		{ "", "", "", CT, "" },
		{ "X-A: 1\n", NULL, "X-A: 1\n", "X-A: 1\n" CT, NULL },
		{ "X-A:\n", "X-A: \n", "X-A: \n", "X-A: \n" CT, "X-A: \n" },
		{ "Set-Cookie: a\nX-A: 1\nSet-Cookie: b, c\n", NULL, "Set-Cookie: a\nX-A: 1\nSet-Cookie: b, c\n", "Set-Cookie: a\nX-A: 1\nSet-Cookie: b, c\n" CT, NULL },
		{ "Age: 1\n", NULL, "Age: 1\n", "Age: 1\n" CT, NULL },
		{ "Cache-Control: max-age=1\n", NULL, "Cache-Control: max-age=1\n", "Cache-Control: max-age=1\n" CT, NULL },
		{ "Expires: 0\n", NULL, "Expires: 0\n", "Expires: 0\n" CT, NULL },
		{ "Last-Modified: a\n", NULL, "Last-Modified: a\n", "Last-Modified: a\n" CT, NULL },
		{ "Vary: Cookie\n", NULL, "Vary: Cookie\n", "Vary: Cookie\n" CT, NULL },
		{ "Content-Language: ru\n", NULL, "Content-Language: ru\n", "Content-Language: ru\n" CT, NULL },
		{ "Content-Location: /a\n", NULL, "Content-Location: /a\n", CT "Content-Location: /a\n", NULL },
		{ "Proxy-Status: a\n", NULL, "Proxy-Status: a\n", "Proxy-Status: a\n" CT, NULL },
		{ "Content-Type: text/xml\n", NULL, "Content-Type: text/xml\n", CT, "" },
		{ "Content-Encoding: gzip\n", NULL, "", CT, "" },
		{ "Content-Encoding: a\nContent-Encoding: b\n", NULL, "", CT, "" },
		{ "Content-Length: 5\n", "", "", CT, "" },
		{ "Transfer-Encoding: chunked\n", "", "", CT, "" },
		{ "Accept-Ranges: bytes\n", NULL, "", CT, "" },
		{ "Content-MD5: a\n", NULL, "", CT, "" },
		{ "Content-Digest: a\n", NULL, "", CT, "" },
		{ "Repr-Digest: a\n", NULL, "", CT, "" },
		{ "Digest: a\n", NULL, "", CT, "" },
		{ "ETag: \"a\"\n", NULL, "ETag: W/\"a\"\n", CT "ETag: \"a" TAG, "ETag: \"a" TAG },
		{ "ETag: W/\"a\"\n", NULL, "ETag: W/\"a\"\n", CT "ETag: W/\"a" TAG, "ETag: W/\"a" TAG },
		{ "ETag: a\n", NULL, "ETag: " OWN_A, CT "ETag: " OWN_A, "ETag: " OWN_A },
		{ "ETag:\n", "", "", CT, "" },
		{ "Via: 1.0 a\nVia: 1.1 b\n", NULL, "Via: 1.0 a\nVia: 1.1 b\n", CT "Via: 1.0 a\nVia: 1.1 b\n", NULL },
		{ "X-Encoding-Rule: forged\n", "", "", CT, "" },
		{ "X-Encoding-Policy: auto\n", "", "", CT, "" },
		{ "Connection: close\n", "", "", CT, "" },
		{ "Connection: x-a, X-B\nX-A: 1\nx-b: 2\nX-C: 3\n", "X-C: 3\n", "X-C: 3\n", "X-C: 3\n" CT, "X-C: 3\n" },
		{ "Connection: cache-control\nCache-Control: private\n", "Cache-Control: private\n", "Cache-Control: private\n", "Cache-Control: private\n" CT,
			"Cache-Control: private\n" },
		{ "Keep-Alive: timeout=5\n", "", "", CT, "" },
		{ "Proxy-Connection: keep-alive\n", "", "", CT, "" },
		{ "Proxy-Authenticate: Basic\n", "", "", CT, "" },
		{ "Trailer: X-A\n", "", "", CT, "" },
		{ "Upgrade: h2c\n", "", "", CT, "" },
		{ "Alt-Svc: h2=\":443\"\n", "", "", CT, "" },
		{ "Warning: 110 a \"b\"\n", "", "", CT, "" },
	};
	static const struct { enum response_body body; bool ours; const char *name, *status_line; } kinds[] = {
		{ RESPONSE_RAW, false, "raw", "HTTP/1.1 200 OK" },
		{ RESPONSE_DECODED, false, "decoded", "HTTP/1.1 200 OK" },
		{ RESPONSE_NORMALISED, false, "normalised", "HTTP/1.1 200 OK" },
		{ RESPONSE_RAW, true, "304", "HTTP/1.1 304 Not Modified" },
	};

	for (size_t i = 0; i < COUNT(cases) * COUNT(kinds); i++) {
		size_t row = i / COUNT(kinds), kind = i % COUNT(kinds);
		const char *const wants[] = { cases[row].raw, cases[row].decoded, cases[row].normalised, cases[row].not_modified };
		char lines[TEXT_MAX], want[TEXT_MAX], got[TEXT_MAX];
		struct response_settings s = plain;
		struct object_head head;

		s.etag_ours = kinds[kind].ours;
		snprintf(lines, sizeof(lines), "%s\nDate: NOW\n%sVia: 1.1 me\n", kinds[kind].status_line,
			wants[kind] ? wants[kind] : cases[row].fields);
		crlf(want, lines);
		build(got, &head, kinds[kind].status_line, cases[row].fields, kinds[kind].body, &s);
		UNIT_ROW(strcmp(got, want) == 0, "%s, %s: wanted [%s], got [%s]", cases[row].fields, kinds[kind].name, want, got);
	}
}

/* By whom the origin was chosen: what reaches those in front. */
static void ways(void)
{
	enum { CHOSEN = 1, FORWARDED = 2, FOREIGN = 4, ALL = 7 };
	static const struct { const char *field; int kept; } cases[] = {
		{ "X-Accel-Redirect: /internal/secret", CHOSEN },
		{ "X-Accel-Expires: @0", CHOSEN },
		{ "x-accel-buffering: no", CHOSEN },
		{ "X-Sendfile: /etc/passwd", CHOSEN },
		{ "X-Sendfile2: /etc/passwd 0-5", CHOSEN },
		{ "X-Sendfile-Temporary: /etc/passwd", CHOSEN },
		{ "X-Send-File: /etc/passwd", CHOSEN },
		{ "X-LIGHTTPD-send-file: /etc/passwd", CHOSEN },
		{ "X-LiteSpeed-Location: /internal", CHOSEN },
		{ "X-LiteSpeed-Purge: *", CHOSEN },
		{ "X-Reproxy-URL: http://10.0.0.1/", CHOSEN },
		{ "X-Reproxy-File: /etc/passwd", CHOSEN },
		{ "Surrogate-Control: max-age=99999", CHOSEN },
		{ "Surrogate-Key: a", CHOSEN },
		{ "Edge-Control: max-age=99999", CHOSEN },
		{ "Cache-Tag: a", CHOSEN },
		{ "Set-Cookie: a=b", CHOSEN | FORWARDED },
		{ "Set-Cookie2: a=b", CHOSEN | FORWARDED },
		{ "Clear-Site-Data: \"*\"", CHOSEN | FORWARDED },
		{ "Strict-Transport-Security: max-age=99999", CHOSEN | FORWARDED },
		{ "Service-Worker-Allowed: /", CHOSEN | FORWARDED },
		{ "Public-Key-Pins: pin", CHOSEN | FORWARDED },
		{ "Public-Key-Pins-Report-Only: pin", CHOSEN | FORWARDED },
		{ "Expect-CT: enforce", CHOSEN | FORWARDED },
		{ "Access-Control-Allow-Origin: *", CHOSEN | FORWARDED },
		{ "Access-Control-Allow-Credentials: true", CHOSEN | FORWARDED },
		{ "Timing-Allow-Origin: *", CHOSEN | FORWARDED },
		{ "Refresh: 0;url=/", CHOSEN | FORWARDED },
		{ "Report-To: {}", CHOSEN | FORWARDED },
		{ "Reporting-Endpoints: a", CHOSEN | FORWARDED },
		{ "NEL: {}", CHOSEN | FORWARDED },
		{ "Accept-CH: UA", CHOSEN | FORWARDED },
		{ "Critical-CH: UA", CHOSEN | FORWARDED },
		{ "Origin-Agent-Cluster: ?1", CHOSEN | FORWARDED },
		{ "Origin-Trial: a", CHOSEN | FORWARDED },
		{ "Speculation-Rules: \"/a\"", CHOSEN | FORWARDED },
		{ "Use-As-Dictionary: match=\"/*\"", CHOSEN | FORWARDED },
		{ "Sec-Session-Registration: a", CHOSEN | FORWARDED },
		{ "Attribution-Reporting-Register-Source: a", CHOSEN | FORWARDED },
		{ "X-Permitted-Cross-Domain-Policies: all", CHOSEN | FORWARDED },
		{ "WWW-Authenticate: Basic realm=\"a\"", CHOSEN | FORWARDED },
		{ "Authentication-Info: a", CHOSEN | FORWARDED },
		{ "X-Content-Type-Options: other", CHOSEN | FORWARDED },
		{ "Alt-Svc: h3", 0 },
		{ "Content-Security-Policy: default-src 'none'", ALL },
		{ "X-Frame-Options: deny", ALL },
		{ "Link: <http://hub.test/>; rel=hub", ALL },
		{ "Cache-Control: max-age=5", ALL },
		{ "Content-Disposition: attachment", ALL },
		{ "X-Accelerator: a", ALL },
		{ "Surrogate: a", ALL },
	};
	static const enum response_body bodies[] = { RESPONSE_RAW, RESPONSE_DECODED, RESPONSE_NORMALISED };
	static const enum response_way all[] = { RESPONSE_CHOSEN, RESPONSE_FORWARDED, RESPONSE_FOREIGN };

	for (size_t i = 0; i < COUNT(cases) * COUNT(all) * COUNT(bodies); i++) {
		size_t row = i / COUNT(all) / COUNT(bodies), way = i / COUNT(bodies) % COUNT(all);
		struct response_settings s = plain;
		struct object_head head;
		char got[TEXT_MAX], fields[128], sandbox[] = RESPONSE_SANDBOX;

		s.way = all[way];
		snprintf(fields, sizeof(fields), "%s\n", cases[row].field);
		build(got, &head, "HTTP/1.1 200 OK", fields, bodies[i % COUNT(bodies)], &s);
		UNIT_ROW((strstr(got, cases[row].field) != NULL) == ((cases[row].kept >> way & 1) != 0), "trust 18: %s, way %zu: %s", cases[row].field,
			way, got);
		UNIT_ROW((strstr(got, sandbox) != NULL) == (s.way == RESPONSE_FOREIGN), "trust 18: sandbox, way %zu: %s", way, got);
	}
}

static void own_lines(void)
{
	static const struct {
		const char *rule, *status_line, *fields;
		bool varies;
		const char *line;       /* stands in the head */
		const char *other;      /* does not; NULL: nothing to look for */
	} cases[] = {
		{ "the origin's date", "HTTP/1.1 200 OK", "Date: THEN\n", false, "\r\nDate: THEN\r\n", "NOW" },
		{ "an empty date", "HTTP/1.1 200 OK", "Date:\n", false, "\r\nDate: NOW\r\n", "Date: \r\n" },
		{ "Via names the version received (9110 7.6.3)", "HTTP/1.0 200 OK", "", false, "\r\nVia: 1.0 me\r\n", "1.1 me" },
		{ "answered as HTTP/1.1 (9110 2.5)", "HTTP/1.0 404 Not Found", "", false, "HTTP/1.1 404 Not Found\r\n", "HTTP/1.0" },
		{ "a reason of our own", "HTTP/1.1 200 Whatever", "", false, "HTTP/1.1 200 OK\r\n", "Whatever" },
		{ "a status nobody named", "HTTP/1.1 299 Odd", "", false, "HTTP/1.1 299 \r\n", "Odd" },
		{ "varies", "HTTP/1.1 200 OK", "", true, "\r\nVary: Accept-Encoding\r\n", NULL },
		{ "varies already", "HTTP/1.1 200 OK", "Vary: a, accept-encoding\n", true, "\r\nVary: a, accept-encoding\r\n", "Vary: Accept-Encoding" },
		{ "varies by everything", "HTTP/1.1 200 OK", "Vary: *\n", true, "\r\nVary: *\r\n", "Vary: Accept-Encoding" },
		{ "varies by other things", "HTTP/1.1 200 OK", "Vary: Cookie\n", true, "\r\nVary: Accept-Encoding\r\n", NULL },
		{ "does not vary", "HTTP/1.1 200 OK", "", false, "HTTP/1.1 200 OK\r\n", "Vary" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct response_settings s = plain;
		struct object_head head;
		char got[TEXT_MAX];

		s.varies = cases[i].varies;
		build(got, &head, cases[i].status_line, cases[i].fields, RESPONSE_RAW, &s);
		UNIT_ROW(strstr(got, cases[i].line) != NULL, "%s: %s", cases[i].rule, got);
		UNIT_ROW(!cases[i].other || !strstr(got, cases[i].other), "%s: %s", cases[i].rule, got);
	}
}

static void lengths(void)
{
	static const struct {
		const char *rule, *status_line, *fields;
		enum response_body body;
		bool ours, no_body;
		int64_t length;
	} cases[] = {
		{ "raw", "HTTP/1.1 200 OK", "Content-Length: 5\n", RESPONSE_RAW, false, false, 5 },
		{ "raw, none", "HTTP/1.1 200 OK", "", RESPONSE_RAW, false, false, -1 },
		{ "raw, chunked", "HTTP/1.1 200 OK", "Transfer-Encoding: chunked\n", RESPONSE_RAW, false, false, -1 },
		{ "empty", "HTTP/1.1 200 OK", "Content-Length: 0\n", RESPONSE_RAW, false, false, 0 },
		{ "decoded", "HTTP/1.1 200 OK", "Content-Length: 5\n", RESPONSE_DECODED, false, false, -1 },
		{ "normalised", "HTTP/1.1 200 OK", "Content-Length: 5\n", RESPONSE_NORMALISED, false, false, -1 },
		{ "204", "HTTP/1.1 204 No Content", "", RESPONSE_RAW, false, true, -1 },
		{ "304", "HTTP/1.1 304 Not Modified", "", RESPONSE_RAW, false, true, -1 },
		{ "304 about our bytes", "HTTP/1.1 304 Not Modified", "Content-Length: 5\n", RESPONSE_RAW, true, true, -1 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct response_settings s = plain;
		struct object_head head;
		char got[TEXT_MAX];

		s.etag_ours = cases[i].ours;
		build(got, &head, cases[i].status_line, cases[i].fields, cases[i].body, &s);
		UNIT_ROW(head.content_length == cases[i].length && head.no_body == cases[i].no_body, "%s: %lld", cases[i].rule, (long long)head.content_length);
		UNIT_ROW(head.status == atoi(cases[i].status_line + 9) && head.len == strlen(got), "%s: %d", cases[i].rule, head.status);
	}
}

static void untouched(void)
{
	static const struct {
		const char *rule, *status_line, *fields;
		bool normalise, respect;
		enum verdict_reason reason;
	} cases[] = {
		{ "look at the body", "HTTP/1.1 200 OK", "", true, true, VREASON_NONE },
		{ "203 too", "HTTP/1.1 203 Other", "", true, true, VREASON_NONE },
		{ "switched off", "HTTP/1.1 200 OK", "", false, true, VREASON_DISABLED },
		{ "206", "HTTP/1.1 206 Partial Content", "", true, true, VREASON_PARTIAL },
		{ "206, whatever the route does", "HTTP/1.1 206 Partial Content", "", false, true, VREASON_PARTIAL },
		{ "404", "HTTP/1.1 404 Not Found", "", true, true, VREASON_STATUS },
		{ "301", "HTTP/1.1 301 Moved", "", true, true, VREASON_STATUS },
		{ "304", "HTTP/1.1 304 Not Modified", "", true, true, VREASON_STATUS },
		{ "204", "HTTP/1.1 204 No Content", "", true, true, VREASON_STATUS },
		{ "no-transform (9110 7.7)", "HTTP/1.1 200 OK", "Cache-Control: a, No-Transform\n", true, true, VREASON_NO_TRANSFORM },
		{ "no-transform in a second field", "HTTP/1.1 200 OK", "Cache-Control: a\nCache-Control: no-transform\n", true, true, VREASON_NO_TRANSFORM },
		{ "no-transform, not respected", "HTTP/1.1 200 OK", "Cache-Control: no-transform\n", true, false, VREASON_NONE },
		{ "no-transform inside quotes", "HTTP/1.1 200 OK", "Cache-Control: a=\"x, no-transform\"\n", true, true, VREASON_NONE },
		{ "length 0", "HTTP/1.1 200 OK", "Content-Length: 0\n", true, true, VREASON_EMPTY },
		{ "off before status", "HTTP/1.1 404 Not Found", "", false, true, VREASON_DISABLED },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		char buf[TEXT_MAX];
		struct http_msg m;
		enum verdict_reason reason;

		parse(&m, buf, cases[i].status_line, cases[i].fields);
		reason = response_untouched(&m, cases[i].normalise, cases[i].respect);
		UNIT_ROW(reason == cases[i].reason, "%s: %d", cases[i].rule, (int)reason);
		http_msg_free(&m);
	}
}

static void of_our_own(void)
{
	struct object *o = object_new(1000);
	const struct object_head *head;
	struct object_reader r = { .object = NULL };
	struct iovec iov;
	size_t n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	CU_ASSERT_EQUAL_FATAL(response_own(o, 404, "X-A: 1\r\n", "NOW", "text\n", 5), 0);
	head = object_get_head(o);
	CU_ASSERT_PTR_NOT_NULL_FATAL(head);
	CU_ASSERT(object_phase(o) == OBJECT_DONE && head->status == 404 && head->content_length == 5 && !head->no_body);
	UNIT_ROW(head->len > 26 && memcmp(head->bytes, "HTTP/1.1 404 Not Found\r\n", 24) == 0, "%.*s", (int)head->len, head->bytes);
	CU_ASSERT_PTR_NOT_NULL(memmem(head->bytes, head->len, "\r\nDate: NOW\r\n", 13));
	CU_ASSERT_PTR_NOT_NULL(memmem(head->bytes, head->len, "\r\nCache-Control: no-store\r\n", 27));
	CU_ASSERT_PTR_NOT_NULL(memmem(head->bytes, head->len, "\r\nX-A: 1\r\n", 10));
	UNIT_ROW(memmem(head->bytes, head->len, "\r\n" RESPONSE_SANDBOX, sizeof(RESPONSE_SANDBOX) + 1), "trust 18: an answer of our own");
	CU_ASSERT(memcmp(head->bytes + head->len - 2, "\r\n", 2) == 0);
	object_attach(o, &r);
	CU_ASSERT_EQUAL(object_peek(&r, &iov, 1, 100, &n), 1);
	CU_ASSERT(n == 5 && memcmp(iov.iov_base, "text\n", 5) == 0);
	object_detach(&r);
	object_unref(&o);
}

/* An answer that caches may keep says so itself. */
static void of_our_own_for_caches(void)
{
	struct object *o = object_new(1000);

	CU_ASSERT_PTR_NOT_NULL_FATAL(o);
	CU_ASSERT_EQUAL_FATAL(response_own(o, 200, "Content-Type: a/b\r\nCache-Control: max-age=1\r\n", "NOW", "a", 1), 0);
	const struct object_head *head = object_get_head(o);
	CU_ASSERT_PTR_NOT_NULL(memmem(head->bytes, head->len, "\r\nCache-Control: max-age=1\r\n", 28));
	CU_ASSERT_PTR_NULL(memmem(head->bytes, head->len, "no-store", 8));
	object_unref(&o);
}

/* RFC 9110 section 15.2, RFC 8297 section 2: of an interim response only what hints at the final one goes on. */
static void interim(void)
{
	static const struct { const char *rule, *status_line, *fields, *want; } cases[] = {
		{ "103: what is no hint stays", "HTTP/1.1 103 Whatever", "Link: </a>; rel=preload\nSet-Cookie: a=b\nX-Long: y\nlink: </b>\nDate: now\n",
			"HTTP/1.1 103 Early Hints\nLink: </a>; rel=preload\nlink: </b>\n\n" },
		{ "103: policies that bear on preloads", "HTTP/1.1 103 Early Hints", "Content-Security-Policy: img-src a\nReferrer-Policy: origin\n",
			"HTTP/1.1 103 Early Hints\nContent-Security-Policy: img-src a\nReferrer-Policy: origin\n\n" },
		{ "103: hop by hop", "HTTP/1.1 103 Early Hints", "Connection: Link\nLink: </a>\n", "HTTP/1.1 103 Early Hints\n\n" },
		{ "102: nothing to hint at", "HTTP/1.1 102 Processing", "Link: </a>\n", "HTTP/1.1 102 Processing\n\n" },
		{ "not known: likewise", "HTTP/1.1 199 Later", "Link: </a>\nContent-Length: 5\n", "HTTP/1.1 199 \n\n" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char buf[TEXT_MAX], want[TEXT_MAX], got[TEXT_MAX];
		struct text t = text_on(got, sizeof got - 1);
		struct http_msg m;

		parse(&m, buf, cases[i].status_line, cases[i].fields);
		response_interim(&t, &m);
		got[t.len] = '\0';
		crlf(want, cases[i].want);
		UNIT_ROW(!t.failed && !strcmp(got, want), "trust 03: %s: %s", cases[i].rule, got);
		http_msg_free(&m);
	}
}

UNIT_SUITE(response_head, { "rows", rows }, { "trust 03: interim responses", interim }, { "trust 18: ways", ways },
	{ "own lines", own_lines }, { "lengths", lengths }, { "untouched", untouched },
	{ "of our own", of_our_own },
	{ "of our own, for caches", of_our_own_for_caches })
