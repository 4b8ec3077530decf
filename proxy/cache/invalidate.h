/* Owns taking stored responses away when an unsafe request succeeded (RFC 9111 section 4.4). Must not know: stores'
 * kinds. */
#ifndef UTFEED_PROXY_CACHE_INVALIDATE_H
#define UTFEED_PROXY_CACHE_INVALIDATE_H

#include "proxy/cache/cache.h"
#include "proxy/http/destination.h"
#include "proxy/origin/fetch.h"

/* Hooks for one such fetch. -1: out of memory. */
int invalidate_hooks(struct fetch_hooks *, struct cache *, const struct destination *to, struct slice url)
    __attribute__((warn_unused_result));

#endif
