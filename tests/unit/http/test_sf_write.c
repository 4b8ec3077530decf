/* Owns the cases of proxy/http/sf_write.c. Source: RFC 9651 sections 4.1.4, 4.1.6 and 4.1.8. */
#include "proxy/http/sf_write.h"
#include "tests/unit/unit.h"

#include <string.h>

static bool is(const struct text *t, const char *want)
{
	return t->len == strlen(want) && !memcmp(t->len ? t->bytes : "", want, t->len);
}

static void strings(void)
{
	static const struct { const char *value, *want; } cases[] = {        /* want NULL: a string cannot hold it */
		{ "", "\"\"" },
		{ "a b", "\"a b\"" },
		{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ " !~", "\" !~\"" },
		{ "a\tb", NULL },
		{ "a\nb", NULL },
		{ "a\x7f", NULL },
		{ "\xc3\xa4", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = { 0 };
		bool done = sf_write_string(&t, (struct slice){ cases[i].value, strlen(cases[i].value) });

		UNIT_ROW(done == (cases[i].want != NULL) && is(&t, done ? cases[i].want : ""), "%s", cases[i].value);
		text_free(&t);
	}
}

static void integers(void)
{
	static const struct { int64_t number; const char *want; } cases[] = {
		{ 0, "0" },
		{ -1, "-1" },
		{ INT64_C(999999999999999), "999999999999999" },
		{ INT64_C(-999999999999999), "-999999999999999" },
		{ INT64_C(1000000000000000), NULL },
		{ INT64_C(-1000000000000000), NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t = { 0 };
		bool done = sf_write_integer(&t, cases[i].number);

		UNIT_ROW(done == (cases[i].want != NULL) && is(&t, done ? cases[i].want : ""), "%lld", (long long)cases[i].number);
		text_free(&t);
	}
}

static void bytes(void)
{
	struct text t = { 0 };

	sf_write_bytes(&t, (struct slice){ "fo", 2 });
	CU_ASSERT(is(&t, ":Zm8=:"));
	text_free(&t);
}

UNIT_SUITE(sf_write, { "strings", strings }, { "integers", integers }, { "bytes", bytes })
