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

static void tunnel_answered(struct parent_tunnel *tunnel)
{
	if (tunnel->msg.status == 407)
		tunnel_fail(tunnel, FAILURE_PARENT_CREDENTIALS, "status 407");
	else if (tunnel->msg.status / 100 != 2)
		tunnel_fail(tunnel, FAILURE_PARENT_REFUSED, "status %u", tunnel->msg.status);
	else
		tunnel->done(tunnel->arg, NULL);
}

/* Parses the bytes read from offset `from` on. True: the parent has answered, or the tunnel failed. */
static bool tunnel_ends(struct parent_tunnel *tunnel, size_t from)
{
	size_t used;

	for (;;) {
		switch (http_parse(tunnel->parser, tunnel->head + from, tunnel->len - from, &used)) {
		case PARSE_MORE:
			return false;
		case PARSE_HEAD:
			if (tunnel->msg.status / 100 != 1 || tunnel->msg.status == 101) {
				tunnel_answered(tunnel);
				return true;
			}
			from += used;
			http_parser_start(tunnel->parser, &tunnel->msg, false);
			tunnel->msg.base = tunnel->head + from;
			break;
		default:
			tunnel_fail(tunnel, FAILURE_HTTP_PROTOCOL_ERROR, "%s", http_parser_reason(tunnel->parser));
			return true;
		}
	}
}

/* How many bytes the head lacks at least. No more are read at a time: bytes behind the head are the destination's. */
static size_t tunnel_missing(const struct parent_tunnel *tunnel)
{
	static const char end[] = { '\r', '\n', '\r', '\n' };
	const char *at = tunnel->head + tunnel->len;
	size_t len = (size_t)(at - tunnel->msg.base), matched = len < sizeof end - 1 ? len : sizeof end - 1;

	while (matched && memcmp(at - matched, end, matched))
		matched--;
	return sizeof end - matched;
}

/* Writes the request. If the parent takes no more, its answer is still to be read. */
static void tunnel_write(struct parent_tunnel *tunnel)
{
	struct iovec rest = { tunnel->request.bytes + tunnel->sent, tunnel->request.len - tunnel->sent };
	ssize_t n = conn_writev(tunnel->conn, &rest, 1);

	if (n > 0)
		tunnel->sent += (size_t)n;
	conn_want(tunnel->conn, true, n != CONN_FAILED && tunnel->sent < tunnel->request.len);
}

/* Reads as many bytes as are needed at least. False: there are none yet, or the tunnel has failed. */
static bool tunnel_read(struct parent_tunnel *tunnel, void *to, size_t len, size_t *got)
{
	ssize_t n = conn_read(tunnel->conn, to, len);

	if (n == CONN_AGAIN)
		return false;
	if (n == CONN_EOF || n == CONN_FAILED) {
		tunnel_fail(tunnel, FAILURE_CONNECTION_TERMINATED, "closed before it answered CONNECT");
		return false;
	}
	*got = (size_t)n;
	return true;
}

static void tunnel_read_http(struct parent_tunnel *tunnel)
{
	for (;;) {
		size_t from = tunnel->len, missing = tunnel_missing(tunnel), got;

		if (missing > sizeof tunnel->head - from) {
			tunnel_fail(tunnel, FAILURE_HTTP_HEADER_SIZE, "over %zu bytes", sizeof tunnel->head);
			return;
		}
		if (!tunnel_read(tunnel, tunnel->head + from, missing, &got))
			return;
		tunnel->len += got;
		if (tunnel_ends(tunnel, from))
			return;
	}
}

static void tunnel_read_socks(struct parent_tunnel *tunnel)
{
	for (;;) {
		struct failure why;
		size_t room, got;
		uint8_t *to = socks_room(&tunnel->socks, &room);

		if (!tunnel_read(tunnel, to, room, &got))
			return;
		switch (socks_take(&tunnel->socks, got, &tunnel->request, &why)) {
		case SOCKS_MORE:
			break;
		case SOCKS_SAYS:
			if (tunnel->request.failed) {
				tunnel_fail(tunnel, FAILURE_PROXY_INTERNAL_ERROR, "out of memory");
				return;
			}
			tunnel_write(tunnel);
			break;
		case SOCKS_OPEN:
			tunnel->done(tunnel->arg, NULL);
			return;
		case SOCKS_FAILED:
			tunnel_fail(tunnel, why.error, "%s", why.details);
			return;
		}
	}
}

static void parent_tunnel_on_conn(void *arg, enum conn_event event)
{
	struct parent_tunnel *tunnel = arg;

	if (event == CONN_WRITABLE)
		tunnel_write(tunnel);
	else if (tunnel->speaks_socks)
		tunnel_read_socks(tunnel);
	else
		tunnel_read_http(tunnel);
}

static void tunnel_ask_http(struct text *text, const struct conf_parent *parent, const char *host, uint16_t port)
{
	const char *open = strchr(host, ':') ? "[" : "", *close = *open ? "]" : "";

	text_printf(text, "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\nUser-Agent: utfeed/" PACKAGE_VERSION "\r\n",
	    open, host, close, port, open, host, close, port);
	parent_add_credentials(text, parent);
	text_puts(text, "\r\n");
}

static int tunnel_start_http(struct parent_tunnel *tunnel)
{
	if (!(tunnel->parser = http_parser_new(false, NULL, NULL)) || http_msg_init(&tunnel->msg, TUNNEL_FIELDS_MAX))
		return -1;
	tunnel->msg.base = tunnel->head;
	http_parser_start(tunnel->parser, &tunnel->msg, false);
	return 0;
}

struct parent_tunnel *parent_tunnel_open(struct conn *conn, const struct conf_parent *parent, const char *host,
    uint16_t port, parent_tunnel_f *done, void *arg)
{
	struct parent_tunnel *tunnel = calloc(1, sizeof *tunnel);

	if (!tunnel)
		return NULL;
	tunnel->conn = conn;
	tunnel->done = done;
	tunnel->arg = arg;
	tunnel->speaks_socks = parent->kind == CONF_PARENT_SOCKS;
	if (tunnel->speaks_socks)
		socks_begin(&tunnel->socks, parent->credentials, host, port, &tunnel->request);
	else
		tunnel_ask_http(&tunnel->request, parent, host, port);
	if (tunnel->request.failed || (!tunnel->speaks_socks && tunnel_start_http(tunnel))) {
		parent_tunnel_free(&tunnel);
		return NULL;
	}
	conn_set_owner(conn, parent_tunnel_on_conn, tunnel);
	conn_want(conn, true, true);
	return tunnel;
}

void parent_tunnel_free(struct parent_tunnel **tp)
{
	struct parent_tunnel *tunnel = *tp;

	if (!tunnel)
		return;
	*tp = NULL;
	http_parser_free(&tunnel->parser);
	http_msg_free(&tunnel->msg);
	text_free(&tunnel->request);
	free(tunnel);
}
