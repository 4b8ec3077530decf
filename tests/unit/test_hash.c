/* Owns the cases of proxy/hash.c: the published vectors. */
#include "proxy/hash.h"
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

static void sip(void)
{
	/* The paper's appendix A and the first of its authors' vectors: key 00 01 .. 0f, input 00 01 .. */
	static const struct { size_t len; uint64_t hash; } cases[] = {
		{ 0, UINT64_C(0x726fdb47dd0e0e31) }, { 1, UINT64_C(0x74f839c593dc67fd) }, { 15, UINT64_C(0xa129ca6149be45e5) },
	};
	static const uint64_t secret[2] = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };
	uint8_t input[16];

	for (uint8_t i = 0; i < sizeof input; i++)
		input[i] = i;
	for (size_t i = 0; i < COUNT(cases); i++)
		UNIT_ROW(hash_sip(secret, input, cases[i].len) == cases[i].hash, "%zu bytes", cases[i].len);
}

UNIT_SUITE(hash, { "xx64", xx64 }, { "sip", sip })
