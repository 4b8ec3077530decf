/* Owns two hashes of bytes, the same on every machine: XXH64 for checksums, and SipHash-1-3 for tables whose keys
 * clients and origins choose. One round a word and three at the end are enough, because peers never see a hash. They
 * see only how long a lookup takes.
 * Must not know: what is hashed. Sources: the xxHash specification 0.1.1; Aumasson and Bernstein, SipHash (2012). */
#ifndef UTFEED_PROXY_BASE_HASH_H
#define UTFEED_PROXY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_xx64(const void *bytes, size_t len);                     /* seed 0 */
/* Adds one number to a hash. Sequences of numbers that differ anywhere, or in their order, have different hashes,
 * unless somebody chose the numbers to collide. */
uint64_t hash_fold(uint64_t h, uint64_t n);
uint64_t hash_sip(const uint64_t secret[2], const void *bytes, size_t len);
/* hash_sip() with a secret of this process, for tables in memory. */
uint64_t hash_keyed(const void *bytes, size_t len);

#endif
