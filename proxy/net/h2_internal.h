/* Owns what the files of HTTP/2 share: h2.c (the session), h2_limits.c (floods), h2_receive.c (frames that come),
 * h2_stream.c (a stream as a connection), h2_write.c (a message of HTTP/1.1 as frames). Must not know: what h2.h must
 * not.
 * Invariant: nothing is called but nghttp2 from within its callbacks; streams hear of what came afterwards. */
#ifndef UTFEED_PROXY_NET_H2_INTERNAL_H
#define UTFEED_PROXY_NET_H2_INTERNAL_H

#include <sys/queue.h>

#include <nghttp2/nghttp2.h>

#include "core/memory/held.h"
#include "proxy/net/conn_internal.h"
#include "proxy/net/h2.h"
#include "proxy/net/loop.h"

enum {
	H2_STREAMS_MAX = 100,
	H2_FRAME_HEAD_BYTES = 9,               /* RFC 9113 section 4.1 */
	H2_OUT_BYTES = 64 * 1024,              /* written and not taken by the socket; control frames may come on top */
	H2_WINDOW_BYTES = 32 * 1024,           /* of a request's body that nobody has read yet */
	H2_HEAD_MAX = 256 * 1024,              /* of a response */
	H2_PAST = 32, H2_PAST_RESETS = 128
};

/* How much of a response's message was taken. */
enum h2_writing {
	H2_HEAD,
	H2_LENGTH,             /* the body, of known length */
	H2_CHUNK_SIZE, H2_CHUNK, H2_CHUNK_END,
	H2_TRAILER,
	H2_RAW,                /* whatever comes until the connection is closed */
	H2_WRITTEN
};

enum h2_urgency { H2_URGENCY_DEFAULT = 3, H2_URGENCIES = 8 };  /* RFC 9218 section 4.1 */

/* Belongs to its session until the stream is closed on both sides, and to nobody else afterwards. */
struct h2_stream {
	TAILQ_ENTRY(h2_stream) link;
	struct h2 *session;            /* NULL: it is gone */
	struct conn *conn;             /* NULL: not open yet, or closed by its owner */
	bool dropped;                  /* its owner has closed it: what comes is dropped */
	int32_t id;
	struct task task;              /* tells the connection's owner of bytes and of room */
	bool fresh;                    /* its request is there, and the session's owner has not heard of it */
	bool closed;                   /* nghttp2 knows it no more */
	bool failed;                   /* closed by an error, or its session has ended */

	/* the request */
	struct text raw;               /* names and values of the header list that is being read */
	struct h2_span *spans;         /* where they stand in raw */
	size_t n_spans, spans_cap;
	size_t list_bytes;             /* decoded, stored or not */
	bool overlong;                 /* what was beyond the limits was left out */
	bool head_cut;                 /* of the request's head, likewise */
	bool no_memory;
	bool held_back;                /* whether a body follows its head is not known yet */
	bool read_ended;
	bool heads, tunnels;           /* the request is a HEAD, a CONNECT */
	bool chunked;                  /* its body is given in chunks */
	uint64_t began_ms;             /* when its header list began; 0: it is complete */
	uint64_t done_ms;              /* when its owner closed it; 0: it has not */
	struct held in;                /* bytes for the connection's reader */
	size_t in_read;                /* of these, read */
	size_t unread;                 /* bytes of the body among them, for which the window is not given back */
	size_t chunk_bytes;            /* bytes of the framing of chunks among them */
	uint8_t urgency;

	/* the response */
	enum h2_writing writing;
	bool waits;                    /* the connection's writer got CONN_AGAIN */
	bool told_readable;            /* the connection's latest event was CONN_READABLE */
	uint32_t code;                 /* what closing it before the message is whole tells the peer */
	bool ends;                     /* the message is whole: the last frame of the body says so */
	uint64_t left;                 /* of a body or a chunk */
	struct text lines;             /* of the head, a chunk or the trailer, as far as they came */
	struct text names;
	struct h2_pieces *give;        /* within a write: the pieces that go out next */
	size_t give_len;               /* bytes of these */
};

struct h2_span { uint32_t name_at, name_len, value_at, value_len; };

struct h2 {
	struct conn *conn;
	struct loop *loop;
	nghttp2_session *ng;
	struct h2_settings settings;
	const struct h2_translation *translation;
	struct h2_owner owner;
	TAILQ_HEAD(, h2_stream) streams;
	size_t open;                   /* streams whose connection is open */
	bool used;                     /* the owner has not heard that the last one was closed */
	struct held out;               /* frames to be written */
	struct task task;              /* writes them at the end of the turn */
	struct timer stuck;            /* armed while the socket takes nothing of out */
	/* looks for heads that are never complete and for streams that never close, and waits for the peer to see
	 * GOAWAY */
	struct timer timer;
	bool inside;                   /* nghttp2 is on the stack */
	bool leaving, left;            /* GOAWAY was sent with the highest id, with the last one */
	bool ending;                   /* nothing more is read; what is in out goes out */
	bool broken;                   /* nghttp2 has failed in the midst of a frame: it is asked for no more */
	bool told;                     /* the owner knows that it has ended */
	uint64_t second_ms;            /* when the present second of the limits began */
	unsigned seen[16];             /* in it, by limit */
	uint8_t frame[H2_FRAME_HEAD_BYTES + 1];        /* the head of the frame that is being read, to be counted */
	uint8_t frame_len;
	uint32_t skip;                 /* bytes up to the next frame's head */
	int32_t highest;               /* the stream that was opened last */
	/* The streams closed last, and those that were reset last from here. */
	int32_t past[H2_PAST], past_resets[H2_PAST_RESETS];
	unsigned n_past, n_past_resets;
};

/* h2.c */
/* Takes the frames that nghttp2 has, and has them written at the end of the turn. */
void h2_pull(struct h2 *);
/* Ends the connection with this error (section 7), after what was written. */
void h2_fail(struct h2 *, uint32_t code);
/* Has the timer look when the next stream is late. */
void h2_arm(struct h2 *);

/* h2_limits.c */
enum h2_limit {
#define LIMIT(id, name, most) H2_LIMIT_##id,
#include "proxy/net/h2_limits.def"
#undef LIMIT
	H2_LIMITS
};
/* Ends a connection that has too many of these. */
void h2_flood(struct h2 *, const char *what);
/* Counts the frames in bytes that came. False: there were too many, and the connection ends. */
bool h2_count_frames(struct h2 *, const uint8_t *, size_t);
void h2_count_from_preface(struct h2 *);       /* at the beginning */
/* One more of what the limit counts. False: there were too many in this second, and the connection ends. */
bool h2_count(struct h2 *, enum h2_limit);

/* h2_receive.c */
nghttp2_session_callbacks *h2_callbacks(void);     /* NULL: out of memory */
/* Gives the streams that came to the session's owner. */
void h2_open_streams(struct h2 *);
/* When the first stream is late: with its head, or with closing behind its response. 0: none can be. */
uint64_t h2_first_late(const struct h2 *);
/* Ends what is late by then: the stream, or the connection where a header list is open. */
void h2_end_late(struct h2 *, uint64_t now_ms);

/* h2_stream.c */
struct h2_stream *h2_stream_new(struct h2 *, int32_t id);          /* NULL: out of memory */
/* Out of its session, and freed once it has no connection. */
void h2_stream_end(struct h2_stream *, bool failed);
/* Makes the connection of a stream. NULL: out of memory. */
struct conn *h2_stream_open(struct h2_stream *);
/* Resets it (RFC 9113 section 5.4.2); where memory runs out the connection ends, so that the peer does not wait. */
void h2_stream_reset(struct h2_stream *, uint32_t code);
/* Its connection has bytes, or an end, or room: its owner hears of it. */
void h2_stream_wake(struct h2_stream *);
/* Its response is out, and its owner gone: the peer need not send the rest of the request (RFC 9113 section 8.1). */
void h2_stream_no_more(struct h2_stream *);
/* Those that wait for room hear that there is some, the urgent ones first. Of equals, who had room last comes last. */
void h2_wake_writers(struct h2 *);

/* h2_write.c */
ssize_t h2_stream_writev(struct conn *, struct iovec *, int n, bool more);
/* The connection is closed: whether the message was whole. */
bool h2_stream_finish(struct h2_stream *);
ssize_t h2_on_data_wanted(nghttp2_session *, int32_t id, uint8_t *, size_t, uint32_t *flags, nghttp2_data_source *,
    void *session);
int h2_on_data_sent(nghttp2_session *, nghttp2_frame *, const uint8_t *head, size_t len, nghttp2_data_source *,
    void *session);

#endif
