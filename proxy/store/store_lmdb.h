/* Owns making the store in a folder, which survives restarts. Must not know: freshness, requests. */
#ifndef UTFEED_PROXY_STORE_STORE_LMDB_H
#define UTFEED_PROXY_STORE_STORE_LMDB_H

#include "proxy/store/store.h"

/* path: a folder, which is made where it is missing. NULL: the store cannot be used; the reason was logged. */
struct store *store_lmdb_new(const char *path, size_t map_bytes);

#endif
