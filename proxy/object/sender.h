/* Owns writing one message to a connection: its head, framing, body pieces from an object's reader, and a trailer. Each
 * write takes many pieces; only a body that goes out as gzip is copied. Both responses to clients and requests to
 * origins are written here.
 * Must not know: what the message says, keep-alive, timeouts. Framing: RFC 9112 sections 6 and 7.1. */
#ifndef UTFEED_PROXY_OBJECT_SENDER_H
#define UTFEED_PROXY_OBJECT_SENDER_H

#include "proxy/coding/gzip_writer.h"
#include "proxy/http/http_msg.h"
#include "proxy/object/object.h"

struct conn;

enum sender_framing {
	FRAME_NONE,            /* nothing follows the head */
	FRAME_LENGTH, FRAME_CHUNKED,
	FRAME_CLOSE            /* closing the connection ends the body */
};

enum { SENDER_FRAME_BYTES = 1024 };

struct sender {
	char *head;                    /* start line and field lines without the blank line; not owned */
	enum sender_framing framing;
	bool closes;                   /* the connection ends with it */
	/* another message follows at once: the last bytes of this one may go out with it */
	bool gathers;
	/* X-Encoding-Rule follows the body again, since the verdict may have been corrected */
	bool trailer;
	bool ended;                    /* the last chunk is in frame */
	bool chunk_open;               /* a chunk's data was written, its CRLF not */
	struct sender_gzip *gzip;      /* NULL: the body goes out as it is */
	size_t head_len;
	size_t etag_end;               /* where in head the gzip form's ETag suffix goes; 0: nowhere */
	size_t head_sent;              /* suffix included */
	/* body bytes still to be written: of the current chunk, or of a body of known length */
	uint64_t left;
	uint64_t bytes, body_bytes;    /* bytes written in all; those of the body, as sent, without framing */
	size_t frame_len, frame_sent;
	char frame[SENDER_FRAME_BYTES];    /* the last field lines and chunk framing, to be written */
};

enum sender_result {
	SENDER_DONE,           /* The whole message is written. */
	SENDER_WAIT,           /* The object has no more bytes at the moment. */
	SENDER_PAUSED,         /* It could go on, but is to do so in a later turn of the loop. */
	SENDER_BLOCKED,        /* The socket takes no more bytes at the moment. */
	SENDER_CUT,            /* The object failed: the connection must be cut. */
	SENDER_LOST            /* The connection is broken: conn_errno(). */
};

/* What the framing of a response depends on: the client and its request. */
struct sender_client {
	bool head;                     /* the request was a HEAD */
	bool http_1_0;
	bool trailers;                 /* The request said TE: trailers. */
	bool keep;                     /* The connection may be kept. */
	bool gzip;                     /* The client takes gzip. */
	int64_t gzip_min;              /* Bodies under that many bytes do not go out as gzip. */
	bool coded;                    /* The body's object is the gzip form already. */
	const struct verdict *verdict; /* For X-Encoding-Rule; NULL: none. */
	const char *lines;             /* Further field lines, each with CRLF; "" for none. */
};

/* Whether a body of that length (-1: not known yet) goes out as gzip. */
bool sender_packs(const struct object_head *, int64_t content_length, const struct sender_client *);
/* Begins a response. content_length: of the object's body, -1: not known yet. Returns whether the connection can
 * outlive the response. */
bool sender_begin_response(struct sender *, const struct object_head *, int64_t content_length,
    const struct sender_client *);
/* Begins a request; head as in struct sender. has_body: content_length -1 means chunked. */
void sender_begin_request(struct sender *, char *head, size_t head_len, bool has_body, int64_t content_length);
/* Frees what a message needs besides its struct; more than once does no harm. */
void sender_end(struct sender *);
/* reader may be NULL for FRAME_NONE. */
enum sender_result sender_write(struct sender *, struct conn *, struct object_reader *);

#endif
