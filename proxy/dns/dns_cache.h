/* Owns answers of the DNS for as long as they hold, in a bounded number. Pure: the time is an argument.
 * Must not know: lookups. Invariant: nothing is given out after its time, and never more than cap names are kept. */
#ifndef UTFEED_PROXY_DNS_DNS_CACHE_H
#define UTFEED_PROXY_DNS_DNS_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "proxy/dns/dns.h"

struct dns_cache;

/* How long answers hold: the shortest TTL of what was found, 1 s to 1 h; a name that is not there absent_ms, as c-ares
 * does not tell the SOA's minimum (RFC 2308 section 5); 0: not at all. */
uint64_t dns_answers_lifetime_ms(const struct dns_answers *, uint64_t absent_ms);

struct dns_cache *dns_cache_new(size_t cap, uint64_t absent_ms);               /* NULL: out of memory */
void dns_cache_free(struct dns_cache **);
void dns_cache_clear(struct dns_cache *);
/* NULL: not known, or no longer. Valid until the next call. */
const struct dns_answers *dns_cache_get(struct dns_cache *, const char *name, uint64_t now_ms);
/* Without memory it is forgotten. */
void dns_cache_put(struct dns_cache *, const char *name, const struct dns_answers *, uint64_t now_ms);

#endif
