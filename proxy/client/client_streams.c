/* A connection that speaks HTTP/2: each of its streams is a client of its own, without a socket; see client_internal.h.
 * Each counts against max-connections and client-connections, as a connection does. The connection's client is idle
 * when no stream is open.
 * Invariant: a stream's client never outlives the pool, and fails once the connection's client is closed. */
#include "proxy/client/client_internal.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/client/crowd.h"
#include "proxy/http/h2_fields.h"
#include "proxy/net/h2.h"

/* RFC 9113 section 3.4 */
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

enum {
	STALLED_MS = 5000,             /* for a stream that takes nothing while others wait for its place */
	LOOK_EVERY_MS = 1000
};

/* A stream begins with the bytes of its request: it is served at once. */
static void client_on_stream(void *connection, struct conn *conn)
{
	struct client *c = connection, *stream = client_new_stream(c, conn);

	if (!stream) {
		h2_say_why(conn, H2_WHY_REFUSED);
		conn_abort(&conn);
		return;
	}
	client_unlist(c);
	loop_disarm(client_loop(c), &c->timer);
	client_on_conn(stream, CONN_READABLE);
}

/* The stream was reset, which says as much as the status 400 (RFC 9113 section 8.1.1). */
static void client_on_malformed(void *connection, const struct h2_field *fields, size_t n)
{
	struct client *c = connection;
	struct exchange *early = c->exchange;          /* it has the bytes that are being read, or there is none */
	struct slice method, target;

	if (!(c->exchange = exchange_take(c->pool, (size_t)client_conf(c)->max_header_fields))) {
		c->exchange = early;
		return;
	}
	h2_known_line(fields, n, &method, &target);
	client_start(c);
	client_note_line(c->exchange, method, target);
	client_log_malformed(c);
	client_release(c);
	c->exchange = early;
}

static void client_on_streams_idle(void *connection)
{
	struct client *c = connection;

	client_list_idle(c);
	loop_arm(client_loop(c), &c->timer, client_conf(c)->keepalive_timeout_ms);
}

static void client_on_streams_end(void *connection, bool lost)
{
	struct client *c = connection;

	client_unlist(c);
	h2_free(&c->h2);
	if (lost) {
		client_close(c, true);
		return;
	}
	client_linger(c);
	client_listen(c);
}

/* early: bytes that were read already. */
static void client_speak_http2(struct client *c, struct slice early)
{
	const struct h2_settings settings = { .max_head = client_conf(c)->max_header_bytes,
		.max_fields = (size_t)client_conf(c)->max_header_fields, .window = H2_REQUEST_WINDOW,
		.head_timeout_ms = client_conf(c)->request_timeout_ms,
		.write_timeout_ms = client_conf(c)->write_timeout_ms,
		.secure = c->channel != CHANNEL_PLAIN,
		.shared = requester_is_trusted(&c->who, client_conf(c)) };
	const struct h2_owner owner = { .opened = client_on_stream, .malformed = client_on_malformed,
		.idle = client_on_streams_idle, .ended = client_on_streams_end, .arg = c };

	c->h2 = h2_serve(c->conn, client_loop(c), &settings, &h2_server_side, &owner);
	if (!c->h2) {
		client_close(c, false);
		return;
	}
	client_enter(c, CL_STREAMS);
	client_on_streams_idle(c);
	if (early.len)
		h2_feed(c->h2, early.at, early.len);
	if (c->pool->leaving)
		h2_leave(c->h2);
	client_release(c);
}

bool client_begins_http2(struct client *c)
{
	static const struct slice nothing;

	if (conn_protocol(c->conn) != CONN_HTTP_2)
		return false;
	client_speak_http2(c, nothing);
	return true;
}

enum client_preface client_prefaces(struct client *c)
{
	const struct exchange *exchange = c->exchange;
	size_t len = exchange->in_len < sizeof PREFACE - 1 ? exchange->in_len : sizeof PREFACE - 1;

	if (!len || c->stream || c->channel != CHANNEL_PLAIN || c->id.request || memcmp(exchange->in, PREFACE, len))
		return PREFACE_NONE;
	if (len < sizeof PREFACE - 1) {
		if (!c->timer.queue || c->listed)
			loop_arm(client_loop(c), &c->timer, client_conf(c)->request_timeout_ms);
		client_unlist(c);
		return PREFACE_BEGUN;
	}
	client_speak_http2(c, (struct slice){ exchange->in, exchange->in_len });
	return PREFACE_TAKEN;
}

void client_end_streams(struct client *c)
{
	if (!h2_end(c->h2))
		client_close(c, true);
}

static bool client_has_stalled(const struct client *c, uint64_t now_ms)
{
	return c->stream && c->state == CL_SEND && c->blocked &&
	    now_ms + client_conf(c)->write_timeout_ms >= c->timer.due_ms + STALLED_MS;
}

void client_end_stalled(struct client_pool *pool, const struct ip *of)
{
	uint64_t now_ms = loop_now_ms(pool->ctx.loop);
	struct client *c, *next;

	if (now_ms - pool->looked_ms < LOOK_EVERY_MS)
		return;
	pool->looked_ms = now_ms;
	for (c = LIST_FIRST(&pool->clients); c; c = next) {
		next = LIST_NEXT(c, link);
		if (client_has_stalled(c, now_ms) && (!of || crowd_is_of(c->crowd, of)))
			client_on_timeout(&c->timer);
	}
}
