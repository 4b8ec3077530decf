/* Owns the decode tables: built from iconv on first use, then corrected by overlay.def.
 * Must not know: streams, malformed input.
 * Invariant: a finished table is published once by compare-and-swap; the loser of a race frees its copy. So building
 * needs no lock, a failure (no memory) can be tried again, and the published tables are the only state. */
#include "core/decode/decoder_table.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <uchar.h>

#include "core/decode/decoder_impl.h"
#include "core/text/utf8.h"

/* Tables by charset; the second of each is the one for DECODER_LITERAL (decoder.h). */
static _Atomic(struct single_table *) single_tables[CS_COUNT][2];
static _Atomic(struct double_table *) double_tables[CS_COUNT][2];

/* Corrections of iconv's meaning for consecutive codes from `first`, one UTF-16 unit each (all are in the basic
 * plane). */
struct overlay {
	enum charset charset;
	bool literal;               /* in the literal table only */
	uint16_t first;
	const char16_t *text;
};

static const struct overlay overlays[] = {
#define OVERLAY(charset, first, text) { CS_##charset, false, first, text },
#define PINNED OVERLAY
#define LITERAL(charset, first, text) { CS_##charset, true, first, text },
#include "core/decode/overlay.def"
#undef LITERAL
#undef PINNED
#undef OVERLAY
};

enum { OVERLAY_COUNT = sizeof overlays / sizeof overlays[0] };

static bool overlay_applies(const struct overlay *overlay, enum charset cs, bool literal)
{
	return overlay->charset == cs && (literal || !overlay->literal);
}

/* Whether a hole of this byte means a C1 control. In the Encoding Standard each of Microsoft's single-byte sets has C1
 * controls in its holes (index-windows-*.txt). The ISO 8859 set below it has nothing else there. */
static bool may_be_c1(enum charset cs, unsigned byte)
{
	return cs >= CS_WINDOWS_874 && cs <= CS_WINDOWS_1258 && byte >= 0x80 && byte <= 0x9F;
}

static void single_set(struct single_table *table, uint8_t byte, const uint8_t *text, size_t len)
{
	memset(table->text[byte], 0, sizeof table->text[byte]);
	memcpy(table->text[byte], text, len);
	table->text[byte][SINGLE_LENGTH] = (uint8_t)len;
}

static void single_set_point(struct single_table *table, uint8_t byte, uint32_t cp)
{
	uint8_t text[4];

	single_set(table, byte, text, utf8_encode(cp, text));
}

/* The scalar value of the first character of a text, which has one to three bytes. */
static uint32_t point_of(const uint8_t *utf8)
{
	if (utf8[0] < 0x80)
		return utf8[0];
	if (utf8[0] < 0xE0)
		return (utf8[0] & 0x1Fu) << 6 | (utf8[1] & 0x3Fu);
	return (utf8[0] & 0x0Fu) << 12 | (utf8[1] & 0x3Fu) << 6 | (utf8[2] & 0x3Fu);
}

static void single_set_points(struct single_table *table)
{
	unsigned wide = 0;
	uint8_t text[4];

	table->basic = table->ascii;
	for (unsigned byte = 0x80; byte < 0x100; byte++) {
		uint32_t cp = point_of(table->text[byte]);

		table->points[byte - 0x80] = (uint16_t)cp;
		table->basic =
		    table->basic && utf8_encode(cp, text) == (table->text[byte][SINGLE_LENGTH] & ~SINGLE_HOLE);
		wide += cp >= 0x800;
	}
	table->narrow = wide < 64;
	for (unsigned i = 0; i < 128; i++) {
		const uint8_t *own = table->text[0x80 + i], *before = table->text[0x70 + i];

		table->first_change[i / 16][i % 16] = (uint8_t)(own[0] ^ (i < 16 ? 0 : before[0]));
		table->second_change[i / 16][i % 16] = (uint8_t)(own[1] ^ (i < 16 ? 0 : before[1]));
	}
}

static void single_fill(struct single_table *table, enum charset cs, bool literal, struct decoder_source *source)
{
	for (unsigned byte = 0; byte < 256; byte++) {
		uint8_t in = (uint8_t)byte, text[8];
		size_t len = source ? decoder_source_text(source, &in, 1, text, sizeof text) : 0;

		if (len >= 1 && len <= 3 && !(literal && may_be_c1(cs, byte))) {
			single_set(table, in, text, len);
		} else if (may_be_c1(cs, byte) || (!source && byte < 0x80)) {
			single_set_point(table, in, byte);
		} else {
			single_set_point(table, in, 0xFFFD);
			table->text[byte][SINGLE_LENGTH] |= SINGLE_HOLE;
		}
	}
	for (size_t i = 0; i < OVERLAY_COUNT; i++)
		for (size_t k = 0; overlay_applies(&overlays[i], cs, literal) && overlays[i].text[k]; k++)
			single_set_point(table, (uint8_t)(overlays[i].first + k), overlays[i].text[k]);
	table->ascii = true;
	for (unsigned byte = 0; byte < 0x80; byte++)
		table->ascii = table->ascii && table->text[byte][0] == byte && table->text[byte][SINGLE_LENGTH] == 1;
	table->holes = false;
	for (unsigned byte = 0; byte < 256; byte++)
		table->holes = table->holes || (table->text[byte][SINGLE_LENGTH] & SINGLE_HOLE);
	single_set_points(table);
}

static struct single_table *single_build(enum charset cs, bool literal)
{
	struct decoder_source *source = NULL;

	if (charset_info(cs)->iconv_name) {
		source = decoder_source_open(cs);
		if (!source)
			return NULL;
	}
	struct single_table *table = malloc(sizeof *table);
	if (table)
		single_fill(table, cs, literal, source);
	if (source)
		decoder_source_close(&source);
	return table;
}

const struct single_table *decoder_table_single(enum charset cs, bool literal)
{
	_Atomic(struct single_table *) *slot = &single_tables[cs][literal];
	struct single_table *table = atomic_load_explicit(slot, memory_order_acquire);

	assert(charset_info(cs)->kind == KIND_SINGLE_BYTE);
	if (table)
		return table;
	struct single_table *built = single_build(cs, literal);
	if (!built)
		return NULL;
	if (atomic_compare_exchange_strong(slot, &table, built))
		return built;
	free(built);
	return table;
}

/* The bytes that lead, trail and stand alone in each set; their meaning comes from iconv. */
static const struct layout {
	enum charset charset;
	struct range {
		uint8_t min, max;
	} lead[2], trail[2], single;
} layouts[] = {
	{ CS_SHIFT_JIS, { { 0x81, 0x9F }, { 0xE0, 0xFC } }, { { 0x40, 0x7E }, { 0x80, 0xFC } }, { 0xA1, 0xDF } },
	{ CS_EUC_JP, { { 0x8E, 0x8F }, { 0xA1, 0xFE } }, { { 0xA1, 0xFE } }, { 0 } },
	{ CS_GB18030, { { 0x81, 0xFE } }, { { 0x40, 0x7E }, { 0x80, 0xFE } }, { 0 } },
	{ CS_BIG5, { { 0x81, 0xFE } }, { { 0x40, 0x7E }, { 0xA1, 0xFE } }, { 0 } },
	{ CS_EUC_KR, { { 0x81, 0xFE } }, { { 0x41, 0xFE } }, { 0 } },
	{ CS_JOHAB, { { 0x84, 0xF9 } }, { { 0x31, 0x7E }, { 0x81, 0xFE } }, { 0 } },
};

static bool in_range(const struct range range[2], unsigned byte)
{
	return (byte >= range[0].min && byte <= range[0].max) || (byte >= range[1].min && byte <= range[1].max);
}

static const struct layout *layout_of(enum charset cs)
{
	const struct layout *layout = layouts;

	while (layout->charset != cs)
		layout++;
	assert(layout < layouts + sizeof layouts / sizeof layouts[0]);
	return layout;
}

/* Sets the text of a code, if iconv has one that is not ASCII. */
static void text_set(struct double_text *text, const struct source_text *from)
{
	if (from->len >= 2 && from->len <= sizeof text->utf8)
		memcpy(text->utf8, from->utf8, from->len);
}

/* Fills in every pair of a lead; where prefix is not 0 that byte precedes each pair. */
static void row_fill(struct double_text row[], const struct layout *layout, struct decoder_source *source,
    uint8_t prefix, uint8_t lead)
{
	struct source_text texts[SOURCE_CODES];
	uint8_t codes[SOURCE_CODES * 3], *p = codes;
	size_t len = prefix ? 3 : 2, count = 0;

	for (unsigned trail = 0x30; trail < 0x100; trail++) {
		if (!in_range(layout->trail, trail))
			continue;
		if (prefix)
			*p++ = prefix;
		*p++ = lead;
		*p++ = (uint8_t)trail;
		count++;
	}
	decoder_source_texts(source, codes, len, count, texts);
	for (size_t i = 0; i < count; i++)
		text_set(&row[codes[i * len + len - 1]], &texts[i]);
}

static void plane_fill(struct double_plane *plane, const struct layout *layout, struct decoder_source *source,
    uint8_t prefix)
{
	for (unsigned lead = 0x80; lead < 0x100; lead++)
		if (in_range(layout->lead, lead))
			row_fill(plane->text[lead - 0x80], layout, source, prefix, (uint8_t)lead);
}

/* Adds rows 13 and 89 to 92 of JIS X 0208, the extensions of NEC and IBM (WHATWG index-jis0208.txt): glibc's EUC-JP
 * lacks them, CP932 has them under the same pointers. */
static void add_vendor_rows(struct double_plane *plane, const struct double_plane *cp932)
{
	static const uint8_t rows[] = { 13, 89, 90, 91, 92 };

	for (size_t i = 0; i < sizeof rows; i++)
		for (unsigned cell = 0; cell < 94; cell++) {
			unsigned pointer = (rows[i] - 1u) * 94 + cell, lead = pointer / 188, trail = pointer % 188;

			lead += lead < 0x1F ? 0x81 : 0xC1;
			trail += trail < 0x3F ? 0x40 : 0x41;
			plane->text[rows[i] + 0x20][cell + 0xA1] = cp932->text[lead - 0x80][trail];
		}
}

static bool add_jis0212(struct double_table *table, const struct layout *layout, struct decoder_source *source)
{
	const struct double_table *cp932 = decoder_table_double(CS_SHIFT_JIS, false);

	table->jis0212 = calloc(1, sizeof *table->jis0212);
	if (!cp932 || !table->jis0212)
		return false;
	plane_fill(table->jis0212, layout, source, 0x8F);
	add_vendor_rows(&table->pair, &cp932->pair);
	return true;
}

/* Pointers that iconv refuses, because it has moved their characters to two-byte codes (WHATWG
 * index-gb18030-ranges.txt). */
static const struct {
	uint16_t pointer, count, cp;
} four_overlay[] = {
	{ 19057, 8, 0x9FB4 },
	{ 39076, 10, 0xFE10 },
};

/* Fills in consecutive codes of four bytes. */
static void four_fill(uint16_t four[], unsigned first, unsigned count, struct decoder_source *source)
{
	struct source_text texts[SOURCE_CODES];
	uint8_t codes[SOURCE_CODES * 4];

	for (unsigned i = 0; i < count; i++) {
		unsigned pointer = first + i;

		memcpy(codes + i * 4, (const uint8_t[]){ (uint8_t)(0x81 + pointer / 12600),
			(uint8_t)(0x30 + pointer / 1260 % 10), (uint8_t)(0x81 + pointer / 10 % 126),
			(uint8_t)(0x30 + pointer % 10) }, 4);
	}
	decoder_source_texts(source, codes, 4, count, texts);
	for (unsigned i = 0; i < count; i++)
		if (texts[i].len == 2 || texts[i].len == 3)
			four[first + i] = (uint16_t)point_of(texts[i].utf8);
}

static bool add_four_bytes(struct double_table *table, struct decoder_source *source)
{
	table->four = calloc(GB18030_BASIC, sizeof *table->four);
	if (!table->four)
		return false;
	for (unsigned first = 0; first < GB18030_BASIC; first += SOURCE_CODES) {
		unsigned left = GB18030_BASIC - first;

		four_fill(table->four, first, left < SOURCE_CODES ? left : SOURCE_CODES, source);
	}
	for (size_t i = 0; i < sizeof four_overlay / sizeof four_overlay[0]; i++)
		for (unsigned k = 0; k < four_overlay[i].count; k++)
			table->four[four_overlay[i].pointer + k] = (uint16_t)(four_overlay[i].cp + k);
	return true;
}

static bool double_fill(struct double_table *table, enum charset cs, bool literal, struct decoder_source *source)
{
	const struct layout *layout = layout_of(cs);

	for (unsigned byte = 0x80; byte < 0x100; byte++) {
		const uint8_t code = (uint8_t)byte;
		struct source_text text = { 0 };

		table->lead[byte - 0x80] = in_range(layout->lead, byte);
		if (byte >= layout->single.min && byte <= layout->single.max)
			decoder_source_texts(source, &code, 1, 1, &text);
		text_set(&table->single[byte - 0x80], &text);
	}
	plane_fill(&table->pair, layout, source, 0);
	for (size_t i = 0; i < OVERLAY_COUNT; i++)
		for (size_t k = 0; overlay_applies(&overlays[i], cs, literal) && overlays[i].text[k]; k++) {
			unsigned code = overlays[i].first + (unsigned)k;
			struct double_text *text = code < 0x100 ? &table->single[code - 0x80] :
			    &table->pair.text[(code >> 8) - 0x80][code & 0xFF];

			memset(text, 0, sizeof *text);
			utf8_encode(overlays[i].text[k], text->utf8);
		}
	if (cs == CS_EUC_JP)
		return add_jis0212(table, layout, source);
	return cs != CS_GB18030 || add_four_bytes(table, source);
}

static void double_free(struct double_table *table)
{
	free(table->jis0212);
	free(table->four);
	free(table);
}

static struct double_table *double_build(enum charset cs, bool literal)
{
	struct decoder_source *source = decoder_source_open(cs);

	if (!source)
		return NULL;
	struct double_table *table = calloc(1, sizeof *table);
	if (table && !double_fill(table, cs, literal, source)) {
		double_free(table);
		table = NULL;
	}
	decoder_source_close(&source);
	return table;
}

const struct double_table *decoder_table_double(enum charset cs, bool literal)
{
	_Atomic(struct double_table *) *slot = &double_tables[cs][literal];
	struct double_table *table = atomic_load_explicit(slot, memory_order_acquire);

	assert(charset_info(cs)->kind == KIND_DOUBLE_BYTE);
	if (table)
		return table;
	struct double_table *built = double_build(cs, literal);
	if (!built)
		return NULL;
	if (atomic_compare_exchange_strong(slot, &table, built))
		return built;
	double_free(built);
	return table;
}
