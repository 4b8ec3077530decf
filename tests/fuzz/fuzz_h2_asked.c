/* Owns feeding arbitrary frames to a session of HTTP/2 that asks (proxy/net/h2.h), between any acts of its owner and of those who ask.
 * Must not know: HPACK beyond the lists that it sends. Input: a byte of switches, then steps of an opcode and its argument; see fuzz_steps.
 * Invariants: those of h2_toys.h. A stream gives a message of HTTP/1.1, or the beginning of one. It is whole only if the peer has
 * ended the stream and that has not failed, and its body is no longer than what the peer sent. A request of which nothing was done was
 * not heard, or the peer said so. Streams and session may be closed in any order; nothing is lost or freed twice. */
#include "tests/fuzz/h2_toys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "proxy/http/http_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	SETTLES = 1, SMALL_HEADS = 2, SMALL_WINDOW = 4,        /* switches */
	STREAMS_MAX = 1024, PLACES = 512, PREFACE_BYTES = 24, PING_MS = 10000,
	IN_MAX = 1 << 20               /* of a stream: the window, what came before its reset, and heads */
};

static const struct message requests[] = {
	{ "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0, "", 0, false },
	{ "HEAD /a?b HTTP/1.1\r\nHost: a\r\nAccept: a/b\r\n\r\n", 0, "", 0, false },
	{ "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", 5, "", 5, false },
	{ "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n", 200000, "", 200000, false },
	{ "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 0, "", 0, false },
	{ "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 65536\r\n\r\n", 65536, "", 65536, false },
	{ "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n", 65535, "", 65536, false },
	{ "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n", 16384, "\r\n0\r\n\r\n", 16384, false },
	{ "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1ffff\r\n", 131071, "\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n", 131071, false },
	{ "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n", 16384, "\r\n", 16385, false },
	{ "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n", 16384, "\r\n0\r\n:\r\n\r\n", 16385, false },
	{ "GET / HTTP/1.1\r\nno field\r\n\r\n", 0, "", SIZE_MAX, false },
	{ "GET / HTTP/1.1\r\nHost: a\r\n", 0, "", SIZE_MAX, false },
	{ "", 0, "", SIZE_MAX, false },
};

/* What a stream's owner got, and what the peer sent for its number. */
static struct answer {
	struct held bytes;
	bool ended, failed, unprocessed;
} answers[TOYS];
static struct { uint64_t data; bool ends, refuses; } numbers[TOYS];
static bool goes_away;

/* ---- what the peer sent ---- */

static void note_frame(uint8_t type, uint8_t flags, uint32_t id, size_t len)
{
	goes_away |= type == NGHTTP2_GOAWAY;
	if (!(id & 1) || id / 2 >= TOYS)
		return;
	numbers[id / 2].data += type == NGHTTP2_DATA ? len : 0;
	numbers[id / 2].ends |= type <= NGHTTP2_HEADERS && flags & NGHTTP2_FLAG_END_STREAM;
	numbers[id / 2].refuses |= type == NGHTTP2_RST_STREAM;
}

/* ---- what a stream gives ---- */

static uint64_t body_len;

static int on_body(void *arg, const char *at, size_t len)
{
	(void)arg, (void)at;
	body_len += len;
	return 0;
}

/* Reads heads up to the final one and its body; used: bytes of the message. */
static enum http_parse_result parse(const struct answer *answer, bool heads, struct http_msg *m, struct http_parser *parser)
{
	const char *bytes = (const char *)answer->bytes.bytes;
	enum http_parse_result r = PARSE_MORE;
	size_t at = 0, used;

	while (at < answer->bytes.len) {
		http_parser_start(parser, m, heads);
		m->base = bytes + at;
		if ((r = http_parse(parser, bytes + at, answer->bytes.len - at, &used)) != PARSE_HEAD)
			return r;
		at += m->head_len;
		http_parser_go_on(parser);
		r = http_parse(parser, bytes + at, m->status / 100 == 1 ? 0 : answer->bytes.len - at, &used);
		if (m->status / 100 != 1) {
			require(r != PARSE_DONE || used == answer->bytes.len - at);
			return r;
		}
		require(r == PARSE_DONE);
		r = PARSE_MORE;
	}
	return r;
}

static void check_answer(const struct toy *toy)
{
	struct answer *answer = &answers[toy - owner.toys];
	struct http_parser *parser = http_parser_new(false, on_body, NULL);
	struct http_msg m;

	body_len = 0;
	require(parser && http_msg_init(&m, PLACES) == 0);
	if (answer->bytes.len)                 /* a sanitizer sees any read past its end */
		require((answer->bytes.bytes = realloc(answer->bytes.bytes, answer->bytes.len)) != NULL);
	enum http_parse_result r = parse(answer, !strncmp(toy->message->head, "HEAD", 4), &m, parser);
	require(r == PARSE_MORE || r == PARSE_DONE);
	if (r == PARSE_MORE && answer->ended && answer->bytes.len)
		r = http_parse_eof(parser);
	require((r == PARSE_DONE) >= answer->ended && (r != PARSE_DONE || !answer->failed));
	if (!peer.crafted && toy->id) {
		require(r != PARSE_DONE || numbers[toy->id / 2].ends);
		require(body_len <= numbers[toy->id / 2].data);
	}
	http_parser_free(&parser);
	http_msg_free(&m);
	held_free(&answer->bytes);
}

static void ask_read(struct toy *toy, size_t max)
{
	struct answer *answer = &answers[toy - owner.toys];
	char bytes[4096];
	ssize_t n = conn_read(toy->conn, bytes, max < sizeof bytes ? max : sizeof bytes);

	require(n < 0 || (size_t)n <= max);
	if (n > 0) {
		require(!answer->ended && !answer->failed);
		require(!held_add(&answer->bytes, (const uint8_t *)bytes, (size_t)n, sizeof bytes));
	}
	answer->ended |= n == CONN_EOF;
	if (n == CONN_FAILED) {
		struct failure why;

		answer->failed = true;
		conn_explain(toy->conn, FAILURE_CONNECTION_TERMINATED, &why);
		require(why.details[0] && (h2_fate(toy->conn) != H2_FATE_UNPROCESSED || !answer->bytes.len));
		answer->unprocessed = h2_fate(toy->conn) == H2_FATE_UNPROCESSED;
	}
	if (n == CONN_EOF || n == CONN_FAILED)
		toy->reads = READS_NOTHING;
}

static void ask_write(struct toy *toy, size_t max)
{
	toy_write(toy, max);
	if (!toy->id)
		toy->id = toy->conn->stream->id;
}

static void on_ask(void *arg, enum conn_event event)
{
	struct toy *toy = arg;

	require(event == CONN_READABLE || event == CONN_WRITABLE);
	require(toy->conn->stream->in.len <= IN_MAX);
	if (event == CONN_READABLE)
		ask_read(toy, toy->reads == READS_LITTLE ? 3 : SIZE_MAX);
	else
		ask_write(toy, SIZE_MAX);
	toy_want(toy);
}

static void ask_close(struct toy *toy, bool abort)
{
	toy_close(toy, abort);
	check_answer(toy);
}

/* ---- steps ---- */

static void step_ask(uint8_t a, uint8_t b)
{
	struct toy *toy = &owner.toys[owner.n_toys];

	if (!world.h2 || owner.n_toys == TOYS || (!h2_room(world.h2) && a & 0x40))
		return;
	*toy = (struct toy){ .conn = h2_request(world.h2), .reads = a % 3, .writes = a & 0x80, .message = &requests[b % (sizeof requests / sizeof *requests)] };
	require(toy->conn);
	owner.n_toys++;
	conn_set_owner(toy->conn, on_ask, toy);
	toy_want(toy);
}

/* Header blocks (RFC 7541): indexed fields of the static table, literals without indexing. */
static const struct slice blocks[] = {
#define BLOCK(bytes) { bytes, sizeof(bytes) - 1 }
	BLOCK("\x88"), BLOCK("\x88\x0f\x0d\x01" "5"), BLOCK("\x88\x0f\x0d\x05" "16320"), BLOCK("\x88\x0f\x0d\x01" "0"), BLOCK("\x89"),
	BLOCK("\x8b\x0f\x0d\x01" "5"), BLOCK("\x08\x03" "103"), BLOCK("\x08\x03" "100"), BLOCK("\x08\x03" "101"), BLOCK("\x00\x01t\x01v"),
	BLOCK("\x88\x40\x01x\x01y"), BLOCK("\x88\xbe\xbe\xbe\xbe\xbe\xbe\xbe\xbe"), BLOCK("\x88\x88"), BLOCK("\x3f\xe1\x1f\x88"), BLOCK("\x00\x01x"),
	BLOCK("\x88\x00\x01" "A\x01" "a"), BLOCK("\x8d\x0f\x0d\x01" "5\x0f\x0d\x01" "5"), BLOCK(""),
#undef BLOCK
};

static void step_block(uint8_t a, uint8_t b)
{
	const struct slice *block = &blocks[b % (sizeof blocks / sizeof *blocks)];

	put_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | (a & 1), 1 + 2U * (a >> 1), block->at, block->len);
}

/* A reset or a GOAWAY with a code that has a meaning. */
static void step_end(uint8_t a, uint8_t b)
{
	static const uint8_t codes[] = { NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM, NGHTTP2_HTTP_1_1_REQUIRED, NGHTTP2_CANCEL };
	const uint8_t code[] = { 0, 0, 0, codes[b % 4] }, away[] = { 0, 0, 0, a, 0, 0, 0, codes[b % 4] };

	if (b & 0x80)
		put_frame(NGHTTP2_GOAWAY, 0, 0, away, sizeof away);
	else
		put_frame(NGHTTP2_RST_STREAM, 0, 1 + 2U * (a >> 1), code, sizeof code);
}

static void step_toy(uint8_t a, uint8_t b)
{
	struct toy *toy = owner.n_toys ? &owner.toys[a % owner.n_toys] : NULL;

	if (!toy || !toy->conn)
		return;
	switch (b % 9) {
	case 0: toy->reads = READS_ALL; break;
	case 1: toy->reads = READS_LITTLE; break;
	case 2: toy->reads = READS_NOTHING; break;
	case 3: toy->writes = true; break;
	case 4: ask_write(toy, 1 + b); break;
	case 5: ask_write(toy, SIZE_MAX); break;
	case 6: ask_close(toy, a & 0x80); return;
	case 7: h2_doubt(toy->conn); break;
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
	case 0:
	case 1: h2_end(world.h2); break;
	case 2: h2_free(&world.h2); conn_want(world.conn, false, false); break;
	case 3: shutdown(world.far, b & 1 ? SHUT_RDWR : SHUT_WR); break;
	case 4: put_frame(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, "\0\0\0\0\0\0\0", 8); break;
	default:                       /* a time has passed */
		timer = a % 8 == 5 ? &world.h2->stuck : &world.h2->timer;
		world.h2->heard_ms -= PING_MS;
		world.h2->pinged_ms -= b & 1 && world.h2->pinged_ms ? world.h2->settings.write_timeout_ms : 0;
		if (timer->queue) {
			loop_disarm(world.loop, timer);
			timer->fire(timer);
		}
	}
}

static void (*const fuzz_steps[])(uint8_t a, uint8_t b) = {
	step_block, step_data, step_window, step_settings, step_frame, step_flood, step_byte, step_deliver, step_turn, step_ask, step_peer,
	step_toy, step_session, step_end, step_block, step_ask
};

static void begin(uint8_t how)
{
	const struct h2_settings settings = { .max_head = how & SMALL_HEADS ? 64 : 8192, .max_fields = how & SMALL_HEADS ? 4 : 100,
		.window = how & SMALL_WINDOW ? 16384 : 65536, .head_timeout_ms = 1, .write_timeout_ms = 60000, .secure = true, .ping_ms = PING_MS };

	memset(&owner, 0, sizeof owner);
	memset(&peer, 0, sizeof peer);
	memset(answers, 0, sizeof answers);
	memset(numbers, 0, sizeof numbers);
	goes_away = false;
	peer.by_socket = true;
	peer.skip = PREFACE_BYTES;
	peer.noted = note_frame;
	require(h2_world_open(&settings, NULL));
	if (how & SETTLES)
		put_frame(NGHTTP2_SETTINGS, 0, 0, NULL, 0);
}

/* The streams' owners or the session's go first. */
static void end(bool session_first)
{
	if (session_first)
		h2_free(&world.h2);
	for (size_t i = 0; i < owner.n_toys; i++)
		if (owner.toys[i].conn)
			ask_close(&owner.toys[i], i & 1);
	turn(2);
	peer_read(SIZE_MAX);
	for (size_t i = 0; i < owner.n_toys && !peer.crafted; i++)
		require(!answers[i].unprocessed || !owner.toys[i].heard || goes_away || numbers[owner.toys[i].id / 2].refuses);
	h2_world_close();
	turn(1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	begin(data[0]);
	for (size_t at = 1, steps = 0; at + 2 < size && steps < STEPS; at += 3, steps++) {
		fuzz_steps[data[at] % (sizeof fuzz_steps / sizeof *fuzz_steps)](data[at + 1], data[at + 2]);
		require(!world.h2 || !h2_room(world.h2) || h2_room(world.h2) + world.h2->n <= STREAMS_MAX);
	}
	deliver(SENT);
	turn(3);
	peer_read(SIZE_MAX);
	turn(2);
	end(data[0] & 0x80);
	return 0;
}
