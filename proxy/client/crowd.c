/* Connections by client address; see crowd.h. */
#include "proxy/client/crowd.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/base/hash.h"

enum { CROWD_BUCKETS = 4096 };

struct crowd {
	LIST_ENTRY(crowd) link;
	struct ip ip;                  /* as ip_client() has it */
	size_t count;
};

LIST_HEAD(crowd_bucket, crowd);

struct crowds {
	size_t count;
	struct crowd_bucket buckets[CROWD_BUCKETS];
};

struct crowds *crowds_new(void)
{
	return calloc(1, sizeof(struct crowds));
}

void crowds_free(struct crowds **cp)
{
	assert(!*cp || !(*cp)->count);
	free(*cp);
	*cp = NULL;
}

static bool crowd_has(const struct crowd *crowd, const struct ip *ip)
{
	return crowd->ip.ipv6 == ip->ipv6 && !memcmp(crowd->ip.bytes, ip->bytes, sizeof ip->bytes);
}

bool crowd_is_of(const struct crowd *crowd, const struct ip *address)
{
	struct ip ip = ip_client(address);

	return crowd && crowd_has(crowd, &ip);
}

static struct crowd *crowd_find(struct crowds *crowds, const struct ip *ip)
{
	struct crowd_bucket *bucket = &crowds->buckets[hash_keyed(ip->bytes, sizeof ip->bytes) % CROWD_BUCKETS];
	struct crowd *found;

	LIST_FOREACH(found, bucket, link)
		if (crowd_has(found, ip))
			return found;
	if (!(found = calloc(1, sizeof *found)))
		return NULL;
	found->ip = *ip;
	LIST_INSERT_HEAD(bucket, found, link);
	crowds->count++;
	return found;
}

enum crowd_answer crowd_join(struct crowds *crowds, const struct ip *address, size_t max, struct crowd **joined)
{
	struct ip ip = ip_client(address);
	struct crowd *found;

	if (!(found = crowd_find(crowds, &ip)))
		return CROWD_NO_MEMORY;
	if (found->count >= max)
		return CROWD_FULL;
	found->count++;
	*joined = found;
	return CROWD_JOINED;
}

void crowd_leave(struct crowds *crowds, struct crowd **cp)
{
	struct crowd *crowd = *cp;

	*cp = NULL;
	if (!crowd || --crowd->count)
		return;
	LIST_REMOVE(crowd, link);
	crowds->count--;
	free(crowd);
}
