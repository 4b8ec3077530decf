/* A message of HTTP/1.1 as frames; see h2_internal.h. utfeed has written that message itself, so what cannot
 * be read of it is a fault of utfeed's: the stream fails. Body bytes go from the writer's pieces into frames, once. */
#include "proxy/net/h2_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLANK_LINE "\r\n"

enum { OUT_FIRST = 4096, CHUNK_LINE = 18 };

/* The pieces of one write, and how far they were taken. */
struct h2_pieces { const struct iovec *iov; int n; size_t at, taken; };

static size_t h2_peek(const struct h2_pieces *pieces, const char **at)
{
	*at = (const char *)pieces->iov->iov_base + pieces->at;
	return pieces->n ? pieces->iov->iov_len - pieces->at : 0;
}

static void h2_skip(struct h2_pieces *pieces, size_t n)
{
	pieces->taken += n;
	for (pieces->at += n; pieces->n && pieces->at >= pieces->iov->iov_len; pieces->iov++, pieces->n--)
		pieces->at -= pieces->iov->iov_len;
}

/* The fields of a head or a trailer section, as nghttp2 wants them. */
struct h2_block { struct h2_field *fields; size_t max; nghttp2_nv *nv; };

/* Has room for a field of each line, and for one more: a request's first line is three. False: out of memory. */
static bool h2_block_begin(struct h2_block *block, struct slice lines)
{
	block->max = 1;
	for (size_t i = 0; i < lines.len; i++)
		block->max += lines.at[i] == '\n';
	block->fields = malloc(block->max * (sizeof *block->fields + sizeof *block->nv));
	block->nv = block->fields ? (nghttp2_nv *)(void *)(block->fields + block->max) : NULL;
	return block->fields;
}

static void h2_block_fill(struct h2_block *block, int n)
{
	for (int i = 0; i < n; i++) {
		const struct h2_field *field = &block->fields[i];

		block->nv[i] = (nghttp2_nv){ (uint8_t *)(uintptr_t)field->name.at,
			(uint8_t *)(uintptr_t)field->value.at, field->name.len, field->value.len,
			NGHTTP2_NV_FLAG_NONE };
	}
}

/* ---- frames out of the pieces ---- */

/* nghttp2 wants to be given the trailer section with the last piece of the body. */
static int h2_send_trailer(struct h2_stream *stream)
{
	struct slice lines = { stream->lines.bytes, stream->lines.len };
	struct h2_block block;
	int n, r = -1;

	if (!h2_block_begin(&block, lines))
		return -1;
	n = stream->session->translation->trailer_fields(lines, &stream->names, block.fields, block.max);
	h2_block_fill(&block, n);
	if (n >= 0)
		r = nghttp2_submit_trailer(stream->session->ng, stream->id, block.nv, (size_t)n);
	free(block.fields);
	return r;
}

ssize_t h2_on_data_wanted(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t len, uint32_t *flags,
    nghttp2_data_source *source, void *session)
{
	struct h2_stream *stream = nghttp2_session_get_stream_user_data(ng, id);
	size_t n;

	(void)buf, (void)source, (void)session;
	if (!stream || (!stream->give_len && !stream->ends))
		return NGHTTP2_ERR_DEFERRED;
	n = stream->give_len < len ? stream->give_len : len;
	*flags |= NGHTTP2_DATA_FLAG_NO_COPY;
	if (!stream->ends || n < stream->give_len)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (stream->lines.len) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (h2_send_trailer(stream))
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return (ssize_t)n;
}

int h2_on_data_sent(nghttp2_session *ng, nghttp2_frame *frame, const uint8_t *head, size_t len,
    nghttp2_data_source *source, void *session)
{
	struct h2_stream *stream = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
	struct h2 *h2 = session;

	(void)source;
	if (held_room(&h2->out, H2_FRAME_HEAD_BYTES + len, OUT_FIRST) ||
	    held_add(&h2->out, head, H2_FRAME_HEAD_BYTES, OUT_FIRST))
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	stream->give_len -= len;
	while (len) {
		const char *at;
		size_t n = h2_peek(stream->give, &at);

		if (n > len)
			n = len;
		if (held_add(&h2->out, (const uint8_t *)at, n, OUT_FIRST))
			return NGHTTP2_ERR_CALLBACK_FAILURE;
		h2_skip(stream->give, n);
		len -= n;
	}
	return 0;
}

/* How many bytes of a body can go out now. */
static size_t h2_stream_room(const struct h2_stream *stream)
{
	const struct h2 *h2 = stream->session;
	int32_t window = nghttp2_session_get_stream_remote_window_size(h2->ng, stream->id),
	        all = nghttp2_session_get_remote_window_size(h2->ng);

	if (all < window)
		window = all;
	if (window <= 0 || h2->out.len >= H2_OUT_BYTES)
		return 0;
	size_t room = H2_OUT_BYTES - h2->out.len;
	return (size_t)window < room ? (size_t)window : room;
}

/* Takes body bytes, up to max. The writer keeps those that nghttp2 did not take. */
static void h2_give(struct h2_stream *stream, struct h2_pieces *pieces, uint64_t max)
{
	size_t room = h2_stream_room(stream), total = 0, before = pieces->taken;

	for (int i = 0; i < pieces->n; i++)
		total += pieces->iov[i].iov_len;
	total -= pieces->at;
	if (total > max)
		total = (size_t)max;
	stream->give = pieces;
	stream->give_len = total < room ? total : room;
	if (stream->give_len) {
		nghttp2_session_resume_data(stream->session->ng, stream->id);
		h2_pull(stream->session);
	}
	stream->give = NULL;
	stream->give_len = 0;
	if (stream->writing != H2_RAW)
		stream->left -= pieces->taken - before;
}

/* ---- heads and trailers ---- */

bool h2_is_bodiless(const struct h2_stream *stream, const struct h2_framing *framing)
{
	if (!framing->status)
		return !framing->chunked && framing->content_length <= 0;
	return stream->heads || framing->status == 204 || framing->status == 304 || framing->content_length == 0;
}

/* What follows the head, and whether nothing does. */
static bool h2_frame_body(struct h2_stream *stream, const struct h2_framing *framing)
{
	bool none = h2_is_bodiless(stream, framing);

	stream->writing = none ? H2_WRITTEN
	    : framing->chunked ? H2_CHUNK_SIZE
	    : framing->content_length > 0 ? H2_LENGTH
	    : H2_RAW;
	stream->left = framing->content_length > 0 ? (uint64_t)framing->content_length : 0;
	return none;
}

static int h2_submit_head(struct h2_stream *stream, const struct h2_framing *framing, const nghttp2_nv *nv, size_t n)
{
	nghttp2_data_provider body = { .read_callback = h2_on_data_wanted };
	nghttp2_session *ng = stream->session->ng;

	if (framing->status / 100 == 1)
		return nghttp2_submit_headers(ng, NGHTTP2_FLAG_NONE, stream->id, NULL, nv, n, NULL);
	stream->ends = h2_frame_body(stream, framing);
	return stream->session->asks ? h2_ask_submit(stream, nv, n, stream->ends ? NULL : &body)
	                             : nghttp2_submit_response(ng, stream->id, nv, n, stream->ends ? NULL : &body);
}

static int h2_send_head(struct h2_stream *stream)
{
	const struct h2 *h2 = stream->session;
	struct slice head = { stream->lines.bytes, stream->lines.len };
	struct h2_framing framing;
	struct h2_block block;
	int n, r = -1;

	if (!h2_block_begin(&block, head))
		return -1;
	n = h2->asks ? h2->translation->request_fields(head, h2->settings.secure ? "https" : "http", &stream->names,
	                   block.fields, block.max, &framing)
	             : h2->translation->response_fields(head, &stream->names, block.fields, block.max, &framing);
	h2_block_fill(&block, n);
	if (n >= 0)
		r = h2_submit_head(stream, &framing, block.nv, (size_t)n);
	free(block.fields);
	return r;
}

static bool h2_ends_lines(const struct text *lines)
{
	const char *end = lines->bytes + lines->len;

	return (lines->len == 2 && !memcmp(end - 2, BLANK_LINE, 2)) ||
	    (lines->len >= 4 && !memcmp(end - 4, BLANK_LINE BLANK_LINE, 4));
}

/* Takes bytes up to the blank line; 1: it is there. -1: out of memory, or they are too many. */
static int h2_take_lines(struct h2_stream *stream, struct h2_pieces *pieces)
{
	while (pieces->n) {
		const char *at;
		size_t len = h2_peek(pieces, &at);
		const char *lf = memchr(at, '\n', len);
		size_t n = lf ? (size_t)(lf + 1 - at) : len;

		text_add(&stream->lines, at, n);
		h2_skip(pieces, n);
		if (stream->lines.failed || stream->lines.len > H2_HEAD_MAX)
			return -1;
		if (lf && h2_ends_lines(&stream->lines))
			return 1;
	}
	return 0;
}

static int h2_write_lines(struct h2_stream *stream, struct h2_pieces *pieces)
{
	int r = h2_take_lines(stream, pieces);

	if (r <= 0)
		return r;
	if (stream->writing == H2_HEAD) {
		r = h2_send_head(stream);
		text_empty(&stream->lines);
		text_empty(&stream->names);
		return r;
	}
	if (stream->lines.len == sizeof BLANK_LINE - 1)
		text_empty(&stream->lines);         /* the message has only its chunks */
	stream->writing = H2_WRITTEN;
	stream->ends = true;
	nghttp2_session_resume_data(stream->session->ng, stream->id);
	return 0;
}

/* Takes a chunk's size, or the CRLF behind its data. */
static int h2_write_chunk_line(struct h2_stream *stream, struct h2_pieces *pieces)
{
	while (pieces->n) {
		const char *at;

		h2_peek(pieces, &at);
		text_add(&stream->lines, at, 1);
		h2_skip(pieces, 1);
		if (stream->lines.failed || stream->lines.len > CHUNK_LINE)
			return -1;
		if (*at != '\n')
			continue;
		if (stream->writing == H2_CHUNK_END)
			stream->writing = H2_CHUNK_SIZE;
		else {
			text_add(&stream->lines, "", 1);
			stream->left = strtoull(stream->lines.bytes, NULL, 16);
			stream->writing = stream->left ? H2_CHUNK : H2_TRAILER;
		}
		text_empty(&stream->lines);
		break;
	}
	return 0;
}

static int h2_write_body(struct h2_stream *stream, struct h2_pieces *pieces)
{
	enum h2_writing writing = stream->writing;

	if (writing == H2_LENGTH) {
		size_t total = 0;

		for (int i = 0; i < pieces->n; i++)
			total += pieces->iov[i].iov_len;
		/* the last frame says so */
		stream->ends = total - pieces->at >= stream->left && h2_stream_room(stream) >= stream->left;
	}
	h2_give(stream, pieces, writing == H2_RAW ? UINT64_MAX : stream->left);
	if (writing == H2_LENGTH && !(stream->ends = !stream->left))
		return 0;
	if (writing == H2_LENGTH)
		stream->writing = H2_WRITTEN;
	if (writing == H2_CHUNK && !stream->left)
		stream->writing = H2_CHUNK_END;
	return 0;
}

static int h2_write_step(struct h2_stream *stream, struct h2_pieces *pieces)
{
	switch (stream->writing) {
	case H2_HEAD:
	case H2_TRAILER:
		return h2_write_lines(stream, pieces);
	case H2_CHUNK_SIZE:
	case H2_CHUNK_END:
		return h2_write_chunk_line(stream, pieces);
	case H2_LENGTH:
	case H2_CHUNK:
	case H2_RAW:
		return h2_write_body(stream, pieces);
	case H2_WRITTEN:
		break;
	}
	return -1;
}

ssize_t h2_stream_writev(struct conn *conn, struct iovec *iov, int n, bool more)
{
	struct h2_stream *stream = conn->stream;
	struct h2_pieces pieces = { iov, n, 0, 0 };

	(void)more;
	h2_skip(&pieces, 0);
	while (pieces.n) {
		size_t before = pieces.taken;

		if (!stream->session || stream->failed || h2_write_step(stream, &pieces)) {
			if (stream->session && stream->session->asks)
				h2_ask_fail(stream, NGHTTP2_INTERNAL_ERROR, FAILURE_PROXY_INTERNAL_ERROR,
				    "the request cannot be written as HTTP/2");
			conn->err = ECONNRESET;
			return CONN_FAILED;
		}
		if (pieces.taken == before)
			break;
	}
	if (stream->session)
		h2_pull(stream->session);
	h2_stream_set_waits(stream, pieces.n > 0);
	if (stream->waits && stream->session && pieces.taken) {
		TAILQ_REMOVE(&stream->session->streams, stream, link);
		TAILQ_INSERT_TAIL(&stream->session->streams, stream, link);
	}
	return pieces.taken ? (ssize_t)pieces.taken : n ? CONN_AGAIN : 0;
}

bool h2_stream_finish(struct h2_stream *stream)
{
	if (stream->writing == H2_RAW && !stream->ends) {
		stream->ends = true;
		nghttp2_session_resume_data(stream->session->ng, stream->id);
	}
	return stream->ends;
}
