/* Owns what the files of the store in memory share: its entries, its room and its life (store_memory.c), and purging
 * (store_memory_purge.c). Only store_memory*.c include it. */
#ifndef UTFEED_PROXY_STORE_STORE_MEMORY_INTERNAL_H
#define UTFEED_PROXY_STORE_STORE_MEMORY_INTERNAL_H

#include <pthread.h>
#include <string.h>

#include "proxy/base/hash.h"
#include "proxy/store/eviction.h"
#include "proxy/store/purge_marks.h"
#include "proxy/store/store_memory.h"

struct memory_node {
	struct eviction_node eviction;         /* the first member; its hash is the key's, seen as in purge_marks.h */
	LIST_ENTRY(memory_node) by_key, by_url;
	struct entry *entry;                   /* NULL: the place where the sweep stands */
	size_t body;                           /* bytes of body and gzip form, which eviction.bytes includes */
};
LIST_HEAD(memory_bucket, memory_node);

struct store_memory {
	struct store store;
	pthread_mutex_t lock;                  /* guards everything below */
	uint64_t secret[2];
	size_t budget, room, max_entry, mask;  /* room: the most that one entry and its gzip form may take */
	struct memory_bucket *by_key, *by_url;
	struct purge_marks *marks;
	size_t sweeps_at;                      /* the bucket of by_url in which the sweep stands */
	struct memory_node sweeps_here;        /* it stands here; by_url.le_prev NULL: at the bucket's beginning */
	struct eviction_list dead;             /* entries that a lookup found to be gone, to be freed by the sweep */
	struct eviction eviction;
	size_t reserved;                       /* bytes of bodies still being made, which stats.bytes includes */
	struct store_stats stats;              /* its bytes include these tables */
};

static inline struct store_memory *memory_of(struct store *store)
{
	return (struct store_memory *)(void *)store;
}

static inline struct memory_node *node_of(struct eviction_node *node)
{
	return (struct memory_node *)(void *)node;
}

static inline struct memory_bucket *memory_url_bucket(struct store_memory *memory, const char *key, size_t len)
{
	const char *end = memchr(key, '\n', len);

	return &memory->by_url[hash_sip(memory->secret, key, end ? (size_t)(end - key) : len) & memory->mask];
}

/* Under the lock. */
void memory_count(struct store_memory *, struct memory_node *);
void memory_uncount(struct store_memory *, struct memory_node *);
void memory_drop(struct store_memory *, struct memory_node *, struct eviction_list *dead);
/* Carries out what marks say of an entry that has not seen all of them. NULL: the entry is gone. */
struct memory_node *memory_judge(struct store_memory *, struct memory_node *, struct eviction_list *dead)
    __attribute__((noinline));
/* Releases the lock, then frees the dead nodes. */
void memory_unlock(struct store_memory *, struct eviction_list *dead);
/* The purge of struct store_ops. It sweeps everything at once: tests and the end of the store have no loop. */
int64_t memory_purge(struct store *, enum store_purge, const char *url, size_t len, bool soft, int64_t now);

#endif
