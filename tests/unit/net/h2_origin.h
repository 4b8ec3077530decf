/* Owns what the tests of proxy/net/h2_ask.c share. The origin at the far end of h2_world.h sends what a case says, frame by frame, and
 * notes what it hears. The owner of each stream is a toy that writes a request and keeps the response. Must not know: the cases.
 * Invariant: as h2_world.h has it. */
#ifndef UTFEED_TESTS_UNIT_NET_H2_ORIGIN_H
#define UTFEED_TESTS_UNIT_NET_H2_ORIGIN_H

#include "tests/unit/h2_world.h"
#include "tests/unit/unit.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define GET "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
#define HEAD_ONLY "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"
#define POST_5000 "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n"

/* Header blocks (RFC 7541): statuses and fields without indexing. */
#define B200 "\x88"
#define B103 "\x08\x03" "103"
#define B_LENGTH(digit) "\x0f\x0d\x01" digit
#define B_FIELD "\x00\x01" "a" "\x01" "b"

/* Frames, as bytes with the length before them. */
#define FRAME(type, flags, id, payload) { type, flags, id, payload, sizeof(payload) - 1 }
#define HEADERS(id, block) FRAME(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, id, block)
#define HEADERS_END(id, block) FRAME(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, id, block)
#define DATA(id, bytes) FRAME(NGHTTP2_DATA, 0, id, bytes)
#define DATA_END(id, bytes) FRAME(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, id, bytes)
#define RESET(id, code) FRAME(NGHTTP2_RST_STREAM, 0, id, "\0\0\0" code)
#define GOAWAY(last, code) FRAME(NGHTTP2_GOAWAY, 0, 0, "\0\0\0" last "\0\0\0" code)
#define SETTINGS(id, value) FRAME(NGHTTP2_SETTINGS, 0, 0, "\0" id value)
#define WINDOW(id, more) FRAME(NGHTTP2_WINDOW_UPDATE, 0, id, more)

enum { ASKS = 8, FRAMES = 8, NO_CODE = -1, QUIET_TURNS = 8, WINDOW_BYTES = 65536, MAX_HEAD = 512, MAX_FIELDS = 8 };

struct frame { uint8_t type, flags; uint32_t id; const char *payload; size_t len; };

/* A stream: its owner, and what the origin has of it. */
struct ask {
	struct conn *conn;             /* NULL: closed */
	const char *head;
	size_t body;
	const char *foot;
	size_t written;
	bool deaf, failed, ended, unwritten;   /* it reads nothing; a read has failed, or has found the end; a write has failed */
	enum h2_fate fate;
	struct failure why;
	char response[1024];           /* its beginning */
	size_t got;

	char fields[1024];             /* "name=value|" of the header list */
	int heads, ends, frames, code; /* code: of the reset */
	size_t heard;
	bool end_on_data;
};

extern struct origin {
	struct ask asks[ASKS];
	size_t n;
	int goaways, code, pings, settings;    /* code: of GOAWAY */
	int64_t windows[ASKS + 1];             /* bytes that were given back, by stream; of the connection */
	bool reads;                            /* its socket */
} origin;

/* A new session. The origin's SETTINGS come first, and an acknowledgement of utfeed's. */
void origin_open(const struct h2_settings *);
/* The same without SETTINGS. NULL: those of origin_open(NULL). */
void origin_open_silent(const struct h2_settings *);
void origin_close(void);
/* A request, of which the first one has stream 1. */
struct ask *ask(const char *head, size_t body, const char *foot);
void ask_close(struct ask *);
/* Sends frames up to the first one without payload. */
void send_frames(const struct frame *, size_t n);
void send_frame(uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t len);
void send_data(uint32_t id, bool ends, size_t len);
void hang_up(void);
/* Until neither side has anything to say. */
void settle(void);
/* The session's own timer, though no time has passed. */
void tick(void);

#endif
