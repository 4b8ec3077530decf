/* Owns what conn.c and its transports share. Must not know: owners of connections.
 * Invariant: conn.c alone touches the events and opens or closes the descriptor; a transport moves bytes and says what
 * it waits for. */
#ifndef UTFEED_PROXY_NET_CONN_INTERNAL_H
#define UTFEED_PROXY_NET_CONN_INTERNAL_H

#include <arpa/inet.h>
#include <netinet/in.h>

#include <event2/event_struct.h>

#include "proxy/net/conn.h"

enum { CONN_PEER_MAX = INET6_ADDRSTRLEN + 10 };

enum conn_need { CONN_NEED_READ = 1, CONN_NEED_WRITE = 2 };

/* read and writev return what conn_read() and conn_writev() return. */
struct conn_transport {
	/* 0: connected; CONN_AGAIN: conn->need is set; CONN_FAILED: conn->err is set */
	int (*handshake)(struct conn *);
	ssize_t (*read)(struct conn *, void *buf, size_t cap);
	ssize_t (*writev)(struct conn *, struct iovec *, int n, bool more);
	void (*shutdown)(struct conn *);       /* tells the peer that no more bytes follow */

	/* The rest is about the state that a transport keeps beside the connection. */
	/* Whether it holds bytes, or the end, that the owner has not read. Without a socket also whether it takes bytes
	 * from an owner that wants to write. */
	bool (*pending)(const struct conn *);
	void (*resume)(struct conn *);         /* reports what is pending at the end of this turn */
	const struct failure *(*failure)(const struct conn *);         /* NULL: errno tells why */
	void (*free)(struct conn *);
	enum conn_protocol (*protocol)(const struct conn *);   /* as conn_protocol() */
};

struct conn_tls;
struct h2_stream;

struct conn {
	struct loop *loop;
	struct event read_event, write_event;
	const struct conn_transport *transport;        /* moves the bytes */
	/* the transport that was started and has the state, also after conn_broken has taken its place */
	const struct conn_transport *keeper;
	struct conn_tls *tls;          /* the state of TLS; NULL: plain */
	conn_event_f *on_event;
	void *arg;
	struct h2_stream *stream;      /* the stream of HTTP/2 that it is; NULL: it has a socket */
	int fd, err;                   /* fd -1: it is a stream */

	bool connecting;               /* the handshake is under way: only need counts */
	uint8_t need;                  /* enum conn_need: what the transport waits for, whatever the owner wants */
	bool want_read, want_write;    /* what the owner asked for (conn_want()) */
	bool armed_read, armed_write;
	bool drained;                  /* set by the transport: the last read has left nothing behind */
	bool held;                     /* the kernel may hold back the bytes written last */
	uint8_t *unsent_at;            /* gathered bytes, in the loop's buffer or in kept; written before any others */
	size_t unsent;
	uint8_t *kept;                 /* NULL: the socket has taken all bytes so far */
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} address;
	char peer[CONN_PEER_MAX];
};

extern const struct conn_transport conn_plain;

/* A connection of that transport which goes through the other one, and has its peer. It has no owner yet, and no
 * socket: the transport tells of events. NULL: out of memory. */
struct conn *conn_new_without_socket(const struct conn *through, const struct conn_transport *);
/* Goes on with the handshake, and tells the owner when it is over. For a transport that waited for something else than
 * the socket. */
void conn_handshake(struct conn *);
/* Arms the events that the owner wants or the transport needs. */
void conn_arm(struct conn *);
/* Turns the result of a system call into the result of a transport, and notes errno. */
ssize_t conn_result(struct conn *, ssize_t n);

/* conn_cork.c */
/* conn_writev() and conn_writev_more() of a connection with gathered bytes, which are written first. */
ssize_t conn_writev_behind(struct conn *, struct iovec *, int n, bool more);
void conn_drop_unsent(struct conn *);

#endif
