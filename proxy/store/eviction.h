/* Owns which entry a full cache gives up next: S3-FIFO (Yang, Zhang, Qiu, Yue and Rashmi, SOSP 2023). New ones wait in
 * a small queue; who is asked for again moves to the main one; who is not leaves early, and is remembered for a while
 * by its hash.
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
	/* set by the owner before it is inserted, as bytes is; not changed while it is in */
	uint64_t hash;
	size_t bytes;
	uint8_t hits;                  /* since it came or was last spared, up to EVICTION_HITS_MAX */
	bool main;
};
enum { EVICTION_HITS_MAX = 3, EVICTION_SLACK_SHARE = 20 };       /* slack: that share of the budget */

struct eviction_queue { struct eviction_list list; size_t bytes; };
struct eviction_ghost { uint32_t mark, when; };

struct eviction {
	struct eviction_queue small, main;
	size_t budget, small_max, main_max;
	struct eviction_ghost *ghosts;
	size_t ghost_mask;
	uint32_t ghost_clock;          /* bytes that left unasked for, in KiB */
	size_t ghost_rest;
};

/* budget: of bytes in all; slots: about how many entries that will be. -1: out of memory. */
int eviction_init(struct eviction *, size_t budget, size_t slots) __attribute__((warn_unused_result));
void eviction_destroy(struct eviction *);      /* its own memory; nodes are their owners' */
size_t eviction_memory(const struct eviction *);

void eviction_insert(struct eviction *, struct eviction_node *);
void eviction_remove(struct eviction *, struct eviction_node *);
/* Back in after eviction_remove(), with its past. */
void eviction_restore(struct eviction *, struct eviction_node *);
/* While bytes are in, what is about to come in counted: removes who has to go and returns it. NULL: nobody.
 * A large one waits at its turn until what is in is so much over the budget that less than the slack will be missing
 * without it; one that is larger than twice the slack is passed over for the next that leaves no larger gap. So a full
 * cache stays within the slack of its budget, both ways, unless all that is in is larger than that: then one of them
 * goes, and what is missing is its gap. */
struct eviction_node *eviction_victim(struct eviction *, size_t bytes);

static inline void eviction_hit(struct eviction_node *n)
{
	if (n->hits < EVICTION_HITS_MAX)
		n->hits++;
}

#endif
