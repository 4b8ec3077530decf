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
#include "proxy/http/key_directory.h"
#include "proxy/net/conn.h"
#include "proxy/net/h2.h"
#include "proxy/settings/settings.h"

#define H2C_IS_OFF "HTTP/2 needs TLS here. To allow it without, write in utfeed's configuration: h2c = on"

/* The longest target of any request, in bytes. */
enum { TARGET_MAX = 64 * 1024 };

void client_refuse(struct client *c, int status, const char *text)
{
	stats_add(loop_stats(client_loop(c)), STAT_REQUESTS_BAD, 1);
	log_step(&c->exchange->id, "request: refused, %d: %s", status, text);
	client_ends(c, AFTER_LINGERS);
	client_take_object(c, local_reply(client_context(c), status, "", text, ""));
}

void client_refuse_stranger(struct client *c, const struct requester *who)
{
	char text[2 * REQUESTER_TEXT_MAX + 128], address[REQUESTER_TEXT_MAX];
	const char *name = requester_address(who, address);

	if (*name)
		snprintf(text, sizeof text,
		    "The address %s may not use this proxy. To allow it, write in utfeed's configuration: "
		    "client-allow = %s",
		    name, name);
	else
		snprintf(text, sizeof text, "The proxy in front does not name its client (client-field).");
	client_refuse(c, 403, text);
}

/* Whether the bytes begin with a word that could be a method; if not, they are no HTTP at all. */
static bool client_has_method(const struct exchange *exchange)
{
	size_t n = 0;

	while (n < exchange->in_len &&
	    ((exchange->in[n] >= 'A' && exchange->in[n] <= 'Z') || exchange->in[n] == '-' || exchange->in[n] == '_'))
		n++;
	return n && n < exchange->in_len && exchange->in[n] == ' ';
}

/* Whether the client begins with HTTP/2 where only the option h2c stands against it (RFC 9113 section 3.4). */
static bool client_wants_h2c(const struct client *c)
{
	static const char preface[] = "PRI * HTTP/2";

	return c->channel == CHANNEL_PLAIN && !client_conf(c)->h2c && c->exchange->in_len >= sizeof preface - 1 &&
	    !memcmp(c->exchange->in, preface, sizeof preface - 1);
}

static void client_refuse_error(struct client *c)
{
	switch (http_parser_error(c->exchange->parser)) {
	case HTTP_E_METHOD:
		if (client_has_method(c->exchange))
			client_refuse(c, 501, "This method is not known here.");
		else
			client_refuse(c, 400, "The request cannot be understood.");
		break;
	case HTTP_E_VERSION:
		client_refuse(c, 505, client_wants_h2c(c) ? H2C_IS_OFF : "Only HTTP/1.0 and HTTP/1.1 are spoken here.");
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
void client_find_method(struct exchange *exchange)
{
	const char *at = exchange->in;

	while (at < exchange->in + exchange->msg.target && (*at == '\r' || *at == '\n'))
		at++;
	exchange->msg.method_at = (uint32_t)(at - exchange->in);
	while (at < exchange->in + exchange->in_len && *at != ' ' && *at != '\r' && *at != '\n')
		at++;
	exchange->msg.method_len = (uint32_t)(at - exchange->in) - exchange->msg.method_at;
	if (exchange->msg.method_len == 4 && !memcmp(exchange->in + exchange->msg.method_at, "HEAD", 4))
		exchange->msg.method = METHOD_HEAD;
}

void client_note_line(struct exchange *exchange, struct slice method, struct slice target)
{
	struct text line = text_on(exchange->in, exchange->in_cap);

	text_add(&line, method.at, method.len);
	text_add(&line, " ", 1);
	exchange->msg.target = (uint32_t)line.len;
	text_add(&line, target.at, target.len < line.cap - line.len ? target.len : line.cap - line.len);
	exchange->msg.target_len = (uint32_t)line.len - exchange->msg.target;
	exchange->msg.base = exchange->in;
	exchange->in_len = line.len;
	client_find_method(exchange);
}

static void client_tell_request(struct client *c)
{
	struct exchange *exchange = c->exchange;
	char method[ACCESS_METHOD_MAX], target[ACCESS_TARGET_MAX];

	log_escape(method, sizeof method, exchange->in + exchange->msg.method_at, exchange->msg.method_len);
	access_target(target, http_msg_target(&exchange->msg));
	log_step(&exchange->id, "request: %s %s from %s", method, target, conn_peer(c->conn));
}

/* Answers 429 to a client that asks too often. The connection stays, unless what would come next on it cannot be a
 * request. The handshake of a connection counted for its first request, unless many clients come over it. False: the
 * client may ask. */
static bool client_slows_down(struct client *c)
{
	bool paid = c->channel != CHANNEL_PLAIN && c->id.request == 1 &&
	    !requester_is_trusted(&c->who, client_conf(c));
	struct failure why;
	unsigned wait_s;

	if (paid || client_within_rate(&c->exchange->ctx, &c->exchange->who, &wait_s))
		return false;
	failure_set(&why, FAILURE_CLIENT_RATE, "client-rate");
	why.retry_after_s = wait_s;
	stats_add(loop_stats(client_loop(c)), STAT_REQUESTS_HURRIED, 1);
	log_step(&c->exchange->id, "request: refused, 429: client-rate");
	if (client_has_more(c->exchange))
		client_ends(c, AFTER_LINGERS);
	client_take_object(c, local_reply_failure(&c->exchange->ctx, &why));
	return true;
}

void client_carry_out(struct client *c)
{
	struct exchange *exchange = c->exchange;
	bool has_body = client_has_body(exchange);

	if (client_inside_ends(c, has_body))
		return;
	if (exchange->msg.method == METHOD_CONNECT) {
		client_connect(c);
		return;
	}
	if (has_body && client_open_body(c)) {
		client_close(c, false);
		return;
	}
	answer_start(&exchange->answer,
	    &(struct answer_asked){ .ctx = &exchange->ctx,
	        .request = &exchange->request,
	        .who = &exchange->who,
	        .body = exchange->body,
	        .inside = c->opened ? &c->opened->to : NULL,
	        .ready = client_on_answer,
	        .owner = c });
	client_take_answer(c);
	if (c->state != CL_WAIT || !exchange->body || !c->reader.object)
		return;
	if (object_phase(c->reader.object) == OBJECT_WAITING)
		client_say_continue(c);
	else {
		/* The request was answered without its body, which stays unread. */
		client_drop_body(c);
		client_ends(c, AFTER_LINGERS);
	}
}

/* The parser may have had all of a head at once, in a buffer that is larger than the limit. */
static bool client_head_is_too_long(const struct client *c)
{
	return c->stream ? h2_head_is_cut(c->conn) :
	    c->exchange->msg.head_len > client_conf(c)->max_header_bytes;
}

static bool client_target_is_too_long(const struct client *c)
{
	size_t most = client_conf(c)->max_header_bytes / 4;

	return c->exchange->msg.target_len > (most < TARGET_MAX ? most : TARGET_MAX);
}

/* Verifiers have no password. */
static bool client_asks_for_keys(const struct client *c)
{
	return !c->opened && request_reads(&c->exchange->request) &&
	    key_directory_is(client_conf(c), &c->exchange->msg);
}

static void client_request(struct client *c)
{
	struct exchange *exchange = c->exchange;
	struct http_msg *m = &exchange->msg;

	stats_add(loop_stats(client_loop(c)), STAT_REQUESTS, 1);
	exchange->ctx = c->pool->ctx;
	settings_ref(exchange->ctx.settings);
	exchange->ctx.secure = c->channel != CHANNEL_PLAIN;
	exchange->ctx.id = exchange->id;
	exchange->ctx.trace = &exchange->trace;
	exchange->ctx.timing = client_times(c) ? &exchange->timing : NULL;
	client_find_method(exchange);
	exchange->request.token_at = exchange->request.token_len = 0;
	client_hide_referer(m);
	if (client_has_users(c))
		client_hide_token(c);
	if (log_is(LOG_LEVEL_DEBUG))
		client_tell_request(c);
	request_read(&exchange->request, m);
	if (!m->keep_alive || c->pool->leaving || c->stream)
		client_ends(c, AFTER_CLOSES);
	if (client_head_is_too_long(c)) {
		client_refuse(c, 431, "The request header is too large.");
		return;
	}
	if (client_target_is_too_long(c)) {
		client_refuse(c, 414, "The URL is too long.");
		return;
	}
	/* GET, HEAD, TRACE and CONNECT may not have a body here. */
	if (client_has_body(exchange) && m->method != METHOD_OTHER) {
		client_refuse(c, 413, "A request with a body is not taken here.");
		return;
	}
	requester_read(&exchange->who, client_conf(c), m);
	exchange->trace.accepted =
	    client_conf(c)->trace_allow.count && requester_in(&exchange->who, &client_conf(c)->trace_allow);
	if (client_conf(c)->trusted_proxies.count && !requester_in(&exchange->who, &client_conf(c)->client_allow)) {
		stats_add(loop_stats(client_loop(c)), STAT_CLIENTS_FORBIDDEN, 1);
		client_refuse_stranger(c, &c->exchange->who);
		return;
	}
	if (client_slows_down(c))
		return;
	if (!client_has_users(c) || client_asks_for_keys(c) || !client_must_log_in(c))
		client_carry_out(c);
}

/* Drops empty lines before a request (RFC 9112 section 2.2), which old clients send behind a body: the connection stays
 * idle until the request begins. */
static void client_skip_empty_lines(struct exchange *exchange)
{
	size_t n = 0;

	while (exchange->in_len - n >= 2 && !memcmp(exchange->in + n, "\r\n", 2))
		n += 2;
	exchange->in_len -= n;
	if (n)
		memmove(exchange->in, exchange->in + n, exchange->in_len);
}

static int client_grow_to(struct client *c, size_t cap)
{
	struct exchange *exchange = c->exchange;
	char *in = realloc(exchange->in, cap);

	if (!in) {
		client_close(c, false);
		return -1;
	}
	exchange->in = in;
	exchange->in_cap = cap;
	exchange->msg.base = in;
	return 0;
}

/* Writes text beyond ASCII in the target of a request as %XX; what is behind it in the buffer moves. False: the request
 * is refused, or the connection closed. */
static bool client_encode_target(struct client *c)
{
	struct exchange *exchange = c->exchange;
	size_t len = exchange->in_len - exchange->parsed;
	struct raw_part part;

	if (!raw_target_read(&exchange->target, exchange->in + exchange->parsed, len, &part)) {
		client_refuse(c, 400, client_has_method(exchange) ? "The request target is not valid UTF-8." :
		    "The request cannot be understood.");
		client_find_method(exchange);
		return false;
	}
	if (!part.beyond)
		return true;
	if (exchange->in_len + 2 * part.beyond > exchange->in_cap &&
	    client_grow_to(c, exchange->in_len + 2 * part.beyond))
		return false;
	raw_target_encode(exchange->in + exchange->parsed, len, &part);
	exchange->in_len += 2 * part.beyond;
	return true;
}

bool client_parse(struct client *c)
{
	struct exchange *exchange = c->exchange;
	bool first = c->state == CL_IDLE;
	size_t used;

	if (first && exchange && client_conf(c)->h2c) {
		enum client_preface preface = client_prefaces(c);

		if (preface != PREFACE_NONE)
			return preface == PREFACE_TAKEN;
	}
	if (first && exchange)
		client_skip_empty_lines(exchange);
	if (!exchange || exchange->parsed == exchange->in_len) {
		if (!exchange || !exchange->in_len)
			client_idle(c);
		return false;
	}
	if (first) {
		client_unlist(c);
		client_enter(c, CL_HEAD);
		c->after = AFTER_STAYS;
		client_start(c);
		http_parser_start(exchange->parser, &exchange->msg, false);
		exchange->msg.h2 = c->stream;
		exchange->target = (struct raw_target){ 0 };
	}
	if (!client_encode_target(c))
		return true;
	exchange->msg.base = exchange->in;
	switch (
	    http_parse(exchange->parser, exchange->in + exchange->parsed, exchange->in_len - exchange->parsed, &used)) {
	case PARSE_HEAD:
		client_request(c);
		return true;
	case PARSE_MORE:
		exchange->parsed += used;
		if (client_target_is_too_long(c))
			client_refuse(c, 414, "The URL is too long.");
		else if (exchange->in_len >= client_conf(c)->max_header_bytes)
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
	client_find_method(exchange);
	return true;
}

void client_read(struct client *c)
{
	while (!c->eof) {
		struct exchange *exchange = c->exchange;
		ssize_t n;

		if (!exchange) {
			if (client_open_exchange(c))
				return;
			exchange = c->exchange;
		}
		if (exchange->in_len == exchange->in_cap) {
			size_t max = client_in_max(c);

			if (exchange->in_cap >= max ||
			    client_grow_to(c, exchange->in_cap * 2 < max ? exchange->in_cap * 2 : max))
				return;
		}
		n = conn_read(c->conn, exchange->in + exchange->in_len, exchange->in_cap - exchange->in_len);
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
		exchange->in_len += (size_t)n;
		if (exchange->in_len < exchange->in_cap)
			return;
	}
}
