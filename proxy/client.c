/* Client connections; see client.h. */
#include "client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "access.h"
#include "codec.h"
#include "conf/conf.h"
#include "conn.h"
#include "http_parse.h"
#include "loop.h"
#include "owner.h"
#include "sender.h"

enum client_state { CL_IDLE, CL_HEAD, CL_WAIT, CL_SEND, CL_LINGER, CL_CLOSED };

enum {
	CLIENT_IN_FIRST_BYTES = 4096 - 64,
	CLIENT_STEPS_PER_TURN = 32,            /* so that one pipelining client cannot keep the loop to itself */
	CLIENT_LINGER_MS = 2000,
	CLIENT_REST_MS = 1000                  /* idle that long, a connection gives its buffers back */
};

/* What a request needs from its first byte to its response's last; an idle connection has none. */
struct exchange {
	struct http_msg msg;
	struct http_parser *parser;
	char *in;                      /* request heads: the current one at its start, what was pipelined behind it */
	size_t in_len, in_cap;
	size_t parsed;                 /* bytes of in the parser has seen */
	uint64_t start_us;
	int status;                    /* sent; 0: nothing yet */
	struct object *body;           /* of the request, for whoever fetches; NULL: none, or complete */
	bool body_starved;             /* it has no room: reading stopped */
	struct answer answer;
	struct object_head *head;      /* what goes out; its own reference */
	uint64_t offset;               /* of the body, where this response begins */
	size_t interim;                /* bytes of interim responses passed on */
	struct sender sender;
};

struct client {
	LIST_ENTRY(client) link;
	struct client_pool *pool;
	struct conn *conn;
	enum client_state state;
	bool eof;                      /* the client will send no more */
	bool keep;                     /* the connection outlives this response */
	bool refused;                  /* there may be request bytes we will not read: linger before closing */
	bool blocked;                  /* the socket took no more */
	struct exchange *x;            /* NULL: idle */
	struct object_reader reader;
	struct object_writer body_writer;
	struct timer timer;
	struct timer upload;           /* runs while the request's body is waited for */
	struct task task;
};

struct client_pool {
	struct request_context ctx;
	void (*changed)(void *arg);
	void *arg;
	bool draining;
	size_t count;
	LIST_HEAD(, client) clients;
};

static struct loop *client_loop(struct client *c)
{
	return c->pool->ctx.loop;
}

static const struct conf *client_conf(struct client *c)
{
	return c->pool->ctx.conf;
}

/* The request's body will not be read any further: whoever waits for it must not take it for complete. */
static void client_drop_body(struct client *c)
{
	static const struct proxy_failure gone = { .error = PROXY_ERROR_REQUEST_INCOMPLETE };
	struct object *body = c->x ? c->x->body : NULL;

	if (!body)
		return;
	loop_disarm(client_loop(c), &c->upload);
	if (object_phase(body) == OBJECT_BODY)
		object_fail(body, &gone);
	object_set_writer(body, NULL);
	object_unref(&c->x->body);
}

static void client_drop_answer(struct exchange *x)
{
	answer_free(&x->answer);
	object_head_unref(&x->head);
}

static void client_release(struct client *c)
{
	if (!c->x)
		return;
	client_drop_body(c);
	client_drop_answer(c->x);
	sender_end(&c->x->sender);
	http_parser_free(&c->x->parser);
	http_msg_free(&c->x->msg);
	free(c->x->in);
	free(c->x);
	c->x = NULL;
}

static void client_log(struct client *c, const char *end)
{
	struct exchange *x = c->x;
	char line[ACCESS_LINE_MAX];
	struct access_entry e = {
		.wall_ms = loop_wall_ms(client_loop(c)), .client = conn_peer(c->conn), .target = http_msg_target(&x->msg),
		.method = { x->in + x->msg.method_at, x->msg.method_len }, .status = x->status, .body_bytes = x->sender.body_bytes,
		.report = c->reader.object ? object_report(c->reader.object) : NULL,
		.duration_us = loop_now_us(client_loop(c)) - x->start_us, .end = end,
	};

	if (client_conf(c)->access_log)
		loop_access(client_loop(c), line, access_format(line, &e));
}

static void client_count_response(struct client *c)
{
	const struct object_report *r = object_report(c->reader.object);
	struct stats *s = loop_stats(client_loop(c));

	if (!r->decided)
		return;
	stats_add(s, r->verdict.kind == VERDICT_CHARSET ? STAT_RESPONSES_NORMALISED : STAT_RESPONSES_UNTOUCHED, 1);
	stats_add(s, STAT_RESPONSES_REVISED, r->revised);
	stats_add(s, STAT_MALFORMED, r->malformed);
	stats_add(s, STAT_REPAIRS, r->repairs);
}

/* The one way out. Whatever was under way ends; the memory goes at the end of the turn. */
static void client_close(struct client *c, bool reset)
{
	if (c->state == CL_CLOSED)
		return;
	if (c->state == CL_WAIT || c->state == CL_SEND) {
		stats_add(loop_stats(client_loop(c)), STAT_REQUESTS_DROPPED, 1);
		client_log(c, "dropped");
	}
	c->state = CL_CLOSED;
	client_drop_body(c);
	object_detach(&c->reader);
	if (reset)
		conn_abort(&c->conn);
	else
		conn_close(&c->conn);
	loop_disarm(client_loop(c), &c->timer);
	loop_defer(client_loop(c), &c->task);
}

static void client_free(struct client *c)
{
	struct client_pool *p = c->pool;

	LIST_REMOVE(c, link);
	loop_undefer(client_loop(c), &c->task);
	client_release(c);
	free(c);
	p->count--;
	p->changed(p->arg);
}

static void client_listen(struct client *c)
{
	bool busy = c->state == CL_WAIT || c->state == CL_SEND;
	bool full = busy && (c->x->in_len >= client_conf(c)->max_header_bytes || c->x->body_starved);

	if (c->state != CL_CLOSED)
		conn_want(c->conn, !c->eof && !full, c->blocked);
}

/* The other side may still be sending: closing now would reset the connection and could destroy our answer on its way. */
static void client_linger(struct client *c)
{
	c->state = CL_LINGER;
	conn_shutdown_write(c->conn);
	client_release(c);
	loop_arm(client_loop(c), &c->timer, CLIENT_LINGER_MS);
	if (c->eof)
		client_close(c, false);
}

static void client_idle(struct client *c)
{
	c->state = CL_IDLE;
	if (c->eof || c->pool->draining)
		client_close(c, false);
	else
		loop_arm(client_loop(c), &c->timer, c->x ? CLIENT_REST_MS : client_conf(c)->keepalive_timeout_ms);
}


static int client_on_body(void *arg, const char *at, size_t len)
{
	struct client *c = arg;

	return c->x->body ? object_append(c->x->body, at, len) : 0;
}

/* -1: closed, out of memory. */
static int client_open_exchange(struct client *c)
{
	struct exchange *x = c->x = calloc(1, sizeof *x);

	if (x && (x->in = malloc(CLIENT_IN_FIRST_BYTES)) && (x->parser = http_parser_new(true, client_on_body, c)) &&
	    !http_msg_init(&x->msg, (size_t)client_conf(c)->max_header_fields)) {
		x->in_cap = CLIENT_IN_FIRST_BYTES;
		return 0;
	}
	client_close(c, false);
	return -1;
}

/* ---- reading ---- */

static void client_take_object(struct client *c, struct object *o)
{
	object_detach(&c->reader);
	if (!o) {
		client_close(c, false);
		return;
	}
	object_attach(o, &c->reader);
	object_unref(&o);
	c->x->interim = 0;
	loop_disarm(client_loop(c), &c->timer);
	c->state = CL_WAIT;
}

static void client_on_answer(struct answer *a)
{
	struct client *c = a->owner;

	loop_defer(client_loop(c), &c->task);
}

/* The answer has its object, waits for it, or there is none. */
static void client_take_answer(struct client *c)
{
	struct answer *a = &c->x->answer;
	struct object *o = a->object;

	a->object = NULL;
	if (o || !a->waiting)
		client_take_object(c, o);
	loop_disarm(client_loop(c), &c->timer);
	if (c->state != CL_CLOSED)
		c->state = CL_WAIT;
}

static void client_refuse(struct client *c, int status, const char *text)
{
	stats_add(loop_stats(client_loop(c)), STAT_REQUESTS_BAD, 1);
	c->keep = false;
	c->refused = true;
	client_take_object(c, request_refuse(&c->pool->ctx, status, text));
}

/* Does it begin with a word as methods are, or is it no HTTP at all? */
static bool client_has_method(const struct exchange *x)
{
	size_t n = 0;

	while (n < x->in_len && ((x->in[n] >= 'A' && x->in[n] <= 'Z') || x->in[n] == '-' || x->in[n] == '_'))
		n++;
	return n && n < x->in_len && x->in[n] == ' ';
}

static void client_refuse_error(struct client *c)
{
	switch (http_parser_error(c->x->parser)) {
	case HTTP_E_METHOD:
		if (client_has_method(c->x))
			client_refuse(c, 501, "This method is not known here.");
		else
			client_refuse(c, 400, "The request cannot be understood.");
		break;
	case HTTP_E_VERSION:
		client_refuse(c, 505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.");
		break;
	case HTTP_E_TOO_MANY_FIELDS:
		client_refuse(c, 431, "The request has too many header fields.");
		break;
	default:
		client_refuse(c, 400, "The request cannot be understood.");
	}
}

static bool client_wants_trailer(const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice member, rest;

	while (http_msg_next_member(m, H_TE, &it, &member))
		if (slice_is(slice_until(member, ';', &rest), "trailers"))
			return true;
	return false;
}

static void client_find_method(struct exchange *x)
{
	const char *at = x->in;

	while (at < x->in + x->msg.target && (*at == '\r' || *at == '\n'))
		at++;
	x->msg.method_at = (uint32_t)(at - x->in);
	while (at < x->in + x->in_len && *at != ' ' && *at != '\r' && *at != '\n')
		at++;
	x->msg.method_len = (uint32_t)(at - x->in) - x->msg.method_at;
}

/* Moves what has arrived of the request's body on. -1: the connection is gone. */
static int client_feed_body(struct client *c)
{
	struct exchange *x = c->x;
	size_t head = x->msg.head_len, used;

	if (!x->body)
		return 0;
	x->body_starved = object_full(x->body);
	if (x->body_starved)
		loop_disarm(client_loop(c), &c->upload);
	else if (x->in_len > head || !c->upload.queue)
		loop_arm(client_loop(c), &c->upload, client_conf(c)->between_bytes_timeout_ms);
	if (c->eof && x->in_len == head) {
		client_close(c, false);
		return -1;
	}
	if (x->body_starved || x->in_len == head)
		return 0;
	switch (http_parse(x->parser, x->in + head, x->in_len - head, &used)) {
	case PARSE_MORE:
		if (!c->eof)
			break;
		client_close(c, false);
		return -1;
	case PARSE_DONE:
		object_done(x->body);
		client_drop_body(c);
		break;
	default:
		client_close(c, false);
		return -1;
	}
	x->in_len -= used;
	memmove(x->in + head, x->in + head + used, x->in_len - head);
	return 0;
}

static void client_on_body_room(struct object_writer *w)
{
	struct client *c = OWNER_OF(w, struct client, body_writer);

	loop_wake(client_loop(c), &c->task);
}

/* -1: out of memory. */
static int client_open_body(struct client *c)
{
	struct exchange *x = c->x;
	struct object_head *head = object_head_new();

	if (!head || !(x->body = object_new(client_conf(c)->transit_bytes))) {
		object_head_unref(&head);
		return -1;
	}
	head->content_length = -1;
	object_head(x->body, head);
	c->body_writer = (struct object_writer){ client_on_body_room, client_on_body_room };
	object_set_writer(x->body, &c->body_writer);
	http_parser_go_on(x->parser);
	return 0;
}

/* The client waits for this before it sends its body (RFC 9110 section 10.1.1). Small enough for any socket buffer. */
static void client_say_continue(struct client *c)
{
	static char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec iov = { line, sizeof line - 1 };

	if (c->x->msg.minor >= 1 && slice_is(http_msg_get(&c->x->msg, H_EXPECT), "100-continue") &&
	    conn_writev(c->conn, &iov, 1) != (ssize_t)iov.iov_len)
		client_close(c, false);
}

static void client_request(struct client *c)
{
	struct exchange *x = c->x;
	struct http_msg *m = &x->msg;
	bool has_body = m->chunked || m->content_length;

	stats_add(loop_stats(client_loop(c)), STAT_REQUESTS, 1);
	client_find_method(x);
	c->keep = m->keep_alive && !c->pool->draining;
	if (m->target_len > client_conf(c)->max_url_bytes) {
		client_refuse(c, 414, "The URL is too long.");
		return;
	}
	if (has_body && !request_takes_body(m)) {
		client_refuse(c, 413, "A request with a body is not taken here.");
		return;
	}
	if (has_body && client_open_body(c)) {
		client_close(c, false);
		return;
	}
	x->answer = (struct answer){ .ready = client_on_answer, .owner = c };
	request_start(&c->pool->ctx, &x->answer, m, conn_peer_address(c->conn), x->body);
	client_take_answer(c);
	if (c->state != CL_WAIT || !x->body || !c->reader.object)
		return;
	if (object_phase(c->reader.object) == OBJECT_WAITING)
		client_say_continue(c);
	else {
		/* Answered without looking at the body: it stays unread. */
		client_drop_body(c);
		c->keep = false;
		c->refused = true;
	}
}

/* True: a request is there or the state changed otherwise. */
static bool client_parse(struct client *c)
{
	struct exchange *x = c->x;
	size_t used;

	if (!x || x->parsed == x->in_len) {
		if (!x || !x->in_len)
			client_idle(c);
		return false;
	}
	if (c->state == CL_IDLE) {
		c->state = CL_HEAD;
		c->refused = false;
		x->start_us = loop_now_us(client_loop(c));
		http_parser_start(x->parser, &x->msg, false);
		loop_arm(client_loop(c), &c->timer, client_conf(c)->request_timeout_ms);
	}
	x->msg.base = x->in;
	switch (http_parse(x->parser, x->in + x->parsed, x->in_len - x->parsed, &used)) {
	case PARSE_HEAD:
		client_request(c);
		return true;
	case PARSE_MORE:
		x->parsed += used;
		if (x->msg.target_len > client_conf(c)->max_url_bytes)
			client_refuse(c, 414, "The URL is too long.");
		else if (x->in_len >= client_conf(c)->max_header_bytes)
			client_refuse(c, 431, "The request header is too large.");
		else
			return false;
		break;
	default:
		client_refuse_error(c);
	}
	client_find_method(x);
	return true;
}

static int client_grow_in(struct client *c)
{
	struct exchange *x = c->x;
	size_t max = client_conf(c)->max_header_bytes, cap = x->in_cap * 2 < max ? x->in_cap * 2 : max;
	char *in = realloc(x->in, cap);

	if (!in) {
		client_close(c, false);
		return -1;
	}
	x->in = in;
	x->in_cap = cap;
	x->msg.base = in;
	return 0;
}

static void client_discard(struct client *c)
{
	ssize_t n;

	do
		n = conn_read(c->conn, loop_scratch(client_loop(c)), LOOP_SCRATCH_BYTES);
	while (n > 0);
	if (n != CONN_AGAIN)
		client_close(c, false);
}

static void client_read(struct client *c)
{
	while (!c->eof) {
		struct exchange *x = c->x;
		ssize_t n;

		if (!x) {
			if (client_open_exchange(c))
				return;
			x = c->x;
		}
		if (x->in_len == x->in_cap) {
			if (x->in_cap >= client_conf(c)->max_header_bytes)
				return;
			if (client_grow_in(c))
				return;
		}
		n = conn_read(c->conn, x->in + x->in_len, x->in_cap - x->in_len);
		if (n == CONN_AGAIN)
			return;
		if (n == CONN_FAILED) {
			client_close(c, false);
			return;
		}
		if (n == CONN_EOF) {
			c->eof = true;
			return;
		}
		x->in_len += (size_t)n;
		if (x->in_len < x->in_cap)
			return;
	}
}

/* ---- writing ---- */

/* The head to send is there, whoever made it: what is left to decide, and off it goes. */
static bool client_begin_with(struct client *c, struct object_head *from, bool stored)
{
	struct exchange *x = c->x;
	struct object *o = c->reader.object;
	struct sender_client asked = { .head = x->msg.method == METHOD_HEAD, .http_1_0 = x->msg.minor == 0,
		.trailers = client_wants_trailer(&x->msg), .keep = c->keep, .lines = "",
		.gzip = client_conf(c)->gzip && http_msg_accepts_coding(&x->msg, codec_gzip.names), .gzip_min = client_conf(c)->gzip_min };
	struct answer_final final = { .head = NULL };
	struct verdict v;

	if (x->answer.ctx) {
		if (answer_finish(&x->answer, o, from, &final)) {
			client_close(c, false);
			return true;
		}
		asked.lines = final.lines;
	} else {
		final.head = object_head_ref(from);
		final.content_length = object_content_length(o);
	}
	object_head_unref(&x->head);
	x->head = final.head;
	x->offset = final.offset;
	if (final.offset)
		object_seek(&c->reader, final.offset);
	if (!stored && object_verdict(o, &v))
		asked.verdict = &v;
	c->state = CL_SEND;
	x->status = final.head->status;
	c->keep = sender_begin_response(&x->sender, final.head, final.content_length, &asked);
	return true;
}

/* Interim responses of the origin, as long as the socket takes them whole: a client that stopped reading goes without. False: the
 * connection is gone. */
static bool client_pass_interim(struct client *c)
{
	char buf[4096];
	size_t len;

	while ((len = object_take_interim(c->reader.object, &c->x->interim, buf, sizeof buf))) {
		struct iovec iov = { buf, len };
		ssize_t n = conn_writev(c->conn, &iov, 1);

		if (n != (ssize_t)len && n != CONN_AGAIN) {
			client_close(c, false);
			return false;
		}
	}
	return true;
}

/* A refused request may have no version: it is answered as HTTP/1.0 would be, and the connection closed. */
static bool client_begin(struct client *c)
{
	struct exchange *x = c->x;
	struct object *o = c->reader.object;
	struct object_head *head = NULL;
	bool sent;

	if (!o) {
		if (x->answer.waiting)
			return false;
		client_take_answer(c);
		return c->state == CL_WAIT;
	}
	if (answer_again(&x->answer, o)) {
		object_detach(&c->reader);
		client_take_answer(c);
		return c->state == CL_WAIT;
	}
	if (x->msg.minor >= 1 && !client_pass_interim(c))
		return true;
	if (object_phase(o) == OBJECT_SUBSTITUTED)
		answer_follow(&x->answer, &c->reader, &head);
	else if (x->answer.head) {
		head = x->answer.head;
		x->answer.head = NULL;
	} else if (object_get_head(o))
		return client_begin_with(c, object_get_head(o), false);
	if (head) {
		sent = client_begin_with(c, head, true);
		object_head_unref(&head);
		return sent;
	}
	if (object_phase(o) != OBJECT_FAILED)
		return false;
	client_take_object(c, request_failure(&c->pool->ctx, o));
	return c->state == CL_WAIT;
}

/* The response is out. */
static void client_finish(struct client *c)
{
	struct exchange *x = c->x;
	size_t head_len = x->msg.head_len;

	client_count_response(c);
	client_log(c, "done");
	object_detach(&c->reader);
	loop_disarm(client_loop(c), &c->timer);
	c->state = CL_IDLE;
	sender_end(&x->sender);
	if (x->body) {
		client_drop_body(c);
		c->keep = false;
		c->refused = true;
	}
	if (!c->keep) {
		if (c->refused || x->in_len > head_len)
			client_linger(c);
		else
			client_close(c, false);
		return;
	}
	client_drop_answer(x);
	x->interim = 0;
	x->in_len -= head_len;
	memmove(x->in, x->in + head_len, x->in_len);
	x->parsed = 0;
}

/* The origin's transfer failed after the head went out: the client must not take what it has for complete. */
static void client_cut(struct client *c)
{
	stats_add(loop_stats(client_loop(c)), STAT_RESPONSES_CUT, 1);
	client_log(c, "cut");
	object_detach(&c->reader);
	c->state = CL_IDLE;
	client_close(c, c->x->sender.framing == FRAME_CLOSE);
}

/* True: the response is out, or the connection is gone. */
static bool client_send(struct client *c)
{
	struct exchange *x = c->x;
	uint64_t before = x->sender.bytes;
	enum sender_result r = sender_write(&x->sender, c->conn, &c->reader);
	bool moved = x->sender.bytes > before;

	stats_add(loop_stats(client_loop(c)), STAT_BYTES_TO_CLIENTS, x->sender.bytes - before);
	if (r == SENDER_BLOCKED && (moved || !c->blocked))
		loop_arm(client_loop(c), &c->timer, client_conf(c)->write_timeout_ms);
	else if (r == SENDER_WAIT)
		loop_disarm(client_loop(c), &c->timer);
	c->blocked = r == SENDER_BLOCKED;
	switch (r) {
	case SENDER_DONE:
		client_finish(c);
		return true;
	case SENDER_CUT:
		client_cut(c);
		return true;
	case SENDER_LOST:
		client_close(c, false);
		return true;
	default:
		return false;
	}
}

/* ---- driving ---- */

static void client_pump(struct client *c)
{
	for (int steps = CLIENT_STEPS_PER_TURN; steps; steps--) {
		bool on = false;

		if ((c->state == CL_WAIT || c->state == CL_SEND) && client_feed_body(c))
			return;
		switch (c->state) {
		case CL_IDLE:
		case CL_HEAD:
			on = client_parse(c);
			if (!on && c->eof)
				client_close(c, false);
			break;
		case CL_WAIT:
			on = client_begin(c);
			break;
		case CL_SEND:
			on = client_send(c);
			break;
		case CL_LINGER:
		case CL_CLOSED:
			break;
		}
		if (!on) {
			client_listen(c);
			return;
		}
	}
	client_listen(c);
	loop_defer(client_loop(c), &c->task);
}

static void client_on_conn(void *arg, enum conn_event event)
{
	struct client *c = arg;

	if (c->state == CL_CLOSED)
		return;
	if (c->state == CL_LINGER) {
		client_discard(c);
		return;
	}
	if (event == CONN_READABLE)
		client_read(c);
	client_pump(c);
}

static void client_on_wake(struct object_reader *r)
{
	struct client *c = OWNER_OF(r, struct client, reader);

	loop_wake(client_loop(c), &c->task);
}

static void client_on_task(struct task *t)
{
	struct client *c = OWNER_OF(t, struct client, task);

	if (c->state == CL_CLOSED)
		client_free(c);
	else if (!c->blocked || c->state != CL_SEND)
		client_pump(c);
	else if (c->x->body_starved && !client_feed_body(c))
		client_listen(c);
}

static void client_on_timeout(struct timer *t)
{
	struct client *c = OWNER_OF(t, struct client, timer);

	if (c->state == CL_HEAD) {
		client_refuse(c, 408, "The request header was not complete in time.");
		client_find_method(c->x);
		client_pump(c);
	} else if (c->state == CL_IDLE && c->x) {
		client_release(c);
		loop_arm(client_loop(c), &c->timer, client_conf(c)->keepalive_timeout_ms);
	} else
		client_close(c, c->state == CL_SEND);
}

static void client_on_upload_timeout(struct timer *t)
{
	struct client *c = OWNER_OF(t, struct client, upload);

	if (c->state == CL_WAIT) {
		client_drop_body(c);
		client_refuse(c, 408, "The request's body was not complete in time.");
		client_pump(c);
	} else
		client_close(c, true);
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
	return p;
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
	free(p);
	*pp = NULL;
}

/* Answered at once, whatever it was going to ask for. */
static void client_forbid(struct client *c)
{
	stats_add(loop_stats(client_loop(c)), STAT_CLIENTS_FORBIDDEN, 1);
	if (client_open_exchange(c))
		return;
	c->x->start_us = loop_now_us(client_loop(c));
	c->x->msg.base = c->x->in;
	client_refuse(c, 403, "This address may not use this proxy (client-allow).");
	client_pump(c);
}

int client_accept(struct client_pool *p, int fd, struct tls_context *tls)
{
	struct ip ip;
	struct client *c = calloc(1, sizeof *c);

	if (!c) {
		close(fd);
		return -1;
	}
	if (!(c->conn = conn_new(p->ctx.loop, fd, client_on_conn, c)) || (tls && conn_start_tls(c->conn, tls, NULL))) {
		conn_close(&c->conn);
		free(c);
		return -1;
	}
	c->pool = p;
	c->reader.wake = client_on_wake;
	c->timer.fire = client_on_timeout;
	c->upload.fire = client_on_upload_timeout;
	c->task.run = client_on_task;
	LIST_INSERT_HEAD(&p->clients, c, link);
	p->count++;
	stats_add(loop_stats(p->ctx.loop), STAT_CLIENTS_ACCEPTED, 1);
	client_idle(c);
	if (tls)
		loop_arm(p->ctx.loop, &c->timer, client_conf(c)->request_timeout_ms);
	client_listen(c);
	if (!ip_from_sockaddr(conn_peer_address(c->conn), &ip) || !cidr_list_contains(&client_conf(c)->client_allow, &ip))
		client_forbid(c);
	return 0;
}

size_t client_count(const struct client_pool *p)
{
	return p->count;
}

void client_pool_drain(struct client_pool *p)
{
	struct client *c, *next;

	p->draining = true;
	for (c = LIST_FIRST(&p->clients); c; c = next) {
		next = LIST_NEXT(c, link);
		c->keep = false;
		if (c->state == CL_IDLE)
			client_close(c, false);
	}
}
