/* Owns running a table of repairs: each row is fed whole, split in two at every byte, and byte by byte.
 * Must not know: what is repaired. Invariant: a row fails where text, counts or the validity of the UTF-8 differ in any of these. */
#ifndef UTFEED_TESTS_UNIT_REPAIR_ROWS_H
#define UTFEED_TESTS_UNIT_REPAIR_ROWS_H

#include "core/repair/repair.h"
#include "core/text/utf8.h"
#include "tests/unit/gather.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define FFFD "\xef\xbf\xbd"
#define BOM "\xef\xbb\xbf"

struct row {
	const char *rule;
	struct text in, out;
	unsigned counted[REPAIR_COUNT + 1];    /* the last: URLs that were led through the gateway */
};

/* What a declaration must say, where the document is from, and what its URLs are led through. */
static const char *encoding = "UTF-8", *base, *gateway;
static uint64_t led;

/* Feeds in pieces of `cut` bytes first, then of `step`. */
static void repair_all(struct gathered *g, unsigned flags, int ebcdic, struct text in, size_t cut, size_t step, uint64_t counts[REPAIR_COUNT])
{
	struct repair *r = repair_new(flags, ebcdic, encoding, (struct sink){ gather, g }, NULL);
	int rc = 0;

	g->len = 0;
	repair_set_base(r, base);
	repair_set_gateway(r, gateway);
	rc |= repair_feed(r, (const uint8_t *)in.bytes, cut);
	for (size_t at = cut; at < in.len; at += step)
		rc |= repair_feed(r, (const uint8_t *)in.bytes + at, in.len - at < step ? in.len - at : step);
	rc |= repair_finish(r);
	CU_ASSERT_EQUAL(rc, 0);
	memcpy(counts, repair_counts(r), REPAIR_COUNT * sizeof(counts[0]));
	led = repair_led(r);
	repair_free(&r);
	CU_ASSERT_PTR_NULL(r);
}

static bool row_holds(const struct row *row, const struct gathered *g, const uint64_t counts[REPAIR_COUNT])
{
	bool same = g->len == row->out.len && memcmp(g->bytes, row->out.bytes, g->len) == 0 && led == row->counted[REPAIR_COUNT];

	for (size_t i = 0; i < REPAIR_COUNT; i++)
		same = same && counts[i] == row->counted[i];
	return same && utf8_valid_prefix((const uint8_t *)g->bytes, g->len) == g->len;
}

static void run_rows(const struct row *rows, size_t count, unsigned flags, int ebcdic)
{
	static char buf[8192];
	struct gathered g = { buf, 0, sizeof(buf) };
	uint64_t counts[REPAIR_COUNT];

	for (size_t i = 0; i < count; i++) {
		const struct row *row = &rows[i];

		for (size_t cut = 0; cut <= row->in.len; cut++) {
			repair_all(&g, flags, ebcdic, row->in, cut, row->in.len + 1, counts);
			if (!UNIT_ROW(row_holds(row, &g, counts), "%s, cut at %zu: %.*s", row->rule, cut, (int)g.len, g.bytes))
				break;
		}
		repair_all(&g, flags, ebcdic, row->in, 0, 1, counts);
		UNIT_ROW(row_holds(row, &g, counts), "%s, byte by byte: %.*s", row->rule, (int)g.len, g.bytes);
	}
}

#define RUN(rows, flags, ebcdic) run_rows(rows, sizeof(rows) / sizeof(rows[0]), flags, ebcdic)
/* Without the prolog's repairs no text is held for it: the lexer meets every cut. */
#define BODY_ONLY (REPAIR_CHARACTERS | REPAIR_REFERENCES | REPAIR_REPLACE_CONTROLS)
#define NO_PROLOG (REPAIR_ALL & ~(REPAIR_BOM | REPAIR_JUNK | REPAIR_DECLARATION))
#define COUNT(id, n) .counted[REPAIRED_##id] = (n)
#define COUNT_LED(n) .counted[REPAIR_COUNT] = (n)

#endif
