/* DNS answers by name; see dns_cache.h. */
#include "proxy/dns/dns_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/base/hash.h"

enum { TTL_MIN_S = 1, TTL_MAX_S = 3600, PARTIAL_MS = 10000, ABSENT_MS = 5000 };

struct dns_entry {
	TAILQ_ENTRY(dns_entry) age;        /* youngest first */
	LIST_ENTRY(dns_entry) chain;
	uint64_t until_ms;
	struct dns_answers answers;
	char name[];
};

LIST_HEAD(dns_bucket, dns_entry);

struct dns_cache {
	size_t cap, count;
	TAILQ_HEAD(ages, dns_entry) ages;
	struct dns_bucket buckets[];       /* as many as cap */
};

uint64_t dns_answers_lifetime_ms(const struct dns_answers *answers)
{
	uint32_t ttl = TTL_MAX_S;
	unsigned found = 0, absent = 0;

	for (int f = 0; f < DNS_FAMILIES; f++) {
		const struct dns_answer *of = &answers->of[f];

		found += of->status == DNS_OK;
		absent += of->status == DNS_NOT_FOUND;
		if (of->status == DNS_OK && of->ttl_s < ttl)
			ttl = of->ttl_s;
	}
	if (!found)
		return absent == DNS_FAMILIES ? ABSENT_MS : 0;
	if (ttl < TTL_MIN_S)
		ttl = TTL_MIN_S;
	if (found + absent < DNS_FAMILIES && ttl > PARTIAL_MS / 1000)     /* the other family may only have been slow */
		return PARTIAL_MS;
	return (uint64_t)ttl * 1000;
}

struct dns_cache *dns_cache_new(size_t cap)
{
	struct dns_cache *cache = calloc(1, sizeof *cache + cap * sizeof(struct dns_bucket));

	if (!cache)
		return NULL;
	cache->cap = cap;
	TAILQ_INIT(&cache->ages);
	return cache;
}

/* The hash is keyed: a client that names many hosts can at worst push other names out. */
static struct dns_bucket *dns_cache_bucket_of(struct dns_cache *cache, const char *name)
{
	return &cache->buckets[hash_keyed(name, strlen(name)) % cache->cap];
}

static void dns_cache_entry_free(struct dns_cache *cache, struct dns_entry *entry)
{
	TAILQ_REMOVE(&cache->ages, entry, age);
	LIST_REMOVE(entry, chain);
	cache->count--;
	free(entry);
}

static struct dns_entry *dns_cache_entry_find(struct dns_cache *cache, const char *name)
{
	struct dns_entry *entry;

	LIST_FOREACH(entry, dns_cache_bucket_of(cache, name), chain)
		if (!strcmp(entry->name, name))
			return entry;
	return NULL;
}

const struct dns_answers *dns_cache_get(struct dns_cache *cache, const char *name, uint64_t now_ms)
{
	struct dns_entry *entry = dns_cache_entry_find(cache, name);

	if (!entry)
		return NULL;
	if (now_ms < entry->until_ms)
		return &entry->answers;
	dns_cache_entry_free(cache, entry);
	return NULL;
}

void dns_cache_put(struct dns_cache *cache, const char *name, const struct dns_answers *answers, uint64_t now_ms)
{
	uint64_t lifetime = dns_answers_lifetime_ms(answers);
	size_t len = strlen(name);
	struct dns_entry *entry = dns_cache_entry_find(cache, name);

	if (entry)
		dns_cache_entry_free(cache, entry);
	if (!lifetime)
		return;
	if (cache->count == cache->cap)
		dns_cache_entry_free(cache, TAILQ_LAST(&cache->ages, ages));
	if (!(entry = malloc(sizeof *entry + len + 1)))
		return;
	entry->until_ms = now_ms + lifetime;
	entry->answers = *answers;
	memcpy(entry->name, name, len + 1);
	TAILQ_INSERT_HEAD(&cache->ages, entry, age);
	LIST_INSERT_HEAD(dns_cache_bucket_of(cache, name), entry, chain);
	cache->count++;
}

void dns_cache_clear(struct dns_cache *cache)
{
	while (!TAILQ_EMPTY(&cache->ages))
		dns_cache_entry_free(cache, TAILQ_FIRST(&cache->ages));
}

void dns_cache_free(struct dns_cache **cp)
{
	if (!*cp)
		return;
	dns_cache_clear(*cp);
	free(*cp);
	*cp = NULL;
}
