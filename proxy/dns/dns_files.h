/* Owns reading the two files of the system about names: hosts(5), and of resolv.conf(5) the search list and ndots.
 * Pure, over text.
 * Must not know: where the text comes from; the name servers, which c-ares reads itself. */
#ifndef UTFEED_PROXY_DNS_DNS_FILES_H
#define UTFEED_PROXY_DNS_DNS_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/dns/dns.h"

enum { DNS_DOMAINS_MAX = 8 };

struct dns_search {
	unsigned ndots;
	size_t n;
	char domains[DNS_DOMAINS_MAX][DNS_NAME_MAX];
};

/* localdomain, res_options: the environment's LOCALDOMAIN and RES_OPTIONS, which override the file; NULL: not set. */
void dns_search_read(struct dns_search *, const char *text, const char *localdomain, const char *res_options);
/* Writes the i-th name to ask for when name is wanted; it is absolute, with its final dot. False: there are not so
 * many, or it is too long. */
bool dns_search_name(const struct dns_search *, const char *name, size_t i, char out[DNS_NAME_MAX]);
size_t dns_search_count(const struct dns_search *, const char *name);

/* Fills in the addresses that hosts(5) has for name; "localhost" and names below it always have one (RFC 6761 section
 * 6.3). False: there are none, and the answers are unchanged. */
bool dns_hosts_find(const char *text, const char *name, struct dns_answers *);

#endif
