/* Owns what the files of HTTP/2 share. The session is in h2.c, a stream as a connection in h2_stream.c, and limits
 * against floods in h2_limits.c. Frames come in h2_receive.c. From header lists and bodies h2_lists.c makes a message
 * of HTTP/1.1, and h2_write.c makes frames of one. Only a client's side uses h2_ask.c. Must not know: what h2.h
 * must not.
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
	H2_FIELD_BYTES = 32,                   /* what a field counts beside its bytes (section 6.5.2) */
	H2_WINDOW_FIRST = 4096,                /* of a response's body, before it has its share */

	H2_OUT_BYTES = 64 * 1024,              /* written and not taken by the socket; control frames may come on top */
	H2_HEAD_MAX = 256 * 1024,              /* of a message that is written */
	H2_OWN_RESETS_MAX = 64,                /* of requests, in a time */
	H2_PAST = 32, H2_PAST_RESETS = 128,
	H2_EARLY = 8
};

/* How much of the message that is written was taken. */
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
	struct failure why;            /* it failed; all zero: it was reset */

	/* the message that comes */
	struct text raw;               /* names and values of the header list that is being read */
	struct h2_span *spans;         /* where they stand in raw */
	size_t n_spans, spans_cap;
	size_t list_bytes;             /* decoded, stored or not */
	bool overlong;                 /* what was beyond the limits was left out */
	bool head_cut;                 /* of the request's head, likewise */
	bool no_memory;
	bool given;                    /* the request's head is in `in`, or was */
	bool malformed;                /* the request is, which has ended the stream */
	bool held_back;                /* whether a body follows its head is not known yet */
	bool read_ended;
	bool heads, tunnels;           /* the request is a HEAD, a CONNECT */
	bool chunked;                  /* the body is given in chunks */
	uint64_t began_ms;             /* when its header list began; 0: it is complete */
	uint64_t done_ms;              /* when its owner closed it; 0: it has not */

	struct held in;                /* bytes for the connection's reader */
	size_t in_read;                /* of these, read */
	size_t promised;               /* its window, of a response's body (bodies_promise()) */
	size_t unread;                 /* bytes of the body among them whose window is not given back */
	size_t chunk_bytes;            /* framing of chunks among them */
	enum h2_urgency urgency;
	bool reprioritized;            /* by a frame, which counts for more than a field (RFC 9218 section 7) */

	/* a client's side */
	bool sent;                     /* the request may have gone out */
	uint64_t sent_ms;
	unsigned interims;             /* interim responses that came */
	bool answered;                 /* the head of the final one came */
	uint64_t to_come;              /* bytes of its body, unless that is chunked */
	/* All of these came, or there are none. The last byte of the message waits until the stream ends. */
	bool whole;
	bool reset;                    /* by the peer */
	enum h2_fate fate;

	/* the message that is written */
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
	bool asks;                     /* it is a client's side */
	TAILQ_HEAD(, h2_stream) streams;
	size_t n;                      /* of these */
	size_t open;                   /* streams whose connection is open */
	size_t waiting;                /* streams whose writer waits */
	size_t timed;                  /* streams that may be late */
	size_t untold;                 /* malformed requests that the owner has not heard of */

	bool used;                     /* the owner has not heard that the last one was closed */
	struct held out;               /* frames to be written */
	struct task task;              /* writes them at the end of the turn */
	struct timer stuck;            /* armed while the socket takes nothing of out */

	/* Looks for heads that are never complete and for streams that never close. Waits for the peer to see GOAWAY.
	 * Sends PING if no stream is open. */
	struct timer timer;
	bool inside;                   /* nghttp2 is on the stack */
	bool leaving;                  /* GOAWAY was sent with the highest id */
	bool left;                     /* no more streams are taken; a server has sent GOAWAY with the last id */

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
	/* Priorities of streams that are not open yet, the latest. */
	struct h2_early { int32_t id; enum h2_urgency urgency; } early[H2_EARLY];
	unsigned n_early;

	/* A client's side. */
	bool settled;                  /* the peer's SETTINGS came */
	bool doubted;                  /* h2_doubt() */
	bool needs_http1;              /* the peer's GOAWAY said so */
	size_t room;                   /* as the owner knows it */
	unsigned own_resets;           /* of requests that went out, since own_resets_ms */
	uint64_t own_resets_ms;
	uint64_t strays, stray_bytes;  /* frames, and bytes of DATA, that may yet come for closed streams */

	uint64_t heard_ms;             /* when something came last */
	uint64_t answered_ms;          /* the same, of a response */
	uint64_t pinged_ms;            /* when a PING was sent that waits for its answer; 0: none does */
};

/* h2.c */
/* As h2_serve() and h2_ask(), but nothing goes out yet. */
struct h2 *h2_new(struct conn *, struct loop *, const struct h2_settings *, const struct h2_translation *,
    const struct h2_owner *, bool asks);
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

/* h2_priority.c */
void h2_on_priority_field(struct h2_stream *, const char *value, size_t len);
void h2_on_priority_update(struct h2 *, const nghttp2_ext_priority_update *);
void h2_priority_begin(struct h2_stream *);    /* the first frame of the stream has come */

/* h2_lists.c */
int h2_on_begin(nghttp2_session *, const nghttp2_frame *, void *session);
int h2_on_field(nghttp2_session *, const nghttp2_frame *, const uint8_t *name, size_t name_len, const uint8_t *value,
    size_t value_len, uint8_t flags, void *session);
/* Bytes of a header list, as SETTINGS_MAX_HEADER_LIST_SIZE counts them. */
uint64_t h2_list_bytes_max(const struct h2 *);
/* Makes the list that of a request whose head was given and not read: its method and its target. */
void h2_list_line(struct h2_stream *);
/* The header list is complete. */
void h2_on_headers(struct h2_stream *, const nghttp2_frame *);
/* The message has ended. Trailers of a body that is not chunked have no place in HTTP/1.1, and are dropped. */
enum h2_fault h2_read_ends(struct h2_stream *, bool trailers);
enum h2_fault h2_take_data(struct h2_stream *, const uint8_t *, size_t);
/* Has the connection's owner hear of what came, or resets the stream. */
void h2_judge(struct h2_stream *, enum h2_fault);
/* The list as fields, which the caller frees. NULL: out of memory. */
struct h2_field *h2_list(const struct h2_stream *);
void h2_list_done(struct h2_stream *);
/* The bytes that the reader gets: the text, and memory for it is released. */
enum h2_fault h2_give_text(struct h2_stream *, enum h2_fault, struct text *);

/* h2_receive.c */
nghttp2_session_callbacks *h2_callbacks(void);     /* NULL: out of memory */
/* NULL: its connection was closed, or it was never there. */
struct h2_stream *h2_find(nghttp2_session *, int32_t id);
/* Gives the streams that came to the session's owner. */
void h2_open_streams(struct h2 *);
/* Tells the session's owner of the malformed requests that it does not know. */
void h2_tell_malformed(struct h2 *);
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
/* Gives a response's body the window that it may have now. All that came of it was read. */
void h2_stream_promise(struct h2_stream *);
/* Sets whether its writer waits. */
void h2_stream_set_waits(struct h2_stream *, bool waits);
/* Sets when its header list began and when its owner closed it. */
void h2_stream_set_times(struct h2_stream *, uint64_t began_ms, uint64_t done_ms);
/* Those that wait for room hear that there is some, the urgent ones first. Of equals, who had room last comes last. */
void h2_wake_writers(struct h2 *);

/* h2_write.c */
ssize_t h2_stream_writev(struct conn *, struct iovec *, int n, bool more);
/* Whether a message with this head has no body, or an empty one. */
bool h2_is_bodiless(const struct h2_stream *, const struct h2_framing *);
/* The connection is closed: whether the message was whole. */
bool h2_stream_finish(struct h2_stream *);
ssize_t h2_on_data_wanted(nghttp2_session *, int32_t id, uint8_t *, size_t, uint32_t *flags, nghttp2_data_source *,
    void *session);
int h2_on_data_sent(nghttp2_session *, nghttp2_frame *, const uint8_t *head, size_t len, nghttp2_data_source *,
    void *session);

/* h2_ask.c */
/* When h2_ask_on_time() has something to do; 0: never. */
uint64_t h2_ask_due(const struct h2 *);
void h2_ask_on_time(struct h2 *, uint64_t now_ms);
/* The owner hears of room, if there is more. */
void h2_ask_tell(struct h2 *);
/* Counts a frame, if it is for a closed stream. False: there were too many, and the connection ends. */
bool h2_ask_bears(struct h2 *, uint8_t type, int32_t id, uint32_t len);
/* A frame begins; it is there. */
void h2_ask_on_begin(struct h2 *, uint8_t type);
void h2_ask_on_frame(struct h2 *, const nghttp2_frame *);
/* A header list of a response came. */
void h2_ask_on_headers(struct h2_stream *, bool ends);
/* So many bytes of its body came. False: they are too many. */
bool h2_ask_takes(struct h2_stream *, size_t);
/* Opens the stream. -1: it has failed. */
int h2_ask_submit(struct h2_stream *, const nghttp2_nv *, size_t n, const nghttp2_data_provider *);
/* The request goes out. */
void h2_ask_on_sending(struct h2_stream *);
/* Fails it, with a reset where code is not 0; unless all of the response is there. */
void h2_ask_fail(struct h2_stream *, uint32_t code, enum failure_kind, const char *why);
/* nghttp2 closes the stream with this code. */
void h2_ask_on_close(struct h2_stream *, uint32_t code);
/* The stream ends, with this code: whether it has failed, and what that means. */
bool h2_ask_has_failed(struct h2_stream *, uint32_t code);
/* Its connection was closed: so is the stream, which may be freed. */
void h2_ask_close(struct h2_stream *);
/* A stream is reset from here. */
void h2_ask_count_reset(const struct h2_stream *);

#endif
