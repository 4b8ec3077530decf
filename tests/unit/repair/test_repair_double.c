/* Owns the cases of text encoded twice: where it is undone, and where it stays.
 * Must not know: other repairs, but for what they make of its text.
 * Invariant: each row names its rule; rows are fed whole and split in two at every byte, long texts in several steps. */
#include "core/repair/repair_double.h"
#include "tests/unit/repair/rows.h"

#include <stdlib.h>

#define SAME(rule, text) { rule, T(text), T(text), { 0 } }
#define NBSP "\xc2\xa0"
/* Enough of it in a node, and what that is. */
#define TWICE "<b>cafÃ©, cafÃ©, cafÃ©</b>"
#define ONCE "<b>café, café, café</b>"

static void sequences(void)
{
	static const struct row rows[] = {
		{ "two bytes", T("<a>cafÃ© naÃ¯ve fÃªte</a>"), T("<a>café naïve fête</a>"), COUNT(DOUBLE, 3) },
		{ "three bytes", T("donâ€™t â€œquoteâ€\xc2\x9d"), T("don’t “quote”"), COUNT(DOUBLE, 3) },
		{ "four bytes", T("ðŸ˜€ ðŸ˜€ ðŸ˜€"), T("😀 😀 😀"), COUNT(DOUBLE, 3) },
		{ "side by side", T("<a>Ð¿Ñ€Ð¸Ð²ÐµÑ‚</a>"), T("<a>привет</a>"), COUNT(DOUBLE, 6) },
		{ "ideographs", T("æ—¥æœ¬èªž"), T("日本語"), COUNT(DOUBLE, 3) },
		{ "the five bytes that windows-1252 leaves out", T("Ã\xc2\x81Ã\xc2\x8dÃ\xc2\x8fÃ\xc2\x90Ã\xc2\x9d"), T("ÁÍÏÐÝ"), COUNT(DOUBLE, 5) },
		{ "controls, as ISO-8859-1 has them", T("x\xc3\xa2\xc2\x80\xc2\x99s \xc3\xa2\xc2\x80\xc2\x9cx \xc3\xa2\xc2\x80\xc2\x93y"), T("x’s “x –y"), COUNT(DOUBLE, 3) },
		{ "a no-break space", T("<a>voilÃ" NBSP " lÃ" NBSP " aÂ" NBSP "b</a>"), T("<a>voilà là a" NBSP "b</a>"), COUNT(DOUBLE, 3) },
		{ "a sign, behind and before a word", T("Â£10, 20Â°, Â©2006"), T("£10, 20°, ©2006"), COUNT(DOUBLE, 3) },
		{ "a dash between blanks", T("<a>News â€“ x</a><a>News â€” y</a><a>News â€“ z</a>"), T("<a>News – x</a><a>News — y</a><a>News – z</a>"), COUNT(DOUBLE, 3) },
		{ "a word of Vietnamese", T("<a>Tiáº¿ng Viá»‡t</a><a>Viá»‡t</a>"), T("<a>Tiếng Việt</a><a>Việt</a>"), COUNT(DOUBLE, 3) },
		{ "one that does not tell beside two that do", T("<a>O cafÃ© Ã© bom, cafÃ©</a>"), T("<a>O café é bom, café</a>"), COUNT(DOUBLE, 3) },
		{ "in names, values, comments, sections", T("<Ã©tÃ©s a='cafÃ©'/><!--cafÃ©--><![CDATA[cafÃ©]]>"), T("<étés a='café'/><!--café--><![CDATA[café]]>"), COUNT(DOUBLE, 5) },
		SAME("two", "<a>cafÃ© naÃ¯ve</a>"),
		SAME("forms that are too long", "<a>xÀ€ xÀ¼ xÁ¿ à€¼x ð€€¼x</a>"),
		SAME("halves of pairs, and beyond U+10FFFF", "<a>xí" NBSP "€x</a><a>xô\xc2\x90€€</a><a>xõ€€€</a>"),
		SAME("cut at the end of the text", "<a>cafÃ© cafÃ© cafÃ© Ã"),
		SAME("cut at the end of the node", "<a>cafÃ© cafÃ© cafÃ© â€</a>"),
		SAME("cut within the node", "<a>cafÃ© cafÃ© â€ cafÃ©</a>"),
		SAME("a lone second byte", "<a>cafÃ© cafÃ© cafÃ© ©</a>"),
		SAME("what windows-1252 has not", "<a>cafÃ© cafÃ© cafÃ© я</a>"),
		SAME("nor beyond the first plane", "<a>cafÃ© cafÃ© cafÃ© 😀</a>"),
		SAME("in the midst of a sequence", "<a>cafÃ© cafÃ© cafÃя</a>"),
		SAME("a character that was lost", "<a>cafÃ© cafÃ© cafÃ© â€" FFFD "</a>"),
	};
	static const struct row off[] = { SAME("switched off", TWICE "<a>привет</a>") };

	RUN(rows, REPAIR_DOUBLE, 0);
	RUN(rows, BODY_ONLY | REPAIR_DOUBLE, 0);
	RUN(rows, BODY_ONLY | REPAIR_DOUBLE | REPAIR_XML_1_1, 0);
	RUN(off, NO_PROLOG, 0);
}

static void nodes(void)
{
	static const struct row rows[] = {
		{ "a right node stays", T("<a>cafÃ©</a><b>é</b><c>cafÃ©</c><d>cafÃ© é</d><e>cafÃ©</e>"), T("<a>café</a><b>é</b><c>café</c><d>cafÃ© é</d><e>café</e>"), COUNT(DOUBLE, 3) },
		{ "in any order", T("<d>я cafÃ©</d><a>cafÃ© cafÃ©</a><d>я</d><c>cafÃ©</c>"), T("<d>я cafÃ©</d><a>café café</a><d>я</d><c>café</c>"), COUNT(DOUBLE, 3) },
		SAME("two are not enough", "<a>я</a><b>cafÃ© cafÃ©</b><c>я</c>"),
		SAME("what is right does not count", "<a>cafÃ©</a><c>cafÃ© я cafÃ©</c><b>cafÃ©</b>"),
		SAME("right text in the same section", "<![CDATA[<p>cafÃ©</p><p>cafÃ©</p><p>cafÃ©</p> instead of <b>café</b>]]>"),
		SAME("right text in the same section, with brackets", "<![CDATA[cafÃ©]] >cafÃ©]>cafÃ© ]]é> café]]>"),
		SAME("right text among escaped markup", "<a>&lt;p&gt;cafÃ© cafÃ© cafÃ©&lt;b&gt;café</a>"),
		{ "behind a section", T("<![CDATA[<p>я</p>]]]>cafÃ© cafÃ©<![CDATA[cafÃ©]]>"), T("<![CDATA[<p>я</p>]]]>café café<![CDATA[café]]>"), COUNT(DOUBLE, 3) },
		{ "no section", T("<![CDATA(<p>я</p>cafÃ©<![CDAT><b>cafÃ©</b><<![CDATA[cafÃ©]]>"), T("<![CDATA(<p>я</p>café<![CDAT><b>café</b><<![CDATA[café]]>"), COUNT(DOUBLE, 3) },
		{ "the end of the text ends a node", T("<a>cafÃ©</a>cafÃ© cafÃ©"), T("<a>café</a>café café"), COUNT(DOUBLE, 3) },
	};

	RUN(rows, REPAIR_DOUBLE, 0);
	RUN(rows, BODY_ONLY | REPAIR_DOUBLE, 0);
}

/* What right text has of it, and what is written about it. */
static void accidents(void)
{
	static const struct row rows[] = {
		SAME("a capital and an apostrophe", "<a>CAFÉ’S</a><a>BEYONCÉ’S</a><a>BEYONCÉ’S</a>"),
		SAME("a capital and dots", "<a>PIÙ…</a><a>VOCÊ…</a><a>AQUÍ…</a><a>AMANHÃ…</a>"),
		SAME("a capital and a quotation mark", "<a>SPÄ”</a><a>FÅ”</a><a>MAÇÔ</a><a>QUALITÉ»</a>"),
		SAME("a capital and another one", "<a>VÝŠKA</a><a>MÚŽA</a><a>ÖŠ</a>"),
		SAME("a sharp s", "<a>weiß…</a><a>Spaß”</a><a>Fuß“</a>"),
		SAME("a no-break space and a dash", "<a>Santé" NBSP "– vaccin</a><a>Santé" NBSP "– air</a><a>Santé" NBSP "– eau</a>"),
		SAME("a no-break space and a quotation mark", "<i>Liberté" NBSP "»</i><i>Fraternité" NBSP "»</i><i>Beauté" NBSP "»</i>"),
		SAME("two marks", "<a>le café…”</a><a>o café…”</a><a>olé’”</a><a>está»…</a><a>olá»”</a>"),
		SAME("quoted by themselves", "<a>Ã©</a><a>\"Ã©\", 'â€™' (Ã¨), â€œ, Â» Â©</a><b>Ã¼</b>"),
	};
	static const struct row behind[] = {
		{ "stays where right text stood before it", T(TWICE "<a>é</a><a>Santé" NBSP "– vaccin</a><a>CAFÉ’S</a><a>Ã©</a>"),
		    T(ONCE "<a>é</a><a>Santé" NBSP "– vaccin</a><a>CAFÉ’S</a><a>Ã©</a>"), COUNT(DOUBLE, 3) },
		{ "is undone where none did", T("<a>Ã©</a>" TWICE "<a>Â»</a>"), T("<a>é</a>" ONCE "<a>»</a>"), COUNT(DOUBLE, 5) },
		{ "even if it does behind it", T("<a>Ã©</a><b>é</b><a>Ã©</a>" TWICE "<a>Ã©</a>"), T("<a>é</a><b>é</b><a>Ã©</a>" ONCE "<a>é</a>"), COUNT(DOUBLE, 5) },
	};

	RUN(rows, REPAIR_DOUBLE, 0);
	RUN(behind, REPAIR_DOUBLE, 0);
}

static void again(void)
{
	static const struct row rows[] = {
		{ "three times", T("<a>cafÃƒÂ© cafÃƒÂ© cafÃƒÂ©</a>"), T("<a>café café café</a>"), COUNT(DOUBLE, 9) },
		{ "the second time has its own evidence", T("<a>cafÃƒÂ© cafÃƒÂ©</a>"), T("<a>cafÃ© cafÃ©</a>"), COUNT(DOUBLE, 4) },
		{ "four times: once is left", T("cafÃƒÆ’Ã‚Â© cafÃƒÆ’Ã‚Â© cafÃƒÆ’Ã‚Â©"), T("cafÃ© cafÃ© cafÃ©"), COUNT(DOUBLE, 18) },
		{ "some twice, some three times", T(TWICE "<a>cafÃƒÂ© cafÃƒÂ© cafÃƒÂ©</a>"), T(ONCE "<a>café café café</a>"), COUNT(DOUBLE, 12) },
	};
	static const struct row others[] = {
		{ "what XML forbids is seen once it is undone", T("<a>ï¿¾ï¿¾ï¿¾</a>"), T("<a>" FFFD FFFD FFFD "</a>"), COUNT(DOUBLE, 3), COUNT(CHARACTERS, 3) },
		{ "tags of what is undone", T("<a>" TWICE "</é></a>"), T("<a>" ONCE "</a>"), COUNT(DOUBLE, 3), COUNT(TAGS, 1) },
	};
	static const struct row prolog[] = {
		{ "a byte order mark before what may be no feed", T("ï»¿" TWICE), T(BOM ONCE), COUNT(DOUBLE, 4) },
		{ "a byte order mark before a feed", T("ï»¿<rss>" TWICE "</rss>"), T("<rss>" ONCE "</rss>"), COUNT(JUNK, 1), COUNT(DOUBLE, 3) },
		{ "a declaration", T("<?xml version='1.0' encoding='x'?>" TWICE), T("<?xml version='1.0' encoding=\"UTF-8\"?>" ONCE), COUNT(DECLARATION, 1), COUNT(DOUBLE, 3) },
	};

	RUN(rows, REPAIR_DOUBLE, 0);
	RUN(others, NO_PROLOG | REPAIR_DOUBLE, 0);
	RUN(prolog, REPAIR_ALL | REPAIR_DOUBLE, 0);
}

/* ---- texts longer than what is held ---- */

enum { LONG_MAX = 1 << 18 };

static char *put(char *at, const char *text)
{
	size_t len = strlen(text);

	memcpy(at, text, len);
	return at + len;
}

static char *put_blanks(char *at, size_t count)
{
	memset(at, ' ', count);
	return at + count;
}

/* Runs it in steps of each size; the results are one. Returns the count. */
static uint64_t run_long(struct gathered *g, const char *name, const char *text, size_t len)
{
	static const size_t steps[] = { 1, 7, 1000, DOUBLE_HOLD - 1, DOUBLE_HOLD, DOUBLE_HOLD + 1, LONG_MAX };
	static char other[LONG_MAX];
	uint64_t counts[REPAIR_COUNT], more[REPAIR_COUNT];

	repair_all(g, REPAIR_DOUBLE, 0, (struct text){ text, len }, 0, LONG_MAX, counts);
	UNIT_ROW(utf8_valid_prefix((const uint8_t *)g->bytes, g->len) == g->len, "%s", name);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct gathered h = { other, 0, sizeof(other) };

		repair_all(&h, REPAIR_DOUBLE, 0, (struct text){ text, len }, 0, steps[i], more);
		UNIT_ROW(h.len == g->len && memcmp(h.bytes, g->bytes, h.len) == 0, "%s, in steps of %zu", name, steps[i]);
		CU_ASSERT_EQUAL(memcmp(counts, more, sizeof(counts)), 0);
	}
	return counts[REPAIRED_DOUBLE];
}

static void far_apart(void)
{
	static const struct {
		const char *rule, *between;
		size_t gap;
		unsigned undone;
	} rows[] = {
		{ "all in what is held", "", 4000, 4 },
		{ "with right text between", "<c>é</c>", 4000, 4 },
		{ "further apart: from the third one on", "", 9000, 2 },
		{ "far apart", "", 20000, 2 },
		{ "further apart, with right text between: not enough", "<c>é</c>", 9000, 0 },
		{ "far apart, with right text between", "<c>é</c>", 20000, 0 },
		{ "right text with a sequence", "<c>é Ã©</c>", 20000, 0 },
	};
	static char text[LONG_MAX], out[LONG_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gathered g = { out, 0, sizeof(out) };
		char *at = text;
		uint64_t undone;

		for (unsigned n = 0; n < 4; n++)
			at = put(put_blanks(put(at, "<a>cafÃ©</a>"), rows[i].gap), rows[i].between);
		undone = run_long(&g, rows[i].rule, text, (size_t)(at - text));
		UNIT_ROW(undone == rows[i].undone, "%s: %u", rows[i].rule, (unsigned)undone);
		CU_ASSERT_EQUAL(g.len, (size_t)(at - text) - 2 * undone);
	}
}

static void long_nodes(void)
{
	enum { WORDS = 10000 };         /* of 13 bytes, of which five go */
	static const char *const ends[] = { "]]>", "я]]>", "Ã" };
	static char text[LONG_MAX], out[LONG_MAX];

	for (size_t lead = 0; lead < 13; lead++)
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			struct gathered g = { out, 0, sizeof(out) };
			char *at = put_blanks(put(text, "<![CDATA["), lead);
			uint64_t undone;

			for (unsigned n = 0; n < WORDS; n++)
				at = put(at, "cafâ€™s ");
			at = put(at, ends[i]);
			undone = run_long(&g, ends[i], text, (size_t)(at - text));
			/* Of a node that turns out right at its end the last piece stays */
			UNIT_ROW(i == 0 ? undone == WORDS : undone < WORDS && undone + DOUBLE_HOLD / 13 + 1 >= WORDS, "%s: %u", ends[i], (unsigned)undone);
			CU_ASSERT_EQUAL(g.len, (size_t)(at - text) - 5 * undone);
		}
}

UNIT_SUITE(repair_double, { "sequences", sequences }, { "nodes", nodes }, { "accidents", accidents }, { "again", again },
    { "far apart", far_apart }, { "long nodes", long_nodes })
