/* One connection of the admin listener; see admin_internal.h. A request is read whole, then answered whole. Each
 * connection has a place (places.h), and is closed when another one takes that place. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/admin/admin_internal.h"
#include "proxy/admin/check_job.h"
#include "proxy/base/container_of.h"
#include "proxy/base/text.h"
#include "proxy/cache/purge.h"
#include "proxy/http/http_parse.h"
#include "proxy/net/conn.h"
#include "proxy/object/response_head.h"
#include "proxy/settings/fd_limit.h"
#include "proxy/settings/settings.h"
#include "proxy/settings/tls_set.h"

enum {
	ADMIN_IN_BYTES = 32 * 1024, /* the longest head, and what is read of a body at a time */
	ADMIN_FIELDS_MAX = 100,
	ADMIN_REQUEST_MS = 10000,
	ADMIN_IDLE_MS = 60000,
	ADMIN_WRITE_MS = 30000,
	ADMIN_LINGER_MS = 1000
};

enum admin_state {
	ADMIN_HEAD,
	ADMIN_BODY, /* reading a request */
	ADMIN_TURN, /* the request is whole; a turn of the loop answers only one, so that probes need not wait */
	ADMIN_WAIT, /* for an answer that takes longer */
	ADMIN_SEND,
	ADMIN_LINGER /* the answer is out; what the client still sends is dropped */
};

struct admin_conn {
	LIST_ENTRY(admin_conn) link;
	struct admin *admin;
	struct conn *conn;
	struct place place;
	struct timer timer;
	struct task resume; /* goes on after an answer, or with one that took longer */
	enum admin_state state;
	struct http_parser *parser;
	struct http_msg msg;
	size_t in_len, parsed;
	struct text body;
	const struct admin_page *page;
	struct admin_exchange x;
	char *reply; /* the answer's body, as open_memstream() makes it */
	size_t reply_len;
	struct text out; /* the answer, head and body */
	size_t sent;
	bool keep; /* the connection outlives this answer */
	struct admin_asker who;
	char in[ADMIN_IN_BYTES];
};

static_assert(PLACES_WAIT + PLACES_PROBE + PLACES_WORK == FD_LIMIT_ADMIN, "descriptors are kept for all places");

static void admin_conn_pump(struct admin_conn *c);

/* Bits of the states that may follow. */
#define TO(state) (1u << ADMIN_##state)
#define ANSWERED (TO(WAIT) | TO(SEND) | TO(LINGER))
static const unsigned admin_next[] = {
	[ADMIN_HEAD] = TO(BODY) | TO(TURN) | ANSWERED,
	[ADMIN_BODY] = TO(TURN) | ANSWERED,
	[ADMIN_TURN] = ANSWERED,
	[ADMIN_WAIT] = TO(SEND),
	[ADMIN_SEND] = TO(HEAD) | TO(LINGER),
	[ADMIN_LINGER] = 0,
};

static void admin_enter(struct admin_conn *c, enum admin_state state)
{
	assert(admin_next[c->state] >> state & 1);
	c->state = state;
}

static void admin_drop_exchange(struct admin_conn *c)
{
	purge_wait_free(&c->x.waits);
	if (c->x.job)
		check_job_drop(c->x.job);
	if (c->x.reload)
		admin_reload_forget(c->x.reload);
	if (c->x.out)
		fclose(c->x.out);
	free(c->reply);
	c->reply = NULL;
	c->x = (struct admin_exchange){ .admin = c->admin };
	text_free(&c->body);
}

void admin_conn_free(struct admin_conn *c)
{
	struct admin *a = c->admin;

	LIST_REMOVE(c, link);
	places_leave(&a->places, &c->place);
	admin_drop_exchange(c);
	text_free(&c->out);
	loop_disarm(a->loop, &c->timer);
	loop_forget_own(a->loop, &c->resume);
	conn_close(&c->conn);
	http_parser_free(&c->parser);
	http_msg_free(&c->msg);
	free(c);
}

static void admin_on_timeout(struct timer *t)
{
	admin_conn_free(container_of(t, struct admin_conn, timer));
}

/* Closes another connection where that is needed to make room. False: all of them may stay. */
static bool admin_make_room(struct admin *a, enum place_kind kind)
{
	struct place *victim;

	if (!places_are_full(&a->places, kind))
		return true;
	if (!(victim = places_victim(&a->places, kind)))
		return false;
	admin_conn_free(container_of(victim, struct admin_conn, place));
	return true;
}

/* Moves to a place of another kind, if it is another one. False: there is none. */
static bool admin_move(struct admin_conn *c, enum place_kind kind, bool kept)
{
	if (c->place.kind == kind)
		return true;
	if (!admin_make_room(c->admin, kind))
		return false;
	places_leave(&c->admin->places, &c->place);
	places_take(&c->admin->places, &c->place, kind, kept);
	return true;
}

static void admin_begin_request(struct admin_conn *c)
{
	http_parser_start(c->parser, &c->msg, false);
	c->msg.base = c->in;
	loop_arm(c->admin->loop, &c->timer, c->in_len ? ADMIN_REQUEST_MS : ADMIN_IDLE_MS);
}

/* Opens the body of the answer. False: out of memory. */
static bool admin_open_answer(struct admin_conn *c)
{
	struct admin_exchange *x = &c->x;

	*x = (struct admin_exchange){ .admin = c->admin,
		.msg = &c->msg,
		.status = 200,
		.type = "text/plain; charset=utf-8",
		.fields = "",
		.body = { c->body.bytes ? c->body.bytes : "", c->body.len } };
	x->path = slice_until(http_msg_target(&c->msg), '?', &x->query);
	x->out = open_memstream(&c->reply, &c->reply_len);
	return x->out;
}

/* Writes head and body together. The answer is for who asked alone, and nothing may guess its type. */
static void admin_send(struct admin_conn *c)
{
	struct admin_exchange *x = &c->x;
	bool failed = fclose(x->out) != 0;

	x->out = NULL;
	text_printf(&c->out,
	    "HTTP/1.1 %d %s\r\nDate: %s\r\nServer: utfeed\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
	    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s%s\r\n",
	    x->status, http_reason_phrase(x->status), loop_http_date(c->admin->loop), x->type, c->reply_len, x->fields,
	    c->keep ? "" : "Connection: close\r\n");
	if (c->msg.method != METHOD_HEAD)
		text_add(&c->out, c->reply, c->reply_len);
	c->keep = c->keep && !failed && !c->out.failed;
	c->sent = 0;
	admin_enter(c, ADMIN_SEND);
	loop_arm(c->admin->loop, &c->timer, ADMIN_WRITE_MS);
}

static void admin_refuse(struct admin_conn *c, int status, const char *sentence)
{
	c->keep = false;
	(void)admin_move(c, PLACE_WAIT, false);
	if (!admin_open_answer(c)) {
		admin_enter(c, ADMIN_LINGER);
		return;
	}
	admin_answer_plainly(&c->x, status, sentence);
	admin_send(c);
}

static void admin_answer_now(struct admin_conn *c)
{
	if (!admin_open_answer(c)) {
		c->keep = false;
		admin_enter(c, ADMIN_LINGER);
		return;
	}
	admin_answer(c->page, &c->x);
	if (!c->x.waits && !c->x.job && !c->x.reload) {
		admin_send(c);
		return;
	}
	loop_disarm(c->admin->loop, &c->timer);
	admin_enter(c, ADMIN_WAIT);
}

struct text admin_conn_take_body(struct admin_exchange *x)
{
	struct admin_conn *c = container_of(x, struct admin_conn, x);
	struct text body = c->body;

	c->body = (struct text){ 0 };
	return body;
}

void admin_conn_answer_later(struct admin_exchange *x)
{
	struct admin_conn *c = container_of(x, struct admin_conn, x);

	admin_send(c);
	loop_defer(c->admin->loop, &c->resume);
}

static void admin_on_resume(struct task *t)
{
	struct admin_conn *c = container_of(t, struct admin_conn, resume);

	if (c->state == ADMIN_TURN)
		admin_answer_now(c);
	admin_conn_pump(c);
}

static void admin_request_is_whole(struct admin_conn *c)
{
	if (c->place.kind == PLACE_PROBE) {
		admin_answer_now(c);
		return;
	}
	admin_enter(c, ADMIN_TURN);
	loop_defer(c->admin->loop, &c->resume);
}

static int admin_on_body(void *arg, const char *at, size_t len)
{
	struct admin_conn *c = arg;

	if (c->body.len + len > admin_page_body_max(c->page))
		return -1;
	text_add(&c->body, at, len);
	return c->body.failed;
}

/* The head is complete: says whether the request is answered at all, before its body is read. */
static void admin_take_head(struct admin_conn *c)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec iov = { (char *)(uintptr_t)go_on, sizeof go_on - 1 };
	const struct admin_refusal *refusal;

	c->keep = c->msg.keep_alive;
	if (!admin_is_allowed(c->admin, conn_peer_address(c->conn))) { /* any more, since a reload */
		admin_refuse(c, 403, ADMIN_TURNED_AWAY);
		return;
	}
	if ((refusal = admin_judge(c->admin->settings->conf, &c->msg, &c->who, &c->page))) {
		admin_refuse(c, refusal->status, refusal->sentence);
		return;
	}
	if (!admin_move(c, admin_page_reach(c->page) == PROBES ? PLACE_PROBE : PLACE_WORK, c->who.showed_token)) {
		admin_refuse(c, 503, "Too many requests are being answered; try again later.");
		return;
	}
	if (!c->msg.chunked && !c->msg.content_length) {
		admin_request_is_whole(c);
		return;
	}
	if (c->msg.minor >= 1 && slice_is(http_msg_get(&c->msg, H_EXPECT), "100-continue"))
		(void)conn_writev(c->conn, &iov, 1);
	http_parser_go_on(c->parser);
	admin_enter(c, ADMIN_BODY);
}

static void admin_refuse_parse(struct admin_conn *c)
{
	if (c->state == ADMIN_BODY && http_parser_error(c->parser) == HTTP_E_BODY)
		admin_refuse(c, 413, "This body is too long.");
	else
		admin_refuse(c, 400, "The request cannot be understood.");
}

/* Parses what was read. False: more must be read first. */
static bool admin_parse(struct admin_conn *c)
{
	size_t used, head_len = c->msg.head_len;
	enum http_parse_result r = http_parse(c->parser, c->in + c->parsed, c->in_len - c->parsed, &used);

	c->parsed += used;
	switch (r) {
	case PARSE_HEAD:
		admin_take_head(c);
		return true;
	case PARSE_DONE:
		admin_request_is_whole(c);
		return true;
	case PARSE_ERROR:
		admin_refuse_parse(c);
		return true;
	case PARSE_MORE:
		break;
	}
	if (c->state == ADMIN_BODY)
		c->in_len = c->parsed = head_len;
	if (c->in_len == sizeof c->in)
		admin_refuse(c, 431, "The request's head is too long.");
	return c->state == ADMIN_SEND;
}

/* False: nothing more can be read now, or the connection is gone. */
static bool admin_read(struct admin_conn *c)
{
	ssize_t n = conn_read(c->conn, c->in + c->in_len, sizeof c->in - c->in_len);

	if (n == CONN_AGAIN) {
		conn_want(c->conn, true, false);
		return false;
	}
	if (n <= 0) {
		admin_conn_free(c);
		return false;
	}
	if (!c->in_len)
		loop_arm(c->admin->loop, &c->timer, ADMIN_REQUEST_MS);
	c->in_len += (size_t)n;
	return true;
}

/* Drops what a client still sends whose answer is out, until it closes. */
static bool admin_linger(struct admin_conn *c)
{
	if (conn_discard(c->conn))
		conn_want(c->conn, true, false);
	else
		admin_conn_free(c);
	return false;
}

/* The answer is out: what was pipelined behind the request becomes the next one. */
static void admin_finish(struct admin_conn *c)
{
	text_free(&c->out);
	admin_drop_exchange(c);
	if (!c->keep) {
		admin_enter(c, ADMIN_LINGER);
		(void)admin_move(c, PLACE_WAIT, false);
		conn_shutdown_write(c->conn);
		loop_arm(c->admin->loop, &c->timer, ADMIN_LINGER_MS);
		return;
	}
	c->in_len -= c->parsed;
	memmove(c->in, c->in + c->parsed, c->in_len);
	c->parsed = 0;
	admin_enter(c, ADMIN_HEAD);
	(void)admin_move(c, PLACE_WAIT, false);
	admin_begin_request(c);
}

static bool admin_write(struct admin_conn *c)
{
	struct iovec iov = { c->out.bytes + c->sent, c->out.len - c->sent };
	ssize_t n = c->out.failed || !iov.iov_len ? 0 : conn_writev(c->conn, &iov, 1);

	if (n == CONN_FAILED) {
		admin_conn_free(c);
		return false;
	}
	if (n == CONN_AGAIN) {
		conn_want(c->conn, false, true);
		return false;
	}
	c->sent += (size_t)n;
	loop_arm(c->admin->loop, &c->timer, ADMIN_WRITE_MS);
	if (c->out.failed || c->sent == c->out.len) {
		admin_finish(c);
		loop_defer(c->admin->loop, &c->resume); /* others come first, however many requests were pipelined */
		return false;
	}
	return true;
}

/* Does the next step. False: there is none to do now, or the connection is gone. */
static bool admin_step(struct admin_conn *c)
{
	switch (c->state) {
	case ADMIN_HEAD:
	case ADMIN_BODY:
		if (c->parsed < c->in_len && admin_parse(c))
			return true;
		return admin_read(c);
	case ADMIN_TURN:
	case ADMIN_WAIT:
		conn_want(c->conn, false, false);
		return false;
	case ADMIN_SEND:
		return admin_write(c);
	case ADMIN_LINGER:
		return admin_linger(c);
	}
	return false;
}

static void admin_conn_pump(struct admin_conn *c)
{
	while (admin_step(c))
		;
}

static void admin_on_conn(void *arg, enum conn_event event)
{
	struct admin_conn *c = arg;

	/* A failed handshake is all that is told before the connection is open. */
	if (event == CONN_READABLE && !conn_is_open(c->conn))
		admin_conn_free(c);
	else
		admin_conn_pump(c);
}

static void admin_greet(struct admin_conn *c)
{
	struct tls_context *tls = tls_set_door(c->admin->settings->tls, TLS_DOOR_ADMIN);

	admin_begin_request(c);
	loop_arm(c->admin->loop, &c->timer, ADMIN_REQUEST_MS);
	if (!tls)
		admin_conn_pump(c);
	else if (conn_start_tls(c->conn, tls, NULL, NULL))
		admin_conn_free(c);
	else {
		c->who.secure = true;
		conn_want(c->conn, true, false);
	}
}

void admin_conn_new(struct admin *a, int fd, const struct sockaddr *peer, socklen_t len)
{
	struct ip address, *ip = ip_from_sockaddr(peer, &address) ? &address : NULL;
	struct admin_conn *c;

	if (!admin_is_allowed(a, peer)) {
		admin_turn_away(a, fd);
		return;
	}
	if (!admin_make_room(a, PLACE_WAIT) || !(c = calloc(1, sizeof *c))) {
		close(fd);
		return;
	}
	c->admin = a;
	c->timer.fire = admin_on_timeout;
	c->resume = (struct task){ .run = admin_on_resume, .is_slice = true };
	c->who.near = !ip || ip_is_loopback(ip);
	c->place.crowd = places_crowd(ip);
	places_take(&a->places, &c->place, PLACE_WAIT, false);
	LIST_INSERT_HEAD(&a->conns, c, link);
	if (!(c->conn = conn_new(a->loop, fd, peer, len, admin_on_conn, c)) ||
	    http_msg_init(&c->msg, ADMIN_FIELDS_MAX) || !(c->parser = http_parser_new(true, admin_on_body, c)))
		admin_conn_free(c);
	else
		admin_greet(c);
}
