/* Sweeping; see sweeper.h. */
#include "proxy/cache/sweeper.h"

#include <assert.h>

#include "proxy/base/container_of.h"

/* Tells those whose purge is carried out. A waiter may free itself when it is called, and nobody else. */
static void sweeper_tell(struct sweeper *s)
{
	struct sweep_wait *w, *next;

	for (w = LIST_FIRST(&s->waits); w; w = next) {
		int64_t count;

		next = LIST_NEXT(w, link);
		if (!cache_purged(s->cache, w->number, &count))
			continue;
		LIST_REMOVE(w, link);
		w->swept(w, count);
	}
}

static void sweeper_slice(struct sweeper *s)
{
	uint64_t until = loop_now_us(s->loop) + SWEEPER_SLICE_US;
	bool more;

	do
		more = cache_sweep(s->cache);
	while (more && loop_now_us(s->loop) < until);
	if (more)
		loop_defer(s->loop, &s->task);
}

static void sweeper_on_task(struct task *t)
{
	struct sweeper *s = container_of(t, struct sweeper, task);

	sweeper_slice(s);
	sweeper_tell(s);
}

void sweeper_init(struct sweeper *s, struct cache *cache, struct loop *loop)
{
	*s = (struct sweeper){ .cache = cache, .loop = loop, .task = { .run = sweeper_on_task, .is_slice = true } };
	LIST_INIT(&s->waits);
}

void sweeper_end(struct sweeper *s)
{
	assert(LIST_EMPTY(&s->waits));
	loop_forget(s->loop, &s->task);
}

void sweeper_begin(struct sweeper *s)
{
	if (!s->task.queued)
		sweeper_slice(s);
}

bool sweeper_wait(struct sweeper *s, struct sweep_wait *w, int64_t *count)
{
	if (cache_purged(s->cache, w->number, count))
		return true;
	LIST_INSERT_HEAD(&s->waits, w, link);
	loop_defer(s->loop, &s->task);
	return false;
}

void sweeper_forget(struct sweep_wait *w)
{
	LIST_REMOVE(w, link);
}
