/* An origin of HTTP/2 and the owners of the requests to it; see h2_origin.h. */
#include "tests/unit/net/h2_origin.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct origin origin;

static struct {
	uint8_t *bytes;
	size_t len, at;
} sent;

static struct {
	uint8_t bytes[1 << 15];
	size_t len;
	bool prefaced;
	nghttp2_hd_inflater *inflater;
} heard;

/* ---- the owners ---- */

static size_t all_of(const struct ask *a)
{
	return strlen(a->head) + a->body + strlen(a->foot);
}

static void ask_want(struct ask *a)
{
	if (a->conn)
		conn_want(a->conn, !a->deaf && !a->failed && !a->ended, !a->unwritten && a->written < all_of(a));
}

static void ask_read(struct ask *a)
{
	char bytes[1 << 14];
	ssize_t n = conn_read(a->conn, bytes, sizeof bytes);

	if (n > 0) {
		size_t at = a->got < sizeof a->response ? a->got : sizeof a->response - 1, room = sizeof a->response - 1 - at;

		memcpy(a->response + at, bytes, (size_t)n < room ? (size_t)n : room);
		a->got += (size_t)n;
	}
	a->ended |= n == CONN_EOF;
	if (n == CONN_FAILED) {
		a->failed = true;
		a->fate = h2_fate(a->conn);
		conn_explain(a->conn, FAILURE_CONNECTION_TERMINATED, &a->why);
	}
}

static void on_ask(void *arg, enum conn_event event)
{
	struct ask *a = arg;

	if (event == CONN_READABLE)
		ask_read(a);
	else {
		struct iovec iov[3];
		int pieces = h2_world_pieces((struct slice){ a->head, strlen(a->head) }, a->body, a->foot, a->written, SIZE_MAX, iov);
		ssize_t n = conn_writev(a->conn, iov, pieces);

		a->unwritten |= n == CONN_FAILED;
		a->written += n > 0 ? (size_t)n : 0;
	}
	ask_want(a);
}

struct ask *ask(const char *head, size_t body, const char *foot)
{
	struct ask *a = &origin.asks[origin.n++];

	CU_ASSERT_FATAL(origin.n <= ASKS);
	*a = (struct ask){ .conn = h2_request(world.h2), .head = head, .body = body, .foot = foot, .code = NO_CODE };
	CU_ASSERT_FATAL(a->conn != NULL);
	conn_set_owner(a->conn, on_ask, a);
	ask_want(a);
	return a;
}

void ask_close(struct ask *a)
{
	conn_close(&a->conn);
}

/* ---- the origin hears ---- */

static uint32_t number(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static struct ask *ask_of(uint32_t id)
{
	return id & 1 && id / 2 < origin.n ? &origin.asks[id / 2] : NULL;
}

static void hear_fields(struct ask *a, const uint8_t *at, size_t len)
{
	nghttp2_nv nv;
	int flags = 0;
	ssize_t n;

	while ((n = nghttp2_hd_inflate_hd2(heard.inflater, &nv, &flags, at, len, 1)) >= 0) {
		at += n;
		len -= (size_t)n;
		if (flags & NGHTTP2_HD_INFLATE_EMIT)
			snprintf(a->fields + strlen(a->fields), sizeof a->fields - strlen(a->fields), "%s=%s|", (char *)nv.name,
			    (char *)nv.value);
		if (flags & NGHTTP2_HD_INFLATE_FINAL || !n)
			break;
	}
	nghttp2_hd_inflate_end_headers(heard.inflater);
}

static void hear_of_stream(struct ask *a, const uint8_t *frame, size_t len)
{
	uint8_t type = frame[3];
	bool ends = type <= NGHTTP2_HEADERS && frame[4] & NGHTTP2_FLAG_END_STREAM;

	if (type == NGHTTP2_HEADERS) {
		a->heads++;
		hear_fields(a, frame + H2_FRAME_HEAD_BYTES, len);
	} else if (type == NGHTTP2_DATA) {
		a->frames++;
		a->heard += len;
		a->end_on_data |= ends && len;
	} else if (type == NGHTTP2_RST_STREAM)
		a->code = (int)number(frame + H2_FRAME_HEAD_BYTES);
	a->ends += ends;
}

static void hear_frame(const uint8_t *frame, size_t len)
{
	uint8_t type = frame[3];
	uint32_t id = number(frame + 5);
	bool ack = frame[4] & NGHTTP2_FLAG_ACK;

	if (type == NGHTTP2_WINDOW_UPDATE) {
		if (id / 2 < ASKS)
			origin.windows[id ? id / 2 : ASKS] += number(frame + H2_FRAME_HEAD_BYTES);
	}
	else if (type == NGHTTP2_GOAWAY) {
		origin.goaways++;
		origin.code = (int)number(frame + H2_FRAME_HEAD_BYTES + 4);
	} else if (type == NGHTTP2_PING)
		origin.pings += !ack;
	else if (type == NGHTTP2_SETTINGS)
		origin.settings += !ack;
	else if (ask_of(id))
		hear_of_stream(ask_of(id), frame, len);
}

static void hear_frames(void)
{
	size_t at = 0;

	if (!heard.prefaced && heard.len >= NGHTTP2_CLIENT_MAGIC_LEN) {
		CU_ASSERT(!memcmp(heard.bytes, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN));
		heard.prefaced = true;
		at = NGHTTP2_CLIENT_MAGIC_LEN;
	}
	while (heard.prefaced && heard.len - at >= H2_FRAME_HEAD_BYTES) {
		const uint8_t *frame = heard.bytes + at;
		size_t len = number(frame) >> 8;

		if (heard.len - at < H2_FRAME_HEAD_BYTES + len)
			break;
		hear_frame(frame, len);
		at += H2_FRAME_HEAD_BYTES + len;
	}
	heard.len -= at;
	memmove(heard.bytes, heard.bytes + at, heard.len);
}

static bool origin_reads(void)
{
	bool any = false;
	ssize_t n;

	while (origin.reads && (n = read(world.far, heard.bytes + heard.len, sizeof heard.bytes - heard.len)) > 0) {
		heard.len += (size_t)n;
		hear_frames();
		any = true;
	}
	return any;
}

/* ---- it speaks ---- */

void send_frame(uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t len)
{
	const uint8_t head[] = { (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, type, flags, (uint8_t)(id >> 24), (uint8_t)(id >> 16),
		(uint8_t)(id >> 8), (uint8_t)id };

	if (sent.at == sent.len)
		sent.at = sent.len = 0;
	sent.bytes = realloc(sent.bytes, sent.len + sizeof head + len);
	CU_ASSERT_FATAL(sent.bytes != NULL);
	memcpy(sent.bytes + sent.len, head, sizeof head);
	if (len)
		memcpy(sent.bytes + sent.len + sizeof head, payload, len);
	sent.len += sizeof head + len;
}

void send_frames(const struct frame *frames, size_t n)
{
	for (size_t i = 0; i < n && frames[i].payload; i++)
		send_frame(frames[i].type, frames[i].flags, frames[i].id, frames[i].payload, frames[i].len);
}

void send_data(uint32_t id, bool ends, size_t len)
{
	static const uint8_t bytes[1 << 14];

	for (size_t part; len; len -= part) {
		part = len < sizeof bytes ? len : sizeof bytes;
		send_frame(NGHTTP2_DATA, ends && part == len, id, bytes, part);
	}
}

static bool origin_writes(void)
{
	ssize_t n = sent.at < sent.len ? write(world.far, sent.bytes + sent.at, sent.len - sent.at) : 0;

	sent.at += n > 0 ? (size_t)n : 0;
	return n > 0;
}

void settle(void)
{
	for (int quiet = 0; quiet < QUIET_TURNS; quiet++) {
		if (origin_writes())
			quiet = 0;
		CU_ASSERT_FATAL(h2_world_turn());
		if (origin_reads())
			quiet = 0;
	}
}

void hang_up(void)
{
	settle();
	CU_ASSERT(!shutdown(world.far, SHUT_WR));
	settle();
}

void tick(void)
{
	struct timer *timer = &world.h2->timer;

	CU_ASSERT_FATAL(timer->queue != NULL);
	loop_disarm(world.loop, timer);
	timer->fire(timer);
	settle();
}

void origin_open_silent(const struct h2_settings *settings)
{
	static const struct h2_settings usual = { .max_head = MAX_HEAD, .max_fields = MAX_FIELDS, .window = WINDOW_BYTES,
		.head_timeout_ms = 60000, .write_timeout_ms = 60000, .secure = true };

	origin = (struct origin){ .code = NO_CODE, .reads = true };
	heard.len = 0;
	heard.prefaced = false;
	sent.len = sent.at = 0;
	CU_ASSERT_EQUAL_FATAL(nghttp2_hd_inflate_new(&heard.inflater), 0);
	CU_ASSERT_FATAL(h2_world_open(settings ? settings : &usual, NULL));
}

void origin_open(const struct h2_settings *settings)
{
	origin_open_silent(settings);
	send_frame(NGHTTP2_SETTINGS, 0, 0, NULL, 0);
	send_frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, NULL, 0);
	settle();
}

void origin_close(void)
{
	for (size_t i = 0; i < ASKS; i++)
		conn_close(&origin.asks[i].conn);
	h2_world_close();
	loop_free(&world.loop);
	nghttp2_hd_inflate_del(heard.inflater);
	free(sent.bytes);
	sent.bytes = NULL;
}
