/* Owns the cases of proxy/object/audience.c. Invariant: each row names its rule (RFC 9111 where no other is named). */
#include "proxy/object/audience.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void admits(void)
{
	static const struct { const char *rule; bool own; const char *vary, *sent, *other; bool want; } cases[] = {
		{ "trust 02: 4: anybody", false, NULL, "A: 1\r\n", "A: 2\r\n", true },
		{ "trust 02: one client's own", true, NULL, "A: 1\r\n", "A: 1\r\n", false },
		{ "trust 02: 4.1: the same values", false, "a", "A: 1\r\nB: 1\r\n", "B: 2\r\nA: 1\r\n", true },
		{ "trust 02: 4.1: another value", false, "a", "A: 1\r\n", "A: 2\r\n", false },
		{ "trust 02: 4.1: absent is not empty", false, "a", "A:\r\n", "", false },
		{ "trust 02: 4.1: absent both", false, "a", "B: 1\r\n", "B: 2\r\n", true },
		{ "trust 02: 4.1: each of several", false, "a,b", "A: 1\r\nB: 1\r\n", "A: 1\r\nB: 2\r\n", false },
	};
	static const struct freshness fresh = { .lifetime_s = 60 };

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct audience *a =
		    cases[i].own ? audience_own() : audience_new(cases[i].vary, head_slice(cases[i].sent), &fresh);

		UNIT_ROW(a && audience_admits(a, head_slice(cases[i].other)) == cases[i].want, "%s", cases[i].rule);
		UNIT_ROW(!cases[i].vary || !audience_admits(a, (struct slice){ NULL, 0 }), "%s: nothing to compare", cases[i].rule);
		audience_free(&a);
	}
}

UNIT_SUITE(audience, { "admits", admits })
