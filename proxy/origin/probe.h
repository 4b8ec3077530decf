/* Owns finding out, before anything is asked, whether an origin can be reached and proves who it is. A connection is
 * made as a fetch would make it, and kept for the fetch that follows.
 * Must not know: requests, why it is asked. */
#ifndef UTFEED_PROXY_ORIGIN_PROBE_H
#define UTFEED_PROXY_ORIGIN_PROBE_H

#include <stddef.h>
#include <stdint.h>

struct fetch_pool;
struct failure;
struct dial_target;
struct probe;

/* failure NULL: it can. The handle is no longer valid. */
typedef void probe_done_f(void *arg, const struct failure *);

/* done() is called from the loop, never from within this call. max_connections: to the origin at a time; 0: no
 * limit. NULL: out of memory. */
struct probe *probe_start(struct fetch_pool *, const struct dial_target *, size_t max_connections,
    probe_done_f *done, void *arg);
void probe_cancel(struct probe **);

#endif
