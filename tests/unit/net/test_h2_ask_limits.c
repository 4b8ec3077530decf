/* Owns the cases of what a session that asks bears from its peer: readers that stall, frames of a few bytes, header lists of any size,
 * floods (RFC 9113 sections 5.2 and 10.5). Must not know: requests' owners of the proxy. */
#include "tests/unit/net/h2_origin.h"

/* A reader that stalls holds the window of its stream, and nobody else's. */
static void stalled_reader(void)
{
	origin_open(NULL);
	int64_t at_first = origin.windows[ASKS];
	struct ask *a = ask(GET, 0, ""), *b = ask(GET, 0, "");

	a->deaf = true;
	settle();
	send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, B200, 1);
	send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 3, B200, 1);
	conn_want(a->conn, false, false);
	settle();
	size_t before = a->got;
	CU_ASSERT(origin.windows[0] == WINDOW_BYTES - H2_WINDOW_FIRST && origin.windows[1] == WINDOW_BYTES - H2_WINDOW_FIRST);
	int64_t stalled = origin.windows[0];
	send_data(1, false, WINDOW_BYTES);
	for (int i = 0; i < 300; i++) {
		send_data(3, false, WINDOW_BYTES / 2);
		settle();
	}
	send_data(3, true, 1);
	settle();
	CU_ASSERT(b->ended && b->got > 149 * (size_t)WINDOW_BYTES && origin.windows[1] > 148 * WINDOW_BYTES);
	CU_ASSERT(a->got == before && !a->failed && origin.windows[0] == stalled && a->conn->stream->in.len <= 2 * WINDOW_BYTES);
	CU_ASSERT(origin.windows[ASKS] - at_first >= 64 * WINDOW_BYTES && world.h2 != NULL);
	a->deaf = false;
	conn_want(a->conn, true, false);
	settle();
	CU_ASSERT(a->got > WINDOW_BYTES && origin.windows[0] == stalled + WINDOW_BYTES);
	send_data(1, true, 1);
	settle();
	CU_ASSERT(a->ended && origin.code == NO_CODE);
	origin_close();
}

/* Frames on their way for a stream that was given up are borne. An origin that goes on all the same ends its session. */
static void strays(void)
{
	static const struct { const char *name; uint8_t type, flags; size_t len; int fine; } rows[] = {
		{ "DATA up to the window", NGHTTP2_DATA, 0, 8192, WINDOW_BYTES / 8192 },
		{ "interim heads", NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 5, 32 },
		{ "resets", NGHTTP2_RST_STREAM, 0, 4, 1 },
	};
	uint8_t payload[8192] = B103;

	for (size_t i = 0; i < COUNT(rows); i++) {
		origin_open(NULL);
		struct ask *a = ask(GET, 0, ""), *b = ask(GET, 0, "");
		settle();
		ask_close(a);
		settle();
		for (int n = 0; n < rows[i].fine; n++)
			send_frame(rows[i].type, rows[i].flags, 1, payload, rows[i].len);
		settle();
		UNIT_ROW(a->code == NGHTTP2_CANCEL && !b->failed && origin.code == NO_CODE, "%s: GOAWAY %d", rows[i].name, origin.code);
		for (int n = 0; n < 64; n++)
			send_frame(rows[i].type, rows[i].flags, 1, payload, rows[i].len);
		settle();
		UNIT_ROW(b->failed && world.endings == 1 && origin.code == NGHTTP2_ENHANCE_YOUR_CALM, "%s: GOAWAY %d", rows[i].name, origin.code);
		origin_close();
	}
}

/* A stream that its owner leaves takes nothing of the window of the connection with it. */
static void given_up(void)
{
	origin_open(NULL);
	int64_t at_first = origin.windows[ASKS];

	for (uint32_t id = 1; id < 400; id += 2) {
		origin.n = 0;
		world.h2->own_resets = 0;      /* time has passed */
		struct ask *a = ask(GET, 0, "");

		settle();
		ask_close(a);
		settle();
		send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, B200, 1);
		send_data(id, true, WINDOW_BYTES);
		settle();
	}
	CU_ASSERT(world.h2 && origin.code == NO_CODE && origin.windows[ASKS] - at_first > 100 * WINDOW_BYTES);
	origin_close();
}

/* More than the window: the stream fails, and the session's bytes are bounded. */
static void beyond_the_window(void)
{
	origin_open(NULL);
	struct ask *a = ask(GET, 0, ""), *b = ask(GET, 0, "");

	a->deaf = true;
	settle();
	conn_want(a->conn, false, false);
	send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, B200, 1);
	send_data(1, false, 2 * WINDOW_BYTES);
	settle();
	CU_ASSERT(a->code == NGHTTP2_FLOW_CONTROL_ERROR && a->conn->stream->in.len < 4 * WINDOW_BYTES);
	send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 3, B200, 1);
	settle();
	CU_ASSERT(b->ended);
	a->deaf = false;
	conn_want(a->conn, true, false);
	settle();
	CU_ASSERT(a->failed && a->why.error == FAILURE_HTTP_PROTOCOL_ERROR);
	origin_close();
}

/* Frames of one byte each, for a reader that reads and for one that does not: its stream alone is reset. */
static void few_bytes(void)
{
	for (int deaf = 0; deaf < 2; deaf++) {
		origin_open(NULL);
		struct ask *a = ask(GET, 0, ""), *b = ask(GET, 0, "");

		a->deaf = deaf;
		settle();
		if (deaf)
			conn_want(a->conn, false, false);
		send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, B200, 1);
		for (int i = 0; i < 300; i++) {
			for (int n = 0; n < 100; n++)
				send_data(1, false, 1);
			settle();
		}
		UNIT_ROW(deaf ? a->code == NGHTTP2_ENHANCE_YOUR_CALM : !a->failed && a->got > 30000, "deaf %d: code %d, %zu bytes", deaf, a->code, a->got);
		UNIT_ROW(a->conn->stream->in.len <= 3 * WINDOW_BYTES, "deaf %d: %zu bytes wait", deaf, a->conn->stream->in.len);
		send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 3, B200, 1);
		settle();
		UNIT_ROW(b->ended && origin.code == NO_CODE, "deaf %d: the session ends with %d", deaf, origin.code);
		origin_close();
	}
}

/* ---- header lists ---- */

static size_t add_fields(uint8_t *block, size_t n, size_t bytes)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		const uint8_t head[] = { 0, 1, 'a', (uint8_t)bytes };

		memcpy(block + len, head, sizeof head);
		memset(block + len + sizeof head, 'b', bytes);
		len += sizeof head + bytes;
	}
	return len;
}

/* A list counts as max_head and max_fields say, whatever it is: a head, an interim head, a trailer section. */
static void long_lists(void)
{
	static const struct { const char *name; int before; size_t fields, bytes; bool fails; } rows[] = {
		{ "as many fields as may be", 0, MAX_FIELDS, 1, false },
		{ "more fields", 0, MAX_FIELDS + 4, 1, true },
		{ "as many bytes as may be", 0, 4, (MAX_HEAD - 10 - 4) / 4, false },
		{ "more bytes", 0, 5, 120, true },
		{ "an interim head of more fields", 1, MAX_FIELDS + 4, 1, true },
		{ "a trailer section of more fields", 2, MAX_FIELDS + 5, 1, true },
		{ "a trailer section of more bytes", 2, 5, 120, true },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint8_t block[1 << 14] = B200;
		size_t len = rows[i].before == 2 ? 0 : 1;
		uint8_t ends = rows[i].before == 1 ? 0 : NGHTTP2_FLAG_END_STREAM;

		origin_open(NULL);
		struct ask *a = ask(GET, 0, ""), *b = ask(GET, 0, "");
		settle();
		if (rows[i].before == 1) {
			memcpy(block, B103, 5);
			len = 5;
		} else if (rows[i].before == 2)
			send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, B200, 1);
		len += add_fields(block + len, rows[i].fields, rows[i].bytes);
		send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | ends, 1, block, len);
		settle();
		UNIT_ROW(a->failed == rows[i].fails && (a->failed || a->ended), "%s: failed %d", rows[i].name, a->failed);
		UNIT_ROW(!a->failed || (a->why.error == FAILURE_HTTP_HEADER_SIZE && a->fate == H2_FATE_UNKNOWN), "%s: why %d", rows[i].name, a->why.error);
		UNIT_ROW(a->code == (rows[i].fails ? NGHTTP2_CANCEL : NO_CODE), "%s: code %d", rows[i].name, a->code);
		send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 3, B200, 1);
		settle();
		UNIT_ROW(b->ended && origin.code == NO_CODE, "%s: the session ends with %d", rows[i].name, origin.code);
		origin_close();
	}
}

/* One byte of a block may stand for a field of the table (CVE-2026-49975). */
static void references(void)
{
	uint8_t block[1 << 14];
	size_t len = 0;

	origin_open(NULL);
	struct ask *a = ask(GET, 0, "");
	settle();
	memcpy(block, B200 "\x40\x01" "a" "\x7f\x81\x03", 7);
	memset(block + 7, 'b', 512);
	memset(block + 7 + 512, 0xbe, 4000);
	len = 7 + 512 + 4000;
	send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, block, len);
	settle();
	CU_ASSERT(a->failed && world.endings == 1 && origin.code == NGHTTP2_ENHANCE_YOUR_CALM);
	CU_ASSERT_EQUAL(stats_get(&loop_stats(world.loop)->value[STAT_H2_ORIGIN_FLOODS]), 1);
	origin_close();
}

/* CONTINUATION in pieces of a byte, each of which nghttp2 is given by itself. */
static void continuations(void)
{
	static const char frames[] = "\0\0\1\1\1\0\0\0\1" B200 "\0\0\2\x09\0\0\0\0\1" "\0\1" "\0\0\3\x09\4\0\0\0\1" "a\1b";

	origin_open(NULL);
	struct ask *a = ask(GET, 0, "");
	settle();
	for (size_t i = 0; i < sizeof frames - 1; i++)
		h2_feed(world.h2, frames + i, 1);
	settle();
	CU_ASSERT(a->ended && !strcmp(a->response, "HTTP/1.1 200 \r\na: b\r\n\r\n") && origin.code == NO_CODE);
	origin_close();
}

/* A head that begins and never ends would hold up all streams. */
static void endless_head(void)
{
	origin_open(NULL);
	struct ask *a = ask(GET, 0, "");
	settle();
	send_frame(NGHTTP2_HEADERS, 0, 1, B200, 1);
	settle();
	CU_ASSERT(world.h2->timer.queue != NULL);
	h2_end_late(world.h2, loop_now_ms(world.loop) + world.h2->settings.head_timeout_ms - 1000);
	settle();
	CU_ASSERT(!a->failed);
	h2_end_late(world.h2, loop_now_ms(world.loop) + world.h2->settings.head_timeout_ms);
	settle();
	CU_ASSERT(a->failed && world.endings == 1 && origin.code == NGHTTP2_ENHANCE_YOUR_CALM);
	origin_close();
}

static void interims(void)
{
	origin_open(NULL);
	struct ask *a = ask(GET, 0, ""), *b = ask(GET, 0, "");

	settle();
	for (int i = 0; i < 32; i++)
		send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, B103, 5);
	settle();
	CU_ASSERT(!a->failed && a->got > 32 * 10);
	for (int i = 0; i < 5; i++)
		send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, B103, 5);
	settle();
	CU_ASSERT(a->failed && a->code == NGHTTP2_ENHANCE_YOUR_CALM && a->fate == H2_FATE_UNKNOWN && !b->failed && origin.code == NO_CODE);
	origin_close();
}

/* ---- floods ---- */

/* Resets answer requests: they are bounded by these, and none is a flood. */
static void resets(void)
{
	for (int made = 0; made < 2; made++) {
		origin_open(NULL);
		for (uint32_t id = 1; id < 1200; id += 2) {
			origin.n = 0;
			struct ask *a = ask(GET, 0, "");

			settle();
			world.h2->second_ms = loop_now_ms(world.loop);
			if (made)
				send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, B_FIELD, 5);
			else
				send_frame(NGHTTP2_RST_STREAM, 0, id, "\0\0\0\7", 4);
			settle();
			UNIT_ROW(a->failed && a->fate == (made ? H2_FATE_UNKNOWN : H2_FATE_UNPROCESSED), "made %d: fate %d", made, a->fate);
			ask_close(a);
		}
		UNIT_ROW(world.h2 && origin.code == NO_CODE, "made %d: the session ends with %d", made, origin.code);
		UNIT_ROW(stats_get(&loop_stats(world.loop)->value[STAT_H2_ORIGIN_RESETS]) == (made ? 0 : 600), "made %d: resets are miscounted", made);
		origin_close();
	}
}

/* The other floods end the session, as they do a client's. */
static void floods(void)
{
	static const struct { const char *name; uint8_t type, flags; size_t len; int most; } rows[] = {
		{ "SETTINGS", NGHTTP2_SETTINGS, 0, 0, 60 }, { "PING", NGHTTP2_PING, 0, 8, 101 }, { "PRIORITY", NGHTTP2_PRIORITY, 0, 5, 1001 },
		{ "WINDOW_UPDATE", NGHTTP2_WINDOW_UPDATE, 0, 4, 20001 }, { "unknown frames", 0xee, 0, 0, 1001 }, { "empty DATA", NGHTTP2_DATA, 0, 0, 501 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		bool streams = rows[i].type == NGHTTP2_DATA || rows[i].type == NGHTTP2_PRIORITY;

		origin_open(NULL);
		struct ask *a = ask(GET, 0, "");
		settle();
		send_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, B200, 1);
		settle();
		for (int n = 0; n < rows[i].most && world.h2; n++) {
			send_frame(rows[i].type, rows[i].flags, streams ? 1 : 0, "\0\0\0\1\0\0\0\0", rows[i].len);
			world.h2->second_ms = loop_now_ms(world.loop);
			if (n % 32 == 31)
				settle();
		}
		settle();
		UNIT_ROW(a->failed && world.endings == 1 && origin.code == NGHTTP2_ENHANCE_YOUR_CALM, "%s: code %d", rows[i].name, origin.code);
		origin_close();
	}
}

UNIT_SUITE(h2_ask_limits, { "a stalled reader", stalled_reader }, { "strays", strays }, { "given up", given_up }, { "beyond the window", beyond_the_window },
    { "frames of a few bytes", few_bytes }, { "long header lists", long_lists }, { "references", references }, { "CONTINUATION", continuations }, { "an endless head", endless_head },
    { "interim responses", interims }, { "resets", resets }, { "floods", floods })
