/* Owns the sums by which long pieces of a name are shortened, of at most one block each.
 * Must not know: names, what is named. Private to hash_wide*.c; to be called only where cpu.h allows it.
 * Invariant: for two different blocks of one length, whoever made them, both sums are the same with a probability of
 * 2^-120 at most over the keys. The sums differ between the functions: a process uses one of them.
 * Sources: Black, Halevi, Krawczyk, Krovetz and Rogaway, UMAC (1999), NH and its Toeplitz extension; Lemire and Kaser,
 * Faster 64-bit universal hashing using carry-less multiplications (2015), the same over GF(2). */
#ifndef UTFEED_PROXY_BASE_HASH_WIDE_SUMS_H
#define UTFEED_PROXY_BASE_HASH_WIDE_SUMS_H

#include <stddef.h>
#include <stdint.h>

/* n words, an even number; the key has two more. */
void hash_wide_sums_plain(const uint64_t *key, const uint8_t *bytes, size_t n, uint64_t sums[2][2]);
void hash_wide_sums_avx512(const uint64_t *key, const uint8_t *bytes, size_t n, uint64_t sums[2][2]);

#endif
