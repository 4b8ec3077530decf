/* The scan for bytes that repair looks at: every length and place in memory, all ways to scan, against the definition. */
#include "core/repair/repair_scan.h"
#include "core/text/cpu.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { LEN = 200, PLACES = 33 };

static const struct repair_stops sets[] = {
	REPAIR_STOPS('<', '!', '?', '&', '#'), REPAIR_STOPS('-', '-', '-', '-', '-'), REPAIR_STOPS('?', '>', '>', '?', '>'),
	REPAIR_STOPS(']', ']', ']', ']', ']'),
};

/* repair_scan.h, byte by byte. */
static bool stops(const struct repair_stops *s, const uint8_t *p, size_t len)
{
	bool first = p[0] == s->first, other = p[0] == s->other, high = p[0] == 0xEF;

	if (p[0] < 0x20 && p[0] != 0x09 && p[0] != 0x0A && p[0] != 0x0D)
		return true;
	if (len == 1)
		return first || other || high;
	return (first && (p[1] == s->second || p[1] == s->second_too)) || (other && p[1] == s->other_second) || (high && p[1] == 0xBF);
}

static void check(const struct repair_stops *s, const uint8_t *bytes, size_t at, size_t len)
{
	size_t want = at;

	while (want < len && !stops(s, bytes + want, len - want))
		want++;
	for (enum cpu_level level = CPU_PLAIN; level < CPU_LEVELS && cpu_limit(level) == level; level++)
		if (repair_scan(s, bytes, at, len) != want)
			UNIT_ROW(false, "level %d: '%c' from %zu to %zu: %zu, wanted %zu", level, s->first, at, len,
			    repair_scan(s, bytes, at, len), want);
}

/* Every byte, then every pair of bytes that matter, at every place of a block. */
static void one_stop(void)
{
	static const uint8_t some[] = "<!?&#->]\xEF\xBF\xBE\t\n\r\x1F\x20\x80\xFF";
	uint8_t room[LEN + PLACES];

	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
		for (size_t at = 0; at < 130; at++) {
			uint8_t *bytes = room + at % PLACES;

			for (unsigned byte = 0; byte < 256; byte++) {
				memset(room, 'x', sizeof room);
				bytes[at] = (uint8_t)byte;
				check(&sets[i], bytes, 0, at + 1);
				check(&sets[i], bytes, 0, LEN);
			}
			for (size_t pair = 0; pair < sizeof some * sizeof some; pair++) {
				memset(room, 'x', sizeof room);
				bytes[at] = some[pair / sizeof some];
				bytes[at + 1] = some[pair % sizeof some];
				check(&sets[i], bytes, 0, LEN);
			}
		}
}

/* Text that is full of them, from every place and to every length. */
static void many_stops(void)
{
	static const uint8_t some[] = "<!?&#->]\xEF\xBF" "abc \t\n\xD0\x9F\x01";
	uint8_t bytes[LEN];
	uint32_t random = 1;

	for (unsigned seed = 0; seed < 40; seed++) {
		for (size_t i = 0; i < LEN; i++) {
			random = random * 1664525u + 1013904223u;
			bytes[i] = (random >> 20) % 64 > seed ? 'x' : some[(random >> 8) % (sizeof some - 1)];
		}
		for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
			for (size_t len = 0; len <= LEN; len++)
				for (size_t at = 0; at <= len; at += 5)
					check(&sets[i], bytes, at, len);
	}
}

UNIT_SUITE(repair_scan, { "one stop", one_stop }, { "many stops", many_stops })
