/* Owns HTTP/2 on a connection (RFC 9113), a server's side or a client's, by nghttp2: frames, HPACK, flow control, and
 * the limits that a peer must keep. Each of its streams is a connection of its own to its owner (conn.h): it gives the
 * bytes of a message of HTTP/1.1, and takes those of one. So clients and fetches speak one protocol.
 * Must not know: fields and their rules, requests, answers. A table of functions turns header lists into heads of
 * HTTP/1.1 and back (http/h2_fields.h).
 * Invariant: a stream takes no byte of a body that cannot go out now. A peer that reads nothing costs one buffer, and
 * the heads of its streams' responses. */
#ifndef UTFEED_PROXY_NET_H2_H
#define UTFEED_PROXY_NET_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/base/failure.h"
#include "proxy/base/slice.h"
#include "proxy/base/text.h"

struct conn;
struct h2;
struct loop;

struct h2_field { struct slice name, value; };

enum h2_fault {
	H2_FINE,
	H2_MALFORMED,                  /* a stream error of type PROTOCOL_ERROR (RFC 9113 section 8.1.1) */
	H2_NO_MEMORY
};

/* What a head says of what follows it. */
struct h2_framing {
	int status;                    /* of a response; 0: it is a request */
	bool chunked;
	int64_t content_length;        /* -1: none is named */
};

/* How a request's body follows its head; or whether that is not known before the next frame. */
enum h2_body {
	H2_BODY_UNKNOWN,               /* nothing is said of a body: there may be none */
	H2_BODY_CHUNKED,               /* it comes, and has no length */
	H2_BODY_PLAIN                  /* its length is named, or it is what a CONNECT sends */
};

/* The translation of a server's side, of a client's, and of both. The other side's members are NULL. */
struct h2_translation {
	enum h2_body (*request_body)(const struct h2_field *, size_t n);
	/* Writes the head of HTTP/1.1 for a request's header list. secure: it came over TLS. ends: no body follows;
	 * else the head names a Content-Length, or says that the body is chunked. */
	enum h2_fault (*request_head)(const struct h2_field *, size_t n, bool secure, bool ends, struct text *head);
	/* Finds the fields of a response's head, whose blank line is included. Names are written in lower case to
	 * names; the fields point there and into the head. Returns how many; -1: the head is none, there are more than
	 * max, or out of memory. */
	int (*response_fields)(struct slice head, struct text *names, struct h2_field *, size_t max,
	    struct h2_framing *);

	/* The same of a request's head; the first field is its method. scheme: "https" or "http". */
	int (*request_fields)(struct slice head, const char *scheme, struct text *names, struct h2_field *, size_t max,
	    struct h2_framing *);
	/* Writes the head of HTTP/1.1 for a response's header list. ends: no body follows. */
	enum h2_fault (*response_head)(const struct h2_field *, size_t n, bool ends, struct text *head,
	    struct h2_framing *);

	/* Writes the lines of a trailer section. */
	enum h2_fault (*trailer_lines)(const struct h2_field *, size_t n, struct text *lines);
	/* Finds the fields of trailer lines, whose blank line is included, as response_fields() does. */
	int (*trailer_fields)(struct slice lines, struct text *names, struct h2_field *, size_t max);
};

enum { H2_REQUEST_WINDOW = 32 * 1024 };        /* a server's window, as of h2_settings.window */

struct h2_settings {
	/* Bytes and lines of a head. The owner refuses a request that has more; a response that has more fails. */
	size_t max_head, max_fields;
	uint32_t window;               /* bytes of a stream's body that may come before they are read */
	uint64_t head_timeout_ms;      /* for a head to be complete that has begun */
	uint64_t write_timeout_ms;     /* for the socket to take something of what is written */

	bool secure;                   /* the connection speaks TLS */
	bool shared;                   /* the peer speaks for many clients: its limits are ten times as high */
	uint64_t ping_ms;              /* h2_ask(): an idle session asks by PING whether the peer is there; 0: never */
};

/* The owner of a session gets these calls. idle and ended may free the session, opened and room may only end it. */
struct h2_owner {
	/* h2_serve(): a stream was opened by a request, whose bytes wait in it. Takes the connection over. */
	void (*opened)(void *arg, struct conn *stream);
	/* h2_serve(): a request was malformed before its head could be given to a stream's connection. The fields came
	 * up to the fault, or all. May only end the session. NULL: nobody wants to hear of it. */
	void (*malformed)(void *arg, const struct h2_field *, size_t n);
	/* h2_ask(): h2_room() has grown. */
	void (*room)(void *arg);
	/* The last connection of a stream was closed, and all of its bytes went out. */
	void (*idle)(void *arg);
	/* Nothing more can be read or written. lost: not all that was written went out. */
	void (*ended)(void *arg, bool lost);
	void *arg;
};

/* Serves the connection, which the owner keeps, and whose events the owner passes on. NULL: out of memory. */
struct h2 *h2_serve(struct conn *, struct loop *, const struct h2_settings *, const struct h2_translation *,
    const struct h2_owner *);
/* The same, to ask over the connection. Once it takes no more streams, it ends with the last of them. */
struct h2 *h2_ask(struct conn *, struct loop *, const struct h2_settings *, const struct h2_translation *,
    const struct h2_owner *);
/* Takes bytes that were read from the connection before. */
void h2_feed(struct h2 *, const char *at, size_t len);
/* The connection is readable or writable. */
void h2_on_event(struct h2 *);
/* Whether the head of a stream's request was beyond the limits, so that some of it was left out. */
bool h2_head_is_cut(const struct conn *stream);
/* Whether its stream was reset since the request was malformed. */
bool h2_is_malformed(const struct conn *stream);
/* Why a stream is closed before its message is whole. */
enum h2_why {
	H2_WHY_FAILED,                 /* The rest cannot be had (INTERNAL_ERROR). */
	H2_WHY_CANCELLED,              /* The rest is not waited for (CANCEL). */
	H2_WHY_REFUSED,                /* Nothing was done, so the peer may ask again (REFUSED_STREAM). */
	H2_WHY_CONNECT,                /* The connection behind a tunnel has failed (CONNECT_ERROR). */
	H2_WHY_HTTP_1                  /* The peer has to ask by HTTP/1.1 (HTTP_1_1_REQUIRED). */
};
/* The peer of a stream that h2_serve() gave learns that, if it comes to it; else H2_WHY_FAILED. Other connections tell
 * nothing. */
void h2_say_why(struct conn *, enum h2_why);

/* How many more streams may be opened now. Before the peer's SETTINGS came it is one, while the peer has to answer a
 * PING none. After GOAWAY, and when all numbers of streams are used up, it is none for ever. */
size_t h2_room(const struct h2 *);
/* A stream for one request. The connection takes its message, and gives the response's: then it ends. It gives the last
 * byte of a response only once its stream has ended as it should (RFC 9113 section 8.1). If that does not come, the
 * connection fails: nothing that is cut or too long looks complete. NULL: out of memory. */
struct conn *h2_request(struct h2 *);
/* What the failure of such a connection means for its request. */
enum h2_fate {
	H2_FATE_UNKNOWN,
	H2_FATE_UNPROCESSED,           /* nothing was done (section 8.7): it may be asked again */
	H2_FATE_NEEDS_HTTP_1,          /* the peer wants it by HTTP/1.1 (HTTP_1_1_REQUIRED) */
	H2_FATE_TOO_LONG               /* its head was not sent, which is longer than the peer takes over HTTP/2 */
};
enum h2_fate h2_fate(const struct conn *stream);
/* The stream has waited for its response for too long. Where nothing of any response has come since it was asked for,
 * the session takes no more streams before something does: it may answer PING alone. */
void h2_doubt(struct conn *stream);

/* h2_serve(): takes no more streams. Tells the peer so, and once the peer has seen that, which streams were served
 * (section 6.8). Ends when they are done. */
void h2_leave(struct h2 *);
/* The same for the session of a stream. */
void h2_leave_with(struct conn *stream);
/* Ends the session and its streams: h2_owner.ended follows once the peer has been told. False: it is ending already. */
bool h2_end(struct h2 *);
/* The connections of its streams fail from now on; their owners close them. Tells the peer, if that needs no wait. */
void h2_free(struct h2 **);

#endif
