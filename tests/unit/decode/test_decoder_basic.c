/* Each form the processor can run: every length, every place in memory, every mix of widths, room that ends anywhere; held against
 * utf8_encode(). And each set in one piece and in all lengths, held against itself byte by byte in plain C. */
#include "core/decode/decoder_basic.h"
#include "core/text/cpu.h"
#include "core/text/utf8.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { UNITS = 100, MOST = 3 * UNITS, UNTOUCHED = 0xA5, ROOM_STEP = 7 };

static void with_each_form(void (*run)(const struct decoder_basic *))
{
	bool any = false;

	for (enum cpu_level level = CPU_PLAIN; level < CPU_LEVELS && cpu_limit(level) == level; level++)
		if (decoder_basic()) {
			run(decoder_basic());
			any = true;
		}
	cpu_limit(CPU_LEVELS);
	if (!any)
		UNIT_SKIP("this processor has no form of decoder_basic.h");
}

/* Characters that change width at random; the seed says how often. */
static void fill(uint16_t *points, unsigned seed)
{
	static const struct { uint16_t first, count; } ranges[] = {
		{ 0x00, 0x80 }, { 0x80, 0x780 }, { 0x800, 0xD000 }, { 0xE000, 0x2000 }, { 0x61, 1 }, { 0x42F, 1 }, { 0x20AC, 1 },
	};
	const unsigned kinds = sizeof ranges / sizeof ranges[0];
	uint32_t random = seed * 2654435761u + 1;
	unsigned kind = seed % kinds;

	for (size_t i = 0; i < UNITS; i++) {
		random = random * 1664525u + 1013904223u;
		if ((random >> 24) % (seed / kinds + 1) == 1)
			kind = (random >> 16) % kinds;
		points[i] = (uint16_t)(ranges[kind].first + (random >> 8) % ranges[kind].count);
	}
}

static size_t encode(const uint16_t *points, size_t count, uint8_t *out)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++)
		len += utf8_encode(points[i], out + len);
	return len;
}

static void check_utf16(const struct decoder_basic *basic, const uint16_t *points, size_t units, size_t at, size_t room, bool big)
{
	uint8_t in[2 * UNITS + 8], out[MOST + 200], want[MOST];
	struct decoder_span s = { .in = in + at, .in_end = in + at + 2 * units, .out = out, .out_end = out + room };
	size_t read, len;

	memset(out, UNTOUCHED, sizeof out);
	for (size_t i = 0; i < units; i++) {
		in[at + 2 * i] = (uint8_t)(big ? points[i] >> 8 : points[i]);
		in[at + 2 * i + 1] = (uint8_t)(big ? points[i] : points[i] >> 8);
	}
	basic->utf16(&s, big);
	read = (size_t)(s.in - in - at) / 2;
	len = encode(points, read, want);
	if (read % basic->block != 0 || (room == MOST + 199 && units - read >= basic->block) || len != (size_t)(s.out - out) ||
	    memcmp(out, want, len) != 0 || out[room] != UNTOUCHED)
		UNIT_ROW(false, "blocks of %u: %zu units at %zu, room %zu, big %d: %zu units, %zu bytes", basic->block, units, at, room, big, read, (size_t)(s.out - out));
}

static void utf16_form(const struct decoder_basic *basic)
{
	uint16_t points[UNITS];

	for (unsigned seed = 0; seed < 140; seed++) {
		fill(points, seed);
		for (size_t units = 0; units <= UNITS; units++)
			check_utf16(basic, points, units, (units + seed) % 8, MOST + 199, seed & 1);
		for (size_t room = 0; room < MOST + 199; room += ROOM_STEP)
			check_utf16(basic, points, UNITS, room % 8, room, seed & 1);
	}
}

static void utf16(void)
{
	with_each_form(utf16_form);
}

/* A surrogate anywhere in a block leaves that block to others. */
static void surrogates_form(const struct decoder_basic *basic)
{
	static const uint16_t surrogates[] = { 0xD800, 0xDBFF, 0xDC00, 0xDFFF };

	for (size_t at = 0; at < 64; at++) {
		uint8_t in[128], out[512];
		struct decoder_span s = { .in = in, .in_end = in + sizeof in, .out = out, .out_end = out + sizeof out };

		memset(in, 'a', sizeof in);
		memcpy(in + 2 * at, &surrogates[at % 4], 2);
		if (at & 1) {
			in[2 * at] = (uint8_t)(surrogates[at % 4] >> 8);
			in[2 * at + 1] = (uint8_t)surrogates[at % 4];
		}
		basic->utf16(&s, at & 1);
		UNIT_ROW((size_t)(s.in - in) == at / basic->block * basic->block * 2, "%zu", at);
	}
}

static void surrogates(void)
{
	with_each_form(surrogates_form);
}

static size_t decode(enum charset cs, const uint8_t *in, size_t len, size_t piece, uint8_t *out, size_t cap, uint64_t *malformed)
{
	struct decoder *d = decoder_new(cs, 0);
	size_t out_len = 0, used;

	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	for (size_t at = 0; at < len; at += used)
		out_len += decoder_feed(d, in + at, len - at < piece ? len - at : piece, &used, out + out_len, cap - out_len);
	*malformed = decoder_malformed(d);
	decoder_free(&d);
	return out_len;
}

/* In one piece by every form, and byte by byte in plain C. */
static void check_set(enum charset cs, const uint8_t *in, size_t len)
{
	static uint8_t whole[1 << 19], bytewise[sizeof whole];
	uint64_t malformed, malformed_bytewise;
	size_t out, out_bytewise;

	cpu_limit(CPU_PLAIN);
	out_bytewise = decode(cs, in, len, 1, bytewise, sizeof bytewise, &malformed_bytewise);
	for (enum cpu_level level = CPU_PLAIN; level < CPU_LEVELS && cpu_limit(level) == level; level++) {
		out = decode(cs, in, len, len, whole, sizeof whole, &malformed);
		if (out != out_bytewise || memcmp(whole, bytewise, out) != 0 || malformed != malformed_bytewise)
			UNIT_ROW(false, "%s, %zu bytes, level %d", charset_name(cs), len, level);
	}
	cpu_limit(CPU_LEVELS);
}

static void single_byte_sets(void)
{
	enum { LENGTHS = 200 };
	uint8_t in[1024];

	/* Every byte, every byte between ASCII, and runs of ASCII between */
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = i < 256 ? (uint8_t)i : i < 768 && i % 2 ? (uint8_t)(i / 2) : i % 64 < 40 ? 'a' : (uint8_t)(i * 7);
	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++) {
		if (charset_info(cs)->kind != KIND_SINGLE_BYTE)
			continue;
		for (size_t skip = 0; skip < 40; skip++)
			check_set(cs, in + skip, sizeof in - skip);
		for (size_t len = 0; len < LENGTHS; len++)
			check_set(cs, in + (len * 37 + cs) % (sizeof in - LENGTHS), len);
	}
}

/* Known pairs alone: the text of the whole set. */
static void check_known_pairs(enum charset cs, const uint8_t *in, size_t len)
{
	uint8_t known[64];
	size_t n = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		struct decoder_trial trial;

		if (in[i] >= 0x80 && decoder_try(cs, in + i, 2, true, &trial) == 0 && trial.accepts && trial.multibyte == 1) {
			known[n++] = in[i];
			known[n++] = in[i + 1];
		}
	}
	check_set(cs, known, n);
}

/* Every pair of every set, in runs of 1 to 40 between ASCII; a bad pair puts what follows in another place. */
static void double_byte_sets(void)
{
	enum { TEXT = 3 * 0x8000, KNOWN = 60, LENGTHS = 200 };
	static uint8_t in[TEXT];
	size_t len = 0, run = 0;

	for (unsigned code = 0x8000; code < 0x10000; code++) {
		/* Pairs far from each other are neighbours */
		unsigned pair = 0x8000 | (code * 0x1235 & 0x7FFF);

		in[len++] = (uint8_t)(pair >> 8);
		in[len++] = (uint8_t)pair;
		if (run-- == 0) {
			in[len++] = 'a';
			run = code % 40;
		}
	}
	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++) {
		if (charset_info(cs)->kind != KIND_DOUBLE_BYTE)
			continue;
		for (size_t skip = 0; skip < 3; skip++)
			check_set(cs, in + skip, len - skip);
		for (size_t at = 0; at + KNOWN < len; at += KNOWN)
			check_known_pairs(cs, in + at, KNOWN);
		for (size_t short_len = 0; short_len < LENGTHS; short_len++)
			check_set(cs, in + short_len * 397 + cs, short_len);
	}
}

UNIT_SUITE(decoder_basic, { "code units", utf16 }, { "surrogates", surrogates }, { "single-byte sets", single_byte_sets },
    { "double-byte sets", double_byte_sets })
