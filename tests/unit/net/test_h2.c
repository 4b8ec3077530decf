/* Owns the cases of proxy/net/h2.c: how a session of HTTP/2 begins, stays within its bounds and ends (RFC 9113 section 6.8), and what its
 * streams hear of that. Must not know: requests' owners of the proxy. */
#include "tests/unit/net/h2_client.h"

#include <sys/socket.h>

static void early_bytes(void)
{
	static const char early[] = NGHTTP2_CLIENT_MAGIC "\0\0\0\4\0\0\0\0\0" "\0\0\6\1\5\0\0\0\1" GET_BLOCK;

	for (size_t piece = 1; piece < sizeof early; piece += 12) {
		session_open(WINDOW);
		client.sides[0] = (struct side){ .response = "", .foot = "" };
		for (size_t at = 0; at < sizeof early - 1; at += piece)
			h2_feed(world.h2, early + at, sizeof early - 1 - at < piece ? sizeof early - 1 - at : piece);
		for (int i = 0; i < QUIET_TURNS; i++)
			CU_ASSERT(h2_world_turn());
		UNIT_ROW(client.sides[0].conn && client.opened == 1, "in pieces of %zu", piece);
		UNIT_ROW(!strncmp(client.sides[0].request, "GET / HTTP/1.1\r\n", 16), "in pieces of %zu: %s", piece, client.sides[0].request);
		session_close();
	}
}

/* A client that reads nothing: what waits for it is bounded. */
static void unread_socket(void)
{
	session_open(1 << 20);
	open_window(0, 1 << 20);
	client.reads = false;
	struct side *s[4];
	for (size_t i = 0; i < COUNT(s); i++)
		s[i] = ask("GET", "", "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n", 200000, "");
	settle();
	CU_ASSERT(world.h2->out.len <= H2_OUT_BYTES + 2 * (16 << 10) && world.h2->open > 0);
	client.reads = true;
	settle();
	for (size_t i = 0; i < COUNT(s); i++)
		CU_ASSERT(s[i]->got == 200000 && s[i]->end_on_data);
	CU_ASSERT_EQUAL(world.idles, 1);
	session_close();
}

/* Bytes wait for a client that reads nothing, though the stream's owner has gone: the session is not idle. Where the client sends no more
 * it gets them all the same. */
static void is_owed(void)
{
	for (int half_closed = 0; half_closed < 2; half_closed++) {
		session_open(WINDOW);
		client.reads = false;
		struct side *s = ask("GET", "", "HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n", 40000, "");
		settle();
		CU_ASSERT(!s->conn && world.h2->out.len && !world.idles && !world.endings);
		if (half_closed)
			CU_ASSERT(!shutdown(world.far, SHUT_WR));
		settle();
		client.reads = true;
		settle();
		UNIT_ROW(s->got == 40000 && s->ends == 1, "half closed %d: %zu bytes", half_closed, s->got);
		UNIT_ROW(half_closed ? world.endings == 1 : world.idles == 1, "half closed %d: the owner is not told", half_closed);
		session_close();
	}
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
		session_open(1000);
		struct side *s = &client.sides[client.n_asked++];

		s->response = rows[i].body ? LENGTH_5000 : "";
		s->body = rows[i].body;
		s->foot = "";
		s->id = nghttp2_submit_headers(client.ng, rows[i].reads ? 0 : NGHTTP2_FLAG_END_STREAM, -1, NULL, nv,
		    rows[i].reads ? COUNT(nv) : COUNT(nv) - 1, NULL);
		settle();
		UNIT_ROW(s->conn && s->got == (rows[i].body ? 1000 : 0), "%s: %zu bytes", rows[i].name, s->got);
		CU_ASSERT_EQUAL(nghttp2_submit_rst_stream(client.ng, 0, s->id, rows[i].code), 0);
		settle();
		UNIT_ROW(s->failed && !s->conn && world.idles == 1, "%s: not told", rows[i].name);
		session_close();
	}
}

/* GOAWAY twice (RFC 9113 section 6.8): streams that were on their way are served, and then it ends. */
static void leaves(void)
{
	session_open(1000);
	struct side *a = ask("GET", "", LENGTH_5000, 5000, "");

	settle();
	client.reads = false;
	h2_leave(world.h2);
	h2_leave(world.h2);
	settle();
	struct side *b = ask("GET", "", LENGTH_900, 900, "");
	settle();
	CU_ASSERT(b->request_len && !b->conn && world.h2 && !world.h2->left);
	client.reads = true;
	settle_left();
	CU_ASSERT(client.n_goaways == 2 && client.last_ids[0] == INT32_MAX && client.last_ids[1] == b->id && client.code == NGHTTP2_NO_ERROR);
	CU_ASSERT(b->got == 900 && b->ends == 1 && a->got == 1000 && !world.endings);
	open_window(a->id, 4000);
	settle();
	CU_ASSERT(a->got == 5000 && a->ends == 1 && world.endings == 1);
	session_close();
}

/* Leaving waits for the end of a response whose owner is done. */
static void leaves_after_the_end(void)
{
	session_open(5000);
	struct side *a = ask("GET", "", CHUNK_5000, 5000, "\r\n0\r\n\r\n");

	settle();
	h2_leave(world.h2);
	settle_left();
	CU_ASSERT(!a->conn && !world.endings);
	open_window(a->id, 1);
	settle();
	CU_ASSERT(a->ends == 1 && a->code == NGHTTP2_NO_ERROR && world.endings == 1);
	session_close();
}

/* The owner of a response has gone, and its last frame waits. It is late where the client gives it no window, and not where the socket has
 * not taken what is before it. */
static void end_is_late(void)
{
	for (int full = 0; full < 2; full++) {
		session_open(full ? 1 << 20 : 5000);
		open_window(0, 1 << 20);
		client.reads = !full;
		if (full)
			ask("GET", "", NO_LENGTH, 200000, "");
		struct side *a = full ? ask("GET", "", NO_CONTENT, 0, "") : ask("GET", "", CHUNK_5000, 5000, "\r\n0\r\n\r\n");
		settle();
		UNIT_ROW(a->request_len && !a->conn && !a->ends, "full %d: it has ended", full);
		h2_end_late(world.h2, loop_now_ms(world.loop) + 2 * world.h2->settings.write_timeout_ms);
		client.reads = true;
		h2_pull(world.h2);
		settle();
		UNIT_ROW(a->ends == full && (full || a->code == NGHTTP2_CANCEL), "full %d: %d ends, code %u", full, a->ends, a->code);
		session_close();
	}
}

/* A request comes to its end with the session: by its owner's word, or freed. */
static void session_goes_first(void)
{
	for (int frees = 0; frees < 2; frees++) {
		session_open(1000);
		struct side *a = ask("GET", "", LENGTH_5000, 5000, "");

		settle();
		if (frees)
			h2_free(&world.h2);
		else
			CU_ASSERT(h2_end(world.h2) && !h2_end(world.h2));
		settle();
		CU_ASSERT(a->failed && !a->conn && !a->ends);
		CU_ASSERT(world.endings == !frees && client.n_goaways == 1 && client.code == NGHTTP2_NO_ERROR);
		session_close();
	}
}

/* The client hears why the connection ends, though much waits before that. */
static void ends_behind_what_waits(void)
{
	session_open(1 << 20);
	open_window(0, 1 << 20);
	client.reads = false;
	struct side *a = ask("GET", "", NO_LENGTH, 200000, ""), *b = ask("GET", "", NO_LENGTH, 200000, "");

	settle();
	CU_ASSERT(world.h2->out.len >= H2_OUT_BYTES && a->conn && b->conn);
	h2_end(world.h2);
	client.reads = true;
	settle();
	CU_ASSERT(client.n_goaways == 1 && world.endings == 1 && !a->ends && !b->ends && !a->conn && !b->conn);
	session_close();
}

/* A head waits within nghttp2, because too much is written, and its body is never asked for. */
static void ends_before_a_head_is_out(void)
{
	session_open(1 << 20);
	open_window(0, 1 << 20);
	client.reads = false;
	struct side *a = ask("GET", "", NO_LENGTH, 200000, ""), *b = ask("GET", "", NO_LENGTH, 200000, "");

	b->ends_session = true;
	settle();
	CU_ASSERT(!a->conn && !b->conn && b->failed && world.h2);
	client.reads = true;
	settle();
	CU_ASSERT(client.n_goaways == 1 && world.endings == 1 && !a->ends && !b->ends);
	session_close();
}

UNIT_SUITE(h2, { "bytes that were read before", early_bytes }, { "the client does not read", unread_socket }, { "bytes are owed", is_owed },
    { "a client resets", is_reset },
    { "leaving", leaves }, { "leaving waits for the end of a response", leaves_after_the_end },
    { "the end is late", end_is_late }, { "the session goes first", session_goes_first },
    { "the end behind what waits", ends_behind_what_waits }, { "the end before a head is out", ends_before_a_head_is_out })
