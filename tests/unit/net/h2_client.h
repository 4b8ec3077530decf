/* Owns what the tests of proxy/net/h2*.c share. The client at the far end of h2_world.h is nghttp2, and the owner of each stream is a toy
 * with a response. The loop turns until neither side has anything to say. Must not know: the cases. Invariant: as h2_world.h has it. */
#ifndef UTFEED_TESTS_UNIT_NET_H2_CLIENT_H
#define UTFEED_TESTS_UNIT_NET_H2_CLIENT_H

#include "tests/unit/h2_world.h"
#include "tests/unit/unit.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define NV(name, value) { (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1, strlen(value), 0 }
#define LENGTH_900 "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"
#define LENGTH_5000 "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
#define CHUNK_5000 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n"
#define NO_LENGTH "HTTP/1.1 200 OK\r\n\r\n"
#define NO_CONTENT "HTTP/1.1 204 No Content\r\n\r\n"
#define GET_BLOCK "\x82\x84\x86\x41\x01" "a"           /* RFC 7541: GET / of a, as a header block */

enum { STREAMS = 8, NO_CODE = -1, QUIET_TURNS = 8, WINDOW = 65535 };

/* A stream: its owner, and what the client has of it. */
struct side {
	struct conn *conn;             /* NULL: closed, or not open yet */
	int32_t id;
	const char *response;
	size_t body;                   /* bytes that follow it */
	const char *foot;
	size_t written;
	bool keeps;                    /* it is not closed when all is written */
	bool ends_session;             /* when it has written */
	char request[256];
	size_t request_len;
	bool failed, read_ended;
	int heads, trailers, frames, ends;     /* of the response */
	size_t got;
	bool end_on_data, closed;
	uint32_t code;
};

extern struct client {
	nghttp2_session *ng;
	struct side sides[STREAMS];
	size_t opened, n_asked;
	int32_t order[64];             /* streams of the DATA frames that came */
	size_t n_order;
	int32_t last_ids[4];           /* of GOAWAY */
	int n_goaways, code;           /* of the latest; NO_CODE: none came */
	bool reads;                    /* its socket */
} client;

/* A new session. window: of each stream; the connection's is 65535 (RFC 9113 section 6.9.2). */
void session_open(uint32_t window);
void session_close(void);
/* A request, whose stream's owner will say response, so many bytes of a body, and foot. */
struct side *ask(const char *method, const char *priority, const char *response, size_t body, const char *foot);
void open_window(int32_t id, int32_t more);
/* Until neither side has anything to say. */
void settle(void);
/* Until the last GOAWAY is out, for which a tick of the loop has to come. */
void settle_left(void);

#endif
