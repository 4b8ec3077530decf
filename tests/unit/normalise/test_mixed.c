/* Owns the cases of core/normalise/mixed.c: UTF-8 with nodes in another charset.
 * Must not know: how it is decided that a body is UTF-8. Invariant: every row is fed whole, byte by byte, and split in two at every
 * byte; what is written and counted must be the same each time. */
#include "core/normalise/mixed.h"
#include "core/text/utf8.h"
#include "tests/unit/gather.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define PRIVET_1251 "\xcf\xf0\xe8\xe2\xe5\xf2"
#define NIHON_SJIS "\x93\xfa\x96\x7b"

struct counts {
	uint64_t malformed, others;
};

static struct counts feed(struct gathered *g, enum charset other, struct text in, size_t cut, size_t step)
{
	static const struct hints none;
	struct mixed *m = mixed_new((struct sink){ gather, g }, NULL);
	struct counts c;
	int rc = 0;

	g->len = 0;
	rc |= mixed_set_other(m, other, &none, 0);
	rc |= mixed_feed(m, (const uint8_t *)in.bytes, cut);
	for (size_t at = cut; at < in.len; at += step)
		rc |= mixed_feed(m, (const uint8_t *)in.bytes + at, in.len - at < step ? in.len - at : step);
	rc |= mixed_finish(m);
	CU_ASSERT_EQUAL(rc, 0);
	c = (struct counts){ mixed_malformed(m), mixed_others(m) };
	mixed_free(&m);
	CU_ASSERT_PTR_NULL(m);
	return c;
}

static const struct {
	const char *rule;
	enum charset other;
	struct text in, out;
	struct counts counts;
} rows[] = {
	{ "all UTF-8", CS_NONE, T("<a>два</a>"), T("<a>два</a>"), { 0, 0 } },
	{ "nothing", CS_NONE, T(""), T(""), { 0, 0 } },
	{ "text without markup", CS_WINDOWS_1251, T("b " PRIVET_1251 " c"), T("b Привет c"), { 0, 1 } },
	{ "one node and none beside it", CS_WINDOWS_1251, T("<a>два</a><b>" PRIVET_1251 "</b><c>да</c>"), T("<a>два</a><b>Привет</b><c>да</c>"), { 0, 1 } },
	{ "an attribute", CS_WINDOWS_1251, T("<a b='" PRIVET_1251 "' c='d'>да</a>"), T("<a b='Привет' c='d'>да</a>"), { 0, 1 } },
	{ "a character cut at the node's end", CS_WINDOWS_1251, T("<a>дв\xd0</a>"), T("<a>дв\xef\xbf\xbd</a>"), { 1, 0 } },
	{ "a pair of surrogates", CS_WINDOWS_1251, T("<a>\xed\xa0\xbd\xed\xb8\x80 \xef\xf0\xe8</a>"), T("<a>😀 при</a>"), { 3, 0 } },
	{ "a stray byte", CS_WINDOWS_1251, T("<a>траву\x97</a>"), T("<a>траву—</a>"), { 1, 0 } },
	{ "quotes of windows-1252", CS_NONE, T("<a>да \x93да\x94</a>"), T("<a>да “да”</a>"), { 2, 0 } },
	{ "a stray byte where pairs are known", CS_SHIFT_JIS, T("<a>да\xb1</a>"), T("<a>да\xef\xbf\xbd</a>"), { 1, 0 } },
	{ "two bytes for a character", CS_SHIFT_JIS, T("<a>" NIHON_SJIS "</a><b>日本</b><c>" NIHON_SJIS "</c>"), T("<a>日本</a><b>日本</b><c>日本</c>"), { 0, 2 } },
	{ "one of them missing: the next node begins anew", CS_SHIFT_JIS, T("<a>" NIHON_SJIS "\x93</a><b>" NIHON_SJIS "</b>"), T("<a>日本\xef\xbf\xbd</a><b>日本</b>"), { 1, 2 } },
	{ "the body ends in it", CS_SHIFT_JIS, T("<a>" NIHON_SJIS "\x93"), T("<a>日本\xef\xbf\xbd"), { 1, 1 } },
	{ "a byte that the other charset does not have", CS_WINDOWS_1253, T("<a>\xc5\xeb\xeb\xdc\xe4\xe1\xd2</a><b>\xd2\xc5\xeb\xeb</b>"), T("<a>Ελλάδα\xef\xbf\xbd</a><b>\xef\xbf\xbdΕλλ</b>"), { 2, 2 } },
	{ "and in a character of UTF-8", CS_SHIFT_JIS, T("<a>два\xd0"), T("<a>два\xef\xbf\xbd"), { 1, 0 } },
	{ "the first node says which", CS_NONE, T("<a>два</a><b>\xcf\xf0\xe8\xe2\xe5\xf2 \xe8\xe7 \xcc\xee\xf1\xea\xe2\xfb</b><c>\xe4\xe0</c>"), T("<a>два</a><b>Привет из Москвы</b><c>да</c>"), { 0, 2 } },
	{ "a short one leaves it open", CS_NONE, T("<a>\x93q\x94</a><b>\xcf\xf0\xe8\xe2\xe5\xf2 \xe8\xe7 \xcc\xee\xf1\xea\xe2\xfb</b><c>\xe4\xe0</c>"), T("<a>“q”</a><b>Привет из Москвы</b><c>да</c>"), { 0, 3 } },
	{ "two charsets", CS_WINDOWS_1251, T("<a>два</a><b>\xcf\xf0\xe8\xe2\xe5\xf2 \xe8\xe7 \xcc\xee\xf1\xea\xe2\xfb</b><c>Les \xe9l\xe8ves fran\xe7""ais \xe9taient d\xe9j\xe0 pr\xeats</c><d>\xcc\xee\xf1\xea\xe2\xe0</d>"),
		T("<a>два</a><b>Привет из Москвы</b><c>Les élèves français étaient déjà prêts</c><d>Москва</d>"), { 0, 3 } },
	{ "it says nothing", CS_NONE, T("<a>\x93q\x94</a>"), T("<a>“q”</a>"), { 0, 1 } },
};

static void nodes(void)
{
	static char buf[8192];
	struct gathered g = { buf, 0, sizeof(buf) };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t cut = 0; cut <= rows[i].in.len + 1; cut++) {
			bool last = cut > rows[i].in.len;
			struct counts c = feed(&g, rows[i].other, rows[i].in, last ? 0 : cut, last ? 1 : rows[i].in.len + 1);

			if (!UNIT_ROW(g.len == rows[i].out.len && memcmp(g.bytes, rows[i].out.bytes, g.len) == 0 && c.malformed == rows[i].counts.malformed &&
			    c.others == rows[i].counts.others, "%s, cut at %zu: %.*s, %u, %u", rows[i].rule, cut, (int)g.len, g.bytes, (unsigned)c.malformed, (unsigned)c.others))
				break;
		}
}

/* A node longer than NODE_MAX is read by what it begins with, however it is cut. `lead` bytes of ASCII move the cuts of characters. */
static void long_nodes(void)
{
	enum { LONG = NODE_MAX + 300, ROOM = 4 * LONG };
	static const struct {
		const char *rule;
		const char *unit, *odd;
		enum charset other;
		uint64_t others;
		const char *end;                /* of what comes out */
	} longs[] = {
		{ "UTF-8, then a stray byte", "д", "\xe9", CS_WINDOWS_1251, 0, "</a>да" },
		{ "three bytes a character", "日", "\xe9", CS_WINDOWS_1251, 0, "</a>да" },
		{ "another charset, then UTF-8", "\xcf\xf0\xe8\xe2\xe5\xf2 \xc2\xbb ", "д", CS_WINDOWS_1251, 1, " Рґ</a>да" },
		{ "stray bytes alone, then UTF-8", "\xe4", "д", CS_WINDOWS_1251, 0, "дд</a>да" },
		{ "pairs", NIHON_SJIS, "д", CS_SHIFT_JIS, 1, "</a>да" },
	};
	char *in = malloc(ROOM), *out = malloc(ROOM), *first = malloc(ROOM);

	for (size_t i = 0; i < 4 * sizeof(longs) / sizeof(longs[0]); i++) {
		const char *unit = longs[i / 4].unit;
		struct text text = { in, 0 };
		struct gathered whole = { first, 0, ROOM }, g = { out, 0, ROOM };
		struct counts a, b;

		in[text.len++] = '>';
		for (size_t k = 0; k < i % 4; k++)
			in[text.len++] = 'x';
		while (text.len < LONG) {
			memcpy(in + text.len, unit, strlen(unit));
			text.len += strlen(unit);
		}
		text.len += (size_t)sprintf(in + text.len, "%s</a>да", longs[i / 4].odd);
		a = feed(&whole, longs[i / 4].other, text, text.len, 1);
		CU_ASSERT_EQUAL(utf8_valid_prefix((uint8_t *)first, whole.len), whole.len);
		for (size_t step = 1; step < NODE_MAX; step = step * 3 + 1) {
			b = feed(&g, longs[i / 4].other, text, 0, step);
			UNIT_ROW(g.len == whole.len && memcmp(out, first, g.len) == 0 && a.others == b.others && a.malformed == b.malformed, "%s, %zu, steps of %zu", longs[i / 4].rule, i % 4, step);
		}
		UNIT_ROW(whole.len > strlen(longs[i / 4].end) && memcmp(first + whole.len - strlen(longs[i / 4].end), longs[i / 4].end, strlen(longs[i / 4].end)) == 0 &&
		    a.others == longs[i / 4].others, "%s, %zu", longs[i / 4].rule, i % 4);
	}
	free(in);
	free(out);
	free(first);
}

UNIT_SUITE(mixed, { "nodes", nodes }, { "long nodes", long_nodes })
