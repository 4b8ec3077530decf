/* Owns removing stored responses when an unsafe request has succeeded (RFC 9111 section 4.4). Must not know: the kinds
 * of stores. */
#ifndef UTFEED_PROXY_CACHE_INVALIDATE_H
#define UTFEED_PROXY_CACHE_INVALIDATE_H

#include "proxy/cache/sweeper.h"
#include "proxy/http/destination.h"
#include "proxy/origin/fetch.h"

/* Hooks for the fetch of one unsafe request. */
int invalidate_hooks(struct fetch_hooks *, struct sweeper *, const struct destination *to, struct slice url)
    __attribute__((warn_unused_result));

#endif
