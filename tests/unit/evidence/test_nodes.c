/* Owns the cases of core/evidence/nodes.c: what one node is, and what speaks for a mixture.
 * Must not know: policies, streams. Invariant: each row names its rule. */
#include "core/evidence/nodes.h"
#include "tests/unit/unit.h"

#include <string.h>

#define T(text) (const uint8_t *)(text), sizeof(text) - 1
#define KOI_PRIVET "\xf0\xd2\xc9\xd7\xc5\xd4"

static void looks(void)
{
	static const struct {
		const char *rule;
		const uint8_t *text;
		size_t len;
		enum charset other;
		enum node_kind whole, cut;
	} rows[] = {
		{ "ASCII", T("a"), CS_WINDOWS_1252, NODE_UTF_8, NODE_UTF_8 },
		{ "nothing", T(""), CS_WINDOWS_1252, NODE_UTF_8, NODE_UTF_8 },
		{ "well-formed", T("на дворе"), CS_WINDOWS_1251, NODE_UTF_8, NODE_UTF_8 },
		{ "a cut character is a fault where the node ends", T("на д\xd0"), CS_WINDOWS_1251, NODE_STRAY, NODE_UTF_8 },
		{ "but not of another charset's node", T("caf\xc3"), CS_WINDOWS_1252, NODE_OTHER, NODE_UTF_8 },
		{ "three bytes of which one is missing", T("… \xe2\x80"), CS_WINDOWS_1252, NODE_STRAY, NODE_UTF_8 },
		{ "and nothing else beyond ASCII", T("it\xe2\x80..."), CS_WINDOWS_1252, NODE_STRAY, NODE_STRAY },
		{ "a character and three stray bytes", T("caf\xc3\xa9 it\x92s \xe9 \xfc"), CS_WINDOWS_1252, NODE_STRAY, NODE_STRAY },
		{ "and in Korean pairs", T("it\x92s gr\xfc\xdf caf\xc3\xa9"), CS_EUC_KR, NODE_STRAY, NODE_STRAY },
		{ "a pair of surrogates", T("so \xed\xa0\xbd\xed\xb8\x80 yes"), CS_WINDOWS_1252, NODE_STRAY, NODE_STRAY },
		{ "more letters of another set than an accident outweighs", T("\xd1\xcf\xd3\xcb\xcf\xc2\xc0 \xc2\xbb \xcf\xf0\xe8\xe2\xe5\xf2"), CS_WINDOWS_1251, NODE_OTHER, NODE_OTHER },
		{ "letters of which two look like a cut character", T("p\xf3\x9fniej"), CS_WINDOWS_1250, NODE_OTHER, NODE_OTHER },
		{ "a quote behind a capital, beside another stray letter", T("CAF\xc9\xbb th\xe9 et th\xe9"), CS_WINDOWS_1252, NODE_OTHER, NODE_STRAY },
		{ "pairs with an accident among them", T("\xd6\xd0\xb9\xfa\xc8\xcb\xc3\xf1\xc1\xaa\xcd\xa8\xd6\xd0\xb9\xfa"), CS_GB18030, NODE_OTHER, NODE_OTHER },
		{ "a mark in the middle is no letter", T("x \x92 a\xef\xbb\xbf" "b"), CS_WINDOWS_1252, NODE_STRAY, NODE_STRAY },
		{ "none", T("caf\xe9 "), CS_WINDOWS_1252, NODE_OTHER, NODE_OPEN },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum node_kind kind = NODE_UTF_8;

		CU_ASSERT_EQUAL(node_look(&kind, rows[i].text, rows[i].len, true, rows[i].other, 0), 0);
		UNIT_ROW(kind == rows[i].whole, "%s: %d", rows[i].rule, kind);
		CU_ASSERT_EQUAL(node_look(&kind, rows[i].text, rows[i].len, false, rows[i].other, 0), 0);
		UNIT_ROW(kind == rows[i].cut, "%s, cut: %d", rows[i].rule, kind);
	}
}

static void edges(void)
{
	static const uint8_t text[] = "ab<cd>ef";

	CU_ASSERT_EQUAL(node_end(text, 0, 8), 2);
	CU_ASSERT_EQUAL(node_end(text, 3, 8), 5);
	CU_ASSERT_EQUAL(node_end(text, 6, 8), 8);
	CU_ASSERT_EQUAL(node_end(text, 8, 8), 8);
	CU_ASSERT_EQUAL(node_start(text, 0, 2), 0);
	CU_ASSERT_EQUAL(node_start(text, 0, 5), 3);
	CU_ASSERT_EQUAL(node_start(text, 0, 8), 6);
	CU_ASSERT_EQUAL(node_start(text, 7, 8), 7);
	/* Edges behind the first stretch, and on both sides of where one ends */
	for (size_t open = 60; open < 200; open++)
		for (size_t close = 60; close < 200; close++) {
			uint8_t far[200];

			memset(far, 'x', sizeof(far));
			far[open] = '<';
			far[close] = '>';
			UNIT_ROW(node_end(far, 0, sizeof(far)) == (open < close ? open : close), "%zu, %zu", open, close);
		}
}

/* lead: whether the text is likelier with nodes of UTF-8 than without. */
static void texts(void)
{
	static const struct {
		const char *rule;
		const uint8_t *text;
		size_t len;
		enum charset whole;
		size_t utf_8, others, kept;
		bool lead;
	} rows[] = {
		{ "all ASCII", T("<a>b</a>"), CS_KOI8_R, 0, 0, 0, false },
		{ "all UTF-8", T("<a>два</a>"), CS_KOI8_R, 1, 0, 0, true },
		{ "one other", T("<a>" KOI_PRIVET "</a>"), CS_KOI8_R, 0, 1, 7, false },
		{ "its ASCII is kept, too", T("<a>b " KOI_PRIVET " c</a>"), CS_KOI8_R, 0, 1, 11, false },
		{ "five characters beside it", T("<a>" KOI_PRIVET "</a><b>пятью</b>"), CS_KOI8_R, 1, 1, 7, true },
		{ "one apostrophe beside one", T("<a>caf\xe9</a><b>it’s</b>"), CS_WINDOWS_1252, 1, 1, 5, true },
		{ "two beside one", T("<a>caf\xe9</a><b>it’s</b><b>don’t</b>"), CS_WINDOWS_1252, 2, 1, 5, true },
		{ "one apostrophe and a stray byte", T("<a>it’s caf\xe9</a>"), CS_WINDOWS_1252, 1, 0, 0, true },
		{ "a quote behind a capital is an accident", T("<a>CAF\xc9\xbb</a><a>th\xe9</a><a>caf\xe9</a>"), CS_WINDOWS_1252, 1, 2, 9, false },
		{ "an attribute is a node with its tag", T("<a b=\"" KOI_PRIVET "\">пятью</a>"), CS_KOI8_R, 1, 1, 13, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nodes n;

		CU_ASSERT_EQUAL(nodes_read(&n, rows[i].text, rows[i].len, true, rows[i].whole, 0), 0);
		UNIT_ROW(n.utf_8 == rows[i].utf_8 && n.others == rows[i].others && n.len == rows[i].kept, "%s: %zu, %zu, %zu", rows[i].rule, n.utf_8, n.others, n.len);
		UNIT_ROW((n.lead > 0) == rows[i].lead, "%s: lead %lld", rows[i].rule, (long long)n.lead);
	}
}

/* What is kept is bounded, whole nodes where they fit and the beginning of the first where it does not. */
static void bounds(void)
{
	static uint8_t text[4 * NODES_BYTES];
	struct nodes n;

	memset(text, 0xe9, sizeof(text));
	CU_ASSERT_EQUAL(nodes_read(&n, text, sizeof(text), true, CS_WINDOWS_1252, 0), 0);
	CU_ASSERT(n.others == 1 && n.len == NODES_BYTES);
	for (size_t at = 99; at < sizeof(text); at += 100)
		text[at] = '<';
	CU_ASSERT_EQUAL(nodes_read(&n, text, sizeof(text), true, CS_WINDOWS_1252, 0), 0);
	CU_ASSERT(n.others == sizeof(text) / 100 + 1);
	CU_ASSERT(n.len == NODES_BYTES / 100 * 100 + sizeof(text) % 100 + 1);
	text[0] = '<';
	CU_ASSERT_EQUAL(nodes_read(&n, text, 1, false, CS_WINDOWS_1252, 0), 0);
	CU_ASSERT(n.others == 0 && n.len == 0);
}

/* Only charsets that begin anew in each node come into question. */
static void charsets(void)
{
	static const struct {
		const char *rule;
		const uint8_t *text;
		size_t len;
		struct proposal label;
		enum charset charset;
	} rows[] = {
		{ "noise", T("\x81\x8d\x8f\x90\x9d"), { CS_NONE, 0 }, CS_WINDOWS_1252 },
		{ "Russian", T("\xcf\xf0\xe8\xe2\xe5\xf2 \xe8\xe7 \xcc\xee\xf1\xea\xe2\xfb\n"), { CS_NONE, 0 }, CS_WINDOWS_1251 },
		{ "French", T("\xe9t\xe9 \xe0 la mer, caf\xe9 cr\xe8me\n"), { CS_NONE, 0 }, CS_WINDOWS_1252 },
		{ "a label", T("\xe5\xe4\xf6\n"), { CS_MACINTOSH, 1000 }, CS_MACINTOSH },
		{ "which iconv would have to read", T("\xe5\xe4\xf6\n"), { CS_EUC_TW, 100000 }, CS_WINDOWS_1252 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum charset cs = CS_NONE;

		CU_ASSERT_EQUAL(nodes_charset(&cs, rows[i].text, rows[i].len, NULL, &rows[i].label, rows[i].label.charset != CS_NONE), 0);
		UNIT_ROW(cs == rows[i].charset, "%s: %s", rows[i].rule, charset_name(cs));
	}
}

UNIT_SUITE(nodes, { "looks", looks }, { "edges", edges }, { "texts", texts }, { "bounds", bounds }, { "charsets", charsets })
