/* Owns looking up host names: in the hosts file, among answers that are still valid, or by c-ares on this worker's loop
 * (resolve_ares.h). Identical lookups are made once. Must not know: what an address is for.
 * Invariant: callbacks always come from the loop, never from within resolve_start(). */
#ifndef UTFEED_PROXY_DNS_RESOLVE_H
#define UTFEED_PROXY_DNS_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "proxy/dns/dns.h"

struct loop;
struct resolver;
struct resolve;

struct resolve_address {
	struct sockaddr_storage address;
	socklen_t len;
};

struct resolve_result {
	enum dns_family family;
	enum dns_status status;
	const char *reason;            /* "" for DNS_OK */
	bool last;                     /* no other family's result follows */
	size_t n;
	struct resolve_address addresses[DNS_ADDRESSES_MAX];
};

/* Called for each family as soon as its answer is known. In a call with last set the lookup must not be cancelled, and
 * it is freed when the call returns; in the call before it may be cancelled. */
typedef void resolve_done_f(void *arg, const struct resolve_result *);

struct resolver_options {
	const char *servers;           /* "ADDR[:PORT],..." instead of the servers in resolv_conf; "": those */
	const char *resolv_conf, *hosts;       /* files, read again when they change */
};

/* Whether servers, as in struct resolver_options, are addresses. */
bool resolver_takes(const char *servers);
/* NULL: out of memory or no usable configuration (logged). The options' texts must outlive the resolver. */
struct resolver *resolver_new(struct loop *, const struct resolver_options *);
void resolver_free(struct resolver **);                /* all lookups must be done or cancelled */

/* host: a name or an address as text, without brackets. NULL: out of memory. */
struct resolve *resolve_start(struct resolver *, const char *host, uint16_t port, resolve_done_f *done, void *arg);
/* The family to try first: IPv6, but IPv4 for ten minutes after resolver_ipv6_is_slow(), which is called when an IPv4
 * address connected first though it was tried later. */
enum dns_family resolver_first_family(struct resolver *);
void resolver_ipv6_is_slow(struct resolver *);

/* done will not be called any more. Sets the pointer to NULL. */
void resolve_cancel(struct resolve **);

#endif
