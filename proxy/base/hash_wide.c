/* Names of 128 bits; see hash_wide.h. */
#include "proxy/base/hash_wide.h"

#include <string.h>
#include <sys/random.h>

#include "core/text/cpu.h"
#include "proxy/base/hash.h"
#include "proxy/base/hash_wide_sums.h"

enum {
	BLOCK_BYTES = HASH_WIDE_WORDS * 8,
	SHORT_BYTES = 64 /* a piece, or the rest of one, that is not longer goes through SipHash as it is */
};

/* A sum of products of 64 bits each, modulo 2^128. */
struct wide {
	uint64_t low, high;
};

int hash_wide_draw(struct hash_wide_secret *s)
{
	uint64_t seeds[2];
	size_t i;

	if (getrandom(seeds, sizeof seeds, 0) != sizeof seeds ||
	    getrandom(s->ends, sizeof s->ends, 0) != sizeof s->ends)
		return -1;
	for (i = 0; i < HASH_WIDE_WORDS + 2; i++)
		s->block[i] = hash_sip(seeds, &i, sizeof i);
#if defined(__x86_64__)
	s->carryless = cpu_level() >= CPU_AVX512;
#endif
	return 0;
}

static void wide_fold(struct hash_wide *h, uint64_t name[2])
{
	for (int i = 0; i < 2; i++)
		name[i] = hash_sip(h->secret->ends[i], h->message, h->len);
	memcpy(h->message, name, 2 * sizeof *name);
	h->len = 2 * sizeof *name;
}

static void wide_put(struct hash_wide *h, const void *bytes, size_t len)
{
	uint64_t name[2];

	if (h->len + len > HASH_WIDE_MESSAGE)
		wide_fold(h, name);
	if (len > 0)
		memcpy(h->message + h->len, bytes, len);
	h->len += len;
}

static inline uint64_t word_at(const uint8_t *bytes, size_t i)
{
	uint64_t word;

	memcpy(&word, bytes + i * sizeof word, sizeof word);
	return word;
}

static inline void wide_add(struct wide *sum, uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;
	uint64_t low = (uint64_t)product, high = (uint64_t)(product >> 64);
#else
	uint64_t mask = 0xffffffff, al = a & mask, ah = a >> 32, bl = b & mask, bh = b >> 32;
	uint64_t one = al * bh, two = ah * bl + (al * bl >> 32) + (one & mask);
	uint64_t low = two << 32 | (al * bl & mask), high = ah * bh + (one >> 32) + (two >> 32);
#endif

	sum->low += low;
	sum->high += high + (sum->low < low);
}

void hash_wide_sums_plain(const uint64_t *key, const uint8_t *bytes, size_t n, uint64_t sums[2][2])
{
	struct wide one = { 0, 0 }, two = { 0, 0 };

	for (size_t i = 0; i < n; i += 2) {
		uint64_t left = word_at(bytes, i), right = word_at(bytes, i + 1);

		wide_add(&one, left + key[i], right + key[i + 1]);
		wide_add(&two, left + key[i + 2], right + key[i + 3]);
	}
	memcpy(sums[0], &one, sizeof one);
	memcpy(sums[1], &two, sizeof two);
}

static void block_sums(const struct hash_wide_secret *s, const uint8_t *bytes, size_t n, uint64_t sums[2][2])
{
#if defined(__x86_64__)
	if (s->carryless) {
		hash_wide_sums_avx512(s->block, bytes, n, sums);
		return;
	}
#endif
	hash_wide_sums_plain(s->block, bytes, n, sums);
}

void hash_wide_begin(struct hash_wide *h, const struct hash_wide_secret *secret)
{
	h->secret = secret;
	h->len = 0;
}

void hash_wide_add(struct hash_wide *h, const void *piece, size_t len)
{
	const uint8_t *bytes = piece;
	uint64_t length = len;
	uint64_t sums[2][2];

	wide_put(h, &length, sizeof length);
	while (len > SHORT_BYTES) {
		size_t n = (len < BLOCK_BYTES ? len : BLOCK_BYTES) / 16 * 2;

		block_sums(h->secret, bytes, n, sums);
		wide_put(h, sums, sizeof sums);
		bytes += n * 8;
		len -= n * 8;
	}
	wide_put(h, bytes, len);
}

void hash_wide_end(struct hash_wide *h, uint64_t name[2])
{
	wide_fold(h, name);
}
