/* Owns the cases of proxy/http/public_suffix.c. Invariant: each row stands in the list for good, or in none. */
#include "proxy/http/public_suffix.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void names(void)
{
	static char longest[253 + 1], longer[254 + 1];
	const struct { const char *rule, *name; bool want; } cases[] = {
		{ "a country's", "co.uk", true }, { "in any case", "Co.UK", true }, { "a dot at the end", "co.uk.", true }, { "a company's", "github.io", true },
		{ "a name below", "shop.co.uk", false }, { "a star", "any.ck", true }, { "an exception", "www.ck", false }, { "punycode", "xn--55qx5d.cn", true },
		{ "one label that nobody lists", "internal", true }, { "two of them", "news.internal", false }, { "an address", "192.0.2.1", false },
		{ "nothing", "", true }, { "a dot", ".", true }, { "the longest name", longest, false }, { "too long for a name", longer, true },
	};

	for (size_t i = 0; i < sizeof longer - 1; i++) {
		longer[i] = i % 50 == 49 ? '.' : 'a';
		if (i < sizeof longest - 1)
			longest[i] = longer[i];
	}
	for (size_t i = 0; i < COUNT(cases); i++)
		UNIT_ROW(public_suffix(head_slice(cases[i].name)) == cases[i].want, "%s: %s", cases[i].rule, cases[i].name);
}

UNIT_SUITE(public_suffix, { "names", names })
