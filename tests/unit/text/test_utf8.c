/* Well-formed and ill-formed UTF-8: Unicode chapter 3, table 3-7, D92 and the maximal subparts of table 3-8. */
#include "core/text/ascii_block.h"
#include "core/text/cpu.h"
#include "core/text/utf8.h"
#include "core/text/utf8_blocks.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

/* valid: bytes of the well-formed prefix; bad: length of the maximal subpart after it; open: more bytes could mend it. */
static const struct {
	const char *rule, *bytes;
	size_t len, valid, bad;
	bool open;
} cases[] = {
	{ "empty", "", 0, 0, 0, false },
	{ "ASCII with NUL and DEL", "a\0\x7F", 3, 3, 0, false },
	{ "C2 80 first of two", "\xC2\x80", 2, 2, 0, false },
	{ "DF BF last of two", "\xDF\xBF", 2, 2, 0, false },
	{ "E0 A0 80 first of three", "\xE0\xA0\x80", 3, 3, 0, false },
	{ "ED 9F BF before surrogates", "\xED\x9F\xBF", 3, 3, 0, false },
	{ "EE 80 80 after surrogates", "\xEE\x80\x80", 3, 3, 0, false },
	{ "EF BF BF noncharacter", "\xEF\xBF\xBF", 3, 3, 0, false },
	{ "F0 90 80 80 first of four", "\xF0\x90\x80\x80", 4, 4, 0, false },
	{ "F4 8F BF BF last", "\xF4\x8F\xBF\xBF", 4, 4, 0, false },
	{ "lone trail", "a\x80z", 3, 1, 1, false },
	{ "lone trail BF", "\xBF", 1, 0, 1, false },
	{ "C0 never", "\xC0\x80", 2, 0, 1, false },
	{ "C1 never", "\xC1\xBF", 2, 0, 1, false },
	{ "E0 9F overlong", "\xE0\x9F\xBF", 3, 0, 1, false },
	{ "ED A0 surrogate", "\xED\xA0\x80", 3, 0, 1, false },
	{ "ED BF surrogate", "\xED\xBF\xBF", 3, 0, 1, false },
	{ "F0 8F overlong", "\xF0\x8F\xBF\xBF", 4, 0, 1, false },
	{ "F4 90 past the end", "\xF4\x90\x80\x80", 4, 0, 1, false },
	{ "F5 never", "\xF5\x80\x80\x80", 4, 0, 1, false },
	{ "FE never", "\xFE", 1, 0, 1, false },
	{ "FF never", "\xFF\xFF", 2, 0, 1, false },
	{ "two bytes, cut by ASCII", "\xC3\x28", 2, 0, 1, false },
	{ "three bytes, one, ASCII", "\xE2\x28\xA1", 3, 0, 1, false },
	{ "three bytes, two, ASCII", "\xE2\x82\x28", 3, 0, 2, false },
	{ "four bytes, two, ASCII", "\xF0\x90\x28\xBC", 4, 0, 2, false },
	{ "four bytes, three, ASCII", "\xF0\x90\x8C\x28", 4, 0, 3, false },
	{ "four bytes, three, lead", "\xF0\x90\x8C\xC3\xA9", 5, 0, 3, false },
	{ "two bytes, open", "\xC3", 1, 0, 1, true },
	{ "three bytes, one, open", "\xE2", 1, 0, 1, true },
	{ "three bytes, two, open", "ab\xE2\x82", 4, 2, 2, true },
	{ "four bytes, three, open", "\xF0\x90\x8C", 3, 0, 3, true },
	{ "E0 with a second byte that cannot be", "\xE0\x80", 2, 0, 1, false },
	{ "F4 with a second byte that cannot be", "\xF4\x90", 2, 0, 1, false },
	{ "past a block of 16", "0123456789abcdef\xC3\xA9" "0123456789abcdef\x80", 35, 34, 1, false },
};

static void table_3_7(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		/* Memory of exactly this size: a sanitizer sees a read past the end */
		uint8_t *bytes = malloc(cases[i].len ? cases[i].len : 1);
		size_t valid;
		bool open = false;

		memcpy(bytes, cases[i].bytes, cases[i].len);
		valid = utf8_valid_prefix(bytes, cases[i].len);
		UNIT_ROW(valid == cases[i].valid, "%s: %zu", cases[i].rule, valid);
		if (cases[i].bad) {
			size_t bad = utf8_bad_length(bytes + valid, cases[i].len - valid, &open);

			UNIT_ROW(bad == cases[i].bad, "%s: %zu", cases[i].rule, bad);
		}
		UNIT_ROW(open == cases[i].open, "%s", cases[i].rule);
		free(bytes);
	}
}

/* The rows behind text of every width that ends at every place of a step, and text behind them; each way to validate blocks. */
static void table_3_7_in_blocks(void)
{
	static const char *const letters[] = { "a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80" };
	enum { BEFORE = 144, ROOM = 320 };

	for (enum cpu_level level = CPU_PLAIN; level < CPU_LEVELS && cpu_limit(level) == level; level++)
		for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
			for (size_t at = 0; at < 4 * BEFORE; at++) {
				uint8_t bytes[ROOM];
				size_t width = 1 + at % 4, len = at / 4 % width, want, valid, blocks;

				memset(bytes, 'x', sizeof bytes);
				for (; len < at / 4; len += width)
					memcpy(bytes + len, letters[width - 1], width);
				memcpy(bytes + len, cases[i].bytes, cases[i].len);
				/* What is open is ill-formed where ASCII follows */
				want = cases[i].bad ? len + cases[i].valid : sizeof bytes;
				valid = utf8_valid_prefix(bytes, sizeof bytes);
				UNIT_ROW(valid == want, "level %d: %s at %zu behind width %zu: %zu", level, cases[i].rule, at / 4, width, valid);
				blocks = utf8_blocks(bytes, sizeof bytes);
				UNIT_ROW(cases[i].bad ? blocks <= len + cases[i].len : blocks == sizeof bytes, "level %d: %s at %zu: %zu", level,
				    cases[i].rule, at / 4, blocks);
			}
	cpu_limit(CPU_LEVELS);
}

/* Every pair of bytes, and every third byte behind the leads that care, over every border: all ways agree. */
static void blocks_agree(void)
{
	enum { ROOM = 128 };

	for (enum cpu_level level = CPU_PLAIN + 1; level < CPU_LEVELS && cpu_limit(level) == level; level++)
		for (uint32_t word = 0; word < 1u << 24; word += word < 0xC00000 ? 0x101 : 0x0B)
			for (size_t border = 16; border < ROOM; border *= 2) {
				uint8_t bytes[ROOM];

				memset(bytes, 'x', sizeof bytes);
				bytes[border - 3] = (uint8_t)(word >> 16);
				bytes[border - 2] = (uint8_t)(word >> 8);
				bytes[border - 1] = (uint8_t)word;
				bytes[border] = 0x80;
				if ((utf8_blocks(bytes, ROOM) == ROOM) != (utf8_blocks_portable(bytes, ROOM) == ROOM))
					UNIT_ROW(false, "level %d: %06X 80 at %zu", level, word, border);
			}
	cpu_limit(CPU_LEVELS);
}

/* Sequence by sequence, each too short for a block. */
static size_t valid_by_definition(const uint8_t *p, size_t len)
{
	size_t i = 0, n;

	do {
		for (n = 1; n <= 4 && n <= len - i && utf8_valid_prefix(p + i, n) != n;)
			n++;
		if (n > 4 || n > len - i)
			return i;
		i += n;
	} while (i < len);
	return i;
}

/* Mixtures of widths with a fault here and there, of every length, at every place in memory, which ends where they end. */
static void every_length_and_place(void)
{
	static const char *const pieces[] = { "text", "\xD0\x96", "\xE6\x97\xA5", "\xF0\x9F\x98\x80", "a", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEF\xBF\xBF",
	    /* Ill-formed */ "\xC3", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "\xE0\x9F\xBF", "\xFF" };
	enum { LEN = 400, PLACES = 64 };
	uint8_t text[LEN + 8];

	for (unsigned seed = 0; seed < 60; seed++) {
		uint32_t random = seed * 2654435761u + 1;
		unsigned kind = 0;

		for (size_t len = 0; len < LEN; len += strlen(pieces[kind])) {
			random = random * 1664525u + 1013904223u;
			if ((random >> 24) % (seed % 12 + 1) == 0)
				kind = (random >> 8) % 8;
			if ((random >> 12) % 128 == 0 && seed % 3 == 0)
				kind = 8 + (random >> 8) % 6;
			memcpy(text + len, pieces[kind], strlen(pieces[kind]) + 1);
			if (kind >= 8)
				kind = 0;
		}
		for (size_t len = 0; len <= LEN; len++) {
			size_t place = (len * 7 + seed) % PLACES, want = valid_by_definition(text, len);
			uint8_t *room = malloc(place + len + 1), *bytes = room + 1 + place;

			memcpy(bytes, text, len);
			for (enum cpu_level level = CPU_PLAIN; level < CPU_LEVELS && cpu_limit(level) == level; level++)
				if (utf8_valid_prefix(bytes, len) != want)
					UNIT_ROW(false, "level %d, text %u, %zu bytes at %zu: %zu, wanted %zu", level, seed, len, place,
					    utf8_valid_prefix(bytes, len), want);
			free(room);
		}
	}
	cpu_limit(CPU_LEVELS);
}

/* Every scalar value there and back, every other value ill-formed. */
static void every_scalar_value(void)
{
	for (uint32_t cp = 0; cp < 0x110000; cp++) {
		uint8_t out[4];
		size_t len;

		if (cp >= 0xD800 && cp <= 0xDFFF)
			continue;
		len = utf8_encode(cp, out);
		if (utf8_valid_prefix(out, len) != len || (len > 1 && utf8_valid_prefix(out, len - 1) != 0) ||
		    len != 1u + (cp > 0x7F) + (cp > 0x7FF) + (cp > 0xFFFF))
			UNIT_ROW(false, "U+%04X", cp);
	}
}

static void ascii_blocks(void)
{
	uint8_t room[2 * ASCII_BLOCK];

	/* The last of them is behind the block */
	for (size_t place = 0; place < ASCII_BLOCK; place++)
		for (size_t at = 0; at <= ASCII_BLOCK; at++)
			for (unsigned byte = 0; byte < 256; byte++) {
				bool want = byte < 0x80 || at == ASCII_BLOCK;

				memset(room, 0x7F, sizeof room);
				room[place + at] = (uint8_t)byte;
				UNIT_ROW(ascii_block(room + place) == want, "%02X as byte %zu at %zu", byte, at, place);
				UNIT_ROW(ascii_block_portable(room + place) == want, "%02X as byte %zu at %zu", byte, at, place);
			}
}

static void ascii_runs(void)
{
	uint8_t in[80], out[80];

	for (size_t len = 0; len <= sizeof in; len++)
		for (size_t stop = 0; stop <= len; stop++) {
			memset(in, 'x', sizeof in);
			memset(out, 0, sizeof out);
			if (stop < len)
				in[stop] = 0x80;
			UNIT_ROW(utf8_ascii_prefix(in, len) == stop, "%zu of %zu", stop, len);
			UNIT_ROW(utf8_ascii_copy(out, in, len) == stop, "%zu of %zu", stop, len);
			UNIT_ROW(memcmp(out, in, stop) == 0 && (stop == sizeof out || out[stop] == 0), "%zu of %zu", stop, len);
		}
}

static const struct {
	const char *rule, *bytes;
	bool complete, ascii, valid, proven;
	size_t multibyte, stray;
} looks[] = {
	{ "empty", "", true, true, true, false, 0, 0 },
	{ "ASCII", "plain", true, true, true, false, 0, 0 },
	{ "two characters", "\xC3\xA9 \xE2\x82\xAC", true, false, true, true, 2, 0 },
	{ "cut, more to come", "a\xE2\x82", false, true, true, false, 0, 0 },
	{ "cut behind a character", "\xC3\xA9\xE2\x82", false, false, true, true, 1, 0 },
	{ "cut at the end of the body", "a\xE2\x82", true, false, false, false, 0, 1 },
	{ "a byte that never can be, at the end of the window", "a\xFF", false, false, false, false, 0, 1 },
	{ "a lone trail at the end of the window", "a\x80", false, false, false, false, 0, 1 },
	{ "windows-1252 in UTF-8", "\xC3\xA9 caf\xE9 \x93x\x94", true, false, false, false, 1, 3 },
	{ "subparts counted one by one", "\xF0\x90\x8C\xE2\x82\xC3", true, false, false, false, 0, 3 },
	{ "a pair of surrogates is a character", "\xED\xA0\xBD\xED\xB8\x80", true, false, false, false, 1, 0 },
};

static void evidence(void)
{
	for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
		const uint8_t *bytes = (const uint8_t *)looks[i].bytes;
		struct utf8_evidence seen = utf8_look(bytes, strlen(looks[i].bytes), looks[i].complete);
		struct utf8_count count = utf8_count(bytes, strlen(looks[i].bytes), looks[i].complete);

		UNIT_ROW(seen.ascii == looks[i].ascii, "%s", looks[i].rule);
		UNIT_ROW(seen.valid == looks[i].valid, "%s", looks[i].rule);
		UNIT_ROW(seen.proven == looks[i].proven, "%s", looks[i].rule);
		UNIT_ROW(count.multibyte == looks[i].multibyte, "%s: %zu", looks[i].rule, count.multibyte);
		UNIT_ROW(count.stray == looks[i].stray, "%s: %zu", looks[i].rule, count.stray);
	}
}

/* Over random mixtures of pieces the look and the count must say the same. */
static void look_and_count_agree(void)
{
	static const char *const pieces[] = { "a", " text ", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xE9", "\x93", "\xC3", "\xE2\x82" };
	char text[400];
	uint32_t random = 2004;

	for (unsigned round = 0; round < 20000; round++) {
		unsigned odd = round % 97;      /* how often, of a hundred, a piece is no UTF-8 */
		struct utf8_evidence seen;
		struct utf8_count count;
		size_t len = 0, want = 1 + round % 390;

		while (len < want) {
			unsigned pick = (random = random * 1664525 + 1013904223) >> 8;
			const char *piece = pick / 16 % 100 < odd ? pieces[5 + pick % 4] : pieces[pick % 5];

			strcpy(text + len, piece);
			len += strlen(piece);
		}
		seen = utf8_look((const uint8_t *)text, len, round % 2);
		count = utf8_count((const uint8_t *)text, len, round % 2);
		UNIT_ROW(seen.valid == !count.stray, "round %u", round);
		UNIT_ROW(seen.proven == (seen.valid && count.multibyte > 0), "round %u", round);
	}
}

UNIT_SUITE(utf8, { "table 3-7", table_3_7 }, { "table 3-7 in blocks", table_3_7_in_blocks },
    { "blocks agree", blocks_agree }, { "every length and place", every_length_and_place }, { "every scalar value", every_scalar_value }, { "ascii blocks", ascii_blocks }, { "ascii runs", ascii_runs },
    { "evidence", evidence }, { "look and count agree", look_and_count_agree })
