/* Owns what the files of the admin listener's connections share: admin_conn.c (a request and its answer),
 * admin_streams.c (HTTP/2, whose streams are connections without a socket). Must not know: what pages say. */
#ifndef UTFEED_PROXY_ADMIN_ADMIN_CONN_H
#define UTFEED_PROXY_ADMIN_ADMIN_CONN_H

#include "proxy/admin/admin_internal.h"
#include "proxy/base/text.h"

struct h2;

enum {
	ADMIN_IN_BYTES = 32 * 1024, /* the longest head, and what is read of a body at a time */
	ADMIN_FIELDS_MAX = 100,
	ADMIN_REQUEST_MS = 10000,
	ADMIN_IDLE_MS = 60000,
	ADMIN_WRITE_MS = 30000,
	ADMIN_LINGER_MS = 1000
};

enum admin_state {
	ADMIN_HEAD,
	ADMIN_BODY, /* reading a request */
	ADMIN_TURN, /* the request is whole; a turn of the loop answers only one, so that probes need not wait */
	ADMIN_WAIT, /* for an answer that takes longer */
	ADMIN_SEND,
	ADMIN_STREAMS, /* the connection speaks HTTP/2 */
	ADMIN_LINGER /* the answer is out; what the client still sends is dropped */
};

struct admin_conn {
	LIST_ENTRY(admin_conn) link;
	struct admin *admin;
	struct conn *conn;
	struct h2 *h2;              /* in ADMIN_STREAMS */
	struct admin_conn *session; /* of a stream: the connection that it is on; NULL: that is gone */
	bool stream;                /* it has no socket */
	unsigned answering;         /* of its streams, those in a place of another kind than PLACE_WAIT */
	struct place place;
	struct timer timer;
	struct task resume; /* goes on after an answer, or with one that took longer */
	enum admin_state state;
	struct http_parser *parser;
	struct http_msg msg;
	size_t in_len, parsed;
	struct text body;
	const struct admin_page *page;
	struct admin_exchange x;
	char *reply; /* the answer's body, as open_memstream() makes it */
	size_t reply_len;
	struct text out; /* the answer, head and body */
	size_t sent;
	bool keep; /* the connection outlives this answer */
	struct admin_asker who;
	char in[ADMIN_IN_BYTES];
};

/* admin_conn.c */
void admin_enter(struct admin_conn *, enum admin_state);
/* Nothing more is written: what the client still sends is dropped. */
void admin_begin_linger(struct admin_conn *);
/* Takes the stream of a connection over, which is whole as far as its head. False: no place or no memory is left,
 * and it stays the caller's. */
bool admin_conn_of_stream(struct admin_conn *session, struct conn *stream);

/* admin_streams.c */
/* Whether the connection, whose handshake is done, speaks HTTP/2 from now on, or is closed. */
bool admin_begins_http2(struct admin_conn *);
/* The connection is going: its streams fail. */
void admin_end_streams(struct admin_conn *);

#endif
