/* Owns the cases of proxy/base/hash.c: the published vectors. */
#include "proxy/base/hash.h"
#include "tests/unit/unit.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void xx64(void)
{
	static const struct { const char *text; uint64_t hash; const char *name; } cases[] = {
		{ "", UINT64_C(0xef46db3751d8e999), "empty" },
		{ "a", UINT64_C(0xd24ec4f1a98c6e5b), "one byte" },
		{ "abc", UINT64_C(0x44bc2cf5ad770999), "three bytes" },
		{ "Nobody inspects the spammish repetition", UINT64_C(0xfbcea83c8a378bf1), "39 bytes: four lanes and a tail" },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		UNIT_ROW(hash_xx64(cases[i].text, strlen(cases[i].text)) == cases[i].hash, "%s", cases[i].name);
}

/* Order and place count, a leading zero too. */
static void fold(void)
{
	static const uint64_t rows[][3] = { { 0, 0, 0 }, { 0, 0, 1 }, { 0, 1, 0 }, { 1, 0, 0 }, { 1, 1, 0 }, { 0, 1, 1 }, { 1, 2, 3 }, { 3, 2, 1 },
		{ 0, UINT64_MAX, 0 }, { UINT64_MAX, 0, 0 }, { UINT64_C(1) << 32, 0, 0 }, { 0, UINT64_C(1) << 63, 0 } };
	uint64_t seen[COUNT(rows)];

	for (size_t i = 0; i < COUNT(rows); i++) {
		seen[i] = hash_fold(hash_fold(hash_fold(0, rows[i][0]), rows[i][1]), rows[i][2]);
		for (size_t j = 0; j < i; j++)
			UNIT_ROW(seen[i] != seen[j], "rows %zu and %zu", j, i);
	}
}

static void sip(void)
{
	/* Key 00 01 .. 0f, input 00 01 .., of a second program, which agrees with CPython 3.11 (siphash13) and, with the rounds of 2-4, with the
	 * paper's appendix A. */
	static const struct { size_t len; uint64_t hash; } cases[] = {
		{ 0, UINT64_C(0xabac0158050fc4dc) }, { 1, UINT64_C(0xc9f49bf37d57ca93) }, { 15, UINT64_C(0xd320d86d2a519956) },
	};
	static const uint64_t secret[2] = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };
	uint8_t input[16];

	for (uint8_t i = 0; i < sizeof input; i++)
		input[i] = i;
	for (size_t i = 0; i < COUNT(cases); i++)
		UNIT_ROW(hash_sip(secret, input, cases[i].len) == cases[i].hash, "%zu bytes", cases[i].len);
}

UNIT_SUITE(hash, { "xx64", xx64 }, { "fold", fold }, { "sip", sip })
