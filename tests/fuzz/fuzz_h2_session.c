/* Owns feeding arbitrary frames to a session of HTTP/2 (proxy/net/h2.h), between any acts of a toy that owns it and its streams.
 * Must not know: HPACK beyond the lists that it sends. Input: a byte of switches, then steps of an opcode and its argument; see fuzz_steps.
 * Invariants: what waits to be written is bounded. The output is frames. A stream ends by END_STREAM only if its response was written
 * whole, and has each byte of the body once. Streams and session may be closed in any order; nothing is lost or freed twice. */
#include "tests/unit/h2_world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	GREETS = 1, BY_SOCKET = 2, SECURE = 4, SMALL_HEADS = 8,        /* switches */
	TOYS = 256, SENT = 1 << 16, BODY = 200000, STEPS = 400, FRAME_MAX = 16384, PEER_READS = 4096,
	OUT_MAX = H2_OUT_BYTES + 64 * 1024      /* control frames and heads may come on top */
};

/* What a stream's owner does when it may; the act of those that come is set beforehand. */
enum { READS_ALL, READS_LITTLE, READS_NOTHING };

struct toy {
	struct conn *conn;             /* NULL: closed */
	int32_t id;
	uint8_t reads;
	bool writes, heads, failed;
	const struct response *response;
	size_t written, body, got;     /* of the response; of its body, if it is whole; of that, in frames */
	bool whole, ended;
};

static const char body_bytes[BODY];
/* Head and foot stand around a body; a body of chunks has a line before it and one behind it. */
static const struct response {
	const char *head;
	size_t body;
	const char *foot;
	size_t told;                   /* what the head says of the body: it is whole if that is the same; SIZE_MAX: never */
	bool by_close;
} responses[] = {
	{ "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", 5, "", 5, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\nA: b\r\n\r\n", 200000, "", 200000, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n", 65536, "", 65536, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0, "", 0, false },
	{ "HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n", 65535, "", 65536, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n", 16384, "\r\n0\r\n\r\n", 16384, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1ffff\r\n", 131071, "\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n", 131071, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0, "0\r\nA: b\r\n\r\n", 0, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n", 16384, "\r\n", 16385, false },
	{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n", 16384, "\r\n0\r\n:\r\n\r\n", 16385, false },
	{ "HTTP/1.0 200 OK\r\nA: b\r\n\r\n", 100000, "", 100000, true },
	{ "HTTP/1.1 204 No Content\r\n\r\n", 0, "", 0, false },
	{ "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 0, "", 0, false },
	{ "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n", 70000, "", 70000, false },
	{ "HTTP/1.1 100 Continue\r\n\r\n", 0, "", SIZE_MAX, false },
	{ "HTTP/1.1 200 OK\r\nno head\r\n\r\n", 10, "", SIZE_MAX, false },
	{ "", 0, "", SIZE_MAX, false },
};

static struct {
	struct toy toys[TOYS];
	size_t n_toys;
	uint8_t reads, response;       /* of the streams that come */
	bool writes, closes;
} owner;

static struct {
	bool by_socket;
	uint8_t sent[SENT];            /* its frames that were not fed yet */
	size_t n_sent;
	uint8_t head[H2_FRAME_HEAD_BYTES];
	size_t head_len, skip;         /* of the frame that it reads */
} peer;

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* ---- the owner ---- */

/* The head, and for a GET the first chunk's size behind it. */
static size_t head_len(const struct toy *toy)
{
	size_t len = strlen(toy->response->head);

	while (toy->heads && len >= 4 && memcmp(toy->response->head + len - 4, "\r\n\r\n", 4) != 0)
		len--;
	return len;
}

static size_t response_len(const struct toy *toy)
{
	return head_len(toy) + (toy->heads ? 0 : toy->response->body + strlen(toy->response->foot));
}

/* Notes whether its bytes so far are a whole message, whose end is known. */
static void note_whole(struct toy *toy, bool closed)
{
	const struct response *r = toy->response;
	size_t head = head_len(toy);

	if (toy->failed || toy->written < head || r->told == SIZE_MAX)
		return;
	toy->whole |= toy->heads || (r->by_close ? closed : toy->written == response_len(toy) && r->told == r->body);
	toy->body = toy->heads ? 0 : toy->written - head < r->body ? toy->written - head : r->body;
}

static int pieces_of(const struct toy *toy, size_t max, struct iovec iov[3])
{
	const struct response *r = toy->response;
	size_t at = toy->written;
	const struct iovec all[3] = { { (void *)(uintptr_t)r->head, head_len(toy) },
		{ (void *)(uintptr_t)body_bytes, toy->heads ? 0 : r->body },
		{ (void *)(uintptr_t)r->foot, toy->heads ? 0 : strlen(r->foot) } };
	int n = 0;

	for (size_t i = 0; i < 3; i++) {
		size_t part = all[i].iov_len > at ? all[i].iov_len - at : 0, before = all[i].iov_len - part;

		at -= before;
		part = part < max ? part : max;
		max -= part;
		if (part)
			iov[n++] = (struct iovec){ (char *)all[i].iov_base + before, part };
	}
	return n;
}

static void toy_write(struct toy *toy, size_t max)
{
	struct iovec iov[3];
	int n = pieces_of(toy, max, iov);

	if (!n || toy->failed)
		return;
	ssize_t r = conn_writev(toy->conn, iov, n);
	require(r == CONN_FAILED || r == CONN_AGAIN || (r > 0 && (size_t)r <= response_len(toy) - toy->written));
	toy->failed |= r == CONN_FAILED;
	toy->written += r > 0 ? (size_t)r : 0;
	note_whole(toy, false);
}

static void toy_want(struct toy *toy)
{
	conn_want(toy->conn, toy->reads != READS_NOTHING, toy->writes && !toy->failed && toy->written < response_len(toy));
}

static void toy_read(struct toy *toy, size_t max)
{
	char bytes[1024];
	ssize_t n = conn_read(toy->conn, bytes, max < sizeof bytes ? max : sizeof bytes);

	require(n < 0 || (size_t)n <= max);
	if (n == CONN_EOF || n == CONN_FAILED)
		toy->reads = READS_NOTHING;
}

static void on_stream(void *arg, enum conn_event event)
{
	struct toy *toy = arg;

	require(event == CONN_READABLE || event == CONN_WRITABLE);
	if (event == CONN_READABLE)
		toy_read(toy, toy->reads == READS_LITTLE ? 3 : SIZE_MAX);
	else
		toy_write(toy, SIZE_MAX);
	toy_want(toy);
}

static void on_opened(void *arg, struct conn *conn)
{
	struct toy *toy = &owner.toys[owner.n_toys];

	(void)arg;
	if (owner.n_toys == TOYS || owner.closes) {
		conn_abort(&conn);
		return;
	}
	owner.n_toys++;
	*toy = (struct toy){ .conn = conn, .id = conn->stream->id, .reads = owner.reads, .writes = owner.writes,
		.heads = conn->stream->heads, .response = &responses[owner.response] };
	conn_set_owner(conn, on_stream, toy);
	toy_want(toy);
}

/* ---- the peer ---- */

static struct toy *find_toy(uint32_t id)
{
	for (size_t i = 0; i < owner.n_toys; i++)
		if ((uint32_t)owner.toys[i].id == id)
			return &owner.toys[i];
	return NULL;
}

static void check_frame(const uint8_t *head)
{
	size_t len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
	uint32_t id = (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8];
	struct toy *toy = find_toy(id);

	require(len <= FRAME_MAX && head[3] <= NGHTTP2_CONTINUATION);
	peer.skip = len;
	if (head[3] != NGHTTP2_DATA && head[3] != NGHTTP2_HEADERS)
		return;
	require(toy && !toy->ended);
	toy->got += head[3] == NGHTTP2_DATA ? len : 0;
	if (head[4] & NGHTTP2_FLAG_END_STREAM) {
		require(toy->whole && toy->got == toy->body);
		toy->ended = true;
	}
}

/* Nothing but frames comes, and they are what the streams' owners wrote. */
static void peer_read(size_t max)
{
	uint8_t bytes[PEER_READS];
	ssize_t n;

	for (; max && (n = read(world.far, bytes, max < sizeof bytes ? max : sizeof bytes)) > 0; max -= (size_t)n)
		for (size_t at = 0, part; at < (size_t)n; at += part) {
			if (peer.skip) {
				part = peer.skip < (size_t)n - at ? peer.skip : (size_t)n - at;
				peer.skip -= part;
				continue;
			}
			part = 1;
			peer.head[peer.head_len++] = bytes[at];
			if (peer.head_len == sizeof peer.head) {
				peer.head_len = 0;
				check_frame(peer.head);
			}
		}
}

static void put(const void *bytes, size_t len)
{
	if (!len || len > SENT - peer.n_sent)
		return;
	memcpy(peer.sent + peer.n_sent, bytes, len);
	peer.n_sent += len;
}

static void put_frame(uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t len)
{
	const uint8_t head[] = { (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, type, flags, (uint8_t)(id >> 24), (uint8_t)(id >> 16),
		(uint8_t)(id >> 8), (uint8_t)id };

	put(head, sizeof head);
	put(payload, len);
}

/* Header blocks (RFC 7541): indexed fields of the static table, literals without indexing. */
#define GET "\x82\x84\x86\x41\x01" "a"
#define POST "\x83\x84\x86\x41\x01" "a"
static const struct slice blocks[] = {
#define BLOCK(bytes) { bytes, sizeof(bytes) - 1 }
	BLOCK(GET), BLOCK(POST), BLOCK(POST "\x0f\x0d\x01" "5"), BLOCK("\x02\x04HEAD" "\x84\x86\x41\x01" "a"),
	BLOCK(GET "\x00\x08priority\x03u=0"), BLOCK(GET "\x00\x08priority\x03u=7"), BLOCK("\x00\x01t\x01v"), BLOCK("\x02\x07" "CONNECT" "\x41\x01" "a"),
	BLOCK(GET "\x40\x01x\x01y"), BLOCK(GET "\xbe\xbe\xbe\xbe\xbe\xbe\xbe\xbe"), BLOCK("\x82"), BLOCK("\x3f\xe1\x1f" GET), BLOCK("\x00\x01x"),
	BLOCK(POST "\x0f\x0d\x05" "32768"), BLOCK(""),
#undef BLOCK
};

/* ---- steps ---- */

static void turn(size_t turns)
{
	while (turns--) {
		require(h2_world_turn());
		require(!world.h2 || world.h2->out.len <= OUT_MAX);
	}
}

/* Hands the peer's bytes over, in pieces of that size. */
static void deliver(size_t piece)
{
	size_t at = 0;

	while (at < peer.n_sent) {
		size_t part = peer.n_sent - at < piece ? peer.n_sent - at : piece;

		if (peer.by_socket) {
			ssize_t n = write(world.far, peer.sent + at, part);
			if (n <= 0)
				break;
			part = (size_t)n;
			turn(1);
		} else if (world.h2 && !world.h2->ending)
			h2_feed(world.h2, (const char *)peer.sent + at, part);
		at += part;
	}
	peer.n_sent = 0;
}

static void step_block(uint8_t a, uint8_t b)
{
	const struct slice *block = &blocks[b % (sizeof blocks / sizeof *blocks)];

	put_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | (a & 1), 1 + 2U * (a >> 1), block->at, block->len);
}

static void step_data(uint8_t a, uint8_t b)
{
	put_frame(NGHTTP2_DATA, a & 1, 1 + 2U * (a >> 1), body_bytes, b < 64 ? b : b * 64U);
}

static void step_window(uint8_t a, uint8_t b)
{
	const uint8_t more[] = { 0, b >> 4, (uint8_t)(b << 4), 1 };

	put_frame(NGHTTP2_WINDOW_UPDATE, 0, a ? 1 + 2U * (a >> 1) : 0, more, sizeof more);
}

static void step_settings(uint8_t a, uint8_t b)
{
	const uint8_t setting[] = { 0, a % 8, 0, b >> 4, (uint8_t)(b << 4), b };

	put_frame(NGHTTP2_SETTINGS, a >> 7, 0, setting, a >> 7 ? 0 : sizeof setting);
}

/* Any frame: its type, its flags, and four bytes. */
static void step_frame(uint8_t a, uint8_t b)
{
	const uint8_t four[] = { 0, 0, a >> 4, b };
	static const uint8_t lens[] = { 0, 1, 4, 5, 8 };
	uint8_t payload[8] = { 0 };

	memcpy(payload, four, sizeof four);
	put_frame(a % 12, b, a & 0x10 ? 0 : 1 + 2U * (b >> 5), payload, lens[(a >> 5) % 5]);
}

static void step_flood(uint8_t a, uint8_t b)
{
	for (int i = 0; i < 64; i++)
		step_frame(a, b);
}

static void step_byte(uint8_t a, uint8_t b)
{
	put(&a, 1);
	put(&b, 1);
}

static void step_deliver(uint8_t a, uint8_t b)
{
	deliver(a ? a : SENT);
	turn(b % 4);
}

static void step_turn(uint8_t a, uint8_t b)
{
	(void)b;
	turn(1 + a % 8);
}

static void step_plan(uint8_t a, uint8_t b)
{
	owner.reads = a % 3;
	owner.writes = a & 0x80;
	owner.closes = a == 0x7f;
	owner.response = b % (sizeof responses / sizeof *responses);
}

static void step_peer(uint8_t a, uint8_t b)
{
	peer_read(a ? a * 64U : SIZE_MAX);
	turn(b % 4);
}

static void toy_close(struct toy *toy, bool abort)
{
	if (abort)
		conn_abort(&toy->conn);
	else {
		note_whole(toy, true);
		conn_close(&toy->conn);
	}
}

static void step_toy(uint8_t a, uint8_t b)
{
	struct toy *toy = owner.n_toys ? &owner.toys[a % owner.n_toys] : NULL;

	if (!toy || !toy->conn)
		return;
	switch (b % 11) {
	case 0: toy->reads = READS_ALL; break;
	case 1: toy->reads = READS_LITTLE; break;
	case 2: toy->reads = READS_NOTHING; break;
	case 3: toy->writes = true; break;
	case 4: toy_write(toy, 1 + b); break;
	case 5: toy_write(toy, SIZE_MAX); break;
	case 6: toy_close(toy, false); return;
	case 7: toy_close(toy, true); return;
	case 8: note_whole(toy, true), toy->failed = true, conn_shutdown_write(toy->conn); break;
	case 9: h2_require_http1(toy->conn); break;
	default: conn_want(toy->conn, false, true); return;      /* and does not write */
	}
	toy_want(toy);
}

static void step_session(uint8_t a, uint8_t b)
{
	struct timer *timer;

	if (!world.h2)
		return;
	switch (a % 8) {
	case 0: h2_leave(world.h2); break;
	case 1: h2_end(world.h2); break;
	case 2: h2_free(&world.h2); conn_want(world.conn, false, false); break;
	case 3: shutdown(world.far, b & 1 ? SHUT_RDWR : SHUT_WR); break;
	default:                       /* a time has passed */
		timer = a % 8 == 4 ? &world.h2->stuck : &world.h2->timer;
		if (timer->queue) {
			loop_disarm(world.loop, timer);
			timer->fire(timer);
		}
	}
}

static void (*const fuzz_steps[])(uint8_t a, uint8_t b) = {
	step_block, step_data, step_window, step_settings, step_frame, step_flood, step_byte, step_deliver, step_turn, step_plan, step_peer,
	step_toy, step_session, step_toy, step_block, step_deliver
};

static void begin(uint8_t how)
{
	const struct h2_settings settings = { .max_head = how & SMALL_HEADS ? 64 : 8192, .max_fields = how & SMALL_HEADS ? 4 : 100,
		.head_timeout_ms = 1, .write_timeout_ms = 60000, .secure = how & SECURE };

	memset(&owner, 0, sizeof owner);
	memset(&peer, 0, sizeof peer);
	owner.writes = true;
	peer.by_socket = how & BY_SOCKET;
	require(h2_world_open(&settings, on_opened));
	if (how & GREETS) {
		put(NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
		put_frame(NGHTTP2_SETTINGS, 0, 0, NULL, 0);
	}
}

/* The streams' owners or the session's go first. */
static void end(bool session_first)
{
	if (session_first)
		h2_free(&world.h2);
	for (size_t i = 0; i < owner.n_toys; i++)
		if (owner.toys[i].conn)
			toy_close(&owner.toys[i], i & 1);
	turn(2);
	peer_read(SIZE_MAX);
	h2_world_close();
	turn(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	begin(data[0]);
	for (size_t at = 1, steps = 0; at + 2 < size && steps < STEPS; at += 3, steps++)
		fuzz_steps[data[at] % (sizeof fuzz_steps / sizeof *fuzz_steps)](data[at + 1], data[at + 2]);
	deliver(SENT);
	turn(3);
	peer_read(SIZE_MAX);
	turn(2);
	end(data[0] & 0x80);
	return 0;
}
