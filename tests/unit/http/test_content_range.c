/* Owns the cases of proxy/http/content_range.c. Invariant: each row names its rule (sections of RFC 9110 where no other is named). */
#include "proxy/http/content_range.h"
#include "tests/unit/heads.h"
#include "tests/unit/unit.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define MODIFIED "Sun, 06 Nov 1994 08:49:37 GMT"
#define OTHER "Sun, 06 Nov 1994 08:49:38 GMT"
#define LATER "Sun, 06 Nov 1994 09:00:00 GMT"
#define LM "Last-Modified: " MODIFIED "\n"
#define DATE "Date: " LATER "\n"
enum { NOW = 1795000000 };

static void fields(void)
{
	static const struct { const char *rule, *lines; bool want; struct content_range r; } cases[] = {
		{ "14.4: a range", "Content-Range: bytes 2-4/10\n", true, { 2, 4, 10 } },
		{ "14.4: one byte", "Content-Range: bytes 9-9/10\n", true, { 9, 9, 10 } },
		{ "14.4: the whole", "Content-Range: bytes 0-9/10\n", true, { 0, 9, 10 } },
		{ "14.1: case of the unit", "Content-Range: Bytes 2-4/10\n", true, { 2, 4, 10 } },
		{ "14.4: leading zeros are digits", "Content-Range: bytes 002-04/0010\n", true, { 2, 4, 10 } },
		{ "14.4: as long as numbers may be here", "Content-Range: bytes 0-999999999999999998/999999999999999999\n", true,
			{ 0, 999999999999999998, 999999999999999999 } },
		{ "none", "", false, { 0, 0, 0 } },
		{ "14.4: last before first", "Content-Range: bytes 4-2/10\n", false, { 0, 0, 0 } },
		{ "14.4: last at the total", "Content-Range: bytes 2-10/10\n", false, { 0, 0, 0 } },
		{ "14.4: total zero", "Content-Range: bytes 0-0/0\n", false, { 0, 0, 0 } },
		{ "14.4: total not known", "Content-Range: bytes 2-4/*\n", false, { 0, 0, 0 } },
		{ "14.4: of a 416", "Content-Range: bytes */10\n", false, { 0, 0, 0 } },
		{ "14.4: another unit", "Content-Range: lines 2-4/10\n", false, { 0, 0, 0 } },
		{ "14.4: a longer unit", "Content-Range: bytesx 2-4/10\n", false, { 0, 0, 0 } },
		{ "14.4: no unit", "Content-Range: 2-4/10\n", false, { 0, 0, 0 } },
		{ "14.4: unit as in Range", "Content-Range: bytes=2-4/10\n", false, { 0, 0, 0 } },
		{ "14.4: unit alone", "Content-Range: bytes \n", false, { 0, 0, 0 } },
		{ "14.4: two blanks", "Content-Range: bytes  2-4/10\n", false, { 0, 0, 0 } },
		{ "14.4: no total", "Content-Range: bytes 2-4\n", false, { 0, 0, 0 } },
		{ "14.4: empty total", "Content-Range: bytes 2-4/\n", false, { 0, 0, 0 } },
		{ "14.4: no first", "Content-Range: bytes -4/10\n", false, { 0, 0, 0 } },
		{ "14.4: no last", "Content-Range: bytes 2-/10\n", false, { 0, 0, 0 } },
		{ "14.4: blanks inside", "Content-Range: bytes 2 - 4/10\n", false, { 0, 0, 0 } },
		{ "14.4: something behind", "Content-Range: bytes 2-4/10;\n", false, { 0, 0, 0 } },
		{ "14.4: two ranges", "Content-Range: bytes 2-4/10, 6-7/10\n", false, { 0, 0, 0 } },
		{ "14.4: signs", "Content-Range: bytes +2-4/10\n", false, { 0, 0, 0 } },
		{ "14.4: hexadecimal", "Content-Range: bytes 0x2-4/10\n", false, { 0, 0, 0 } },
		{ "14.4: over-long total", "Content-Range: bytes 2-4/1000000000000000000\n", false, { 0, 0, 0 } },
		{ "14.4: over-long first, 2 + 2^64", "Content-Range: bytes 18446744073709551618-4/10\n", false, { 0, 0, 0 } },
		{ "14.4: over-long last", "Content-Range: bytes 2-18446744073709551620/10\n", false, { 0, 0, 0 } },
		{ "5.3: two fields", "Content-Range: bytes 2-4/10\nContent-Range: bytes 2-4/10\n", false, { 0, 0, 0 } },
		{ "15.3.7.2: beside several parts", "Content-Type: Multipart/byteranges; boundary=x\nContent-Range: bytes 2-4/10\n", false, { 0, 0, 0 } },
	};
	struct content_range got;
	struct http_msg m;

	for (size_t i = 0; i < COUNT(cases); i++) {
		head_read(&m, cases[i].lines, 206);
		UNIT_ROW(content_range_read(&got, &m) == cases[i].want, "%s", cases[i].rule);
		if (cases[i].want)
			UNIT_ROW(got.first == cases[i].r.first && got.last == cases[i].r.last && got.total == cases[i].r.total &&
			    content_range_length(&got) == got.last - got.first + 1, "%s", cases[i].rule);
		head_free(&m);
	}
}

static void validators(void)
{
	static const struct { const char *rule, *a, *b; bool want; } cases[] = {
		{ "8.8.3: strong, the same", "ETag: \"a\"\n", "ETag: \"a\"\n", true },
		{ "8.8.3: strong, another", "ETag: \"a\"\n", "ETag: \"b\"\n", false },
		{ "8.8.1: weak, the same", "ETag: W/\"a\"\n", "ETag: W/\"a\"\n", false },
		{ "8.8.1: weak and strong", "ETag: W/\"a\"\n", "ETag: \"a\"\n", false },
		{ "8.8.3: no tag", "ETag: a\n", "ETag: a\n", false },
		{ "RFC 9111 3.4: only one has a tag", "ETag: \"a\"\n" LM DATE, LM DATE, false },
		{ "8.8.1: a weak tag beside a strong date", "ETag: W/\"a\"\n" LM DATE, "ETag: W/\"a\"\n" LM DATE, false },
		{ "8.8.3: the tag decides, not the date", "ETag: \"a\"\n" LM DATE, "ETag: \"b\"\n" LM DATE, false },
		{ "8.8.3: the same tag, another date", "ETag: \"a\"\n" LM DATE, "ETag: \"a\"\nLast-Modified: " OTHER "\n" DATE, true },
		{ "5.3: two tags", "ETag: \"a\"\nETag: \"a\"\n", "ETag: \"a\"\n", false },
		{ "8.8.2.2: a date, strong on both sides", LM DATE, LM DATE, true },
		{ "8.8.2.2: another date", LM DATE, "Last-Modified: " OTHER "\n" DATE, false },
		{ "8.8.2.2: changed in the second it was sent", LM "Date: " MODIFIED "\n", LM DATE, false },
		{ "8.8.2.2: a second later", LM "Date: " OTHER "\n", LM DATE, true },
		{ "8.8.2.2: nobody says when it was sent", LM, LM, false },
		{ "8.8.2: no date", "Last-Modified: x\n" DATE, "Last-Modified: x\n" DATE, false },
		{ "5.3: two dates", LM LM DATE, LM DATE, false },
		{ "RFC 9111 3.4: no validator at all", "", "", false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct http_msg a, b;

		head_read(&a, cases[i].a, 206);
		head_read(&b, cases[i].b, 206);
		UNIT_ROW(content_range_same(&a, &b, NOW) == cases[i].want && content_range_same(&b, &a, NOW) == cases[i].want, "%s", cases[i].rule);
		head_free(&a);
		head_free(&b);
	}
}

static void together(void)
{
	static const struct { const char *rule; struct content_range a, b; bool want; uint64_t first, last; } cases[] = {   /* RFC 9111 section 3.4 */
		{ "adjoining", { 0, 4, 10 }, { 5, 9, 10 }, true, 0, 9 },
		{ "overlapping", { 0, 4, 10 }, { 3, 7, 10 }, true, 0, 7 },
		{ "overlapping in one byte", { 0, 4, 10 }, { 4, 7, 10 }, true, 0, 7 },
		{ "one inside the other", { 1, 8, 10 }, { 3, 4, 10 }, true, 1, 8 },
		{ "the same", { 3, 4, 10 }, { 3, 4, 10 }, true, 3, 4 },
		{ "a byte between them", { 0, 3, 10 }, { 5, 9, 10 }, false, 0, 0 },
		{ "far apart", { 0, 0, 10 }, { 9, 9, 10 }, false, 0, 0 },
		{ "of different totals", { 0, 4, 10 }, { 3, 7, 11 }, false, 0, 0 },
		{ "adjoining, of different totals", { 0, 4, 10 }, { 5, 10, 11 }, false, 0, 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct content_range got = { 0, 0, 0 }, turned = { 0, 0, 0 };

		UNIT_ROW(content_range_join(&got, &cases[i].a, &cases[i].b) == cases[i].want, "%s", cases[i].rule);
		UNIT_ROW(content_range_join(&turned, &cases[i].b, &cases[i].a) == cases[i].want, "%s", cases[i].rule);
		UNIT_ROW(got.first == cases[i].first && got.last == cases[i].last && got.total == (cases[i].want ? 10 : 0) &&
		    turned.first == got.first && turned.last == got.last && turned.total == got.total, "%s", cases[i].rule);
	}
}

UNIT_SUITE(content_range, { "fields", fields }, { "validators", validators }, { "together", together })
