/* Writing a response; see reply.h. */
#include "reply.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "conn.h"

enum { REPLY_IOV = 16, REPLY_WRITE_BYTES = 256 * 1024 /* at most in one writev */ };

static void __attribute__((format(printf, 2, 3))) frame_add(struct reply *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(r->frame + r->frame_len, sizeof r->frame - r->frame_len, fmt, ap);
	va_end(ap);
	assert(n >= 0 && r->frame_len + (size_t)n < sizeof r->frame);
	r->frame_len += (size_t)n;
}

bool reply_begin(struct reply *r, const struct object_head *h, const struct reply_client *c)
{
	bool keep = c->keep;

	*r = (struct reply){ .no_body = h->no_body || c->head };
	if (h->no_body)
		r->framing = FRAME_NONE;
	else if (h->content_length >= 0)
		r->framing = FRAME_LENGTH;
	else
		r->framing = c->http_1_0 ? FRAME_CLOSE : FRAME_CHUNKED;
	if (r->framing == FRAME_CLOSE)
		keep = false;
	r->trailer = r->framing == FRAME_CHUNKED && c->trailers;
	if (r->framing == FRAME_LENGTH)
		frame_add(r, "Content-Length: %llu\r\n", (unsigned long long)h->content_length);
	else if (r->framing == FRAME_CHUNKED)
		frame_add(r, "Transfer-Encoding: chunked\r\n%s", r->trailer ? "Trailer: X-Encoding-Rule\r\n" : "");
	frame_add(r, "%s\r\n", !keep ? "Connection: close\r\n" : c->http_1_0 ? "Connection: keep-alive\r\n" : "");
	return keep;
}

/* The next chunk's framing, once all before it is announced. */
static void reply_frame_chunk(struct reply *r, struct object_reader *reader)
{
	struct iovec iov[REPLY_IOV];
	size_t bytes;

	object_peek(reader, iov, REPLY_IOV, REPLY_WRITE_BYTES, &bytes);
	if (bytes) {
		frame_add(r, "%s%zx\r\n", r->chunk_open ? "\r\n" : "", bytes);
		r->chunk_left = bytes;
		r->chunk_open = true;
	} else if (object_phase(reader->object) == OBJECT_DONE) {
		frame_add(r, "%s0\r\n", r->chunk_open ? "\r\n" : "");
		if (r->trailer) {
			char rule[VERDICT_FORMAT_MAX];

			verdict_format(&object_report(reader->object)->verdict, rule, sizeof rule);
			frame_add(r, "X-Encoding-Rule: %s\r\n", rule);
		}
		frame_add(r, "\r\n");
		r->ended = true;
	}
}

/* What can be written now: head, framing, body, in this order. Returns the number of pieces. */
static int reply_gather(struct reply *r, struct object_reader *reader, struct iovec *iov, size_t *head, size_t *frame)
{
	const struct object_head *h = object_get_head(reader->object);
	int n = 0;
	size_t body;

	if (!r->no_body && r->framing == FRAME_CHUNKED && !r->chunk_left && !r->ended)
		reply_frame_chunk(r, reader);
	*head = h->len - r->head_sent;
	*frame = r->frame_len - r->frame_sent;
	if (*head)
		iov[n++] = (struct iovec){ h->bytes + r->head_sent, *head };
	if (*frame)
		iov[n++] = (struct iovec){ r->frame + r->frame_sent, *frame };
	if (!r->no_body && (r->framing != FRAME_CHUNKED || r->chunk_left))
		n += object_peek(reader, iov + n, REPLY_IOV - n, r->framing == FRAME_CHUNKED ? r->chunk_left : REPLY_WRITE_BYTES, &body);
	return n;
}

static void reply_account(struct reply *r, struct object_reader *reader, size_t n, size_t head, size_t frame)
{
	size_t part = n < head ? n : head;

	r->bytes += n;
	r->head_sent += part;
	n -= part;
	part = n < frame ? n : frame;
	r->frame_sent += part;
	n -= part;
	if (r->frame_sent == r->frame_len)
		r->frame_sent = r->frame_len = 0;
	if (r->framing == FRAME_CHUNKED)
		r->chunk_left -= n;
	if (n)
		object_consume(reader, n);
}

static bool reply_is_complete(const struct reply *r, const struct object_reader *reader)
{
	if (r->no_body)
		return true;
	if (r->framing == FRAME_CHUNKED)
		return r->ended;
	return object_phase(reader->object) == OBJECT_DONE && reader->offset == object_length(reader->object);
}

enum reply_result reply_write(struct reply *r, struct conn *conn, struct object_reader *reader)
{
	for (;;) {
		struct iovec iov[REPLY_IOV];
		size_t head, frame;
		int n = reply_gather(r, reader, iov, &head, &frame);
		ssize_t sent;

		if (!n && reply_is_complete(r, reader))
			return REPLY_DONE;
		if (!n)
			return object_phase(reader->object) == OBJECT_FAILED ? REPLY_CUT : REPLY_WAIT;
		sent = conn_writev(conn, iov, n);
		if (sent == CONN_AGAIN)
			return REPLY_BLOCKED;
		if (sent < 0)
			return REPLY_LOST;
		reply_account(r, reader, (size_t)sent, head, frame);
	}
}
