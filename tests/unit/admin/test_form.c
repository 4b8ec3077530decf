/* Owns the cases of proxy/admin/form.c. Must not know: what members mean. Invariant: each row names its rule. */
#include "proxy/admin/form.h"
#include "tests/unit/unit.h"

#include <string.h>

static void members(void)
{
	static const struct {
		const char *rule, *query, *body, *want;
		enum form_result result;
	} cases[] = {
		{ "nothing", NULL, "", "", FORM_ABSENT },
		{ "an empty query", "", "", "", FORM_ABSENT },
		{ "of the query", "url=a", "", "a", FORM_FOUND },
		{ "of the body", NULL, "url=a", "a", FORM_FOUND },
		{ "the query comes first", "url=a", "url=b", "a", FORM_FOUND },
		{ "the first one counts", "url=a&url=b", "", "a", FORM_FOUND },
		{ "among others", "x=1&url=a&y=2", "", "a", FORM_FOUND },
		{ "whole names only", "xurl=1&urlx=2", "", "", FORM_ABSENT },
		{ "without a value", "url", "", "", FORM_FOUND },
		{ "an empty value", "url=&x", "", "", FORM_FOUND },
		{ "an equals sign inside", "url=a=b", "", "a=b", FORM_FOUND },
		{ "plus is a blank", "url=a+b", "", "a b", FORM_FOUND },
		{ "%XX in both cases", "url=%3a%2F%c3%A9", "", ":/é", FORM_FOUND },
		{ "a lone % stands for itself", "url=100%&x=%zz", "", "100%", FORM_FOUND },
		{ "% with one digit", "url=%4", "", "%4", FORM_FOUND },
		{ "%% before digits", "url=%%41", "", "%A", FORM_FOUND },
		{ "NUL is refused", "url=a%00b", "", "", FORM_TOO_LONG },
		{ "just fits", "url=1234567", "", "1234567", FORM_FOUND },
		{ "does not fit", "url=12345678", "", "", FORM_TOO_LONG },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *query = cases[i].query, *body = cases[i].body;
		char out[8] = "left";
		enum form_result r = form_get((struct slice){ query, query ? strlen(query) : 0 },
		    (struct slice){ body, strlen(body) }, "url", out, sizeof out);

		UNIT_ROW(r == cases[i].result && strcmp(out, cases[i].want) == 0, "%s: %d \"%s\"", cases[i].rule, (int)r, out);
	}
}

static void numbers(void)
{
	static const struct {
		const char *rule, *word;
		uint64_t most, want;
		bool is;
	} cases[] = {
		{ "none", "0", 9, 0, true },
		{ "some digits", "0042", 100, 42, true },
		{ "the most", "10000", 10000, 10000, true },
		{ "more", "10001", 10000, 0, false },
		{ "the most of all", "18446744073709551615", UINT64_MAX, UINT64_MAX, true },
		{ "more than that", "18446744073709551616", UINT64_MAX, 0, false },
		{ "far more", "99999999999999999999999", UINT64_MAX, 0, false },
		{ "nothing", "", 9, 0, false },
		{ "a sign", "-1", 9, 0, false },
		{ "the other sign", "+1", 9, 0, false },
		{ "a blank before it", " 1", 9, 0, false },
		{ "a letter behind it", "1x", 9, 0, false },
		{ "bytes beyond ASCII", "\xb2", 9, 0, false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t n;
		bool is = form_number(cases[i].word, cases[i].most, &n);

		UNIT_ROW(is == cases[i].is && (!is || n == cases[i].want), "%s: %d", cases[i].rule, is);
	}
}

UNIT_SUITE(form, { "members", members }, { "numbers", numbers })
