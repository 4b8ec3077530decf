/* Owns a worker's clients as a whole: the list of all, the list of those that are idle, the spare exchanges, and what
 * concerns all clients at a time: new settings, a shutdown, rest. Must not know: what a client does next (client.c).
 * Invariant: a spare exchange has a parser, a buffer of its first size, and nothing of anybody's request. */
#include "proxy/client/client_internal.h"

#include <stdlib.h>

#include "proxy/client/crowd.h"
#include "proxy/http/http_parse.h"
#include "proxy/net/h2.h"

enum {
	CLIENT_IN_FIRST_BYTES = 4096 - 64,
	CLIENT_GIVE_UP_TRIES = 16,
	CLIENT_SPARES = 64                     /* spare exchanges kept */
};

static void exchange_free(struct exchange *exchange)
{
	http_parser_free(&exchange->parser);
	http_msg_free(&exchange->msg);
	answer_free_memory(&exchange->answer);
	free(exchange->in);
	free(exchange);
}

static struct exchange *exchange_new(size_t max_fields)
{
	struct exchange *exchange = calloc(1, sizeof *exchange);

	if (!exchange)
		return NULL;
	exchange->request.msg = &exchange->msg;      /* even a request refused for its syntax has some fields here */
	exchange->in_cap = CLIENT_IN_FIRST_BYTES;
	if ((exchange->in = malloc(exchange->in_cap)) &&
	    (exchange->parser = http_parser_new(true, client_on_body, exchange)) &&
	    !http_msg_init(&exchange->msg, max_fields))
		return exchange;
	exchange_free(exchange);
	return NULL;
}

/* An exchange is freed if it has no parser any more (it had a tunnel) or a large buffer (for a large head or a long
 * URL). */
void exchange_give(struct client_pool *pool, struct exchange *exchange)
{
	if (pool->n_spares < CLIENT_SPARES && exchange->parser && exchange->in_cap == CLIENT_IN_FIRST_BYTES &&
	    answer_memory(&exchange->answer) <= CLIENT_IN_FIRST_BYTES) {
		SLIST_INSERT_HEAD(&pool->spares, exchange, spare);
		pool->n_spares++;
		return;
	}
	exchange_free(exchange);
}

struct exchange *exchange_take(struct client_pool *pool, size_t max_fields)
{
	struct exchange *exchange = SLIST_FIRST(&pool->spares);

	if (!exchange)
		return exchange_new(max_fields);
	SLIST_REMOVE_HEAD(&pool->spares, spare);
	pool->n_spares--;
	http_msg_reset(&exchange->msg);
	exchange->in_len = exchange->parsed = exchange->interim = 0;
	exchange->status = 0;
	return exchange;
}

struct client_pool *client_pool_new(const struct request_context *ctx, void (*changed)(void *arg), void *arg)
{
	struct client_pool *pool = calloc(1, sizeof *pool);

	if (!pool)
		return NULL;
	pool->ctx = *ctx;
	pool->changed = changed;
	pool->arg = arg;
	LIST_INIT(&pool->clients);
	TAILQ_INIT(&pool->idle);
	SLIST_INIT(&pool->spares);
	if (!(pool->crowds = crowds_new())) {
		free(pool);
		return NULL;
	}
	gzip_forms_init(&pool->forms, ctx->cache, ctx->loop);
	sweeper_init(&pool->sweeper, ctx->cache, ctx->loop);
	pool->ctx.sweeper = &pool->sweeper;
	return pool;
}

void client_pool_rest(struct client_pool *pool)
{
	struct exchange *exchange;

	while ((exchange = SLIST_FIRST(&pool->spares))) {
		SLIST_REMOVE_HEAD(&pool->spares, spare);
		exchange_free(exchange);
	}
	pool->n_spares = 0;
}

void client_pool_free(struct client_pool **pp)
{
	struct client_pool *pool = *pp;
	struct client *c;

	if (!pool)
		return;
	while ((c = LIST_FIRST(&pool->clients))) {
		client_close(c, true);
		client_free(c);
	}
	client_pool_rest(pool);
	gzip_forms_end(&pool->forms);
	sweeper_end(&pool->sweeper);
	request_context_set(&pool->ctx, NULL);
	crowds_free(&pool->crowds);
	free(pool);
	*pp = NULL;
}

void client_pool_set(struct client_pool *pool, struct settings *settings)
{
	struct client *c;

	request_context_set(&pool->ctx, settings);
	client_pool_rest(pool);           /* they have room for as many fields as the former settings said */
	LIST_FOREACH(c, &pool->clients, link)
		client_judge_tunnel(c);
}

size_t client_count(const struct client_pool *pool)
{
	return pool->count - pool->closed;
}

bool client_pool_has_idle(const struct client_pool *pool)
{
	return !TAILQ_EMPTY(&pool->idle);
}

/* A client whose request has arrived meanwhile is not idle any more, and is served instead. */
void client_pool_give_up(struct client_pool *pool)
{
	size_t count = client_count(pool);
	int tries = CLIENT_GIVE_UP_TRIES;
	struct client *c;

	while (client_count(pool) == count && tries-- && (c = TAILQ_FIRST(&pool->idle))) {
		if (conn_is_open(c->conn))
			client_on_conn(c, CONN_READABLE);
		if (!c->listed)
			continue;
		client_close(c, false);
		stats_add(loop_stats(pool->ctx.loop), STAT_CLIENTS_GIVEN_UP, 1);
	}
}

/* A response whose head is out cannot announce the end any more: the next one on its connection does. */
void client_pool_leave(struct client_pool *pool)
{
	struct client *c;

	pool->leaving = true;
	LIST_FOREACH(c, &pool->clients, link)
		if (c->state == CL_STREAMS)
			h2_leave(c->h2);
		else if (c->state != CL_SEND)
			client_ends(c, AFTER_CLOSES);
}

void client_pool_drain(struct client_pool *pool)
{
	struct client *c, *next;

	client_pool_leave(pool);
	pool->draining = true;
	gzip_forms_end(&pool->forms);     /* other workers' clients may read these forms */
	for (c = LIST_FIRST(&pool->clients); c; c = next) {
		next = LIST_NEXT(c, link);
		if (c->state == CL_IDLE && conn_is_open(c->conn))
			/* answers a request that has arrived, and gives an idle connection CLIENT_LAST_MS */
			client_on_conn(c, CONN_READABLE);
	}
}
