/* Tunnels through a parent proxy; see parent_tunnel.h. */
#include "proxy/origin/parent_tunnel.h"

#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/http/http_parse.h"
#include "proxy/net/conn.h"
#include "proxy/net/socks.h"
#include "proxy/settings/parent.h"

enum {
	TUNNEL_HEAD_MAX = 16384,       /* of all that the parent says, interim responses included */
	TUNNEL_FIELDS_MAX = 100
};

struct parent_tunnel {
	struct conn *conn;             /* the caller's */
	bool speaks_socks;
	struct text request;           /* what is to be sent next */
	size_t sent;                   /* of it */
	struct socks socks;            /* SOCKS; what follows is for HTTP */
	struct http_parser *parser;
	struct http_msg msg;
	size_t len;                    /* of head */
	char head[TUNNEL_HEAD_MAX];
	struct failure failure;
	parent_tunnel_f *done;
	void *arg;
};

#define tunnel_fail(t, error, ...) \
	(failure_set(&(t)->failure, error, "parent proxy: " __VA_ARGS__), (t)->done((t)->arg, &(t)->failure))

static void tunnel_answered(struct parent_tunnel *t)
{
	if (t->msg.status == 407)
		tunnel_fail(t, FAILURE_PARENT_CREDENTIALS, "status 407");
	else if (t->msg.status / 100 != 2)
		tunnel_fail(t, FAILURE_PARENT_REFUSED, "status %u", t->msg.status);
	else
		t->done(t->arg, NULL);
}

/* Parses the bytes read from offset `from` on. False: more are needed. */
static bool tunnel_parse(struct parent_tunnel *t, size_t from)
{
	size_t used;

	for (;;) {
		switch (http_parse(t->parser, t->head + from, t->len - from, &used)) {
		case PARSE_MORE:
			return false;
		case PARSE_HEAD:
			if (t->msg.status / 100 != 1 || t->msg.status == 101) {
				tunnel_answered(t);
				return true;
			}
			from += used;
			http_parser_start(t->parser, &t->msg, false);
			t->msg.base = t->head + from;
			break;
		default:
			tunnel_fail(t, FAILURE_HTTP_PROTOCOL_ERROR, "%s", http_parser_reason(t->parser));
			return true;
		}
	}
}

/* How many bytes the head lacks at least. No more are read at a time: bytes behind the head are the destination's. */
static size_t tunnel_missing(const struct parent_tunnel *t)
{
	static const char end[] = { '\r', '\n', '\r', '\n' };
	const char *at = t->head + t->len;
	size_t matched = (size_t)(at - t->msg.base) < sizeof end - 1 ? (size_t)(at - t->msg.base) : sizeof end - 1;

	while (matched && memcmp(at - matched, end, matched))
		matched--;
	return sizeof end - matched;
}

/* Writes the request. If the parent takes no more, its answer is still to be read. */
static void tunnel_write(struct parent_tunnel *t)
{
	struct iovec rest = { t->request.bytes + t->sent, t->request.len - t->sent };
	ssize_t n = conn_writev(t->conn, &rest, 1);

	if (n > 0)
		t->sent += (size_t)n;
	conn_want(t->conn, true, n != CONN_FAILED && t->sent < t->request.len);
}

/* Reads as many bytes as are needed at least. False: there are none yet, or the tunnel has failed. */
static bool tunnel_read(struct parent_tunnel *t, void *to, size_t len, size_t *got)
{
	ssize_t n = conn_read(t->conn, to, len);

	if (n == CONN_AGAIN)
		return false;
	if (n == CONN_EOF || n == CONN_FAILED) {
		tunnel_fail(t, FAILURE_CONNECTION_TERMINATED, "closed before it answered CONNECT");
		return false;
	}
	*got = (size_t)n;
	return true;
}

static void tunnel_read_http(struct parent_tunnel *t)
{
	for (;;) {
		size_t from = t->len, missing = tunnel_missing(t), got;

		if (missing > sizeof t->head - from) {
			tunnel_fail(t, FAILURE_HTTP_HEADER_SIZE, "over %zu bytes", sizeof t->head);
			return;
		}
		if (!tunnel_read(t, t->head + from, missing, &got))
			return;
		t->len += got;
		if (tunnel_parse(t, from))
			return;
	}
}

/* Goes on after an answer that was right. False: the tunnel has failed. */
static bool tunnel_say(struct parent_tunnel *t)
{
	if (t->request.failed) {
		tunnel_fail(t, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
		return false;
	}
	tunnel_write(t);
	return true;
}

static void tunnel_read_socks(struct parent_tunnel *t)
{
	for (;;) {
		struct failure why;
		size_t room, got;
		uint8_t *to = socks_room(&t->socks, &room);

		if (!tunnel_read(t, to, room, &got))
			return;
		switch (socks_take(&t->socks, got, &t->request, &why)) {
		case SOCKS_MORE:
			break;
		case SOCKS_SAYS:
			if (!tunnel_say(t))
				return;
			break;
		case SOCKS_OPEN:
			t->done(t->arg, NULL);
			return;
		case SOCKS_FAILED:
			tunnel_fail(t, why.error, "%s", why.details);
			return;
		}
	}
}

static void parent_tunnel_on_conn(void *arg, enum conn_event event)
{
	struct parent_tunnel *t = arg;

	if (event == CONN_WRITABLE)
		tunnel_write(t);
	else if (t->speaks_socks)
		tunnel_read_socks(t);
	else
		tunnel_read_http(t);
}

static void tunnel_ask_http(struct text *t, const struct conf_parent *parent, const char *host, uint16_t port)
{
	const char *open = strchr(host, ':') ? "[" : "", *close = *open ? "]" : "";

	text_printf(t, "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\nUser-Agent: utfeed/" PACKAGE_VERSION "\r\n",
	    open, host, close, port, open, host, close, port);
	parent_add_credentials(t, parent);
	text_puts(t, "\r\n");
}

static int tunnel_start_http(struct parent_tunnel *t)
{
	if (!(t->parser = http_parser_new(false, NULL, NULL)) || http_msg_init(&t->msg, TUNNEL_FIELDS_MAX))
		return -1;
	t->msg.base = t->head;
	http_parser_start(t->parser, &t->msg, false);
	return 0;
}

struct parent_tunnel *parent_tunnel_open(struct conn *conn, const struct conf_parent *parent, const char *host,
    uint16_t port, parent_tunnel_f *done, void *arg)
{
	struct parent_tunnel *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->conn = conn;
	t->done = done;
	t->arg = arg;
	t->speaks_socks = parent->kind == CONF_PARENT_SOCKS;
	if (t->speaks_socks)
		socks_begin(&t->socks, parent->credentials, host, port, &t->request);
	else
		tunnel_ask_http(&t->request, parent, host, port);
	if (t->request.failed || (!t->speaks_socks && tunnel_start_http(t))) {
		parent_tunnel_free(&t);
		return NULL;
	}
	conn_set_owner(conn, parent_tunnel_on_conn, t);
	conn_want(conn, true, true);
	return t;
}

void parent_tunnel_free(struct parent_tunnel **tp)
{
	struct parent_tunnel *t = *tp;

	if (!t)
		return;
	*tp = NULL;
	http_parser_free(&t->parser);
	http_msg_free(&t->msg);
	text_free(&t->request);
	free(t);
}
