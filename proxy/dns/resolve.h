/* Owns looking up host names: the hosts file, answers that still hold, c-ares on this worker's loop; the only file that
 * includes its header. Identical lookups are one. Must not know: what an address is for.
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

/* Called for each family as soon as it is known. With last set the handle is gone when it returns, and must not be
 * cancelled from within; before that it may be. */
typedef void resolve_done_f(void *arg, const struct resolve_result *);

struct resolver_options {
	const char *servers;           /* "ADDR[:PORT],..." in place of resolv_conf's; "": those */
	const char *resolv_conf, *hosts;       /* files, read again when they change */
	uint64_t absent_ms;            /* how long a name that is not there is kept as such */
};

/* NULL: out of memory or no usable configuration (logged). The options' texts must outlive it. */
struct resolver *resolver_new(struct loop *, const struct resolver_options *);
void resolver_free(struct resolver **);                /* no lookup may be under way that was not cancelled */

/* host: a name or an address as text, without brackets. NULL: out of memory. */
struct resolve *resolve_start(struct resolver *, const char *host, uint16_t port, resolve_done_f *done, void *arg);
/* Which family to try first: IPv6, but not while it lately lost to an IPv4 that was tried after it. */
enum dns_family resolver_first_family(struct resolver *);
void resolver_ipv6_is_slow(struct resolver *);

/* done will not be called. Nulls. */
void resolve_cancel(struct resolve **);

#endif
