/* Owns writing one response to a connection: head, framing, body pieces from an object's reader, trailer, in writes of many pieces.
 * Must not know: requests, keep-alive, timeouts. Framing: RFC 9112 sections 6 and 7.1. */
#ifndef UTFEED_PROXY_REPLY_H
#define UTFEED_PROXY_REPLY_H

#include "object.h"

struct conn;

enum reply_framing { FRAME_NONE, FRAME_LENGTH, FRAME_CHUNKED, FRAME_CLOSE };

enum { REPLY_FRAME_BYTES = 512 };

struct reply {
	enum reply_framing framing;
	bool no_body;                  /* nothing after the head: HEAD, 204, 304 */
	bool trailer;                  /* X-Encoding-Rule again after the body, for it may have been corrected */
	bool ended;                    /* the last chunk is in frame */
	bool chunk_open;               /* a chunk's data was written, its CRLF not */
	size_t head_sent;              /* of the object's head */
	size_t chunk_left;             /* bytes of the current chunk not yet written */
	uint64_t bytes;                /* written in all */
	size_t frame_len, frame_sent;
	char frame[REPLY_FRAME_BYTES]; /* lines and chunk framing on their way out */
};

struct reply_client {
	bool head;                     /* the request was a HEAD */
	bool http_1_0;
	bool trailers;                 /* it said TE: trailers */
	bool keep;                     /* it would keep the connection */
};

enum reply_result {
	REPLY_DONE,            /* everything is out */
	REPLY_WAIT,            /* the object has no more at the moment */
	REPLY_BLOCKED,         /* the socket takes no more at the moment */
	REPLY_CUT,             /* the object failed: the connection must be cut */
	REPLY_LOST             /* the connection is broken */
};

/* Once the object has a head. Returns whether the connection can outlive this response. */
bool reply_begin(struct reply *, const struct object_head *, const struct reply_client *);
enum reply_result reply_write(struct reply *, struct conn *, struct object_reader *);

#endif
