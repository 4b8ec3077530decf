/* Owns feeding arbitrary frames to a session of HTTP/2 (proxy/net/h2.h), between any acts of a toy that owns it and its streams.
 * Must not know: HPACK beyond the lists that it sends. Input: a byte of switches, then steps of an opcode and its argument; see fuzz_steps.
 * Invariants: those of h2_toys.h. Streams and session may be closed in any order; nothing is lost or freed twice. */
#include "tests/fuzz/h2_toys.h"

#include <string.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { GREETS = 1, BY_SOCKET = 2, SECURE = 4, SMALL_HEADS = 8 };       /* switches */

static const struct message responses[] = {
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

/* ---- the owner ---- */

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
		.heads = conn->stream->heads, .message = &responses[owner.message] };
	conn_set_owner(conn, on_stream, toy);
	toy_want(toy);
}

/* ---- the peer ---- */

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

static void step_block(uint8_t a, uint8_t b)
{
	const struct slice *block = &blocks[b % (sizeof blocks / sizeof *blocks)];

	put_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | (a & 1), 1 + 2U * (a >> 1), block->at, block->len);
}

static void step_plan(uint8_t a, uint8_t b)
{
	owner.reads = a % 3;
	owner.writes = a & 0x80;
	owner.closes = a == 0x7f;
	owner.message = b % (sizeof responses / sizeof *responses);
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
	case 8: toy_note_whole(toy, true), toy->failed = true, conn_shutdown_write(toy->conn); break;
	case 9: h2_say_why(toy->conn, H2_WHY_HTTP_1); break;
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
		.window = 32768, .head_timeout_ms = 1, .write_timeout_ms = 60000, .secure = how & SECURE };

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
