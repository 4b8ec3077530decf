/* Owns the cases of tags by themselves: attributes, values, what is no tag.
 * Must not know: which elements are open. Invariant: each row names its rule; rows are fed whole and split in two at every byte. */
#include "core/repair/repair_tag.h"
#include "tests/unit/repair/rows.h"

#include <stdlib.h>

#define SAME(rule, text) { rule, T(text), T(text), { 0 } }

static void well_formed(void)
{
	static const struct row rows[] = {
		SAME("[40] STag: white space", "<r \t\r\n><b\n/></r\n>"),
		SAME("[41] Attribute: around the equals sign", "<r b = 'c'\td\n=\n\"e\"/>"),
		SAME("[10] AttValue: what it may hold", "<r b='>\"/=' c=\"'>]]>\" d=''/>"),
		SAME("[5] Name", "<_a.-:1\xc2\xb7\xcc\x80 :b='1'></_a.-:1\xc2\xb7\xcc\x80>"),
		SAME("[4] NameStartChar beyond ASCII", "<\xc3\xa9><\xe4\xb8\xad \xf0\x90\x80\x80='1'/></\xc3\xa9>"),
		SAME("forty attributes", "<r a1='' a2='' a3='' a4='' a5='' a6='' a7='' a8='' a9='' b1='' b2='' b3='' b4='' b5='' b6='' b7='' b8='' b9='' c1='' c2=''"
		    " c3='' c4='' c5='' c6='' c7='' c8='' c9='' d1='' d2='' d3='' d4='' d5='' d6='' d7='' d8='' d9='' e1='' e2='' e3='' e4=''/>"),
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
}

static void attributes(void)
{
	static const struct row rows[] = {
		{ "HTML 13.1.2.3: without quotes", T("<r><img src=/b.png width=100 alt='c'/></r>"), T("<r><img src=\"/b.png\" width=\"100\" alt='c'/></r>"), COUNT(TAGS, 2) },
		{ "a slash before the end is the value's", T("<r><b c=http://d/></b></r>"), T("<r><b c=\"http://d/\"></b></r>"), COUNT(TAGS, 1) },
		{ "an ampersand within", T("<r><b c=/?d&e='f'/></r>"), T("<r>&lt;b c=/?d&amp;e='f'/></r>"), COUNT(AMPERSANDS, 2) },
		{ "and one that can be", T("<r><b c=/?d&e /></r>"), T("<r><b c=\"/?d&amp;e\" /></r>"), COUNT(TAGS, 1), COUNT(AMPERSANDS, 1) },
		{ "without a value", T("<r><td nowrap>b</td><c d='e' f/></r>"), T("<r><td nowrap=\"\">b</td><c d='e' f=\"\"/></r>"), COUNT(TAGS, 2) },
		{ "empty", T("<r><b c= ></b></r>"), T("<r><b c=\"\"></b></r>"), COUNT(TAGS, 1) },
		{ "twice: the first counts", T("<r b='1' c='2' b='3' d='4'/>"), T("<r b='1' c='2' d='4'/>"), COUNT(TAGS, 1) },
		{ "no white space between", T("<r b='1'c=\"2\"/>"), T("<r b='1' c=\"2\"/>"), COUNT(TAGS, 1) },
		{ "a quote too many", T("<r b='1'' c='2'/>"), T("<r b='1' c='2'/>"), COUNT(TAGS, 1) },
		{ "commas", T("<r b='1', c='2'/>"), T("<r b='1' c='2'/>"), COUNT(TAGS, 1) },
		{ "less-than in a value", T("<r b='<c>&d' e=\"<\"/>"), T("<r b='&lt;c>&amp;d' e=\"&lt;\"/>"), COUNT(AMPERSANDS, 3) },
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
}

/* Nothing is taken for a tag that may be text: it would not be seen any more. */
static void no_tags(void)
{
	static const struct row rows[] = {
		{ "an address", T("<r>Me <me@example.org></r>"), T("<r>Me &lt;me@example.org></r>"), COUNT(AMPERSANDS, 1) },
		{ "a URL", T("<r><http://example.org/></r>"), T("<r>&lt;http://example.org/></r>"), COUNT(AMPERSANDS, 1) },
		{ "two words", T("<r><John Smith></r>"), T("<r>&lt;John Smith></r>"), COUNT(AMPERSANDS, 1) },
		{ "arithmetic", T("<r>x <y && y> z</r>"), T("<r>x &lt;y &amp;&amp; y> z</r>"), COUNT(AMPERSANDS, 3) },
		{ "another tag before its end", T("<r>b <c d <e>f</e></r>"), T("<r>b &lt;c d <e>f</e></r>"), COUNT(AMPERSANDS, 1) },
		{ "a value whose quote ends in the text", T("<r><b c=\"d>e</b> and \"f\"</r>"), T("<r>&lt;b c=\"d>e and \"f\"</r>"), COUNT(AMPERSANDS, 1), COUNT(TAGS, 1) },
		{ "a character that no name has", T("<r><\xc2\xab" "b\xc2\xbb></r>"), T("<r>&lt;\xc2\xab" "b\xc2\xbb></r>"), COUNT(AMPERSANDS, 1) },
	};

	RUN(rows, REPAIR_ALL, 0);
	RUN(rows, NO_PROLOG, 0);
}

static void alone(void)
{
	static const char in[] = "<r><b c=1 c='&d' e><f g='1' g='2'/></b><h i='<'></r>";
	static const struct row tags = { "tags alone", T(in), T("<r><b c=\"1\" e=\"\"><f g='1'/></b><h i='<'></h></r>"), COUNT(TAGS, 5) };
	static const struct row ampersands = { "ampersands alone", T("<r><b c=1 c='&d' e><f g='1' g='2'/></b><h i='<'/></r>"),
		T("<r><b c=1 c='&amp;d' e><f g='1' g='2'/></b><h i='&lt;'/></r>"), COUNT(AMPERSANDS, 2) };

	run_rows(&tags, 1, REPAIR_TAGS, 0);
	run_rows(&ampersands, 1, REPAIR_AMPERSANDS, 0);
}

/* A tag of TAG_MAX bytes is read as a whole. A longer one goes by, and only its values are repaired. */
static void long_tags(void)
{
	static const struct { const char *rule, *start, *end, *out_end; size_t fill; } cases[] = {
		{ "the longest that is read", "<r b='1' b='2' c='", "'>&</r>", NULL, TAG_MAX - 20 },
		{ "longer by one", "<r b='1' b='2' c='", "'>&</r>", "'>&amp;</r>", TAG_MAX - 19 },
		{ "its values", "<r b='", "&d&amp;<'></r>", "&amp;d&amp;&lt;'></r>", TAG_MAX },
		{ "it is empty", "<r><b c='", "'/></r>", "'/></r>", TAG_MAX },
		{ "the root is", "<d c='", "'/> x", "'/> ", TAG_MAX },
		{ "cut in a value", "<r><b c='1' d=\"", "", "\"></b></r>", TAG_MAX },
		{ "less-than in a value of it: no tag", "<r><b c=\"<", "d\"/></r>", NULL, TAG_MAX },
	};
	static const size_t steps[] = { 1, 7, TAG_MAX, 100000 };
	static char in[TAG_MAX + 256], out[2 * TAG_MAX], first[2 * TAG_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t start = strlen(cases[i].start), end = strlen(cases[i].end), len = start + cases[i].fill + end, first_len = 0;
		uint64_t counts[REPAIR_COUNT];

		memcpy(in, cases[i].start, start);
		memset(in + start, 'x', cases[i].fill);
		memcpy(in + start + cases[i].fill, cases[i].end, end);
		for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++) {
			struct gathered g = { out, 0, sizeof(out) };

			repair_all(&g, REPAIR_ALL, 0, (struct text){ in, len }, 0, steps[j], counts);
			if (j == 0) {
				memcpy(first, out, g.len);
				first_len = g.len;
			}
			UNIT_ROW(g.len == first_len && memcmp(first, out, g.len) == 0, "%s, in steps of %zu", cases[i].rule, steps[j]);
			if (!cases[i].out_end)
				UNIT_ROW(counts[REPAIRED_TAGS] + counts[REPAIRED_AMPERSANDS] > 0, "%s: it is repaired", cases[i].rule);
			else
				UNIT_ROW(g.len == start + cases[i].fill + strlen(cases[i].out_end) && memcmp(in, out, start + cases[i].fill) == 0 &&
				    memcmp(out + start + cases[i].fill, cases[i].out_end, strlen(cases[i].out_end)) == 0, "%s: %.40s", cases[i].rule,
				    out + start + cases[i].fill);
		}
	}
}

UNIT_SUITE(repair_tag, { "well-formed", well_formed }, { "attributes", attributes }, { "no tags", no_tags }, { "alone", alone }, { "long tags", long_tags })
