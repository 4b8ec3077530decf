/* Header lists and bodies that come, as a message of HTTP/1.1; see h2_internal.h. */
#include "proxy/net/h2_internal.h"

#include <stdlib.h>
#include <string.h>

#define FEW_BYTES "frames of a few bytes in a body"

enum {
	FLOOD_TIMES = 4,               /* a head beyond this multiple of its limits ends the connection */
	PSEUDO_FIELDS = 4,
	FIELDS_FIRST = 16,
	IN_FIRST = 512
};

static enum h2_fault h2_translate(struct h2_stream *, bool known);

/* ---- header lists ---- */

uint64_t h2_list_bytes_max(const struct h2 *h2)
{
	return h2->settings.max_head + h2->settings.max_fields * H2_FIELD_BYTES;
}

int h2_on_begin(nghttp2_session *ng, const nghttp2_frame *frame, void *session)
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
		h2_priority_begin(stream);
	}
	h2->highest = stream->id > h2->highest ? stream->id : h2->highest;
	if (stream->held_back)
		h2_judge(stream, h2_translate(stream, true));
	h2_stream_set_times(stream, loop_now_ms(h2->loop), stream->done_ms);
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

static void h2_list_add(struct h2_stream *stream, struct slice name, struct slice value)
{
	size_t at = stream->raw.len;

	if (!h2_has_room(stream)) {
		stream->no_memory = true;
		return;
	}
	stream->spans[stream->n_spans++] = (struct h2_span){ (uint32_t)at, (uint32_t)name.len,
		(uint32_t)(at + name.len), (uint32_t)value.len };
	text_add(&stream->raw, name.at, name.len);
	text_add(&stream->raw, value.at, value.len);
}

void h2_list_line(struct h2_stream *stream)
{
	struct slice rest = { (const char *)stream->in.bytes, stream->in.len };

	text_empty(&stream->raw);
	stream->n_spans = 0;
	h2_list_add(stream, (struct slice){ ":method", 7 }, slice_until(rest, ' ', &rest));
	h2_list_add(stream, (struct slice){ ":path", 5 }, slice_until(rest, ' ', &rest));
}

/* Fields count as they are decoded, whether they are stored or not: a byte can stand for one of kilobytes
 * (CVE-2026-49975). */
int h2_on_field(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
    const uint8_t *value, size_t value_len, uint8_t flags, void *session)
{
	struct h2 *h2 = session;
	struct h2_stream *stream = h2_find(ng, frame->hd.stream_id);

	(void)flags;
	if (h2->ending)                /* what is left of the block is not decoded */
		return NGHTTP2_ERR_PAUSE;
	if (!stream)
		return 0;
	stream->list_bytes += name_len + value_len + H2_FIELD_BYTES;
	if (stream->list_bytes > FLOOD_TIMES * h2_list_bytes_max(h2)) {
		h2_flood(h2, "fields of a header list");
		return NGHTTP2_ERR_PAUSE;
	}
	if (stream->overlong)
		return 0;
	stream->overlong = stream->raw.len + name_len + value_len > h2->settings.max_head ||
	    stream->n_spans >= h2->settings.max_fields + PSEUDO_FIELDS;
	if (name_len == 8 && !memcmp(name, "priority", 8))
		h2_on_priority_field(stream, (const char *)value, value_len);
	h2_list_add(stream, (struct slice){ (const char *)name, name_len },
	    (struct slice){ (const char *)value, value_len });
	return 0;
}

struct h2_field *h2_list(const struct h2_stream *stream)
{
	bool whole = !stream->no_memory && !stream->raw.failed;
	struct h2_field *fields = whole ? malloc((stream->n_spans + 1) * sizeof *fields) : NULL;

	for (size_t i = 0; fields && i < stream->n_spans; i++)
		fields[i] = (struct h2_field){
			.name = { stream->raw.bytes + stream->spans[i].name_at, stream->spans[i].name_len },
			.value = { stream->raw.bytes + stream->spans[i].value_at, stream->spans[i].value_len } };
	return fields;
}

/* ---- messages of HTTP/1.1 ---- */

static bool h2_is_method(const char *method, const struct h2_field *fields, size_t n)
{
	size_t len = strlen(method);

	for (size_t i = 0; i < n; i++)
		if (slice_is(fields[i].name, ":method"))
			return fields[i].value.len == len && !memcmp(fields[i].value.at, method, len);
	return false;
}

void h2_list_done(struct h2_stream *stream)
{
	text_free(&stream->raw);
	free(stream->spans);
	stream->spans = NULL;
	stream->n_spans = stream->spans_cap = 0;
	h2_stream_set_times(stream, 0, stream->done_ms);
}

enum h2_fault h2_give_text(struct h2_stream *stream, enum h2_fault fault, struct text *t)
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
	stream->given = fault == H2_FINE;
	if (stream->given)
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

enum h2_fault h2_read_ends(struct h2_stream *stream, bool trailers)
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

void h2_judge(struct h2_stream *stream, enum h2_fault fault)
{
	if (fault == H2_FINE) {
		h2_stream_wake(stream);
		return;
	}
	bool malformed = fault == H2_MALFORMED;
	uint32_t code = malformed ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_INTERNAL_ERROR;

	if (stream->session->asks)
		h2_ask_fail(stream, code, malformed ? FAILURE_HTTP_PROTOCOL_ERROR : FAILURE_PROXY_INTERNAL_ERROR,
		    malformed ? "a malformed response over HTTP/2" : "out of memory");
	else
		h2_stream_reset(stream, code);
}

void h2_on_headers(struct h2_stream *stream, const nghttp2_frame *frame)
{
	bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	if (stream->session->asks)
		h2_ask_on_headers(stream, ends);
	else if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		enum h2_fault fault;

		stream->read_ended = ends;
		fault = h2_translate(stream, false);
		stream->fresh = fault == H2_FINE;
		h2_judge(stream, fault);
	} else if (ends)
		h2_judge(stream, h2_read_ends(stream, true));
}

enum h2_fault h2_take_data(struct h2_stream *stream, const uint8_t *at, size_t len)
{
	char line[24];
	int n = snprintf(line, sizeof line, "%zx\r\n", len);

	if (stream->held_back) {
		enum h2_fault fault = h2_translate(stream, true);

		if (fault != H2_FINE)
			return fault;
	}
	if (stream->session->asks && !h2_ask_takes(stream, len))
		return H2_MALFORMED;
	if ((stream->chunked && held_add(&stream->in, (const uint8_t *)line, (size_t)n, IN_FIRST)) ||
	    held_add(&stream->in, at, len, IN_FIRST) ||
	    (stream->chunked && held_add(&stream->in, (const uint8_t *)"\r\n", 2, IN_FIRST)))
		return H2_NO_MEMORY;
	stream->whole = stream->answered && !stream->chunked && !stream->to_come;
	stream->unread += len;
	stream->chunk_bytes += stream->chunked ? (size_t)n + 2 : 0;
	/* In frames of one byte each the framing takes five times as much as the body. */
	if (stream->chunk_bytes <= stream->session->settings.window)
		return H2_FINE;
	if (stream->session->asks)
		h2_ask_fail(stream, NGHTTP2_ENHANCE_YOUR_CALM, FAILURE_HTTP_PROTOCOL_ERROR, FEW_BYTES);
	else
		h2_flood(stream->session, FEW_BYTES);
	return H2_FINE;
}
