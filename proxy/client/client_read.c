/* Reading request heads, and refusing bytes that are none; see client_internal.h. */
#include "proxy/client/client_internal.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/answer/local_reply.h"
#include "proxy/answer/request_read.h"
#include "proxy/client/access_log.h"
#include "proxy/client/client_intercept.h"
#include "proxy/http/http_parse.h"
#include "proxy/net/conn.h"
#include "proxy/settings/settings.h"

void client_refuse(struct client *c, int status, const char *text)
{
	stats_add(loop_stats(client_loop(c)), STAT_REQUESTS_BAD, 1);
	log_step(&c->x->id, "request: refused, %d: %s", status, text);
	client_ends(c, AFTER_LINGERS);
	client_take_object(c, local_reply(client_context(c), status, "", text, ""));
}

/* Whether the bytes begin with a word that could be a method; if not, they are no HTTP at all. */
static bool client_has_method(const struct exchange *x)
{
	size_t n = 0;

	while (n < x->in_len && ((x->in[n] >= 'A' && x->in[n] <= 'Z') || x->in[n] == '-' || x->in[n] == '_'))
		n++;
	return n && n < x->in_len && x->in[n] == ' ';
}

static void client_refuse_error(struct client *c)
{
	switch (http_parser_error(c->x->parser)) {
	case HTTP_E_METHOD:
		if (client_has_method(c->x))
			client_refuse(c, 501, "This method is not known here.");
		else
			client_refuse(c, 400, "The request cannot be understood.");
		break;
	case HTTP_E_VERSION:
		client_refuse(c, 505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.");
		break;
	case HTTP_E_TOO_MANY_FIELDS:
		client_refuse(c, 431, "The request has too many header fields.");
		break;
	default:
		client_refuse(c, 400, "The request cannot be understood.");
	}
}

/* Finds the method even in a head that cannot be understood, because the answer to a HEAD has no body whatever else the
 * head says (RFC 9110 section 9.3.2). */
void client_find_method(struct exchange *x)
{
	const char *at = x->in;

	while (at < x->in + x->msg.target && (*at == '\r' || *at == '\n'))
		at++;
	x->msg.method_at = (uint32_t)(at - x->in);
	while (at < x->in + x->in_len && *at != ' ' && *at != '\r' && *at != '\n')
		at++;
	x->msg.method_len = (uint32_t)(at - x->in) - x->msg.method_at;
	if (x->msg.method_len == 4 && !memcmp(x->in + x->msg.method_at, "HEAD", 4))
		x->msg.method = METHOD_HEAD;
}

static void client_tell_request(struct client *c)
{
	struct exchange *x = c->x;
	char method[ACCESS_METHOD_MAX], target[ACCESS_TARGET_MAX];

	log_escape(method, sizeof method, x->in + x->msg.method_at, x->msg.method_len);
	access_target(target, http_msg_target(&x->msg));
	log_step(&x->id, "request: %s %s from %s", method, target, conn_peer(c->conn));
}

/* Answers 429 to a client that asks too often. The connection stays, unless what would come next on it cannot be a
 * request (last). The handshake of a connection counted for its first request, unless many clients come over it.
 * False: the client may ask. */
static bool client_slows_down(struct client *c, bool last)
{
	bool paid = c->channel != CHANNEL_PLAIN && c->id.request == 1 &&
	    !requester_is_trusted(&c->who, client_conf(c));
	struct failure why;
	unsigned wait_s;

	if (paid || client_within_rate(&c->x->ctx, &c->x->who, &wait_s))
		return false;
	failure_set(&why, FAILURE_CLIENT_RATE, "client-rate");
	why.retry_after_s = wait_s;
	stats_add(loop_stats(client_loop(c)), STAT_REQUESTS_HURRIED, 1);
	log_step(&c->x->id, "request: refused, 429: client-rate");
	if (last)
		client_ends(c, AFTER_LINGERS);
	client_take_object(c, local_reply_failure(&c->x->ctx, &why));
	return true;
}

static void client_request(struct client *c)
{
	struct exchange *x = c->x;
	struct http_msg *m = &x->msg;
	bool has_body = m->chunked || m->content_length;

	stats_add(loop_stats(client_loop(c)), STAT_REQUESTS, 1);
	x->ctx = c->pool->ctx;
	settings_ref(x->ctx.settings);
	x->ctx.secure = c->channel != CHANNEL_PLAIN;
	x->ctx.id = x->id;
	x->ctx.trace = &x->trace;
	x->ctx.timing = client_times(c) ? &x->timing : NULL;
	client_find_method(x);
	if (log_is(LOG_LEVEL_DEBUG))
		client_tell_request(c);
	request_read(&x->request, m);
	if (!m->keep_alive || c->pool->leaving)
		client_ends(c, AFTER_CLOSES);
	if (m->target_len > client_conf(c)->max_url_bytes) {
		client_refuse(c, 414, "The URL is too long.");
		return;
	}
	/* GET, HEAD, TRACE and CONNECT may not have a body here. */
	if (has_body && m->method != METHOD_OTHER) {
		client_refuse(c, 413, "A request with a body is not taken here.");
		return;
	}
	requester_read(&x->who, client_conf(c), m);
	x->trace.accepted = client_conf(c)->trace_allow.count && requester_in(&x->who, &client_conf(c)->trace_allow);
	if (client_conf(c)->trusted_proxies.count && !requester_in(&x->who, &client_conf(c)->client_allow)) {
		stats_add(loop_stats(client_loop(c)), STAT_CLIENTS_FORBIDDEN, 1);
		client_refuse(c, 403, CLIENT_FORBIDDEN);
		return;
	}
	if (client_slows_down(c, has_body || m->method == METHOD_CONNECT) || client_inside_ends(c, has_body))
		return;
	if (m->method == METHOD_CONNECT) {
		client_connect(c);
		return;
	}
	if (has_body && client_open_body(c)) {
		client_close(c, false);
		return;
	}
	answer_start(&x->answer, &(struct answer_asked){ .ctx = &x->ctx, .request = &x->request, .who = &x->who,
		.body = x->body, .inside = c->opened ? &c->opened->to : NULL, .ready = client_on_answer, .owner = c });
	client_take_answer(c);
	if (c->state != CL_WAIT || !x->body || !c->reader.object)
		return;
	if (object_phase(c->reader.object) == OBJECT_WAITING)
		client_say_continue(c);
	else {
		/* The request was answered without its body, which stays unread. */
		client_drop_body(c);
		client_ends(c, AFTER_LINGERS);
	}
}

/* Drops empty lines before a request (RFC 9112 section 2.2), which old clients send behind a body: the connection stays
 * idle until the request begins. */
static void client_skip_empty_lines(struct exchange *x)
{
	size_t n = 0;

	while (x->in_len - n >= 2 && !memcmp(x->in + n, "\r\n", 2))
		n += 2;
	x->in_len -= n;
	if (n)
		memmove(x->in, x->in + n, x->in_len);
}

static int client_grow_to(struct client *c, size_t cap)
{
	struct exchange *x = c->x;
	char *in = realloc(x->in, cap);

	if (!in) {
		client_close(c, false);
		return -1;
	}
	x->in = in;
	x->in_cap = cap;
	x->msg.base = in;
	return 0;
}

/* Writes text beyond ASCII in the target of a request as %XX; what is behind it in the buffer moves. False: the request
 * is refused, or the connection closed. */
static bool client_encode_target(struct client *c)
{
	struct exchange *x = c->x;
	size_t len = x->in_len - x->parsed;
	struct raw_part part;

	if (!raw_target_read(&x->target, x->in + x->parsed, len, &part)) {
		client_refuse(c, 400, client_has_method(x) ? "The request target is not valid UTF-8." :
		    "The request cannot be understood.");
		client_find_method(x);
		return false;
	}
	if (!part.beyond)
		return true;
	if (x->in_len + 2 * part.beyond > x->in_cap && client_grow_to(c, x->in_len + 2 * part.beyond))
		return false;
	raw_target_encode(x->in + x->parsed, len, &part);
	x->in_len += 2 * part.beyond;
	return true;
}

bool client_parse(struct client *c)
{
	struct exchange *x = c->x;
	bool first = c->state == CL_IDLE;
	size_t used;

	if (first && x)
		client_skip_empty_lines(x);
	if (!x || x->parsed == x->in_len) {
		if (!x || !x->in_len)
			client_idle(c);
		return false;
	}
	if (first) {
		client_unlist(c);
		client_enter(c, CL_HEAD);
		c->after = AFTER_STAYS;
		client_start(c);
		http_parser_start(x->parser, &x->msg, false);
		x->target = (struct raw_target){ 0 };
	}
	if (!client_encode_target(c))
		return true;
	x->msg.base = x->in;
	switch (http_parse(x->parser, x->in + x->parsed, x->in_len - x->parsed, &used)) {
	case PARSE_HEAD:
		client_request(c);
		return true;
	case PARSE_MORE:
		x->parsed += used;
		if (x->msg.target_len > client_conf(c)->max_url_bytes)
			client_refuse(c, 414, "The URL is too long.");
		else if (x->in_len >= client_conf(c)->max_header_bytes)
			client_refuse(c, 431, "The request header is too large.");
		else {
			if (first) {
				loop_arm(client_loop(c), &c->timer, client_conf(c)->request_timeout_ms);
				conn_acknowledge(c->conn);
			}
			return false;
		}
		break;
	default:
		client_refuse_error(c);
	}
	client_find_method(x);
	return true;
}

void client_read(struct client *c)
{
	while (!c->eof) {
		struct exchange *x = c->x;
		ssize_t n;

		if (!x) {
			if (client_open_exchange(c))
				return;
			x = c->x;
		}
		if (x->in_len == x->in_cap) {
			size_t max = client_in_max(c);

			if (x->in_cap >= max || client_grow_to(c, x->in_cap * 2 < max ? x->in_cap * 2 : max))
				return;
		}
		n = conn_read(c->conn, x->in + x->in_len, x->in_cap - x->in_len);
		if (n == CONN_AGAIN)
			return;
		if (n == CONN_FAILED) {
			client_close(c, false);
			return;
		}
		if (n == CONN_EOF) {
			c->eof = true;
			return;
		}
		x->in_len += (size_t)n;
		if (x->in_len < x->in_cap)
			return;
	}
}
