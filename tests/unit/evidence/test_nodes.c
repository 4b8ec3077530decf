/* Owns the cases of core/evidence/nodes.c: what one node is, and when a text is a mixture.
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
		enum node_kind whole, pairs, cut;
		size_t multibyte;
	} rows[] = {
		{ "ASCII", T("a"), NODE_UTF_8, NODE_UTF_8, NODE_UTF_8, 0 },
		{ "nothing", T(""), NODE_UTF_8, NODE_UTF_8, NODE_UTF_8, 0 },
		{ "well-formed", T("на дворе"), NODE_UTF_8, NODE_UTF_8, NODE_UTF_8, 7 },
		{ "a cut character is a fault where the node ends", T("на д\xd0"), NODE_STRAY, NODE_STRAY, NODE_UTF_8, 3 },
		{ "but not of another charset's node", T("caf\xc3"), NODE_OTHER, NODE_OTHER, NODE_UTF_8, 0 },
		{ "three bytes of which one is missing", T("… \xe2\x80"), NODE_STRAY, NODE_STRAY, NODE_UTF_8, 1 },
		{ "three characters to a stray byte", T("три \xe9 "), NODE_STRAY, NODE_STRAY, NODE_STRAY, 3 },
		{ "two: few for text that may be of pairs", T("на \xe9 "), NODE_STRAY, NODE_OTHER, NODE_STRAY, 2 },
		{ "fewer than stray bytes", T("\x93é\x94"), NODE_OTHER, NODE_OTHER, NODE_OTHER, 1 },
		{ "none", T("caf\xe9 "), NODE_OTHER, NODE_OTHER, NODE_OTHER, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct node whole = node_look(rows[i].text, rows[i].len, true, false);

		UNIT_ROW(whole.kind == rows[i].whole && (whole.kind == NODE_OTHER || whole.multibyte == rows[i].multibyte), "%s: %d, %zu", rows[i].rule, whole.kind, whole.multibyte);
		UNIT_ROW(node_look(rows[i].text, rows[i].len, true, true).kind == rows[i].pairs, "%s, pairs", rows[i].rule);
		UNIT_ROW(node_look(rows[i].text, rows[i].len, false, false).kind == rows[i].cut, "%s, cut", rows[i].rule);
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

static void texts(void)
{
	static const struct {
		const char *rule;
		const uint8_t *text;
		size_t len;
		size_t utf_8, others, kept;
		bool mixed, against_label;
	} rows[] = {
		{ "all ASCII", T("<a>b</a>"), 0, 0, 0, false, false },
		{ "all UTF-8", T("<a>два</a>"), 1, 0, 0, false, false },
		{ "one other", T("<a>" KOI_PRIVET "</a>"), 0, 1, 7, false, false },
		{ "its ASCII is kept, too", T("<a>b " KOI_PRIVET " c</a>"), 0, 1, 11, false, false },
		{ "five characters beside it", T("<a>" KOI_PRIVET "</a><b>пятью</b>"), 3, 1, 7, true, false },
		{ "two short ones are an accident", T("<a>" KOI_PRIVET "</a><b>да</b><b>да</b><b>да</b><b>да</b>"), 0, 1, 7, false, false },
		{ "against a label as many as it has others, and more", T("<a>" KOI_PRIVET "</a><b>пятнадцатьбукв!</b>"), 12, 1, 7, true, false },
		{ "sixteen", T("<a>" KOI_PRIVET "</a><b>шестнадцатьбукв!</b>"), 13, 1, 7, true, true },
		{ "an attribute is a node with its tag", T("<a b=\"" KOI_PRIVET "\">пятью</a>"), 3, 1, 13, true, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nodes n;

		nodes_read(&n, rows[i].text, rows[i].len, true, true);
		UNIT_ROW(n.utf_8 == rows[i].utf_8 && n.others == rows[i].others && n.len == rows[i].kept, "%s: %zu, %zu, %zu", rows[i].rule, n.utf_8, n.others, n.len);
		UNIT_ROW(nodes_are_mixed(&n, false) == rows[i].mixed && nodes_are_mixed(&n, true) == rows[i].against_label, "%s: mixed", rows[i].rule);
	}
}

/* What is kept is bounded, whole nodes where they fit and the beginning of the first where it does not. */
static void bounds(void)
{
	static uint8_t text[4 * NODES_BYTES];
	struct nodes n;

	memset(text, 0xe9, sizeof(text));
	nodes_read(&n, text, sizeof(text), true, true);
	CU_ASSERT(n.others == 1 && n.len == NODES_BYTES);
	for (size_t at = 99; at < sizeof(text); at += 100)
		text[at] = '<';
	nodes_read(&n, text, sizeof(text), true, true);
	CU_ASSERT(n.others == sizeof(text) / 100 + 1);
	CU_ASSERT(n.len == NODES_BYTES / 100 * 100 + sizeof(text) % 100 + 1);
	text[0] = '<';
	nodes_read(&n, text, 1, false, true);
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
