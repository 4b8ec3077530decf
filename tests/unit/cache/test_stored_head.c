/* Owns the cases of proxy/cache/stored_head.c. Invariant: each row names its rule (of RFC 9111 section 3.2 where no other is named). */
#include "proxy/cache/stored_head.h"
#include "proxy/http/http_parse.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define NOW "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
#define BEFORE "Date: Sat, 05 Nov 1994 08:49:37 GMT\r\n"

enum { FIELDS = 32, HEAD_MAX = 1024 };

/* The head of a response, read as an origin's is. */
static void read_head(struct http_msg *m, char text[HEAD_MAX], int status, const char *lines)
{
	struct http_parser *p = http_parser_new(false, NULL, NULL);
	int len = snprintf(text, HEAD_MAX, "HTTP/1.1 %d X\r\n%s\r\n", status, lines);
	size_t used;

	CU_ASSERT_FATAL(p && len < HEAD_MAX && !http_msg_init(m, FIELDS));
	m->base = text;
	http_parser_start(p, m, false);
	CU_ASSERT_EQUAL_FATAL(http_parse(p, text, (size_t)len, &used), PARSE_HEAD);
	http_parser_free(&p);
}

static void updates(void)
{
	static const struct { const char *rule, *stored, *newer, *merged; bool no_cookies; } cases[] = {
		{ "fields of the newer response are added", "Server: a\r\n", "X-A: 1\r\n", "Server: a\r\nX-A: 1\r\n", false },
		{ "they take the place of those with their name", "X-A: 1\r\nX-B: 2\r\n", "X-A: 3\r\n", "X-B: 2\r\nX-A: 3\r\n", false },
		{ "whatever the case of the name", "X-A: 1\r\n", "x-a: 2\r\n", "x-a: 2\r\n", false },
		{ "all of that name go, all of the newer ones come", "X-A: 1\r\nX-A: 2\r\n", "X-A: 3\r\nX-A: 4\r\nX-A: 5\r\n",
			"X-A: 3\r\nX-A: 4\r\nX-A: 5\r\n", false },
		{ "an empty one takes the place too", "X-A: 1\r\n", "X-A:\r\n", "X-A: \r\n", false },
		{ "the lifetime is the newer one's", "Cache-Control: max-age=5\r\nExpires: 0\r\n", "Cache-Control: max-age=60\r\n",
			"Expires: 0\r\nCache-Control: max-age=60\r\n", false },
		{ "Vary, too", "Vary: A\r\n", "Vary: B\r\n", "Vary: B\r\n", false },
		{ "a longer name is another", "X-A: 1\r\n", "X-AB: 2\r\n", "X-A: 1\r\nX-AB: 2\r\n", false },
		{ "Content-Length stays", "Content-Length: 5\r\n", "Content-Length: 9\r\n", "Content-Length: 5\r\n", false },
		{ "Content-Encoding, Content-Type and Content-Range are of the stored bytes",
			"Content-Encoding: gzip\r\nContent-Type: text/xml\r\n",
			"Content-Encoding: br\r\nContent-Type: text/html\r\nContent-Range: bytes 0-1/2\r\n",
			"Content-Encoding: gzip\r\nContent-Type: text/xml\r\n", false },
		{ "the ETag by which it was selected stays", "ETag: W/\"a\"\r\n", "ETag: \"a\"\r\n", "ETag: W/\"a\"\r\n", false },
		{ "an ETag that it never had is of other bytes", "", "ETag: \"a\"\r\n", "", false },
		{ "Last-Modified is not of the bytes", "Last-Modified: " "Sat, 05 Nov 1994 08:49:37 GMT\r\n", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
			"Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", false },
		{ "3.1: fields of a connection are not stored", "Connection: X-A\r\nX-A: 1\r\nKeep-Alive: 5\r\nX-B: 2\r\n", "", "X-B: 2\r\n", false },
		{ "3.1: nor are the newer one's", "X-B: 2\r\n", "Connection: X-A\r\nX-A: 1\r\nKeep-Alive: 5\r\n", "X-B: 2\r\n", false },
		{ "3.1: what Connection names in the newer one takes no place", "X-A: 1\r\n", "Connection: X-A\r\nX-A: 2\r\n", "X-A: 1\r\n", false },
		{ "the stored Date goes", BEFORE, NOW, NOW, false },
		{ "RFC 9110 6.6.1: also where none comes", BEFORE, "", "", false },
		{ "4.2.3: so does Age", "Age: 100\r\n", "", "", false },
		{ "4.2.3: the newer one's stands", "Age: 100\r\n", "Age: 3\r\n", "Age: 3\r\n", false },
		{ "7.3: cookies of a 304 that others get stay out", "X-A: 1\r\n", "Set-Cookie: a=2\r\nSet-Cookie2: b\r\n", "X-A: 1\r\n", true },
		{ "7.3: those of one client's own come", "X-A: 1\r\n", "Set-Cookie: a=2\r\n", "X-A: 1\r\nSet-Cookie: a=2\r\n", false },
		{ "7.3: those of the stored response never do", "Set-Cookie: a=1\r\nX-A: 1\r\n", "", "X-A: 1\r\n", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char stored_text[HEAD_MAX], newer_text[HEAD_MAX], want[HEAD_MAX];
		struct http_msg stored, newer;
		struct text t = { 0 };
		size_t fields, len, lines = 0;
		char *merged;

		read_head(&stored, stored_text, 203, cases[i].stored);
		read_head(&newer, newer_text, 304, cases[i].newer);
		snprintf(want, sizeof want, "HTTP/1.1 203 \r\n%s\r\n", cases[i].merged);
		fields = stored_head_update(&t, &stored, &newer, !cases[i].no_cookies);
		CU_ASSERT_FATAL((merged = text_take(&t, &len)) != NULL);
		UNIT_ROW(len == strlen(want) && !memcmp(merged, want, len), "%s: %.*s", cases[i].rule, (int)len, merged);
		for (const char *at = cases[i].merged; (at = strchr(at, '\n')); at++)
			lines++;
		UNIT_ROW(fields == lines, "%s: %zu fields", cases[i].rule, fields);
		free(merged);
		http_msg_free(&stored);
		http_msg_free(&newer);
	}
}

/* What clients get of a stored response, whatever was true of it when it came. */
static void for_clients(void)
{
	static const struct { const char *rule, *from, *stored; bool decided, client; } cases[] = {
		{ "Age is told anew", "HTTP/1.1 200 OK\r\nAge: 5\r\nX-A: 1\r\n", "HTTP/1.1 200 OK\r\nX-A: 1\r\n", false, false },
		{ "nothing was decided", "HTTP/1.1 200 OK\r\nX-A: 1\r\n", "HTTP/1.1 200 OK\r\nX-A: 1\r\n", false , false },
		{ "the rule is final", "HTTP/1.1 200 OK\r\nX-A: 1\r\n", "HTTP/1.1 200 OK\r\nX-A: 1\r\nX-Encoding-Rule: auto:2.1\r\n",
			true, false },
		{ "7.3: what was for one client goes", "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-A: 1\r\nset-cookie2: b\r\nAuthentication-Info: nextnonce=\"1\"\r\n"
			"Set-Login: logged-in\r\nSec-Session-Registration: (ES256)\r\n", "HTTP/1.1 200 OK\r\nX-A: 1\r\n", false, false },
		{ "7.3: but to that client", "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nAge: 5\r\n", "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\n", false, true },
		{ "the ETag's end is found", "HTTP/1.1 200 OK\r\nETag: \"a\"\r\n", "HTTP/1.1 200 OK\r\nETag: \"a\"\r\n", false, false },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct object_head *from = object_head_new(), *h;
		struct object *o = object_new(0);

		CU_ASSERT_FATAL(from && o && (from->bytes = strdup(cases[i].from)));
		from->len = strlen(cases[i].from);
		from->status = 200;
		from->gzip = true;
		if (cases[i].decided) {
			struct verdict v = { .kind = VERDICT_CHARSET, .policy = POLICY_AUTO, .path = "2.1", .charset = CS_KOI8_R };

			object_report(o)->decided = true;
			object_report(o)->verdict = v;
		}
		object_retain(o, UINT64_MAX);
		object_head(o, object_head_ref(from));
		CU_ASSERT_EQUAL(object_append(o, "abc", 3), 0);
		object_done(o);
		h = stored_head_of(from, o, cases[i].client);
		CU_ASSERT_PTR_NOT_NULL_FATAL(h);
		UNIT_ROW(h->len == strlen(cases[i].stored) && !memcmp(h->bytes, cases[i].stored, h->len), "%s: %.*s", cases[i].rule, (int)h->len, h->bytes);
		UNIT_ROW(h->status == 200 && h->content_length == 3 && h->gzip && !h->no_body, "%s: %lld", cases[i].rule, (long long)h->content_length);
		UNIT_ROW(!h->etag_end == !strstr(cases[i].from, "ETag"), "%s: %zu", cases[i].rule, (size_t)h->etag_end);
		object_head_unref(&h);
		object_head_unref(&from);
		object_unref(&o);
	}
}

UNIT_SUITE(stored_head, { "updates", updates }, { "for_clients", for_clients })
