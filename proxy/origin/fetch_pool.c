/* Owns the memory of fetches: the pool of a worker, spares that the next fetches take, and what a fetch lets go of.
 * Must not know: requests, phases. Invariant: a spare has memory alone; nothing outside the pool knows of it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/origin/fetch_internal.h"

enum {
	FETCH_SPARES = 64,
	FETCH_SPARE_TEXT = 4096        /* a spare does not keep texts that have grown beyond this */
};

struct fetch_pool *fetch_pool_new(struct loop *loop, struct pool *connections, struct backoff *backoff,
    struct fleet *fleet)
{
	struct fetch_pool *pool = calloc(1, sizeof *pool);

	if (!pool)
		return NULL;
	pool->loop = loop;
	pool->connections = connections;
	pool->backoff = backoff;
	pool->fleet = fleet;
	LIST_INIT(&pool->fetches);
	LIST_INIT(&pool->spares);
	return pool;
}

struct pool *fetch_pool_connections(struct fetch_pool *pool)
{
	return pool->connections;
}

struct loop *fetch_loop(struct fetch *f)
{
	return f->pool->loop;
}

void fetch_end_hooks(struct fetch *f)
{
	struct fetch_hooks hooks = f->hooks;

	f->hooks = (struct fetch_hooks){ 0 };
	if (hooks.end)
		hooks.end(hooks.arg);
}

/* Readers of the response and the writer of the request's body may be on any worker: they let go of the fetch before
 * its task leaves the loop. */
static void fetch_leave(struct fetch *f)
{
	struct loop *loop = fetch_loop(f);

	object_set_writer(f->object, NULL);
	object_detach(&f->body);
	if (f->held)
		fetch_drop_held(f);
	fetch_leave_pace(f);
	lease_end(&f->lease, &f->conn, false);
	loop_disarm(loop, &f->timer);
	loop_disarm(loop, &f->total);
	loop_forget(loop, &f->task);
}

/* Frees the memory of a fetch that has nothing else any more. */
static void fetch_drop(struct fetch *f)
{
	http_parser_free(&f->parser);
	http_msg_free(&f->msg);
	text_free(&f->url);
	text_free(&f->request_head);
	text_free(&f->head);
	free(f);
}

void fetch_free(struct fetch *f)
{
	struct fetch_pool *pool = f->pool;

	fetch_end_hooks(f);
	fetch_leave_alone(f);
	LIST_REMOVE(f, link);
	fetch_leave(f);
	object_unref(&f->object);
	transform_free(&f->transform);
	redirect_trail_free(&f->trail);
	cookie_jar_free(&f->jar);
	fetch_request_free(&f->request);
	free(f->pending);
	assert(task_is_out(&f->task));
	if (pool->n_spares == FETCH_SPARES || f->url.cap > FETCH_SPARE_TEXT ||
	    f->request_head.cap > FETCH_SPARE_TEXT || f->head.cap > FETCH_SPARE_TEXT) {
		fetch_drop(f);
		return;
	}
	LIST_INSERT_HEAD(&pool->spares, f, link);
	pool->n_spares++;
}

static struct fetch *fetch_take_spare(struct fetch_pool *pool)
{
	struct fetch *f = LIST_FIRST(&pool->spares);

	if (f) {
		LIST_REMOVE(f, link);
		pool->n_spares--;
	}
	return f;
}

struct fetch *fetch_new(struct fetch_pool *pool, size_t max_fields)
{
	struct fetch *f = fetch_take_spare(pool);

	if (f && f->msg.max_fields != max_fields) {    /* the settings have changed since */
		fetch_drop(f);
		f = NULL;
	}
	if (!f) {
		if (!(f = calloc(1, sizeof *f)))
			return NULL;
		if (!(f->parser = http_parser_new(false, fetch_on_body, f)) || http_msg_init(&f->msg, max_fields)) {
			fetch_drop(f);
			return NULL;
		}
	}
	memset(f, 0, offsetof(struct fetch, parser));
	text_empty(&f->head);
	f->trail.anew = false;
	f->asked = (struct backoff_request){ 0 };
	return f;
}

void fetch_pool_rest(struct fetch_pool *pool)
{
	struct fetch *f;

	while ((f = fetch_take_spare(pool)) != NULL)
		fetch_drop(f);
	spares_free(&pool->memory);
}

void fetch_pool_free(struct fetch_pool **pp)
{
	if (!*pp)
		return;
	while (!LIST_EMPTY(&(*pp)->fetches))
		fetch_free(LIST_FIRST(&(*pp)->fetches));
	fetch_pool_rest(*pp);
	free(*pp);
	*pp = NULL;
}
