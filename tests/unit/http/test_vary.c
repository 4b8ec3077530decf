/* Owns the cases of proxy/http/vary.c. Invariant: each row names its rule (RFC 9111 section 4.1 where no other is named). */
#include "proxy/http/vary.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void names(void)
{
	static const struct { const char *rule, *lines; enum vary answer; const char *want; } cases[] = {
		{ "no field", "", VARY_NOTHING, "" },
		{ "one", "Vary: Foo\n", VARY_FIELDS, "foo" },
		{ "sorted, lower case, once", "Vary: Foo, BAR ,foo\nVary: baz\n", VARY_FIELDS, "bar,baz,foo" },
		{ "a name that starts another", "Vary: Foo-Bar, foo\n", VARY_FIELDS, "foo,foo-bar" },
		{ "empty members", "Vary: , Foo,,\n", VARY_FIELDS, "foo" },
		{ "Accept-Encoding alone", "Vary: Accept-Encoding\n", VARY_NOTHING, "" },
		{ "Accept-Encoding beside others", "Vary: accept-encoding, Cookie\n", VARY_FIELDS, "cookie" },
		{ "star", "Vary: *\n", VARY_ALL, "" },
		{ "stars", "Vary: *, *\n", VARY_ALL, "" },
		{ "star first", "Vary: *, Foo\n", VARY_ALL, "" },
		{ "star last", "Vary: Foo, *\n", VARY_ALL, "" },
		{ "star in another line", "Vary: \nVary: *\n", VARY_ALL, "" },
		{ "trust 07: what utfeed itself asks by", "Vary: Foo, Range\n", VARY_ALL, "" },
		{ "trust 07: preconditions are ours", "Vary: If-None-Match\n", VARY_ALL, "" },
		{ "Host is part of the URL", "Vary: Host, Foo\n", VARY_FIELDS, "foo" },
		{ "more than any client will match", "Vary: a1,a2,a3,a4,a5,a6,a7,a8,a9,b1,b2,b3,b4,b5,b6,b7,b8,b9,c1,c2,c3,c4,c5,c6,c7,c8,c9,"
			"d1,d2,d3,d4,d5,d6\n", VARY_ALL, "" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct text t = { 0 };
		struct http_msg m;

		head_read(&m, cases[i].lines, 200);
		UNIT_ROW(vary_names(&t, &m) == cases[i].answer && t.len == strlen(cases[i].want) &&
			(!t.len || !memcmp(t.bytes, cases[i].want, t.len)), "%s: %.*s", cases[i].rule, (int)t.len, t.len ? t.bytes : "");
		free(t.bytes);
		head_free(&m);
	}
}

static void valid_names(void)
{
	static char many[200], longest[70000];
	const struct { const char *rule, *names; bool want; } cases[] = {
		{ "one", "accept", true }, { "two", "accept,accept-language", true }, { "none", "", false }, { "a line's end", "accept\n", false },
		{ "a byte that is no character", "acc\xffpt", false }, { "more than are ever written", many, false }, { "too long", longest, false },
	};

	for (size_t i = 0; i < 33; i++)
		strcat(many, i ? ",a" : "a");
	memset(longest, 'a', sizeof longest - 1);
	for (size_t i = 0; i < COUNT(cases); i++)
		UNIT_ROW(vary_names_valid(head_slice(cases[i].names)) == cases[i].want, "trust 15: %s", cases[i].rule);
}

/* What several responses name that led to one another. */
static void unions(void)
{
	static const struct { const char *rule, *lines, *others; enum vary answer; const char *want; } cases[] = {
		{ "trust 05: neither names any", "", "", VARY_NOTHING, "" },
		{ "trust 05: only a redirect", "", "cookie", VARY_FIELDS, "cookie" },
		{ "trust 05: only the last", "Vary: Foo\n", "", VARY_FIELDS, "foo" },
		{ "trust 05: both, each once", "Vary: Foo, cookie\n", "accept,cookie", VARY_FIELDS, "accept,cookie,foo" },
		{ "trust 05: star", "Vary: *\n", "cookie", VARY_ALL, "" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct text t = { 0 };
		struct http_msg m;

		head_read(&m, cases[i].lines, 200);
		UNIT_ROW(vary_union(&t, &m, head_slice(cases[i].others)) == cases[i].answer && t.len == strlen(cases[i].want) &&
			(!t.len || !memcmp(t.bytes, cases[i].want, t.len)), "%s: %.*s", cases[i].rule, (int)t.len, t.len ? t.bytes : "");
		free(t.bytes);
		head_free(&m);
	}
}

static struct text key(const char *names_text, const char *lines)
{
	struct text t = { 0 };

	vary_key(&t, head_slice(names_text), head_slice(lines));
	return t;
}

static void keys(void)
{
	static const struct { const char *rule, *names, *one, *other; bool same; } cases[] = {
		{ "equal", "foo", "Foo: 1\n", "foo: 1\n", true },
		{ "value", "foo", "Foo: 1\n", "Foo: 2\n", false },
		{ "case of a value", "foo", "Foo: a\n", "Foo: A\n", false },
		{ "absent and absent", "foo", "Bar: 1\n", "", true },
		{ "absent and present", "foo", "", "Foo: 1\n", false },
		{ "absent and empty", "foo", "", "Foo:\n", false },
		{ "other fields do not count", "foo", "Foo: 1\nBar: 1\n", "Foo: 1\nBar: 2\n", true },
		{ "order of fields does not count", "bar,foo", "Foo: 1\nBar: 2\n", "Bar: 2\nFoo: 1\n", true },
		{ "each of several", "bar,foo", "Foo: 1\nBar: 2\n", "Foo: 1\nBar: 3\n", false },
		{ "values do not swap", "bar,foo", "Foo: 1\nBar: 2\n", "Foo: 2\nBar: 1\n", false },
		{ "lines combined", "foo", "Foo: 1, 2\n", "Foo: 1\nFoo: 2\n", true },
		{ "blanks round commas", "foo", "Foo: 1,2\n", "Foo:  1 ,\t2 \n", true },
		{ "blanks inside a member", "foo", "Foo: a b\n", "Foo: ab\n", false },
		{ "blanks in quotes", "foo", "Foo: \"a, b\"\n", "Foo: \"a,b\"\n", false },
		{ "escaped quote", "foo", "Foo: \"a\\\", b\"\n", "Foo: \"a\\\",b\"\n", false },
		{ "open quote", "foo", "Foo: \"a, b\n", "Foo: \"a,b\n", false },
		{ "escape at the end", "foo", "Foo: \"a\\\n", "Foo: \"a\n", false },
		{ "order in an unknown list", "foo", "Foo: 1, 2\n", "Foo: 2, 1\n", false },
		{ "RFC 9110 12.5.4: order of languages", "accept-language", "Accept-Language: en, de\n", "Accept-Language: de, en\n", false },
		{ "order of types", "accept", "Accept: text/html, text/xml\n", "Accept: text/xml, text/html\n", false },
		{ "order of charsets", "accept-charset", "Accept-Charset: koi8-r, utf-8\n", "Accept-Charset: utf-8, koi8-r\n", false },
		{ "order where weights differ: some origins take the first", "accept-language", "Accept-Language: en;q=0.5, de\n",
			"Accept-Language: de, en;q=0.5\n", false },
		{ "RFC 9110 12.4.2: a weight of 1", "accept-language", "Accept-Language: en;q=1, de; Q=1.000\n", "Accept-Language: en, de\n", true },
		{ "a weight of less", "accept-language", "Accept-Language: en;q=0.1\n", "Accept-Language: en\n", false },
		{ "no weight", "accept-language", "Accept-Language: en;q=10\n", "Accept-Language: en\n", false },
		{ "a weight before an extension of Accept (RFC 7231 5.3.2)", "accept", "Accept: a/b;q=1;level=1\n", "Accept: a/b;level=1\n", false },
		{ "RFC 9110 8.3.1: case of types and names", "accept", "Accept: Text/HTML;Level=1\n", "Accept: text/html;level=1\n", true },
		{ "case of a parameter's value", "accept", "Accept: a/b;profile=X\n", "Accept: a/b;profile=x\n", false },
		{ "case in quotes", "accept", "Accept: a/b;profile=\"X; y\"\n", "Accept: a/b;profile=\"x; y\"\n", false },
		{ "blanks in a quoted value", "accept", "Accept: a/b;profile=\"x; y\"\n", "Accept: a/b;profile=\"x;y\"\n", false },
		{ "a comma in a quoted value", "accept", "Accept: a/b;x=\"1, 2\"\n", "Accept: a/b;x=\"1,2\"\n", false },
		{ "a name without a value", "accept", "Accept: a/b;x\n", "Accept: a/b;x=\n", false },
		{ "blanks inside a language", "accept-language", "Accept-Language: e n\n", "Accept-Language: en\n", false },
		{ "RFC 4647 2: case of languages", "accept-language", "Accept-Language: en, de\n", "Accept-Language: eN, De\n", true },
		{ "blanks in languages", "accept-language", "Accept-Language: en;q=0.5,de\n", "Accept-Language:  en ; q=0.5 ,  de\n", true },
		{ "languages in two lines", "accept-language", "Accept-Language: en\nAccept-Language: de\n", "Accept-Language: en, de\n", true },
		{ "weights", "accept-language", "Accept-Language: en;q=0.5, de\n", "Accept-Language: en, de;q=0.5\n", false },
		{ "other languages", "accept-language", "Accept-Language: en\n", "Accept-Language: en-GB\n", false },
		{ "a value cannot pass for another field", "bar,foo", "Bar: 1\nFoo: 2;bar=1\n", "Bar: 1;foo=2\nFoo: 1\n", false },
		{ "nor for an absent one", "a,b", "A: x;b=y\n", "A: x\nB: y;b\n", false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct text a = key(cases[i].names, cases[i].one), b = key(cases[i].names, cases[i].other);

		UNIT_ROW(a.len && (a.len == b.len && !memcmp(a.bytes, b.bytes, a.len)) == cases[i].same, "%s: %.*s %.*s", cases[i].rule,
			(int)a.len, a.bytes, (int)b.len, b.bytes);
		free(a.bytes);
		free(b.bytes);
	}
}

/* Old stores have keys in which preferences are sorted: none of them is a key of today. */
static void old_keys(void)
{
	struct text t = key("accept-language", "Accept-Language: de, fr\n");

	UNIT_ROW(t.len && memcmp(t.bytes, "accept-language=", 16), "issue 31 A 9: %.*s", (int)t.len, t.bytes);
	free(t.bytes);
}

UNIT_SUITE(vary, { "names", names }, { "valid-names", valid_names }, { "unions", unions }, { "keys", keys }, { "old-keys", old_keys })
