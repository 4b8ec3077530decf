/* The life of client connections, and what a connection does next; see client.h. */
#include "proxy/client/client_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf/conf.h"
#include "proxy/base/container_of.h"
#include "proxy/client/client_intercept.h"
#include "proxy/client/crowd.h"
#include "proxy/net/h2.h"
#include "proxy/net/tunnel.h"
#include "proxy/origin/dial.h"

enum {
	/* a request takes three: one pipelining client must not keep the loop to itself */
	CLIENT_STEPS_PER_TURN = 96,
	CLIENT_LINGER_MS = 2000,
	/* how long a shutdown keeps idle connections: a request may have been sent before the client could know */
	CLIENT_LAST_MS = 500
};

/* Takes the exchange from the client. The request's body and the answer let go of the client first, before its task
 * leaves the loop or another request comes. */
void client_release(struct client *c)
{
	struct exchange *exchange = c->exchange;

	if (!exchange)
		return;
	client_drop_body(c);
	client_drop_answer(exchange);
	sender_end(&exchange->sender);
	c->exchange = NULL;
	exchange_give(c->pool, exchange);
}

void client_unlist(struct client *c)
{
	if (c->listed)
		TAILQ_REMOVE(&c->pool->idle, c, idle);
	c->listed = false;
}

/* Lists the client as idle. When the first client becomes idle, its connection can be closed in favour of one that
 * waits to be accepted. */
void client_list_idle(struct client *c)
{
	struct client_pool *pool = c->pool;
	bool first = TAILQ_EMPTY(&pool->idle);

	if (c->listed)
		return;
	TAILQ_INSERT_TAIL(&pool->idle, c, idle);
	c->listed = true;
	if (first)
		pool->changed(pool->arg);
}

enum client_fact {
	LISTED = 1, BLOCKED = 2, EXCHANGE = 4, STARVED = 8, OPENING = 16, TUNNEL = 32, LOGIN = 64, STREAMS = 128
};

/* Bits of the states that may follow; what must be so in a state, and what else may. */
#define TO(state) (1u << CL_##state)
#define OVER (TO(FLUSH) | TO(CLOSED))
static const struct { unsigned next, must, may; } client_states[] = {
	[CL_IDLE] = { TO(IDLE) | TO(HEAD) | TO(WAIT) | TO(STREAMS) | TO(LINGER) | OVER,
	              0, LISTED | BLOCKED | EXCHANGE | STARVED | TUNNEL },
	[CL_HEAD] = { TO(WAIT) | TO(AUTH) | TO(CONNECT) | OVER, EXCHANGE, BLOCKED },
	[CL_WAIT] = { TO(WAIT) | TO(SEND) | OVER, EXCHANGE, BLOCKED | STARVED },
	[CL_SEND] = { TO(IDLE) | OVER, EXCHANGE, BLOCKED | STARVED },
	[CL_AUTH] = { TO(WAIT) | TO(CONNECT) | OVER, EXCHANGE | LOGIN, BLOCKED },
	[CL_CONNECT] = { TO(TUNNEL) | TO(HELLO) | TO(WAIT) | OVER, EXCHANGE, BLOCKED | OPENING },
	[CL_HELLO] = { TO(IDLE) | TO(CONNECT) | TO(WAIT) | OVER, EXCHANGE, BLOCKED },
	[CL_TUNNEL] = { TO(IDLE) | OVER, EXCHANGE | TUNNEL, 0 },
	[CL_STREAMS] = { TO(LINGER) | OVER, STREAMS, LISTED | EXCHANGE },
	[CL_FLUSH] = { TO(LINGER) | TO(CLOSED), 0, EXCHANGE },
	[CL_LINGER] = { OVER, 0, EXCHANGE },
	[CL_CLOSED] = { 0, 0, EXCHANGE },
};

static unsigned client_facts(const struct client *c)
{
	return (c->listed ? LISTED : 0) | (c->blocked ? BLOCKED : 0) | (c->exchange ? EXCHANGE : 0) |
	    (c->exchange && c->exchange->body_starved ? STARVED : 0) | (c->opening ? OPENING : 0) |
	    (c->tunnel ? TUNNEL : 0) | (c->login ? LOGIN : 0) | (c->h2 ? STREAMS : 0);
}

void client_enter(struct client *c, enum client_state state)
{
	unsigned must = client_states[state].must, facts = client_facts(c);

	assert(client_states[c->state].next >> state & 1);
	assert((facts & must) == must && !(facts & ~(must | client_states[state].may)));
	c->state = state;
}

/* Whether the rest of a request was malformed before anything was answered. */
static bool client_is_malformed(const struct client *c)
{
	return c->stream && !c->exchange->status && h2_is_malformed(c->conn);
}

void client_close(struct client *c, bool reset)
{
	if (c->state == CL_CLOSED)
		return;
	/* A body that ends with the connection would look complete. */
	reset = reset || (c->state == CL_SEND && c->exchange->sender.framing == FRAME_CLOSE);
	bool unsent = !reset && c->state != CL_FLUSH && conn_flush(c->conn) == CONN_AGAIN;
	if (client_is_busy(c) && client_is_malformed(c))
		client_log_malformed(c);
	else if (client_is_busy(c)) {
		stats_add(loop_stats(client_loop(c)), STAT_REQUESTS_DROPPED, 1);
		client_log(c, "dropped");
	}
	client_unlist(c);
	c->blocked = false;
	client_drop_body(c);
	object_detach(&c->reader);
	client_leave_login(c);
	dial_cancel(&c->opening);
	client_leave_opened(c);
	tunnel_free(&c->tunnel);
	h2_free(&c->h2);
	client_enter(c, unsent ? CL_FLUSH : CL_CLOSED);
	if (unsent) {
		conn_want(c->conn, false, true);
		loop_arm(client_loop(c), &c->timer, client_conf(c)->write_timeout_ms);
		return;
	}
	stats_add(loop_stats(client_loop(c)), STAT_REQUESTS_DROPPED, conn_unsent(c->conn) != 0);
	if (reset)
		conn_abort(&c->conn);
	else
		conn_close(&c->conn);
	c->pool->closed += !c->stream;
	c->pool->streams -= c->stream;
	crowd_leave(c->pool->crowds, &c->crowd);
	loop_disarm(client_loop(c), &c->timer);
	loop_defer(client_loop(c), &c->task);
}

void client_free(struct client *c)
{
	struct client_pool *pool = c->pool;

	LIST_REMOVE(c, link);
	client_release(c);
	assert(!c->reader.object && !c->login && !c->opening && !c->tunnel && !c->timer.queue && !c->upload.queue);
	loop_forget(client_loop(c), &c->task);
	assert(task_is_out(&c->task));
	bool counted = !c->stream;
	free(c->opened);
	free(c);
	pool->count -= counted;
	pool->closed -= counted;
	if (counted)
		pool->changed(pool->arg);
}

void client_listen(struct client *c)
{
	bool full = (client_is_busy(c) || c->blocked) &&
	    (c->exchange->in_len >= client_in_max(c) || c->exchange->body_starved);

	if (c->state != CL_CLOSED && c->state != CL_FLUSH && c->state != CL_TUNNEL && c->state != CL_STREAMS)
		conn_want(c->conn, !c->eof && !full, c->blocked);
}

void client_linger(struct client *c)
{
	if (c->stream) {
		client_close(c, false);
		return;
	}
	client_enter(c, CL_LINGER);
	conn_shutdown_write(c->conn);
	client_release(c);
	loop_arm(client_loop(c), &c->timer, CLIENT_LINGER_MS);
	if (c->eof)
		client_close(c, false);
}

void client_idle(struct client *c)
{
	bool still = c->listed && c->exchange;        /* something came that began no request: the timeout goes on */

	client_enter(c, CL_IDLE);
	client_release(c);
	if (c->eof) {
		client_close(c, false);
		return;
	}
	if (c->stream)                 /* net/h2 has the timer of its request */
		return;
	client_list_idle(c);
	if (c->pool->draining)
		loop_arm(client_loop(c), &c->timer, CLIENT_LAST_MS);
	else if (!still)
		loop_arm(client_loop(c), &c->timer, client_conf(c)->keepalive_timeout_ms);
}

int client_open_exchange(struct client *c)
{
	c->exchange = exchange_take(c->pool, (size_t)client_conf(c)->max_header_fields);
	if (!c->exchange)
		client_close(c, false);
	return c->exchange ? 0 : -1;
}

void client_start(struct client *c)
{
	c->exchange->who = c->who;
	c->id.request++;
	c->exchange->id = c->id;
	c->exchange->start_us = client_begin_us(c);
	c->exchange->first_us = 0;
	c->exchange->upload_bytes = 0;
	c->exchange->user = NULL;
	c->exchange->trace.accepted = false;
	*c->exchange->trace.own = '\0';
}

/* Goes on flushing what was gathered before the connection's end, then lingers. */
static void client_end(struct client *c)
{
	size_t before = conn_unsent(c->conn);
	int r = conn_flush(c->conn);

	if (r == CONN_FAILED)
		client_close(c, false);
	else if (!r) {
		client_linger(c);
		client_listen(c);
	} else if (conn_unsent(c->conn) < before)
		loop_arm(client_loop(c), &c->timer, client_conf(c)->write_timeout_ms);
}

/* Writes what was gathered. False: some of it is left, or the connection is closed. */
static bool client_flush(struct client *c)
{
	size_t before = conn_unsent(c->conn);
	int r = conn_flush(c->conn);
	bool was_blocked = c->blocked;

	if (r == CONN_FAILED) {
		client_close(c, false);
		return false;
	}
	c->blocked = r == CONN_AGAIN;
	if (c->blocked && (conn_unsent(c->conn) < before || !c->timer.queue || !was_blocked))
		loop_arm(client_loop(c), &c->timer, client_conf(c)->write_timeout_ms);
	else if (was_blocked && !c->blocked)
		loop_arm(client_loop(c), &c->timer,
		    c->state == CL_HEAD || c->state == CL_HELLO ? client_conf(c)->request_timeout_ms : 0);
	return !c->blocked;
}

/* Does the next step. False: there is none to do now. */
static bool client_step(struct client *c)
{
	bool on;

	/* A response that is being sent takes along what was gathered before it. */
	if (c->blocked && c->state != CL_SEND && !client_flush(c))
		return false;
	switch (c->state) {
	case CL_IDLE:
	case CL_HEAD:
		on = client_parse(c);
		if (!on && c->eof)
			client_close(c, false);
		return on;
	case CL_WAIT:
		return client_begin(c);
	case CL_SEND:
		return client_send(c);
	case CL_AUTH:
		return client_log_in(c);
	case CL_HELLO:
		return (!conn_unsent(c->conn) || client_flush(c)) && client_hello(c);
	case CL_CONNECT:
	case CL_TUNNEL:
	case CL_STREAMS:
	case CL_FLUSH:
	case CL_LINGER:
	case CL_CLOSED:
		break;
	}
	return false;
}

void client_pump(struct client *c)
{
	int steps = CLIENT_STEPS_PER_TURN;

	do {
		if ((c->state == CL_WAIT || c->state == CL_SEND) && c->exchange->body && client_feed_body(c))
			return;
	} while (client_step(c) && --steps);
	if (c->state < CL_TUNNEL && !c->blocked && conn_unsent(c->conn))
		client_flush(c);
	client_listen(c);
	if (!steps)
		loop_defer(client_loop(c), &c->task);
}

/* What an operator can do about it. */
static void client_tls_advice(const struct client *c, const char *details, char *advice, size_t cap)
{
	static const char *const versions[] = { "1.0", "1.1", "1.2", "1.3" };

	*advice = '\0';
	if (strstr(details, "unsupported protocol"))
		snprintf(advice, cap, "; the oldest version spoken is %s (tls-listen-min)",
		    versions[client_conf(c)->tls_listen_min]);
	else if (strstr(details, "no shared cipher"))
		snprintf(advice, cap, "; with tls-listen-min = 1.1 older ciphers are spoken");
}

/* Says why a client's handshake failed, where TLS failed and not the connection under it. */
static void client_explain_tls(struct client *c)
{
	char advice[64];
	struct failure f;

	c->channel = CHANNEL_TLS;
	conn_explain(c->conn, FAILURE_NONE, &f);
	if (f.error == FAILURE_NONE)
		return;
	client_tls_advice(c, f.details, advice, sizeof advice);
	log_info("tls: %s: %s%s", conn_peer(c->conn), f.details, advice);
}

void client_on_conn(void *arg, enum conn_event event)
{
	struct client *c = arg;

	if (c->state == CL_CLOSED)
		return;
	if (c->state == CL_LINGER) {
		if (!conn_discard(c->conn))
			client_close(c, false);
		return;
	}
	if (c->state == CL_FLUSH) {
		client_end(c);
		return;
	}
	if (c->state == CL_STREAMS) {
		h2_on_event(c->h2);
		return;
	}
	if (event == CONN_CONNECTED) {
		c->channel = CHANNEL_TLS;
		if (client_begins_http2(c))
			return;
	}
	if (event == CONN_READABLE && c->channel == CHANNEL_HANDSHAKE)
		client_explain_tls(c);
	if (event == CONN_READABLE)
		client_read(c);
	client_pump(c);
}

void client_on_wake(struct object_reader *r)
{
	struct client *c = container_of(r, struct client, reader);

	loop_wake(client_loop(c), &c->task);
}

void client_on_task(struct task *task)
{
	struct client *c = container_of(task, struct client, task);

	if (c->state == CL_CLOSED)
		client_free(c);
	else if (c->state == CL_SEND && c->reader.expelled)
		client_cut(c);
	else if (!c->blocked)
		client_pump(c);
	else if (c->exchange->body_starved && !client_feed_body(c))
		client_listen(c);
}

void client_on_timeout(struct timer *timer)
{
	struct client *c = container_of(timer, struct client, timer);

	if (c->state == CL_HEAD && !c->blocked) {
		client_refuse(c, 408, "The request header was not complete in time.");
		client_find_method(c->exchange);
		client_pump(c);
	} else if (c->state == CL_STREAMS)
		client_end_streams(c);
	else {
		stats_add(loop_stats(client_loop(c)), STAT_H2_STALLED, c->stream && c->state == CL_SEND);
		h2_say_why(c->conn, H2_WHY_CANCELLED);
		client_close(c, c->state == CL_SEND || conn_unsent(c->conn));
	}
}
