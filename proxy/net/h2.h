/* Owns HTTP/2 on a connection (RFC 9113), by nghttp2: frames, HPACK, flow control, and the limits that a peer must
 * keep. Each of its streams is a connection of its own to its owner (conn.h): it gives the bytes of a message of
 * HTTP/1.1, and takes those of one. So clients and fetches speak one protocol.
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

/* What a head of HTTP/1.1 says of what follows it. */
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

/* The translation of a server's side. */
struct h2_translation {
	enum h2_body (*request_body)(const struct h2_field *, size_t n);
	/* Writes the head of HTTP/1.1 for a request's header list. secure: it came over TLS. ends: no body follows;
	 * else the head names a Content-Length, or says that the body is chunked. */
	enum h2_fault (*request_head)(const struct h2_field *, size_t n, bool secure, bool ends, struct text *head);
	/* Writes the lines of a trailer section. */
	enum h2_fault (*trailer_lines)(const struct h2_field *, size_t n, struct text *lines);
	/* Finds the fields of a response's head, whose blank line is included. Names are written in lower case to
	 * names; the fields point there and into the head. Returns how many; -1: the head is none, there are more than
	 * max, or out of memory. */
	int (*response_fields)(struct slice head, struct text *names, struct h2_field *, size_t max,
	    struct h2_framing *);
	/* The same of trailer lines, blank line included. */
	int (*trailer_fields)(struct slice lines, struct text *names, struct h2_field *, size_t max);
};

struct h2_settings {
	size_t max_head, max_fields;   /* bytes and lines of a request's head, which its owner refuses if it has more */
	uint64_t head_timeout_ms;      /* for a head to be complete */
	uint64_t write_timeout_ms;     /* for the socket to take something of what is written */
	bool secure;                   /* the connection speaks TLS */
	bool shared;                   /* the peer speaks for many clients: its limits are ten times as high */
};

/* The owner of a session gets these calls. idle and ended may free the session, opened may only end it. */
struct h2_owner {
	/* A stream was opened by a request, whose bytes wait in it. Takes the connection over. */
	void (*opened)(void *arg, struct conn *stream);
	/* The last connection of a stream was closed, and all of its bytes went out. */
	void (*idle)(void *arg);
	/* Nothing more can be read or written. lost: not all that was written went out. */
	void (*ended)(void *arg, bool lost);
	void *arg;
};

/* Serves the connection, which the owner keeps, and whose events the owner passes on. NULL: out of memory. */
struct h2 *h2_serve(struct conn *, struct loop *, const struct h2_settings *, const struct h2_translation *,
    const struct h2_owner *);
/* Takes bytes that were read from the connection before. */
void h2_feed(struct h2 *, const char *at, size_t len);
/* The connection is readable or writable. */
void h2_on_event(struct h2 *);
/* Whether the head of a stream's request was beyond the limits, so that some of it was left out. */
bool h2_head_is_cut(const struct conn *stream);
/* If a stream is closed before its message is whole, the peer learns why: it has to ask by HTTP/1.1
 * (HTTP_1_1_REQUIRED), or it may ask again, since nothing was done (REFUSED_STREAM). */
void h2_require_http1(struct conn *stream);
void h2_refuse(struct conn *stream);
/* Takes no more streams: tells the peer so, and once the peer has seen that, which streams were served (section 6.8).
 * Ends when they are done. */
void h2_leave(struct h2 *);
/* The same for the session of a stream. */
void h2_leave_with(struct conn *stream);
/* Ends the session and its streams: h2_owner.ended follows once the peer has been told. False: it is ending already. */
bool h2_end(struct h2 *);
/* The connections of its streams fail from now on; their owners close them. Tells the peer, if that needs no wait. */
void h2_free(struct h2 **);

#endif
