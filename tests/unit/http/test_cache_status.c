/* Owns the cases of proxy/http/cache_status.c. Invariant: each row names its rule (sections of RFC 9211 where no other is named). */
#include "proxy/http/cache_status.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void members(void)
{
	static const struct { const char *rule, *name; struct cache_status status; const char *want; } cases[] = {
		{ "2.1: hit", "utfeed", { .hit = true }, "utfeed; hit" },
		{ "2.4: ttl", "utfeed", { .hit = true, .has_ttl = true, .ttl = 30 }, "utfeed; hit; ttl=30" },
		{ "2.4: stale", "utfeed", { .hit = true, .has_ttl = true, .ttl = -412 }, "utfeed; hit; ttl=-412" },
		{ "2.4: 0 is told", "utfeed", { .hit = true, .has_ttl = true }, "utfeed; hit; ttl=0" },
		{ "2.2: fwd", "utfeed", { .fwd = FWD_URI_MISS }, "utfeed; fwd=uri-miss" },
		{ "2.3, 2.5, 2.6: with fwd", "utfeed", { .fwd = FWD_STALE, .fwd_status = 304, .has_ttl = true, .ttl = 60, .stored = true,
			.collapsed = true }, "utfeed; fwd=stale; fwd-status=304; ttl=60; stored; collapsed" },
		{ "2.2: never fwd with hit", "utfeed", { .hit = true, .fwd = FWD_STALE, .fwd_status = 200, .stored = true, .collapsed = true },
			"utfeed; hit" },
		{ "issue 32: a kept feed tells both", "utfeed", { .kept = true, .fwd = FWD_STALE, .fwd_status = 403, .detail = "kept" },
			"utfeed; hit; fwd=stale; fwd-status=403; detail=kept" },
		{ "issue 32: nothing came", "utfeed", { .kept = true, .fwd = FWD_STALE, .detail = "kept" }, "utfeed; hit; fwd=stale; detail=kept" },
		{ "2.8: detail, a token", "utfeed", { .fwd = FWD_BYPASS, .detail = "no-store" }, "utfeed; fwd=bypass; detail=no-store" },
		{ "2.8: detail, a string", "utfeed", { .fwd = FWD_URI_MISS, .detail = "a \"b\" \\c" },
			"utfeed; fwd=uri-miss; detail=\"a \\\"b\\\" \\\\c\"" },
		{ "RFC 9651 3.3.3: printable ASCII only", "utfeed", { .hit = true, .detail = "x\r\ny\xc3\x7f" },
			"utfeed; hit; detail=\"x??y??\"" },
		{ "RFC 9651 3.3.4: no token starts with a digit", "utfeed", { .hit = true, .detail = "1a" }, "utfeed; hit; detail=\"1a\"" },
		{ "empty detail", "utfeed", { .hit = true, .detail = "" }, "utfeed; hit; detail=\"\"" },
		{ "2: name as a string", "cache 1", { .hit = true }, "\"cache 1\"; hit" },
		{ "nothing known", "utfeed", { .hit = false }, "utfeed" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct text t = { 0 }, line = { 0 };
		size_t n = strlen(cases[i].want);

		cache_status_member(&t, cases[i].name, &cases[i].status);
		UNIT_ROW(t.len == n && !memcmp(t.bytes, cases[i].want, n), "%s: %.*s", cases[i].rule, (int)t.len, t.bytes);
		cache_status_line(&line, cases[i].name, &cases[i].status);
		UNIT_ROW(line.len == n + 16 && !memcmp(line.bytes, "Cache-Status: ", 14) && !memcmp(line.bytes + 14 + n, "\r\n", 2), "%s",
			cases[i].rule);
		free(t.bytes);
		free(line.bytes);
	}
}

/* RFC 9651 section 3.3.4 and RFC 9110 section 5.6.2: what a token begins with, and goes on with. */
static void words(void)
{
	static const char first[] = "*ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", more[] = "!#$%&'+-.^_`|~:/0123456789";

	for (int c = 1; c < 256; c++)
		for (int at = 0; at < 2; at++) {
			const char word[] = { at ? 'a' : (char)c, at ? (char)c : 'a', '\0' };
			bool token = strchr(first, c) || (at && strchr(more, c));
			struct text t = { 0 };

			cache_status_member(&t, word, &(struct cache_status){ .hit = false });
			UNIT_ROW(token == (t.len == 2 && !memcmp(t.bytes, word, 2)), "%d at %d", c, at);
			UNIT_ROW(token || t.bytes[0] == '"', "%d at %d", c, at);
			free(t.bytes);
		}
}

/* Section 2.2: these, and no other: "miss" is for caches that cannot tell uri-miss from vary-miss. */
static void forwards(void)
{
	static const char *const tokens[] = { "bypass", "method", "uri-miss", "vary-miss", "request", "stale", "partial" };

	CU_ASSERT_EQUAL(FWD_COUNT, COUNT(tokens) + 1);
	for (int i = 1; i < FWD_COUNT; i++) {
		struct text t = { 0 };

		cache_status_member(&t, "u", &(struct cache_status){ .fwd = (enum cache_fwd)i });
		UNIT_ROW(t.len == 7 + strlen(tokens[i - 1]) && !memcmp(t.bytes, "u; fwd=", 7) &&
			!memcmp(t.bytes + 7, tokens[i - 1], t.len - 7), "%s", tokens[i - 1]);
		free(t.bytes);
	}
}

UNIT_SUITE(cache_status, { "members", members }, { "words", words }, { "forwards", forwards })
