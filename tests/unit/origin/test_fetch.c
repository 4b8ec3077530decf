/* Owns how a fetch of proxy/origin/fetch.c ends while other threads may wake it. Must not know: what it fetches.
 * Invariant: what happens in another thread happens at one point of the end, and is over before the end goes on: no run differs. */
#include "proxy/origin/fetch.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/base/container_of.h"
#include "proxy/dns/resolve.h"
#include "proxy/net/loop.h"
#include "proxy/origin/pool.h"
#include "proxy/settings/settings.h"

enum { TURNS = 4 };                            /* of the loop, after which whoever was woken has run */

/* A worker with one fetch, which has a request body; and what its last reader does while the fetch ends. */
struct bench {
	struct loop *loop;
	struct resolver *resolver;
	struct pool *connections;
	struct backoff *backoff;
	struct fetch_pool *fetches;
	struct settings settings;
	struct object *response, *body;
	struct object_reader reader, late;
	struct object_writer body_writer;
	struct task turn;
	unsigned turns;
	bool ended;
};

static void on_turn(struct task *t)
{
	struct bench *b = container_of(t, struct bench, turn);

	if (b->ended && ++b->turns == TURNS)
		loop_stop(b->loop);
	else
		loop_defer(b->loop, t);
}

static void on_wake(struct object_reader *r)
{
	(void)r;
}

static void on_room(struct object_writer *w)
{
	(void)w;
}

static void *leave(void *reader)
{
	object_detach(reader);
	return NULL;
}

/* The fetch lets go of the request's body, as it does in its end only: the response's last reader leaves just now, on another worker. */
static void on_body_left(struct object_writer *w)
{
	struct bench *b = container_of(w, struct bench, body_writer);
	pthread_t worker;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&worker, NULL, leave, &b->late), 0);
	pthread_join(worker, NULL);
	b->ended = true;
}

static void bench_objects(struct bench *b)
{
	b->reader.wake = b->late.wake = on_wake;
	b->body_writer = (struct object_writer){ on_room, on_body_left };
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->response = object_new(1024));
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->body = object_new(1024));
	object_share(b->response);     /* other threads let go of it */
	object_head(b->body, object_head_new());
	object_set_writer(b->body, &b->body_writer);
	object_attach(b->response, &b->reader);
}

static void bench_new(struct bench *b)
{
	static const struct resolver_options names = { "", "/dev/null", "/dev/null" };

	CU_ASSERT_PTR_NOT_NULL_FATAL(b->loop = loop_new());
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->resolver = resolver_new(b->loop, &names));
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->connections = pool_new(b->loop, b->resolver));
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->backoff = backoff_new());
	CU_ASSERT_PTR_NOT_NULL_FATAL(b->fetches = fetch_pool_new(b->loop, b->connections, b->backoff, NULL));
	atomic_init(&b->settings.refs, 2);
	b->turn.run = on_turn;
	bench_objects(b);
}

static void bench_free(struct bench *b)
{
	fetch_pool_free(&b->fetches);
	backoff_free(&b->backoff);
	pool_free(&b->connections);
	resolver_free(&b->resolver);
	object_set_writer(b->body, NULL);
	object_unref(&b->body);
	object_unref(&b->response);
	loop_free(&b->loop);
}

static void bench_fetch(struct bench *b)
{
	static const struct conf_parent none;
	struct fetch_request r = { .settings = &b->settings, .method = "POST", .body = b->body, .body_length = -1,
		.parents = { &none, &none, NULL }, .hop_parents = { &none, &none, NULL }, .limits = { .max_header_fields = 8 } };
	const char *why;

	CU_ASSERT_EQUAL_FATAL(destination_from_url(&r.to, (struct slice){ "http://127.0.0.1:1/", 19 }, &why), DESTINATION_OK);
	CU_ASSERT_EQUAL_FATAL(fetch_start(b->fetches, &r, b->response), 0);
}

/* The reader leaves and the fetch is to end; before it does another one comes, and leaves in the midst of that end. */
static void last_reader_leaves_in_the_end(void)
{
	struct bench b = { 0 };

	bench_new(&b);
	bench_fetch(&b);
	object_detach(&b.reader);
	object_attach(b.response, &b.late);
	loop_defer(b.loop, &b.turn);
	CU_ASSERT_EQUAL(loop_run(b.loop), 0);
	CU_ASSERT_EQUAL(object_phase(b.response), OBJECT_FAILED);
	CU_ASSERT_PTR_NULL(b.late.object);
	bench_free(&b);
}

/* The same, where the worker ends and its fetches with it. */
static void last_reader_leaves_as_the_worker_ends(void)
{
	struct bench b = { 0 };

	bench_new(&b);
	bench_fetch(&b);
	object_detach(&b.reader);
	object_attach(b.response, &b.late);
	fetch_pool_free(&b.fetches);
	CU_ASSERT_TRUE(b.ended);
	loop_defer(b.loop, &b.turn);
	CU_ASSERT_EQUAL(loop_run(b.loop), 0);
	bench_free(&b);
}

UNIT_SUITE(fetch,
	{ "trust 01: the last reader leaves on another worker while the fetch ends", last_reader_leaves_in_the_end },
	{ "trust 01: the last reader leaves on another worker while the fetch's worker ends", last_reader_leaves_as_the_worker_ends })
