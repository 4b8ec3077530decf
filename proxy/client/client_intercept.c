/* A CONNECT that is opened (option intercept), from its request until the client speaks TLS with utfeed; see
 * client_internal.h. The requests inside are like those on any connection, for https URLs of the CONNECT's authority.
 * Invariant: the client gets no 200 before the origin was asked for its certificate. If that certificate was not
 * accepted, the failure is the only answer to any request inside. */
#include "proxy/client/client_intercept.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/answer/fetch_plan.h"
#include "proxy/answer/local_reply.h"
#include "proxy/base/log.h"
#include "proxy/base/text.h"
#include "proxy/net/conn.h"
#include "proxy/net/h2.h"
#include "proxy/net/tls_hello.h"
#include "proxy/origin/dial.h"
#include "proxy/origin/fetch_timing.h"
#include "proxy/settings/interception.h"
#include "proxy/settings/settings.h"
#include "proxy/settings/tls_set.h"

#define INTERCEPT_NOT_TLS \
	"What comes in this tunnel is no TLS, and the tunnel is one that utfeed opens (intercept). Ask for http URLs " \
	"without CONNECT."
#define INTERCEPT_MISNAMED \
	"TLS was begun for another host (SNI) than CONNECT names; ask for that host by a CONNECT of its own."
#define INTERCEPT_ENDED "This host is not intercepted any more; connect again."

/* Alerts of TLS (RFC 8446 section 6). */
enum { ALERT_INTERNAL_ERROR = 80, ALERT_UNRECOGNIZED_NAME = 112 };

static const uint16_t tls_numbers[] = { [CONF_TLS_1_0] = 0x0301, [CONF_TLS_1_1] = 0x0302, [CONF_TLS_1_2] = 0x0303,
	[CONF_TLS_1_3] = 0x0304 };

static struct leaves *client_leaves(const struct client *c)
{
	return c->exchange->ctx.settings->interception->leaves;
}

void client_leave_opened(struct client *c)
{
	struct opened *opened = c->opened;

	if (!opened)
		return;
	probe_cancel(&opened->probe);
	if (opened->asked)
		leaves_cancel(client_leaves(c), &opened->leaf);
	opened->asked = false;
	leaf_unref(&opened->leaf.leaf);
}

struct opened *client_copy_opened(const struct opened *opened)
{
	struct opened *copy = calloc(1, sizeof *copy);

	if (copy)
		*copy = (struct opened){ .to = opened->to, .use = opened->use, .failure = opened->failure };
	if (copy)
		memcpy(copy->user, opened->user, sizeof copy->user);
	return copy;
}

/* ---- before the answer to the CONNECT ---- */

/* What becomes of the CONNECT where the origin could not be reached. */
enum reach {
	REACH_REFUSE,          /* the CONNECT is refused */
	REACH_SEALED,          /* it is opened, and everything inside answered by the failure */
	REACH_SERVE            /* it is opened: what is stored may answer, and fetches find out for themselves */
};

static enum reach client_reach(enum failure_kind error)
{
	switch (error) {
	case FAILURE_TLS_CERTIFICATE:
	case FAILURE_TLS_PROTOCOL:
	case FAILURE_TLS_ALERT:
		return REACH_SEALED;
	case FAILURE_DNS_TIMEOUT:
	case FAILURE_DNS_ERROR:
	case FAILURE_IP_UNROUTABLE:
	case FAILURE_CONNECTION_REFUSED:
	case FAILURE_CONNECTION_TERMINATED:
	case FAILURE_CONNECTION_LIMIT:
	case FAILURE_CONNECTION_TIMEOUT:
	case FAILURE_PARENT_CREDENTIALS:
	case FAILURE_PARENT_REFUSED:
		return REACH_SERVE;
	default:
		return REACH_REFUSE;
	}
}

/* Answers 200; then the client begins TLS, if it has not yet. */
static void client_greet(struct client *c)
{
	struct exchange *exchange = c->exchange;
	char room[256];
	struct text head = text_on(room, sizeof room);

	text_puts(&head, "HTTP/1.1 200 OK\r\nProxy-Status: ");
	text_puts(&head, client_conf(c)->via);
	text_puts(&head, "; details=\"opened by intercept\"\r\n\r\n");
	struct iovec iov = (struct iovec){ room, head.len };
	if (head.failed || !conn_cork(c->conn, &iov, 1)) {
		client_close(c, true);
		return;
	}
	exchange->status = 200;
	client_enter(c, CL_HELLO);
	loop_arm(client_loop(c), &c->timer, client_conf(c)->request_timeout_ms);
	client_pump(c);
}

static void client_on_probe(void *arg, const struct failure *failure)
{
	struct client *c = arg;
	struct opened *opened = c->opened;
	enum reach reach = failure ? client_reach(failure->error) : REACH_SERVE;

	opened->probe = NULL;
	if (failure)
		log_step(&c->exchange->id, "intercept: the origin %s: %s", opened->to.authority, failure->details);
	if (failure && c->exchange->timing)
		c->exchange->timing->failure = failure->error;
	if (reach == REACH_REFUSE) {
		client_take_object(c, local_reply_failure(client_context(c), failure));
		client_pump(c);
		return;
	}
	if (reach == REACH_SEALED) {
		opened->use = OPENED_SEALED;
		opened->failure = *failure;
	}
	client_greet(c);
}

bool client_opens(struct client *c)
{
	const struct request_context *ctx = &c->exchange->ctx;
	struct parent_rules parents = fetch_plan_parents(ctx->conf, &ctx->conf->direct);
	struct destination to;
	struct inside in;

	if (!ctx->settings->interception || c->opened || target_authority(&to, &c->exchange->msg) != TARGET_OK)
		return false;
	inside_set(&in, &to);
	if (!interception_wants(ctx->conf, in.host))
		return false;
	if (c->stream) {               /* TLS inside a stream is not spoken here */
		log_step(&c->exchange->id, "intercept: HTTP/1.1 is asked for");
		h2_say_why(c->conn, H2_WHY_HTTP_1);
		client_close(c, true);
		return true;
	}
	to.tls = true;
	struct dial_target target = (struct dial_target){ .host = in.host, .port = in.port,
		.tls = tls_set_origin(ctx->tls, &ctx->conf->direct), .guard = ctx->guard,
		.h2 = ctx->conf->direct.http2 != CONF_HTTP2_OFF,
		.parent = parent_choose(&parents, &to), .generation = ctx->settings->generation,
		.connect_timeout_ms = ctx->conf->connect_timeout_ms, .id = ctx->id,
		.timing = fetch_timing_of(ctx->timing) };
	stats_add(loop_stats(client_loop(c)), STAT_INTERCEPTS, 1);
	log_step(&ctx->id, "intercept: %s", in.authority);
	if ((c->opened = calloc(1, sizeof *c->opened))) {
		c->opened->to = in;
		if (c->exchange->user)
			snprintf(c->opened->user, sizeof c->opened->user, "%s", c->exchange->user);
		c->opened->probe = probe_start(ctx->fetches, &target, (size_t)ctx->conf->origin_connections,
		    client_on_probe, c);
	}
	if (!c->opened || !c->opened->probe) {
		client_close(c, false);
		return true;
	}
	loop_disarm(ctx->loop, &c->timer);
	client_enter(c, CL_CONNECT);
	return true;
}

/* ---- the client's first message of TLS ---- */

/* Says in TLS that the handshake has failed, and closes. */
static void client_alert(struct client *c, unsigned char alert)
{
	unsigned char record[] = { 21, 3, 3, 0, 2, 2, alert };
	struct iovec iov = { record, sizeof record };

	stats_add(loop_stats(client_loop(c)), STAT_INTERCEPTS_REFUSED, 1);
	if (conn_writev(c->conn, &iov, 1) < 0)
		log_step(&c->exchange->id, "intercept: the client does not hear of it");
	client_log(c, "cut");
	client_enter(c, CL_IDLE);
	client_close(c, false);
}

/* The client speaks TLS from now on, and its requests come inside. */
static void client_begin_tls(struct client *c)
{
	struct exchange *exchange = c->exchange;
	struct opened *opened = c->opened;
	struct leaf *leaf = opened->leaf.leaf;
	struct slice early = { exchange->in + exchange->msg.head_len, exchange->in_len - exchange->msg.head_len };

	opened->leaf.leaf = NULL;
	client_log(c, "done");
	if (conn_accept_tls(c->conn, exchange->ctx.settings->interception->tls, leaf, early)) {
		leaf_unref(&leaf);
		client_enter(c, CL_IDLE);
		client_close(c, true);
		return;
	}
	leaf_unref(&leaf);
	/* The client inside is the client of the CONNECT: no proxy can have read the requests inside, let alone written
	 * them. */
	c->who = exchange->who;
	c->who.settled = true;
	c->channel = opened->old ? CHANNEL_TLS : CHANNEL_HANDSHAKE;
	client_enter(c, CL_IDLE);
	client_idle(c);
	if (c->state == CL_IDLE && !c->pool->draining)
		loop_arm(client_loop(c), &c->timer, client_conf(c)->request_timeout_ms);
}

/* The tunnel carries something else than HTTP over TLS. */
static bool client_pass_else(struct client *c)
{
	if (client_conf(c)->intercept_else != INTERCEPT_TUNNEL)
		return false;
	client_open_tunnel(c, c->opened->to.host, c->opened->to.port);
	return true;
}

/* The name that the certificate is made for; NULL: none is made for this client. Another name than that of the CONNECT
 * must be one that is intercepted itself; then the client hears 421 for whatever it asks. */
static const char *client_leaf_name(struct client *c, const struct tls_hello *hello)
{
	const struct inside *to = &c->opened->to;

	if (!hello->named || !strcmp(hello->name, to->host))
		return to->host;
	if (c->opened->use == OPENED_SERVES)
		c->opened->use = OPENED_MISNAMED;
	return hello->name[0] && ca_is_name(hello->name, false) && interception_wants(client_conf(c), hello->name)
	    ? hello->name
	    : NULL;
}

static void client_ask_leaf(struct client *c, const struct tls_hello *hello)
{
	struct opened *opened = c->opened;
	const char *name = client_leaf_name(c, hello);
	char shown[TLS_HELLO_NAME_MAX * 4];

	if (!name) {
		log_escape(shown, sizeof shown, hello->name, strlen(hello->name));
		log_line_of(LOG_LEVEL_INFO, &c->exchange->id,
		    "intercept: CONNECT names %s, and TLS %s, which intercept does not name", opened->to.authority,
		    *shown ? shown : "no host");
		client_alert(c, ALERT_UNRECOGNIZED_NAME);
		return;
	}
	opened->leaf.loop = client_loop(c);
	opened->leaf.task = &c->task;
	switch (leaves_get(client_leaves(c), name, hello->ecdsa ? CA_ECDSA : CA_RSA,
	    loop_wall_ms(client_loop(c)) / 1000, &opened->leaf)) {
	case LEAVES_THERE:
		client_begin_tls(c);
		return;
	case LEAVES_WAIT:
		stats_add(loop_stats(client_loop(c)), STAT_INTERCEPT_LEAVES, 1);
		opened->asked = true;
		return;
	case LEAVES_NO_MEMORY:
		client_alert(c, ALERT_INTERNAL_ERROR);
	}
}

/* Says clearly why the handshake that follows will fail. */
static void client_judge_version(struct client *c, const struct tls_hello *hello)
{
	enum conf_tls_min min = client_conf(c)->tls_listen_min;

	c->opened->old = hello->version < tls_numbers[min];
	if (c->opened->old)
		log_line_of(LOG_LEVEL_INFO, &c->exchange->id,
		    "intercept: %s speaks TLS 1.%d at most, and tls-listen-min asks for 1.%d", conn_peer(c->conn),
		    hello->version > 0x0300 ? hello->version - 0x0301 : 0, (int)min);
}

/* Reads what the client says first. False: there is nothing to do now. */
static bool client_read_hello(struct client *c)
{
	struct exchange *exchange = c->exchange;
	size_t len = exchange->in_len - exchange->msg.head_len;
	struct tls_hello h;
	enum tls_hello_kind kind = tls_hello_read(&h, (const uint8_t *)exchange->in + exchange->msg.head_len,
	    len < LOOP_SCRATCH_BYTES ? len : LOOP_SCRATCH_BYTES, loop_scratch(client_loop(c)));

	if (kind == TLS_HELLO_MORE && exchange->in_len < client_in_max(c)) {
		if (c->eof)
			client_close(c, false);
		return false;
	}
	if (kind != TLS_HELLO_DONE) {
		if (!client_pass_else(c))
			client_refuse(c, 400, INTERCEPT_NOT_TLS);
		return true;
	}
	if (!h.http && client_pass_else(c))
		return true;
	client_judge_version(c, &h);
	client_ask_leaf(c, &h);
	return false;
}

bool client_hello(struct client *c)
{
	struct opened *opened = c->opened;

	if (!opened->asked)
		return client_read_hello(c);
	if (!leaves_told(client_leaves(c), &opened->leaf))
		return false;
	opened->asked = false;
	if (opened->leaf.leaf)
		client_begin_tls(c);
	else
		client_alert(c, ALERT_INTERNAL_ERROR);
	return false;
}

/* ---- inside ---- */

void client_leave_inside(struct client *c, bool has_more)
{
	client_ends(c, has_more ? AFTER_LINGERS : AFTER_CLOSES);
	if (c->stream)
		h2_leave_with(c->conn);
}

bool client_inside_ends(struct client *c, bool has_body)
{
	struct opened *opened = c->opened;
	const struct request_context *ctx = &c->exchange->ctx;

	if (!opened || (opened->use == OPENED_SERVES && interception_wants(ctx->conf, opened->to.host)))
		return false;
	client_leave_inside(c, has_body);
	if (opened->use == OPENED_SEALED)
		client_take_object(c, local_reply_failure(ctx, &opened->failure));
	else
		client_take_object(c,
		    local_reply(ctx, 421, "", opened->use == OPENED_MISNAMED ? INTERCEPT_MISNAMED : INTERCEPT_ENDED,
		        ""));
	return true;
}
