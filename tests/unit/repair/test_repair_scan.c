/* The scans for bytes that repair looks at: every length and place in memory, all ways to scan, against the definition. */
#include "core/repair/repair_scan.h"
#include "core/text/cpu.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { LEN = 200, PLACES = 33 };

/* repair_scan.h, byte by byte. */
static bool is_forbidden(const uint8_t *p, size_t len)
{
	if (p[0] < 0x20)
		return p[0] != 0x09 && p[0] != 0x0A && p[0] != 0x0D;
	return p[0] == 0xEF && (len == 1 || p[1] == 0xBF);
}

static bool is_mark(uint8_t byte)
{
	return byte == '<' || byte == '&' || byte == ']';
}

/* Whether the masks have every mark of their blocks, and nothing else. */
static bool masks_hold(const uint8_t *bytes, size_t at, size_t len, const uint64_t *masks, size_t n)
{
	for (size_t i = 0; i < n * REPAIR_BLOCK; i++)
		if ((masks[i / REPAIR_BLOCK] >> i % REPAIR_BLOCK & 1) != (at + i < len && is_mark(bytes[at + i])))
			return false;
	return true;
}

static void check_marks(const uint8_t *bytes, size_t at, size_t len, enum cpu_level level)
{
	size_t blocks = (len - at + REPAIR_BLOCK - 1) / REPAIR_BLOCK, found;
	uint64_t masks[REPAIR_BLOCKS];

	found = repair_scan_marks(bytes, at, len, masks);
	if (found != (blocks < REPAIR_BLOCKS ? blocks : REPAIR_BLOCKS) || !masks_hold(bytes, at, len, masks, found))
		UNIT_ROW(false, "level %d: marks from %zu to %zu: %zu blocks", level, at, len, found);
}

static void check(const uint8_t *bytes, size_t at, size_t len)
{
	size_t want = at;

	while (want < len && !is_forbidden(bytes + want, len - want))
		want++;
	for (enum cpu_level level = CPU_PLAIN; level < CPU_LEVELS && cpu_limit(level) == level; level++) {
		size_t found = repair_scan_forbidden(bytes, at, len);

		if (found != want)
			UNIT_ROW(false, "level %d: from %zu to %zu: %zu, wanted %zu", level, at, len, found, want);
		check_marks(bytes, at, len, level);
	}
}

/* More than is looked at in one call. */
static void many_blocks(void)
{
	static uint8_t bytes[2 * REPAIR_BLOCKS * REPAIR_BLOCK];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = "<x&y]z"[i % 37 % 6];
	for (size_t at = 0; at < sizeof bytes; at += 13)
		for (enum cpu_level level = CPU_PLAIN; level < CPU_LEVELS && cpu_limit(level) == level; level++)
			check_marks(bytes, at, sizeof bytes, level);
}

/* Every byte, then every pair of bytes that matter, at every place of a block. */
static void one_stop(void)
{
	static const uint8_t some[] = "<&]\xEF\xBF\xBE\t\n\r\x1F\x20\x80\xFF";
	uint8_t room[LEN + PLACES];

	for (size_t at = 0; at < 130; at++) {
		uint8_t *bytes = room + at % PLACES;

		for (unsigned byte = 0; byte < 256; byte++) {
			memset(room, 'x', sizeof room);
			bytes[at] = (uint8_t)byte;
			check(bytes, 0, at + 1);
			check(bytes, 0, LEN);
		}
		for (size_t pair = 0; pair < sizeof some * sizeof some; pair++) {
			memset(room, 'x', sizeof room);
			bytes[at] = some[pair / sizeof some];
			bytes[at + 1] = some[pair % sizeof some];
			check(bytes, 0, LEN);
		}
	}
}

/* Text that is full of them, from every place and to every length. */
static void many_stops(void)
{
	static const uint8_t some[] = "<&]\xEF\xBF" "abc \t\n\xD0\x9F\x01";
	uint8_t bytes[LEN];
	uint32_t random = 1;

	for (unsigned seed = 0; seed < 40; seed++) {
		for (size_t i = 0; i < LEN; i++) {
			random = random * 1664525u + 1013904223u;
			bytes[i] = (random >> 20) % 64 > seed ? 'x' : some[(random >> 8) % (sizeof some - 1)];
		}
		for (size_t len = 0; len <= LEN; len++)
			for (size_t at = 0; at <= len; at += 5)
				check(bytes, at, len);
	}
}

UNIT_SUITE(repair_scan, { "one stop", one_stop }, { "many stops", many_stops }, { "many blocks", many_blocks })
