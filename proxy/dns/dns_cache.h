/* Owns a bounded number of DNS answers for as long as they are valid. Pure: the time is an argument.
 * Must not know: lookups. Invariant: no answer is given out after its time, and never more than cap names are kept. */
#ifndef UTFEED_PROXY_DNS_DNS_CACHE_H
#define UTFEED_PROXY_DNS_DNS_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "proxy/dns/dns.h"

struct dns_cache;

/* How long answers are valid: the shortest TTL of the addresses found, from 1 s to 1 h, but at most 10 s if the other
 * family failed. For a name that does not exist: 5 s, since c-ares does not tell the SOA's minimum (RFC 2308 section
 * 5). 0: not at all. */
uint64_t dns_answers_lifetime_ms(const struct dns_answers *);

struct dns_cache *dns_cache_new(size_t cap);               /* NULL: out of memory */
void dns_cache_free(struct dns_cache **);
void dns_cache_clear(struct dns_cache *);
/* NULL: no answer is kept, or its time is over. The pointer is valid until the next call. */
const struct dns_answers *dns_cache_get(struct dns_cache *, const char *name, uint64_t now_ms);
/* If memory runs out, the answers are not kept. */
void dns_cache_put(struct dns_cache *, const char *name, const struct dns_answers *, uint64_t now_ms);

#endif
