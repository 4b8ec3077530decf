/* Owns the cases of proxy/base/json_text.c. Invariant: whatever the bytes and the room are, the string is whole. Source: RFC 8259 section 7. */
#include "proxy/base/json_text.h"
#include "tests/unit/unit.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void strings(void)
{
	static const struct { const char *rule, *bytes; size_t len, max; const char *want; } cases[] = {
		{ "plain", "GET", 3, 64, "\"GET\"" },
		{ "nothing", "", 0, 64, "\"\"" },
		{ "quote and backslash", "a\"b\\", 4, 64, "\"a\\\"b\\\\\"" },
		{ "controls", "\0\n\x1b\x7f", 4, 64, "\"\\u0000\\u000a\\u001b\\u007f\"" },
		{ "C1", "\xc2\x80\xc2\x9f\xc2\xa0", 6, 64, "\"\\u0080\\u009f\xc2\xa0\"" },
		{ "UTF-8 of each length", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, 64, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ "what turns a line", "a\xe2\x80\xae" "b\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f", 13, 64, "\"a\\u202eb\\u2066\\u061c\\u200f\"" },
		{ "what ends a line for some", "\xe2\x80\xa8\xe2\x80\xa9\xc2\x85\xef\xbb\xbf", 11, 64, "\"\\u2028\\u2029\\u0085\\ufeff\"" },
		{ "beyond 16 bits: a pair of surrogates", "\xf3\xa0\x80\x81", 4, 64, "\"\\udb40\\udc01\"" },
		{ "never half a pair", "\xf3\xa0\x80\x81", 4, 11, "\"\"" },
		{ "no UTF-8", "a\xff" "b\xe9", 4, 64, "\"a\\ufffdb\\ufffd\"" },
		{ "an incomplete character", "a\xe2\x82", 3, 64, "\"a\\ufffd\"" },
		{ "a surrogate", "\xed\xa0\x80", 3, 64, "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "too long", "\xc0\xaf", 2, 64, "\"\\ufffd\\ufffd\"" },
		{ "just fits", "abc", 3, 3, "\"abc\"" },
		{ "cut", "abcd", 4, 3, "\"abc\"" },
		{ "never half a character", "a\xe2\x82\xac", 4, 3, "\"a\"" },
		{ "never half an escape", "ab\n", 3, 7, "\"ab\"" },
		{ "never half a replacement", "a\xff", 2, 6, "\"a\"" },
		{ "room for nothing", "a", 1, 0, "\"\"" },
	};
	char buf[80];

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct text t = text_on(buf, sizeof buf);

		json_text_bytes(&t, (struct slice){ cases[i].bytes, cases[i].len }, cases[i].max);
		UNIT_ROW(!t.failed && t.len == strlen(cases[i].want) && !memcmp(buf, cases[i].want, t.len), "%s: %.*s", cases[i].rule, (int)t.len, buf);
	}
}

UNIT_SUITE(json_text, { "strings", strings })
