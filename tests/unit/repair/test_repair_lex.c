/* Owns the cases of where in a document a byte stands: modes, what a call cuts, how long it takes.
 * Must not know: single repairs. Invariant: each row names its rule; rows are fed whole and split in two at every byte. */
#include "core/repair/repair_lex.h"
#include "tests/unit/repair/rows.h"

#include <stdlib.h>

#define SAME(rule, text) { rule, T(text), T(text), { 0 } }

/* A document with one of everything that XML has, in which nothing may change. */
static void everything(void)
{
	static const struct row rows[] = {
		SAME("well-formed", "<?xml version='1.0'?>\n<!-- a -->\n<?b c?>\n<!DOCTYPE d [\n<!ELEMENT d ANY>\n<!ATTLIST d e CDATA 'f &g; >'>\n"
		    "<!ENTITY g \"<h>&#65;</h>\">\n<!NOTATION i PUBLIC 'j'>\n<!-- ' -->\n<?k \"?>\n]>\n<d e='&g;&amp;&#65;>' l = \"'\"\n>&g;&lt;]]&gt;&#x42;"
		    "<![CDATA[<&]]]]><m:n xmlns:m='o'/><!-- < & -p- --><?q < & ?><\xc3\xa9>\xef\xbc\x8c</\xc3\xa9>] ]] </d\n>\n<!-- r -->\n<?s?>\n"),
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
	for (unsigned bit = 0; bit < REPAIR_COUNT; bit++)
		RUN(rows, 1u << bit, 0);
}

static void bases(void)
{
	static const struct row rows[] = {
		{ "the root's", T("<?xml version='1.0'?><!--a--><rss b='c' ><d/></rss>"), T("<?xml version='1.0'?><!--a--><rss b='c' xml:base=\"http://e/?f&amp;g=&quot;\" ><d/></rss>"),
		    COUNT(BASE, 1) },
		{ "an empty one's", T("<rss/>"), T("<rss xml:base=\"http://e/?f&amp;g=&quot;\"/>"), COUNT(BASE, 1) },
		SAME("one that has it", "<rss xml:base = ''><d/></rss>"),
		SAME("without a root", "<!-- a -->"),
	};
	static const struct row unknown[] = { SAME("where the URL is not known", "<rss><d/></rss>") };

	RUN(unknown, REPAIR_ALL | REPAIR_BASE, 0);
	base = "http://e/?f&g=\"";
	RUN(unknown, REPAIR_ALL, 0);
	RUN(rows, REPAIR_ALL | REPAIR_BASE, 0);
	RUN(rows, REPAIR_BASE, 0);
	base = NULL;
}

/* Texts that would take long if anything was looked at again and again; in whole and in small pieces. */
static void linear(void)
{
	static const struct { const char *rule, *start, *text; } cases[] = {
		{ "ampersands", "<r>", "&" }, { "less-than", "<r>", "<" }, { "tags that are none", "<r>", "<b c " },
		{ "quotes that do not end", "<r>", "<b c='<d e=\"" }, { "a value full of ends", "<r><b c='", ">" },
		{ "names without end", "<r>&", "b" }, { "numbers without end", "<r>&#", "0" }, { "a tag without end", "<r><b", " c='d'" },
		{ "an end tag without end", "<r></b", " " }, { "hyphens", "<r><!--", "-" }, { "brackets", "<r>", "]" },
		{ "brackets in a section", "<r><![CDATA[", "]" }, { "elements", "<r>", "<b>" }, { "end tags", "<r>", "</b>" },
		{ "deep, and searched", "<r>", "<b></c>" }, { "declarations", "<!DOCTYPE r [", "<!ENTITY b 'c'>" },
		{ "names that are declared", "<!DOCTYPE r [<!ENTITY b ''>]><r>", "&b;" }, { "what follows the root", "<r/>", " <!--b-->" },
		{ "attributes of one name", "<r><b", " c=1" },
	};
	enum { LEN = 300000 };
	char *in = malloc(LEN), *out = malloc(8 * LEN);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const size_t steps[] = { LEN, 16384, 61, 1 };
		size_t n = strlen(cases[i].text), whole = 0, at = strlen(cases[i].start);
		uint64_t counts[REPAIR_COUNT];

		memcpy(in, cases[i].start, at);
		for (; at < LEN; at += n < LEN - at ? n : LEN - at)
			memcpy(in + at, cases[i].text, n < LEN - at ? n : LEN - at);
		for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++) {
			struct gathered g = { out, 0, 8 * LEN };

			repair_all(&g, REPAIR_ALL, 0, (struct text){ in, LEN }, 0, steps[j], counts);
			whole = j == 0 ? g.len : whole;
			UNIT_ROW(g.len == whole, "%s, in steps of %zu", cases[i].rule, steps[j]);
		}
	}
	free(in);
	free(out);
}

UNIT_SUITE(repair_lex, { "everything", everything }, { "bases", bases }, { "linear", linear })
