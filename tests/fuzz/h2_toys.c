/* Toys that own streams, and the peer at the far end; see h2_toys.h. */
#include "tests/fuzz/h2_toys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAME_MAX = 16384, PEER_READS = 4096, OUT_MAX = H2_OUT_BYTES + 64 * 1024 /* control frames and heads may come on top */ };

struct owner owner;
struct peer peer;


void require(bool holds)
{
	if (!holds)
		abort();
}

/* ---- the owner ---- */

/* The head, and for a GET the first chunk's size behind it. */
static size_t head_len(const struct toy *toy)
{
	size_t len = strlen(toy->message->head);

	while (toy->heads && len >= 4 && memcmp(toy->message->head + len - 4, "\r\n\r\n", 4) != 0)
		len--;
	return len;
}

static size_t message_len(const struct toy *toy)
{
	return head_len(toy) + (toy->heads ? 0 : toy->message->body + strlen(toy->message->foot));
}

void toy_note_whole(struct toy *toy, bool closed)
{
	const struct message *message = toy->message;
	size_t head = head_len(toy);

	if (toy->failed || toy->written < head || message->told == SIZE_MAX)
		return;
	toy->whole |= toy->heads || (message->by_close ? closed : toy->written == message_len(toy) && message->told == message->body);
	toy->body = toy->heads ? 0 : toy->written - head < message->body ? toy->written - head : message->body;
}

void toy_write(struct toy *toy, size_t max)
{
	struct iovec iov[3];
	int n = h2_world_pieces((struct slice){ toy->message->head, head_len(toy) }, toy->heads ? 0 : toy->message->body,
	    toy->heads ? "" : toy->message->foot, toy->written, max, iov);

	if (!n || toy->failed)
		return;
	ssize_t r = conn_writev(toy->conn, iov, n);
	require(r == CONN_FAILED || r == CONN_AGAIN || (r > 0 && (size_t)r <= message_len(toy) - toy->written));
	toy->failed |= r == CONN_FAILED;
	toy->written += r > 0 ? (size_t)r : 0;
	toy_note_whole(toy, false);
}

void toy_want(struct toy *toy)
{
	conn_want(toy->conn, toy->reads != READS_NOTHING, toy->writes && !toy->failed && toy->written < message_len(toy));
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
	toy->heard |= head[3] == NGHTTP2_HEADERS;
	toy->got += head[3] == NGHTTP2_DATA ? len : 0;
	if (head[4] & NGHTTP2_FLAG_END_STREAM) {
		require(toy->whole && toy->got == toy->body);
		toy->ended = true;
	}
}

void peer_read(size_t max)
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

void put(const void *bytes, size_t len)
{
	peer.crafted |= len > SENT - peer.n_sent;
	if (!len || len > SENT - peer.n_sent)
		return;
	memcpy(peer.sent + peer.n_sent, bytes, len);
	peer.n_sent += len;
}

void put_frame(uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t len)
{
	const uint8_t head[] = { (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, type, flags, (uint8_t)(id >> 24), (uint8_t)(id >> 16),
		(uint8_t)(id >> 8), (uint8_t)id };

	put(head, sizeof head);
	put(payload, len);
	if (peer.noted)
		peer.noted(type, flags, id, len);
}

void turn(size_t turns)
{
	while (turns--) {
		require(h2_world_turn());
		require(!world.h2 || world.h2->out.len <= OUT_MAX);
	}
}

/* Hands the peer's bytes over, in pieces of that size. */
void deliver(size_t piece)
{
	size_t at = 0;

	while (at < peer.n_sent) {
		size_t part = peer.n_sent - at < piece ? peer.n_sent - at : piece;

		if (peer.by_socket) {
			ssize_t n = write(world.far, peer.sent + at, part);
			if (n <= 0) {
				peer.crafted = true;
				break;
			}
			part = (size_t)n;
			turn(1);
		} else if (world.h2 && !world.h2->ending)
			h2_feed(world.h2, (const char *)peer.sent + at, part);
		at += part;
	}
	peer.n_sent = 0;
}

void step_data(uint8_t a, uint8_t b)
{
	static const char bytes[UINT8_MAX * 64];

	put_frame(NGHTTP2_DATA, a & 1, 1 + 2U * (a >> 1), bytes, b < 64 ? b : b * 64U);
}

void step_window(uint8_t a, uint8_t b)
{
	const uint8_t more[] = { 0, b >> 4, (uint8_t)(b << 4), 1 };

	put_frame(NGHTTP2_WINDOW_UPDATE, 0, a ? 1 + 2U * (a >> 1) : 0, more, sizeof more);
}

void step_settings(uint8_t a, uint8_t b)
{
	const uint8_t setting[] = { 0, a % 8, 0, b >> 4, (uint8_t)(b << 4), b };

	put_frame(NGHTTP2_SETTINGS, a >> 7, 0, setting, a >> 7 ? 0 : sizeof setting);
}

void step_frame(uint8_t a, uint8_t b)
{
	const uint8_t four[] = { 0, 0, a >> 4, b };
	static const uint8_t lens[] = { 0, 1, 4, 5, 8 };
	uint8_t payload[8] = { 0 };

	memcpy(payload, four, sizeof four);
	put_frame(a % 12, b, a & 0x10 ? 0 : 1 + 2U * (b >> 5), payload, lens[(a >> 5) % 5]);
}

void step_flood(uint8_t a, uint8_t b)
{
	for (int i = 0; i < 64; i++)
		step_frame(a, b);
}

void step_byte(uint8_t a, uint8_t b)
{
	peer.crafted = true;
	put(&a, 1);
	put(&b, 1);
}

void step_deliver(uint8_t a, uint8_t b)
{
	deliver(a ? a : SENT);
	turn(b % 4);
}

void step_turn(uint8_t a, uint8_t b)
{
	(void)b;
	turn(1 + a % 8);
}

void step_peer(uint8_t a, uint8_t b)
{
	peer_read(a ? a * 64U : SIZE_MAX);
	turn(b % 4);
}

void toy_close(struct toy *toy, bool abort)
{
	if (abort)
		conn_abort(&toy->conn);
	else {
		toy_note_whole(toy, true);
		conn_close(&toy->conn);
	}
}
