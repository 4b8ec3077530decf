/* Writing a message; see sender.h. */
#include "proxy/object/sender.h"

#include <assert.h>
#include <string.h>

#include "proxy/base/text.h"
#include "proxy/http/etag.h"
#include "proxy/net/conn.h"
#include "proxy/object/sender_gzip.h"

enum {
	SENDER_IOV = 16,
	SENDER_WRITE_BYTES = 256 * 1024,       /* of the body at most in one write */
	SENDER_GATHER_BYTES = 16 * 1024,       /* up to this size a copy costs less than a system call */
	SENDER_SPLICE_BYTES = 48 * 1024        /* from this size on a copy costs more than two system calls */
};

/* The pieces of the next write. */
struct sender_pieces {
	struct iovec iov[SENDER_IOV];
	int n, n_copied;               /* pieces in all; of these, head and framing */
	size_t head, frame, body;      /* bytes of each */
	bool pages;                    /* the body's pieces are pages */
};

/* Clears everything but frame, whose bytes count only as far as frame_len says. */
static void sender_reset(struct sender *s, char *head, size_t head_len)
{
	memset(s, 0, offsetof(struct sender, frame));
	s->head = head;
	s->head_len = head_len;
}

/* The free room behind the framing that is in frame; frame_put() takes what was written there. */
static struct text frame_room(struct sender *s)
{
	return text_on(s->frame + s->frame_len, sizeof s->frame - s->frame_len);
}

static void frame_put(struct sender *s, const struct text *t)
{
	assert(!t->failed);
	s->frame_len += t->len;
}

static void add_rule(struct text *t, const struct verdict *v)
{
	char rule[VERDICT_FORMAT_MAX];

	text_puts(t, "X-Encoding-Rule: ");
	text_add(t, rule, verdict_format(v, rule, sizeof rule));
	text_puts(t, "\r\n");
}

static void add_length(struct text *t, uint64_t n)
{
	text_puts(t, "Content-Length: ");
	text_number(t, n);
	text_puts(t, "\r\n");
}

/* Never to HTTP/1.0, which has no chunks for a body whose length is not known. */
bool sender_packs(const struct object_head *h, int64_t content_length, const struct sender_client *c)
{
	return h->gzip && !h->no_body && c->gzip && !c->http_1_0 &&
	    (content_length < 0 || content_length >= c->gzip_min);
}

/* Sets up gzip where the client gets it. Out of memory: the body goes out as it is. */
static void sender_begin_gzip(struct sender *s, struct text *t, const struct object_head *h, int64_t content_length,
    const struct sender_client *c)
{
	if (!c->coded && (!sender_packs(h, content_length, c) || !(s->gzip = sender_gzip_new(c->gzip_effort))))
		return;
	s->etag_end = h->etag_end;
	text_puts(t, "Content-Encoding: gzip\r\n");
}

void sender_end(struct sender *s)
{
	sender_gzip_free(&s->gzip);
	sender_reset(s, NULL, 0);
}

bool sender_begin_response(struct sender *s, const struct object_head *h, int64_t content_length,
    const struct sender_client *c)
{
	bool keep = c->keep;
	struct text t;

	sender_reset(s, h->bytes, h->len);
	t = frame_room(s);
	sender_begin_gzip(s, &t, h, content_length, c);
	if (content_length >= 0 && !s->gzip)
		s->framing = FRAME_LENGTH;
	else
		s->framing = c->http_1_0 ? FRAME_CLOSE : FRAME_CHUNKED;
	if (h->no_body)
		s->framing = FRAME_NONE;
	if (s->framing == FRAME_CLOSE)
		keep = false;
	s->closes = !keep;
	s->trailer = s->framing == FRAME_CHUNKED && c->trailers;
	if (c->verdict)
		add_rule(&t, c->verdict);
	text_puts(&t, c->lines);
	s->left = s->framing == FRAME_LENGTH ? (uint64_t)content_length : 0;
	if (s->framing == FRAME_LENGTH)
		add_length(&t, s->left);
	else if (s->framing == FRAME_CHUNKED)
		text_puts(&t,
		    s->trailer
		        ? "Transfer-Encoding: chunked\r\nTrailer: X-Encoding-Rule\r\n"
		        : "Transfer-Encoding: chunked\r\n");
	text_puts(&t, !keep ? "Connection: close\r\n\r\n" : c->http_1_0 ? "Connection: keep-alive\r\n\r\n" : "\r\n");
	frame_put(s, &t);
	if (c->head)
		s->framing = FRAME_NONE;
	return keep;
}

void sender_begin_request(struct sender *s, char *head, size_t head_len, bool has_body, int64_t content_length)
{
	struct text t;

	sender_reset(s, head, head_len);
	t = frame_room(s);
	if (has_body && content_length >= 0) {
		s->framing = FRAME_LENGTH;
		s->left = (uint64_t)content_length;
		add_length(&t, s->left);
	} else if (has_body) {
		s->framing = FRAME_CHUNKED;
		text_puts(&t, "Transfer-Encoding: chunked\r\n");
	}
	text_puts(&t, "\r\n");
	frame_put(s, &t);
}

static int sender_peek(struct sender *s, struct object_reader *reader, struct iovec *iov, int n, size_t max,
    size_t *bytes)
{
	if (!s->gzip)
		return object_peek(reader, iov, n, max, bytes);
	*iov = sender_gzip_peek(s->gzip, reader);
	if (iov->iov_len > max)
		iov->iov_len = max;
	*bytes = iov->iov_len;
	return *bytes != 0;
}

/* Writes the framing of the next chunk; called when the chunk before it has been written. */
static void sender_frame_chunk(struct sender *s, struct object_reader *reader)
{
	struct iovec iov[SENDER_IOV];
	/* read before the bytes are: another thread may append and end the object in between */
	bool done = object_phase(reader->object) == OBJECT_DONE;
	struct text t = frame_room(s);
	struct verdict v;
	size_t bytes;

	sender_peek(s, reader, iov, SENDER_IOV, SENDER_WRITE_BYTES, &bytes);
	if (!bytes && (object_is_cut(reader) || !(s->gzip ? sender_gzip_ended(s->gzip) : done)))
		return;
	if (s->chunk_open)
		text_puts(&t, "\r\n");
	text_hex(&t, bytes, 1);
	text_puts(&t, "\r\n");
	s->left = bytes;
	s->chunk_open = true;
	if (!bytes) {
		if (s->trailer && object_verdict(reader->object, &v))
			add_rule(&t, &v);
		text_puts(&t, "\r\n");
		s->ended = true;
	}
	frame_put(s, &t);
}

/* The pieces of the head from head_sent on, with the gzip form's suffix put into the ETag. */
static int sender_gather_head(const struct sender *s, struct iovec *iov, size_t *bytes)
{
	static char suffix[] = ETAG_GZIP;      /* only read */
	const struct { char *at; size_t len; } pieces[] = { { s->head, s->etag_end },
		{ suffix, s->etag_end ? sizeof suffix - 1 : 0 },
		{ s->head + s->etag_end, s->head_len - s->etag_end } };
	size_t skip = s->head_sent;
	int n = 0;

	*bytes = 0;
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		size_t part = skip < pieces[i].len ? skip : pieces[i].len, len = pieces[i].len - part;

		skip -= part;
		if (len)
			iov[n++] = (struct iovec){ pieces[i].at + part, len };
		*bytes += len;
	}
	return n;
}

/* Adds pieces of the body behind those gathered already. */
static void sender_gather_body(struct sender *s, bool splices, struct object_reader *reader, struct sender_pieces *p)
{
	uint64_t max = s->framing == FRAME_CLOSE || s->left > SENDER_WRITE_BYTES ? SENDER_WRITE_BYTES : s->left;
	struct iovec *iov = p->iov + p->n;
	int room = SENDER_IOV - p->n, n;

	if (splices && !s->gzip && max >= SENDER_SPLICE_BYTES) {
		n = object_peek_pages(reader, iov, room, max, &p->body);
		if (p->body >= SENDER_SPLICE_BYTES) {
			p->pages = true;
			p->n += n;
			return;
		}
	}
	p->n += sender_peek(s, reader, iov, room, max, &p->body);
}

/* Gathers what can be written now: head, framing, body, in this order. */
static void sender_gather(struct sender *s, bool splices, struct object_reader *reader, struct sender_pieces *p)
{
	p->body = 0;
	p->pages = false;
	if (s->framing == FRAME_CHUNKED && !s->left && !s->ended)
		sender_frame_chunk(s, reader);
	p->n = sender_gather_head(s, p->iov, &p->head);
	p->frame = s->frame_len - s->frame_sent;
	if (p->frame)
		p->iov[p->n++] = (struct iovec){ s->frame + s->frame_sent, p->frame };
	p->n_copied = p->n;
	if (s->framing == FRAME_CLOSE || (s->framing != FRAME_NONE && s->left))
		sender_gather_body(s, splices, reader, p);
}

static void sender_account(struct sender *s, struct object_reader *reader, size_t n, const struct sender_pieces *p)
{
	size_t part = n < p->head ? n : p->head;

	s->bytes += n;
	s->head_sent += part;
	n -= part;
	part = n < p->frame ? n : p->frame;
	s->frame_sent += part;
	n -= part;
	if (s->frame_sent == s->frame_len)
		s->frame_sent = s->frame_len = 0;
	if (s->framing != FRAME_CLOSE)
		s->left -= n;
	s->body_bytes += n;
	if (n && s->gzip)
		sender_gzip_consume(s->gzip, n);
	else if (n)
		object_consume(reader, n);
}

/* Whether the message is complete once head, framing and that many more bytes of the body are written. */
static bool sender_is_complete_with(const struct sender *s, const struct object_reader *reader, size_t body)
{
	switch (s->framing) {
	case FRAME_NONE:
		return true;
	case FRAME_CHUNKED:
		return s->ended;
	case FRAME_LENGTH:
		return s->left == body;
	default:
		return object_phase(reader->object) == OBJECT_DONE &&
		    reader->offset + body == object_length(reader->object);
	}
}

static size_t sender_bytes(const struct sender_pieces *p)
{
	return p->head + p->frame + p->body;
}

static ssize_t sender_put(const struct sender *s, struct conn *conn, struct sender_pieces *p, bool complete)
{
	size_t bytes = sender_bytes(p);
	bool more = complete && s->closes;

	if (s->gathers && complete && bytes <= SENDER_GATHER_BYTES && conn_cork(conn, p->iov, p->n))
		return (ssize_t)bytes;
	if (p->pages)
		return conn_splice(conn, p->iov, p->n_copied, p->n, more);
	return more ? conn_writev_more(conn, p->iov, p->n) : conn_writev(conn, p->iov, p->n);
}

enum sender_result sender_write(struct sender *s, struct conn *conn, struct object_reader *reader)
{
	for (;;) {
		struct sender_pieces p;
		bool complete, amid;
		ssize_t sent;

		sender_gather(s, conn_splices(conn), reader, &p);
		complete = sender_is_complete_with(s, reader, p.body);
		if (!p.n && complete)
			return SENDER_DONE;
		amid = s->gzip && sender_gzip_is_amid(s->gzip) && !object_is_cut(reader);
		if (amid && !conn_must_pause(conn))
			continue;
		if (amid && !p.n)
			return SENDER_PAUSED;
		if (!p.n)
			return object_is_cut(reader) ? SENDER_CUT : SENDER_WAIT;
		sent = sender_put(s, conn, &p, complete);
		if (sent == CONN_AGAIN)
			return SENDER_BLOCKED;
		if (sent < 0)
			return SENDER_LOST;
		sender_account(s, reader, (size_t)sent, &p);
		if (complete && (size_t)sent == sender_bytes(&p))
			return SENDER_DONE;
		if (p.pages && (size_t)sent < sender_bytes(&p))
			return SENDER_BLOCKED;
		if (conn_must_pause(conn))
			return SENDER_PAUSED;
	}
}
