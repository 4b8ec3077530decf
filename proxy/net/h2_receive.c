/* Frames that come: header lists, bodies, ends; see h2_internal.h. */
#include "proxy/net/h2_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIELD_BYTES = 32,              /* what a field counts beside its bytes (RFC 9113 section 10.5.1) */
	FLOOD_TIMES = 4,               /* a head of so many times its limits ends the connection */
	PSEUDO_FIELDS = 4,
	FIELDS_FIRST = 16,
	IN_FIRST = 512
};

static struct h2_stream *h2_find(nghttp2_session *ng, int32_t id)
{
	return nghttp2_session_get_stream_user_data(ng, id);
}

/* ---- header lists ---- */

static enum h2_fault h2_translate(struct h2_stream *, bool known);
static void h2_judge(struct h2_stream *, enum h2_fault);

static int h2_on_begin(nghttp2_session *ng, const nghttp2_frame *frame, void *session)
{
	struct h2 *h2 = session;
	struct h2_stream *stream;

	if (frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	if (!(stream = h2_find(ng, frame->hd.stream_id))) {
		if (frame->headers.cat != NGHTTP2_HCAT_REQUEST || h2->ending)
			return 0;
		if (!(stream = h2_stream_new(h2, frame->hd.stream_id)))
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
		nghttp2_session_set_stream_user_data(ng, stream->id, stream);
	}
	h2->highest = stream->id > h2->highest ? stream->id : h2->highest;
	if (stream->held_back)
		h2_judge(stream, h2_translate(stream, true));
	stream->began_ms = loop_now_ms(h2->loop);
	text_empty(&stream->raw);
	stream->n_spans = stream->list_bytes = 0;
	stream->overlong = stream->no_memory = false;
	return 0;
}

static bool h2_has_room(struct h2_stream *stream)
{
	size_t cap = stream->spans_cap ? 2 * stream->spans_cap : FIELDS_FIRST;
	struct h2_span *spans;

	if (stream->n_spans < stream->spans_cap)
		return true;
	if (!(spans = realloc(stream->spans, cap * sizeof *spans)))
		return false;
	stream->spans = spans;
	stream->spans_cap = cap;
	return true;
}

/* Priority's parameter u (RFC 9218 section 4.1). */
static void h2_note_urgency(struct h2_stream *stream, const char *at, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++)
		if (at[i] == 'u' && at[i + 1] == '=' && at[i + 2] >= '0' && at[i + 2] < '0' + H2_URGENCIES &&
		    (!i || at[i - 1] == ' ' || at[i - 1] == ','))
			stream->urgency = (uint8_t)(at[i + 2] - '0');
}

/* Fields count as they are decoded, whether they are stored or not: a byte can stand for one of kilobytes
 * (CVE-2026-49975). */
static int h2_on_field(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
    const uint8_t *value, size_t value_len, uint8_t flags, void *session)
{
	struct h2 *h2 = session;
	struct h2_stream *stream = h2_find(ng, frame->hd.stream_id);

	(void)flags;
	if (!stream || h2->ending)
		return 0;
	stream->list_bytes += name_len + value_len + FIELD_BYTES;
	if (stream->list_bytes > FLOOD_TIMES * (h2->settings.max_head + h2->settings.max_fields * FIELD_BYTES)) {
		h2_flood(h2, "fields of a header list");
		return 0;
	}
	if (stream->overlong)
		return 0;
	stream->overlong = stream->raw.len + name_len + value_len > h2->settings.max_head ||
	    stream->n_spans >= h2->settings.max_fields + PSEUDO_FIELDS;
	if (!h2_has_room(stream)) {
		stream->no_memory = true;
		return 0;
	}
	if (name_len == 8 && !memcmp(name, "priority", 8))
		h2_note_urgency(stream, (const char *)value, value_len);
	struct h2_span *span = &stream->spans[stream->n_spans++];
	*span = (struct h2_span){ (uint32_t)stream->raw.len, (uint32_t)name_len, (uint32_t)(stream->raw.len + name_len),
		(uint32_t)value_len };
	text_add(&stream->raw, (const char *)name, name_len);
	text_add(&stream->raw, (const char *)value, value_len);
	return 0;
}

/* The list as fields, which the caller frees. NULL: out of memory. */
static struct h2_field *h2_list(const struct h2_stream *stream)
{
	bool whole = !stream->no_memory && !stream->raw.failed;
	struct h2_field *fields = whole ? malloc((stream->n_spans + 1) * sizeof *fields) : NULL;

	for (size_t i = 0; fields && i < stream->n_spans; i++)
		fields[i] = (struct h2_field){
			.name = { stream->raw.bytes + stream->spans[i].name_at, stream->spans[i].name_len },
			.value = { stream->raw.bytes + stream->spans[i].value_at, stream->spans[i].value_len } };
	return fields;
}

static bool h2_is_method(const char *method, const struct h2_field *fields, size_t n)
{
	size_t len = strlen(method);

	for (size_t i = 0; i < n; i++)
		if (slice_is(fields[i].name, ":method"))
			return fields[i].value.len == len && !memcmp(fields[i].value.at, method, len);
	return false;
}

static void h2_list_done(struct h2_stream *stream)
{
	text_free(&stream->raw);
	free(stream->spans);
	stream->spans = NULL;
	stream->n_spans = stream->spans_cap = 0;
	stream->began_ms = 0;
}

/* The bytes that the reader gets: the text, and memory for it is released. */
static enum h2_fault h2_give_text(struct h2_stream *stream, enum h2_fault fault, struct text *t)
{
	if (fault == H2_FINE && (t->failed || held_add(&stream->in, (const uint8_t *)t->bytes, t->len, IN_FIRST)))
		fault = H2_NO_MEMORY;
	text_free(t);
	return fault;
}

static enum h2_fault h2_translate(struct h2_stream *stream, bool known)
{
	const struct h2 *h2 = stream->session;
	struct h2_field *fields = h2_list(stream);
	struct text head = { 0 };
	enum h2_fault fault;

	if (!fields)
		return H2_NO_MEMORY;
	enum h2_body body = h2->translation->request_body(fields, stream->n_spans);
	if (!stream->read_ended && !known && body == H2_BODY_UNKNOWN) {
		stream->held_back = true;
		free(fields);
		return H2_FINE;
	}
	stream->held_back = false;
	stream->chunked = !stream->read_ended && body != H2_BODY_PLAIN;
	stream->heads = h2_is_method("HEAD", fields, stream->n_spans);
	stream->tunnels = h2_is_method("CONNECT", fields, stream->n_spans);
	stream->head_cut = stream->overlong;
	fault = h2->translation->request_head(fields, stream->n_spans, h2->settings.secure, stream->read_ended, &head);
	fault = h2_give_text(stream, fault, &head);
	free(fields);
	h2_list_done(stream);
	return fault;
}

static enum h2_fault h2_end_chunks(struct h2_stream *stream, struct h2_field *fields)
{
	struct text end = { 0 };
	enum h2_fault fault = H2_FINE;

	text_puts(&end, "0\r\n");
	if (fields)
		fault = stream->session->translation->trailer_lines(fields, stream->n_spans, &end);
	text_puts(&end, "\r\n");
	return h2_give_text(stream, fault, &end);
}

/* The request has ended. Trailers of a body that is not chunked have no place in HTTP/1.1, and are dropped. */
static enum h2_fault h2_read_ends(struct h2_stream *stream, bool trailers)
{
	enum h2_fault fault = H2_FINE;
	struct h2_field *fields = NULL;

	stream->read_ended = true;
	if (stream->held_back) {
		trailers = false;
		fault = h2_translate(stream, true);
	} else if (stream->chunked) {
		if (trailers && !(fields = h2_list(stream)))
			return H2_NO_MEMORY;
		fault = h2_end_chunks(stream, fields);
		free(fields);
	}
	if (trailers)
		h2_list_done(stream);
	return fault;
}

static void h2_judge(struct h2_stream *stream, enum h2_fault fault)
{
	if (fault == H2_FINE) {
		h2_stream_wake(stream);
		return;
	}
	h2_stream_reset(stream, fault == H2_MALFORMED ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_INTERNAL_ERROR);
}

static void h2_on_headers(struct h2_stream *stream, const nghttp2_frame *frame)
{
	bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		enum h2_fault fault;

		stream->read_ended = ends;
		fault = h2_translate(stream, false);
		stream->fresh = fault == H2_FINE;
		h2_judge(stream, fault);
	} else if (ends)
		h2_judge(stream, h2_read_ends(stream, true));
}

/* ---- other frames ---- */

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
	if (hd->type == NGHTTP2_HEADERS)
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

static int h2_on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *session)
{
	struct h2 *h2 = session;
	struct h2_stream *stream = frame->hd.stream_id ? h2_find(ng, frame->hd.stream_id) : NULL;

	if (h2->ending)
		return 0;
	if (frame->hd.type == NGHTTP2_PING)
		h2_on_ping(h2, frame->hd.flags & NGHTTP2_FLAG_ACK);
	if (!stream)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS)
		h2_on_headers(stream, frame);
	else if (frame->hd.type == NGHTTP2_DATA && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		h2_judge(stream, h2_read_ends(stream, false));
	else if (frame->hd.type == NGHTTP2_RST_STREAM)
		stats_add(loop_stats(h2->loop), STAT_H2_RESETS, 1);
	return 0;
}

static enum h2_fault h2_take_data(struct h2_stream *stream, const uint8_t *at, size_t len)
{
	char line[24];
	int n = snprintf(line, sizeof line, "%zx\r\n", len);

	if (stream->held_back) {
		enum h2_fault fault = h2_translate(stream, true);

		if (fault != H2_FINE)
			return fault;
	}
	if ((stream->chunked && held_add(&stream->in, (const uint8_t *)line, (size_t)n, IN_FIRST)) ||
	    held_add(&stream->in, at, len, IN_FIRST) ||
	    (stream->chunked && held_add(&stream->in, (const uint8_t *)"\r\n", 2, IN_FIRST)))
		return H2_NO_MEMORY;
	stream->unread += len;
	stream->chunk_bytes += stream->chunked ? (size_t)n + 2 : 0;
	/* In frames of one byte each the framing takes five times as much as the body. */
	if (stream->chunk_bytes > H2_WINDOW_BYTES)
		h2_flood(stream->session, "frames of a few bytes in a body");
	return H2_FINE;
}

/* The connection's window is given back at once: a stream that is not read holds its own window, and nobody else's. */
static int h2_on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *at, size_t len, void *session)
{
	struct h2_stream *stream = h2_find(ng, id);

	(void)flags, (void)session;
	nghttp2_session_consume_connection(ng, len);
	if (!stream || stream->dropped)
		nghttp2_session_consume_stream(ng, id, len);
	else
		h2_judge(stream, h2_take_data(stream, at, len));
	return 0;
}

static int h2_on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *session)
{
	struct h2_stream *stream = h2_find(ng, id);
	struct h2 *h2 = session;

	h2->past[h2->n_past++ % H2_PAST] = id;
	if (stream) {
		stream->closed = true;
		h2_stream_end(stream, code != NGHTTP2_NO_ERROR || !stream->read_ended || !stream->ends);
	}
	return 0;
}

/* Whether the peer's own fault makes utfeed reset a stream with this code. The others utfeed has chosen. */
static bool h2_is_fault(uint32_t code)
{
	return code == NGHTTP2_PROTOCOL_ERROR || code == NGHTTP2_FLOW_CONTROL_ERROR || code == NGHTTP2_STREAM_CLOSED ||
	    code == NGHTTP2_FRAME_SIZE_ERROR;
}

static int h2_on_sent(nghttp2_session *ng, const nghttp2_frame *frame, void *session)
{
	struct h2_stream *stream = frame->hd.stream_id ? h2_find(ng, frame->hd.stream_id) : NULL;
	struct h2 *h2 = session;

	if (frame->hd.type == NGHTTP2_RST_STREAM) {
		h2->past_resets[h2->n_past_resets++ % H2_PAST_RESETS] = frame->hd.stream_id;
		if (h2_is_fault(frame->rst_stream.error_code))
			h2_count(h2, H2_LIMIT_MADE_RESETS);
	} else if (stream && !stream->conn && frame->hd.type <= NGHTTP2_HEADERS &&
	    frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		h2_stream_no_more(stream);
	return 0;
}

/* nghttp2 drops a frame that it cannot send, and its stream would wait for ever. */
static int h2_on_not_sent(nghttp2_session *ng, const nghttp2_frame *frame, int error, void *session)
{
	struct h2_stream *stream = frame->hd.type == NGHTTP2_HEADERS ? h2_find(ng, frame->hd.stream_id) : NULL;

	(void)error, (void)session;
	if (stream)
		h2_stream_reset(stream, NGHTTP2_INTERNAL_ERROR);
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
		stream->began_ms = stream->done_ms = 0;
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
