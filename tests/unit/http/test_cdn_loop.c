/* Owns the cases of proxy/http/cdn_loop.c. Invariant: each row names its rule (of RFC 8586, unless it names another). */
#include "proxy/http/cdn_loop.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct { const char *rule, *lines; unsigned count; const char *passed; } cases[] = {
	{ "none", "", 0, "" },
	{ "another's", "CDN-Loop: other.example\n", 0, "other.example" },
	{ "ours", "CDN-Loop: utfeed\n", 1, "utfeed" },
	{ "ours in capitals", "CDN-Loop: UTfeed\n", 1, "UTfeed" },
	{ "ours with parameters", "CDN-Loop: utfeed;v=1; of=\"a, b\"\n", 1, "utfeed;v=1; of=\"a, b\"" },
	{ "part of a name is another one", "CDN-Loop: utfeed2, utfeed.example, xutfeed\n", 0, "utfeed2, utfeed.example, xutfeed" },
	{ "several members", "CDN-Loop: a, utfeed , b; x=y,utfeed\n", 2, "a, utfeed, b; x=y, utfeed" },
	{ "several lines", "CDN-Loop: a\nCDN-Loop: utfeed\nCDN-Loop: utfeed\n", 2, "a, utfeed, utfeed" },
	{ "a host with a port", "CDN-Loop: cdn.example:8443\n", 0, "cdn.example:8443" },
	{ "an IPv6 address", "CDN-Loop: [2001:db8::1]:80\n", 0, "[2001:db8::1]:80" },
	{ "empty members (RFC 9110 5.6.1.2)", "CDN-Loop: ,, a,,\n", 0, "a" },
	{ "ours in a quoted string is not ours", "CDN-Loop: a; x=\"b, utfeed\"\n", 0, "a; x=\"b, utfeed\"" },
	{ "an escaped quote does not end it", "CDN-Loop: a; x=\"b\\\", utfeed\", utfeed\n", 1, "a; x=\"b\\\", utfeed\", utfeed" },
	{ "a quote without end hides nothing that follows in other lines", "CDN-Loop: a; x=\"b\nCDN-Loop: utfeed\n", 1, "utfeed" },
	{ "a quote without end goes no further", "CDN-Loop: utfeed; x=\"\n", 0, "" },
	{ "no id", "CDN-Loop: ;v=1, a\n", 0, "a" },
	{ "two words are no id", "CDN-Loop: a b, c\n", 0, "c" },
	{ "bytes beyond ASCII are no id", "CDN-Loop: \xc3\xbc, c\n", 0, "c" },
	{ "another field", "Via: 1.1 utfeed\n", 0, "" },
};

static void counts(void)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg m;

		head_read(&m, cases[i].lines, 0);
		UNIT_ROW(cdn_loop_count(&m, "utfeed") == cases[i].count, "%s: %u", cases[i].rule, cdn_loop_count(&m, "utfeed"));
		head_free(&m);
	}
}

static void check_line(const char *rule, const struct http_msg *m, const char *passed, const char *name)
{
	struct text t = { 0 }, want = { 0 };

	if (*passed || name)
		text_printf(&want, "CDN-Loop: %s%s%s\r\n", passed, *passed && name ? ", " : "", name ? name : "");
	cdn_loop_add(&t, m, name);
	UNIT_ROW(t.len == want.len && (!t.len || !memcmp(t.bytes, want.bytes, t.len)), "%s: %.*s", rule, (int)t.len, t.bytes ? t.bytes : "");
	text_free(&t);
	text_free(&want);
}

static void lines(void)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg m;

		head_read(&m, cases[i].lines, 0);
		check_line(cases[i].rule, &m, cases[i].passed, NULL);
		check_line(cases[i].rule, &m, cases[i].passed, "utfeed");
		head_free(&m);
	}
}

/* Whatever came before, each pass counts once more. */
static void rounds(void)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct text line = { 0 };

		text_puts(&line, cases[i].lines);
		for (unsigned round = 0; round < 3; round++) {
			struct http_msg m;
			struct text next = { 0 };

			head_fill(&m, line.bytes ? line.bytes : "", line.len, 0);
			UNIT_ROW(cdn_loop_count(&m, "utfeed") == cases[i].count + round, "%s, round %u", cases[i].rule, round);
			cdn_loop_add(&next, &m, "utfeed");
			next.len -= 2;
			text_puts(&next, "\n");
			head_free(&m);
			text_free(&line);
			line = next;
		}
		text_free(&line);
	}
}

UNIT_SUITE(cdn_loop, { "counts", counts }, { "lines", lines }, { "rounds", rounds })
