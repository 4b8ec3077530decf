/* One connection of the admin listener, or a stream of one; see admin_conn.h. A request is read whole, then answered
 * whole. Each connection has a place (places.h), and is closed when another one takes that place. */
#include "proxy/admin/admin_conn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/admin/check_job.h"
#include "proxy/base/container_of.h"
#include "proxy/cache/purge.h"
#include "proxy/http/http_parse.h"
#include "proxy/net/conn.h"
#include "proxy/net/h2.h"
#include "proxy/object/response_head.h"
#include "proxy/settings/fd_limit.h"
#include "proxy/settings/settings.h"
#include "proxy/settings/tls_set.h"

static_assert(PLACES_WAIT + PLACES_PROBE + PLACES_WORK == FD_LIMIT_ADMIN, "descriptors are kept for all places");

static void admin_conn_pump(struct admin_conn *conn);

/* Bits of the states that may follow. */
#define TO(state) (1u << ADMIN_##state)
#define ANSWERED (TO(WAIT) | TO(SEND) | TO(LINGER))
static const unsigned admin_next[] = {
	[ADMIN_HEAD] = TO(BODY) | TO(TURN) | TO(STREAMS) | ANSWERED,
	[ADMIN_BODY] = TO(TURN) | ANSWERED,
	[ADMIN_TURN] = ANSWERED,
	[ADMIN_WAIT] = TO(SEND),
	[ADMIN_SEND] = TO(HEAD) | TO(LINGER),
	[ADMIN_STREAMS] = TO(LINGER),
	[ADMIN_LINGER] = 0,
};

void admin_enter(struct admin_conn *conn, enum admin_state state)
{
	assert(admin_next[conn->state] >> state & 1);
	conn->state = state;
}

static void admin_drop_exchange(struct admin_conn *conn)
{
	purge_wait_free(&conn->x.waits);
	if (conn->x.job)
		check_job_drop(conn->x.job);
	if (conn->x.reload)
		admin_reload_forget(conn->x.reload);
	if (conn->x.out)
		fclose(conn->x.out);
	free(conn->reply);
	conn->reply = NULL;
	conn->x = (struct admin_exchange){ .admin = conn->admin };
	text_free(&conn->body);
}

/* A connection of HTTP/2 gives way to nobody while utfeed answers a request on it. */
static void admin_leave_place(struct admin_conn *conn)
{
	places_leave(&conn->admin->places, &conn->place);
	if (conn->session && conn->place.kind != PLACE_WAIT)
		conn->session->place.kept = --conn->session->answering > 0;
}

static void admin_take_place(struct admin_conn *conn, enum place_kind kind, bool kept)
{
	places_take(&conn->admin->places, &conn->place, kind, kept);
	if (conn->session && kind != PLACE_WAIT) {
		conn->session->answering++;
		conn->session->place.kept = true;
	}
}

void admin_conn_free(struct admin_conn *conn)
{
	struct admin *admin = conn->admin;

	LIST_REMOVE(conn, link);
	admin_leave_place(conn);
	admin_drop_exchange(conn);
	text_free(&conn->out);
	loop_disarm(admin->loop, &conn->timer);
	loop_forget_own(admin->loop, &conn->resume);
	admin_end_streams(conn);
	conn_close(&conn->conn);
	http_parser_free(&conn->parser);
	http_msg_free(&conn->msg);
	free(conn);
}

static void admin_on_timeout(struct timer *timer)
{
	admin_conn_free(container_of(timer, struct admin_conn, timer));
}

/* Closes another connection, but not that one, where room is needed. False: all of them may stay. */
static bool admin_make_room(struct admin *admin, enum place_kind kind, const struct admin_conn *but)
{
	struct place *victim;

	if (!places_are_full(&admin->places, kind))
		return true;
	if (!(victim = places_victim(&admin->places, kind)) || (but && victim == &but->place))
		return false;
	admin_conn_free(container_of(victim, struct admin_conn, place));
	return true;
}

/* Moves to a place of another kind, if it is another one. False: there is none. */
static bool admin_move(struct admin_conn *conn, enum place_kind kind, bool kept)
{
	if (conn->place.kind == kind)
		return true;
	if (!admin_make_room(conn->admin, kind, NULL))
		return false;
	admin_leave_place(conn);
	admin_take_place(conn, kind, kept);
	return true;
}

static void admin_begin_request(struct admin_conn *conn)
{
	http_parser_start(conn->parser, &conn->msg, false);
	conn->msg.base = conn->in;
	loop_arm(conn->admin->loop, &conn->timer, conn->in_len ? ADMIN_REQUEST_MS : ADMIN_IDLE_MS);
}

/* Opens the body of the answer. False: out of memory. */
static bool admin_open_answer(struct admin_conn *conn)
{
	struct admin_exchange *x = &conn->x;

	*x = (struct admin_exchange){ .admin = conn->admin,
		.msg = &conn->msg,
		.status = 200,
		.type = "text/plain; charset=utf-8",
		.fields = "",
		.body = { conn->body.bytes ? conn->body.bytes : "", conn->body.len } };
	x->path = slice_until(http_msg_target(&conn->msg), '?', &x->query);
	x->out = open_memstream(&conn->reply, &conn->reply_len);
	return x->out;
}

/* Writes head and body together. The answer is for who asked alone, and nothing may guess its type. */
static void admin_send(struct admin_conn *conn)
{
	struct admin_exchange *x = &conn->x;
	bool failed = fclose(x->out) != 0;

	x->out = NULL;
	text_printf(&conn->out,
	    "HTTP/1.1 %d %s\r\nDate: %s\r\nServer: utfeed\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
	    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s%s\r\n",
	    x->status, http_reason_phrase(x->status), loop_http_date(conn->admin->loop), x->type, conn->reply_len,
	    x->fields, conn->keep ? "" : "Connection: close\r\n");
	if (conn->msg.method != METHOD_HEAD)
		text_add(&conn->out, conn->reply, conn->reply_len);
	conn->keep = conn->keep && !failed && !conn->out.failed;
	conn->sent = 0;
	admin_enter(conn, ADMIN_SEND);
	loop_arm(conn->admin->loop, &conn->timer, ADMIN_WRITE_MS);
}

static void admin_refuse(struct admin_conn *conn, int status, const char *sentence)
{
	conn->keep = false;
	(void)admin_move(conn, PLACE_WAIT, false);
	if (!admin_open_answer(conn)) {
		admin_enter(conn, ADMIN_LINGER);
		return;
	}
	admin_answer_plainly(&conn->x, status, sentence);
	admin_send(conn);
}

static void admin_answer_now(struct admin_conn *conn)
{
	if (!admin_open_answer(conn)) {
		conn->keep = false;
		admin_enter(conn, ADMIN_LINGER);
		return;
	}
	conn->page->answer(&conn->x);
	if (!conn->x.waits && !conn->x.job && !conn->x.reload) {
		admin_send(conn);
		return;
	}
	loop_disarm(conn->admin->loop, &conn->timer);
	admin_enter(conn, ADMIN_WAIT);
}

struct text admin_conn_take_body(struct admin_exchange *x)
{
	struct admin_conn *conn = container_of(x, struct admin_conn, x);
	struct text body = conn->body;

	conn->body = (struct text){ 0 };
	return body;
}

void admin_conn_answer_later(struct admin_exchange *x)
{
	struct admin_conn *conn = container_of(x, struct admin_conn, x);

	admin_send(conn);
	loop_defer(conn->admin->loop, &conn->resume);
}

static void admin_on_resume(struct task *task)
{
	struct admin_conn *conn = container_of(task, struct admin_conn, resume);

	if (conn->state == ADMIN_TURN)
		admin_answer_now(conn);
	admin_conn_pump(conn);
}

static void admin_request_is_whole(struct admin_conn *conn)
{
	if (conn->place.kind == PLACE_PROBE) {
		admin_answer_now(conn);
		return;
	}
	admin_enter(conn, ADMIN_TURN);
	loop_defer(conn->admin->loop, &conn->resume);
}

static int admin_on_body(void *arg, const char *at, size_t len)
{
	struct admin_conn *conn = arg;

	if (conn->body.len + len > (conn->page->takes_feeds ? ADMIN_FEED_MAX : ADMIN_FORM_MAX))
		return -1;
	text_add(&conn->body, at, len);
	return conn->body.failed;
}

/* The head is complete: refuses a request before its body is read. */
static void admin_take_head(struct admin_conn *conn)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec iov = { (char *)(uintptr_t)go_on, sizeof go_on - 1 };
	const struct admin_refusal *refusal;
	char room[ADMIN_SENTENCE_MAX];

	conn->keep = conn->msg.keep_alive && !conn->stream;
	if (!admin_is_allowed(conn->admin, conn_peer_address(conn->conn))) { /* any more, since a reload */
		admin_refuse(conn, 403, ADMIN_TURNED_AWAY);
		return;
	}
	if ((refusal = admin_judge(conn->admin->settings->conf, &conn->msg, &conn->who, &conn->page))) {
		admin_refuse(conn, refusal->status,
		    admin_refusal_sentence(refusal, conn->admin->settings->conf, &conn->msg, room));
		return;
	}
	if (!admin_move(conn, conn->page->reach == PROBES ? PLACE_PROBE : PLACE_WORK,
	    conn->who.showed_token)) {
		admin_refuse(conn, 503, "Too many requests are being answered; try again later.");
		return;
	}
	if (!conn->msg.chunked && !conn->msg.content_length) {
		admin_request_is_whole(conn);
		return;
	}
	if (conn->msg.minor >= 1 && slice_is(http_msg_get(&conn->msg, H_EXPECT), "100-continue"))
		(void)conn_writev(conn->conn, &iov, 1);
	http_parser_go_on(conn->parser);
	admin_enter(conn, ADMIN_BODY);
}

static void admin_refuse_parse(struct admin_conn *conn)
{
	if (conn->state == ADMIN_BODY && http_parser_error(conn->parser) == HTTP_E_BODY)
		admin_refuse(conn, 413, "This body is too long.");
	else
		admin_refuse(conn, 400, "The request cannot be understood.");
}

/* Parses what was read. False: more must be read first. */
static bool admin_parse(struct admin_conn *conn)
{
	size_t used, head_len = conn->msg.head_len;
	enum http_parse_result r =
	    http_parse(conn->parser, conn->in + conn->parsed, conn->in_len - conn->parsed, &used);

	conn->parsed += used;
	switch (r) {
	case PARSE_HEAD:
		if (conn->stream && h2_head_is_cut(conn->conn))
			break;
		admin_take_head(conn);
		return true;
	case PARSE_DONE:
		admin_request_is_whole(conn);
		return true;
	case PARSE_ERROR:
		admin_refuse_parse(conn);
		return true;
	case PARSE_MORE:
		break;
	}
	if (conn->state == ADMIN_BODY)
		conn->in_len = conn->parsed = head_len;
	if (r == PARSE_HEAD || conn->in_len == sizeof conn->in)
		admin_refuse(conn, 431, "The request's head is too long.");
	return conn->state == ADMIN_SEND;
}

/* False: nothing more can be read now, or the connection is gone. */
static bool admin_read(struct admin_conn *conn)
{
	ssize_t n = conn_read(conn->conn, conn->in + conn->in_len, sizeof conn->in - conn->in_len);

	if (n == CONN_AGAIN) {
		conn_want(conn->conn, true, false);
		return false;
	}
	if (n <= 0) {
		admin_conn_free(conn);
		return false;
	}
	if (!conn->in_len)
		loop_arm(conn->admin->loop, &conn->timer, ADMIN_REQUEST_MS);
	conn->in_len += (size_t)n;
	return true;
}

/* Drops what a client still sends whose answer is out, until it closes. */
static bool admin_linger(struct admin_conn *conn)
{
	if (!conn->stream && conn_discard(conn->conn))
		conn_want(conn->conn, true, false);
	else
		admin_conn_free(conn);
	return false;
}

void admin_begin_linger(struct admin_conn *conn)
{
	admin_enter(conn, ADMIN_LINGER);
	conn_shutdown_write(conn->conn);
	loop_arm(conn->admin->loop, &conn->timer, ADMIN_LINGER_MS);
}

/* The answer is out: what was pipelined behind the request becomes the next one. */
static void admin_finish(struct admin_conn *conn)
{
	text_free(&conn->out);
	admin_drop_exchange(conn);
	if (!conn->stream)
		(void)admin_move(conn, PLACE_WAIT, false);
	if (!conn->keep) {
		admin_begin_linger(conn);
		return;
	}
	conn->in_len -= conn->parsed;
	memmove(conn->in, conn->in + conn->parsed, conn->in_len);
	conn->parsed = 0;
	admin_enter(conn, ADMIN_HEAD);
	admin_begin_request(conn);
}

static bool admin_write(struct admin_conn *conn)
{
	struct iovec iov = { conn->out.bytes + conn->sent, conn->out.len - conn->sent };
	ssize_t n = conn->out.failed || !iov.iov_len ? 0 : conn_writev(conn->conn, &iov, 1);

	if (n == CONN_FAILED) {
		admin_conn_free(conn);
		return false;
	}
	if (n == CONN_AGAIN) {
		conn_want(conn->conn, false, true);
		return false;
	}
	conn->sent += (size_t)n;
	loop_arm(conn->admin->loop, &conn->timer, ADMIN_WRITE_MS);
	if (conn->out.failed || conn->sent == conn->out.len) {
		admin_finish(conn);
		/* others come first, however many requests were pipelined */
		loop_defer(conn->admin->loop, &conn->resume);
		return false;
	}
	return true;
}

/* Does the next step. False: there is none to do now, or the connection is gone. */
static bool admin_step(struct admin_conn *conn)
{
	switch (conn->state) {
	case ADMIN_HEAD:
	case ADMIN_BODY:
		if (conn->parsed < conn->in_len && admin_parse(conn))
			return true;
		return admin_read(conn);
	case ADMIN_TURN:
	case ADMIN_WAIT:
		conn_want(conn->conn, false, false);
		return false;
	case ADMIN_SEND:
		return admin_write(conn);
	case ADMIN_STREAMS:
		h2_on_event(conn->h2);
		return false;
	case ADMIN_LINGER:
		return admin_linger(conn);
	}
	return false;
}

static void admin_conn_pump(struct admin_conn *conn)
{
	while (admin_step(conn))
		;
}

static void admin_on_conn(void *arg, enum conn_event event)
{
	struct admin_conn *conn = arg;

	/* Before the connection is open, a failed handshake is the only event. */
	if (event == CONN_READABLE && !conn_is_open(conn->conn))
		admin_conn_free(conn);
	else if (event != CONN_CONNECTED || !admin_begins_http2(conn))
		admin_conn_pump(conn);
}

static void admin_greet(struct admin_conn *conn)
{
	struct tls_context *tls = tls_set_door(conn->admin->settings->tls, TLS_DOOR_ADMIN);

	admin_begin_request(conn);
	loop_arm(conn->admin->loop, &conn->timer, ADMIN_REQUEST_MS);
	if (!tls)
		admin_conn_pump(conn);
	else if (conn_start_tls(conn->conn, tls, NULL, NULL))
		admin_conn_free(conn);
	else {
		conn->who.secure = true;
		conn_want(conn->conn, true, false);
	}
}

/* session: of a stream, its connection. NULL: no place or memory is left for it. */
static struct admin_conn *admin_conn_make(struct admin *admin, const struct sockaddr *peer, struct admin_conn *session)
{
	struct ip address, *ip = ip_from_sockaddr(peer, &address) ? &address : NULL;
	struct admin_conn *conn;

	if (!admin_make_room(admin, PLACE_WAIT, session) || !(conn = calloc(1, sizeof *conn)))
		return NULL;
	conn->admin = admin;
	conn->session = session;
	conn->stream = session;
	conn->timer.fire = admin_on_timeout;
	conn->resume = (struct task){ .run = admin_on_resume, .is_slice = true };
	conn->who.near = !ip || ip_is_loopback(ip);
	conn->place.crowd = places_crowd(ip);
	admin_take_place(conn, PLACE_WAIT, false);
	LIST_INSERT_HEAD(&admin->conns, conn, link);
	if (!http_msg_init(&conn->msg, ADMIN_FIELDS_MAX) && (conn->parser = http_parser_new(true, admin_on_body, conn)))
		return conn;
	admin_conn_free(conn);
	return NULL;
}

void admin_conn_new(struct admin *admin, int fd, const struct sockaddr *peer, socklen_t len)
{
	struct admin_conn *conn;

	if (!admin_is_allowed(admin, peer)) {
		admin_turn_away(admin, fd);
		return;
	}
	if (!(conn = admin_conn_make(admin, peer, NULL)))
		close(fd);
	else if (!(conn->conn = conn_new(admin->loop, fd, peer, len, admin_on_conn, conn)))
		admin_conn_free(conn);
	else
		admin_greet(conn);
}

bool admin_conn_of_stream(struct admin_conn *session, struct conn *stream)
{
	struct admin_conn *conn = admin_conn_make(session->admin, conn_peer_address(session->conn), session);

	if (!conn)
		return false;
	conn->conn = stream;
	conn->who.secure = true;
	conn_set_owner(stream, admin_on_conn, conn);
	admin_begin_request(conn);
	loop_defer(conn->admin->loop, &conn->resume);
	return true;
}
