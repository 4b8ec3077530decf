/* Owns how often each client address has asked lately (ip_client()), for a rate with a burst. One for all workers,
 * under locks of its own; it outlasts a reload.
 * Must not know: requests, what becomes of a client that asks too often.
 * Invariant: its memory is fixed, room for CLIENT_RATE_CLIENTS_MAX clients; of more than that, those are forgotten
 * first that have asked least. Clients cannot choose whom they share a place with: the table hashes with a key. */
#ifndef UTFEED_PROXY_SETTINGS_CLIENT_RATE_H
#define UTFEED_PROXY_SETTINGS_CLIENT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/cidr.h"

enum { CLIENT_RATE_CLIENTS_MAX = 65536 };

struct client_rate;
struct client_rate_limit {
	uint64_t per_hour;             /* at least 1 */
	unsigned burst;                /* requests at once; at least 1 */
};

/* One reference. NULL: out of memory. */
struct client_rate *client_rate_new(void);
struct client_rate *client_rate_ref(struct client_rate *);
void client_rate_unref(struct client_rate **);         /* sets it to NULL; it may be NULL already */
/* Whether the client may make a request now, which then counts. If not, *wait_s is the whole seconds until it may, at
 * least 1. now_us: of a monotonic clock. */
bool client_rate_ask(struct client_rate *, const struct client_rate_limit *, const struct ip *client, uint64_t now_us,
    unsigned *wait_s) __attribute__((warn_unused_result));

/* The same by the key of a bucket, which is that of an address or any other keyed hash. */
uint64_t client_rate_key(const struct ip *client);
bool client_rate_ask_key(struct client_rate *, const struct client_rate_limit *, uint64_t key, uint64_t now_us,
    unsigned *wait_s);
/* Whether it would find no room; nothing counts. */
bool client_rate_is_full(struct client_rate *, const struct client_rate_limit *, uint64_t key, uint64_t now_us);
/* One that was let in under that limit does not count after all. */
void client_rate_give_back(struct client_rate *, const struct client_rate_limit *, uint64_t key);

#endif
