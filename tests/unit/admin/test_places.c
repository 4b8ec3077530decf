/* Owns the cases of proxy/admin/places.c. Must not know: connections. Invariant: each row names its rule. */
#include "conf/cidr.h"
#include "proxy/admin/places.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

static struct places all;
static struct place seats[PLACES_WAIT];

/* Seats one of each letter's crowd, from left to right; a capital keeps its place. */
static void seat(enum place_kind kind, const char *letters)
{
	places_init(&all);
	for (size_t i = 0; letters[i]; i++) {
		seats[i].crowd = (uint8_t)(letters[i] | 0x20);
		places_take(&all, &seats[i], kind, letters[i] < 'a');
	}
}

static void victims(void)
{
	static const struct { const char *rule, *letters; int victim; } cases[] = {
		{ "nobody is there", "", -1 },
		{ "the only one", "a", 0 },
		{ "the oldest", "aaa", 0 },
		{ "the oldest of equals", "abcabc", 0 },
		{ "of the largest crowd", "abbcbd", 1 },
		{ "who keeps a place stays", "Aba", 2 },
		{ "all keep theirs", "ABC", -1 },
		{ "a large crowd that keeps its places", "AAAbc", 3 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct place *victim;

		seat(PLACE_WORK, cases[i].letters);
		victim = places_victim(&all, PLACE_WORK);
		UNIT_ROW(victim == (cases[i].victim < 0 ? NULL : &seats[cases[i].victim]), "%s", cases[i].rule);
		UNIT_ROW(!places_victim(&all, PLACE_WAIT), "%s: another kind", cases[i].rule);
	}
}

/* A kind is full at its bound, and has room again when one connection leaves. */
static void bounds(void)
{
	static const size_t most[] = { [PLACE_WAIT] = PLACES_WAIT, [PLACE_PROBE] = PLACES_PROBE, [PLACE_WORK] = PLACES_WORK };

	for (enum place_kind kind = 0; kind < PLACE_KINDS; kind++) {
		seat(kind, "");
		for (size_t i = 0; i < most[kind]; i++) {
			UNIT_ROW(!places_are_full(&all, kind), "kind %d, %zu", (int)kind, i);
			places_take(&all, &seats[i], kind, false);
		}
		UNIT_ROW(places_are_full(&all, kind), "kind %d", (int)kind);
		places_leave(&all, &seats[0]);
		UNIT_ROW(!places_are_full(&all, kind), "kind %d, one left", (int)kind);
	}
}

static uint8_t crowd_of(const char *address)
{
	struct ip ip;

	CU_ASSERT_FATAL(ip_parse(address, strlen(address), &ip));
	return places_crowd(&ip);
}

/* A network of IPv6 is one crowd; other addresses mostly are crowds of their own, whatever the secret. */
static void crowds(void)
{
	char address[32];
	size_t same = 0;

	CU_ASSERT_EQUAL(crowd_of("2001:db8::1"), crowd_of("2001:db8::ffff:2"));
	CU_ASSERT_EQUAL(crowd_of("::ffff:192.0.2.1"), crowd_of("192.0.2.1"));
	for (int i = 0; i < 256; i++) {
		snprintf(address, sizeof address, "192.0.2.%d", i);
		same += crowd_of(address) == crowd_of("192.0.2.0");
	}
	CU_ASSERT(same < 64);
	CU_ASSERT_EQUAL(places_crowd(NULL), places_crowd(NULL));
}

UNIT_SUITE(places, { "victims", victims }, { "bounds", bounds }, { "crowds", crowds })
