/* A stream as a connection: its transport, and what its owner hears; see h2_internal.h. */
#include "proxy/net/h2_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/bodies.h"
#include "proxy/base/container_of.h"

static void h2_stream_free(struct h2_stream *stream)
{
	if (stream->conn || stream->session)
		return;
	bodies_promise(stream->promised, 0);
	text_free(&stream->raw);
	free(stream->spans);
	held_free(&stream->in);
	text_free(&stream->lines);
	text_free(&stream->names);
	free(stream);
}

/* Where a request ends, its connection goes on, so that the reader learns of a reset. A tunnel ends, and tells the
 * other side. So does a response. */
static bool h2_has_ended(const struct h2_stream *stream)
{
	return stream->read_ended && (stream->tunnels || stream->answered);
}

/* Bytes that its connection gives now. */
static size_t h2_readable(const struct h2_stream *stream)
{
	return stream->in.len - stream->in_read - (stream->whole && !stream->read_ended);
}

static bool h2_has_input(const struct h2_stream *stream)
{
	return h2_readable(stream) || h2_has_ended(stream) || stream->failed;
}

static bool h2_is_readable(const struct h2_stream *stream)
{
	return (stream->conn->want_read && h2_has_input(stream)) || (stream->conn->want_write && stream->failed);
}

static bool h2_is_writable(const struct h2_stream *stream)
{
	return stream->conn->want_write && !stream->waits && !stream->failed;
}

/* Where both events are due, they come in turn. The owner may close the connection, and so free the stream, in its
 * callback. */
static void h2_stream_on_task(struct task *task)
{
	struct h2_stream *stream = container_of(task, struct h2_stream, task);
	struct conn *conn = stream->conn;

	if (!conn)
		return;
	bool writable = h2_is_writable(stream);
	if (writable && h2_is_readable(stream)) {
		loop_defer(conn->loop, task);
		writable = stream->told_readable;
	}
	if (!writable && !h2_is_readable(stream))
		return;
	stream->told_readable = !writable;
	conn->on_event(conn->arg, writable ? CONN_WRITABLE : CONN_READABLE);
}

struct h2_stream *h2_stream_new(struct h2 *h2, int32_t id)
{
	struct h2_stream *stream = calloc(1, sizeof *stream);

	if (!stream)
		return NULL;
	stream->session = h2;
	stream->id = id;
	stream->task.run = h2_stream_on_task;
	stream->urgency = H2_URGENCY_DEFAULT;
	stream->code = NGHTTP2_INTERNAL_ERROR;
	TAILQ_INSERT_TAIL(&h2->streams, stream, link);
	h2->n++;
	return stream;
}

void h2_stream_end(struct h2_stream *stream, bool failed)
{
	struct h2 *h2 = stream->session;

	if (!stream->closed && stream->id)
		nghttp2_session_set_stream_user_data(h2->ng, stream->id, NULL);
	TAILQ_REMOVE(&h2->streams, stream, link);
	h2->n--;
	h2_stream_set_waits(stream, false);
	h2_stream_set_times(stream, 0, 0);
	stream->session = NULL;
	stream->fresh = false;
	stream->closed = true;
	stream->failed |= failed;
	if (stream->conn) {
		h2->open--;
		loop_defer(stream->conn->loop, &stream->task);
	}
	h2_stream_free(stream);
}

void h2_stream_reset(struct h2_stream *stream, uint32_t code)
{
	if (stream->session->asks)
		h2_ask_count_reset(stream);
	if (nghttp2_submit_rst_stream(stream->session->ng, NGHTTP2_FLAG_NONE, stream->id, code))
		h2_fail(stream->session, NGHTTP2_INTERNAL_ERROR);
}

void h2_stream_wake(struct h2_stream *stream)
{
	if (stream->conn)
		loop_defer(stream->session->loop, &stream->task);
}

void h2_stream_set_waits(struct h2_stream *stream, bool waits)
{
	if (stream->session)
		stream->session->waiting += (size_t)waits - (size_t)stream->waits;
	stream->waits = waits;
}

void h2_stream_set_times(struct h2_stream *stream, uint64_t began_ms, uint64_t done_ms)
{
	stream->session->timed += (size_t)(began_ms || done_ms) - (size_t)(stream->began_ms || stream->done_ms);
	stream->began_ms = began_ms;
	stream->done_ms = done_ms;
}

/* Wakes a writer that waits, if its window has room. How many bytes of a body it may write. */
static size_t h2_wake_writer(struct h2_stream *stream)
{
	int32_t window = nghttp2_session_get_stream_remote_window_size(stream->session->ng, stream->id);

	if (!stream->waits || (window <= 0 && stream->writing != H2_HEAD))
		return 0;
	h2_stream_set_waits(stream, false);
	h2_stream_wake(stream);
	if (window <= 0 || !stream->conn || !stream->conn->want_write)
		return 0;
	return stream->writing == H2_LENGTH && stream->left < (uint64_t)window ? (size_t)stream->left : (size_t)window;
}

/* Wakes no more writers than there is room for. If they write less, h2_go_on() leads here again. */
void h2_wake_writers(struct h2 *h2)
{
	int32_t window = nghttp2_session_get_remote_window_size(h2->ng);
	size_t room = h2->out.len < H2_OUT_BYTES ? H2_OUT_BYTES - h2->out.len : 0, woken = 0;
	struct h2_stream *stream;

	if (!h2->waiting || window <= 0)
		return;
	if ((size_t)window < room)
		room = (size_t)window;
	for (unsigned urgency = 0; urgency < H2_URGENCIES; urgency++)
		TAILQ_FOREACH(stream, &h2->streams, link)
			if (stream->urgency == urgency && woken < room)
				woken += h2_wake_writer(stream);
}

/* ---- the transport ---- */

static int h2_stream_handshake(struct conn *conn)
{
	(void)conn;
	return 0;
}

/* SETTINGS that promise less count for nghttp2 once the peer has acknowledged them, and for the peer before. A window
 * that would change by less than the half stays as it is: its peer need not hear of each stream that comes and goes.
 * Where memory runs out the peer has the smaller window, which is enough to go on. */
void h2_stream_promise(struct h2_stream *stream)
{
	const struct h2 *h2 = stream->session;
	size_t had = stream->promised, share = bodies_promise(had, h2->settings.window);
	uint32_t begun = nghttp2_session_get_local_settings(h2->ng, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);

	if (share / 2 < had && had / 2 < share)
		share = bodies_promise(share, had);
	stream->promised = share;
	if (share != had)
		(void)nghttp2_session_set_local_window_size(h2->ng, NGHTTP2_FLAG_NONE, stream->id,
		    (int32_t)(share + begun - H2_WINDOW_FIRST));
}

/* All that came was read: the stream's window is as large as at the beginning again. */
static void h2_give_back(struct h2_stream *stream)
{
	if (stream->session && stream->unread) {
		nghttp2_session_consume_stream(stream->session->ng, stream->id, stream->unread);
		if (stream->session->asks)
			h2_stream_promise(stream);
		h2_pull(stream->session);
	}
	stream->unread = stream->chunk_bytes = 0;
}

static ssize_t h2_stream_read(struct conn *conn, void *buf, size_t cap)
{
	struct h2_stream *stream = conn->stream;
	size_t n = h2_readable(stream);

	if (!n) {
		conn->drained = !h2_has_input(stream);
		conn->err = ECONNRESET;
		return stream->failed ? CONN_FAILED : h2_has_ended(stream) ? CONN_EOF : CONN_AGAIN;
	}
	if (n > cap)
		n = cap;
	memcpy(buf, stream->in.bytes + stream->in_read, n);
	stream->in_read += n;
	if (stream->in_read == stream->in.len) {
		stream->in_read = 0;
		held_free(&stream->in);
		h2_give_back(stream);
	}
	if (h2_has_input(stream))
		loop_defer(conn->loop, &stream->task);
	else
		conn->drained = true;
	return (ssize_t)n;
}

static void h2_stream_shutdown(struct conn *conn)
{
	struct h2_stream *stream = conn->stream;

	if (stream->session && h2_stream_finish(stream))
		h2_pull(stream->session);
}

static bool h2_stream_pending(const struct conn *conn)
{
	return h2_is_readable(conn->stream) || h2_is_writable(conn->stream);
}

static void h2_stream_resume(struct conn *conn)
{
	loop_defer(conn->loop, &conn->stream->task);
}

static const struct failure *h2_stream_failure(const struct conn *conn)
{
	static const struct failure reset = { .error = FAILURE_NONE, .details = "the stream was reset" };
	const struct h2_stream *stream = conn->stream;

	return !stream->failed ? NULL : stream->why.details[0] ? &stream->why : &reset;
}

void h2_stream_no_more(struct h2_stream *stream)
{
	if (!stream->read_ended)
		h2_stream_reset(stream, NGHTTP2_NO_ERROR);
}

/* Closed before its message was whole: the peer must not take what it has for complete. */
static void h2_stream_close(struct conn *conn)
{
	struct h2_stream *stream = conn->stream;
	struct h2 *h2 = stream->session;

	stream->conn = NULL;
	stream->dropped = true;
	if (h2)
		h2_stream_set_times(stream, stream->began_ms, loop_now_ms(conn->loop));
	held_free(&stream->in);
	stream->in_read = 0;
	loop_forget_own(conn->loop, &stream->task);
	assert(task_is_out(&stream->task));
	if (!h2)
		h2_stream_free(stream);
	else {
		int32_t id = stream->id;

		if (h2->asks)
			h2_ask_close(stream);
		else if (!stream->ends)
			h2_stream_reset(stream, stream->held_back ? NGHTTP2_REFUSED_STREAM : stream->code);
		else if (nghttp2_session_get_stream_local_close(h2->ng, stream->id) == 1)
			h2_stream_no_more(stream);
		h2->open--;
		h2_pull(h2);           /* which may free it */
		if (nghttp2_session_find_stream(h2->ng, id))
			h2_arm(h2);
	}
}

/* Its bytes are those of HTTP/1.1. */
static enum conn_protocol h2_stream_protocol(const struct conn *conn)
{
	(void)conn;
	return CONN_HTTP_1;
}

static const struct conn_transport conn_h2 = {
	h2_stream_handshake, h2_stream_read, h2_stream_writev, h2_stream_shutdown, h2_stream_pending, h2_stream_resume,
	h2_stream_failure, h2_stream_close, h2_stream_protocol
};

bool h2_head_is_cut(const struct conn *stream)
{
	return stream->stream->head_cut;
}

bool h2_is_malformed(const struct conn *stream)
{
	return stream->stream->malformed;
}

void h2_say_why(struct conn *conn, enum h2_why why)
{
	static const uint32_t codes[] = { [H2_WHY_FAILED] = NGHTTP2_INTERNAL_ERROR,
		[H2_WHY_CANCELLED] = NGHTTP2_CANCEL, [H2_WHY_REFUSED] = NGHTTP2_REFUSED_STREAM,
		[H2_WHY_CONNECT] = NGHTTP2_CONNECT_ERROR, [H2_WHY_HTTP_1] = NGHTTP2_HTTP_1_1_REQUIRED };

	if (conn->stream)
		conn->stream->code = codes[why];
}

void h2_leave_with(struct conn *stream)
{
	if (stream->stream->session)
		h2_leave(stream->stream->session);
}

struct conn *h2_stream_open(struct h2_stream *stream)
{
	struct h2 *h2 = stream->session;
	struct conn *conn = conn_new_without_socket(h2->conn, &conn_h2);

	if (!conn)
		return NULL;
	conn->stream = stream;
	stream->conn = conn;
	h2->open++;
	h2->used = true;
	return conn;
}
