/* Tunnels; see tunnel.h. */
#include "proxy/net/tunnel.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/container_of.h"
#include "proxy/net/conn.h"
#include "proxy/net/loop.h"

enum {
	TUNNEL_READS_PER_TURN = 4,     /* so that one tunnel cannot keep the loop to itself */
	TUNNEL_LOOK_MS = 3000
};

/* One direction: the bytes that one side sends to the other. */
struct way {
	char *held;                    /* bytes that the other side has not taken yet; NULL: none */
	size_t at, len;                /* the rest of held */
	bool ended, passed_on;         /* the side sends no more; the other side was told so */
	uint64_t bytes;
};

struct tunnel {
	struct loop *loop;
	struct conn *conns[TUNNEL_SIDES];
	struct way ways[TUNNEL_SIDES];         /* by the side that sends */
	struct timer idle;
	/* runs while a side is not read and no byte moves, to see whether the side was reset */
	struct timer look;
	uint64_t idle_timeout_ms;
	void (*end)(void *arg, enum tunnel_end);
	void *arg;
	bool done;
};

static enum tunnel_side tunnel_other(enum tunnel_side side)
{
	return side == TUNNEL_CLIENT ? TUNNEL_ORIGIN : TUNNEL_CLIENT;
}

static void tunnel_finish(struct tunnel *tunnel, enum tunnel_end end)
{
	tunnel->done = end == TUNNEL_DONE;
	tunnel->end(tunnel->arg, end);
}

static void tunnel_lose(struct tunnel *tunnel, enum tunnel_side side)
{
	tunnel_finish(tunnel, side == TUNNEL_CLIENT ? TUNNEL_LOST_CLIENT : TUNNEL_LOST_ORIGIN);
}

static void tunnel_on_idle(struct timer *timer)
{
	tunnel_finish(container_of(timer, struct tunnel, idle), TUNNEL_IDLE);
}

static bool tunnel_is_deaf(const struct tunnel *tunnel)
{
	return tunnel->ways[TUNNEL_CLIENT].len || tunnel->ways[TUNNEL_ORIGIN].len;
}

/* The tunnel ends where a side has reset its connection, even if bytes of that side are still held: the other side has
 * taken none of them for TUNNEL_LOOK_MS. */
static void tunnel_on_look(struct timer *timer)
{
	struct tunnel *tunnel = container_of(timer, struct tunnel, look);

	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		if (conn_is_reset(tunnel->conns[side])) {
			tunnel_lose(tunnel, side);
			return;
		}
	if (tunnel_is_deaf(tunnel))
		loop_arm(tunnel->loop, timer, TUNNEL_LOOK_MS);
}

static void tunnel_moved(struct tunnel *tunnel)
{
	loop_arm(tunnel->loop, &tunnel->idle, tunnel->idle_timeout_ms);
	if (tunnel->look.queue)
		loop_arm(tunnel->loop, &tunnel->look, TUNNEL_LOOK_MS);
}

static bool way_must_end(const struct way *way)
{
	return way->ended && !way->len && !way->passed_on;
}

/* Wants the events that can move bytes or pass on an end. Passing on an end waits until the socket has room, because
 * over TLS it takes bytes. */
static void tunnel_listen(struct tunnel *tunnel)
{
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++) {
		const struct way *from = &tunnel->ways[side], *to = &tunnel->ways[tunnel_other(side)];

		conn_want(tunnel->conns[side], !from->ended && !from->len, to->len || way_must_end(to));
	}
	if (tunnel_is_deaf(tunnel) && !tunnel->look.queue)
		loop_arm(tunnel->loop, &tunnel->look, TUNNEL_LOOK_MS);
}

static void way_count(struct tunnel *tunnel, enum tunnel_side from, size_t n)
{
	tunnel->ways[from].bytes += n;
	stats_add(loop_stats(tunnel->loop), from == TUNNEL_CLIENT ? STAT_TUNNEL_BYTES_UP : STAT_TUNNEL_BYTES_DOWN, n);
}

static int way_hold(struct way *way, const char *at, size_t len)
{
	if (!len)
		return 0;
	if (!(way->held = malloc(len)))
		return -1;
	memcpy(way->held, at, len);
	way->at = 0;
	way->len = len;
	return 0;
}

/* How many bytes the other side took; CONN_FAILED: that side is gone. */
static ssize_t way_write(struct tunnel *tunnel, enum tunnel_side from, char *at, size_t len)
{
	size_t sent = 0;

	while (sent < len) {
		struct iovec iov = { at + sent, len - sent };
		ssize_t n = conn_writev(tunnel->conns[tunnel_other(from)], &iov, 1);

		if (n == CONN_AGAIN)
			break;
		if (n < 0)
			return CONN_FAILED;
		sent += (size_t)n;
	}
	if (sent)
		tunnel_moved(tunnel);
	return (ssize_t)sent;
}

/* False: the other side is gone. */
static bool way_flush(struct tunnel *tunnel, enum tunnel_side from)
{
	struct way *way = &tunnel->ways[from];
	ssize_t n = way_write(tunnel, from, way->held + way->at, way->len);

	if (n < 0)
		return false;
	way->at += (size_t)n;
	way->len -= (size_t)n;
	if (!way->len) {
		free(way->held);
		way->held = NULL;
	}
	return true;
}

/* Moves the bytes of one side to the other. False: the tunnel is gone. */
static bool way_move(struct tunnel *tunnel, enum tunnel_side from)
{
	char *scratch = (char *)loop_scratch(tunnel->loop);
	struct way *way = &tunnel->ways[from];

	if (way->len && !way_flush(tunnel, from)) {
		tunnel_lose(tunnel, tunnel_other(from));
		return false;
	}
	for (int reads = TUNNEL_READS_PER_TURN; reads && !way->len && !way->ended; reads--) {
		ssize_t n = conn_read(tunnel->conns[from], scratch, TUNNEL_READ_BYTES), sent;

		if (n == CONN_AGAIN)
			break;
		if (n == CONN_FAILED) {
			tunnel_lose(tunnel, from);
			return false;
		}
		tunnel_moved(tunnel);
		if (n == CONN_EOF) {
			way->ended = true;
			break;
		}
		way_count(tunnel, from, (size_t)n);
		if ((sent = way_write(tunnel, from, scratch, (size_t)n)) < 0 ||
		    way_hold(way, scratch + sent, (size_t)(n - sent))) {
			tunnel_lose(tunnel, tunnel_other(from));
			return false;
		}
	}
	return true;
}

/* Passes the other side's end on to side, whose socket has room. False: the tunnel is gone. */
static bool way_end(struct tunnel *tunnel, enum tunnel_side side)
{
	struct way *way = &tunnel->ways[tunnel_other(side)];

	if (!way_must_end(way))
		return true;
	conn_shutdown_write(tunnel->conns[side]);
	way->passed_on = true;
	if (!tunnel->ways[side].passed_on)
		return true;
	tunnel_finish(tunnel, TUNNEL_DONE);
	return false;
}

static void tunnel_on_conn(struct tunnel *tunnel, enum tunnel_side side, enum conn_event event)
{
	if (event == CONN_WRITABLE ? way_move(tunnel, tunnel_other(side)) && way_end(tunnel, side)
	    : way_move(tunnel, side))
		tunnel_listen(tunnel);
}

static void tunnel_on_client(void *arg, enum conn_event event)
{
	tunnel_on_conn(arg, TUNNEL_CLIENT, event);
}

static void tunnel_on_origin(void *arg, enum conn_event event)
{
	tunnel_on_conn(arg, TUNNEL_ORIGIN, event);
}

struct tunnel *tunnel_new(struct loop *loop, const struct tunnel_settings *settings)
{
	struct tunnel *tunnel = calloc(1, sizeof *tunnel);
	struct conn *origin = settings->origin;

	if (!tunnel) {
		conn_abort(&origin);
		return NULL;
	}
	tunnel->loop = loop;
	tunnel->conns[TUNNEL_CLIENT] = settings->client;
	tunnel->conns[TUNNEL_ORIGIN] = settings->origin;
	tunnel->idle_timeout_ms = settings->idle_timeout_ms;
	tunnel->idle.fire = tunnel_on_idle;
	tunnel->look.fire = tunnel_on_look;
	tunnel->end = settings->end;
	tunnel->arg = settings->arg;
	tunnel->ways[TUNNEL_CLIENT].ended = settings->client_ended;
	if (way_hold(&tunnel->ways[TUNNEL_CLIENT], settings->early.at, settings->early.len) ||
	    way_hold(&tunnel->ways[TUNNEL_ORIGIN], settings->head.at, settings->head.len)) {
		tunnel_free(&tunnel);
		return NULL;
	}
	way_count(tunnel, TUNNEL_CLIENT, settings->early.len);
	conn_set_owner(settings->client, tunnel_on_client, tunnel);
	conn_set_owner(settings->origin, tunnel_on_origin, tunnel);
	tunnel_moved(tunnel);
	tunnel_listen(tunnel);
	return tunnel;
}

void tunnel_free(struct tunnel **tp)
{
	struct tunnel *tunnel = *tp;

	if (!tunnel)
		return;
	*tp = NULL;
	loop_disarm(tunnel->loop, &tunnel->idle);
	loop_disarm(tunnel->loop, &tunnel->look);
	if (tunnel->done)
		conn_close(&tunnel->conns[TUNNEL_ORIGIN]);
	else
		conn_abort(&tunnel->conns[TUNNEL_ORIGIN]);
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		free(tunnel->ways[side].held);
	free(tunnel);
}

uint64_t tunnel_bytes(const struct tunnel *tunnel, enum tunnel_side side)
{
	return tunnel->ways[side].bytes;
}
