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
bool sender_packs(const struct object_head *head, int64_t content_length, const struct sender_client *client)
{
	return head->gzip && !head->no_body && client->gzip && !client->http_1_0 &&
	    (content_length < 0 || content_length >= client->gzip_min);
}

/* Sets up gzip where the client gets it. Out of memory: the body goes out as it is. */
static void sender_begin_gzip(struct sender *s, struct text *t, const struct object_head *head, int64_t content_length,
    const struct sender_client *client)
{
	if (!client->coded && (!sender_packs(head, content_length, client) || !(s->gzip = sender_gzip_new())))
		return;
	s->etag_end = head->etag_end;
	text_puts(t, "Content-Encoding: gzip\r\n");
}

void sender_end(struct sender *s)
{
	sender_gzip_free(&s->gzip);
	sender_reset(s, NULL, 0);
}

bool sender_begin_response(struct sender *s, const struct object_head *head, int64_t content_length,
    const struct sender_client *client)
{
	bool keep = client->keep;

	sender_reset(s, head->bytes, head->len);
	struct text t = frame_room(s);
	sender_begin_gzip(s, &t, head, content_length, client);
	if (content_length >= 0 && !s->gzip)
		s->framing = FRAME_LENGTH;
	else
		s->framing = client->http_1_0 ? FRAME_CLOSE : FRAME_CHUNKED;
	if (head->no_body)
		s->framing = FRAME_NONE;
	if (s->framing == FRAME_CLOSE)
		keep = false;
	s->closes = !keep;
	s->trailer = s->framing == FRAME_CHUNKED && client->trailers;
	if (client->verdict)
		add_rule(&t, client->verdict);
	text_puts(&t, client->lines);
	s->left = s->framing == FRAME_LENGTH ? (uint64_t)content_length : 0;
	if (s->framing == FRAME_LENGTH)
		add_length(&t, s->left);
	else if (s->framing == FRAME_CHUNKED)
		text_puts(&t,
		    s->trailer
		    ? "Transfer-Encoding: chunked\r\nTrailer: X-Encoding-Rule\r\n"
		    : "Transfer-Encoding: chunked\r\n");
	text_puts(&t, !keep ? "Connection: close\r\n" : client->http_1_0 ? "Connection: keep-alive\r\n" : "");
	text_puts(&t, "\r\n");
	frame_put(s, &t);
	if (client->head)
		s->framing = FRAME_NONE;
	return keep;
}

void sender_begin_request(struct sender *s, char *head, size_t head_len, bool has_body, int64_t content_length)
{
	sender_reset(s, head, head_len);
	struct text t = frame_room(s);
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
static void sender_gather_body(struct sender *s, bool splices, struct object_reader *reader,
    struct sender_pieces *pieces)
{
	uint64_t max = s->framing == FRAME_CLOSE || s->left > SENDER_WRITE_BYTES ? SENDER_WRITE_BYTES : s->left;
	struct iovec *iov = pieces->iov + pieces->n;
	int room = SENDER_IOV - pieces->n, n;

	if (splices && !s->gzip && max >= SENDER_SPLICE_BYTES) {
		n = object_peek_pages(reader, iov, room, max, &pieces->body);
		if (pieces->body >= SENDER_SPLICE_BYTES) {
			pieces->pages = true;
			pieces->n += n;
			return;
		}
	}
	pieces->n += sender_peek(s, reader, iov, room, max, &pieces->body);
}

/* Gathers what can be written now: head, framing, body, in this order. */
static void sender_gather(struct sender *s, bool splices, struct object_reader *reader, struct sender_pieces *pieces)
{
	pieces->body = 0;
	pieces->pages = false;
	if (s->framing == FRAME_CHUNKED && !s->left && !s->ended)
		sender_frame_chunk(s, reader);
	pieces->n = sender_gather_head(s, pieces->iov, &pieces->head);
	pieces->frame = s->frame_len - s->frame_sent;
	if (pieces->frame)
		pieces->iov[pieces->n++] = (struct iovec){ s->frame + s->frame_sent, pieces->frame };
	pieces->n_copied = pieces->n;
	if (s->framing == FRAME_CLOSE || (s->framing != FRAME_NONE && s->left))
		sender_gather_body(s, splices, reader, pieces);
}

static void sender_account(struct sender *s, struct object_reader *reader, size_t n, const struct sender_pieces *pieces)
{
	size_t part = n < pieces->head ? n : pieces->head;

	s->bytes += n;
	s->head_sent += part;
	n -= part;
	part = n < pieces->frame ? n : pieces->frame;
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

static size_t sender_bytes(const struct sender_pieces *pieces)
{
	return pieces->head + pieces->frame + pieces->body;
}

static ssize_t sender_put(const struct sender *s, struct conn *conn, struct sender_pieces *pieces, bool complete)
{
	size_t bytes = sender_bytes(pieces);
	bool more = complete && s->closes;

	if (s->gathers && complete && bytes <= SENDER_GATHER_BYTES && conn_cork(conn, pieces->iov, pieces->n))
		return (ssize_t)bytes;
	if (pieces->pages)
		return conn_splice(conn, pieces->iov, pieces->n_copied, pieces->n, more);
	return more ? conn_writev_more(conn, pieces->iov, pieces->n) : conn_writev(conn, pieces->iov, pieces->n);
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
