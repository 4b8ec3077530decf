/* A connection of the admin listener that speaks HTTP/2: each of its streams is a connection of its own, without a
 * socket; see admin_conn.h. */
#include "proxy/admin/admin_conn.h"

#include "proxy/http/h2_fields.h"
#include "proxy/net/conn.h"
#include "proxy/net/h2.h"

static void admin_on_stream(void *arg, struct conn *stream)
{
	struct admin_conn *session = arg;

	h2_say_why(stream, H2_WHY_CANCELLED);          /* only times and a want of room end it early */
	if (admin_conn_of_stream(session, stream))
		loop_disarm(session->admin->loop, &session->timer);
	else {
		h2_say_why(stream, H2_WHY_REFUSED);
		conn_abort(&stream);
	}
}

static void admin_on_streams_idle(void *arg)
{
	struct admin_conn *session = arg;

	loop_arm(session->admin->loop, &session->timer, ADMIN_IDLE_MS);
}

static void admin_on_streams_end(void *arg, bool lost)
{
	struct admin_conn *session = arg;

	if (lost) {
		admin_conn_free(session);
		return;
	}
	admin_end_streams(session);
	admin_begin_linger(session);
	conn_want(session->conn, true, false);
}

bool admin_begins_http2(struct admin_conn *conn)
{
	static const struct h2_settings settings = { .max_head = ADMIN_IN_BYTES - 1, .max_fields = ADMIN_FIELDS_MAX,
		.window = H2_REQUEST_WINDOW,
		.head_timeout_ms = ADMIN_REQUEST_MS, .write_timeout_ms = ADMIN_WRITE_MS, .secure = true };
	const struct h2_owner owner = { .opened = admin_on_stream, .idle = admin_on_streams_idle,
		.ended = admin_on_streams_end, .arg = conn };

	if (conn_protocol(conn->conn) != CONN_HTTP_2)
		return false;
	conn->h2 = h2_serve(conn->conn, conn->admin->loop, &settings, &h2_server_side, &owner);
	if (!conn->h2)
		admin_conn_free(conn);
	else {
		admin_enter(conn, ADMIN_STREAMS);
		admin_on_streams_idle(conn);
	}
	return true;
}

void admin_end_streams(struct admin_conn *session)
{
	struct admin_conn *conn;

	if (!session->h2)
		return;
	LIST_FOREACH(conn, &session->admin->conns, link)
		if (conn->session == session)
			conn->session = NULL;
	h2_free(&session->h2);
}
