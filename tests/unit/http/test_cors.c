/* Owns the cases of proxy/http/cors.c. Must not know: responses. Invariant: each row names its rule; credentials are allowed in no row.
 * Source: Fetch Standard section 3.3. */
#include "proxy/http/cors.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define ANY { "*", NULL }
#define TWO { "https://reader.example", "http://a:81", NULL }
#define ASKS "Access-Control-Request-Method: GET\n"

static bool has_line(const struct text *t, const char *name, const char *value)
{
	char line[300];
	int n = snprintf(line, sizeof line, "%s: %s\r\n", name, value);

	return t->len && memmem(t->bytes, t->len, line, (size_t)n);
}

static bool has_name(const struct text *t, const char *name)
{
	return t->len && memmem(t->bytes, t->len, name, strlen(name));
}

static void lines(void)
{
	static const struct { const char *rule; const char *allow[3]; const char *fields; const char *origin; bool vary; } cases[] = {
		{ "any", ANY, "Origin: https://x.example\n", "*", false },
		{ "any, without an Origin", ANY, "", "*", false },
		{ "any, of a sandboxed page", ANY, "Origin: null\n", "*", false },
		{ "the first", TWO, "Origin: https://reader.example\n", "https://reader.example", true },
		{ "the second", TWO, "Origin: http://a:81\n", "http://a:81", true },
		{ "another scheme", TWO, "Origin: http://reader.example\n", NULL, true },
		{ "another port", TWO, "Origin: http://a:8\n", NULL, true },
		{ "a name that begins alike", TWO, "Origin: https://reader.example.evil.test\n", NULL, true },
		{ "a name that ends alike", TWO, "Origin: https://evil-reader.example\n", NULL, true },
		{ "null is no origin", TWO, "Origin: null\n", NULL, true },
		{ "an empty one", TWO, "Origin: \n", NULL, true },
		{ "none", TWO, "", NULL, true },
		{ "several in one", TWO, "Origin: https://reader.example http://a:81\n", NULL, true },
		{ "the first of two fields counts", TWO, "Origin: https://x.example\nOrigin: https://reader.example\n", NULL, true },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct text t = { 0 };
		struct http_msg m;

		head_read(&m, cases[i].fields, 0);
		cors_add(&t, cases[i].allow, &m);
		UNIT_ROW(cors_allows(cases[i].allow, &m) == !!cases[i].origin, "%s", cases[i].rule);
		UNIT_ROW(cases[i].origin ? has_line(&t, "Access-Control-Allow-Origin", cases[i].origin) : !has_name(&t, "Access-Control"), "%s",
			cases[i].rule);
		UNIT_ROW(has_line(&t, "Vary", "Origin") == cases[i].vary, "%s", cases[i].rule);
		UNIT_ROW(has_name(&t, "ETag") == !!cases[i].origin && !has_name(&t, "Credentials") && !has_name(&t, "Methods"), "%s", cases[i].rule);
		text_free(&t);
		head_free(&m);
	}
}

static void preflight(void)
{
	static const struct { const char *rule, *method, *fields; bool is; } cases[] = {
		{ "a preflight", "OPTIONS", "Origin: https://a\n" ASKS, true },
		{ "whatever it asks for", "OPTIONS", "Origin: null\nAccess-Control-Request-Method: DELETE\n", true },
		{ "no page asks", "OPTIONS", ASKS, false },
		{ "OPTIONS as such", "OPTIONS", "Origin: https://a\n", false },
		{ "another method", "GET", "Origin: https://a\n" ASKS, false },
		{ "methods have capitals", "options", "Origin: https://a\n" ASKS, false },
	};
	static const char *const any[] = ANY;

	for (size_t i = 0; i < COUNT(cases); i++) {
		char bytes[200];
		struct text t = { 0 };
		struct http_msg m;

		snprintf(bytes, sizeof bytes, "%sX:%s\n", cases[i].fields, cases[i].method);
		head_read(&m, bytes, 0);
		m.method_len = (uint32_t)strlen(cases[i].method);
		m.method_at = (uint32_t)(strlen(bytes) - m.method_len - 1);
		UNIT_ROW(cors_is_preflight(&m) == cases[i].is, "%s", cases[i].rule);
		cors_add(&t, any, &m);
		UNIT_ROW(has_line(&t, "Access-Control-Allow-Methods", "GET, HEAD") == cases[i].is, "%s", cases[i].rule);
		UNIT_ROW(has_name(&t, "If-None-Match") == cases[i].is && !has_name(&t, "DELETE"), "%s", cases[i].rule);
		text_free(&t);
		head_free(&m);
	}
}

static void fields(void)
{
	static const struct { const char *name; bool is; } cases[] = {
		{ "Access-Control-Allow-Origin", true }, { "access-control-allow-credentials", true }, { "Access-Control-Request-Method", true },
		{ "Access", false }, { "Vary", false }, { "Origin", false },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		UNIT_ROW(cors_is_field(head_slice(cases[i].name)) == cases[i].is, "%s", cases[i].name);
}

UNIT_SUITE(cors, { "lines", lines }, { "preflight", preflight }, { "fields", fields })
