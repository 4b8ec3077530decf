/* Owns which stores the configuration asks for, and how large the one in memory is. Must not know: what is stored. */
#ifndef UTFEED_PROXY_SERVER_STORES_H
#define UTFEED_PROXY_SERVER_STORES_H

#include <stddef.h>
#include <stdio.h>

struct cache;
struct conf;
struct settings;
struct store;

/* Logs a warning if all that the configuration allows may need more memory than there is. */
void stores_weigh(const struct settings *);
/* Else writes both numbers: what it may need, and how much there is. */
void stores_tell_memory(const struct settings *, FILE *out);
/* Makes the folder of cache-lmdb, because the sandbox allows only folders that are there. Returns the budget of the
 * store in memory. It depends on the number of workers and on files of the system, which the sandbox hides later. */
size_t stores_prepare(const struct settings *, size_t workers);
/* Opens the stores and the cache over them. memory_bytes is the budget of the store in memory. The settings must
 * outlive the cache. *redis: the cache's store in Redis; NULL: it has none. NULL: logged. */
struct cache *stores_open(const struct settings *, size_t memory_bytes, struct store **redis);
/* After a reload: the user and password that conf has count from the next connection on. redis may be NULL. */
void stores_renew(struct store *redis, const struct conf *);

#endif
