/* Frames that come, and those that go out; see h2_internal.h. */
#include "proxy/net/h2_internal.h"

#include <stdlib.h>

struct h2_stream *h2_find(nghttp2_session *ng, int32_t id)
{
	return nghttp2_session_get_stream_user_data(ng, id);
}

/* ---- frames ---- */

static bool h2_is_among(const int32_t *ids, size_t n, int32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* HEADERS with a number below former ones, which nghttp2 lets pass (RFC 9113 section 5.1.1). They are let pass where
 * they may be trailers that were on their way to a stream when it was reset. */
static void h2_judge_number(nghttp2_session *ng, struct h2 *h2, int32_t id)
{
	if (id && id <= h2->highest && !nghttp2_session_find_stream(ng, id) &&
	    !h2_is_among(h2->past_resets, H2_PAST_RESETS, id))
		h2_fail(h2, h2_is_among(h2->past, H2_PAST, id) ? NGHTTP2_STREAM_CLOSED : NGHTTP2_PROTOCOL_ERROR);
}

static int h2_on_frame_begin(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *session)
{
	struct h2 *h2 = session;

	if (h2->asks)
		h2_ask_on_begin(h2, hd->type);
	else if (hd->type == NGHTTP2_HEADERS)
		h2_judge_number(ng, session, hd->stream_id);
	else if (hd->type == NGHTTP2_PRIORITY && !hd->stream_id)
		h2_fail(session, NGHTTP2_PROTOCOL_ERROR);      /* section 6.3, of which nghttp2 reads nothing */
	return 0;
}

static void h2_on_ping(struct h2 *h2, bool ack)
{
	if (ack && h2->leaving && !h2->left)
		loop_arm(h2->loop, &h2->timer, 1);
}

/* Nobody hears any more of what comes for it. */
static bool h2_is_deaf(const struct h2_stream *stream)
{
	return stream->dropped || stream->failed;
}

static int h2_on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *session)
{
	struct h2 *h2 = session;
	struct h2_stream *stream = frame->hd.stream_id ? h2_find(ng, frame->hd.stream_id) : NULL;

	if (h2->ending)
		return 0;
	if (h2->asks)
		h2_ask_on_frame(h2, frame);
	else if (frame->hd.type == NGHTTP2_PING)
		h2_on_ping(h2, frame->hd.flags & NGHTTP2_FLAG_ACK);
	else if (frame->hd.type == NGHTTP2_PRIORITY_UPDATE)
		h2_on_priority_update(h2, frame->ext.payload);
	if (!stream || (h2->asks && h2_is_deaf(stream)))
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS)
		h2_on_headers(stream, frame);
	else if (frame->hd.type == NGHTTP2_DATA && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		h2_judge(stream, h2_read_ends(stream, false));
	else if (frame->hd.type == NGHTTP2_RST_STREAM) {
		stream->reset = true;
		stats_add(loop_stats(h2->loop), h2->asks ? STAT_H2_ORIGIN_RESETS : STAT_H2_RESETS, 1);
	}
	return 0;
}

/* The connection's window is given back at once: a stream that is not read holds its own window, and nobody else's. */
static int h2_on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *at, size_t len, void *session)
{
	struct h2_stream *stream = h2_find(ng, id);

	(void)flags, (void)session;
	nghttp2_session_consume_connection(ng, len);
	if (!stream || h2_is_deaf(stream))
		nghttp2_session_consume_stream(ng, id, len);
	else
		h2_judge(stream, h2_take_data(stream, at, len));
	return 0;
}

/* Keeps what is known of a malformed request whose stream is gone, as a stream without a number, to be told. */
static void h2_note_malformed(struct h2_stream *stream)
{
	struct h2_stream *note = stream->session->owner.malformed ? h2_stream_new(stream->session, 0) : NULL;

	if (!note)
		return;
	note->malformed = true;
	stream->session->untold++;
	note->raw = stream->raw;
	note->spans = stream->spans;
	note->n_spans = stream->n_spans;
	stream->raw = (struct text){ 0 };
	stream->spans = NULL;
	stream->n_spans = stream->spans_cap = 0;
}

static int h2_on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *session)
{
	struct h2_stream *stream = h2_find(ng, id);
	struct h2 *h2 = session;

	h2->past[h2->n_past++ % H2_PAST] = id;
	if (!stream)
		return 0;
	stream->closed = true;
	if (h2->asks) {
		h2_ask_on_close(stream, code);
		return 0;
	}
	stream->malformed = code == NGHTTP2_PROTOCOL_ERROR && !stream->reset;
	if (stream->malformed && stream->given && stream->fresh)
		h2_list_line(stream);
	if (stream->malformed && (!stream->given || stream->fresh))
		h2_note_malformed(stream);
	h2_stream_end(stream, code != NGHTTP2_NO_ERROR || !stream->read_ended || !stream->ends);
	return 0;
}

/* Whether the peer's own fault makes utfeed reset a stream with this code. The others utfeed has chosen. */
static bool h2_is_fault(uint32_t code)
{
	return code == NGHTTP2_PROTOCOL_ERROR || code == NGHTTP2_FLOW_CONTROL_ERROR || code == NGHTTP2_STREAM_CLOSED ||
	    code == NGHTTP2_FRAME_SIZE_ERROR;
}

static int h2_on_sending(nghttp2_session *ng, const nghttp2_frame *frame, void *session)
{
	struct h2 *h2 = session;
	bool asks = h2->asks && frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
	struct h2_stream *stream = asks ? h2_find(ng, frame->hd.stream_id) : NULL;

	if (stream)
		h2_ask_on_sending(stream);
	return 0;
}

static int h2_on_sent(nghttp2_session *ng, const nghttp2_frame *frame, void *session)
{
	struct h2_stream *stream = frame->hd.stream_id ? h2_find(ng, frame->hd.stream_id) : NULL;
	struct h2 *h2 = session;

	if (h2->asks)
		return 0;
	if (frame->hd.type == NGHTTP2_RST_STREAM) {
		h2->past_resets[h2->n_past_resets++ % H2_PAST_RESETS] = frame->hd.stream_id;
		if (h2_is_fault(frame->rst_stream.error_code))
			h2_count(h2, H2_LIMIT_MADE_RESETS);
	} else if (stream && !stream->conn && frame->hd.type <= NGHTTP2_HEADERS &&
	    frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		h2_stream_no_more(stream);
	return 0;
}

/* nghttp2 drops a frame that it cannot send, and its stream would wait for ever. The stream of a request it closes. */
static int h2_on_not_sent(nghttp2_session *ng, const nghttp2_frame *frame, int error, void *session)
{
	bool waits = frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat != NGHTTP2_HCAT_REQUEST;
	struct h2_stream *stream = waits ? h2_find(ng, frame->hd.stream_id) : NULL;

	(void)error, (void)session;
	if (stream)
		h2_stream_reset(stream, NGHTTP2_INTERNAL_ERROR);
	return 0;
}

/* nghttp2 resets the stream. */
static int h2_on_invalid(nghttp2_session *ng, const nghttp2_frame *frame, int error, void *session)
{
	struct h2 *h2 = session;
	struct h2_stream *stream = h2->asks && frame->hd.stream_id ? h2_find(ng, frame->hd.stream_id) : NULL;

	if (stream)
		h2_ask_fail(stream, NGHTTP2_NO_ERROR, FAILURE_HTTP_PROTOCOL_ERROR, nghttp2_strerror(error));
	return 0;
}

nghttp2_session_callbacks *h2_callbacks(void)
{
	nghttp2_session_callbacks *c = NULL;

	if (nghttp2_session_callbacks_new(&c))
		return NULL;
	nghttp2_session_callbacks_set_on_begin_headers_callback(c, h2_on_begin);
	nghttp2_session_callbacks_set_on_header_callback(c, h2_on_field);
	nghttp2_session_callbacks_set_on_begin_frame_callback(c, h2_on_frame_begin);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, h2_on_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(c, h2_on_invalid);
	nghttp2_session_callbacks_set_before_frame_send_callback(c, h2_on_sending);
	nghttp2_session_callbacks_set_on_frame_send_callback(c, h2_on_sent);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(c, h2_on_not_sent);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, h2_on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(c, h2_on_close);
	nghttp2_session_callbacks_set_send_data_callback(c, h2_on_data_sent);
	return c;
}

/* ---- behind nghttp2's callbacks ---- */

static struct h2_stream *h2_fresh(const struct h2 *h2)
{
	struct h2_stream *stream;

	TAILQ_FOREACH(stream, &h2->streams, link)
		if (stream->fresh)
			break;
	return stream;
}

/* The owner may close streams, but not free the session. */
void h2_open_streams(struct h2 *h2)
{
	struct h2_stream *stream;

	while ((stream = h2_fresh(h2))) {
		struct conn *conn = h2_stream_open(stream);

		stream->fresh = false;
		if (!conn) {
			h2_stream_reset(stream, NGHTTP2_INTERNAL_ERROR);
			continue;
		}
		stats_add(loop_stats(h2->loop), STAT_H2_STREAMS, 1);
		h2->owner.opened(h2->owner.arg, conn);
	}
}

void h2_tell_malformed(struct h2 *h2)
{
	struct h2_stream *stream, *next;

	for (stream = TAILQ_FIRST(&h2->streams); stream && h2->untold; stream = next) {
		next = TAILQ_NEXT(stream, link);
		if (!stream->malformed)
			continue;
		struct h2_field *fields = h2_list(stream);

		h2->untold--;
		h2->owner.malformed(h2->owner.arg, fields, fields ? stream->n_spans : 0);
		free(fields);
		h2_stream_end(stream, true);
	}
}

/* 0: it cannot be. */
static uint64_t h2_late_ms(const struct h2_stream *stream, const struct h2_settings *settings)
{
	return stream->done_ms ? stream->done_ms + settings->write_timeout_ms
	    : stream->began_ms ? stream->began_ms + settings->head_timeout_ms
	    : 0;
}

void h2_end_late(struct h2 *h2, uint64_t now_ms)
{
	struct h2_stream *stream;

	TAILQ_FOREACH(stream, &h2->streams, link) {
		uint64_t late = h2_late_ms(stream, &h2->settings);

		if (!late || late > now_ms)
			continue;
		if (stream->done_ms || stream->held_back)
			h2_stream_reset(stream, NGHTTP2_CANCEL);
		else
			h2_fail(h2, NGHTTP2_ENHANCE_YOUR_CALM);
		h2_stream_set_times(stream, 0, 0);
		if (h2->ending)
			return;
	}
}

uint64_t h2_first_late(const struct h2 *h2)
{
	const struct h2_stream *stream;
	uint64_t first = 0;

	TAILQ_FOREACH(stream, &h2->streams, link) {
		uint64_t late = h2_late_ms(stream, &h2->settings);

		if (late && (!first || late < first))
			first = late;
	}
	return first;
}
