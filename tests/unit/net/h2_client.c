/* A client of HTTP/2 and the owners of its streams; see h2_client.h. */
#include "tests/unit/net/h2_client.h"

#include <unistd.h>

struct client client;

static struct side *side_of(int32_t id)
{
	return id >= 1 && id < 2 * STREAMS ? &client.sides[id / 2] : NULL;
}

/* ---- the server ---- */

static size_t all_of(const struct side *s)
{
	return strlen(s->response) + s->body + strlen(s->foot);
}

static void side_write(struct side *s)
{
	struct iovec iov[3];
	int pieces = h2_world_pieces((struct slice){ s->response, strlen(s->response) }, s->body, s->foot, s->written, SIZE_MAX, iov);
	ssize_t n = conn_writev(s->conn, iov, pieces);

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
	client.opened++;
	if (!s || !s->response) {
		CU_ASSERT(conn_writev(conn, &no_content, 1) == (ssize_t)no_content.iov_len);
		conn_close(&conn);
		return;
	}
	s->conn = conn;
	conn_set_owner(conn, on_side, s);
	conn_want(conn, true, all_of(s) > 0);
}

/* ---- the client ---- */

static int client_on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
	struct side *s = side_of(frame->hd.stream_id);

	(void)ng, (void)arg;
	if (frame->hd.type == NGHTTP2_GOAWAY) {
		if (client.n_goaways < (int)COUNT(client.last_ids))
			client.last_ids[client.n_goaways] = frame->goaway.last_stream_id;
		client.n_goaways++;
		client.code = (int)frame->goaway.error_code;
	}
	if (!s)
		return 0;
	if (frame->hd.type == NGHTTP2_DATA) {
		s->frames++;
		if (client.n_order < COUNT(client.order))
			client.order[client.n_order++] = frame->hd.stream_id;
		s->end_on_data = frame->hd.flags & NGHTTP2_FLAG_END_STREAM && frame->hd.length;
	}
	if (frame->hd.type == NGHTTP2_HEADERS) {
		s->heads++;
		s->trailers += s->heads > 1 && frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	}
	s->ends += frame->hd.type <= NGHTTP2_HEADERS && frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	return 0;
}

static int client_on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *at, size_t len, void *arg)
{
	(void)ng, (void)flags, (void)at, (void)arg;
	side_of(id)->got += len;
	return 0;
}

static int client_on_closed(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
	(void)ng, (void)arg;
	side_of(id)->closed = true;
	side_of(id)->code = code;
	return 0;
}

static bool client_writes(void)
{
	const uint8_t *at;
	ssize_t n;
	bool any = false;

	while ((n = nghttp2_session_mem_send(client.ng, &at)) > 0) {
		any = true;
		if (write(world.far, at, (size_t)n) != n)
			break;
	}
	return any;
}

static bool client_reads(void)
{
	uint8_t in[16384];
	ssize_t n;
	bool any = false;

	while (client.reads && (n = read(world.far, in, sizeof in)) > 0) {
		any = true;
		CU_ASSERT_EQUAL(nghttp2_session_mem_recv(client.ng, in, (size_t)n), n);
	}
	return any;
}

void settle(void)
{
	for (int quiet = 0; quiet < QUIET_TURNS; quiet++) {
		if (client_writes())
			quiet = 0;
		CU_ASSERT_FATAL(h2_world_turn());
		if (client_reads())
			quiet = 0;
	}
}

void settle_left(void)
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
	CU_ASSERT_EQUAL_FATAL(nghttp2_session_client_new2(&client.ng, c, NULL, option), 0);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(c);
}

void session_open(uint32_t window)
{
	static const struct h2_settings settings = { .max_head = 8192, .max_fields = 100, .window = 32768, .head_timeout_ms = 60000, .write_timeout_ms = 60000 };
	const nghttp2_settings_entry entry = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window };

	client = (struct client){ .code = NO_CODE, .reads = true };
	CU_ASSERT_FATAL(h2_world_open(&settings, on_opened));
	client_open();
	CU_ASSERT_EQUAL(nghttp2_submit_settings(client.ng, 0, &entry, 1), 0);
}

void session_close(void)
{
	for (size_t i = 0; i < STREAMS; i++)
		conn_close(&client.sides[i].conn);
	h2_world_close();
	loop_free(&world.loop);
	nghttp2_session_del(client.ng);
}

struct side *ask(const char *method, const char *priority, const char *response, size_t body, const char *foot)
{
	const nghttp2_nv nv[] = { NV(":method", method), NV(":scheme", "http"), NV(":path", "/"), NV(":authority", "a"), NV("priority", priority) };
	struct side *s = &client.sides[client.n_asked++];

	s->response = response;
	s->body = body;
	s->foot = foot;
	s->id = nghttp2_submit_request(client.ng, NULL, nv, COUNT(nv), NULL, NULL);
	CU_ASSERT_EQUAL_FATAL(s, side_of(s->id));
	return s;
}

void open_window(int32_t id, int32_t more)
{
	CU_ASSERT_EQUAL(nghttp2_submit_window_update(client.ng, 0, id, more), 0);
}
