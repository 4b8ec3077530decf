/* Owns the choice of the entry that a full cache gives up next: S3-FIFO (Yang, Zhang, Qiu, Yue and Rashmi, SOSP 2023).
 * New entries wait in a small queue. An entry with another hit moves to the main queue; others leave early,
 * and the queue remembers their hashes for a while (ghosts).
 * Must not know: what entries are, locks. Chosen by tests/bench/bench_eviction.c. */
#ifndef UTFEED_PROXY_STORE_EVICTION_H
#define UTFEED_PROXY_STORE_EVICTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

TAILQ_HEAD(eviction_list, eviction_node);

/* Embedded in its owner. */
struct eviction_node {
	TAILQ_ENTRY(eviction_node) link;
	/* the owner sets hash and bytes before it inserts the node, and does not change them while it is in */
	uint64_t hash;
	size_t bytes;
	uint8_t hits;                  /* up to EVICTION_HITS_MAX; one less each time it is spared */
	bool main;                     /* it stands in the main queue */
	uint32_t seen;                 /* for the owner, who may change it at any time */
};
enum { EVICTION_HITS_MAX = 3, EVICTION_SLACK_SHARE = 20 };       /* the slack is a 20th of the budget */

struct eviction_queue { struct eviction_list list; size_t bytes; };
struct eviction_ghost { uint32_t mark, when; };

struct eviction {
	struct eviction_queue small, main;
	size_t budget, small_max, main_max;
	struct eviction_ghost *ghosts;
	size_t ghost_mask;
	uint32_t ghost_clock;          /* KiB that have left from the small queue */
	size_t ghost_rest;             /* bytes beyond those KiB */
};

/* budget: the most bytes in all; slots: about how many entries to expect. -1: out of memory. */
int eviction_init(struct eviction *, size_t budget, size_t slots) __attribute__((warn_unused_result));
void eviction_destroy(struct eviction *);      /* frees no node */
size_t eviction_memory(const struct eviction *);

void eviction_insert(struct eviction *, struct eviction_node *);
void eviction_remove(struct eviction *, struct eviction_node *);
/* Inserts a node again after eviction_remove(), with the hits and the queue it had. */
void eviction_restore(struct eviction *, struct eviction_node *);
/* bytes: all that is stored and what is about to come in. Removes the node that has to go and returns it. NULL: none
 * has to go (yet).
 * A large node whose turn it is stays while its removal would leave the cache below its budget by the slack or more.
 * A node larger than twice the slack is passed over for the next one that leaves no larger gap. So a full cache stays
 * within the slack of its budget, both ways, unless every node is larger than that: then one of them goes
 * nevertheless. */
struct eviction_node *eviction_victim(struct eviction *, size_t bytes);

static inline void eviction_hit(struct eviction_node *node)
{
	if (node->hits < EVICTION_HITS_MAX)
		node->hits++;
}

#endif
