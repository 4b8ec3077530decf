/* Owns making the store in a Redis server, and its login. Must not know: freshness, requests. */
#ifndef UTFEED_PROXY_STORE_STORE_REDIS_H
#define UTFEED_PROXY_STORE_STORE_REDIS_H

#include "conf/conf.h"
#include "proxy/dns/resolve.h"
#include "proxy/store/store.h"

/* The strings belong to the caller and must outlive the store, but for user and password, which are copied. */
struct redis_settings {
	const struct conf_redis *where;
	const char *user, *password;   /* NULL: none */
	const char *prefix;            /* of every key */
	bool tls;                      /* never with a path: a server must prove that it has the name utfeed knows */
	const char *ca_file;           /* authorities trusted for that; NULL: the system's list */
	struct resolver_options names; /* by which the servers' names are looked up */

	uint64_t timeout_ms;           /* a server that does not answer for so long counts as away */
};
/* NULL: the store cannot be made; the reason was logged. A server that is away is no such reason: lookups miss until it
 * can be reached. */
struct store *store_redis_new(const struct redis_settings *);
/* Whether store_redis_new() would refuse these settings. why: the reason, and whether ca_file is to blame. */
struct store_redis_why { char text[512]; bool ca_file; };
bool store_redis_refuses(const struct redis_settings *, struct store_redis_why *);
/* The hash tag in the keys of a cluster's shard. */
const char *store_redis_tag(size_t shard);
/* Another user and password (copied; NULL: none), from the next connection on. -1: out of memory, and nothing was
 * done. */
int store_redis_login(struct store *, const char *user, const char *password) __attribute__((warn_unused_result));

#endif
