/* Owns the cases of proxy/net/h2_limits.c: how many frames of a kind a second may have. Must not know: what else frames do. */
#include "tests/unit/net/h2_client.h"

#include <unistd.h>

/* What the peer hears last, of streams that nghttp2 at its end knows nothing of: GOAWAY has eight bytes behind its head. */
static uint8_t last[H2_FRAME_HEAD_BYTES + 8];

/* Until neither side has anything to say. */
static void listen_out(void)
{
	uint8_t in[16384];
	ssize_t n;

	for (int quiet = 0; quiet < QUIET_TURNS; quiet++) {
		CU_ASSERT_FATAL(h2_world_turn());
		while ((n = read(world.far, in, sizeof in)) > 0) {
			size_t len = (size_t)n < sizeof last ? (size_t)n : sizeof last;

			memmove(last, last + len, sizeof last - len);
			memcpy(last + sizeof last - len, in + (size_t)n - len, len);
			quiet = 0;
		}
	}
}

static int code_heard(void)
{
	return last[2] == sizeof last - H2_FRAME_HEAD_BYTES && last[3] == NGHTTP2_GOAWAY ? last[sizeof last - 1] : NO_CODE;
}

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
		session_open(WINDOW);
		settle();
		memset(last, 0, sizeof last);
		memset(world.h2->seen, 0, sizeof world.h2->seen);
		for (uint32_t n = 0; n < rows[i].most; n++) {
			frames[i](n);
			if (n % 32 == 31 || n + 1 == rows[i].most)
				listen_out();
		}
		UNIT_ROW(world.h2 && code_heard() == NO_CODE, "%s: %u end the connection with %d", rows[i].name, rows[i].most, code_heard());
		frames[i](rows[i].most);
		listen_out();
		UNIT_ROW(world.endings == 1 && code_heard() == NGHTTP2_ENHANCE_YOUR_CALM, "%s: code %d", rows[i].name, code_heard());
		session_close();
	}
}

UNIT_SUITE(h2_limits, { "limits", limits })
