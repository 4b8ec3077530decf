/* Admission: a connection is judged by its client's address before a byte is read or a handshake begins; see
 * client_internal.h. Over TLS a client that is turned away gets only an alert, because a handshake costs more than a
 * stranger may ask for.
 * Invariant: a client that is turned away has no struct client and takes no place. A client that client-allow does not
 * name makes no other client give up its place. */
#include "proxy/client/client_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "conf/conf.h"
#include "proxy/base/log.h"
#include "proxy/client/client_intercept.h"
#include "proxy/client/crowd.h"
#include "proxy/settings/client_rate.h"
#include "proxy/settings/settings.h"

#define CROWDED \
	"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 68\r\n" \
	"Connection: close\r\n\r\nThis address has too many connections at a time (client-connections)"

enum {
	BAR_TOLD_MS = 1000,    /* one line so often */
	BURST_MIN = 100        /* requests at once, however slow client-rate is: a reader asks for many feeds */
};

/* Connections accepted so far by all workers; the number is the connection's id. */
static _Atomic uint64_t client_connections;

/* A connection that comes in. */
struct arrival {
	int fd;
	const struct sockaddr *peer;
	socklen_t len;
	struct tls_context *tls;       /* NULL: plain */
	const struct requester *who;
	bool trusted;                  /* a trusted proxy: its requests name many clients */
	bool forbidden;
	size_t most;                   /* the connections that its address may have; 0: they are not counted */
	struct crowd *crowd;           /* where it is counted */
};

bool client_is_forbidden(const struct client_pool *pool, const struct requester *who)
{
	return !requester_is_trusted(who, pool->ctx.conf) && !requester_in(who, &pool->ctx.conf->client_allow);
}

/* Why a client is turned away. */
struct bar { const char *option; enum stats_counter counter; };
static const struct bar bar_allow = { "client-allow", STAT_CLIENTS_FORBIDDEN };
static const struct bar bar_rate = { "client-rate", STAT_REQUESTS_HURRIED };
static const struct bar bar_crowd = { "client-connections", STAT_CLIENTS_CROWDED };

bool client_within_rate(const struct request_context *ctx, const struct requester *who, unsigned *wait_s)
{
	static const struct ip nobody;
	uint64_t rate = ctx->conf->client_rate, minute = rate / 60;
	const struct client_rate_limit limit = { rate, minute < BURST_MIN ? BURST_MIN : (unsigned)minute };

	return !ctx->settings->client_rate || requester_is_trusted(who, ctx->conf) ||
	    client_rate_ask(ctx->settings->client_rate, &limit, who->known ? &who->ip : &nobody, loop_now_us(ctx->loop),
	        wait_s);
}

/* A thousand clients that are turned away do not fill the log. */
static void client_tell_bar(struct client_pool *pool, const struct requester *who, const struct bar *bar)
{
	uint64_t now_ms = loop_now_ms(pool->ctx.loop);
	char text[REQUESTER_TEXT_MAX];

	if (now_ms - pool->told_ms < BAR_TOLD_MS)
		return;
	pool->told_ms = now_ms;
	log_info("tls: %s: refused before the handshake: %s", requester_text(who, text), bar->option);
}

/* Reads and drops the bytes that the client has already sent, because closing the socket with unread bytes could
 * destroy the answer. */
static void client_turn_away(struct client_pool *pool, const struct arrival *arrival, const struct bar *bar)
{
	static char answer[] = CROWDED;
	static char denied[] = { 21, 3, 3, 0, 2, 2, 49 };      /* the alert access_denied (RFC 8446 section 6) */
	struct iovec iov = { arrival->tls ? denied : answer, arrival->tls ? sizeof denied : sizeof answer - 1 };
	struct conn *conn = conn_new(pool->ctx.loop, arrival->fd, arrival->peer, arrival->len, NULL, NULL);

	stats_add(loop_stats(pool->ctx.loop), bar->counter, 1);
	if (!conn)
		return;
	if (arrival->tls)
		client_tell_bar(pool, arrival->who, bar);
	conn_read(conn, loop_scratch(pool->ctx.loop), LOOP_SCRATCH_BYTES);
	conn_writev(conn, &iov, 1);
	conn_close(&conn);
}

/* NULL: the client may come in, and is counted if there is memory for it. */
static const struct bar *client_bars(const struct client_pool *pool, struct arrival *arrival)
{
	unsigned wait_s;

	if (arrival->tls && arrival->forbidden)
		return &bar_allow;
	if (arrival->tls && !client_within_rate(&pool->ctx, arrival->who, &wait_s))
		return &bar_rate;
	return arrival->most &&
	        crowd_join(pool->crowds, &arrival->who->ip, arrival->most, &arrival->crowd) == CROWD_FULL
	    ? &bar_crowd
	    : NULL;
}

static void client_init(struct client *c, struct client_pool *pool, const struct requester *who,
    enum client_channel channel)
{
	c->pool = pool;
	c->channel = channel;
	c->who = *who;
	c->reader.wake = client_on_wake;
	c->timer.fire = client_on_timeout;
	c->upload.fire = client_on_upload_timeout;
	c->task.run = client_on_task;
	LIST_INSERT_HEAD(&pool->clients, c, link);
}

/* NULL: out of memory, and the descriptor is closed. */
static struct client *client_new(struct client_pool *pool, const struct arrival *arrival)
{
	struct client *c = arrival->most && !arrival->crowd ? NULL : calloc(1, sizeof *c);

	if (!c) {
		close(arrival->fd);
		return NULL;
	}
	if (!(c->conn = conn_new(pool->ctx.loop, arrival->fd, arrival->peer, arrival->len, client_on_conn, c)) ||
	    (arrival->tls && conn_start_tls(c->conn, arrival->tls, NULL, NULL))) {
		conn_close(&c->conn);
		free(c);
		return NULL;
	}
	client_init(c, pool, arrival->who, arrival->tls ? CHANNEL_HANDSHAKE : CHANNEL_PLAIN);
	c->crowd = arrival->crowd;
	c->id.connection = atomic_fetch_add_explicit(&client_connections, 1, memory_order_relaxed) + 1;
	pool->count++;
	stats_add(loop_stats(pool->ctx.loop), STAT_CLIENTS_ACCEPTED, 1);
	return c;
}

/* Whether there is room for one more stream, which counts then. */
static bool client_join_stream(struct client_pool *pool, const struct requester *who, struct crowd **crowd)
{
	size_t most = requester_is_trusted(who, pool->ctx.conf) ? 0 : (size_t)pool->ctx.conf->client_connections;

	bool full = pool->streams >= pool->ctx.settings->max_clients;
	if (full || (most && crowd_join(pool->crowds, &who->ip, most, crowd) != CROWD_JOINED)) {
		stats_add(loop_stats(pool->ctx.loop), STAT_CLIENTS_CROWDED, 1);
		client_end_stalled(pool, full ? NULL : &who->ip);
		return false;
	}
	pool->streams++;
	return true;
}

/* Its requests are numbered as those of the connection. */
struct client *client_new_stream(struct client *connection, struct conn *conn)
{
	struct client_pool *pool = connection->pool;
	struct client *c = calloc(1, sizeof *c);

	if (!c || (connection->opened && !(c->opened = client_copy_opened(connection->opened))) ||
	    !client_join_stream(pool, &connection->who, &c->crowd)) {
		free(c ? c->opened : NULL);
		free(c);
		return NULL;
	}
	client_init(c, pool, &connection->who, connection->channel);
	c->conn = conn;
	conn_set_owner(conn, client_on_conn, c);
	c->stream = true;
	c->id = connection->id;
	connection->id.request++;
	return c;
}

/* Refuses a forbidden client at once, without reading its request. */
static void client_forbid(struct client *c)
{
	stats_add(loop_stats(client_loop(c)), STAT_CLIENTS_FORBIDDEN, 1);
	if (client_open_exchange(c))
		return;
	client_start(c);
	c->exchange->msg.base = c->exchange->in;
	client_refuse_stranger(c, &c->who);
	client_pump(c);
}

int client_accept(struct client_pool *pool, int fd, const struct sockaddr *peer, socklen_t len, struct tls_context *tls,
    const struct requester *who)
{
	const struct conf *conf = pool->ctx.conf;
	struct arrival a = { fd, peer, len, tls, who, .trusted = requester_is_trusted(who, conf),
		.forbidden = client_is_forbidden(pool, who) };
	const struct bar *bar;
	struct client *c;

	a.most = a.trusted ? 0 : (size_t)conf->client_connections;
	if ((bar = client_bars(pool, &a))) {
		client_turn_away(pool, &a, bar);
		return 0;
	}
	if (!(c = client_new(pool, &a))) {
		crowd_leave(pool->crowds, &a.crowd);
		return -1;
	}
	if (tls) {
		client_idle(c);
		loop_arm(pool->ctx.loop, &c->timer, client_conf(c)->request_timeout_ms);
		client_listen(c);
	} else if (a.forbidden)
		client_forbid(c);
	else                           /* the request is often there already: it is read without waiting for an event */
		client_on_conn(c, CONN_READABLE);
	return 0;
}
