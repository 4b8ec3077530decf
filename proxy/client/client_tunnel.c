/* CONNECT, from the request to the end of its tunnel; see client_internal.h. Source: RFC 9110 section 9.3.6. */
#include "proxy/answer/dispatch.h"
#include "proxy/client/client_intercept.h"
#include "proxy/client/client_internal.h"

#include <stdlib.h>

#include "conf/conf.h"
#include "proxy/answer/fetch_plan.h"
#include "proxy/answer/local_reply.h"
#include "proxy/base/text.h"
#include "proxy/http/http_parse.h"
#include "proxy/net/conn.h"
#include "proxy/net/h2.h"
#include "proxy/net/tunnel.h"
#include "proxy/origin/dial.h"
#include "proxy/origin/fetch_timing.h"

static void client_end_tunnel(struct client *c, const char *word, bool reset, enum h2_why why)
{
	h2_say_why(c->conn, why);
	client_log(c, word);
	client_enter(c, CL_IDLE);
	client_close(c, reset);
}

void client_judge_tunnel(struct client *c)
{
	if (c->state != CL_TUNNEL || !client_is_out(c))
		return;
	log_step(&c->exchange->id, "tunnel: ends: client-auth");
	stats_add(loop_stats(client_loop(c)), STAT_TUNNELS_REVOKED, 1);
	client_end_tunnel(c, "revoked", true, H2_WHY_CANCELLED);
}

static void client_on_tunnel_end(void *arg, enum tunnel_end end)
{
	static const char *const words[] = {
		[TUNNEL_DONE] = "done", [TUNNEL_LOST_CLIENT] = "dropped", [TUNNEL_LOST_ORIGIN] = "cut",
		[TUNNEL_IDLE] = "idle",
	};
	struct client *c = arg;
	struct stats *stats = loop_stats(client_loop(c));

	stats_add(stats, STAT_REQUESTS_DROPPED, end == TUNNEL_LOST_CLIENT);
	stats_add(stats, STAT_RESPONSES_CUT, end == TUNNEL_LOST_ORIGIN);
	stats_add(stats, STAT_TUNNELS_IDLE, end == TUNNEL_IDLE);
	client_end_tunnel(c, words[end], end != TUNNEL_DONE,
	    end == TUNNEL_LOST_ORIGIN ? H2_WHY_CONNECT : H2_WHY_CANCELLED);
}

/* Frees what the exchange no longer needs. The request head stays for the access log; the tunnel has taken over the
 * bytes behind it. */
static void client_shrink(struct exchange *exchange)
{
	char *in = realloc(exchange->in, exchange->msg.head_len);

	http_parser_free(&exchange->parser);
	exchange->in_len = exchange->msg.head_len;
	if (!in)
		return;
	exchange->in = in;
	exchange->in_cap = exchange->in_len;
	exchange->msg.base = in;
}

static void client_start_tunnel(struct client *c, struct conn *origin)
{
	struct exchange *exchange = c->exchange;
	struct text head = { 0 };
	struct tunnel_settings settings = {
		.client = c->conn,
		.origin = origin,
		.early = { exchange->in + exchange->msg.head_len, exchange->in_len - exchange->msg.head_len },
		.client_ended = c->eof,
		.idle_timeout_ms = client_conf(c)->tunnel_idle_timeout_ms,
		.end = client_on_tunnel_end,
		.arg = c,
	};

	if (!c->opened)                /* else it was answered before */
		text_printf(&head, "HTTP/1.1 200 OK\r\nProxy-Status: %s; next-hop=\"%s\"\r\n\r\n", client_conf(c)->via,
		    conn_peer(origin));
	settings.head = (struct slice){ head.bytes, head.len };
	if (head.failed)
		conn_abort(&origin);
	else
		c->tunnel = tunnel_new(client_loop(c), &settings);
	text_free(&head);
	if (!c->tunnel) {
		client_close(c, false);
		return;
	}
	stats_add(loop_stats(client_loop(c)), STAT_TUNNELS, 1);
	c->blocked = false;
	client_enter(c, CL_TUNNEL);
	loop_disarm(client_loop(c), &c->timer);
	exchange->status = 200;
	client_shrink(exchange);
	client_judge_tunnel(c);        /* a reload may have come since the CONNECT */
}

static void client_on_origin(void *arg, struct conn *origin, const struct failure *failure)
{
	struct client *c = arg;

	c->opening = NULL;
	if (origin) {
		fetch_timing_address(c->exchange->timing, conn_peer(origin));
		client_start_tunnel(c, origin);
		return;
	}
	if (c->exchange->timing)
		c->exchange->timing->failure = failure->error;
	if (c->opened) {               /* its client takes it for connected */
		log_line_of(LOG_LEVEL_INFO, &c->exchange->id, "intercept-else: %s: %s", c->opened->to.authority,
		    failure->details);
		client_close(c, true);
		return;
	}
	client_take_object(c, local_reply_failure(client_context(c), failure));
	client_pump(c);
}

void client_connect(struct client *c)
{
	struct destination to;
	struct object *refusal = NULL;

	/* Bytes behind the head are not a request, even if this one is refused. */
	client_ends(c, AFTER_LINGERS);
	if (client_opens(c))
		return;
	if (dispatch_tunnel(&c->exchange->ctx, &c->exchange->request, c->opened, &to, &refusal))
		client_take_object(c, refusal);
	else
		client_open_tunnel(c, to.host, to.port);
}

void client_open_tunnel(struct client *c, const char *host, uint16_t port)
{
	const struct request_context *ctx = &c->exchange->ctx;
	struct parent_rules parents = fetch_plan_parents(ctx->conf, &ctx->conf->direct);
	/* whatever the tunnel carries: CONNECT uses the parent that https uses */
	struct destination to = { .tls = true, .port = port };

	snprintf(to.host, sizeof to.host, "%s", host);
	struct dial_target target = (struct dial_target){ .host = to.host, .port = to.port, .guard = ctx->tunnel_guard,
		.parent = parent_choose(&parents, &to), .tunnel = true,
		.connect_timeout_ms = ctx->conf->connect_timeout_ms,
		.id = ctx->id, .timing = fetch_timing_of(ctx->timing) };
	log_step(&ctx->id, "tunnel: to %s port %u", to.host, to.port);
	if (!(c->opening = dial_start(ctx->loop, ctx->resolver, &target, client_on_origin, c))) {
		client_close(c, false);
		return;
	}
	loop_disarm(ctx->loop, &c->timer);
	client_enter(c, CL_CONNECT);
}
