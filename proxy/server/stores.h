/* Owns which stores the configuration asks for, and how large the one in memory is. Must not know: what is stored. */
#ifndef UTFEED_PROXY_SERVER_STORES_H
#define UTFEED_PROXY_SERVER_STORES_H

#include <stddef.h>

struct cache;
struct settings;

/* Opens the stores for so many workers, and the cache over them. The settings must outlive it. NULL: logged. */
struct cache *stores_open(const struct settings *, size_t workers);

#endif
