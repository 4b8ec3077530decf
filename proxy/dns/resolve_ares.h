/* Owns one c-ares channel on a loop: its sockets, its timer, its end. A question asks for one family of one absolute
 * name.
 * Must not know: search lists, caches, its callers. Only resolve_ares.c knows c-ares. */
#ifndef UTFEED_PROXY_DNS_RESOLVE_ARES_H
#define UTFEED_PROXY_DNS_RESOLVE_ARES_H

#include <stdbool.h>

#include "proxy/dns/dns.h"

struct loop;
struct resolve_ares;

typedef void resolve_ares_f(void *arg, enum dns_family, const struct dns_answer *);

/* servers, resolv_conf: see resolve.h. NULL: it failed; the reason was logged, but for want of memory. */
struct resolve_ares *resolve_ares_new(struct loop *, const char *servers, const char *resolv_conf);
/* Questions that are not answered yet get no callback any more. Must not be called from within a callback. */
void resolve_ares_free(struct resolve_ares **);
/* Whether answers are outstanding. */
bool resolve_ares_busy(const struct resolve_ares *);

/* The callback may come before this returns. */
void resolve_ares_ask(struct resolve_ares *, const char *name, enum dns_family, resolve_ares_f *, void *arg);

#endif
