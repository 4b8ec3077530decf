/* Owns making one store of several that share a thread, each with keys of its own: where a cluster has many servers.
 * Must not know: which server has a shard. */
#ifndef UTFEED_PROXY_STORE_STORE_SHARDS_H
#define UTFEED_PROXY_STORE_STORE_SHARDS_H

#include "proxy/store/store.h"

/* Fixed: processes that share the servers have to agree. */
enum { STORE_SHARDS = 16 };
/* Stores with a thread, which is that of the first one. They belong to the new store. NULL: out of memory, and they
 * do not. */
struct store *store_shards_new(struct store *const of[static STORE_SHARDS]);

#endif
