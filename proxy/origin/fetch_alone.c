/* Owns what becomes of a fetch that all readers have left: it may go on for the store if the rest of the body is small,
 * for a limited time, and with a limited number of others of its worker. Must not know: the store.
 * Invariant: the timer of every fetch that counts as alone is running. */
#include "proxy/origin/fetch_internal.h"

#include "proxy/base/container_of.h"

/* A feed is small. A body that a hostile origin makes long or slow is not worth storing without a reader. */
enum { ALONE_MAX = 64, ALONE_BYTES = 1024 * 1024, ALONE_MS = 30000 };

static bool fetch_rest_is_small(const struct fetch *f)
{
	if (f->phase != FETCH_BODY)
		return true;
	if (f->msg.has_length && !f->msg.chunked)
		return f->msg.content_length - f->received <= ALONE_BYTES;
	return f->received <= ALONE_BYTES && object_length(f->object) <= ALONE_BYTES;
}

bool fetch_goes_on_alone(struct fetch *f)
{
	if (!f->hooks.done || !object_is_kept(f->object) || !fetch_rest_is_small(f))
		return false;
	if (f->alone)
		return true;
	if (f->pool->n_alone >= ALONE_MAX)
		return false;
	f->alone = true;
	f->pool->n_alone++;
	loop_arm(fetch_loop(f), &f->alone_timer, ALONE_MS);
	return true;
}

void fetch_leave_alone(struct fetch *f)
{
	if (!f->alone)
		return;
	f->alone = false;
	f->pool->n_alone--;
	loop_disarm(fetch_loop(f), &f->alone_timer);
}

void fetch_on_alone_timeout(struct timer *t)
{
	struct fetch *f = container_of(t, struct fetch, alone_timer);

	fetch_leave_alone(f);
	if (f->phase != FETCH_ENDED && !object_readers(f->object))
		fetch_abandon(f);
}
