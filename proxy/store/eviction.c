/* S3-FIFO; see eviction.h. */
#include "proxy/store/eviction.h"

#include <stdlib.h>

enum { SMALL_SHARE = 10, PROMOTE_HITS = 2, GHOST_WAYS = 4, GHOST_UNIT = 1024 };

int eviction_init(struct eviction *e, size_t budget, size_t slots)
{
	size_t n = GHOST_WAYS;

	while (n < slots)
		n *= 2;
	TAILQ_INIT(&e->small.list);
	TAILQ_INIT(&e->main.list);
	e->small.bytes = e->main.bytes = 0;
	e->budget = budget;
	e->small_max = budget / SMALL_SHARE;
	e->main_max = budget - e->small_max;
	e->ghost_mask = n - 1;
	e->ghost_clock = 0;
	e->ghost_rest = 0;
	e->ghosts = calloc(n, sizeof *e->ghosts);
	return e->ghosts ? 0 : -1;
}

void eviction_destroy(struct eviction *e)
{
	free(e->ghosts);
	e->ghosts = NULL;
}

size_t eviction_memory(const struct eviction *e)
{
	return (e->ghost_mask + 1) * sizeof *e->ghosts;
}

/* Zero marks a free slot. */
static uint32_t ghost_mark(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1;
}

static struct eviction_ghost *ghost_set(const struct eviction *e, uint64_t hash)
{
	return &e->ghosts[hash & e->ghost_mask & ~(size_t)(GHOST_WAYS - 1)];
}

static bool ghost_is_known(const struct eviction *e, const struct eviction_ghost *g)
{
	return g->mark && e->ghost_clock - g->when <= e->main_max / GHOST_UNIT;
}

static void ghost_add(struct eviction *e, const struct eviction_node *n)
{
	struct eviction_ghost *set = ghost_set(e, n->hash), *oldest = set;

	e->ghost_rest += n->bytes;
	e->ghost_clock += (uint32_t)(e->ghost_rest / GHOST_UNIT);
	e->ghost_rest %= GHOST_UNIT;
	for (int i = 0; i < GHOST_WAYS && oldest->mark; i++)
		if (!set[i].mark || e->ghost_clock - set[i].when > e->ghost_clock - oldest->when)
			oldest = &set[i];
	*oldest = (struct eviction_ghost){ ghost_mark(n->hash), e->ghost_clock };
}

/* Whether a node of this hash has left lately. Its ghost is removed. */
static bool ghost_take(struct eviction *e, const struct eviction_node *n)
{
	struct eviction_ghost *set = ghost_set(e, n->hash);

	for (int i = 0; i < GHOST_WAYS; i++)
		if (set[i].mark == ghost_mark(n->hash)) {
			bool known = ghost_is_known(e, &set[i]);

			set[i].mark = 0;
			return known;
		}
	return false;
}

static struct eviction_queue *queue_of(struct eviction *e, const struct eviction_node *n)
{
	return n->main ? &e->main : &e->small;
}

void eviction_remove(struct eviction *e, struct eviction_node *n)
{
	struct eviction_queue *q = queue_of(e, n);

	TAILQ_REMOVE(&q->list, n, link);
	q->bytes -= n->bytes;
}

void eviction_restore(struct eviction *e, struct eviction_node *n)
{
	struct eviction_queue *q = queue_of(e, n);

	TAILQ_INSERT_TAIL(&q->list, n, link);
	q->bytes += n->bytes;
}

void eviction_insert(struct eviction *e, struct eviction_node *n)
{
	n->hits = 0;
	n->main = ghost_take(e, n);
	eviction_restore(e, n);
}

/* True: n goes. A node of the small queue that was asked for PROMOTE_HITS times moves to the main queue instead. */
static bool small_goes(struct eviction *e, struct eviction_node *n)
{
	if (n->hits < PROMOTE_HITS)
		return true;
	eviction_remove(e, n);
	n->hits = 0;
	n->main = true;
	eviction_restore(e, n);
	return false;
}

/* True: n goes. A node of the main queue that was asked for is spared instead and goes to the queue's end. */
static bool main_goes(struct eviction *e, struct eviction_node *n)
{
	if (!n->hits)
		return true;
	eviction_remove(e, n);
	n->hits--;
	eviction_restore(e, n);
	return false;
}

/* The next node to go, which stays in its queue. A node of more than most bytes is passed over; with stop set it ends
 * the search: NULL. */
static struct eviction_node *eviction_next(struct eviction *e, size_t most, bool stop)
{
	struct eviction_node *small = TAILQ_FIRST(&e->small.list), *main = TAILQ_FIRST(&e->main.list), *n;

	while (small || main) {
		bool goes;

		if (!main || (small && e->small.bytes > e->small_max)) {
			n = small;
			small = TAILQ_NEXT(n, link);
			goes = small_goes(e, n);
		} else {
			n = main;
			main = TAILQ_NEXT(n, link);
			goes = main_goes(e, n);
		}
		if (!goes && !main)
			main = n;              /* it has just become the main queue's last */
		if (goes && n->bytes <= most)
			return n;
		if (goes && stop)
			break;
	}
	return NULL;
}

struct eviction_node *eviction_victim(struct eviction *e, size_t bytes)
{
	size_t slack = e->budget / EVICTION_SLACK_SHARE;
	struct eviction_node *n;

	if (bytes <= e->budget)
		return NULL;
	n = eviction_next(e, bytes - (e->budget - slack), bytes <= e->budget + slack);
	if (!n && bytes > e->budget + slack)
		n = eviction_next(e, SIZE_MAX, true);
	if (!n)
		return NULL;
	eviction_remove(e, n);
	if (!n->main)
		ghost_add(e, n);
	return n;
}
