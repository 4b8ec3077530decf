/* Owns which stores the configuration asks for, and how large the one in memory is. Must not know: what is stored. */
#ifndef UTFEED_PROXY_SERVER_STORES_H
#define UTFEED_PROXY_SERVER_STORES_H

#include <stddef.h>

struct cache;
struct conf;
struct settings;
struct store;

/* Makes the folder of cache-lmdb, which the sandbox has to know before the store is opened, and returns how many bytes
 * the store in memory has for so many workers, which the system's files say. */
size_t stores_prepare(const struct settings *, size_t workers);
/* Opens the stores, that in memory for so many bytes, and the cache over them. The settings must outlive it. *redis:
 * that of the cache's stores; NULL: it has none. NULL: logged. */
struct cache *stores_open(const struct settings *, size_t memory_bytes, struct store **redis);
/* After a reload: the user and password that conf has count from the next connection on. redis may be NULL. */
void stores_renew(struct store *redis, const struct conf *);

#endif
