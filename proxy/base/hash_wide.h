/* Owns names of 128 bits for bytes that peers choose: for tables that trust a name in the place of the bytes.
 * Must not know: what is named.
 * Invariant: two different sequences of pieces have the same name with a probability of about 2^-120 at most, whoever
 * made them, as long as nobody outside knows the secret or sees a name. Long pieces go through sums of products of
 * words of 64 bits, twice with one key shifted (hash_wide_sums.h), and what these make of each block through SipHash.
 * Source: Aumasson and Bernstein, SipHash (2012). */
#ifndef UTFEED_PROXY_BASE_HASH_WIDE_H
#define UTFEED_PROXY_BASE_HASH_WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HASH_WIDE_WORDS = 512, /* of a block, to which one key is applied */
	HASH_WIDE_MESSAGE = 1024
};

/* A secret, drawn from the system's random numbers. */
struct hash_wide_secret {
	uint64_t block[HASH_WIDE_WORDS + 2];
	uint64_t ends[2][2];
	bool carryless; /* the products are those of carry-less multiplication, by AVX-512 */
};

/* -1: the system gave no random numbers. */
int hash_wide_draw(struct hash_wide_secret *) __attribute__((warn_unused_result));

/* A name in the making: what the pieces have become so far. It goes through SipHash whenever it is full, and begins
 * anew with the result. */
struct hash_wide {
	const struct hash_wide_secret *secret;
	size_t len;
	uint8_t message[HASH_WIDE_MESSAGE];
};

void hash_wide_begin(struct hash_wide *, const struct hash_wide_secret *);
void hash_wide_add(struct hash_wide *, const void *, size_t len);      /* a piece */
void hash_wide_end(struct hash_wide *, uint64_t name[2]);

#endif
