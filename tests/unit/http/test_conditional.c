/* Owns the cases of proxy/http/conditional.c. Invariant: each row names its rule (sections of RFC 9110 where no other is named). */
#include "proxy/http/conditional.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define P CONDITIONAL_PROCEED
#define N CONDITIONAL_NOT_MODIFIED
#define F CONDITIONAL_FAILED
#define EARLIER "Sun, 06 Nov 1994 08:00:00 GMT"
#define MODIFIED "Sun, 06 Nov 1994 08:49:37 GMT"
#define LATER "Sun, 06 Nov 1994 09:00:00 GMT"
enum { MODIFIED_AT = 784111777, NOW = 1795000000 };

static void etags(void)
{
	static const struct { const char *a, *b; bool weak, strong; } cases[] = {   /* 8.8.3.2, its own table and more */
		{ "W/\"1\"", "W/\"1\"", true, false }, { "W/\"1\"", "W/\"2\"", false, false }, { "W/\"1\"", "\"1\"", true, false },
		{ "\"1\"", "\"1\"", true, true }, { "\"1\"", "\"2\"", false, false }, { "\"a\"", "\"A\"", false, false },
		{ "\"\"", "\"\"", true, true }, { "1", "1", false, false }, { "1", "\"1\"", false, false }, { "w/\"1\"", "\"1\"", false, false },
		{ "\"1", "\"1", false, false }, { "\"", "\"", false, false }, { "", "", false, false }, { NULL, NULL, false, false },
		{ "\"\xfc\"", "\"\xfc\"", true, true },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slice a = head_slice(cases[i].a), b = head_slice(cases[i].b);

		UNIT_ROW(etag_equal(a, b, false) == cases[i].weak && etag_equal(b, a, false) == cases[i].weak, "%zu", i);
		UNIT_ROW(etag_equal(a, b, true) == cases[i].strong && etag_equal(b, a, true) == cases[i].strong, "%zu", i);
	}
}

static void preconditions(void)
{
	static const struct { const char *rule, *lines, *etag, *modified; enum conditional_answer want; } cases[] = {
		{ "none", "", "\"a\"", MODIFIED, P },
		{ "13.1.2: the same", "If-None-Match: \"a\"\n", "\"a\"", NULL, N },
		{ "13.1.2: another", "If-None-Match: \"b\"\n", "\"a\"", NULL, P },
		{ "13.1.2: weakly the same", "If-None-Match: \"a\"\n", "W/\"a\"", NULL, N },
		{ "13.1.2: weakly, the other way", "If-None-Match: W/\"a\"\n", "\"a\"", NULL, N },
		{ "13.1.2: first of a list", "If-None-Match: \"a\", \"b\", \"c\"\n", "\"a\"", NULL, N },
		{ "13.1.2: middle of a list", "If-None-Match: \"b\", \"a\", \"c\"\n", "\"a\"", NULL, N },
		{ "13.1.2: last, in another line", "If-None-Match: \"b\"\nIf-None-Match: \"c\" ,\"a\"\n", "\"a\"", NULL, N },
		{ "13.1.2: any", "If-None-Match: *\n", NULL, NULL, N },
		{ "13.1.2: nothing to compare", "If-None-Match: \"a\"\n", NULL, NULL, P },
		{ "13.1.2: a star in quotes is a tag", "If-None-Match: \"*\"\n", "\"a\"", NULL, P },
		{ "8.8.3: a comma inside", "If-None-Match: \"a,b\"\n", "\"a,b\"", NULL, N },
		{ "8.8.3: half of it", "If-None-Match: \"a,b\"\n", "\"a", NULL, P },
		{ "8.8.3: no escapes", "If-None-Match: \"x\\\", \"a\"\n", "\"a\"", NULL, N },
		{ "8.8.3: obs-text", "If-None-Match: \"\xc3\xbc\"\n", "\"\xc3\xbc\"", NULL, N },
		{ "13.1.3: the same date", "If-Modified-Since: " MODIFIED "\n", NULL, MODIFIED, N },
		{ "13.1.3: later", "If-Modified-Since: " LATER "\n", NULL, MODIFIED, N },
		{ "13.1.3: earlier", "If-Modified-Since: " EARLIER "\n", NULL, MODIFIED, P },
		{ "5.6.7: obsolete form", "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT\n", NULL, MODIFIED, N },
		{ "13.1.3: no date", "If-Modified-Since: 0\n", NULL, MODIFIED, P },
		{ "13.1.3: two of them", "If-Modified-Since: " LATER "\nIf-Modified-Since: " LATER "\n", NULL, MODIFIED, P },
		{ "RFC 9111 4.3.2: Date stands in", "If-Modified-Since: " LATER "\n", NULL, NULL, N },
		{ "RFC 9111 4.3.2: Date stands in, earlier", "If-Modified-Since: " EARLIER "\n", NULL, NULL, P },
		{ "13.1.3: not beside If-None-Match", "If-None-Match: \"b\"\nIf-Modified-Since: " LATER "\n", "\"a\"", MODIFIED, P },
		{ "13.1.3: nor against it", "If-None-Match: \"a\"\nIf-Modified-Since: " EARLIER "\n", "\"a\"", MODIFIED, N },
		{ "8.8.3.3: another coding of it", "If-None-Match: \"a;gz\"\n", "\"a\"", NULL, N },
		{ "8.8.3.3: another coding of another", "If-None-Match: \"b;gz\"\n", "\"a\"", NULL, P },
		{ "8.8.3.3: a weak one, strongly", "If-Match: W/\"a;gz\"\n", "W/\"a\"", NULL, F },
		{ "13.1.1: the same", "If-Match: \"a\"\n", "\"a\"", NULL, P },
		{ "13.1.1: another", "If-Match: \"b\"\n", "\"a\"", NULL, F },
		{ "13.1.1: weak is never the same", "If-Match: W/\"a\"\n", "W/\"a\"", NULL, F },
		{ "13.1.1: any", "If-Match: *\n", NULL, NULL, P },
		{ "13.1.1: list", "If-Match: \"b\", \"a\"\n", "\"a\"", NULL, P },
		{ "13.1.1: no tag to match", "If-Match: \"a\"\n", NULL, NULL, F },
		{ "13.1.4: the same date", "If-Unmodified-Since: " MODIFIED "\n", NULL, MODIFIED, P },
		{ "13.1.4: earlier", "If-Unmodified-Since: " EARLIER "\n", NULL, MODIFIED, F },
		{ "13.1.4: no date", "If-Unmodified-Since: x\n", NULL, MODIFIED, P },
		{ "13.1.4: nothing tells", "If-Unmodified-Since: " EARLIER "\n", NULL, NULL, P },
		{ "13.1.4: not beside If-Match", "If-Match: \"a\"\nIf-Unmodified-Since: " EARLIER "\n", "\"a\"", MODIFIED, P },
		{ "13.2.2: If-Match comes first", "If-Match: \"b\"\nIf-None-Match: \"a\"\n", "\"a\"", NULL, F },
		{ "13.2.2: then If-None-Match", "If-Match: \"a\"\nIf-None-Match: \"a\"\n", "\"a\"", NULL, N },
		{ "13.2.2: If-Unmodified-Since, then", "If-Unmodified-Since: " LATER "\nIf-Modified-Since: " LATER "\n", NULL, MODIFIED, N },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct conditional_stored s = { head_slice(cases[i].etag), head_slice(cases[i].modified), MODIFIED_AT + 60, ";gz" };
		struct http_msg m;

		head_read(&m, cases[i].lines, 0);
		UNIT_ROW(conditional_evaluate(&m, &s, NOW) == cases[i].want, "%s", cases[i].rule);
		UNIT_ROW(conditional_asked(&m) == (m.n_fields > 0), "%s", cases[i].rule);
		head_free(&m);
	}
}

static void ranges(void)
{
	static const struct { const char *rule, *lines; uint64_t length; enum range_answer want; uint64_t first, last; } cases[] = {
		{ "none", "", 10, RANGE_NONE, 0, 0 },
		{ "14.1.2: both ends", "Range: bytes=2-4\n", 10, RANGE_ONE, 2, 4 },
		{ "14.1.2: one byte", "Range: bytes=9-9\n", 10, RANGE_ONE, 9, 9 },
		{ "14.1.2: open", "Range: bytes=1-\n", 10, RANGE_ONE, 1, 9 },
		{ "14.1.2: to beyond the end", "Range: bytes=1-99\n", 10, RANGE_ONE, 1, 9 },
		{ "14.1.2: beyond any number", "Range: bytes=1-99999999999999999999999\n", 10, RANGE_ONE, 1, 9 },
		{ "14.1.2: suffix", "Range: bytes=-3\n", 10, RANGE_ONE, 7, 9 },
		{ "14.1.2: longer suffix", "Range: bytes=-30\n", 10, RANGE_ONE, 0, 9 },
		{ "14.1: case of the unit", "Range: BYTES=0-0\n", 10, RANGE_ONE, 0, 0 },
		{ "14.1.1: blanks", "Range: bytes= 0-0 \n", 10, RANGE_ONE, 0, 0 },
		{ "14.1.2: starts at the end", "Range: bytes=10-\n", 10, RANGE_UNSATISFIABLE, 0, 0 },
		{ "14.1.2: starts beyond any number", "Range: bytes=99999999999999999999999-\n", 10, RANGE_UNSATISFIABLE, 0, 0 },
		{ "14.1.2: empty suffix", "Range: bytes=-0\n", 10, RANGE_UNSATISFIABLE, 0, 0 },
		{ "14.1.2: nothing there", "Range: bytes=0-\n", 0, RANGE_UNSATISFIABLE, 0, 0 },
		{ "14.1.2: suffix of nothing", "Range: bytes=-1\n", 0, RANGE_NONE, 0, 0 },
		{ "14.1.1: last before first", "Range: bytes=4-2\n", 10, RANGE_NONE, 0, 0 },
		{ "14.2: several", "Range: bytes=0-1,4-5\n", 10, RANGE_NONE, 0, 0 },
		{ "14.2: two fields", "Range: bytes=0-1\nRange: bytes=0-1\n", 10, RANGE_NONE, 0, 0 },
		{ "14.2: another unit", "Range: lines=0-1\n", 10, RANGE_NONE, 0, 0 },
		{ "14.2: no unit", "Range: 0-1\n", 10, RANGE_NONE, 0, 0 },
		{ "14.1.1: no dash", "Range: bytes=5\n", 10, RANGE_NONE, 0, 0 },
		{ "14.1.1: a dash", "Range: bytes=-\n", 10, RANGE_NONE, 0, 0 },
		{ "14.1.1: nothing", "Range: bytes=\n", 10, RANGE_NONE, 0, 0 },
		{ "14.1.1: signs", "Range: bytes=+1-2\n", 10, RANGE_NONE, 0, 0 },
		{ "14.1.1: letters", "Range: bytes=1-x\n", 10, RANGE_NONE, 0, 0 },
		{ "14.1.1: two dashes", "Range: bytes=1--2\n", 10, RANGE_NONE, 0, 0 },
		{ "13.1.5: the same tag", "Range: bytes=0-1\nIf-Range: \"a\"\n", 10, RANGE_ONE, 0, 1 },
		{ "13.1.5: another tag", "Range: bytes=0-1\nIf-Range: \"b\"\n", 10, RANGE_NONE, 0, 0 },
		{ "13.1.5: weak", "Range: bytes=0-1\nIf-Range: W/\"a\"\n", 10, RANGE_NONE, 0, 0 },
		{ "13.1.5: the same date", "Range: bytes=0-1\nIf-Range: " MODIFIED "\n", 10, RANGE_ONE, 0, 1 },
		{ "13.1.5: a later date", "Range: bytes=0-1\nIf-Range: " LATER "\n", 10, RANGE_NONE, 0, 0 },
		{ "13.1.5: a Wednesday is no tag", "Range: bytes=0-1\nIf-Range: Wed, 16 Nov 1994 08:49:37 GMT\n", 10, RANGE_NONE, 0, 0 },
		{ "13.1.5: neither", "Range: bytes=0-1\nIf-Range: a\n", 10, RANGE_NONE, 0, 0 },
		{ "13.1.5: without Range", "If-Range: \"a\"\n", 10, RANGE_NONE, 0, 0 },
	};
	struct conditional_stored s = { head_slice("\"a\""), head_slice(MODIFIED), MODIFIED_AT + 60, NULL };
	struct byte_range got;
	struct http_msg m;

	for (size_t i = 0; i < COUNT(cases); i++) {
		head_read(&m, cases[i].lines, 0);
		got = (struct byte_range){ 0, 0 };
		UNIT_ROW(range_evaluate(&m, &s, cases[i].length, NOW, &got) == cases[i].want, "%s", cases[i].rule);
		if (cases[i].want == RANGE_ONE)
			UNIT_ROW(got.first == cases[i].first && got.last == cases[i].last, "%s", cases[i].rule);
		head_free(&m);
	}
	head_read(&m, "Range: bytes=0-1\nIf-Range: " MODIFIED "\n", 0);
	s.date = MODIFIED_AT;
	UNIT_ROW(range_evaluate(&m, &s, 10, NOW, &got) == RANGE_NONE, "8.8.2.2: changed in the second it was sent");
	head_free(&m);
	head_read(&m, "Range: bytes=0-1\nIf-Range: Wed, 16 Nov 1994 08:49:37 GMT\n", 0);
	s = (struct conditional_stored){ head_slice("\"a\""), head_slice("Wed, 16 Nov 1994 08:49:37 GMT"), NOW, NULL };
	UNIT_ROW(range_evaluate(&m, &s, 10, NOW, &got) == RANGE_ONE, "13.1.5: a Wednesday is a date");
	m.method = METHOD_HEAD;
	UNIT_ROW(range_evaluate(&m, &s, 10, NOW, &got) == RANGE_NONE, "14.2: of a GET only");
	head_free(&m);
}

static void asked_ranges(void)
{
	static const struct { const char *rule, *lines; enum http_method method; bool want; } cases[] = {
		{ "none", "", METHOD_GET, false },
		{ "14.1.2: both ends", "Range: bytes=2-4\n", METHOD_GET, true },
		{ "14.1.2: open", "Range: bytes=2-\n", METHOD_GET, true },
		{ "14.1.2: suffix", "Range: bytes=-2\n", METHOD_GET, true },
		{ "14.1.2: empty suffix, which nothing satisfies", "Range: bytes=-0\n", METHOD_GET, true },
		{ "13.1.5: whatever If-Range says", "Range: bytes=2-\nIf-Range: \"b\"\n", METHOD_GET, true },
		{ "14.2: of a GET only", "Range: bytes=2-4\n", METHOD_HEAD, false },
		{ "14.2: several", "Range: bytes=2-4,6-\n", METHOD_GET, false },
		{ "14.2: two fields", "Range: bytes=2-4\nRange: bytes=2-4\n", METHOD_GET, false },
		{ "14.2: another unit", "Range: lines=2-4\n", METHOD_GET, false },
		{ "14.1.1: last before first", "Range: bytes=4-2\n", METHOD_GET, false },
		{ "14.1.1: a dash", "Range: bytes=-\n", METHOD_GET, false },
		{ "14.1.1: no dash", "Range: bytes=2\n", METHOD_GET, false },
	};
	struct http_msg m;

	for (size_t i = 0; i < COUNT(cases); i++) {
		head_read(&m, cases[i].lines, 0);
		m.method = cases[i].method;
		UNIT_ROW(range_asked(&m) == cases[i].want, "%s", cases[i].rule);
		head_free(&m);
	}
}

UNIT_SUITE(conditional, { "etags", etags }, { "preconditions", preconditions }, { "ranges", ranges }, { "asked-ranges", asked_ranges })
