/* Owns the cases of proxy/http/head_text.c. Invariant: each row names its rule; a head lies in an allocation of just its size. */
#include "proxy/http/head_text.h"
#include "tests/unit/exactly.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define OK "HTTP/1.1 200 OK\r\n"

/* What a store brings back need not be what was put there. */
static void valid(void)
{
	static const struct { const char *rule, *head; bool is; } cases[] = {
		{ "a start line alone", OK, true },
		{ "without a reason (RFC 9112 4)", "HTTP/1.1 200 \r\n", true },
		{ "fields", OK "A: b\r\nC:\r\n", true },
		{ "nothing", "", false },
		{ "another status", "HTTP/1.1 404 Not Found\r\n", false },
		{ "a longer number", "HTTP/1.1 2000 X\r\n", false },
		{ "another version", "HTTP/1.0 200 OK\r\n", false },
		{ "the last line is cut", OK "A: b", false },
		{ "a line without CR", OK "A: b\n", false },
		{ "a start line without CR", "HTTP/1.1 200 OK\n", false },
		{ "an empty line would end the head", OK "\r\n", false },
		{ "and so would one within", OK "A: b\r\n\r\nC: d\r\n", false },
		{ "no colon", OK "A\r\n", false },
		{ "no name (RFC 9110 5.1)", OK ": b\r\n", false },
		{ "a blank before the colon (RFC 9112 5.1)", OK "A : b\r\n", false },
		{ "a folded line (9112 5.2)", OK "A: b\r\n c\r\n", false },
		{ "a name that is no token", OK "A(: b\r\n", false },
		{ "a name beyond ASCII", OK "A\xc3\xa4: b\r\n", false },
		{ "a control in a value (9110 5.5)", OK "A: b\x01\r\n", false },
		{ "a CR in a value", OK "A: b\rc\r\n", false },
		{ "a tab in a value", OK "A: b\tc\r\n", true },
		{ "a value beyond ASCII", OK "A: \xc3\xa4\r\n", true },
		{ "DEL", OK "A: \x7f\r\n", false },
		{ "Content-Length frames", OK "Content-Length: 5\r\n", false },
		{ "Transfer-Encoding frames", OK "transfer-encoding: chunked\r\n", false },
		{ "Connection names others", OK "CONNECTION: close\r\n", false },
		{ "a name that begins like it", OK "Connection-X: close\r\n", true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slice head = exactly(cases[i].head);

		UNIT_ROW(head_text_valid(head, 200) == cases[i].is, "%s", cases[i].rule);
		exactly_free(head);
	}
}

static void fields(void)
{
	static const struct { const char *rule, *head, *name, *value; } cases[] = {
		{ "the first of that name", OK "A: 1\r\nA: 2\r\n", "a", "1" },
		{ "names without case", OK "ETAG: x\r\n", "etag", "x" },
		{ "blanks around do not count (RFC 9110 5.5)", OK "A: \t b c \t\r\n", "a", "b c" },
		{ "an empty one is there", OK "A:\r\n", "a", "" },
		{ "none", OK "AB: 1\r\n", "a", NULL },
		{ "the start line is none", OK, "http/1.1 200 ok", NULL },
		{ "colons in a value", OK "A: b:c\r\n", "a", "b:c" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slice head = exactly(cases[i].head), value = head_text_get(head, cases[i].name);
		size_t len = cases[i].value ? strlen(cases[i].value) : 0;

		UNIT_ROW(!value.at == !cases[i].value && value.len == len && (!len || !memcmp(value.at, cases[i].value, len)), "%s: %.*s", cases[i].rule,
			(int)value.len, value.at ? value.at : "");
		exactly_free(head);
	}
}

static void etag_ends(void)
{
	static const struct { const char *head; size_t end; } cases[] = {
		{ OK "ETag: \"a\"\r\n", sizeof OK "ETag: \"a" - 1 }, { OK "ETag: W/\"a\"\r\nB: c\r\n", sizeof OK "ETag: W/\"a" - 1 },
		{ OK "B: c\r\n", 0 }, { OK "ETag:\r\n", 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slice head = exactly(cases[i].head);
		size_t end = head_text_etag_end(head);

		UNIT_ROW(end == cases[i].end && (!end || head.at[end] == '"'), "%s: %zu", cases[i].head, end);
		exactly_free(head);
	}
}

static void copies(void)
{
	static const char *const names[] = { "age", "x-a", NULL }, *const none[] = { NULL };
	static const struct { const char *rule, *copy; const char *const *names; bool keep; } cases[] = {
		{ "without them", "B: 2\r\n", names, false }, { "only them", "Age: 1\r\nX-A: 3\r\n", names, true },
		{ "without none", "Age: 1\r\nB: 2\r\nX-A: 3\r\n", none, false }, { "only none", "", none, true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slice head = exactly(OK "Age: 1\r\nB: 2\r\nX-A: 3\r\n");
		struct text t = { 0 };

		head_text_copy(&t, head, cases[i].names, cases[i].keep);
		UNIT_ROW(t.len == strlen(cases[i].copy) && (!t.len || !memcmp(t.bytes, cases[i].copy, t.len)), "%s: %.*s", cases[i].rule, (int)t.len,
			t.bytes ? t.bytes : "");
		text_free(&t);
		exactly_free(head);
	}
}

UNIT_SUITE(head_text, { "valid", valid }, { "fields", fields }, { "etag_ends", etag_ends }, { "copies", copies })
