/* Owns the cases of proxy/base/hash_wide*.c: what must be told apart is, and every secret names anew, whichever
 * instructions the processor has. */
#include "proxy/base/hash_wide.h"
#include "core/text/cpu.h"
#include "proxy/base/hash_wide_sums.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 3 * HASH_WIDE_WORDS * 8 };

static struct hash_wide_secret secret;

static void name_of(const struct hash_wide_secret *s, const uint8_t *bytes, size_t len, uint64_t name[2])
{
	struct hash_wide h;

	hash_wide_begin(&h, s);
	hash_wide_add(&h, bytes, len);
	hash_wide_end(&h, name);
}

static bool is_name_of(const uint64_t name[2], const uint8_t *bytes, size_t len)
{
	uint64_t other[2];

	name_of(&secret, bytes, len, other);
	return memcmp(name, other, sizeof other) == 0;
}

/* Around the edges of words, of what goes through SipHash as it is, and of blocks: the same bytes have the same name, wherever they
 * lie; with one bit, the last byte or a byte more they have another. */
static void lengths(void)
{
	static const size_t edges[] = { 0, 8, 16, 64, 80, 128, HASH_WIDE_WORDS * 8, HASH_WIDE_WORDS * 8 + 64, 2 * HASH_WIDE_WORDS * 8, BYTES - 20 };
	static uint8_t bytes[BYTES], moved[BYTES + 1];
	uint64_t name[2];

	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)rand();
	for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
		for (size_t len = edges[i] < 2 ? 0 : edges[i] - 2; len < edges[i] + 18; len++) {
			name_of(&secret, bytes, len, name);
			memcpy(moved + 1, bytes, len);
			UNIT_ROW(is_name_of(name, moved + 1, len), "%zu bytes, moved", len);
			UNIT_ROW(!is_name_of(name, bytes, len + 1), "%zu bytes and one", len);
			if (len == 0)
				continue;
			UNIT_ROW(!is_name_of(name, bytes, len - 1), "%zu bytes less one", len);
			for (size_t at = 0; at < len; at += len < 200 ? 1 : 61) {
				bytes[at] ^= (uint8_t)(1u << at % 8);
				UNIT_ROW(!is_name_of(name, bytes, len), "%zu bytes, one bit of byte %zu", len, at);
				bytes[at] ^= (uint8_t)(1u << at % 8);
			}
		}
}

/* Words and blocks in another order are other bytes. */
static void order(void)
{
	static const size_t distances[] = { 1, 8, 16, 64, HASH_WIDE_WORDS * 8 };
	static uint8_t bytes[BYTES];
	uint64_t name[2];

	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	name_of(&secret, bytes, BYTES, name);
	for (size_t i = 0; i < sizeof distances / sizeof distances[0]; i++) {
		size_t n = distances[i];
		uint8_t swap[HASH_WIDE_WORDS * 8];

		memcpy(swap, bytes, n);
		memmove(bytes, bytes + n, n);
		memcpy(bytes + n, swap, n);
		UNIT_ROW(!is_name_of(name, bytes, BYTES), "swapped: the first %zu bytes and the next", n);
		memcpy(swap, bytes, n);
		memmove(bytes, bytes + n, n);
		memcpy(bytes + n, swap, n);
	}
	CU_ASSERT(is_name_of(name, bytes, BYTES));
}

/* A byte that moves from one piece to the next makes another sequence. */
static void pieces(void)
{
	static const uint8_t bytes[200] = { 1, 2, 3 };
	uint64_t names[sizeof bytes + 1][2];
	struct hash_wide h;

	for (size_t cut = 0; cut <= sizeof bytes; cut++) {
		hash_wide_begin(&h, &secret);
		hash_wide_add(&h, bytes, cut);
		hash_wide_add(&h, bytes + cut, sizeof bytes - cut);
		hash_wide_end(&h, names[cut]);
		for (size_t other = 0; other < cut; other++)
			UNIT_ROW(memcmp(names[cut], names[other], sizeof names[0]) != 0, "cut at %zu and at %zu", cut, other);
	}
}

/* More pieces than a message has room for. */
static void many(void)
{
	uint64_t names[2][2];
	struct hash_wide h;

	for (unsigned change = 0; change < 2; change++) {
		hash_wide_begin(&h, &secret);
		for (unsigned i = 0; i < 500; i++) {
			unsigned piece = i == 3 ? i + change : i;

			hash_wide_add(&h, &piece, sizeof piece);
		}
		hash_wide_end(&h, names[change]);
	}
	CU_ASSERT(memcmp(names[0], names[1], sizeof names[0]) != 0);
}

static void secrets(void)
{
	static const uint8_t bytes[100] = "the same bytes";
	struct hash_wide_secret other;
	uint64_t names[2][2];

	CU_ASSERT_EQUAL(hash_wide_draw(&other), 0);
	name_of(&secret, bytes, sizeof bytes, names[0]);
	name_of(&other, bytes, sizeof bytes, names[1]);
	CU_ASSERT(names[0][0] != names[1][0] && names[0][1] != names[1][1] && names[0][0] != names[0][1]);
}

static void draw(void)
{
	CU_ASSERT_FATAL(hash_wide_draw(&secret) == 0);
}

static void draw_plain(void)
{
	cpu_limit(CPU_PLAIN);
	draw();
	cpu_limit(CPU_LEVELS);
}

#if defined(__x86_64__)
/* The product of two polynomials over GF(2), added to the sum. */
static void add_product(uint64_t sum[2], uint64_t a, uint64_t b)
{
	for (unsigned bit = 0; bit < 64; bit++)
		if (b >> bit & 1) {
			sum[0] ^= a << bit;
			sum[1] ^= bit ? a >> (64 - bit) : 0;
		}
}

/* The sums by vectors are what their definition says, of every number of words. */
static void carryless(void)
{
	enum { WORDS = 44 };
	uint64_t words[WORDS], key[WORDS + 2];

	if (cpu_level() < CPU_AVX512)
		return;
	for (size_t i = 0; i < WORDS + 2; i++)
		key[i] = secret.block[i];
	for (size_t i = 0; i < WORDS; i++)
		words[i] = secret.block[100 + i];
	for (size_t n = 0; n <= WORDS; n += 2) {
		uint64_t sums[2][2], want[2][2] = { { 0, 0 }, { 0, 0 } };

		for (size_t i = 0; i < n; i += 2) {
			add_product(want[0], words[i] ^ key[i], words[i + 1] ^ key[i + 1]);
			add_product(want[1], words[i] ^ key[i + 2], words[i + 1] ^ key[i + 3]);
		}
		hash_wide_sums_avx512(key, (const uint8_t *)words, n, sums);
		UNIT_ROW(memcmp(sums, want, sizeof sums) == 0, "%zu words", n);
	}
}
#else
static void carryless(void)
{
}
#endif

UNIT_SUITE(hash_wide, { "draw", draw }, { "carryless", carryless }, { "lengths", lengths }, { "order", order },
    { "pieces", pieces }, { "many", many }, { "secrets", secrets }, { "draw, plain", draw_plain },
    { "lengths, plain", lengths }, { "order, plain", order }, { "pieces, plain", pieces }, { "many, plain", many })
