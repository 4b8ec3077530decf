/* What a client's side of a session has alone: opening streams, what comes of responses, and what their failures mean;
 * see h2_internal.h. Sections without a name are of RFC 9113. */
#include "proxy/net/h2_internal.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/base/log.h"

enum {
	H2_ASKS_MAX = 1024,            /* streams, whatever the peer allows */
	H2_INTERIMS_MAX = 32,          /* of a response */
	H2_LAST_ID = INT32_MAX - 4 * H2_ASKS_MAX,      /* above it no more streams are opened */
	H2_OWN_RESETS_MS = 30 * 1000,
	H2_STRAYS = H2_INTERIMS_MAX + 8                /* frames besides DATA on their way for a stream that is reset */
};

/* ---- room ---- */

size_t h2_room(const struct h2 *h2)
{
	size_t most = 1;

	if (h2->ending || h2->left || h2->doubted || h2->pinged_ms || !nghttp2_session_check_request_allowed(h2->ng))
		return 0;
	if (h2->settled)
		most = nghttp2_session_get_remote_settings(h2->ng, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
	if (most > H2_ASKS_MAX)
		most = H2_ASKS_MAX;
	return most > h2->n ? most - h2->n : 0;
}

void h2_ask_tell(struct h2 *h2)
{
	size_t before = h2->room;

	h2->room = h2_room(h2);
	if (!h2->n)
		h2_arm(h2);
	if (h2->room > before)
		h2->owner.room(h2->owner.arg);
}

struct h2 *h2_ask(struct conn *conn, struct loop *loop, const struct h2_settings *settings,
    const struct h2_translation *translation, const struct h2_owner *owner)
{
	struct h2 *h2 = h2_new(conn, loop, settings, translation, owner, true);

	if (!h2)
		return NULL;
	h2->heard_ms = loop_now_ms(loop);
	h2->room = h2_room(h2);
	h2_pull(h2);
	return h2;
}

struct conn *h2_request(struct h2 *h2)
{
	struct h2_stream *stream = h2_stream_new(h2, 0);
	struct conn *conn = stream ? h2_stream_open(stream) : NULL;

	if (stream && !conn)
		h2_stream_end(stream, true);
	h2->room = h2_room(h2);
	return conn;
}

/* ---- what comes ---- */

/* Frames may be on their way for a stream that was closed, and DATA up to its window. A peer that knows of the reset
 * has nothing more to send. */
bool h2_ask_bears(struct h2 *h2, uint8_t type, int32_t id, uint32_t len)
{
	uint64_t *allowed = type == NGHTTP2_DATA ? &h2->stray_bytes : &h2->strays;
	uint64_t size = type == NGHTTP2_DATA ? len : 1;

	if ((type != NGHTTP2_HEADERS && type != NGHTTP2_DATA && type != NGHTTP2_RST_STREAM) || !(id & 1) ||
	    (uint32_t)id >= nghttp2_session_get_next_stream_id(h2->ng) || h2_find(h2->ng, id))
		return true;
	if (size > *allowed) {
		h2_flood(h2, "frames for streams that are closed");
		return false;
	}
	*allowed -= size;
	return true;
}

static void h2_ask_allow_strays(struct h2 *h2, const struct h2_stream *stream)
{
	bool early = !stream->read_ended && !stream->reset;
	/* the peer may not know of a smaller window yet */
	uint64_t window =
	    h2->settings.window > NGHTTP2_INITIAL_WINDOW_SIZE ? h2->settings.window : NGHTTP2_INITIAL_WINDOW_SIZE;
	uint64_t most = H2_ASKS_MAX * H2_STRAYS, most_bytes = H2_ASKS_MAX * window;

	h2->strays += early ? H2_STRAYS : 1;
	h2->stray_bytes += early ? window : 0;
	h2->strays = h2->strays < most ? h2->strays : most;
	h2->stray_bytes = h2->stray_bytes < most_bytes ? h2->stray_bytes : most_bytes;
}

void h2_ask_on_begin(struct h2 *h2, uint8_t type)
{
	if (type == NGHTTP2_PUSH_PROMISE)              /* section 8.4: the SETTINGS have refused it */
		h2_fail(h2, NGHTTP2_PROTOCOL_ERROR);
	if (type != NGHTTP2_HEADERS && type != NGHTTP2_DATA && type != NGHTTP2_RST_STREAM)
		return;
	h2->answered_ms = loop_now_ms(h2->loop);
	h2->doubted = false;
}

static void h2_ask_on_goaway(struct h2 *h2, const nghttp2_goaway *goaway)
{
	h2->left = true;
	h2->needs_http1 |= goaway->error_code == NGHTTP2_HTTP_1_1_REQUIRED;
	if (log_is(LOG_LEVEL_DEBUG))
		log_line(LOG_LEVEL_DEBUG, "http2: %s: GOAWAY: %s, last stream %d", conn_peer(h2->conn),
		    nghttp2_http2_strerror(goaway->error_code), (int)goaway->last_stream_id);
}

void h2_ask_on_frame(struct h2 *h2, const nghttp2_frame *frame)
{
	bool ack = frame->hd.flags & NGHTTP2_FLAG_ACK;

	if (frame->hd.type == NGHTTP2_GOAWAY)
		h2_ask_on_goaway(h2, &frame->goaway);
	else if (frame->hd.type == NGHTTP2_SETTINGS && !ack)
		h2->settled = true;
	else if (frame->hd.type == NGHTTP2_PING && ack)
		h2->pinged_ms = 0;
}

static enum h2_fault h2_ask_take_head(struct h2_stream *stream, bool ends)
{
	struct h2_field *fields = h2_list(stream);
	struct h2_framing framing;
	struct text head = { 0 };
	enum h2_fault fault;

	if (!fields)
		return H2_NO_MEMORY;
	fault = stream->session->translation->response_head(fields, stream->n_spans, ends, &head, &framing);
	fault = h2_give_text(stream, fault, &head);
	free(fields);
	h2_list_done(stream);
	if (fault != H2_FINE)
		return fault;
	if (framing.status / 100 == 1) {
		if (++stream->interims > H2_INTERIMS_MAX)
			h2_ask_fail(stream, NGHTTP2_ENHANCE_YOUR_CALM, FAILURE_HTTP_PROTOCOL_ERROR,
			    "too many interim responses");
		return H2_FINE;
	}
	stream->answered = true;
	stream->read_ended = ends;
	if (h2_is_bodiless(stream, &framing))
		stream->whole = true;
	else {
		stream->chunked = framing.chunked;
		stream->to_come = framing.content_length > 0 ? (uint64_t)framing.content_length : 0;
	}
	return H2_FINE;
}

void h2_ask_on_headers(struct h2_stream *stream, bool ends)
{
	if (stream->overlong)
		h2_ask_fail(stream, NGHTTP2_CANCEL, FAILURE_HTTP_HEADER_SIZE, "over the limits of a header list");
	else if (!stream->answered)
		h2_judge(stream, h2_ask_take_head(stream, ends));
	else if (ends)
		h2_judge(stream, h2_read_ends(stream, true));
}

bool h2_ask_takes(struct h2_stream *stream, size_t len)
{
	if (stream->chunked)
		return true;
	if (len > stream->to_come)
		return false;
	stream->to_come -= len;
	return true;
}

/* ---- requests ---- */

static bool h2_is_too_long(nghttp2_session *ng, const nghttp2_nv *nv, size_t n)
{
	uint64_t size = 0;

	for (size_t i = 0; i < n; i++)
		size += nv[i].namelen + nv[i].valuelen + H2_FIELD_BYTES;
	return size > nghttp2_session_get_remote_settings(ng, NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE);
}

int h2_ask_submit(struct h2_stream *stream, const nghttp2_nv *nv, size_t n, const nghttp2_data_provider *body)
{
	static const char head[] = "HEAD";
	struct h2 *h2 = stream->session;

	if (h2_is_too_long(h2->ng, nv, n)) {
		stream->fate = H2_FATE_TOO_LONG;
		h2_ask_fail(stream, NGHTTP2_NO_ERROR, FAILURE_NONE, "the request's head is longer than the peer takes");
		return -1;
	}
	stream->heads = nv->valuelen == sizeof head - 1 && !memcmp(nv->value, head, sizeof head - 1);
	int32_t id = nghttp2_submit_request(h2->ng, NULL, nv, n, body, stream);
	if (id < 0)
		return -1;
	stream->id = id;
	if (id > H2_LAST_ID)
		h2->left = true;
	h2_pull(h2);                   /* which gives the stream its window */
	return 0;
}

/* Before the first byte of it is out: that may be long before nghttp2 says that all of it is. */
void h2_ask_on_sending(struct h2_stream *stream)
{
	stream->sent = true;
	stream->sent_ms = loop_now_ms(stream->session->loop);
	h2_stream_promise(stream);
	h2_stream_set_waits(stream, false);
	h2_stream_wake(stream);
}

void h2_doubt(struct conn *conn)
{
	const struct h2_stream *stream = conn->stream;
	struct h2 *h2 = stream->session;

	if (!h2 || !stream->sent || h2->answered_ms > stream->sent_ms)
		return;
	h2->doubted = true;
	h2->room = h2_room(h2);
}

/* ---- the end of a stream ---- */

void h2_ask_fail(struct h2_stream *stream, uint32_t code, enum failure_kind kind, const char *why)
{
	if (stream->failed || stream->read_ended)
		return;
	stream->failed = true;
	failure_set(&stream->why, kind, "%s", why);
	if (stream->id && code)
		h2_stream_reset(stream, code);
	h2_stream_wake(stream);
}

/* A peer that has begun to answer cannot say that it has done nothing. */
static enum h2_fate h2_fate_of(const struct h2_stream *stream, uint32_t code)
{
	bool http1 = stream->session->needs_http1 || (stream->reset && code == NGHTTP2_HTTP_1_1_REQUIRED);

	if (http1 && !stream->answered)
		return H2_FATE_NEEDS_HTTP_1;
	return !stream->answered && !stream->interims && (!stream->sent || code == NGHTTP2_REFUSED_STREAM)
	    ? H2_FATE_UNPROCESSED
	    : H2_FATE_UNKNOWN;
}

void h2_ask_on_close(struct h2_stream *stream, uint32_t code)
{
	h2_ask_allow_strays(stream->session, stream);
	h2_stream_end(stream, h2_ask_has_failed(stream, code));
}

/* nghttp2 closes streams beyond the last one of a GOAWAY with REFUSED_STREAM. */
bool h2_ask_has_failed(struct h2_stream *stream, uint32_t code)
{
	bool refused = code == NGHTTP2_REFUSED_STREAM;
	bool made = code && !stream->reset && !refused;        /* by utfeed, since what came is malformed */

	if (stream->failed || stream->read_ended)
		return stream->failed;
	stream->fate = h2_fate_of(stream, code);
	failure_set(&stream->why, made && stream->sent ? FAILURE_HTTP_PROTOCOL_ERROR : FAILURE_NONE, "%s%s",
	    stream->reset ? "the peer reset the stream: "
	        : refused ? "the session ended before the stream was processed"
	        : made    ? "the stream was reset: "
	                  : "the session ended",
	    stream->reset || made ? nghttp2_http2_strerror(code) : "");
	return true;
}

void h2_ask_close(struct h2_stream *stream)
{
	nghttp2_session *ng = stream->session->ng;

	if (!stream->sent) {           /* nghttp2 may keep its request for ever, if the peer takes no more streams */
		if (stream->id)
			h2_stream_reset(stream, NGHTTP2_CANCEL);
		h2_stream_end(stream, true);
	} else if (!stream->failed &&
	    (!stream->read_ended || nghttp2_session_get_stream_local_close(ng, stream->id) != 1))
		h2_stream_reset(stream, NGHTTP2_CANCEL);
}

/* Whoever serves may take many resets for an attack (CVE-2023-44487), and end the connection for all who share it. So a
 * session that has made many takes no more streams, and the next requests have another one. */
void h2_ask_count_reset(const struct h2_stream *stream)
{
	struct h2 *h2 = stream->session;
	uint64_t now = loop_now_ms(h2->loop);

	if (!stream->sent)
		return;
	if (now - h2->own_resets_ms >= H2_OWN_RESETS_MS) {
		h2->own_resets_ms = now;
		h2->own_resets = 0;
	}
	if (++h2->own_resets < H2_OWN_RESETS_MAX || h2->left)
		return;
	h2->left = true;
	h2->room = h2_room(h2);
	if (log_is(LOG_LEVEL_DEBUG))
		log_line(LOG_LEVEL_DEBUG, "http2: %s: takes no more requests: %u were given up", conn_peer(h2->conn),
		    h2->own_resets);
}

enum h2_fate h2_fate(const struct conn *stream)
{
	return stream->stream->fate;
}

/* ---- PING ---- */

uint64_t h2_ask_due(const struct h2 *h2)
{
	if (!h2->settings.ping_ms || h2->n || h2->ending)
		return 0;
	return h2->pinged_ms ? h2->pinged_ms + h2->settings.write_timeout_ms : h2->heard_ms + h2->settings.ping_ms;
}

void h2_ask_on_time(struct h2 *h2, uint64_t now_ms)
{
	uint64_t due = h2_ask_due(h2);

	if (!due || due > now_ms)
		return;
	if (h2->pinged_ms || nghttp2_submit_ping(h2->ng, NGHTTP2_FLAG_NONE, NULL))
		h2_fail(h2, NGHTTP2_NO_ERROR);
	h2->pinged_ms = now_ms;
	h2->room = h2_room(h2);
}
