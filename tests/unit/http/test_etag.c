/* Owns the cases of proxy/http/etag.c and the growing string it writes to (proxy/base/text.c). Invariant: each row names its rule. */
#include "proxy/http/etag.h"
#include "tests/unit/exactly.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define OURS ";utf-0123abcd"
#define THEIRS ";utf-89abcdef"
#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static bool text_is(struct text *t, const char *want)
{
	size_t len;
	bool same;
	char *got;

	text_puts(t, "$");           /* a text nothing was written to has no string */
	got = text_take(t, &len);
	same = got && len == strlen(want) + 1 && memcmp(got, want, len - 1) == 0;
	free(got);
	return same;
}

static void suffixes(void)
{
	static const struct { uint64_t settings; const char *want; } cases[] = {
		{ 0, ";utf-00000000" }, { 0x0123abcd, OURS }, { 0x0123abcd00000000, OURS }, { 0xffffffff00000001, ";utf-fffffffe" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		char buf[ETAG_SUFFIX_MAX];

		etag_suffix(buf, cases[i].settings);
		UNIT_ROW(strcmp(buf, cases[i].want) == 0, "%s: %s", cases[i].want, buf);
	}
}

static void transformed(void)
{
	static const struct { const char *rule, *upstream, *want; } cases[] = {
		{ "strong", "\"abc\"", "\"abc" OURS "\"" },
		{ "weak stays weak", "W/\"abc\"", "W/\"abc" OURS "\"" },
		{ "empty opaque tag", "\"\"", "\"" OURS "\"" },
		{ "comma inside", "\"a,b\"", "\"a,b" OURS "\"" },
		{ "8-bit (obs-text)", "\"\xe9\"", "\"\xe9" OURS "\"" },
		{ "nothing", "", "" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slice upstream = exactly(cases[i].upstream);
		struct text t = { 0 };

		etag_transform(&t, upstream, OURS);
		UNIT_ROW(text_is(&t, cases[i].want), "%s", cases[i].rule);
		exactly_free(upstream);
	}
}

static void restored(void)
{
	static const struct { const char *rule, *member, *want; bool kept, ours; } cases[] = {
		{ "ours", "\"abc" OURS "\"", "\"abc\"", true, true },
		{ "ours, weak", "W/\"abc" OURS "\"", "W/\"abc\"", true, true },
		{ "ours, empty", "\"" OURS "\"", "\"\"", true, true },
		{ "ours, weak and empty", "W/\"" OURS "\"", "W/\"\"", true, true },
		{ "ours twice over (utfeed behind utfeed)", "\"a" THEIRS OURS "\"", "\"a" THEIRS "\"", true, true },
		{ "of other settings", "\"abc" THEIRS "\"", "", false, false },
		{ "of other settings, weak", "W/\"abc" THEIRS "\"", "", false, false },
		{ "the origin's", "\"abc\"", "\"abc\"", true, false },
		{ "any", "*", "*", true, false },
		{ "short", "\"\"", "\"\"", true, false },
		{ "only the mark", OURS "\"", OURS "\"", true, false },
		{ "mark not at the end", "\"" OURS "x\"", "\"" OURS "x\"", true, false },
		{ "nothing", "", "", true, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slice member = exactly(cases[i].member);
		struct text t = { 0 };
		enum etag_owner owner = etag_restore(&t, member, OURS);
		bool ours = owner == ETAG_OURS || owner == ETAG_OURS_GZIP, kept = owner != ETAG_STALE;

		UNIT_ROW(kept == cases[i].kept && ours == cases[i].ours, "%s: %d %d", cases[i].rule, kept, ours);
		UNIT_ROW(etag_is_ours(member) == (owner != ETAG_THEIRS), "%s", cases[i].rule);
		UNIT_ROW(text_is(&t, cases[i].want), "%s", cases[i].rule);
		exactly_free(member);
	}
}

/* What is transformed is restored. */
static void there_and_back(void)
{
	static const char *const tags[] = { "\"a\"", "W/\"a\"", "\"\"", "\";utf-\"", "\"a;utf-0123\"" };

	for (size_t i = 0; i < COUNT(tags); i++) {
		struct text there = { 0 }, back = { 0 };
		etag_transform(&there, (struct slice){ tags[i], strlen(tags[i]) }, OURS);
		CU_ASSERT_EQUAL(etag_restore(&back, (struct slice){ there.bytes, there.len }, OURS), ETAG_OURS);
		UNIT_ROW(text_is(&back, tags[i]), "%s", tags[i]);
		free(there.bytes);
	}
}

/* Growth across every size of first allocation, by each of its ways in. */
static void growing(void)
{
	struct text t = { 0 };
	size_t len, total = 0;
	char *got, word[8];

	for (unsigned i = 0; i < 1000; i++) {
		text_printf(&t, "%u", i % 10);
		text_puts(&t, "");
		text_add(&t, "ab", i % 3);
		total += 1 + i % 3;
		CU_ASSERT_EQUAL(t.len, total);
	}
	got = text_take(&t, &len);
	CU_ASSERT_PTR_NOT_NULL_FATAL(got);
	CU_ASSERT_EQUAL(len, total);
	CU_ASSERT(memcmp(got, "01a2ab34a5ab6", 13) == 0);
	CU_ASSERT(!t.bytes && !t.len && !t.cap && !t.failed);
	free(got);
	memset(word, 'x', sizeof(word));
	text_add(&t, word, sizeof(word));
	t.failed = true;
	text_puts(&t, "more");
	CU_ASSERT_EQUAL(t.len, sizeof(word));
	CU_ASSERT_PTR_NULL(text_take(&t, &len));
	CU_ASSERT_FALSE(t.failed);
}

/* A value that is not a tag gets one of our own: well-formed and weak; it differs if the value differs. */
static void malformed(void)
{
	static const struct { const char *rule, *upstream; } cases[] = {
		{ "W/ in lower case is none", "w/\"abc\"" }, { "not quoted", "abc" }, { "one quote", "\"" }, { "weak without a tag", "W/" },
		{ "weak, one quote", "W/\"" }, { "open", "\"abc" }, { "quote inside", "\"a\"b\"" }, { "list", "\"a\", \"b\"" }, { "something after", "\"a\"x" },
		{ "not quoted, weak", "W/abc" }, { "8-bit (obs-text)", "\xe9" }, { "a blank inside", "\"a b\"" },
		{ "a blank inside, weak", "W/\"a b\"" }, { "a tab inside", "\"a\tb\"" }, { "DEL inside", "\"a\x7f\"" },
	};
	char tags[COUNT(cases)][64];

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct slice upstream = exactly(cases[i].upstream);
		struct text t = text_on(tags[i], sizeof tags[i] - 1), restored = { 0 };

		UNIT_ROW(!etag_is_valid(upstream), "%s", cases[i].rule);
		etag_transform(&t, upstream, OURS);
		tags[i][t.len] = '\0';
		UNIT_ROW(!t.failed && etag_is_valid((struct slice){ t.bytes, t.len }) && etag_is_ours((struct slice){ t.bytes, t.len }), "%s: %s",
			cases[i].rule, tags[i]);
		UNIT_ROW(!strncmp(tags[i], "W/\"own-", 7), "%s: %s", cases[i].rule, tags[i]);
		UNIT_ROW(etag_restore(&restored, (struct slice){ t.bytes, t.len }, OURS) == ETAG_OURS, "%s", cases[i].rule);
		for (size_t k = 0; k < i; k++)
			UNIT_ROW(strcmp(tags[i], tags[k]) != 0, "%s, %s: %s", cases[i].rule, cases[k].rule, tags[i]);
		text_free(&restored);
		exactly_free(upstream);
	}
}

UNIT_SUITE(etag, { "malformed", malformed }, { "suffixes", suffixes }, { "transformed", transformed }, { "restored", restored },
	{ "there and back", there_and_back }, { "growing", growing })
