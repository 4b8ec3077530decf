/* DNS answers by name; see dns_cache.h. */
#include "proxy/dns/dns_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/base/hash.h"

enum { TTL_MIN_S = 1, TTL_MAX_S = 3600, PARTIAL_MS = 10000 };

struct entry {
	TAILQ_ENTRY(entry) age;        /* youngest first */
	LIST_ENTRY(entry) chain;
	uint64_t until_ms;
	struct dns_answers answers;
	char name[];
};

LIST_HEAD(bucket, entry);

struct dns_cache {
	size_t cap, count;
	uint64_t absent_ms;
	TAILQ_HEAD(ages, entry) ages;
	struct bucket buckets[];       /* as many as cap */
};

uint64_t dns_answers_lifetime_ms(const struct dns_answers *a, uint64_t absent_ms)
{
	uint32_t ttl = TTL_MAX_S;
	unsigned found = 0, absent = 0;

	for (int f = 0; f < DNS_FAMILIES; f++) {
		const struct dns_answer *of = &a->of[f];

		found += of->status == DNS_OK;
		absent += of->status == DNS_NOT_FOUND;
		if (of->status == DNS_OK && of->ttl_s < ttl)
			ttl = of->ttl_s;
	}
	if (!found)
		return absent == DNS_FAMILIES ? absent_ms : 0;
	if (ttl < TTL_MIN_S)
		ttl = TTL_MIN_S;
	if (found + absent < DNS_FAMILIES && ttl > PARTIAL_MS / 1000)     /* the other family may only have been slow */
		return PARTIAL_MS;
	return (uint64_t)ttl * 1000;
}

struct dns_cache *dns_cache_new(size_t cap, uint64_t absent_ms)
{
	struct dns_cache *c = calloc(1, sizeof *c + cap * sizeof(struct bucket));

	if (!c)
		return NULL;
	c->cap = cap;
	c->absent_ms = absent_ms;
	TAILQ_INIT(&c->ages);
	return c;
}

/* The hash is keyed: a client that names many hosts can at worst push other names out. */
static struct bucket *dns_cache_bucket_of(struct dns_cache *c, const char *name)
{
	return &c->buckets[hash_keyed(name, strlen(name)) % c->cap];
}

static void dns_cache_entry_free(struct dns_cache *c, struct entry *e)
{
	TAILQ_REMOVE(&c->ages, e, age);
	LIST_REMOVE(e, chain);
	c->count--;
	free(e);
}

static struct entry *dns_cache_entry_find(struct dns_cache *c, const char *name)
{
	struct entry *e;

	LIST_FOREACH(e, dns_cache_bucket_of(c, name), chain)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

const struct dns_answers *dns_cache_get(struct dns_cache *c, const char *name, uint64_t now_ms)
{
	struct entry *e = dns_cache_entry_find(c, name);

	if (!e)
		return NULL;
	if (now_ms < e->until_ms)
		return &e->answers;
	dns_cache_entry_free(c, e);
	return NULL;
}

void dns_cache_put(struct dns_cache *c, const char *name, const struct dns_answers *answers, uint64_t now_ms)
{
	uint64_t lifetime = dns_answers_lifetime_ms(answers, c->absent_ms);
	size_t len = strlen(name);
	struct entry *e = dns_cache_entry_find(c, name);

	if (e)
		dns_cache_entry_free(c, e);
	if (!lifetime)
		return;
	if (c->count == c->cap)
		dns_cache_entry_free(c, TAILQ_LAST(&c->ages, ages));
	if (!(e = malloc(sizeof *e + len + 1)))
		return;
	e->until_ms = now_ms + lifetime;
	e->answers = *answers;
	memcpy(e->name, name, len + 1);
	TAILQ_INSERT_HEAD(&c->ages, e, age);
	LIST_INSERT_HEAD(dns_cache_bucket_of(c, name), e, chain);
	c->count++;
}

void dns_cache_clear(struct dns_cache *c)
{
	while (!TAILQ_EMPTY(&c->ages))
		dns_cache_entry_free(c, TAILQ_FIRST(&c->ages));
}

void dns_cache_free(struct dns_cache **cp)
{
	if (!*cp)
		return;
	dns_cache_clear(*cp);
	free(*cp);
	*cp = NULL;
}
