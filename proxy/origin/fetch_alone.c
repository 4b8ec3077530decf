/* Owns what becomes of a fetch that all readers have left. If the rest of the body is small, it goes on for the store,
 * for a limited time and with a limited number of others of its worker. Must not know: the store.
 * Before its head is there it goes on only if a feed is kept, within its own timeouts.
 * Invariant: the timer of every fetch that is alone with its body is running. */
#include "proxy/origin/fetch_internal.h"

#include "proxy/base/container_of.h"

/* A feed is small. A body that a hostile origin makes long or slow is not worth storing without a reader. */
enum { ALONE_MAX = 64, ALONE_HEADS_MAX = 1024, ALONE_BYTES = 1024 * 1024, ALONE_MS = 30000 };

static bool fetch_rest_is_small(const struct fetch *f)
{
	if (f->msg.has_length && !f->msg.chunked)
		return f->msg.content_length - f->received <= ALONE_BYTES;
	return f->received <= ALONE_BYTES && object_length(f->object) <= ALONE_BYTES;
}

bool fetch_goes_on_alone(struct fetch *f)
{
	bool body = f->phase >= FETCH_BODY;
	size_t *among = body ? &f->pool->n_alone : &f->pool->n_waiting;

	if (!f->hooks.done || !(body ? object_is_retained(f->object) && fetch_rest_is_small(f) : f->request.lasting))
		return false;
	if (f->alone == among)
		return true;
	fetch_leave_alone(f);
	if (*among >= (body ? ALONE_MAX : ALONE_HEADS_MAX))
		return false;
	f->alone = among;
	++*among;
	if (body)
		loop_arm(fetch_loop(f), &f->alone_timer, ALONE_MS);
	return true;
}

void fetch_leave_alone(struct fetch *f)
{
	if (!f->alone)
		return;
	--*f->alone;
	f->alone = NULL;
	loop_disarm(fetch_loop(f), &f->alone_timer);
}

void fetch_on_alone_timeout(struct timer *timer)
{
	struct fetch *f = container_of(timer, struct fetch, alone_timer);

	fetch_leave_alone(f);
	if (f->phase != FETCH_ENDED && !object_readers(f->object))
		fetch_abandon(f);
}
