/* Owns a worker's clients as a whole: the list of all, the list of those that are idle, the spare exchanges, and what
 * concerns all clients at a time: new settings, a shutdown, rest. Must not know: what a client does next (client.c).
 * Invariant: a spare exchange has a parser, a buffer of its first size, and nothing of anybody's request. */
#include "proxy/client/client_internal.h"

#include <stdlib.h>

#include "proxy/client/crowd.h"
#include "proxy/http/http_parse.h"

enum {
	CLIENT_IN_FIRST_BYTES = 4096 - 64,
	CLIENT_GIVE_UP_TRIES = 16,
	CLIENT_SPARES = 64                     /* spare exchanges kept */
};

static void exchange_free(struct exchange *x)
{
	http_parser_free(&x->parser);
	http_msg_free(&x->msg);
	answer_free_memory(&x->answer);
	free(x->in);
	free(x);
}

static struct exchange *exchange_new(size_t max_fields)
{
	struct exchange *x = calloc(1, sizeof *x);

	if (!x)
		return NULL;
	x->request.msg = &x->msg;      /* even a request refused for its syntax has some fields here */
	x->in_cap = CLIENT_IN_FIRST_BYTES;
	if ((x->in = malloc(x->in_cap)) && (x->parser = http_parser_new(true, client_on_body, x)) &&
	    !http_msg_init(&x->msg, max_fields))
		return x;
	exchange_free(x);
	return NULL;
}

/* An exchange is freed if it has no parser any more (it had a tunnel) or a large buffer (for a large head or a long
 * URL). */
void exchange_give(struct client_pool *p, struct exchange *x)
{
	if (p->n_spares < CLIENT_SPARES && x->parser && x->in_cap == CLIENT_IN_FIRST_BYTES &&
	    answer_memory(&x->answer) <= CLIENT_IN_FIRST_BYTES) {
		SLIST_INSERT_HEAD(&p->spares, x, spare);
		p->n_spares++;
		return;
	}
	exchange_free(x);
}

struct exchange *exchange_take(struct client_pool *p, size_t max_fields)
{
	struct exchange *x = SLIST_FIRST(&p->spares);

	if (!x)
		return exchange_new(max_fields);
	SLIST_REMOVE_HEAD(&p->spares, spare);
	p->n_spares--;
	http_msg_reset(&x->msg);
	x->in_len = x->parsed = x->interim = 0;
	x->status = 0;
	return x;
}

struct client_pool *client_pool_new(const struct request_context *ctx, void (*changed)(void *arg), void *arg)
{
	struct client_pool *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->ctx = *ctx;
	p->changed = changed;
	p->arg = arg;
	LIST_INIT(&p->clients);
	TAILQ_INIT(&p->idle);
	SLIST_INIT(&p->spares);
	if (!(p->crowds = crowds_new())) {
		free(p);
		return NULL;
	}
	gzip_forms_init(&p->forms, ctx->cache, ctx->loop);
	sweeper_init(&p->sweeper, ctx->cache, ctx->loop);
	p->ctx.sweeper = &p->sweeper;
	return p;
}

void client_pool_rest(struct client_pool *p)
{
	struct exchange *x;

	while ((x = SLIST_FIRST(&p->spares))) {
		SLIST_REMOVE_HEAD(&p->spares, spare);
		exchange_free(x);
	}
	p->n_spares = 0;
}

void client_pool_free(struct client_pool **pp)
{
	struct client_pool *p = *pp;
	struct client *c;

	if (!p)
		return;
	while ((c = LIST_FIRST(&p->clients))) {
		client_close(c, true);
		client_free(c);
	}
	client_pool_rest(p);
	gzip_forms_end(&p->forms);
	sweeper_end(&p->sweeper);
	request_context_set(&p->ctx, NULL);
	crowds_free(&p->crowds);
	free(p);
	*pp = NULL;
}

void client_pool_set(struct client_pool *p, struct settings *s)
{
	request_context_set(&p->ctx, s);
	client_pool_rest(p);           /* they have room for as many fields as the former settings said */
}

size_t client_count(const struct client_pool *p)
{
	return p->count - p->closed;
}

bool client_pool_has_idle(const struct client_pool *p)
{
	return !TAILQ_EMPTY(&p->idle);
}

/* A client whose request has arrived meanwhile is not idle any more, and is served instead. */
void client_pool_give_up(struct client_pool *p)
{
	size_t count = client_count(p);
	int tries = CLIENT_GIVE_UP_TRIES;
	struct client *c;

	while (client_count(p) == count && tries-- && (c = TAILQ_FIRST(&p->idle))) {
		if (conn_is_open(c->conn))
			client_on_conn(c, CONN_READABLE);
		if (!c->listed)
			continue;
		client_close(c, false);
		stats_add(loop_stats(p->ctx.loop), STAT_CLIENTS_GIVEN_UP, 1);
	}
}

/* A response whose head is out cannot announce the end any more: the next one on its connection does. */
void client_pool_leave(struct client_pool *p)
{
	struct client *c;

	p->leaving = true;
	LIST_FOREACH(c, &p->clients, link)
		if (c->state != CL_SEND)
			client_ends(c, AFTER_CLOSES);
}

void client_pool_drain(struct client_pool *p)
{
	struct client *c, *next;

	client_pool_leave(p);
	p->draining = true;
	gzip_forms_end(&p->forms);     /* other workers' clients may read these forms */
	for (c = LIST_FIRST(&p->clients); c; c = next) {
		next = LIST_NEXT(c, link);
		if (c->state == CL_IDLE && conn_is_open(c->conn))
			/* a request that has arrived is answered; an idle connection gets CLIENT_LAST_MS */
			client_on_conn(c, CONN_READABLE);
	}
}
