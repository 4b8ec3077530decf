/* Owns the answer about a name's addresses, one for each family. Must not know: callers, how addresses are looked up.
 * Invariant: the answer of a family is final once it is no longer DNS_PENDING. */
#ifndef UTFEED_PROXY_DNS_DNS_H
#define UTFEED_PROXY_DNS_DNS_H

#include <stdint.h>

enum dns_family { DNS_IPV6, DNS_IPV4, DNS_FAMILIES };

enum dns_status { DNS_PENDING, DNS_OK, DNS_NOT_FOUND, DNS_TIMEOUT, DNS_FAILED };

enum { DNS_NAME_MAX = 256, DNS_ADDRESSES_MAX = 16, DNS_ADDRESS_BYTES = 16 };

struct dns_answer {
	enum dns_status status;
	unsigned n;
	uint32_t ttl_s;
	const char *reason;            /* static text; NULL for DNS_OK */
	uint8_t address[DNS_ADDRESSES_MAX][DNS_ADDRESS_BYTES]; /* network order; IPv4 takes 4 */
};

struct dns_answers {
	struct dns_answer of[DNS_FAMILIES];
};

#endif
