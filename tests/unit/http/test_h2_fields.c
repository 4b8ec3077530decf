/* Owns the cases of proxy/http/h2_heads.c (header lists of HTTP/2 to heads of HTTP/1.1) and h2_fields.c (the way back).
 * Must not know: frames. Invariant: each row names its rule; sections without a name are of RFC 9113. Lists: h2_lists.h. In heads a \n
 * stands for CRLF. */
#include "proxy/http/h2_fields.h"
#include "tests/unit/h2_lists.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define GET ":method=GET|:scheme=https|:authority=h|:path=/"
#define POST ":method=POST|:scheme=https|:authority=h|:path=/"
#define HEAD_OF_GET "GET / HTTP/1.1\nHost: h\n"
#define HEAD_OF_POST "POST / HTTP/1.1\nHost: h\n"

enum { OPEN = 0, ENDS = 1, PLAIN = 2 };       /* a body may follow; none does; the connection has no TLS */

struct row {
	const char *rule;
	int how;
	const char *list, *head;              /* head NULL: malformed */
};

static void expect(const char *rule, enum h2_fault fault, const struct text *got, const char *want)
{
	size_t at = 0;
	bool same = true;

	UNIT_ROW(fault == (want ? H2_FINE : H2_MALFORMED), "%s: %d", rule, fault);
	for (const char *w = want ? want : ""; *w && same; w++) {
		if (*w == '\n')
			same = at < got->len && got->bytes[at++] == '\r';
		same = same && at < got->len && got->bytes[at++] == *w;
	}
	UNIT_ROW(same && at == got->len, "%s: %.*s", rule, (int)got->len, got->len ? got->bytes : "");
}

/* Of a header list, or a head. */
enum place { REQUEST, RESPONSE, TRAILER };

static enum h2_fault write_head(enum place place, const struct h2_field *list, size_t n, int how, struct text *head)
{
	struct h2_framing framing;

	return place == REQUEST ? h2_request_head(list, n, !(how & PLAIN), how & ENDS, head) :
	    place == RESPONSE ? h2_response_head(list, n, how & ENDS, head, &framing) : h2_trailer_lines(list, n, head);
}

static void check_lists(enum place place, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct h2_field list[H2_LISTS_FIELDS];
		size_t n = h2_list_read(rows[i].list, strlen(rows[i].list), list);
		struct text head = { 0 };

		expect(rows[i].rule, write_head(place, list, n, rows[i].how, &head), &head, rows[i].head);
		text_free(&head);
	}
}

static void pseudo_fields(void)
{
	static const struct row rows[] = {
		{ "8.3.1: a request", ENDS, GET, HEAD_OF_GET "\n" },
		{ "8.3.1: in any order", ENDS, ":path=/|:authority=h|:scheme=https|:method=GET", HEAD_OF_GET "\n" },
		{ "8.3: an unknown one", ENDS, GET "|:other=a", NULL },
		{ "8.3: one of responses", ENDS, GET "|:status=200", NULL },
		{ "8.3: its name alone", ENDS, GET "|:=a", NULL },
		{ "8.3: behind a regular field", ENDS, ":method=GET|:scheme=https|:path=/|host=h|:authority=h", NULL },
		{ "8.3: behind the others and a regular field", ENDS, GET "|a=b|:path=/", NULL },
		{ "8.3: :method twice", ENDS, GET "|:method=GET", NULL },
		{ "8.3: :path twice", ENDS, GET "|:path=/", NULL },
		{ "8.3: :authority twice", ENDS, GET "|:authority=h", NULL },
		{ "8.3: :scheme twice", ENDS, GET "|:scheme=https", NULL },
		{ "8.3.1: no :method", ENDS, ":scheme=https|:authority=h|:path=/", NULL },
		{ "8.3.1: no :scheme", ENDS, ":method=GET|:authority=h|:path=/", NULL },
		{ "8.3.1: no :path", ENDS, ":method=GET|:scheme=https|:authority=h", NULL },
		{ "8.3.1: nothing", ENDS, "", NULL },
		{ "8.2.1: a name in capitals", ENDS, ":Method=GET|:scheme=https|:authority=h|:path=/", NULL },
		{ "RFC 8441 section 4: extended CONNECT", OPEN,
		  ":method=CONNECT|:protocol=websocket|:scheme=https|:path=/|:authority=h", NULL },
		{ "RFC 8441 section 4: with nothing else", OPEN, ":method=CONNECT|:protocol=websocket|:authority=h:443", NULL },

		{ "RFC 9110 section 9.1: another method", ENDS, ":method=M-SEARCH|:scheme=https|:authority=h|:path=/",
		  "M-SEARCH / HTTP/1.1\nHost: h\n\n" },
		{ "RFC 9110 section 9.1: letters of methods are not alike", ENDS, ":method=get|:scheme=https|:authority=h|:path=/",
		  "get / HTTP/1.1\nHost: h\n\n" },
		{ "RFC 9110 section 9.1: a small connect is no CONNECT", ENDS, ":method=connect|:authority=h:443", NULL },
		{ "RFC 9110 section 9.1: two words", ENDS, ":method=GET /|:scheme=https|:authority=h|:path=/", NULL },
		{ "8.3.1: an empty method", ENDS, ":method=|:scheme=https|:authority=h|:path=/", NULL },
	};

	check_lists(REQUEST, rows, COUNT(rows));
}

static void targets(void)
{
	static const struct row rows[] = {
		{ "8.3.1: path and query", ENDS, ":method=GET|:scheme=https|:authority=h|:path=/a/b?c=d&e", "GET /a/b?c=d&e HTTP/1.1\nHost: h\n\n" },
		{ "8.3.1: an empty path", ENDS, ":method=GET|:scheme=https|:authority=h|:path=", NULL },
		{ "8.3.1: the empty path of OPTIONS", ENDS, ":method=OPTIONS|:scheme=https|:authority=h|:path=", NULL },
		{ "8.3.1: a path without its slash", ENDS, ":method=GET|:scheme=https|:authority=h|:path=a", NULL },
		{ "8.3.1: a URL for a path", ENDS, ":method=GET|:scheme=https|:authority=h|:path=https://h/", NULL },
		{ "8.3.1: a query alone", ENDS, ":method=GET|:scheme=https|:authority=h|:path=?a", NULL },
		{ "8.3.1: the asterisk of OPTIONS", ENDS, ":method=OPTIONS|:scheme=https|:authority=h|:path=*", "OPTIONS * HTTP/1.1\nHost: h\n\n" },
		{ "8.3.1: the asterisk of another method", ENDS, ":method=GET|:scheme=https|:authority=h|:path=*", NULL },
		{ "8.3.1: more than an asterisk", ENDS, ":method=OPTIONS|:scheme=https|:authority=h|:path=*a", NULL },
		{ "8.2.1: a blank in the path", ENDS, ":method=GET|:scheme=https|:authority=h|:path=/ HTTP/1.1", NULL },
		{ "RFC 3987: bytes beyond ASCII stay", ENDS, ":method=GET|:scheme=https|:authority=h|:path=/\xc3\xb6?\xff",
		  "GET /\xc3\xb6?\xff HTTP/1.1\nHost: h\n\n" },
		{ "a token of client-auth", ENDS, ":method=GET|:scheme=https|:authority=h|:path=/alice:pw@/https://f/",
		  "GET /alice:pw@/https://f/ HTTP/1.1\nHost: h\n\n" },

		{ "RFC 9112 section 3.2.2: http over TLS", ENDS, ":method=GET|:scheme=http|:authority=h:81|:path=/a?b",
		  "GET http://h:81/a?b HTTP/1.1\nHost: h:81\n\n" },
		{ "RFC 9112 section 3.2.2: https without TLS", ENDS | PLAIN, GET, "GET https://h/ HTTP/1.1\nHost: h\n\n" },
		{ "RFC 9112 section 3.2.1: http without TLS", ENDS | PLAIN, ":method=GET|:scheme=http|:authority=h|:path=/", HEAD_OF_GET "\n" },
		{ "RFC 9112 section 3.2.2: the name of the host from Host", ENDS | PLAIN, ":method=GET|:scheme=https|:path=/|a=b|host=h",
		  "GET https://h/ HTTP/1.1\nHost: h\na: b\n\n" },
		{ "RFC 9112 section 3.2.4: OPTIONS for another scheme", ENDS | PLAIN, ":method=OPTIONS|:scheme=https|:authority=h|:path=*",
		  "OPTIONS https://h HTTP/1.1\nHost: h\n\n" },
		{ "RFC 3986 section 3.1: letters of schemes are alike", ENDS, ":method=GET|:scheme=HTTP|:authority=h|:path=/",
		  "GET http://h/ HTTP/1.1\nHost: h\n\n" },
		{ "8.3.1: a scheme that is not served", ENDS, ":method=GET|:scheme=ftp|:authority=h|:path=/", NULL },
		{ "8.3.1: an empty scheme", ENDS, ":method=GET|:scheme=|:authority=h|:path=/", NULL },
		{ "8.3.1: more than a scheme", ENDS, ":method=GET|:scheme=https:|:authority=h|:path=/", NULL },

		{ "8.5: CONNECT", OPEN, ":method=CONNECT|:authority=h:443", "CONNECT h:443 HTTP/1.1\nHost: h:443\n\n" },
		{ "8.5: CONNECT, and nothing follows", ENDS, ":method=CONNECT|:authority=h:443", "CONNECT h:443 HTTP/1.1\nHost: h:443\n\n" },
		{ "8.5: without TLS", OPEN | PLAIN, ":method=CONNECT|:authority=[::1]:443", "CONNECT [::1]:443 HTTP/1.1\nHost: [::1]:443\n\n" },
		{ "8.5: with fields", OPEN, ":method=CONNECT|:authority=h:443|proxy-authorization=Basic YTpi",
		  "CONNECT h:443 HTTP/1.1\nHost: h:443\nproxy-authorization: Basic YTpi\n\n" },
		{ "8.5: user information is refused later", OPEN, ":method=CONNECT|:authority=alice:pw@h:443",
		  "CONNECT alice:pw@h:443 HTTP/1.1\nHost: alice:pw@h:443\n\n" },
		{ "8.5: a scheme", OPEN, ":method=CONNECT|:scheme=https|:authority=h:443", NULL },
		{ "8.5: a path", OPEN, ":method=CONNECT|:path=/|:authority=h:443", NULL },
		{ "8.5: no authority", OPEN, ":method=CONNECT|host=h:443", NULL },
		{ "8.5: no port", OPEN, ":method=CONNECT|:authority=h", NULL },
		{ "8.5: an empty port", OPEN, ":method=CONNECT|:authority=h:", NULL },
		{ "8.5: a port that is none", OPEN, ":method=CONNECT|:authority=h:a1", NULL },
		{ "8.5: an address without port", OPEN, ":method=CONNECT|:authority=[::1]", NULL },
		{ "8.5: a port alone", OPEN, ":method=CONNECT|:authority=:443", NULL },
		{ "8.5: a path behind it", OPEN, ":method=CONNECT|:authority=h/:443", NULL },
		{ "8.5: Host is the same", OPEN, ":method=CONNECT|:authority=h:443|host=H:443", "CONNECT h:443 HTTP/1.1\nHost: h:443\n\n" },
		{ "8.5: Host is another", OPEN, ":method=CONNECT|:authority=h:443|host=h", NULL },
		{ "RFC 9110 section 9.3.6: CONNECT has no content", OPEN, ":method=CONNECT|:authority=h:443|content-length=5", NULL },
		{ "RFC 9110 section 9.3.6: and says so", OPEN, ":method=CONNECT|:authority=h:443|content-length=0",
		  "CONNECT h:443 HTTP/1.1\nHost: h:443\n\n" },
	};

	check_lists(REQUEST, rows, COUNT(rows));
}

static void hosts(void)
{
	static const struct row rows[] = {
		{ "8.3.1: Host in the place of :authority", ENDS, ":method=GET|:scheme=https|:path=/|host=h", HEAD_OF_GET "\n" },
		{ "8.3.1: neither", ENDS, ":method=GET|:scheme=https|:path=/", NULL },
		{ "8.3.1: both", ENDS, GET "|host=h", HEAD_OF_GET "\n" },
		{ "8.3.1: they differ", ENDS, GET "|host=i", NULL },
		{ "8.3.1: one is the beginning of the other", ENDS, GET "|host=h.example", NULL },
		{ "8.3.1: ports differ", ENDS, GET "|host=h:81", NULL },
		{ "8.3.1: letters are alike", ENDS, GET "|host=H", HEAD_OF_GET "\n" },
		{ "8.3.1: the default port", ENDS, GET "|host=h:443", HEAD_OF_GET "\n" },
		{ "8.3.1: the default port in :authority", ENDS, ":method=GET|:scheme=https|:authority=h:443|:path=/|host=h",
		  "GET / HTTP/1.1\nHost: h:443\n\n" },
		{ "8.3.1: the default port of another scheme", ENDS, GET "|host=h:80", NULL },
		{ "8.3.1: the default port of http", ENDS | PLAIN, ":method=GET|:scheme=http|:authority=h|:path=/|host=h:80", HEAD_OF_GET "\n" },
		{ "8.3.1: an empty :authority", ENDS, ":method=GET|:scheme=https|:authority=|:path=/", NULL },
		{ "8.3.1: an empty :authority with a Host", ENDS, ":method=GET|:scheme=https|:authority=|:path=/|host=h", NULL },
		{ "8.3.1: an empty Host", ENDS, GET "|host=", NULL },
		{ "8.3.1: an empty Host alone", ENDS, ":method=GET|:scheme=https|:path=/|host=", NULL },
		{ "8.3.1: user information", ENDS, ":method=GET|:scheme=https|:authority=a:b@h|:path=/", NULL },
		{ "8.3.1: user information in Host", ENDS, ":method=GET|:scheme=https|:path=/|host=a@h", NULL },
		{ "RFC 9112 section 3.2: Host twice", ENDS, GET "|host=h|host=h", NULL },
		{ "RFC 9112 section 3.2: Host twice, and no :authority", ENDS, ":method=GET|:scheme=https|:path=/|host=h|host=h", NULL },
		{ "RFC 3986 section 3.2: a path in it", ENDS, ":method=GET|:scheme=https|:authority=h/a|:path=/", NULL },
		{ "RFC 3986 section 3.2: a query in it", ENDS, ":method=GET|:scheme=http|:authority=h?a|:path=/", NULL },
		{ "RFC 3986 section 3.2: a fragment in it", ENDS, ":method=GET|:scheme=http|:authority=h#a|:path=/", NULL },
		{ "RFC 3986 section 3.2.2: bytes beyond ASCII", ENDS, ":method=GET|:scheme=https|:authority=\xc3\xb6|:path=/", NULL },
		{ "RFC 3986 section 3.2.2: an address", ENDS, ":method=GET|:scheme=https|:authority=[::1]:8443|:path=/",
		  "GET / HTTP/1.1\nHost: [::1]:8443\n\n" },
	};

	check_lists(REQUEST, rows, COUNT(rows));
}

static void fields(void)
{
	static const struct row rows[] = {
		{ "8.2: fields", ENDS, GET "|accept=*/*|x-a=b c|x-a=d", HEAD_OF_GET "accept: */*\nx-a: b c\nx-a: d\n\n" },
		{ "8.2.1: an empty value", ENDS, GET "|a=", HEAD_OF_GET "a: \n\n" },
		{ "RFC 9110 section 5.5: bytes beyond ASCII", ENDS, GET "|a=\xe4\xff", HEAD_OF_GET "a: \xe4\xff\n\n" },
		{ "8.2.2: TE", ENDS, GET "|te=trailers", HEAD_OF_GET "te: trailers\n\n" },
		{ "8.2.3: crumbs", ENDS, GET "|cookie=a=b|x=y|cookie=c=d; e=f|cookie=g", HEAD_OF_GET "cookie: a=b; c=d; e=f; g\nx: y\n\n" },
		{ "8.2.3: one crumb", ENDS, GET "|cookie=a=b; c=d", HEAD_OF_GET "cookie: a=b; c=d\n\n" },
	};

	check_lists(REQUEST, rows, COUNT(rows));
}

/* Wherever they are: behind the pseudo-header fields of a request or a response, or in a trailer section. */
static void malformed_fields(void)
{
	static const char *const before[] = { [REQUEST] = GET, [RESPONSE] = ":status=200", [TRAILER] = "" };
	static const struct { const char *rule, *fields; } rows[] = {
		{ "8.2.1: a capital", "Accept=a" },
		{ "8.2.1: an empty name", "=a" },
		{ "8.2.1: a blank in the name", "a b=c" },
		{ "8.2.1: a colon in the name", "a:b=c" },
		{ "8.2.1: a blank before the value", "a= b" },
		{ "8.2.1: a blank behind the value", "a=b " },
		{ "8.2.1: a tab before the value", "a=\tb" },
		{ "8.2.1: a tab behind the value", "a=b\t" },
		{ "8.2.1: nothing but a blank", "a= " },
		{ "8.2.1: LF", "a=b\nc: d" },
		{ "8.2.1: CR", "a=b\rc" },
		{ "8.2.1: CRLF and a head", "a=b\r\n\r\nGET /b HTTP/1.1\r\n" },
		{ "8.2.1: LF in a name", "a\nb=c" },
		{ "8.2.2: Connection", "connection=close" },
		{ "8.2.2: an empty Connection", "connection=" },
		{ "8.2.2: Proxy-Connection", "proxy-connection=keep-alive" },
		{ "8.2.2: Keep-Alive", "keep-alive=timeout=5" },
		{ "8.2.2: Transfer-Encoding", "transfer-encoding=chunked" },
		{ "8.2.2: Upgrade", "upgrade=h2c" },
		{ "8.2.2: TE with a coding", "te=trailers, gzip" },
		{ "8.2.2: TE with nothing", "te=" },
		{ "8.2.1: LF in a later crumb", "cookie=a=b|cookie=c\nd" },
		{ "RFC 9110 section 8.6: lengths that differ", "content-length=5|content-length=6" },
		{ "RFC 9110 section 8.6: a length that differs from 0", "content-length=0|content-length=6" },
		{ "RFC 9110 section 8.6: an empty length", "content-length=" },
		{ "RFC 9110 section 8.6: a length with a sign", "content-length=+5" },
		{ "RFC 9110 section 8.6: a length below 0", "content-length=-5" },
		{ "RFC 9110 section 8.6: a list of lengths", "content-length=5, 5" },
		{ "RFC 9110 section 8.6: a length in hexadecimal", "content-length=0x5" },
		{ "RFC 9110 section 8.6: a length of 2^63", "content-length=9223372036854775808" },
		{ "RFC 9110 section 8.6: a length of 2^64 + 5", "content-length=18446744073709551621" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (enum place place = REQUEST; place <= TRAILER; place++) {
			struct h2_field list[2 * H2_LISTS_FIELDS];
			size_t n = h2_list_read(before[place], strlen(before[place]), list);
			struct text head = { 0 };

			n += h2_list_read(rows[i].fields, strlen(rows[i].fields), list + n);
			expect(rows[i].rule, write_head(place, list, n, OPEN, &head), &head, NULL);
			text_free(&head);
		}
}

static void framing(void)
{
	static const struct row rows[] = {
		{ "8.1.1: a length", OPEN, POST "|content-length=5", HEAD_OF_POST "Content-Length: 5\n\n" },
		{ "RFC 9112 section 6.1: a body without length", OPEN, POST, HEAD_OF_POST "Transfer-Encoding: chunked\n\n" },
		{ "RFC 9112 section 6.3: no body", ENDS, POST, HEAD_OF_POST "\n" },
		{ "8.1.1: no body, and a length of none", ENDS, POST "|content-length=0", HEAD_OF_POST "Content-Length: 0\n\n" },
		{ "8.1.1: a length of 0, and a trailer may follow", OPEN, POST "|content-length=0", HEAD_OF_POST "Transfer-Encoding: chunked\n\n" },
		{ "8.1.1: no body, and a length", ENDS, POST "|content-length=5", NULL },
		{ "RFC 9110 section 8.6: the same twice", OPEN, POST "|content-length=5|content-length=5", HEAD_OF_POST "Content-Length: 5\n\n" },
		{ "RFC 9110 section 8.6: the same number", OPEN, POST "|content-length=5|content-length=05", HEAD_OF_POST "Content-Length: 5\n\n" },
		{ "RFC 9110 section 8.6: the longest", OPEN, POST "|content-length=9223372036854775807",
		  HEAD_OF_POST "Content-Length: 9223372036854775807\n\n" },
	};

	check_lists(REQUEST, rows, COUNT(rows));
}

static void bodies(void)
{
	static const struct { const char *rule, *list; enum h2_body body; } rows[] = {
		{ "8.1: nothing is said", GET "|accept=a", H2_BODY_UNKNOWN },
		{ "8.1.1: a length", POST "|content-length=5", H2_BODY_PLAIN },
		{ "8.1.1: a length of 0, which DATA may belie", POST "|content-length=0", H2_BODY_UNKNOWN },
		{ "8.1.1: the same, in more digits", POST "|content-length=00", H2_BODY_UNKNOWN },
		{ "8.1.1: a length that is none", POST "|content-length=x", H2_BODY_PLAIN },
		{ "8.5: CONNECT", ":method=CONNECT|:authority=h:443", H2_BODY_PLAIN },
		{ "8.5: and what it expects", ":method=CONNECT|:authority=h:443|expect=100-continue", H2_BODY_PLAIN },
		{ "RFC 9110 section 10.1.1: it waits to be asked for", POST "|expect=100-continue", H2_BODY_CHUNKED },
		{ "RFC 9110 section 10.1.1: with a length", POST "|expect=100-continue|content-length=5", H2_BODY_PLAIN },
		{ "RFC 9110 section 10.1.1: with a length of 0", POST "|content-length=0|expect=100-continue", H2_BODY_CHUNKED },
		{ "a method in a field", GET "|method=CONNECT", H2_BODY_UNKNOWN },
		{ "nothing", "", H2_BODY_UNKNOWN },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct h2_field list[H2_LISTS_FIELDS];
		size_t n = h2_list_read(rows[i].list, strlen(rows[i].list), list);

		UNIT_ROW(h2_request_body(list, n) == rows[i].body, "%s", rows[i].rule);
	}
}

/* Every byte in every place of a request. */
static void bytes(void)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char host[] = "!$%&'*+-._~(),:;=[]0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	enum { METHOD, AUTHORITY, PATH, NAME, VALUE, PLACES };

	for (int byte = 0; byte < 256; byte++) {
		char c = (char)byte, texts[PLACES][4] = { "GET", "h.h", "/aa", "xax", "xax" };
		bool visible = byte > ' ' && byte != 0x7f, in_token = byte && strchr(token, byte);
		const bool valid[PLACES] = {
			in_token, byte && strchr(host, byte), visible, in_token && !(c >= 'A' && c <= 'Z'), visible || c == ' ' || c == '\t'
		};

		for (int place = 0; place < PLACES; place++) {
			struct text head = { 0 };
			struct slice t[PLACES];
			char before = texts[place][1];

			texts[place][1] = c;
			for (int i = 0; i < PLACES; i++)
				t[i] = (struct slice){ texts[i], 3 };
			const struct h2_field list[] = {
				{ { ":method", 7 }, t[METHOD] }, { { ":scheme", 7 }, { "https", 5 } }, { { ":authority", 10 }, t[AUTHORITY] },
				{ { ":path", 5 }, t[PATH] }, { t[NAME], t[VALUE] }
			};
			enum h2_fault fault = h2_request_head(list, COUNT(list), true, true, &head);

			UNIT_ROW((fault == H2_FINE) == valid[place], "8.2.1: byte %d in place %d", byte, place);
			UNIT_ROW(fault == H2_FINE || !head.len, "byte %d in place %d leaves nothing", byte, place);
			text_free(&head);
			texts[place][1] = before;
		}
	}
}

static void trailers(void)
{
	static const struct row rows[] = {
		{ "8.1: a trailer section", OPEN, "a=b|c=d", "a: b\nc: d\n" },
		{ "8.1: an empty one", OPEN, "", "" },
		{ "8.1: a pseudo-header field", OPEN, ":status=200", NULL },
		{ "8.1: one of requests", OPEN, "a=b|:path=/", NULL },
		{ "RFC 9110 section 6.5.1: a length is left out", OPEN, "a=b|content-length=5", "a: b\n" },
		{ "crumbs stay as they are", OPEN, "cookie=a|cookie=b", "cookie: a\ncookie: b\n" },
	};

	check_lists(TRAILER, rows, COUNT(rows));
}

static void responses(void)
{
	static const struct row rows[] = {
		{ "8.3.2: a response", OPEN, ":status=200|content-type=a/b|content-length=5",
		  "HTTP/1.1 200 \ncontent-type: a/b\nContent-Length: 5\n\n" },
		{ "RFC 9112 section 6.1: a body without length", OPEN, ":status=200|a=b", "HTTP/1.1 200 \na: b\nTransfer-Encoding: chunked\n\n" },
		{ "RFC 9112 section 6.3: its end is the connection's", ENDS, ":status=200|a=b", "HTTP/1.1 200 \na: b\n\n" },
		{ "8.1.1: the length of what a HEAD asked for", ENDS, ":status=200|content-length=5", "HTTP/1.1 200 \nContent-Length: 5\n\n" },
		{ "8.1: an interim response", OPEN, ":status=103|link=a", "HTTP/1.1 103 \nlink: a\n\n" },
		{ "8.1: an interim response that ends it", ENDS, ":status=100", NULL },
		{ "RFC 9112 section 6.1: no chunks in a 204", OPEN, ":status=204", "HTTP/1.1 204 \n\n" },
		{ "RFC 9112 section 6.3: no body in a 304", OPEN, ":status=304|etag=\"a\"", "HTTP/1.1 304 \netag: \"a\"\n\n" },
		{ "8.6: 101", OPEN, ":status=101", NULL },
		{ "8.3.2: no :status", OPEN, "a=b", NULL },
		{ "8.3.2: nothing", OPEN, "", NULL },
		{ "8.3: :status twice", OPEN, ":status=200|:status=200", NULL },
		{ "8.3: :status behind a field", OPEN, ":status=200|a=b|:status=200", NULL },
		{ "8.3: one of requests", OPEN, ":status=200|:path=/", NULL },
		{ "8.3.2: two digits", OPEN, ":status=20", NULL },
		{ "8.3.2: four digits", OPEN, ":status=2000", NULL },
		{ "8.3.2: no digits", OPEN, ":status=2x0", NULL },
		{ "8.3.2: with a reason", OPEN, ":status=200 OK", NULL },
		{ "8.3.2: empty", OPEN, ":status=", NULL },
		{ "RFC 9110 section 15: less than 100", OPEN, ":status=099", NULL },
		{ "RFC 9110 section 15: more than 599", OPEN, ":status=600", NULL },
		{ "RFC 9110 section 8.6: the same twice", OPEN, ":status=200|content-length=5|content-length=5",
		  "HTTP/1.1 200 \nContent-Length: 5\n\n" },
		{ "fields of requests are lines", OPEN, ":status=204|set-cookie=a|set-cookie=b|host=h|cookie=c|cookie=d",
		  "HTTP/1.1 204 \nset-cookie: a\nset-cookie: b\nhost: h\ncookie: c\ncookie: d\n\n" },
	};

	check_lists(RESPONSE, rows, COUNT(rows));
}

struct taken_row {
	const char *rule, *head, *list;       /* list NULL: the head is none */
	int status, framing;                  /* framing: the length, or CHUNKED or NONE */
};

enum { NONE = -1, CHUNKED = -2 };

/* Each \n as CRLF, in an allocation of just that size. */
static struct slice with_crlf(const char *head)
{
	size_t len = 0;
	char *to = malloc(2 * strlen(head) + 1);

	for (; to && *head; head++) {
		if (*head == '\n')
			to[len++] = '\r';
		to[len++] = *head;
	}
	to = to ? realloc(to, len ? len : 1) : NULL;
	if (!to)
		abort();
	return (struct slice){ to, len };
}

static void expect_fields(const char *rule, const struct h2_field *got, int n, const char *want)
{
	struct text list = { 0 };

	for (int i = 0; i < n; i++) {
		text_puts(&list, i ? "|" : "");
		text_add(&list, got[i].name.at, got[i].name.len);
		text_puts(&list, "=");
		text_add(&list, got[i].value.at, got[i].value.len);
	}
	UNIT_ROW((n >= 0) == (want != NULL), "%s: %d fields", rule, n);
	UNIT_ROW(!want || (list.len == strlen(want) && !memcmp(want, list.len ? list.bytes : "", list.len)), "%s: %.*s", rule,
	    (int)list.len, list.len ? list.bytes : "");
	text_free(&list);
}

static int take(enum place place, struct slice head, struct text *names, struct h2_field *got, size_t max, struct h2_framing *framing)
{
	return place == RESPONSE ? h2_response_fields(head, names, got, max, framing) :
	    place == REQUEST ? h2_request_fields(head, "https", names, got, max, framing) :
	    h2_trailer_fields(head, names, got, max);
}

static void check_taken(enum place place, const struct taken_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct slice head = with_crlf(rows[i].head);
		struct h2_framing framing = { .content_length = NONE };
		struct h2_field got[H2_LISTS_FIELDS];
		struct text names = { 0 };
		int n = take(place, head, &names, got, H2_LISTS_FIELDS, &framing);

		expect_fields(rows[i].rule, got, n, rows[i].list);
		if (n >= 0) {
			UNIT_ROW(framing.status == rows[i].status && framing.chunked == (rows[i].framing == CHUNKED), "%s", rows[i].rule);
			UNIT_ROW(framing.content_length == (framing.chunked ? NONE : rows[i].framing), "%s", rows[i].rule);
			UNIT_ROW(take(place, head, &names, got, (size_t)n, &framing) == n, "%s: room for them", rows[i].rule);
			UNIT_ROW(!n || take(place, head, &names, got, (size_t)n - 1, &framing) < 0, "%s: no room", rows[i].rule);
		}
		text_free(&names);
		free((char *)(uintptr_t)head.at);
	}
}

static void response_fields(void)
{
	static const struct taken_row rows[] = {
		{ "8.3.2: a response", "HTTP/1.1 200 OK\nContent-Type: a/b\nContent-Length: 5\n\n",
		  ":status=200|content-type=a/b|content-length=5", 200, 5 },
		{ "8.3.2: no reason", "HTTP/1.1 404\n\n", ":status=404", 404, NONE },
		{ "8.1: an interim response", "HTTP/1.1 103 Early Hints\nLink: a\n\n", ":status=103|link=a", 103, NONE },
		{ "8.2.2: chunks are gone", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: A\n\n", ":status=200|trailer=A", 200, CHUNKED },
		{ "8.2.2: fields of the connection", "HTTP/1.1 200 OK\nConnection: close\nKeep-Alive: timeout=5\nProxy-Connection: close\n"
		  "Upgrade: h2c\nTE: gzip\nA: b\n\n", ":status=200|a=b", 200, NONE },
		{ "8.2.1: blanks around values", "HTTP/1.1 200 OK\nA:b\nC:  d e \t\nF:\n\n", ":status=200|a=b|c=d e|f=", 200, NONE },
		{ "8.2.1: letters of values stay", "HTTP/1.1 200 OK\nX-A_B: C\n\n", ":status=200|x-a_b=C", 200, NONE },
		{ "Host and Cookie are fields", "HTTP/1.1 200 OK\nHost: h\nCookie: a\n\n", ":status=200|host=h|cookie=a", 200, NONE },
		{ "8.6: 101", "HTTP/1.1 101 Switching Protocols\nUpgrade: a\n\n", NULL, 0, 0 },
		{ "another version", "HTTP/1.0 200 OK\n\n", NULL, 0, 0 },
		{ "a number of two digits", "HTTP/1.1 20\n\n", NULL, 0, 0 },
		{ "a number of four digits", "HTTP/1.1 2000 OK\n\n", NULL, 0, 0 },
		{ "no number", "HTTP/1.1 OK?\n\n", NULL, 0, 0 },
		{ "no blank line", "HTTP/1.1 200 OK\nA: b\n", NULL, 0, 0 },
		{ "something behind it", "HTTP/1.1 200 OK\n\nA: b\n\n", NULL, 0, 0 },
		{ "no colon", "HTTP/1.1 200 OK\na\n\n", NULL, 0, 0 },
		{ "no name", "HTTP/1.1 200 OK\n: b\n\n", NULL, 0, 0 },
		{ "a blank before the colon", "HTTP/1.1 200 OK\na : b\n\n", NULL, 0, 0 },
		{ "a folded line", "HTTP/1.1 200 OK\na: b\n c\n\n", NULL, 0, 0 },
		{ "CR within", "HTTP/1.1 200 OK\na: b\rc\n\n", NULL, 0, 0 },
		{ "a length and chunks", "HTTP/1.1 200 OK\nContent-Length: 5\nTransfer-Encoding: chunked\n\n", NULL, 0, 0 },
		{ "two lengths", "HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 5\n\n", NULL, 0, 0 },
		{ "a length that is none", "HTTP/1.1 200 OK\nContent-Length: five\n\n", NULL, 0, 0 },
		{ "another coding", "HTTP/1.1 200 OK\nTransfer-Encoding: gzip\n\n", NULL, 0, 0 },
		{ "nothing", "", NULL, 0, 0 },
	};

	check_taken(RESPONSE, rows, COUNT(rows));
}

/* RFC 9112 section 2.2: as it stands, without CRLF for each LF. */
static void line_ends(void)
{
	static const struct { const char *head; int n; } rows[] = {
		{ "HTTP/1.1 200 OK\r\na: b\r\n\r\n", 2 },
		{ "HTTP/1.1 200 OK\na: b\r\n\r\n", -1 },
		{ "HTTP/1.1 200 OK\r\na: b\n\r\n", -1 },
		{ "HTTP/1.1 200 OK\r\na: b\r\n\n", -1 },
		{ "\nHTTP/1.1 200 OK\r\n\r\n", -1 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct h2_field got[H2_LISTS_FIELDS];
		struct h2_framing framing;
		struct text names = { 0 };
		int n = h2_response_fields((struct slice){ rows[i].head, strlen(rows[i].head) }, &names, got, H2_LISTS_FIELDS, &framing);

		UNIT_ROW(n == rows[i].n, "row %zu: %d", i, n);
		text_free(&names);
	}
}

static void request_fields(void)
{
	static const struct taken_row rows[] = {
		{ "8.3.1: a request", "GET /a?b HTTP/1.1\nHost: h:81\nAccept: a\n\n",
		  ":method=GET|:scheme=https|:authority=h:81|:path=/a?b|accept=a", 0, NONE },
		{ "8.3.1: Host behind others", "HEAD / HTTP/1.1\nA: b\nhost: h\n\n", ":method=HEAD|:scheme=https|:authority=h|:path=/|a=b", 0, NONE },
		{ "8.3.1: an asterisk", "OPTIONS * HTTP/1.1\nHost: h\n\n", ":method=OPTIONS|:scheme=https|:authority=h|:path=*", 0, NONE },
		{ "8.1.1: a length", "POST / HTTP/1.1\nHost: h\nContent-Length: 5\n\n",
		  ":method=POST|:scheme=https|:authority=h|:path=/|content-length=5", 0, 5 },
		{ "8.2.2: chunks are gone", "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n",
		  ":method=POST|:scheme=https|:authority=h|:path=/", 0, CHUNKED },
		{ "8.2.2: TE", "GET / HTTP/1.1\nHost: h\nTE: trailers\nConnection: TE\n\n",
		  ":method=GET|:scheme=https|:authority=h|:path=/|te=trailers", 0, NONE },
		{ "8.2.2: TE with a coding", "GET / HTTP/1.1\nHost: h\nTE: gzip\nConnection: TE, close\n\n",
		  ":method=GET|:scheme=https|:authority=h|:path=/", 0, NONE },
		{ "8.2.3: Cookie stays one field", "GET / HTTP/1.1\nHost: h\nCookie: a=b; c=d\n\n",
		  ":method=GET|:scheme=https|:authority=h|:path=/|cookie=a=b; c=d", 0, NONE },
		{ "8.3.1: no Host", "GET / HTTP/1.1\nA: b\n\n", NULL, 0, 0 },
		{ "8.3.1: an empty Host", "GET / HTTP/1.1\nHost:\n\n", NULL, 0, 0 },
		{ "8.3.1: two Hosts", "GET / HTTP/1.1\nHost: h\nHost: h\n\n", NULL, 0, 0 },
		{ "8.3.1: user information", "GET / HTTP/1.1\nHost: a@h\n\n", NULL, 0, 0 },
		{ "8.3.1: absolute form", "GET http://h/ HTTP/1.1\nHost: h\n\n", NULL, 0, 0 },
		{ "8.3.1: the asterisk of another method", "GET * HTTP/1.1\nHost: h\n\n", NULL, 0, 0 },
		{ "8.5: CONNECT", "CONNECT h:443 HTTP/1.1\nHost: h:443\n\n", NULL, 0, 0 },
		{ "another version", "GET / HTTP/1.0\nHost: h\n\n", NULL, 0, 0 },
		{ "no version", "GET /\nHost: h\n\n", NULL, 0, 0 },
		{ "no target", "GET HTTP/1.1\nHost: h\n\n", NULL, 0, 0 },
		{ "nothing", "", NULL, 0, 0 },
	};

	check_taken(REQUEST, rows, COUNT(rows));
}

static void trailer_fields(void)
{
	static const struct taken_row rows[] = {
		{ "8.1: a trailer section", "X-Encoding-Rule: a\nB:c\n\n", "x-encoding-rule=a|b=c", 0, NONE },
		{ "8.1: an empty one", "\n", "", 0, NONE },
		{ "8.2.2: fields of the connection", "Connection: close\nA: b\n\n", "a=b", 0, NONE },
		{ "RFC 9110 section 6.5.1: a length is left out", "Content-Length: 5\nA: b\n\n", "a=b", 0, NONE },
		{ "no blank line", "A: b\n", NULL, 0, 0 },
		{ "a pseudo-header field", ":status: 200\n\n", NULL, 0, 0 },
		{ "nothing", "", NULL, 0, 0 },
	};

	check_taken(TRAILER, rows, COUNT(rows));
}

/* Text that cannot grow, of every length. One that is too short is reported, and nothing is written behind it. */
static void no_memory(void)
{
	struct h2_field request[H2_LISTS_FIELDS], response[H2_LISTS_FIELDS];
	size_t n = h2_list_read(GET "|a=b", strlen(GET "|a=b"), request), m = h2_list_read(":status=200|a=b", 15, response);
	char room[64];

	for (size_t cap = 0; cap <= sizeof room; cap++) {
		const size_t head = sizeof "GET / HTTP/1.1\r\nHost: h\r\na: b\r\n\r\n" - 1, answer = sizeof "HTTP/1.1 200 \r\na: b\r\n\r\n" - 1;
		struct text one = text_on(room, cap), other = text_on(room, cap), lines = text_on(room, cap), names = text_on(room, cap);
		struct h2_field got[H2_LISTS_FIELDS];
		struct h2_framing framing;

		UNIT_ROW(h2_request_head(request, n, true, true, &one) == (cap < head ? H2_NO_MEMORY : H2_FINE), "a request in %zu", cap);
		UNIT_ROW(h2_response_head(response, m, true, &other, &framing) == (cap < answer ? H2_NO_MEMORY : H2_FINE), "a response in %zu", cap);
		UNIT_ROW(h2_trailer_lines(response + 1, 1, &lines) == (cap < 6 ? H2_NO_MEMORY : H2_FINE), "a trailer in %zu", cap);
		UNIT_ROW(h2_trailer_fields((struct slice){ "A: b\r\n\r\n", 8 }, &names, got, 1) == (cap < 8 ? -1 : 1), "names in %zu", cap);
	}
}

UNIT_SUITE(h2_fields, { "pseudo-header fields", pseudo_fields }, { "targets", targets }, { "hosts", hosts }, { "fields", fields }, { "malformed fields", malformed_fields },
	{ "framing", framing }, { "bodies", bodies }, { "bytes", bytes }, { "trailers", trailers }, { "responses", responses },
	{ "fields of responses", response_fields }, { "line ends", line_ends }, { "fields of requests", request_fields }, { "fields of trailers", trailer_fields },
	{ "no memory", no_memory })
