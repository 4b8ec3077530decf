/* Owns the cases of proxy/net/h2_write.c, and of h2_stream.c as far as it says who may write: how responses end (RFC 9113 section 8.1), windows,
 * and turns (RFC 9218). Must not know: requests' owners of the proxy. */
#include "tests/unit/net/h2_client.h"

#define LENGTH_100000 "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"

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
		session_open(WINDOW);
		struct side *s = ask(rows[i].method, "", rows[i].response, rows[i].body, rows[i].foot);

		settle();
		UNIT_ROW(s->heads == rows[i].heads && s->trailers == rows[i].trailers, "%s: %d heads, %d trailers", rows[i].name, s->heads, s->trailers);
		UNIT_ROW(s->got == rows[i].body && s->frames <= rows[i].frames, "%s: %zu bytes in %d frames", rows[i].name, s->got, s->frames);
		UNIT_ROW(s->ends == 1 && s->end_on_data == rows[i].end_on_data, "%s: %d ends", rows[i].name, s->ends);
		UNIT_ROW(s->closed && s->code == NGHTTP2_NO_ERROR && world.idles == 1, "%s: code %u, idle %u times", rows[i].name, s->code, world.idles);
		session_close();
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
		session_open(WINDOW);
		struct side *s = ask("GET", "", rows[i].response, rows[i].body, rows[i].foot);

		s->keeps = true;
		settle();
		CU_ASSERT_PTR_NOT_NULL_FATAL(s->conn);
		if (rows[i].http1)
			h2_say_why(s->conn, H2_WHY_HTTP_1);
		if (rows[i].abort)
			conn_abort(&s->conn);
		else
			conn_close(&s->conn);
		settle();
		UNIT_ROW(s->closed && s->code == rows[i].code && !s->ends, "%s: code %u, %d ends", rows[i].name, s->code, s->ends);
		session_close();
	}
}

/* A stream whose window is used up waits alone; it goes on when the window opens. */
static void stalled_stream(void)
{
	session_open(1000);
	struct side *a = ask("GET", "", LENGTH_5000, 5000, ""), *b = ask("GET", "", LENGTH_900, 900, "");

	settle();
	CU_ASSERT(a->got == 1000 && !a->ends && a->conn && b->got == 900 && b->closed);
	CU_ASSERT_EQUAL(world.h2->out.len, 0);
	open_window(a->id, 500);
	settle();
	CU_ASSERT(a->got == 1500 && a->conn);
	open_window(a->id, 3500);
	settle();
	CU_ASSERT(a->got == 5000 && a->end_on_data && a->closed && world.idles == 1);
	session_close();
}

static void stalled_connection(void)
{
	session_open(200000);
	struct side *a = ask("GET", "", LENGTH_100000, 100000, ""), *b = ask("GET", "", LENGTH_5000, 5000, "");

	settle();
	CU_ASSERT(a->got + b->got == WINDOW && a->conn && world.h2->open >= 1);
	open_window(0, 200000);
	settle();
	CU_ASSERT(a->got == 100000 && b->got == 5000 && a->closed && b->closed && a->ends == 1 && b->ends == 1);
	session_close();
}

/* An end without bytes may have to wait for the window too, with nobody there to write. */
static void stalled_end(void)
{
	session_open(5000);
	struct side *a = ask("GET", "", CHUNK_5000, 5000, "\r\n0\r\nA: b\r\n\r\n");

	settle();
	CU_ASSERT(a->got == 5000 && !a->conn);
	open_window(a->id, 1);
	settle();
	CU_ASSERT(a->ends == 1 && a->trailers == 1 && a->code == NGHTTP2_NO_ERROR);
	session_close();
}

/* Of those who wait the urgent ones go first (RFC 9218 section 10). */
static void urgency_order(void)
{
	static const char *const urgencies[] = { "u=5", "u=3", "", "u=0, i", "u=7" };
	static const size_t order[] = { 3, 1, 2, 0, 4 };

	session_open(1 << 20);
	struct side *first = ask("GET", "", "HTTP/1.1 200 OK\r\nContent-Length: 65535\r\n\r\n", WINDOW, ""), *s[COUNT(urgencies)];

	settle();
	CU_ASSERT(first->closed);
	for (size_t i = 0; i < COUNT(s); i++)
		s[i] = ask("GET", urgencies[i], LENGTH_5000, 5000, "");
	settle();
	for (size_t turn = 0; turn < COUNT(s); turn++) {
		client.n_order = 0;
		open_window(0, 5000);
		settle();
		UNIT_ROW(client.n_order == 1 && client.order[0] == s[order[turn]]->id, "turn %zu: stream %d of %zu", turn, client.order[0], client.n_order);
	}
	session_close();
}

static void reprioritize(int32_t id, const char *value)
{
	CU_ASSERT_EQUAL(nghttp2_submit_priority_update(client.ng, 0, id, (const uint8_t *)value, strlen(value)), 0);
}

/* A frame PRIORITY_UPDATE counts for more than the field (RFC 9218 section 7). */
static void urgency_by_frames(void)
{
	static const struct { const char *rule, *early, *field, *late; size_t turn; } rows[] = {
		{ "after the request", NULL, "u=7", "u=0", 0 },
		{ "before the request, and for more than its field", "u=1", "u=6", NULL, 1 },
		{ "without u it has the default", NULL, "u=0", "i", 2 },
		{ "the latest counts", "u=0", "", "u=5", 3 },
		{ "none: the field", NULL, "u=6", NULL, 4 },
	};
	const size_t first_id = 3;

	session_open(1 << 20);
	struct side *first = ask("GET", "", "HTTP/1.1 200 OK\r\nContent-Length: 65535\r\n\r\n", WINDOW, ""), *s[COUNT(rows)];

	settle();
	CU_ASSERT(first->closed);
	for (size_t i = 0; i < COUNT(s); i++)
		if (rows[i].early)
			reprioritize((int32_t)(first_id + 2 * i), rows[i].early);
	settle();
	for (size_t i = 0; i < COUNT(s); i++)
		s[i] = ask("GET", rows[i].field, LENGTH_5000, 5000, "");
	CU_ASSERT_EQUAL(s[0]->id, (int32_t)first_id);
	settle();
	for (size_t i = 0; i < COUNT(s); i++)
		if (rows[i].late)
			reprioritize(s[i]->id, rows[i].late);
	settle();
	for (size_t i = 0; i < COUNT(s); i++) {
		client.n_order = 0;
		open_window(0, 5000);
		settle();
		for (size_t row = 0; row < COUNT(rows); row++)
			if (rows[row].turn == i)
				UNIT_ROW(client.n_order == 1 && client.order[0] == s[row]->id, "%s: stream %d in turn %zu", rows[row].rule,
				    client.order[0], i);
	}
	session_close();
}

/* More than are remembered, for streams that never come, and for one that is closed. */
static void urgency_of_nobody(void)
{
	session_open(1 << 20);
	struct side *first = ask("GET", "", LENGTH_900, 900, "");

	settle();
	reprioritize(first->id, "u=0");
	for (int32_t id = 5; id < 5 + 2 * 20; id += 2)
		reprioritize(id, "u=0");
	settle();
	struct side *next = ask("GET", "", LENGTH_900, 900, "");
	settle();
	CU_ASSERT(next->closed && next->code == NGHTTP2_NO_ERROR && client.code == NO_CODE);
	session_close();
}

/* Of equals none waits for the end of another's response, which may be long in coming. */
static void equals_take_turns(void)
{
	session_open(1 << 20);
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
	session_close();
}

UNIT_SUITE(h2_write, { "how a response ends", response_ends }, { "a response that breaks off", response_breaks_off },
    { "a stream's window is used up", stalled_stream }, { "the connection's window is used up", stalled_connection },
    { "an end waits for the window", stalled_end }, { "the urgent goes first", urgency_order },
    { "urgency by frames", urgency_by_frames }, { "urgency of streams that are not there", urgency_of_nobody }, { "equals take turns", equals_take_turns })
