/* Owns two hashes of bytes, the same on every machine: XXH64 for checksums, SipHash-1-3 for tables whose keys others
 * choose (one round a word and three at the end: nobody sees the hashes, only how long a lookup takes).
 * Must not know: what is hashed. Sources: the xxHash specification 0.1.1; Aumasson and Bernstein, SipHash (2012). */
#ifndef UTFEED_PROXY_BASE_HASH_H
#define UTFEED_PROXY_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_xx64(const void *bytes, size_t len);                     /* seed 0 */
/* One number more: what differs in any of the numbers folded in, in this order, differs. Not against whoever wants it
 * otherwise. */
uint64_t hash_fold(uint64_t h, uint64_t n);
uint64_t hash_sip(const uint64_t secret[2], const void *bytes, size_t len);
/* The same by a secret of this process: for tables in memory. */
uint64_t hash_keyed(const void *bytes, size_t len);

#endif
