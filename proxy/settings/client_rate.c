/* Token buckets of client addresses; see client_rate.h. */
#include "proxy/settings/client_rate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/hash.h"

enum { RATE_WAYS = 8, RATE_SETS = CLIENT_RATE_CLIENTS_MAX / RATE_WAYS, RATE_LOCKS = 64 };
#define RATE_HOUR_US UINT64_C(3600000000)
#define RATE_SECOND_US UINT64_C(1000000)

/* A bucket drains by one request each 1/rate; time tells how full it is, and nothing runs to empty it. */
struct bucket {
	uint64_t client;               /* keyed hash of the address; of two clients with one hash in 2^64 both count */
	uint64_t empty_us;             /* when it is empty again; in the past: now */
};

struct client_rate {
	atomic_uint refs;
	pthread_mutex_t locks[RATE_LOCKS];     /* number n guards the sets n, n + RATE_LOCKS and so on */
	struct bucket sets[RATE_SETS][RATE_WAYS];
};

struct client_rate *client_rate_new(void)
{
	struct client_rate *rate = calloc(1, sizeof *rate);

	if (!rate)
		return NULL;
	atomic_init(&rate->refs, 1);
	for (int i = 0; i < RATE_LOCKS; i++)
		pthread_mutex_init(&rate->locks[i], NULL);
	return rate;
}

struct client_rate *client_rate_ref(struct client_rate *rate)
{
	atomic_fetch_add_explicit(&rate->refs, 1, memory_order_relaxed);
	return rate;
}

void client_rate_unref(struct client_rate **rp)
{
	struct client_rate *rate = *rp;

	*rp = NULL;
	if (!rate || atomic_fetch_sub_explicit(&rate->refs, 1, memory_order_acq_rel) > 1)
		return;
	for (int i = 0; i < RATE_LOCKS; i++)
		pthread_mutex_destroy(&rate->locks[i]);
	free(rate);
}

uint64_t client_rate_key(const struct ip *address)
{
	struct ip client = ip_client(address);
	uint8_t key[1 + sizeof client.bytes];

	key[0] = client.ipv6;
	memcpy(key + 1, client.bytes, sizeof client.bytes);
	return hash_keyed(key, sizeof key);
}

/* NULL: it has asked nothing lately, or was forgotten. */
static struct bucket *bucket_find(struct bucket set[RATE_WAYS], uint64_t client)
{
	for (struct bucket *bucket = set; bucket < set + RATE_WAYS; bucket++)
		if (bucket->client == client)
			return bucket;
	return NULL;
}

/* The client's bucket, or in its place that of the client which has asked least. */
static struct bucket *bucket_take(struct bucket set[RATE_WAYS], uint64_t client)
{
	struct bucket *least = bucket_find(set, client);

	if (least)
		return least;
	least = set;
	for (struct bucket *bucket = set; bucket < set + RATE_WAYS; bucket++)
		if (bucket->empty_us < least->empty_us)
			least = bucket;
	*least = (struct bucket){ client, 0 };
	return least;
}

/* Fills the bucket by a request. Returns 0, or how long the client has to wait if the request finds no room. A level
 * above the brim is of a former, slower rate, and does not count. */
static uint64_t bucket_fill(struct bucket *bucket, const struct client_rate_limit *limit, uint64_t now_us)
{
	uint64_t each_us = RATE_HOUR_US / limit->per_hour, brim_us = now_us + each_us * limit->burst;

	if (bucket->empty_us < now_us)
		bucket->empty_us = now_us;
	if (bucket->empty_us > brim_us)
		bucket->empty_us = brim_us;
	if (bucket->empty_us + each_us > brim_us)
		return bucket->empty_us + each_us - brim_us;
	bucket->empty_us += each_us;
	return 0;
}

/* The set of a key, whose lock is taken. */
static struct bucket *rate_lock(struct client_rate *rate, uint64_t key)
{
	size_t set = key % RATE_SETS;

	pthread_mutex_lock(&rate->locks[set % RATE_LOCKS]);
	return rate->sets[set];
}

static void rate_unlock(struct client_rate *rate, uint64_t key)
{
	pthread_mutex_unlock(&rate->locks[key % RATE_SETS % RATE_LOCKS]);
}

bool client_rate_ask_key(struct client_rate *rate, const struct client_rate_limit *limit, uint64_t key, uint64_t now_us,
    unsigned *wait_s)
{
	uint64_t wait_us = bucket_fill(bucket_take(rate_lock(rate, key), key), limit, now_us);

	rate_unlock(rate, key);
	*wait_s = (unsigned)((wait_us + RATE_SECOND_US - 1) / RATE_SECOND_US);
	return !wait_us;
}

bool client_rate_ask(struct client_rate *rate, const struct client_rate_limit *limit, const struct ip *client,
    uint64_t now_us, unsigned *wait_s)
{
	return client_rate_ask_key(rate, limit, client_rate_key(client), now_us, wait_s);
}

bool client_rate_is_full(struct client_rate *rate, const struct client_rate_limit *limit, uint64_t key, uint64_t now_us)
{
	const struct bucket *bucket = bucket_find(rate_lock(rate, key), key);
	struct bucket tried = bucket ? *bucket : (struct bucket){ key, 0 };

	rate_unlock(rate, key);
	return bucket_fill(&tried, limit, now_us);
}

void client_rate_give_back(struct client_rate *rate, const struct client_rate_limit *limit, uint64_t key)
{
	uint64_t each_us = RATE_HOUR_US / limit->per_hour;
	struct bucket *bucket = bucket_find(rate_lock(rate, key), key);

	if (bucket)
		bucket->empty_us -= bucket->empty_us < each_us ? bucket->empty_us : each_us;
	rate_unlock(rate, key);
}
