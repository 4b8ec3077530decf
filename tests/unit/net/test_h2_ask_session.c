/* Owns the cases of a session that asks: proxy/net/h2_ask.c, and h2.c as far as it serves such sessions. How many streams it takes, what
 * it knows of the peer, what its end means for them, and what a hostile peer is worth (RFC 9113 sections 5.1.2, 6.7, 6.8 and 10.5).
 * Must not know: requests' owners of the proxy. */
#include "tests/unit/net/h2_origin.h"

#include <sys/socket.h>
#include <unistd.h>

#define HEAD_200_5(id) HEADERS(id, B200 B_LENGTH("5"))

enum { MOST = 1024 };                          /* streams, where the peer names no number */

static const struct h2_settings pinging = { .max_head = MAX_HEAD, .max_fields = MAX_FIELDS, .window = WINDOW_BYTES, .head_timeout_ms = 60000,
	.write_timeout_ms = 60000, .secure = true, .ping_ms = 10000 };

/* One more of what the session's owner knows: it hears of room only when there is more than it knows. */
static void room(void)
{
	static const struct frame three[] = { SETTINGS("\3", "\0\0\0\3") }, one[] = { SETTINGS("\3", "\0\0\0\1") }, none[] = { SETTINGS("\3", "\0\0\0\0") },
		answer[] = { HEADERS_END(1, B200) }, reset[] = { RESET(3, "\7") };

	origin_open_silent(NULL);
	settle();
	CU_ASSERT(h2_room(world.h2) == 1 && !world.rooms);
	struct ask *a = ask(GET, 0, "");
	settle();
	CU_ASSERT(h2_room(world.h2) == 0 && a->heads == 1 && !world.rooms);
	send_frames(three, 1);
	settle();
	CU_ASSERT(h2_room(world.h2) == 2 && world.rooms == 1);
	struct ask *b = ask(GET, 0, "");
	CU_ASSERT_EQUAL(h2_room(world.h2), 1);
	settle();
	CU_ASSERT_EQUAL(world.rooms, 1);
	send_frames(answer, 1);
	settle();
	CU_ASSERT(a->ended && h2_room(world.h2) == 2 && world.rooms == 2);
	send_frames(one, 1);
	settle();
	CU_ASSERT(h2_room(world.h2) == 0 && world.rooms == 2);
	send_frames(reset, 1);
	settle();
	CU_ASSERT(b->failed && h2_room(world.h2) == 1 && world.rooms == 3 && world.idles == 1);
	send_frames(none, 1);
	settle();
	CU_ASSERT(h2_room(world.h2) == 0 && world.h2);
	origin_close();

	origin_open(NULL);
	CU_ASSERT(h2_room(world.h2) == MOST && world.rooms == 1 && origin.settings == 1);
	origin_close();
}

/* The peer may allow less while a request is on its way. The request waits, and goes out when there is room. */
static void more_than_room(void)
{
	static const struct frame none[] = { SETTINGS("\3", "\0\0\0\0") }, one[] = { SETTINGS("\3", "\0\0\0\1") }, gone[] = { GOAWAY("\0", "\0") };

	for (int leaves = 0; leaves < 3; leaves++) {
		origin_open(NULL);
		send_frames(none, 1);
		settle();
		struct ask *a = ask(GET, 0, ""), *b = ask(POST_5000, 5000, "");
		settle();
		CU_ASSERT(a->written && !a->heads && !b->heads && !b->heard);
		if (leaves == 2)
			hang_up();
		else {
			ask_close(a);
			send_frames(leaves ? gone : one, 1);
			settle();
		}
		UNIT_ROW(leaves ? b->failed && b->fate == H2_FATE_UNPROCESSED : b->heard == 5000 && b->ends == 1, "leaves %d: fate %d", leaves, b->fate);
		UNIT_ROW(!a->heads && (leaves < 2 || a->fate == H2_FATE_UNPROCESSED), "leaves %d: %d heads", leaves, a->heads);
		UNIT_ROW(world.endings == !!leaves, "leaves %d: it ends %u times", leaves, world.endings);
		origin_close();
	}
}

/* A client gives up a request that waits for room. The session can rest then, and resets no stream that never began. */
static void given_up_for_want_of_room(void)
{
	static const struct frame none[] = { SETTINGS("\3", "\0\0\0\0") }, two[] = { SETTINGS("\3", "\0\0\0\2") };

	origin_open(NULL);
	send_frames(none, 1);
	settle();
	struct ask *a = ask(GET, 0, ""), *b = ask(POST_5000, 5000, "");
	settle();
	ask_close(a);
	ask_close(b);
	settle();
	CU_ASSERT(!world.h2->n && TAILQ_EMPTY(&world.h2->streams) && world.idles == 1 && h2_room(world.h2) == 0);
	send_frames(two, 1);
	settle();
	struct ask *c = ask(GET, 0, "");
	settle();
	CU_ASSERT(!a->heads && !b->heads && c->heads == 1 && !world.endings && origin.code == NO_CODE && !origin.goaways);
	CU_ASSERT(a->code == NO_CODE && b->code == NO_CODE);
	origin_close();
}

/* No number of a stream is used twice (section 5.1.1). */
static void numbers_are_used_up(void)
{
	static const struct frame answer[] = { HEADERS_END(0x7fffffffu - 4096, B200) };

	origin_open(NULL);
	CU_ASSERT(!nghttp2_session_set_next_stream_id(world.h2->ng, INT32_MAX - 4096));
	struct ask *a = ask(GET, 0, "");
	settle();
	CU_ASSERT(h2_room(world.h2) == MOST - 1 && a->conn->stream->id == INT32_MAX - 4096);
	struct ask *b = ask(GET, 0, "");
	settle();
	CU_ASSERT(h2_room(world.h2) == 0 && b->conn->stream->sent);
	ask_close(b);
	send_frames(answer, 1);
	settle();
	CU_ASSERT(a->ended && world.endings == 1);
	origin_close();
}

/* CVE-2023-44487, seen from the other side: the session takes no more requests in time. Those that run go on. */
static void given_up_often(void)
{
	static const struct frame answer[] = { HEADERS_END(1, B200) };

	origin_open(NULL);
	struct ask *a = ask(GET, 0, "");
	settle();
	for (int n = 1; n <= H2_OWN_RESETS_MAX; n++) {
		UNIT_ROW(h2_room(world.h2) > 0, "%d", n);
		origin.n = 1;
		struct ask *b = ask(GET, 0, "");
		settle();
		ask_close(b);
		settle();
	}
	CU_ASSERT(h2_room(world.h2) == 0 && !world.endings && a->code == NO_CODE);
	send_frames(answer, 1);
	settle();
	CU_ASSERT(a->ended && !a->failed && world.endings == 1 && origin.code == NO_CODE);
	origin_close();
}

/* A session that takes no more streams ends with its last one. */
static void leaves(void)
{
	static const struct frame gone[] = { GOAWAY("\1", "\0") }, answer[] = { HEAD_200_5(1), DATA_END(1, "hello") };

	for (int idle = 0; idle < 2; idle++) {
		origin_open(NULL);
		struct ask *a = idle ? NULL : ask(GET, 0, "");
		settle();
		send_frames(gone, 1);
		settle();
		UNIT_ROW(world.endings == (unsigned)idle, "idle %d: it ends %u times", idle, world.endings);
		if (!idle) {
			CU_ASSERT_EQUAL(h2_room(world.h2), 0);
			send_frames(answer, 2);
			settle();
			CU_ASSERT(a->ended && a->got && world.endings == 1 && world.rooms == 1);
		}
		origin_close();
	}
}

/* The connection is lost in each state of a response. */
static void hangs_up(void)
{
	static const struct { const char *name; struct frame frames[FRAMES]; bool ended; size_t got; } rows[] = {
		{ "before the head", { { 0, 0, 0, NULL, 0 } }, false, 0 },
		{ "within the head", { FRAME(NGHTTP2_HEADERS, 0, 1, B200) }, false, 0 },
		{ "behind an interim head", { HEADERS(1, B103) }, false, 17 },
		{ "behind the head", { HEAD_200_5(1) }, false, 36 },
		{ "within the body", { HEAD_200_5(1), DATA(1, "hel") }, false, 39 },
		{ "behind the length", { HEAD_200_5(1), DATA(1, "hello") }, false, 40 },
		{ "behind chunks", { HEADERS(1, B200), DATA(1, "hello") }, false, 55 },
		{ "behind the end", { HEAD_200_5(1), DATA_END(1, "hello") }, true, 41 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		for (int how = 0; how < 3; how++) {
			origin_open(NULL);
			struct ask *a = ask(GET, 0, ""), *unsent = ask("", 0, "");
			settle();
			send_frames(rows[i].frames, FRAMES);
			settle();
			if (how == 0)
				hang_up();
			else if (how == 1)
				h2_end(world.h2);
			else
				h2_free(&world.h2);
			settle();
			UNIT_ROW(a->ended == rows[i].ended && a->failed == !rows[i].ended, "%s, %d: ended %d, failed %d", rows[i].name, how, a->ended, a->failed);
			UNIT_ROW(a->got == rows[i].got && a->fate == H2_FATE_UNKNOWN, "%s, %d: %zu bytes, fate %d", rows[i].name, how, a->got, a->fate);
			UNIT_ROW(unsent->failed && unsent->fate == H2_FATE_UNPROCESSED, "%s, %d: fate %d of what was not asked", rows[i].name, how,
			    unsent->fate);
			UNIT_ROW(world.endings == (how < 2), "%s, %d: it ends %u times", rows[i].name, how, world.endings);
			origin_close();
		}
}

/* HTTP_1_1_REQUIRED by GOAWAY holds for streams that were not above its last one, and lost their connection. */
static void needs_http1(void)
{
	static const struct frame gone[] = { GOAWAY("\1", "\x0d") };

	origin_open(NULL);
	struct ask *a = ask(GET, 0, "");
	settle();
	send_frames(gone, 1);
	hang_up();
	CU_ASSERT(a->failed && a->fate == H2_FATE_NEEDS_HTTP_1 && world.endings == 1);
	origin_close();
}

/* A head that nghttp2 has written may have gone out, as far as anybody knows. */
static void half_sent(void)
{
	static const struct frame wide[] = { SETTINGS("\4", "\0\x10\0\0"), WINDOW(0, "\0\x10\0\0") };

	origin_open(NULL);
	send_frames(wide, 2);
	settle();
	origin.reads = false;
	struct ask *a = ask("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n", 100000, ""), *b = ask(GET, 0, "");
	settle();
	struct ask *c = ask(GET, 0, "");
	settle();
	CU_ASSERT(world.h2->out.len >= H2_OUT_BYTES && c->written && !c->conn->stream->sent);
	hang_up();
	CU_ASSERT(world.endings == 1 && a->failed && a->fate == H2_FATE_UNKNOWN && b->failed && b->fate == H2_FATE_UNKNOWN);
	CU_ASSERT(c->failed && c->fate == H2_FATE_UNPROCESSED);
	origin_close();
}

/* ---- PING ---- */

static void send_pong(void)
{
	send_frame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, "\0\0\0\0\0\0\0", 8);
	settle();
}

/* Nothing is asked of a peer that has streams; of one without any, after a while. */
static void pings(void)
{
	static const struct frame answer[] = { HEADERS_END(1, B200) };

	origin_open(&pinging);
	tick();
	CU_ASSERT(!origin.pings && h2_room(world.h2) > 0);
	world.h2->heard_ms -= pinging.ping_ms;
	struct ask *a = ask(GET, 0, "");
	settle();
	CU_ASSERT(!h2_ask_due(world.h2));
	h2_ask_on_time(world.h2, UINT64_MAX);
	settle();
	CU_ASSERT_EQUAL(origin.pings, 0);
	send_frames(answer, 1);
	settle();
	CU_ASSERT(a->ended && world.rooms == 2);
	world.h2->heard_ms -= pinging.ping_ms;
	tick();
	CU_ASSERT(origin.pings == 1 && h2_room(world.h2) == 0 && world.h2);
	send_pong();
	CU_ASSERT(h2_room(world.h2) == MOST && world.rooms == 3);
	tick();
	CU_ASSERT_EQUAL(origin.pings, 1);
	world.h2->heard_ms -= pinging.ping_ms;
	tick();
	CU_ASSERT_EQUAL(origin.pings, 2);
	world.h2->pinged_ms -= pinging.write_timeout_ms;
	tick();
	CU_ASSERT(world.endings == 1 && !world.h2);
	origin_close();

	origin_open(NULL);
	CU_ASSERT(!world.h2->timer.queue);
	origin_close();
}

/* A session that answers PING alone takes no more requests; one that answers some late goes on. */
static void doubts(void)
{
	static const struct frame answer[] = { HEADERS_END(3, B200) };

	origin_open(NULL);
	struct ask *a = ask(GET, 0, ""), *b = ask(GET, 0, "");
	settle();
	h2_doubt(a->conn);
	CU_ASSERT_EQUAL(h2_room(world.h2), 0);
	send_frame(NGHTTP2_SETTINGS, 0, 0, NULL, 0);
	send_pong();
	CU_ASSERT(h2_room(world.h2) == 0 && world.rooms == 1);
	send_frames(answer, 1);
	settle();
	CU_ASSERT(b->ended && h2_room(world.h2) == MOST - 1 && world.rooms == 2);
	world.h2->answered_ms++;
	h2_doubt(a->conn);
	CU_ASSERT_EQUAL(h2_room(world.h2), MOST - 1);
	ask_close(a);
	settle();
	CU_ASSERT(!world.endings && world.idles == 1);
	struct ask *c = ask("", 0, "");
	h2_doubt(c->conn);
	CU_ASSERT_EQUAL(h2_room(world.h2), MOST - 1);
	ask_close(c);
	origin_close();

	origin_open(NULL);
	a = ask(GET, 0, "");
	settle();
	h2_doubt(a->conn);
	ask_close(a);
	settle();
	CU_ASSERT(world.endings == 1 && a->code == NGHTTP2_CANCEL);
	origin_close();
}

UNIT_SUITE(h2_ask_session, { "room", room }, { "more than room", more_than_room },
    { "given up for want of room", given_up_for_want_of_room }, { "numbers are used up", numbers_are_used_up }, { "given up often", given_up_often },
    { "leaving", leaves }, { "the connection is lost", hangs_up }, { "HTTP_1_1_REQUIRED by GOAWAY", needs_http1 }, { "half sent", half_sent },
    { "PING", pings }, { "doubts", doubts })
