/* Tunnels through a parent proxy; see parent_tunnel.h. */
#include "proxy/origin/parent_tunnel.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/http/http_parse.h"
#include "proxy/net/conn.h"
#include "proxy/settings/parent.h"

enum {
	TUNNEL_HEAD_MAX = 16384,       /* of all that the parent says, interim responses included */
	TUNNEL_FIELDS_MAX = 100
};

struct parent_tunnel {
	struct conn *conn;             /* the caller's */
	struct http_parser *parser;
	struct http_msg msg;
	char *request;
	size_t request_len, sent;
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

static void tunnel_read(struct parent_tunnel *t)
{
	for (;;) {
		size_t from = t->len;
		size_t missing = tunnel_missing(t);
		ssize_t n;

		if (missing > sizeof t->head - from) {
			tunnel_fail(t, FAILURE_HTTP_HEADER_SIZE, "over %zu bytes", sizeof t->head);
			return;
		}
		n = conn_read(t->conn, t->head + from, missing);
		if (n == CONN_AGAIN)
			return;
		if (n == CONN_EOF || n == CONN_FAILED) {
			tunnel_fail(t, FAILURE_CONNECTION_TERMINATED, "closed before it answered CONNECT");
			return;
		}
		t->len += (size_t)n;
		if (tunnel_parse(t, from))
			return;
	}
}

/* Writes the request. If the parent takes no more, its answer is still to be read. */
static void tunnel_write(struct parent_tunnel *t)
{
	struct iovec rest = { t->request + t->sent, t->request_len - t->sent };
	ssize_t n = conn_writev(t->conn, &rest, 1);

	if (n > 0)
		t->sent += (size_t)n;
	conn_want(t->conn, true, n != CONN_FAILED && t->sent < t->request_len);
}

static void parent_tunnel_on_conn(void *arg, enum conn_event event)
{
	struct parent_tunnel *t = arg;

	if (event == CONN_WRITABLE)
		tunnel_write(t);
	else
		tunnel_read(t);
}

static char *tunnel_request(const struct conf_parent *parent, const char *host, uint16_t port, size_t *len)
{
	const char *open = strchr(host, ':') ? "[" : "", *close = *open ? "]" : "";
	struct text t = { 0 };

	text_printf(&t, "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\nUser-Agent: utfeed/" PACKAGE_VERSION "\r\n",
	    open, host, close, port, open, host, close, port);
	parent_add_credentials(&t, parent);
	text_puts(&t, "\r\n");
	return text_take(&t, len);
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
	if (!(t->request = tunnel_request(parent, host, port, &t->request_len)) ||
	    !(t->parser = http_parser_new(false, NULL, NULL)) || http_msg_init(&t->msg, TUNNEL_FIELDS_MAX)) {
		parent_tunnel_free(&t);
		return NULL;
	}
	t->msg.base = t->head;
	http_parser_start(t->parser, &t->msg, false);
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
	free(t->request);
	free(t);
}
