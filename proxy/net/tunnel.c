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

static void tunnel_finish(struct tunnel *t, enum tunnel_end end)
{
	t->done = end == TUNNEL_DONE;
	t->end(t->arg, end);
}

static void tunnel_lose(struct tunnel *t, enum tunnel_side side)
{
	tunnel_finish(t, side == TUNNEL_CLIENT ? TUNNEL_LOST_CLIENT : TUNNEL_LOST_ORIGIN);
}

static void tunnel_on_idle(struct timer *timer)
{
	tunnel_finish(container_of(timer, struct tunnel, idle), TUNNEL_IDLE);
}

static bool tunnel_is_deaf(const struct tunnel *t)
{
	return t->ways[TUNNEL_CLIENT].len || t->ways[TUNNEL_ORIGIN].len;
}

/* The tunnel ends where a side has reset its connection, even if bytes of that side are still held: the other side has
 * taken none of them for TUNNEL_LOOK_MS. */
static void tunnel_on_look(struct timer *timer)
{
	struct tunnel *t = container_of(timer, struct tunnel, look);

	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		if (conn_is_reset(t->conns[side])) {
			tunnel_lose(t, side);
			return;
		}
	if (tunnel_is_deaf(t))
		loop_arm(t->loop, timer, TUNNEL_LOOK_MS);
}

static void tunnel_moved(struct tunnel *t)
{
	loop_arm(t->loop, &t->idle, t->idle_timeout_ms);
	if (t->look.queue)
		loop_arm(t->loop, &t->look, TUNNEL_LOOK_MS);
}

static bool way_must_end(const struct way *w)
{
	return w->ended && !w->len && !w->passed_on;
}

/* Wants the events that can move bytes or pass on an end. Passing on an end waits until the socket has room, because
 * over TLS it takes bytes. */
static void tunnel_listen(struct tunnel *t)
{
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++) {
		const struct way *from = &t->ways[side], *to = &t->ways[tunnel_other(side)];

		conn_want(t->conns[side], !from->ended && !from->len, to->len || way_must_end(to));
	}
	if (tunnel_is_deaf(t) && !t->look.queue)
		loop_arm(t->loop, &t->look, TUNNEL_LOOK_MS);
}

static void way_count(struct tunnel *t, enum tunnel_side from, size_t n)
{
	t->ways[from].bytes += n;
	stats_add(loop_stats(t->loop), from == TUNNEL_CLIENT ? STAT_TUNNEL_BYTES_UP : STAT_TUNNEL_BYTES_DOWN, n);
}

static int way_hold(struct way *w, const char *at, size_t len)
{
	if (!len)
		return 0;
	if (!(w->held = malloc(len)))
		return -1;
	memcpy(w->held, at, len);
	w->at = 0;
	w->len = len;
	return 0;
}

/* How many bytes the other side took; CONN_FAILED: that side is gone. */
static ssize_t way_write(struct tunnel *t, enum tunnel_side from, char *at, size_t len)
{
	size_t sent = 0;

	while (sent < len) {
		struct iovec iov = { at + sent, len - sent };
		ssize_t n = conn_writev(t->conns[tunnel_other(from)], &iov, 1);

		if (n == CONN_AGAIN)
			break;
		if (n < 0)
			return CONN_FAILED;
		sent += (size_t)n;
	}
	if (sent)
		tunnel_moved(t);
	return (ssize_t)sent;
}

/* False: the other side is gone. */
static bool way_flush(struct tunnel *t, enum tunnel_side from)
{
	struct way *w = &t->ways[from];
	ssize_t n = way_write(t, from, w->held + w->at, w->len);

	if (n < 0)
		return false;
	w->at += (size_t)n;
	w->len -= (size_t)n;
	if (!w->len) {
		free(w->held);
		w->held = NULL;
	}
	return true;
}

/* Moves the bytes of one side to the other. False: the tunnel is gone. */
static bool way_move(struct tunnel *t, enum tunnel_side from)
{
	char *scratch = (char *)loop_scratch(t->loop);
	struct way *w = &t->ways[from];

	if (w->len && !way_flush(t, from)) {
		tunnel_lose(t, tunnel_other(from));
		return false;
	}
	for (int reads = TUNNEL_READS_PER_TURN; reads && !w->len && !w->ended; reads--) {
		ssize_t n = conn_read(t->conns[from], scratch, TUNNEL_READ_BYTES), sent;

		if (n == CONN_AGAIN)
			break;
		if (n == CONN_FAILED) {
			tunnel_lose(t, from);
			return false;
		}
		tunnel_moved(t);
		if (n == CONN_EOF) {
			w->ended = true;
			break;
		}
		way_count(t, from, (size_t)n);
		if ((sent = way_write(t, from, scratch, (size_t)n)) < 0 ||
		    way_hold(w, scratch + sent, (size_t)(n - sent))) {
			tunnel_lose(t, tunnel_other(from));
			return false;
		}
	}
	return true;
}

/* Passes the other side's end on to side, whose socket has room. False: the tunnel is gone. */
static bool way_end(struct tunnel *t, enum tunnel_side side)
{
	struct way *w = &t->ways[tunnel_other(side)];

	if (!way_must_end(w))
		return true;
	conn_shutdown_write(t->conns[side]);
	w->passed_on = true;
	if (!t->ways[side].passed_on)
		return true;
	tunnel_finish(t, TUNNEL_DONE);
	return false;
}

static void tunnel_on_conn(struct tunnel *t, enum tunnel_side side, enum conn_event event)
{
	if (event == CONN_WRITABLE ? way_move(t, tunnel_other(side)) && way_end(t, side) : way_move(t, side))
		tunnel_listen(t);
}

static void tunnel_on_client(void *arg, enum conn_event event)
{
	tunnel_on_conn(arg, TUNNEL_CLIENT, event);
}

static void tunnel_on_origin(void *arg, enum conn_event event)
{
	tunnel_on_conn(arg, TUNNEL_ORIGIN, event);
}

struct tunnel *tunnel_new(struct loop *l, const struct tunnel_settings *s)
{
	struct tunnel *t = calloc(1, sizeof *t);
	struct conn *origin = s->origin;

	if (!t) {
		conn_abort(&origin);
		return NULL;
	}
	t->loop = l;
	t->conns[TUNNEL_CLIENT] = s->client;
	t->conns[TUNNEL_ORIGIN] = s->origin;
	t->idle_timeout_ms = s->idle_timeout_ms;
	t->idle.fire = tunnel_on_idle;
	t->look.fire = tunnel_on_look;
	t->end = s->end;
	t->arg = s->arg;
	t->ways[TUNNEL_CLIENT].ended = s->client_ended;
	if (way_hold(&t->ways[TUNNEL_CLIENT], s->early.at, s->early.len) ||
	    way_hold(&t->ways[TUNNEL_ORIGIN], s->head.at, s->head.len)) {
		tunnel_free(&t);
		return NULL;
	}
	way_count(t, TUNNEL_CLIENT, s->early.len);
	conn_set_owner(s->client, tunnel_on_client, t);
	conn_set_owner(s->origin, tunnel_on_origin, t);
	tunnel_moved(t);
	tunnel_listen(t);
	return t;
}

void tunnel_free(struct tunnel **tp)
{
	struct tunnel *t = *tp;

	if (!t)
		return;
	*tp = NULL;
	loop_disarm(t->loop, &t->idle);
	loop_disarm(t->loop, &t->look);
	if (t->done)
		conn_close(&t->conns[TUNNEL_ORIGIN]);
	else
		conn_abort(&t->conns[TUNNEL_ORIGIN]);
	for (enum tunnel_side side = 0; side < TUNNEL_SIDES; side++)
		free(t->ways[side].held);
	free(t);
}

uint64_t tunnel_bytes(const struct tunnel *t, enum tunnel_side side)
{
	return t->ways[side].bytes;
}
