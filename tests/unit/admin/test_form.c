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

UNIT_SUITE(form, { "members", members })
