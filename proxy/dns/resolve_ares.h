/* Owns one c-ares channel on a loop: its sockets, its timer, its end. Asks for one family of one absolute name at a
 * time.
 * Must not know: search lists, caches, who waits. The only part that knows c-ares. */
#ifndef UTFEED_PROXY_DNS_RESOLVE_ARES_H
#define UTFEED_PROXY_DNS_RESOLVE_ARES_H

#include <stdbool.h>

#include "proxy/dns/dns.h"

struct loop;
struct resolve_ares;

typedef void resolve_ares_f(void *arg, enum dns_family, const struct dns_answer *);

/* servers, resolv_conf: see resolve.h. NULL: logged. */
struct resolve_ares *resolve_ares_new(struct loop *, const char *servers, const char *resolv_conf);
/* No callback comes any more for what is under way. Not from within a callback. */
void resolve_ares_free(struct resolve_ares **);
/* Whether answers are outstanding. */
bool resolve_ares_busy(const struct resolve_ares *);

/* The answer may come from within. */
void resolve_ares_ask(struct resolve_ares *, const char *name, enum dns_family, resolve_ares_f *, void *arg);

#endif
