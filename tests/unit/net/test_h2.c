/* Owns the rules of proxy/net/h2*.c that a server keeps towards a client (RFC 9113, RFC 9218): windows, ends, GOAWAY, limits.
 * Must not know: requests' owners of the proxy; here each stream's owner is a toy, and the client is nghttp2 at the far end of a socket pair.
 * Invariant: no step waits for a time to pass, but turns the loop until neither side has anything to say. */
#include "proxy/http/h2_fields.h"
#include "proxy/net/h2_internal.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#define NO_CONTENT "HTTP/1.1 204 No Content\r\n\r\n"
#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { STREAMS = 8, NO_CODE = -1, QUIET_TURNS = 8, WINDOW = 65535 };

/* A stream: its owner, and what the client has of it. */
struct side {
	struct conn *conn;             /* NULL: closed, or not open yet */
	int32_t id;
	const char *response;
	size_t body;                   /* bytes that follow it */
	const char *foot;
	size_t written;
	bool keeps;                    /* it is not closed when all is written */
	bool ends_session;             /* when it has written */
	char request[256];
	size_t request_len;
	bool failed, read_ended;
	int heads, trailers, frames, ends;     /* of the response */
	size_t got;
	bool end_on_data, closed;
	uint32_t code;
};

static struct {
	struct loop *loop;
	struct conn *conn;
	struct h2 *h2;
	nghttp2_session *client;
	int far;
	struct task stop;
	struct side sides[STREAMS];
	size_t opened, n_asked;
	int32_t order[64];             /* streams of the DATA frames that came */
	size_t n_order;
	int32_t last_ids[4];           /* of GOAWAY */
	int n_goaways, code;           /* of the latest */
	unsigned idles, endings;
	bool reads;                    /* the client reads its socket */
	bool raw;                      /* but of its frames GOAWAY alone */
	uint8_t frame[17];             /* which is read: its head and what GOAWAY has behind it */
	size_t frame_len, skip;
} world;

static const char bytes[200000];

static struct side *side_of(int32_t id)
{
	return id >= 1 && id < 2 * STREAMS ? &world.sides[id / 2] : NULL;
}

/* ---- the server ---- */

static size_t all_of(const struct side *s)
{
	return strlen(s->response) + s->body + strlen(s->foot);
}

static void side_write(struct side *s)
{
	size_t head = strlen(s->response), at = s->written;
	struct iovec iov[3] = { { (void *)(uintptr_t)s->response, head }, { (void *)(uintptr_t)bytes, s->body },
		{ (void *)(uintptr_t)s->foot, strlen(s->foot) } };

	for (size_t i = 0; i < 3; i++) {
		size_t skip = at < iov[i].iov_len ? at : iov[i].iov_len;

		iov[i].iov_base = (char *)iov[i].iov_base + skip;
		iov[i].iov_len -= skip;
		at -= skip;
	}
	ssize_t n = conn_writev(s->conn, iov, 3);
	if (n == CONN_FAILED)
		s->failed = true;
	else if (n > 0)
		s->written += (size_t)n;
	if (s->ends_session)
		h2_end(world.h2);
}

static void on_side(void *arg, enum conn_event event)
{
	struct side *s = arg;
	ssize_t n;

	if (event == CONN_READABLE) {
		n = conn_read(s->conn, s->request + s->request_len, sizeof s->request - 1 - s->request_len);
		s->request_len += n > 0 ? (size_t)n : 0;
		s->read_ended |= n == CONN_EOF;
		s->failed |= n == CONN_FAILED;
	} else
		side_write(s);
	if (s->failed || (s->written == all_of(s) && s->response[0] && !s->keeps))
		conn_close(&s->conn);
	else
		conn_want(s->conn, !s->read_ended, s->written < all_of(s));
}

static void on_opened(void *arg, struct conn *conn)
{
	struct iovec no_content = { (void *)(uintptr_t)NO_CONTENT, sizeof NO_CONTENT - 1 };
	struct side *s = side_of(conn->stream->id);

	(void)arg;
	world.opened++;
	if (!s || !s->response) {
		CU_ASSERT(conn_writev(conn, &no_content, 1) == (ssize_t)no_content.iov_len);
		conn_close(&conn);
		return;
	}
	s->conn = conn;
	conn_set_owner(conn, on_side, s);
	conn_want(conn, true, all_of(s) > 0);
}

static void on_idle(void *arg)
{
	(void)arg;
	CU_ASSERT_EQUAL(h2_streams(world.h2), 0);
	world.idles++;
}

static void on_ended(void *arg, bool lost)
{
	(void)arg, (void)lost;
	world.endings++;
	h2_free(&world.h2);
	conn_want(world.conn, false, false);
}

static void on_conn(void *arg, enum conn_event event)
{
	(void)arg, (void)event;
	if (world.h2)
		h2_on_event(world.h2);
}

/* ---- the client ---- */

static int client_on_frame(nghttp2_session *client, const nghttp2_frame *frame, void *arg)
{
	struct side *s = side_of(frame->hd.stream_id);

	(void)client, (void)arg;
	if (frame->hd.type == NGHTTP2_GOAWAY) {
		if (world.n_goaways < (int)COUNT(world.last_ids))
			world.last_ids[world.n_goaways] = frame->goaway.last_stream_id;
		world.n_goaways++;
		world.code = (int)frame->goaway.error_code;
	}
	if (!s)
		return 0;
	if (frame->hd.type == NGHTTP2_DATA) {
		s->frames++;
		if (world.n_order < COUNT(world.order))
			world.order[world.n_order++] = frame->hd.stream_id;
		s->end_on_data = frame->hd.flags & NGHTTP2_FLAG_END_STREAM && frame->hd.length;
	}
	if (frame->hd.type == NGHTTP2_HEADERS) {
		s->heads++;
		s->trailers += s->heads > 1 && frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	}
	s->ends += frame->hd.type <= NGHTTP2_HEADERS && frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	return 0;
}

static int client_on_data(nghttp2_session *client, uint8_t flags, int32_t id, const uint8_t *at, size_t len, void *arg)
{
	(void)client, (void)flags, (void)at, (void)arg;
	side_of(id)->got += len;
	return 0;
}

static int client_on_closed(nghttp2_session *client, int32_t id, uint32_t code, void *arg)
{
	(void)client, (void)arg;
	side_of(id)->closed = true;
	side_of(id)->code = code;
	return 0;
}

static void on_stop(struct task *task)
{
	(void)task;
	loop_stop(world.loop);
}

static bool client_writes(void)
{
	const uint8_t *at;
	ssize_t n;
	bool any = false;

	while ((n = nghttp2_session_mem_send(world.client, &at)) > 0) {
		any = true;
		if (write(world.far, at, (size_t)n) != n)
			break;
	}
	return any;
}

/* Frames for a client that did not ask by nghttp2. */
static void client_scans(const uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const uint8_t *head = world.frame;

		if (world.skip) {
			world.skip--;
			continue;
		}
		world.frame[world.frame_len++] = at[i];
		if (world.frame_len < H2_FRAME_HEAD_BYTES || (head[3] == NGHTTP2_GOAWAY && world.frame_len < sizeof world.frame))
			continue;
		world.skip = ((size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2]) + H2_FRAME_HEAD_BYTES - world.frame_len;
		if (head[3] == NGHTTP2_GOAWAY)
			world.code = head[16];
		world.frame_len = 0;
	}
}

static bool client_reads(void)
{
	uint8_t in[16384];
	ssize_t n;
	bool any = false;

	while (world.reads && (n = read(world.far, in, sizeof in)) > 0) {
		any = true;
		if (world.raw)
			client_scans(in, (size_t)n);
		else
			CU_ASSERT_EQUAL(nghttp2_session_mem_recv(world.client, in, (size_t)n), n);
	}
	return any;
}

/* Until neither side has anything to say. */
static void settle(void)
{
	for (int quiet = 0; quiet < QUIET_TURNS; quiet++) {
		if (client_writes())
			quiet = 0;
		loop_defer(world.loop, &world.stop);
		CU_ASSERT_EQUAL_FATAL(loop_run(world.loop), 0);
		if (client_reads())
			quiet = 0;
	}
}

/* Until the last GOAWAY is out, for which a tick of the loop has to come. */
static void settle_left(void)
{
	do
		settle();
	while (world.h2 && !world.h2->left);
	settle();
}

static void client_open(void)
{
	nghttp2_session_callbacks *c;
	nghttp2_option *option = NULL;

	CU_ASSERT_FATAL(!nghttp2_session_callbacks_new(&c) && !nghttp2_option_new(&option));
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, client_on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, client_on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, client_on_closed);
	nghttp2_option_set_no_auto_window_update(option, 1);
	nghttp2_option_set_max_outbound_ack(option, 100000);
	CU_ASSERT_EQUAL_FATAL(nghttp2_session_client_new2(&world.client, c, NULL, option), 0);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(c);
}

/* window: of each stream; the connection's is 65535 (RFC 9113 section 6.9.2). */
static void world_open(uint32_t window)
{
	static const struct sockaddr_in peer = { .sin_family = AF_INET };
	static const struct h2_translation translation = { h2_request_body, h2_request_head, h2_trailer_lines, h2_response_fields,
		h2_trailer_fields };
	static const struct h2_settings settings = { .max_head = 8192, .max_fields = 100, .head_timeout_ms = 60000, .write_timeout_ms = 60000 };
	const struct h2_owner owner = { on_opened, on_idle, on_ended, NULL };
	const nghttp2_settings_entry entry = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window };
	int ends[2], small = 4096;

	signal(SIGPIPE, SIG_IGN);              /* as the server does */
	memset(&world, 0, sizeof world);
	world.stop.run = on_stop;
	world.code = NO_CODE;
	world.reads = true;
	CU_ASSERT_PTR_NOT_NULL_FATAL(world.loop = loop_new());
	CU_ASSERT_FATAL(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
	world.far = ends[1];
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	world.conn = conn_new(world.loop, ends[0], (const struct sockaddr *)&peer, sizeof peer, on_conn, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world.conn);
	CU_ASSERT_PTR_NOT_NULL_FATAL(world.h2 = h2_serve(world.conn, world.loop, &settings, &translation, &owner));
	client_open();
	CU_ASSERT_EQUAL(nghttp2_submit_settings(world.client, 0, &entry, 1), 0);
}

static void world_close(void)
{
	for (size_t i = 0; i < STREAMS; i++)
		conn_close(&world.sides[i].conn);
	h2_free(&world.h2);
	conn_close(&world.conn);
	close(world.far);
	nghttp2_session_del(world.client);
	loop_free(&world.loop);
}

#define NV(name, value) { (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1, strlen(value), 0 }

static struct side *ask(const char *method, const char *priority, const char *response, size_t body, const char *foot)
{
	const nghttp2_nv nv[] = { NV(":method", method), NV(":scheme", "http"), NV(":path", "/"), NV(":authority", "a"), NV("priority", priority) };
	struct side *s = &world.sides[world.n_asked++];

	s->response = response;
	s->body = body;
	s->foot = foot;
	s->id = nghttp2_submit_request(world.client, NULL, nv, COUNT(nv), NULL, NULL);
	CU_ASSERT_EQUAL_FATAL(s, side_of(s->id));
	return s;
}

static void open_window(int32_t id, int32_t more)
{
	CU_ASSERT_EQUAL(nghttp2_submit_window_update(world.client, 0, id, more), 0);
}

#define LENGTH_5000 "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
#define LENGTH_100000 "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
#define CHUNK_5000 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n"
#define NO_LENGTH "HTTP/1.1 200 OK\r\n\r\n"

/* ---- cases ---- */

/* A response's end takes no frame of its own where its length is known. */
static void response_ends(void)
{
	static const struct {
		const char *name, *method, *response;
		size_t body;
		const char *foot;
		int heads, trailers, frames;
		bool end_on_data;
	} rows[] = {
		{ "END_STREAM is on the last frame of a body of known length", "GET", LENGTH_5000, 5000, "", 1, 0, 1, true },
		{ "and of one of several frames", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n", 40000, "", 1, 0, 3, true },
		{ "no body: on the head", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0, "", 1, 0, 0, false },
		{ "204: on the head", "GET", NO_CONTENT, 0, "", 1, 0, 0, false },
		{ "304 with a length: on the head", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 0, "", 1, 0, 0, false },
		{ "HEAD: on the head", "HEAD", LENGTH_5000, 0, "", 1, 0, 0, false },
		{ "chunks: on an empty frame", "GET", CHUNK_5000, 5000, "\r\n0\r\n\r\n", 1, 0, 2, false },
		{ "a trailer: on it", "GET", CHUNK_5000, 5000, "\r\n0\r\nX-Sum: 1\r\n\r\n", 2, 1, 2, false },
		{ "no length: when it is closed", "GET", NO_LENGTH, 5000, "", 1, 0, 2, false },
		{ "an interim response ends nothing", "GET", "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" LENGTH_5000, 5000, "", 2, 0, 1, true },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		world_open(WINDOW);
		struct side *s = ask(rows[i].method, "", rows[i].response, rows[i].body, rows[i].foot);

		settle();
		UNIT_ROW(s->heads == rows[i].heads && s->trailers == rows[i].trailers, "%s: %d heads, %d trailers", rows[i].name, s->heads, s->trailers);
		UNIT_ROW(s->got == rows[i].body && s->frames <= rows[i].frames, "%s: %zu bytes in %d frames", rows[i].name, s->got, s->frames);
		UNIT_ROW(s->ends == 1 && s->end_on_data == rows[i].end_on_data, "%s: %d ends", rows[i].name, s->ends);
		UNIT_ROW(s->closed && s->code == NGHTTP2_NO_ERROR && world.idles == 1, "%s: code %u, idle %u times", rows[i].name, s->code, world.idles);
		world_close();
	}
}

/* A response that is not whole ends by a reset (RFC 9113 section 8.1). */
static void response_breaks_off(void)
{
	static const struct { const char *name, *response; size_t body; const char *foot; bool abort, http1; uint32_t code; } rows[] = {
		{ "less than the length", LENGTH_5000, 4999, "", false, false, NGHTTP2_INTERNAL_ERROR },
		{ "no last chunk", CHUNK_5000, 5000, "\r\n", false, false, NGHTTP2_INTERNAL_ERROR },
		{ "a trailer without end", CHUNK_5000, 5000, "\r\n0\r\nA: b\r\n", false, false, NGHTTP2_INTERNAL_ERROR },
		{ "no length, and aborted", NO_LENGTH, 5000, "", true, false, NGHTTP2_INTERNAL_ERROR },
		{ "an interim response alone", "HTTP/1.1 100 Continue\r\n\r\n", 0, "", false, false, NGHTTP2_INTERNAL_ERROR },
		{ "nothing", "", 0, "", false, false, NGHTTP2_INTERNAL_ERROR },
		{ "nothing, by HTTP/1.1 alone", "", 0, "", false, true, NGHTTP2_HTTP_1_1_REQUIRED },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		world_open(WINDOW);
		struct side *s = ask("GET", "", rows[i].response, rows[i].body, rows[i].foot);

		s->keeps = true;
		settle();
		CU_ASSERT_PTR_NOT_NULL_FATAL(s->conn);
		if (rows[i].http1)
			h2_require_http1(s->conn);
		if (rows[i].abort)
			conn_abort(&s->conn);
		else
			conn_close(&s->conn);
		settle();
		UNIT_ROW(s->closed && s->code == rows[i].code && !s->ends, "%s: code %u, %d ends", rows[i].name, s->code, s->ends);
		world_close();
	}
}

/* A stream whose window is used up waits alone; it goes on when the window opens. */
static void stalled_stream(void)
{
	world_open(1000);
	struct side *a = ask("GET", "", LENGTH_5000, 5000, ""), *b = ask("GET", "", "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", 900, "");

	settle();
	CU_ASSERT(a->got == 1000 && !a->ends && a->conn && b->got == 900 && b->closed);
	CU_ASSERT_EQUAL(world.h2->out.len, 0);
	open_window(a->id, 500);
	settle();
	CU_ASSERT(a->got == 1500 && a->conn);
	open_window(a->id, 3500);
	settle();
	CU_ASSERT(a->got == 5000 && a->end_on_data && a->closed && world.idles == 1);
	world_close();
}

static void stalled_connection(void)
{
	world_open(200000);
	struct side *a = ask("GET", "", LENGTH_100000, 100000, ""), *b = ask("GET", "", LENGTH_5000, 5000, "");

	settle();
	CU_ASSERT(a->got + b->got == WINDOW && a->conn && h2_streams(world.h2) >= 1);
	open_window(0, 200000);
	settle();
	CU_ASSERT(a->got == 100000 && b->got == 5000 && a->closed && b->closed && a->ends == 1 && b->ends == 1);
	world_close();
}

/* An end without bytes may have to wait for the window too, with nobody there to write. */
static void stalled_end(void)
{
	world_open(5000);
	struct side *a = ask("GET", "", CHUNK_5000, 5000, "\r\n0\r\nA: b\r\n\r\n");

	settle();
	CU_ASSERT(a->got == 5000 && !a->conn);
	open_window(a->id, 1);
	settle();
	CU_ASSERT(a->ends == 1 && a->trailers == 1 && a->code == NGHTTP2_NO_ERROR);
	world_close();
}

/* A client that reads nothing: what waits for it is bounded. */
static void unread_socket(void)
{
	world_open(1 << 20);
	open_window(0, 1 << 20);
	world.reads = false;
	struct side *s[4];
	for (size_t i = 0; i < COUNT(s); i++)
		s[i] = ask("GET", "", "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n", 200000, "");
	settle();
	CU_ASSERT(world.h2->out.len <= H2_OUT_BYTES + 2 * H2_FRAME_BYTES && h2_streams(world.h2) > 0);
	world.reads = true;
	settle();
	for (size_t i = 0; i < COUNT(s); i++)
		CU_ASSERT(s[i]->got == 200000 && s[i]->end_on_data);
	CU_ASSERT_EQUAL(world.idles, 1);
	world_close();
}

/* Of those who wait the urgent ones go first (RFC 9218 section 10). */
static void urgency_order(void)
{
	static const char *const urgencies[] = { "u=5", "u=3", "", "u=0, i", "u=7" };
	static const size_t order[] = { 3, 1, 2, 0, 4 };

	world_open(1 << 20);
	struct side *first = ask("GET", "", "HTTP/1.1 200 OK\r\nContent-Length: 65535\r\n\r\n", WINDOW, ""), *s[COUNT(urgencies)];

	settle();
	CU_ASSERT(first->closed);
	for (size_t i = 0; i < COUNT(s); i++)
		s[i] = ask("GET", urgencies[i], LENGTH_5000, 5000, "");
	settle();
	for (size_t turn = 0; turn < COUNT(s); turn++) {
		world.n_order = 0;
		open_window(0, 5000);
		settle();
		UNIT_ROW(world.n_order == 1 && world.order[0] == s[order[turn]]->id, "turn %zu: stream %d of %zu", turn, world.order[0], world.n_order);
	}
	world_close();
}

/* Of equals none waits for the end of another's response, which may be long in coming. */
static void equals_take_turns(void)
{
	world_open(1 << 20);
	struct side *s[3];

	for (size_t i = 0; i < COUNT(s); i++)
		s[i] = ask("GET", "", LENGTH_100000, 100000, "");
	settle();
	for (size_t i = 0; i < 4; i++) {
		open_window(0, 10000);
		settle();
	}
	for (size_t i = 0; i < COUNT(s); i++)
		UNIT_ROW(s[i]->got > 0 && s[i]->got < 100000, "stream %zu: %zu", i, s[i]->got);
	world_close();
}

/* GOAWAY twice (RFC 9113 section 6.8): streams that were on their way are served, and then it ends. */
static void leaves(void)
{
	world_open(1000);
	struct side *a = ask("GET", "", LENGTH_5000, 5000, "");

	settle();
	world.reads = false;
	h2_leave(world.h2);
	h2_leave(world.h2);
	settle();
	struct side *b = ask("GET", "", "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", 900, "");
	settle();
	CU_ASSERT(b->request_len && !b->conn && world.h2 && !world.h2->left);
	world.reads = true;
	settle_left();
	CU_ASSERT(world.n_goaways == 2 && world.last_ids[0] == INT32_MAX && world.last_ids[1] == b->id && world.code == NGHTTP2_NO_ERROR);
	CU_ASSERT(b->got == 900 && b->ends == 1 && a->got == 1000 && !world.endings);
	open_window(a->id, 4000);
	settle();
	CU_ASSERT(a->got == 5000 && a->ends == 1 && world.endings == 1);
	world_close();
}

/* Leaving waits for the end of a response whose owner is done. */
static void leaves_after_the_end(void)
{
	world_open(5000);
	struct side *a = ask("GET", "", CHUNK_5000, 5000, "\r\n0\r\n\r\n");

	settle();
	h2_leave(world.h2);
	settle_left();
	CU_ASSERT(!a->conn && !world.endings);
	open_window(a->id, 1);
	settle();
	CU_ASSERT(a->ends == 1 && a->code == NGHTTP2_NO_ERROR && world.endings == 1);
	world_close();
}

/* The owner of a stream hears that its client has reset it, whatever the code says. */
static void is_reset(void)
{
	static const struct { const char *name; size_t body; bool reads; uint32_t code; } rows[] = {
		{ "CANCEL while it waits for the window", 5000, false, NGHTTP2_CANCEL },
		{ "NO_ERROR while it waits for the window", 5000, false, NGHTTP2_NO_ERROR },
		{ "CANCEL while it reads", 0, true, NGHTTP2_CANCEL },
		{ "NO_ERROR while it reads", 0, true, NGHTTP2_NO_ERROR },
	};
	const nghttp2_nv nv[] = { NV(":method", "POST"), NV(":scheme", "http"), NV(":path", "/"), NV(":authority", "a"), NV("content-length", "5") };

	for (size_t i = 0; i < COUNT(rows); i++) {
		world_open(1000);
		struct side *s = &world.sides[world.n_asked++];

		s->response = rows[i].body ? LENGTH_5000 : "";
		s->body = rows[i].body;
		s->foot = "";
		s->id = nghttp2_submit_headers(world.client, rows[i].reads ? 0 : NGHTTP2_FLAG_END_STREAM, -1, NULL, nv,
		    rows[i].reads ? COUNT(nv) : COUNT(nv) - 1, NULL);
		settle();
		UNIT_ROW(s->conn && s->got == (rows[i].body ? 1000 : 0), "%s: %zu bytes", rows[i].name, s->got);
		CU_ASSERT_EQUAL(nghttp2_submit_rst_stream(world.client, 0, s->id, rows[i].code), 0);
		settle();
		UNIT_ROW(s->failed && !s->conn && world.idles == 1, "%s: not told", rows[i].name);
		world_close();
	}
}

/* A request comes to its end with the session: by its owner's word, or freed. */
static void session_goes_first(void)
{
	for (int frees = 0; frees < 2; frees++) {
		world_open(1000);
		struct side *a = ask("GET", "", LENGTH_5000, 5000, "");

		settle();
		if (frees)
			h2_free(&world.h2);
		else
			CU_ASSERT(h2_end(world.h2) && !h2_end(world.h2));
		settle();
		CU_ASSERT(a->failed && !a->conn && !a->ends);
		CU_ASSERT(world.endings == !frees && world.n_goaways == !frees);
		world_close();
	}
}

/* The client hears why the connection ends, though much waits before that. */
static void ends_behind_what_waits(void)
{
	world_open(1 << 20);
	open_window(0, 1 << 20);
	world.reads = false;
	struct side *a = ask("GET", "", "HTTP/1.1 200 OK\r\n\r\n", 200000, ""), *b = ask("GET", "", "HTTP/1.1 200 OK\r\n\r\n", 200000, "");

	settle();
	CU_ASSERT(world.h2->out.len >= H2_OUT_BYTES && a->conn && b->conn);
	h2_end(world.h2);
	world.reads = true;
	settle();
	CU_ASSERT(world.n_goaways == 1 && world.endings == 1 && !a->ends && !b->ends && !a->conn && !b->conn);
	world_close();
}

/* A head waits within nghttp2, because too much is written, and its body is never asked for. */
static void ends_before_a_head_is_out(void)
{
	world_open(1 << 20);
	open_window(0, 1 << 20);
	world.reads = false;
	struct side *a = ask("GET", "", NO_LENGTH, 200000, ""), *b = ask("GET", "", NO_LENGTH, 200000, "");

	b->ends_session = true;
	settle();
	CU_ASSERT(!a->conn && !b->conn && b->failed && world.h2);
	world.reads = true;
	settle();
	CU_ASSERT(world.n_goaways == 1 && world.endings == 1 && !a->ends && !b->ends);
	world_close();
}

/* ---- limits ---- */

/* In the same second as those before. */
static void raw_frame(uint8_t type, uint8_t flags, uint32_t id, const char *payload, size_t len)
{
	const uint8_t head[] = { 0, 0, (uint8_t)len, type, flags, 0, 0, (uint8_t)(id >> 8), (uint8_t)id };

	if (world.h2) {
		world.h2->second_ms = loop_now_ms(world.loop);
		h2_feed(world.h2, (const char *)head, sizeof head);
	}
	if (world.h2 && len)
		h2_feed(world.h2, payload, len);
}

#define GET_BLOCK "\x82\x84\x86\x41\x01" "a"

static void frame_reset(uint32_t i)
{
	raw_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 2 * i + 1, GET_BLOCK, 6);
	raw_frame(NGHTTP2_RST_STREAM, 0, 2 * i + 1, "\0\0\0\x08", 4);
}

static void frame_made_reset(uint32_t i)
{
	raw_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 2 * i + 1, "\x82", 1);
}

static void frame_settings(uint32_t i)
{
	(void)i;
	raw_frame(NGHTTP2_SETTINGS, 0, 0, NULL, 0);
}

static void frame_ping(uint32_t i)
{
	(void)i;
	raw_frame(NGHTTP2_PING, 0, 0, "12345678", 8);
}

static void frame_priority(uint32_t i)
{
	(void)i;
	raw_frame(NGHTTP2_PRIORITY, 0, 1, "\0\0\0\0\x10", 5);
}

static void frame_continuation(uint32_t i)
{
	raw_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, GET_BLOCK, 6);
	raw_frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, 2 * i + 1, NULL, 0);
}

static void frame_empty(uint32_t i)
{
	if (!i)
		raw_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, GET_BLOCK, 6);
	raw_frame(NGHTTP2_DATA, i & 1 ? NGHTTP2_FLAG_PADDED : 0, 1, "\0", i & 1);
}

static void frame_window(uint32_t i)
{
	(void)i;
	raw_frame(NGHTTP2_WINDOW_UPDATE, 0, 0, "\0\0\0\1", 4);
}

static void frame_other(uint32_t i)
{
	(void)i;
	raw_frame(0xee, 0, 0, NULL, 0);
}

/* `most` frames of a second are fine, one more is not. */
static void limits(void)
{
	static void (*const frames[])(uint32_t) = {
		[H2_LIMIT_RESETS] = frame_reset, [H2_LIMIT_MADE_RESETS] = frame_made_reset, [H2_LIMIT_SETTINGS] = frame_settings,
		[H2_LIMIT_PINGS] = frame_ping, [H2_LIMIT_PRIORITIES] = frame_priority, [H2_LIMIT_CONTINUATIONS] = frame_continuation,
		[H2_LIMIT_EMPTY] = frame_empty, [H2_LIMIT_WINDOWS] = frame_window, [H2_LIMIT_OTHERS] = frame_other
	};
	static const struct { const char *name; uint32_t most; } rows[] = {
#define LIMIT(id, name, most) { name, most },
#include "proxy/net/h2_limits.def"
#undef LIMIT
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		world_open(WINDOW);
		settle();
		world.raw = true;
		memset(world.h2->seen, 0, sizeof world.h2->seen);
		for (uint32_t n = 0; n < rows[i].most; n++) {
			frames[i](n);
			if (n % 32 == 31 || n + 1 == rows[i].most)
				settle();
		}
		UNIT_ROW(world.h2 && world.code == NO_CODE, "%s: %u end the connection with %d", rows[i].name, rows[i].most, world.code);
		frames[i](rows[i].most);
		settle();
		UNIT_ROW(world.endings == 1 && world.code == NGHTTP2_ENHANCE_YOUR_CALM, "%s: code %d", rows[i].name, world.code);
		world_close();
	}
}

/* ---- what comes before the session ---- */

static void early_bytes(void)
{
	static const char early[] = NGHTTP2_CLIENT_MAGIC "\0\0\0\4\0\0\0\0\0" "\0\0\6\1\5\0\0\0\1" GET_BLOCK;

	for (size_t piece = 1; piece < sizeof early; piece += 12) {
		world_open(WINDOW);
		world.sides[0] = (struct side){ .response = "", .foot = "" };
		for (size_t at = 0; at < sizeof early - 1; at += piece)
			h2_feed(world.h2, early + at, sizeof early - 1 - at < piece ? sizeof early - 1 - at : piece);
		for (int i = 0; i < QUIET_TURNS; i++) {
			loop_defer(world.loop, &world.stop);
			CU_ASSERT_EQUAL(loop_run(world.loop), 0);
		}
		UNIT_ROW(world.sides[0].conn && world.opened == 1, "in pieces of %zu", piece);
		UNIT_ROW(!strncmp(world.sides[0].request, "GET / HTTP/1.1\r\n", 16), "in pieces of %zu: %s", piece, world.sides[0].request);
		world_close();
	}
}

UNIT_SUITE(h2, { "how a response ends", response_ends }, { "a response that breaks off", response_breaks_off },
    { "a stream's window is used up", stalled_stream }, { "the connection's window is used up", stalled_connection },
    { "an end waits for the window", stalled_end }, { "the client does not read", unread_socket }, { "the urgent goes first", urgency_order },
    { "equals take turns", equals_take_turns },
    { "leaving", leaves }, { "leaving waits for the end of a response", leaves_after_the_end }, { "a client resets", is_reset },
    { "the session goes first", session_goes_first }, { "the end behind what waits", ends_behind_what_waits },
    { "the end before a head is out", ends_before_a_head_is_out }, { "limits", limits },
    { "bytes that were read before", early_bytes })
