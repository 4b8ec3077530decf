/* Sweeping; see sweeper.h. */
#include "proxy/cache/sweeper.h"

#include <assert.h>

#include "proxy/base/container_of.h"

/* Tells those whose purge is carried out. A waiter may free itself when it is called, and nobody else. */
static void sweeper_tell(struct sweeper *sweeper)
{
	struct sweep_wait *wait, *next;

	for (wait = LIST_FIRST(&sweeper->waits); wait; wait = next) {
		int64_t count;

		next = LIST_NEXT(wait, link);
		if (!cache_purged(sweeper->cache, wait->number, &count))
			continue;
		LIST_REMOVE(wait, link);
		wait->swept(wait, count);
	}
}

static void sweeper_slice(struct sweeper *sweeper)
{
	uint64_t until = loop_now_us(sweeper->loop) + SWEEPER_SLICE_US;
	bool done;

	do
		done = cache_sweep(sweeper->cache);
	while (!done && loop_now_us(sweeper->loop) < until);
	if (!done)
		loop_defer(sweeper->loop, &sweeper->task);
}

static void sweeper_on_task(struct task *task)
{
	struct sweeper *sweeper = container_of(task, struct sweeper, task);

	sweeper_slice(sweeper);
	sweeper_tell(sweeper);
}

void sweeper_init(struct sweeper *sweeper, struct cache *cache, struct loop *loop)
{
	*sweeper =
	    (struct sweeper){ .cache = cache, .loop = loop, .task = { .run = sweeper_on_task, .is_slice = true } };
	LIST_INIT(&sweeper->waits);
}

void sweeper_end(struct sweeper *sweeper)
{
	assert(LIST_EMPTY(&sweeper->waits));
	loop_forget(sweeper->loop, &sweeper->task);
}

void sweeper_begin(struct sweeper *sweeper)
{
	if (!sweeper->task.queued)
		sweeper_slice(sweeper);
}

bool sweeper_wait(struct sweeper *sweeper, struct sweep_wait *wait, int64_t *count)
{
	if (cache_purged(sweeper->cache, wait->number, count))
		return true;
	LIST_INSERT_HEAD(&sweeper->waits, wait, link);
	loop_defer(sweeper->loop, &sweeper->task);
	return false;
}

void sweeper_forget(struct sweep_wait *wait)
{
	LIST_REMOVE(wait, link);
}
