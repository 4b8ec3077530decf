/* Writing a message; see sender.h. */
#include "sender.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "conn.h"

enum { SENDER_IOV = 16, SENDER_WRITE_BYTES = 256 * 1024 /* at most in one writev */ };

static void __attribute__((format(printf, 2, 3))) frame_add(struct sender *s, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(s->frame + s->frame_len, sizeof s->frame - s->frame_len, fmt, ap);
	va_end(ap);
	assert(n >= 0 && s->frame_len + (size_t)n < sizeof s->frame);
	s->frame_len += (size_t)n;
}

static void frame_rule(struct sender *s, const struct verdict *v)
{
	char rule[VERDICT_FORMAT_MAX];

	verdict_format(v, rule, sizeof rule);
	frame_add(s, "X-Encoding-Rule: %s\r\n", rule);
}

bool sender_begin_response(struct sender *s, const struct object_head *h, int64_t content_length, const struct sender_client *c)
{
	bool keep = c->keep;

	*s = (struct sender){ .head = { h->bytes, h->len } };
	if (content_length >= 0)
		s->framing = FRAME_LENGTH;
	else
		s->framing = c->http_1_0 ? FRAME_CLOSE : FRAME_CHUNKED;
	if (h->no_body)
		s->framing = FRAME_NONE;
	if (s->framing == FRAME_CLOSE)
		keep = false;
	s->trailer = s->framing == FRAME_CHUNKED && c->trailers;
	if (c->verdict)
		frame_rule(s, c->verdict);
	frame_add(s, "%s", c->lines);
	s->left = s->framing == FRAME_LENGTH ? (uint64_t)content_length : 0;
	if (s->framing == FRAME_LENGTH)
		frame_add(s, "Content-Length: %llu\r\n", (unsigned long long)content_length);
	else if (s->framing == FRAME_CHUNKED)
		frame_add(s, "Transfer-Encoding: chunked\r\n%s", s->trailer ? "Trailer: X-Encoding-Rule\r\n" : "");
	frame_add(s, "%s\r\n", !keep ? "Connection: close\r\n" : c->http_1_0 ? "Connection: keep-alive\r\n" : "");
	if (c->head)
		s->framing = FRAME_NONE;
	return keep;
}

void sender_begin_request(struct sender *s, struct slice head, bool has_body, int64_t content_length)
{
	*s = (struct sender){ .head = head };
	if (has_body && content_length >= 0) {
		s->framing = FRAME_LENGTH;
		s->left = (uint64_t)content_length;
		frame_add(s, "Content-Length: %llu\r\n", (unsigned long long)content_length);
	} else if (has_body) {
		s->framing = FRAME_CHUNKED;
		frame_add(s, "Transfer-Encoding: chunked\r\n");
	}
	frame_add(s, "\r\n");
}

/* The next chunk's framing, once all before it is announced. */
static void sender_frame_chunk(struct sender *s, struct object_reader *reader)
{
	struct iovec iov[SENDER_IOV];
	struct verdict v;
	size_t bytes;

	object_peek(reader, iov, SENDER_IOV, SENDER_WRITE_BYTES, &bytes);
	if (bytes) {
		frame_add(s, "%s%zx\r\n", s->chunk_open ? "\r\n" : "", bytes);
		s->left = bytes;
		s->chunk_open = true;
	} else if (object_phase(reader->object) == OBJECT_DONE) {
		frame_add(s, "%s0\r\n", s->chunk_open ? "\r\n" : "");
		if (s->trailer && object_verdict(reader->object, &v))
			frame_rule(s, &v);
		frame_add(s, "\r\n");
		s->ended = true;
	}
}

/* What can be written now: head, framing, body, in this order. Returns the number of pieces. */
static int sender_gather(struct sender *s, struct object_reader *reader, struct iovec *iov, size_t *head, size_t *frame)
{
	int n = 0;
	size_t body;

	if (s->framing == FRAME_CHUNKED && !s->left && !s->ended)
		sender_frame_chunk(s, reader);
	*head = s->head.len - s->head_sent;
	*frame = s->frame_len - s->frame_sent;
	if (*head)
		iov[n++] = (struct iovec){ (char *)(uintptr_t)s->head.at + s->head_sent, *head };
	if (*frame)
		iov[n++] = (struct iovec){ s->frame + s->frame_sent, *frame };
	if (s->framing == FRAME_CLOSE || (s->framing != FRAME_NONE && s->left)) {
		uint64_t max = s->framing == FRAME_CLOSE || s->left > SENDER_WRITE_BYTES ? SENDER_WRITE_BYTES : s->left;

		n += object_peek(reader, iov + n, SENDER_IOV - n, max, &body);
	}
	return n;
}

static void sender_account(struct sender *s, struct object_reader *reader, size_t n, size_t head, size_t frame)
{
	size_t part = n < head ? n : head;

	s->bytes += n;
	s->head_sent += part;
	n -= part;
	part = n < frame ? n : frame;
	s->frame_sent += part;
	n -= part;
	if (s->frame_sent == s->frame_len)
		s->frame_sent = s->frame_len = 0;
	if (s->framing != FRAME_CLOSE)
		s->left -= n;
	if (n)
		object_consume(reader, n);
}

static bool sender_is_complete(const struct sender *s, const struct object_reader *reader)
{
	switch (s->framing) {
	case FRAME_NONE:
		return true;
	case FRAME_CHUNKED:
		return s->ended;
	case FRAME_LENGTH:
		return !s->left;
	default:
		return object_phase(reader->object) == OBJECT_DONE && reader->offset == object_length(reader->object);
	}
}

enum sender_result sender_write(struct sender *s, struct conn *conn, struct object_reader *reader)
{
	for (;;) {
		struct iovec iov[SENDER_IOV];
		size_t head, frame;
		int n = sender_gather(s, reader, iov, &head, &frame);
		ssize_t sent;

		if (!n && sender_is_complete(s, reader))
			return SENDER_DONE;
		if (!n)
			return object_phase(reader->object) == OBJECT_FAILED ? SENDER_CUT : SENDER_WAIT;
		sent = conn_writev(conn, iov, n);
		if (sent == CONN_AGAIN)
			return SENDER_BLOCKED;
		if (sent < 0)
			return SENDER_LOST;
		sender_account(s, reader, (size_t)sent, head, frame);
	}
}
