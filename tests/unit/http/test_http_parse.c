/* Owns the cases of proxy/http/http_parse.c: heads, framing, bodies, and what request smuggling tries.
 * Must not know: connections. Invariant: each row names its rule and gives one transcript, the same wherever the bytes are cut.
 *
 * A transcript: start line and version, keep or close, how the body is framed, fields ("~": hop by hop), "=" and the body,
 * "+" and what was left over; "!" and the error where one ended it. */
#include "proxy/http/http_parse.h"
#include "tests/unit/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRANSCRIPT_MAX = 2048, FIELDS_MAX = 8 };

struct transcript { char text[TRANSCRIPT_MAX]; size_t len; };

struct run {
	bool request;
	struct http_parser *parser;
	struct http_msg msg;
	struct transcript out, body;
	char *head;                 /* exactly what was fed of the head, moved at every call */
	size_t head_len;
	bool in_body, ended;
};

static const char *const errors[] = { "NONE", "SYNTAX", "METHOD", "VERSION", "FRAMING", "FIELDS", "INCOMPLETE", "BODY" };

static void __attribute__((format(printf, 2, 3))) say(struct transcript *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->text + t->len, sizeof(t->text) - t->len, format, ap);
	va_end(ap);
	if (n > 0)
		t->len = t->len + (size_t)n < sizeof(t->text) ? t->len + (size_t)n : sizeof(t->text) - 1;
}

static int on_body(void *arg, const char *at, size_t len)
{
	struct run *r = arg;

	say(&r->body, "%.*s", (int)len, at);
	return 0;
}

static void say_head(struct run *r)
{
	static const char *const methods[] = { "OTHER", "GET", "HEAD", "CONNECT" };
	const struct http_msg *m = &r->msg;

	if (r->request)
		say(&r->out, "%s %.*s", methods[m->method], (int)m->target_len, http_msg_target(m).at);
	else
		say(&r->out, "%u", m->status);
	say(&r->out, " %u.%u %s", m->major, m->minor, m->keep_alive ? "keep" : "close");
	if (m->chunked)
		say(&r->out, " chunked");
	if (m->has_length)
		say(&r->out, " length=%llu", (unsigned long long)m->content_length);
	for (uint32_t i = 0; i < m->n_fields; i++) {
		struct slice name = http_field_name(m, &m->fields[i]), value = http_field_value(m, &m->fields[i]);

		say(&r->out, "; %.*s%s: %.*s", (int)name.len, name.at, m->fields[i].hop ? "~" : "", (int)value.len, value.at);
	}
}

static void say_result(struct run *r, enum http_parse_result result, size_t left)
{
	if (result == PARSE_DONE || r->body.len)
		say(&r->out, " =%s", r->body.text);
	if (result == PARSE_ERROR)
		say(&r->out, "!%s", errors[http_parser_error(r->parser)]);
	else if (left)
		say(&r->out, " +%zu", left);
	r->ended = true;
}

static void feed_body(struct run *r, const char *at, size_t len)
{
	char *piece = malloc(len ? len : 1);
	enum http_parse_result result;
	size_t used;

	if (len)
		memcpy(piece, at, len);
	result = http_parse(r->parser, piece, len, &used);
	CU_ASSERT(used <= len);
	CU_ASSERT(result == PARSE_MORE || result == PARSE_DONE || result == PARSE_ERROR);
	if (result != PARSE_MORE)
		say_result(r, result, len - used);
	free(piece);
}

static void feed_head(struct run *r, const char *at, size_t len)
{
	char *head = malloc(r->head_len + len);
	enum http_parse_result result;
	size_t used;

	if (r->head_len)
		memcpy(head, r->head, r->head_len);
	memcpy(head + r->head_len, at, len);
	free(r->head);
	r->msg.base = r->head = head;
	result = http_parse(r->parser, head + r->head_len, len, &used);
	CU_ASSERT(used <= len);
	if (result == PARSE_HEAD) {
		CU_ASSERT_EQUAL(r->msg.head_len, r->head_len + used);
		say_head(r);
		r->in_body = true;
		http_parser_go_on(r->parser);
		feed_body(r, at + used, len - used);
	} else if (result != PARSE_MORE) {
		say_result(r, result, len - used);
	} else {
		CU_ASSERT_EQUAL(used, len);
		r->head_len += len;
	}
}

static void feed(struct run *r, const char *at, size_t len)
{
	if (!len)
		return;
	if (r->ended)
		say(&r->out, " +%zu", len);
	else if (r->in_body)
		feed_body(r, at, len);
	else
		feed_head(r, at, len);
}

/* In pieces of step bytes, and a cut at `cut`. */
static void transcribe(struct transcript *out, bool request, bool no_body, const char *bytes, size_t len, size_t cut, size_t step)
{
	struct run *r = calloc(1, sizeof(*r));

	r->request = request;
	r->parser = http_parser_new(request, on_body, r);
	CU_ASSERT_EQUAL_FATAL(http_msg_init(&r->msg, FIELDS_MAX), 0);
	http_parser_start(r->parser, &r->msg, no_body);
	for (size_t at = 0, n; at < len && !(r->ended && step == 1); at += n) {
		n = at < cut ? cut - at : len - at;
		n = n < step ? n : step;
		feed(r, bytes + at, n);
	}
	if (!r->ended)
		say_result(r, http_parse_eof(r->parser), 0);
	*out = r->out;
	http_msg_free(&r->msg);
	http_parser_free(&r->parser);
	free(r->head);
	free(r);
}

/* other: what llhttp 9 makes of it where llhttp 8 says want and either is safe; the same wherever the bytes are cut. */
struct row { const char *rule, *want, *bytes; size_t len; bool no_body; const char *other; };
#define ROW(rule, bytes, want) { rule, want, bytes, sizeof(bytes) - 1, false, NULL }
#define ROW_8_9(rule, bytes, want, other) { rule, want, bytes, sizeof(bytes) - 1, false, other }

/* The part before " +": how much is left over depends on the cut. */
static bool same(const struct transcript *a, const char *want)
{
	const char *plus = strstr(a->text, " +");
	size_t len = plus ? (size_t)(plus - a->text) : a->len;

	plus = strstr(want, " +");
	return len == (plus ? (size_t)(plus - want) : strlen(want)) && memcmp(a->text, want, len) == 0;
}

static void check(bool request, const struct row *rows, size_t count)
{
	for (const struct row *row = rows; row < rows + count; row++) {
		const char *want = row->want;
		struct transcript t;

		transcribe(&t, request, row->no_body, row->bytes, row->len, 0, row->len);
		if (row->other && strcmp(t.text, row->other) == 0)
			want = row->other;
		UNIT_ROW(strcmp(t.text, want) == 0, "%s: wanted [%s], got [%s]", row->rule, want, t.text);
		transcribe(&t, request, row->no_body, row->bytes, row->len, 0, 1);
		UNIT_ROW(same(&t, want), "%s, byte by byte: wanted [%s], got [%s]", row->rule, want, t.text);
		for (size_t cut = 1; cut < row->len; cut++) {
			transcribe(&t, request, row->no_body, row->bytes, row->len, cut, row->len);
			if (!UNIT_ROW(same(&t, want), "%s, cut at %zu: wanted [%s], got [%s]", row->rule, cut, want, t.text))
				break;
		}
	}
}

#define CHECK(request, rows) check(request, rows, sizeof(rows) / sizeof((rows)[0]))
#define G "GET / HTTP/1.1\r\n"
#define R "HTTP/1.1 200 OK\r\n"

static void start_lines(void)
{
	static const struct row rows[] = {
		ROW("plain", "GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a?b 1.1 keep; Host: h ="),
		ROW("no fields", G "\r\n", "GET / 1.1 keep ="),
		ROW("what follows is the next message", G "\r\nGET /b", "GET / 1.1 keep = +6"),
		ROW("HTTP/1.0 closes (9112 9.3)", "GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close ="),
		ROW("HTTP/1.0 with keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET / 1.0 keep; Connection: Keep-Alive ="),
		ROW("close", G "Connection: close\r\n\r\n", "GET / 1.1 close; Connection: close ="),
		ROW("close in a list", G "Connection: x, Close\r\n\r\n", "GET / 1.1 close; Connection: x, Close ="),
		ROW("empty line before (9112 2.2)", "\r\n" G "\r\n", "GET / 1.1 keep ="),
		ROW("LF before", "\n" G "\r\n", "!SYNTAX"),
		ROW("CR before", "\r" G "\r\n", "!SYNTAX"),
		ROW("HEAD", "HEAD / HTTP/1.1\r\n\r\n", "HEAD / 1.1 keep ="),
		ROW("absolute form", "GET http://h/a HTTP/1.1\r\n\r\n", "GET http://h/a 1.1 keep ="),
		ROW("authority form", "CONNECT h:443 HTTP/1.1\r\n\r\n", "CONNECT h:443 1.1 keep ="),
		ROW("asterisk form", "OPTIONS * HTTP/1.1\r\n\r\n", "OTHER * 1.1 keep ="),
		ROW("methods are case-sensitive (9110 9.1)", "get / HTTP/1.1\r\n\r\n", "!METHOD"),
		ROW("unknown method", "FEED / HTTP/1.1\r\n\r\n", "!METHOD"),
		ROW("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "!VERSION"),
		ROW("HTTP/2.0", "GET / HTTP/2.0\r\n\r\n", "!VERSION"),
		ROW("HTTP/1.2", "GET / HTTP/1.2\r\n\r\n", "!VERSION"),
		ROW("HTTP/0.9", "GET / HTTP/0.9\r\n\r\n", "!VERSION"),
		ROW("HTTP/1.10", "GET / HTTP/1.10\r\n\r\n", "!VERSION"),
		ROW("HTTP/11", "GET / HTTP/11\r\n\r\n", "!VERSION"),
		ROW("lower-case name", "GET / http/1.1\r\n\r\n", "!SYNTAX"),
		ROW("other protocol", "GET / HTTQ/1.1\r\n\r\n", "!SYNTAX"),
		ROW("no version", "GET /\r\n\r\n", "!VERSION"),
		ROW("blank after the version", "GET / HTTP/1.1 \r\n\r\n", "!VERSION"),
		ROW("two blanks before the version", "GET /  HTTP/1.1\r\n\r\n", "!SYNTAX"),
		ROW("two blanks before the target", "GET  / HTTP/1.1\r\n\r\n", "!SYNTAX"),
		ROW("blank in the target", "GET /a b HTTP/1.1\r\n\r\n", "!SYNTAX"),
		ROW("tab for blank", "GET\t/ HTTP/1.1\r\n\r\n", "!METHOD"),
		ROW("tab in the target", "GET /a\tb HTTP/1.1\r\n\r\n", "!SYNTAX"),
		ROW("NUL in the target", "GET /a\0b HTTP/1.1\r\n\r\n", "!SYNTAX"),
		ROW("DEL in the target", "GET /a\x7f HTTP/1.1\r\n\r\n", "!SYNTAX"),
		ROW("8-bit target", "GET /\xe9 HTTP/1.1\r\n\r\n", "!SYNTAX"),
		ROW("target without slash", "GET a HTTP/1.1\r\n\r\n", "!SYNTAX"),
		ROW("LF ends the start line", "GET / HTTP/1.1\nHost: h\r\n\r\n", "!SYNTAX"),
		ROW_8_9("CR ends the start line: 505 or 400", "GET / HTTP/1.1\rHost: h\r\n\r\n", "!VERSION", "!SYNTAX"),
		ROW("nothing", "\r\n", "!INCOMPLETE"),
		ROW("cut in the start line", "GET /a HT", "!INCOMPLETE"),
		ROW("cut in the head", G "Host: h\r\n", "!INCOMPLETE"),
		ROW("TLS hello", "\x16\x03\x01\x02\x00\x01", "!METHOD"),
	};
	CHECK(true, rows);
}

static void fields(void)
{
	static const struct row rows[] = {
		ROW("blanks and tabs around a value", G "A: \t b c \t\r\n\r\n", "GET / 1.1 keep; A: b c ="),
		ROW("no blank", G "A:b\r\n\r\n", "GET / 1.1 keep; A: b ="),
		ROW("empty value", G "A:\r\nB: \r\nC: c\r\n\r\n", "GET / 1.1 keep; A: ; B: ; C: c ="),
		ROW("8-bit value (9110 5.5)", G "A: \xe9\r\n\r\n", "GET / 1.1 keep; A: \xe9 ="),
		ROW("every sign of a name (9110 5.6.2)", G "!#$%&'*+-.^_`|~0: a\r\n\r\n", "GET / 1.1 keep; !#$%&'*+-.^_`|~0: a ="),
		ROW("order and doubles stay", G "A: 1\r\na: 2\r\n\r\n", "GET / 1.1 keep; A: 1; a: 2 ="),
		ROW("blank before the colon (9112 5.1)", G "A : b\r\n\r\n", "!SYNTAX"),
		ROW("tab before the colon", G "A\t: b\r\n\r\n", "!SYNTAX"),
		ROW("no name", G ": b\r\n\r\n", "!SYNTAX"),
		ROW("no colon", G "Host\r\n\r\n", "!SYNTAX"),
		ROW("bracket in a name", G "A(: b\r\n\r\n", "!SYNTAX"),
		ROW("8-bit name", G "\xe9: b\r\n\r\n", "!SYNTAX"),
		ROW("NUL in a name", G "A\0: b\r\n\r\n", "!SYNTAX"),
		ROW("NUL in a value", G "A: b\0c\r\n\r\n", "!SYNTAX"),
		ROW("control in a value", G "A: b\001c\r\n\r\n", "!SYNTAX"),
		ROW("vertical tab in a value", G "A: \vb\r\n\r\n", "!SYNTAX"),
		ROW("DEL in a value", G "A: b\x7f\r\n\r\n", "!SYNTAX"),
		ROW("CR in a value", G "A: b\rc\r\n\r\n", "!SYNTAX"),
		ROW("CR at a value's start", G "A: \rb\r\n\r\n", "!SYNTAX"),
		ROW("CR CR LF", G "A: b\r\r\n\r\n", "!SYNTAX"),
		ROW("CR hides a field", G "A: b\rTransfer-Encoding: chunked\r\n\r\n", "!SYNTAX"),
		ROW("LF ends the request line", "GET / HTTP/1.1\nA: b\r\n\r\n", "!SYNTAX"),
		ROW("LF ends a field", G "A: b\nC: d\r\n\r\n", "!SYNTAX"),
		ROW("LF ends an empty field", G "A:\nC: d\r\n\r\n", "!SYNTAX"),
		ROW("LF ends the head", G "A: b\r\n\n", "!SYNTAX"),
		ROW("LF LF ends the head", G "A: b\n\n", "!SYNTAX"),
		ROW("CR ends the head", G "A: b\r\n\rB: c\r\n\r\n", "!SYNTAX"),
		ROW("folded (9112 5.2)", G "A: b\r\n c\r\n\r\n", "!SYNTAX"),
		ROW("folded by tab", G "A: b\r\n\tc\r\n\r\n", "!SYNTAX"),
		ROW("folded after nothing", G "A:\r\n c\r\n\r\n", "!SYNTAX"),
		ROW("folded after a blank", G "A: \r\n c\r\n\r\n", "!SYNTAX"),
		ROW("folded to nothing", G "A: b\r\n \r\n\r\n", "!SYNTAX"),
		ROW("folded twice to nothing", G "A:\r\n \r\n \r\n\r\n", "!SYNTAX"),
		ROW("folded framing", G "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "!SYNTAX"),
		ROW_8_9("folded length: refused by either name", G "Content-Length: 1\r\n 0\r\n\r\n0123456789", "!FRAMING", "!SYNTAX"),
		ROW("blank before the first field (9112 2.2)", G " A: b\r\n\r\n", "!SYNTAX"),
		ROW("blank before the end", G "A: b\r\n \r\n", "!SYNTAX"),
		ROW("as many fields as there may be", G "A:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n\r\n",
			"GET / 1.1 keep; A: ; A: ; A: ; A: ; A: ; A: ; A: ; A:  ="),
		ROW("one more", G "A:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n\r\n", "!FIELDS"),
		ROW("named by Connection (9110 7.6.1)", G "X-A: 1\r\nConnection: x-a, keep-alive\r\nKeep-Alive: 5\r\nX-B: 2\r\n\r\n",
			"GET / 1.1 keep; X-A~: 1; Connection: x-a, keep-alive; Keep-Alive~: 5; X-B: 2 ="),
		ROW("fields that cannot be hop by hop", G "Host: h\r\nConnection: host\r\nConnection: cache-control\r\nCache-Control: a\r\n\r\n",
			"GET / 1.1 keep; Host: h; Connection: host; Connection: cache-control; Cache-Control: a ="),
	};
	CHECK(true, rows);
}

static void framing(void)
{
	static const struct row rows[] = {
		ROW("length", G "Content-Length: 5\r\n\r\nhelloX", "GET / 1.1 keep length=5; Content-Length: 5 =hello +1"),
		ROW("length of nothing", G "Content-Length: 0\r\n\r\nX", "GET / 1.1 keep length=0; Content-Length: 0 = +1"),
		ROW("leading zeroes", G "Content-Length: 005\r\n\r\nhello", "GET / 1.1 keep length=5; Content-Length: 005 =hello"),
		ROW("ends too early", G "Content-Length: 5\r\n\r\nhell", "GET / 1.1 keep length=5; Content-Length: 5 =hell!INCOMPLETE"),
		ROW("two lengths", G "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "!FRAMING"),
		ROW("the same length twice", G "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "!FRAMING"),
		ROW("a list of lengths", G "Content-Length: 5, 5\r\n\r\nhello", "!FRAMING"),
		ROW("sign", G "Content-Length: +5\r\n\r\nhello", "!FRAMING"),
		ROW("negative", G "Content-Length: -5\r\n\r\nhello", "!FRAMING"),
		ROW("hexadecimal", G "Content-Length: 0x5\r\n\r\nhello", "!FRAMING"),
		ROW("letters", G "Content-Length: 5a\r\n\r\nhello", "!FRAMING"),
		ROW("blank inside", G "Content-Length: 1 0\r\n\r\n0123456789", "!FRAMING"),
		ROW("no length", G "Content-Length:\r\n\r\n", "!FRAMING"),
		ROW("2^64", G "Content-Length: 18446744073709551616\r\n\r\n", "!FRAMING"),
		ROW("chunked", G "Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nX",
			"GET / 1.1 keep chunked; Transfer-Encoding: Chunked =hello +1"),
		ROW("length, then chunked (9112 6.3)", G "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("chunked, then length", G "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("chunked, then length 0", G "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("chunked twice", G "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("chunked in two fields", G "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("identity in a second field", G "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("chunked not last (9112 6.1)", G "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("other codings", G "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("identity", G "Transfer-Encoding: identity\r\n\r\n", "!FRAMING"),
		ROW("xchunked", G "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("chunkedx", G "Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("a parameter", G "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("quoted", G "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: a tab behind it", G "Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: blanks and tabs behind it", G "Transfer-Encoding: chunked \t \r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: a comma behind it", G "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: an empty member and a tab", G "Transfer-Encoding: , chunked\t\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: an empty field behind it", G "Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: a tab behind it, and a length", G "Transfer-Encoding: chunked\t\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("an empty member", G "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("no coding", G "Transfer-Encoding:\r\n\r\n", "!FRAMING"),
		ROW("blanks around it", G "Transfer-Encoding: \tchunked \r\n\r\n0\r\n\r\n", "GET / 1.1 keep chunked; Transfer-Encoding: chunked ="),
		ROW("vertical tab before it", G "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n", "!SYNTAX"),
		ROW("blank before the colon", G "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "!SYNTAX"),
		ROW("underscore: another field", G "Transfer_Encoding: chunked\r\n\r\n0", "GET / 1.1 keep; Transfer_Encoding: chunked = +1"),
		ROW("HTTP/1.0 (9112 6.1)", "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("neither: no body", "POST / HTTP/1.1\r\n\r\nhello", "OTHER / 1.1 keep = +5"),
	};
	CHECK(true, rows);
}

#define C G "Transfer-Encoding: chunked\r\n\r\n"
#define W "GET / 1.1 keep chunked; Transfer-Encoding: chunked"

static void chunks(void)
{
	static const struct row rows[] = {
		ROW("several", C "5\r\nhello\r\n1\r\n,\r\nA\r\n0123456789\r\n0\r\n\r\n", W " =hello,0123456789"),
		ROW("lower-case digits and zeroes", C "00a\r\n0123456789\r\n000\r\n\r\n", W " =0123456789"),
		ROW("data that looks like framing", C "5\r\n0\r\n\r\n\r\n0\r\n\r\n", W " =0\r\n\r\n"),
		ROW("extension (9112 7.1.1)", C "5;a=b\r\nhello\r\n0\r\n\r\n", W " =hello"),
		ROW("quoted extension", C "5;a=\"b\"\r\nhello\r\n0\r\n\r\n", W " =hello"),
		ROW_8_9("quoted ; in an extension (9110 5.6.4): refused or read over", C "5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n", W "!SYNTAX", W " =hello"),
		ROW_8_9("quoted pair in an extension", C "5;a=\"b\\\"c\"\r\nhello\r\n0\r\n\r\n", W "!SYNTAX", W " =hello"),
		ROW("trailer (9112 7.1.2)", C "1\r\na\r\n0\r\nB: c\r\nD: e\r\n\r\nX", W " =a +1"),
		ROW("more trailer fields than a head may have", C "0\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n\r\n", W " ="),
		ROW("framing in the trailer", C "0\r\nTransfer-Encoding: gzip\r\n\r\n", W "!FRAMING"),
		ROW("no last chunk", C "1\r\na\r\n", W " =a!INCOMPLETE"),
		ROW("no end of the trailer", C "1\r\na\r\n0\r\n", W " =a!INCOMPLETE"),
		ROW("cut in a chunk", C "5\r\nhel", W " =hel!INCOMPLETE"),
		ROW("no size", C "\r\nhello\r\n0\r\n\r\n", W "!FRAMING"),
		ROW("0x", C "0x5\r\nhello\r\n0\r\n\r\n", W "!FRAMING"),
		ROW("sign", C "+5\r\nhello\r\n0\r\n\r\n", W "!FRAMING"),
		ROW("negative", C "-5\r\nhello\r\n0\r\n\r\n", W "!FRAMING"),
		ROW("blank before", C " 5\r\nhello\r\n0\r\n\r\n", W "!FRAMING"),
		ROW("blank after", C "5 \r\nhello\r\n0\r\n\r\n", W "!FRAMING"),
		ROW("letters", C "5g\r\nhello\r\n0\r\n\r\n", W "!FRAMING"),
		ROW("2^64", C "10000000000000000\r\nhello\r\n0\r\n\r\n", W "!FRAMING"),
		ROW_8_9("LF after the size: refused by either name", C "5\nhello\r\n0\r\n\r\n", W "!FRAMING", W "!SYNTAX"),
		ROW("CR after the size", C "5\rhello\r\n0\r\n\r\n", W "!SYNTAX"),
		ROW("LF in an extension", C "5;a\nhello\r\n0\r\n\r\n", W "!SYNTAX"),
		ROW("CR in an extension", C "5;a\rb\r\nhello\r\n0\r\n\r\n", W "!SYNTAX"),
		ROW("NUL in an extension", C "5;a\0\r\nhello\r\n0\r\n\r\n", W "!SYNTAX"),
		ROW("longer than said", C "5\r\nhelloX\r\n0\r\n\r\n", W " =hello!SYNTAX"),
		ROW("LF after the data", C "5\r\nhello\n0\r\n\r\n", W " =hello!SYNTAX"),
		ROW("two other bytes after the data", C "5\r\nhelloXX0\r\n\r\n", W " =hello!SYNTAX"),
		ROW_8_9("LF after the last chunk: refused by either name", C "0\n\r\n", W "!FRAMING", W "!SYNTAX"),
		ROW("LF ends the trailer", C "0\r\n\n", W "!SYNTAX"),
		ROW("LF in the trailer", C "0\r\nA: b\n\r\n", W "!SYNTAX"),
		ROW_8_9("folded trailer: read over or refused, handed to nobody", C "0\r\nA: b\r\n c\r\n\r\n", W " =", W "!SYNTAX"),
		ROW("no name in the trailer (9110 5.1)", C "0\r\n: b\r\n\r\n", W "!SYNTAX"),
		ROW("no name in the trailer, behind a good one", C "0\r\nA: b\r\n: b\r\n\r\n", W "!SYNTAX"),
		ROW("NUL in the trailer", C "0\r\nA: \0\r\n\r\n", W "!SYNTAX"),
	};
	CHECK(true, rows);
}

static void responses(void)
{
	static const struct row rows[] = {
		ROW("length", R "Content-Length: 5\r\n\r\nhello", "200 1.1 keep length=5; Content-Length: 5 =hello"),
		ROW("until closed (9112 6.3, 8)", R "A: b\r\n\r\nhello", "200 1.1 close; A: b =hello"),
		ROW("until closed, nothing", R "\r\n", "200 1.1 close ="),
		ROW("HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nhello", "200 1.0 close =hello"),
		ROW("chunked", R "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "200 1.1 keep chunked; Transfer-Encoding: chunked =hello"),
		ROW("chunked, closed", R "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
			"200 1.1 keep chunked; Transfer-Encoding: chunked =hello!INCOMPLETE"),
		ROW("closed too early", R "Content-Length: 5\r\n\r\nhell", "200 1.1 keep length=5; Content-Length: 5 =hell!INCOMPLETE"),
		ROW("closed in the head", R "A: b\r\n", "!INCOMPLETE"),
		ROW("closed in the status line", "HTTP/1.1 200 O", "!INCOMPLETE"),
		ROW("204 has no body", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nX", "204 1.1 keep length=5; Content-Length: 5 = +1"),
		ROW("304 has no body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "304 1.1 keep length=5; Content-Length: 5 ="),
		ROW("1xx has no body", "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" R, "103 1.1 keep; Link: a = +17"),
		ROW("no reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 1.1 keep length=0; Content-Length: 0 ="),
		ROW("not even a blank", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "200 1.1 keep length=0; Content-Length: 0 ="),
		ROW("8-bit reason", "HTTP/1.1 200 \xe9\r\nContent-Length: 0\r\n\r\n", "200 1.1 keep length=0; Content-Length: 0 ="),
		ROW("two digits", "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n", "!SYNTAX"),
		ROW("one digit and LF: less than a status line", "HTTP/1.1 1\n\n", "!SYNTAX"),
		ROW("four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", "!SYNTAX"),
		ROW("no digits", "HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n", "!SYNTAX"),
		ROW("000", "HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n", "!SYNTAX"),
		ROW("LF ends the status line", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n", "!SYNTAX"),
		ROW("CR in the reason", "HTTP/1.1 200 O\rK\r\nContent-Length: 0\r\n\r\n", "!SYNTAX"),
		ROW("NUL in the reason (9112 4)", "HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n", "!SYNTAX"),
		ROW("NUL is the reason", "HTTP/1.1 200 \0\r\nConnection: close\r\n\r\n", "!SYNTAX"),
		ROW("DEL in the reason", "HTTP/1.1 200 O\x7fK\r\n\r\n", "!SYNTAX"),
		ROW("tab in the reason", "HTTP/1.1 200 O\tK\r\nContent-Length: 0\r\n\r\n", "200 1.1 keep length=0; Content-Length: 0 ="),
		ROW("HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", "!VERSION"),
		ROW("HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n", "!VERSION"),
		ROW("Shoutcast", "ICY 200 OK\r\n\r\n", "!SYNTAX"),
		ROW("no head", "<rss/>", "!SYNTAX"),
		ROW("a request", G "\r\n", "!SYNTAX"),
		ROW("chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("gzip as transfer coding", R "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("identity as transfer coding", R "Transfer-Encoding: identity\r\n\r\nhello", "!FRAMING"),
		ROW("trust 11: a tab behind chunked", R "Transfer-Encoding: chunked\t\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: a blank and a tab", R "Transfer-Encoding: chunked \t\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: a comma", R "Transfer-Encoding: chunked,\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: an empty member", R "Transfer-Encoding: ,chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: no coding", R "Transfer-Encoding:\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: quoted", R "Transfer-Encoding: \"chunked\"\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: a parameter", R "Transfer-Encoding: chunked;x\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: two fields", R "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("trust 11: folded", R "Transfer-Encoding: chunked\r\n ,\r\n\r\n0\r\n\r\n", "!SYNTAX"),
		ROW("trust 11: close with a tab closes", R "Content-Length: 0\r\nConnection: keep-alive\t, close\t\r\n\r\n",
			"200 1.1 close length=0; Content-Length: 0; Connection: keep-alive\t, close ="),
		ROW("both framings", R "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "!FRAMING"),
		ROW("two lengths", R "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "!FRAMING"),
		ROW("blank before the colon", R "A : b\r\n\r\n", "!SYNTAX"),
		ROW("folded", R "A: b\r\n c\r\n\r\n", "!SYNTAX"),
		ROW("101 switches nothing", "HTTP/1.1 101 Switching\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\nX",
			"101 1.1 keep; Upgrade~: a; Connection: upgrade = +1"),
		{ "to HEAD", "200 1.1 keep length=5; Content-Length: 5 = +1", R "Content-Length: 5\r\n\r\nX", 39, true, NULL },
		{ "to HEAD, chunked", "200 1.1 keep chunked; Transfer-Encoding: chunked =", R "Transfer-Encoding: chunked\r\n\r\n", 47, true, NULL },
		{ "to HEAD, unframed", "200 1.1 close; A: b =", R "A: b\r\n\r\n", 25, true, NULL },
	};
	CHECK(false, rows);
}

/* A name longer than any counter used for it. */
static void long_names(void)
{
	static const size_t lengths[] = { 255, 256, 65535, 65536, 65537, 100000 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t len = lengths[i], total = sizeof(G) - 1 + len + sizeof(": b\r\n\r\n") - 1, used;
		char *bytes = malloc(total + 1);
		struct http_parser *parser = http_parser_new(true, NULL, NULL);
		struct http_msg msg;
		enum http_parse_result result;

		CU_ASSERT_EQUAL_FATAL(http_msg_init(&msg, 1), 0);
		memset(bytes, 'a', total);
		memcpy(bytes, G, sizeof(G) - 1);
		memcpy(bytes + sizeof(G) - 1 + len, ": b\r\n\r\n", sizeof(": b\r\n\r\n"));
		http_parser_start(parser, &msg, false);
		msg.base = bytes;
		result = http_parse(parser, bytes, total, &used);
		UNIT_ROW(result == PARSE_ERROR || (result == PARSE_HEAD && msg.fields[0].name_len == len), "%zu: %u", len,
			(unsigned)msg.fields[0].name_len);
		http_parser_free(&parser);
		CU_ASSERT_PTR_NULL(parser);
		http_msg_free(&msg);
		free(bytes);
	}
}

static int refuse(void *arg, const char *at, size_t len)
{
	(void)arg, (void)at, (void)len;
	return 1;
}

/* Errors stay; a parser serves one message after another. */
static void again(void)
{
	static const char bad[] = G "A : b\r\n\r\n", good[] = G "A: b\r\n\r\n", body[] = R "Content-Length: 1\r\n\r\nx";
	struct http_parser *parser = http_parser_new(true, NULL, NULL);
	struct http_msg msg;
	size_t used;

	CU_ASSERT_EQUAL_FATAL(http_msg_init(&msg, 1), 0);
	http_parser_start(parser, &msg, false);
	msg.base = bad;
	CU_ASSERT_EQUAL(http_parser_error(parser), HTTP_E_NONE);
	CU_ASSERT_EQUAL(http_parse(parser, bad, sizeof(bad) - 1, &used), PARSE_ERROR);
	CU_ASSERT(http_parser_reason(parser)[0] != '\0');
	CU_ASSERT_EQUAL(http_parse(parser, good, sizeof(good) - 1, &used), PARSE_ERROR);
	CU_ASSERT_EQUAL(used, 0);
	CU_ASSERT_EQUAL(http_parse_eof(parser), PARSE_ERROR);
	for (int i = 0; i < 2; i++) {
		http_parser_start(parser, &msg, false);
		msg.base = good;
		CU_ASSERT_EQUAL(http_parse(parser, good, sizeof(good) - 1, &used), PARSE_HEAD);
		CU_ASSERT_EQUAL(msg.n_fields, 1);
		http_parser_go_on(parser);
		CU_ASSERT_EQUAL(http_parse(parser, good + used, 0, &used), PARSE_DONE);
		CU_ASSERT_EQUAL(http_parse(parser, good, 1, &used), PARSE_DONE);
		CU_ASSERT_EQUAL(used, 0);
		CU_ASSERT_EQUAL(http_parse_eof(parser), PARSE_DONE);
	}
	http_parser_free(&parser);
	parser = http_parser_new(false, refuse, NULL);
	http_parser_start(parser, &msg, false);
	msg.base = body;
	CU_ASSERT_EQUAL(http_parse(parser, body, sizeof(body) - 1, &used), PARSE_HEAD);
	http_parser_go_on(parser);
	CU_ASSERT_EQUAL(http_parse(parser, body + used, sizeof(body) - 1 - used, &used), PARSE_ERROR);
	CU_ASSERT_EQUAL(http_parser_error(parser), HTTP_E_BODY);
	http_parser_free(&parser);
	http_msg_free(&msg);
}

/* What goes on between two bytes of a body, or behind the last, has an end; a body in the smallest chunks has none. */
static void without_end(void)
{
	enum { PIECE = 1000, PIECES = 1000 };
	static const struct { const char *name, *start, *piece; bool ends; } rows[] = {
		{ "a chunk's extension", "1;a=", "x", false }, { "trailers", "1\r\na\r\n0\r\n", "A: b\r\n", false },
		{ "chunks of a byte", "", "1\r\na\r\n", true }, { "chunks of a byte, each with an extension", "", "1;a=b\r\na\r\n", true },
	};
	static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
	struct http_parser *parser = http_parser_new(false, NULL, NULL);
	char *pieces = malloc(PIECE * 16);
	struct http_msg msg;

	CU_ASSERT_EQUAL_FATAL(http_msg_init(&msg, 8), 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t used, len = strlen(rows[i].piece), total = 0;
		enum http_parse_result r;

		for (size_t n = 0; n < PIECE; n++)
			memcpy(pieces + n * len, rows[i].piece, len);
		http_parser_start(parser, &msg, false);
		msg.base = head;
		CU_ASSERT_EQUAL_FATAL(http_parse(parser, head, sizeof head - 1, &used), PARSE_HEAD);
		http_parser_go_on(parser);
		r = http_parse(parser, rows[i].start, strlen(rows[i].start), &used);
		for (size_t n = 0; n < PIECES && r == PARSE_MORE; n++, total += PIECE * len)
			r = http_parse(parser, pieces, PIECE * len, &used);
		UNIT_ROW(r == (rows[i].ends ? PARSE_MORE : PARSE_ERROR), "%s: %d", rows[i].name, r);
		UNIT_ROW(rows[i].ends || (http_parser_error(parser) == HTTP_E_FRAMING && total <= 128 * 1024), "%s: %zu", rows[i].name, total);
	}
	free(pieces);
	http_parser_free(&parser);
	http_msg_free(&msg);
}

UNIT_SUITE(http_parse, { "start lines", start_lines }, { "fields", fields }, { "framing", framing }, { "chunks", chunks },
	{ "responses", responses }, { "long names", long_names }, { "again", again }, { "without end", without_end })
