/* Owns the URLs of the latest purges by prefix, so that what was fetched before a purge is not stored behind it.
 * Must not know: stores, entries. Any thread may call. Invariant: a purge that is no longer remembered counts for every
 * URL. A URL that is purged again takes no more room. */
#ifndef UTFEED_PROXY_CACHE_PREFIXES_H
#define UTFEED_PROXY_CACHE_PREFIXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PREFIXES_MAX = 1024 };          /* URLs that are remembered, the latest */

struct prefixes;

struct prefixes *prefixes_new(void);   /* NULL: out of memory */
void prefixes_free(struct prefixes **);
/* The number of the latest purge. */
uint64_t prefixes_number(const struct prefixes *);
void prefixes_add(struct prefixes *, const char *url, size_t len);
/* Whether a purge behind that number covers the key (store_purges()). */
bool prefixes_purged(struct prefixes *, uint64_t since, const char *key, size_t len);

#endif
