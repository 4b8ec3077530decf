/* The URLs of the latest purges by prefix; see prefixes.h. */
#include "proxy/cache/prefixes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "proxy/base/hash.h"
#include "proxy/store/store.h"

enum { PREFIX_BUCKETS = 256 };

struct prefix {
	TAILQ_ENTRY(prefix) age;
	LIST_ENTRY(prefix) link;       /* in its bucket */
	uint64_t number;               /* of its latest purge */
	size_t len;
	char url[];
};

LIST_HEAD(prefix_bucket, prefix);

struct prefixes {
	pthread_mutex_t lock;
	_Atomic uint64_t n;            /* purges so far, whose numbers begin with 1; changes under the lock */
	uint64_t forgotten;            /* the number of the latest purge that counts for every URL */
	size_t known;
	TAILQ_HEAD(prefixes_list, prefix) latest;   /* the latest first */
	struct prefix_bucket buckets[PREFIX_BUCKETS];
};

struct prefixes *prefixes_new(void)
{
	struct prefixes *prefixes = calloc(1, sizeof *prefixes);

	if (prefixes) {
		pthread_mutex_init(&prefixes->lock, NULL);
		TAILQ_INIT(&prefixes->latest);
	}
	return prefixes;
}

static void prefix_forget(struct prefixes *prefixes, struct prefix *prefix)
{
	TAILQ_REMOVE(&prefixes->latest, prefix, age);
	LIST_REMOVE(prefix, link);
	prefixes->known--;
	free(prefix);
}

void prefixes_free(struct prefixes **pp)
{
	struct prefixes *prefixes = *pp;

	*pp = NULL;
	if (!prefixes)
		return;
	while (prefixes->known)
		prefix_forget(prefixes, TAILQ_FIRST(&prefixes->latest));
	pthread_mutex_destroy(&prefixes->lock);
	free(prefixes);
}

uint64_t prefixes_number(const struct prefixes *prefixes)
{
	return atomic_load(&prefixes->n);
}

/* Its place in the list is the caller's to give. NULL: out of memory. */
static struct prefix *prefix_get(struct prefixes *prefixes, const char *url, size_t len)
{
	struct prefix_bucket *bucket = &prefixes->buckets[hash_keyed(url, len) % PREFIX_BUCKETS];
	struct prefix *prefix;

	LIST_FOREACH(prefix, bucket, link)
		if (prefix->len == len && !memcmp(prefix->url, url, len)) {
			TAILQ_REMOVE(&prefixes->latest, prefix, age);
			return prefix;
		}
	if (!(prefix = malloc(sizeof *prefix + len)))
		return NULL;
	prefix->len = len;
	memcpy(prefix->url, url, len);
	LIST_INSERT_HEAD(bucket, prefix, link);
	prefixes->known++;
	return prefix;
}

void prefixes_add(struct prefixes *prefixes, const char *url, size_t len)
{
	pthread_mutex_lock(&prefixes->lock);
	struct prefix *prefix = prefix_get(prefixes, url, len);
	uint64_t number = atomic_fetch_add(&prefixes->n, 1) + 1;

	if (!prefix)
		prefixes->forgotten = number;
	else {
		prefix->number = number;
		TAILQ_INSERT_HEAD(&prefixes->latest, prefix, age);
	}
	if (prefixes->known > PREFIXES_MAX) {
		struct prefix *oldest = TAILQ_LAST(&prefixes->latest, prefixes_list);

		if (oldest->number > prefixes->forgotten)
			prefixes->forgotten = oldest->number;
		prefix_forget(prefixes, oldest);
	}
	pthread_mutex_unlock(&prefixes->lock);
}

bool prefixes_purged(struct prefixes *prefixes, uint64_t since, const char *key, size_t len)
{
	struct prefix *prefix;

	if (prefixes_number(prefixes) == since)
		return false;
	pthread_mutex_lock(&prefixes->lock);
	bool purged = prefixes->forgotten > since;
	TAILQ_FOREACH(prefix, &prefixes->latest, age) {
		if (purged || prefix->number <= since)
			break;
		purged = store_purges(PURGE_PREFIX, prefix->url, prefix->len, key, len);
	}
	pthread_mutex_unlock(&prefixes->lock);
	return purged;
}
