/* S3-FIFO; see eviction.h. */
#include "proxy/store/eviction.h"

#include <stdlib.h>

enum { SMALL_SHARE = 10, PROMOTE_HITS = 2, GHOST_WAYS = 4, GHOST_UNIT = 1024 };

int eviction_init(struct eviction *eviction, size_t budget, size_t slots)
{
	size_t n = GHOST_WAYS;

	while (n < slots)
		n *= 2;
	TAILQ_INIT(&eviction->small.list);
	TAILQ_INIT(&eviction->main.list);
	eviction->small.bytes = eviction->main.bytes = 0;
	eviction->budget = budget;
	eviction->small_max = budget / SMALL_SHARE;
	eviction->main_max = budget - eviction->small_max;
	eviction->ghost_mask = n - 1;
	eviction->ghost_clock = 0;
	eviction->ghost_rest = 0;
	eviction->ghosts = calloc(n, sizeof *eviction->ghosts);
	return eviction->ghosts ? 0 : -1;
}

void eviction_destroy(struct eviction *eviction)
{
	free(eviction->ghosts);
	eviction->ghosts = NULL;
}

size_t eviction_memory(const struct eviction *eviction)
{
	return (eviction->ghost_mask + 1) * sizeof *eviction->ghosts;
}

/* Zero marks a free slot. */
static uint32_t ghost_mark(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1;
}

static struct eviction_ghost *ghost_set(const struct eviction *eviction, uint64_t hash)
{
	return &eviction->ghosts[hash & eviction->ghost_mask & ~(size_t)(GHOST_WAYS - 1)];
}

static void ghost_add(struct eviction *eviction, const struct eviction_node *node)
{
	struct eviction_ghost *set = ghost_set(eviction, node->hash), *oldest = set;

	eviction->ghost_rest += node->bytes;
	eviction->ghost_clock += (uint32_t)(eviction->ghost_rest / GHOST_UNIT);
	eviction->ghost_rest %= GHOST_UNIT;
	for (int i = 0; i < GHOST_WAYS && oldest->mark; i++)
		if (!set[i].mark || eviction->ghost_clock - set[i].when > eviction->ghost_clock - oldest->when)
			oldest = &set[i];
	*oldest = (struct eviction_ghost){ ghost_mark(node->hash), eviction->ghost_clock };
}

/* Whether a node of this hash has left lately. Its ghost is removed. */
static bool ghost_take(struct eviction *eviction, const struct eviction_node *node)
{
	struct eviction_ghost *set = ghost_set(eviction, node->hash);

	for (int i = 0; i < GHOST_WAYS; i++)
		if (set[i].mark == ghost_mark(node->hash)) {
			set[i].mark = 0;
			return eviction->ghost_clock - set[i].when <= eviction->main_max / GHOST_UNIT;
		}
	return false;
}

static struct eviction_queue *queue_of(struct eviction *eviction, const struct eviction_node *node)
{
	return node->main ? &eviction->main : &eviction->small;
}

void eviction_remove(struct eviction *eviction, struct eviction_node *node)
{
	struct eviction_queue *queue = queue_of(eviction, node);

	TAILQ_REMOVE(&queue->list, node, link);
	queue->bytes -= node->bytes;
}

void eviction_restore(struct eviction *eviction, struct eviction_node *node)
{
	struct eviction_queue *queue = queue_of(eviction, node);

	TAILQ_INSERT_TAIL(&queue->list, node, link);
	queue->bytes += node->bytes;
}

void eviction_insert(struct eviction *eviction, struct eviction_node *node)
{
	node->hits = 0;
	node->main = ghost_take(eviction, node);
	eviction_restore(eviction, node);
}

/* True: n goes. A node of the small queue that was asked for PROMOTE_HITS times moves to the main queue instead. */
static bool small_goes(struct eviction *eviction, struct eviction_node *node)
{
	if (node->hits < PROMOTE_HITS)
		return true;
	eviction_remove(eviction, node);
	node->hits = 0;
	node->main = true;
	eviction_restore(eviction, node);
	return false;
}

/* True: n goes. A node of the main queue that was asked for is spared instead and goes to the queue's end. */
static bool main_goes(struct eviction *eviction, struct eviction_node *node)
{
	if (!node->hits)
		return true;
	eviction_remove(eviction, node);
	node->hits--;
	eviction_restore(eviction, node);
	return false;
}

/* The next node to go, which stays in its queue. A node of more than most bytes is passed over; with stop set it ends
 * the search: NULL. */
static struct eviction_node *eviction_next(struct eviction *eviction, size_t most, bool stop)
{
	struct eviction_node *small = TAILQ_FIRST(&eviction->small.list), *main = TAILQ_FIRST(&eviction->main.list),
	                     *node;

	while (small || main) {
		bool goes;

		if (!main || (small && eviction->small.bytes > eviction->small_max)) {
			node = small;
			small = TAILQ_NEXT(node, link);
			goes = small_goes(eviction, node);
		} else {
			node = main;
			main = TAILQ_NEXT(node, link);
			goes = main_goes(eviction, node);
		}
		if (!goes && !main)
			main = node;              /* it has just become the main queue's last */
		if (goes && node->bytes <= most)
			return node;
		if (goes && stop)
			break;
	}
	return NULL;
}

struct eviction_node *eviction_victim(struct eviction *eviction, size_t bytes)
{
	size_t slack = eviction->budget / EVICTION_SLACK_SHARE;
	struct eviction_node *node;

	if (bytes <= eviction->budget)
		return NULL;
	node = eviction_next(eviction, bytes - (eviction->budget - slack), bytes <= eviction->budget + slack);
	if (!node && bytes > eviction->budget + slack)
		node = eviction_next(eviction, SIZE_MAX, true);
	if (!node)
		return NULL;
	eviction_remove(eviction, node);
	if (!node->main)
		ghost_add(eviction, node);
	return node;
}
