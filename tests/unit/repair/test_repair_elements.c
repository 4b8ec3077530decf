/* Owns the cases of start and end tags together: what each end tag closes, what is closed at the end.
 * Must not know: attributes. Invariant: each row names its rule; rows are fed whole and split in two at every byte. */
#include "core/repair/repair_elements.h"
#include "tests/unit/repair/rows.h"

#include <stdlib.h>

#define SAME(rule, text) { rule, T(text), T(text), { 0 } }

static void end_tags(void)
{
	static const struct row rows[] = {
		SAME("[39] element", "<r><b><b/><b></b></b><bb></bb ><c\n></c\n></r>"),
		{ "what is open within is closed", T("<r><b><i>x</b>y</r>"), T("<r><b><i>x</i></b>y</r>"), COUNT(TAGS, 1) },
		{ "in a wrong order", T("<r><b><i>x</b></i>y</r>"), T("<r><b><i>x</i></b>y</r>"), COUNT(TAGS, 2) },
		{ "HTML's elements without an end", T("<r><p>b<br>c<p>d</r>"), T("<r><p>b<br>c<p>d</p></br></p></r>"), COUNT(TAGS, 1) },
		{ "one of HTML's that is not open goes", T("<r><b>c</i>d</b></P></r>"), T("<r><b>c" "d</b></r>"), COUNT(TAGS, 2) },
		{ "another ends an element that holds text only", T("<r><title>b</subtitle><c/></r>"), T("<r><title>b</title><c/></r>"), COUNT(TAGS, 1) },
		{ "in other letters", T("<r><Title><c/></title></r>"), T("<r><Title><c/></Title></r>"), COUNT(TAGS, 1) },
		{ "else it goes", T("<r><b/></c><d/></r>"), T("<r><b/><d/></r>"), COUNT(TAGS, 1) },
		{ "the root is ended by its own name only", T("<r>b</c>d</r>"), T("<r>bd</r>"), COUNT(TAGS, 1) },
		{ "what stands behind its name means nothing", T("<r><b></b c='d'></r>"), T("<r><b></b></r>"), COUNT(TAGS, 1) },
		{ "without its end", T("<r><b></b<c/></r>"), T("<r><b></b><c/></r>"), COUNT(TAGS, 1) },
		{ "[15]: hyphens in a comment", T("<r><!-- b -- c --- d ---></r>"), T("<r><!-- b - - c - - - d - --></r>"), COUNT(TAGS, 4) },
	};
	static const struct row off[] = {
		SAME("without tags nothing is known of what follows", "<r><b></r></b>x</c>"),
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
	RUN(off, REPAIR_ALL & ~REPAIR_TAGS, 0);
}

/* What was begun and cannot be completed is dropped; nothing is made up. */
static void cut_documents(void)
{
	static const struct row rows[] = {
		{ "in text", T("<r><b>c"), T("<r><b>c</b></r>"), COUNT(END, 1) },
		{ "in a start tag", T("<r><b>c</b><d e='f"), T("<r><b>c</b></r>"), COUNT(END, 1) },
		{ "in an end tag", T("<r><b>c</b"), T("<r><b>c</b></r>"), COUNT(END, 1) },
		{ "behind less-than", T("<r>b<"), T("<r>b</r>"), COUNT(END, 1) },
		{ "in a reference", T("<r>b&am"), T("<r>b</r>"), COUNT(END, 1) },
		{ "in a number", T("<r>b&#x00000000000000000000000000000000000000000000000000000000000000000000000000000000000000004"), T("<r>b</r>"), COUNT(END, 1) },
		{ "in a comment", T("<r><!-- b"), T("<r><!-- b--></r>"), COUNT(END, 1) },
		{ "in its end", T("<r><!-- b--"), T("<r><!-- b--></r>"), COUNT(END, 1) },
		{ "in its start", T("<r>b<!-"), T("<r>b</r>"), COUNT(END, 1) },
		{ "in an instruction", T("<r><?b c?"), T("<r><?b c?></r>"), COUNT(END, 1) },
		{ "in its name", T("<r><?b"), T("<r></r>"), COUNT(END, 1) },
		{ "in a section", T("<r><![CDATA[b<c"), T("<r><![CDATA[b<c]]></r>"), COUNT(END, 1) },
		{ "in its end", T("<r><![CDATA[b]]"), T("<r><![CDATA[b]]></r>"), COUNT(END, 1) },
		{ "in its start", T("<r>b<![CDAT"), T("<r>b</r>"), COUNT(END, 1) },
		{ "in the root's end", T("<r>b</r\r"), T("<r>b</r>"), COUNT(END, 1) },
		{ "behind the root", T("<r/><!-- b"), T("<r/><!-- b-->"), COUNT(END, 1) },
		SAME("in the root's start: nothing to close", "<r b='"),
		SAME("before it", "<?xml version='1.0'?><!-- a"),
		SAME("no root", "a"),
		SAME("something else came before the root", "text <r>b"),
		SAME("complete", "<r><b/></r>\n"),
	};
	static const struct row off[] = {
		SAME("switched off: a tag", "<r><b>c</b><d e='f"), SAME("a comment", "<r><!-- b-"), SAME("a number", "<r>&#x4"),
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
	RUN(off, REPAIR_ALL & ~(REPAIR_END | REPAIR_AMPERSANDS), 0);
}

static void trailing(void)
{
	static const struct row rows[] = {
		SAME("[27] Misc may follow", "<r/>\n <!-- b --> <?c d?>\n"),
		{ "text", T("<r/>\nb<!-- c -->"), T("<r/>\n"), COUNT(TRAILING, 1) },
		{ "a script", T("<rss></rss>\n<script>b</script> <!-- c -->\n"), T("<rss></rss>\n"), COUNT(TRAILING, 1) },
		{ "another document", T("<r/><?xml version='1.0'?><b/>"), T("<r/>"), COUNT(TRAILING, 1) },
		{ "the end tag again", T("<r></r></r>"), T("<r></r>"), COUNT(TRAILING, 1) },
		{ "NUL and other controls", T("<r/>\0\0"), T("<r/>"), COUNT(CHARACTERS, 2) },
		{ "a document type", T("<r/><!DOCTYPE r>"), T("<r/>"), COUNT(TRAILING, 1) },
		{ "what is cut", T("<r/><!"), T("<r/>"), COUNT(TRAILING, 1) },
		SAME("not where other text came before", "Notice: b<br/><r/>"),
		SAME("nor where HTML has the root's name", "<br/>\n<b>Notice</b><rss/>"),
	};
	static const struct row off[] = { SAME("switched off", "<r/> b &nbsp; <c> </d>") };

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
	RUN(off, REPAIR_ALL & ~REPAIR_TRAILING, 0);
}

/* Feeds `times` times a text behind a root and tells how it went. */
static void feed_many(struct gathered *g, const char *text, size_t times, uint64_t counts[REPAIR_COUNT])
{
	struct repair *r = repair_new(NO_PROLOG, 0, "UTF-8", (struct sink){ gather, g }, NULL);
	int rc = repair_feed(r, (const uint8_t *)"<r>", 3);

	g->len = 0;
	for (size_t i = 0; i < times && rc == 0; i++)
		rc = repair_feed(r, (const uint8_t *)text, strlen(text));
	CU_ASSERT_EQUAL(rc, 0);
	CU_ASSERT_EQUAL(repair_finish(r), 0);
	memcpy(counts, repair_counts(r), REPAIR_COUNT * sizeof(counts[0]));
	repair_free(&r);
}

/* Past the bounds of the stack the repairs give up and say nothing. */
static void bounds(void)
{
	static const struct { const char *rule, *text; size_t times, end; } cases[] = {
		{ "ten thousand open elements are closed", "<b>", 10000, 1 }, { "a million are not", "<b>", 1000000, 0 },
		{ "a name of 255 bytes and of more", "<b>", 1, 1 },
	};
	static char name[300] = "<";
	size_t cap = 8u << 20;
	char *out = malloc(cap);
	struct gathered g = { out, 0, cap };
	uint64_t counts[REPAIR_COUNT];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		feed_many(&g, cases[i].text, cases[i].times, counts);
		UNIT_ROW(counts[REPAIRED_END] == cases[i].end, "%s", cases[i].rule);
		UNIT_ROW(g.len == cases[i].times * (cases[i].end ? 7 : 3) + 4 * cases[i].end, "%s: %zu bytes", cases[i].rule, g.len);
	}
	for (size_t len = 254; len < 258; len++) {
		memset(name + 1, 'n', len);
		strcpy(name + 1 + len, ">");
		feed_many(&g, name, 1, counts);
		UNIT_ROW(counts[REPAIRED_END] == (len <= 255), "a name of %zu bytes", len);
	}
	/* Searches for what is not open give up, too, so that they take linear time. */
	feed_many(&g, "<b><b><b><b></c></c></c></c>", 100000, counts);
	UNIT_ROW(counts[REPAIRED_END] == 0, "searching a deep stack without end");
	free(out);
}

UNIT_SUITE(repair_elements, { "end tags", end_tags }, { "cut documents", cut_documents }, { "trailing", trailing }, { "bounds", bounds })
