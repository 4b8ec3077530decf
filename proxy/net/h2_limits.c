/* Floods of frames that cost the peer little. Frames are counted as they come, before nghttp2 reads them: it tells of
 * some kinds only. See h2_internal.h. */
#include "proxy/net/h2_internal.h"

#include "proxy/base/log.h"

enum { SECOND_MS = 1000, PREFACE_BYTES = 24, SHARED_TIMES = 10 };

static const struct { const char *name; unsigned most; } h2_limits[H2_LIMITS] = {
#define LIMIT(id, name, most) [H2_LIMIT_##id] = { name " in a second", most },
#include "proxy/net/h2_limits.def"
#undef LIMIT
};

void h2_flood(struct h2 *h2, const char *what)
{
	if (h2->ending)
		return;
	stats_add(loop_stats(h2->loop), h2->asks ? STAT_H2_ORIGIN_FLOODS : STAT_H2_REFUSED_FLOODS, 1);
	log_info("http2: %s: the connection ends: too many %s", conn_peer(h2->conn), what);
	h2_fail(h2, NGHTTP2_ENHANCE_YOUR_CALM);
}

bool h2_count(struct h2 *h2, enum h2_limit limit)
{
	uint64_t now = loop_now_ms(h2->loop);

	_Static_assert(H2_LIMITS <= sizeof h2->seen / sizeof *h2->seen, "each limit has its place");
	if (now - h2->second_ms >= SECOND_MS) {
		h2->second_ms = now;
		for (size_t i = 0; i < H2_LIMITS; i++)
			h2->seen[i] = 0;
	}
	if (++h2->seen[limit] <= h2_limits[limit].most * (h2->settings.shared ? SHARED_TIMES : 1))
		return true;
	h2_flood(h2, h2_limits[limit].name);
	return false;
}

static uint32_t h2_number(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static enum h2_limit h2_limit_of(uint8_t type)
{
	static const enum h2_limit limits[] = { [NGHTTP2_DATA] = H2_LIMITS, [NGHTTP2_HEADERS] = H2_LIMITS,
		[NGHTTP2_PRIORITY] = H2_LIMIT_PRIORITIES, [NGHTTP2_RST_STREAM] = H2_LIMIT_RESETS,
		[NGHTTP2_SETTINGS] = H2_LIMIT_SETTINGS, [NGHTTP2_PUSH_PROMISE] = H2_LIMIT_OTHERS,
		[NGHTTP2_PING] = H2_LIMIT_PINGS, [NGHTTP2_GOAWAY] = H2_LIMIT_OTHERS,
		[NGHTTP2_WINDOW_UPDATE] = H2_LIMIT_WINDOWS, [NGHTTP2_CONTINUATION] = H2_LIMIT_CONTINUATIONS };

	return type < sizeof limits / sizeof *limits ? limits[type] : H2_LIMIT_OTHERS;
}

/* A frame's head is there, and for DATA with padding the padding's length. */
static bool h2_count_frame(struct h2 *h2, const uint8_t *head, uint32_t len)
{
	enum h2_limit limit = h2_limit_of(head[3]);
	uint32_t padding = head[4] & NGHTTP2_FLAG_PADDED ? head[H2_FRAME_HEAD_BYTES] + 1U : 0;

	if (head[3] == NGHTTP2_DATA && len <= padding && !(head[4] & NGHTTP2_FLAG_END_STREAM))
		limit = H2_LIMIT_EMPTY;
	if (h2->asks && !h2_ask_bears(h2, head[3], (int32_t)(h2_number(head + 5) & INT32_MAX), len))
		return false;
	if (h2->asks && limit == H2_LIMIT_RESETS)      /* they answer requests */
		return true;
	return limit == H2_LIMITS || h2_count(h2, limit);
}

bool h2_count_frames(struct h2 *h2, const uint8_t *at, size_t n)
{
	while (n) {
		size_t part = h2->skip < n ? h2->skip : n;

		h2->skip -= (uint32_t)part;
		at += part;
		n -= part;
		if (!n)
			break;
		h2->frame[h2->frame_len++] = *at++;
		n--;
		if (h2->frame_len < H2_FRAME_HEAD_BYTES)
			continue;
		uint32_t len = h2_number(h2->frame) >> 8;
		bool padded = h2->frame[3] == NGHTTP2_DATA && h2->frame[4] & NGHTTP2_FLAG_PADDED && len;
		if (padded && h2->frame_len == H2_FRAME_HEAD_BYTES)
			continue;
		h2->skip = len - padded;
		h2->frame_len = 0;
		if (!h2_count_frame(h2, h2->frame, len))
			return false;
	}
	return true;
}

void h2_count_from_preface(struct h2 *h2)
{
	h2->skip = PREFACE_BYTES;
}
