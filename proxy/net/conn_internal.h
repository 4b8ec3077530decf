/* Owns what conn.c and its transports share. Must not know: owners of connections.
 * Invariant: conn.c alone touches descriptor and events; a transport moves bytes and says what it waits for. */
#ifndef UTFEED_PROXY_NET_CONN_INTERNAL_H
#define UTFEED_PROXY_NET_CONN_INTERNAL_H

#include <arpa/inet.h>
#include <netinet/in.h>

#include <event2/event_struct.h>

#include "proxy/net/conn.h"

enum { CONN_PEER_MAX = INET6_ADDRSTRLEN + 10 };

enum conn_need { CONN_NEED_READ = 1, CONN_NEED_WRITE = 2 };

/* Results as of conn_read() and conn_writev(). */
struct conn_transport {
	/* 0: connected; CONN_AGAIN: c->need is set; CONN_FAILED: c->err is set */
	int (*handshake)(struct conn *);
	ssize_t (*read)(struct conn *, void *buf, size_t cap);
	ssize_t (*writev)(struct conn *, struct iovec *, int n, bool more);
	void (*shutdown)(struct conn *);       /* tells the peer that no more comes */
	/* Of the state that it keeps beside the connection: */
	/* bytes were read from the socket that the owner has not had yet, or its end */
	bool (*pending)(const struct conn *);
	void (*resume)(struct conn *);         /* says CONN_READABLE at the end of this turn */
	const struct failure *(*failure)(const struct conn *);         /* NULL: errno says all */
	void (*free)(struct conn *);
};

struct conn_tls;

struct conn {
	struct loop *loop;
	struct event read_event, write_event;
	const struct conn_transport *transport;        /* moves the bytes */
	/* the one that was started: its state is there also where a broken one took its place */
	const struct conn_transport *keeper;
	struct conn_tls *tls;          /* the state of TLS; NULL: plain */
	conn_event_f *on_event;
	void *arg;
	int fd, err;
	bool connecting;               /* the handshake is under way: only need counts */
	uint8_t need;                  /* enum conn_need: what the transport waits for, whatever the owner wants */
	bool want_read, want_write;    /* the owner's wishes */
	bool armed_read, armed_write;
	bool held;                     /* the kernel may hold back what was written last */
	uint8_t *unsent_at;            /* gathered: in the loop's buffer, or in kept; goes out before anything else */
	size_t unsent;
	uint8_t *kept;                 /* NULL: the socket took everything so far */
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} address;
	char peer[CONN_PEER_MAX];
};

extern const struct conn_transport conn_plain;

/* Arms the events that wishes and needs come to. */
void conn_arm(struct conn *);
/* The outcome of a system call as a transport's result; notes errno. */
ssize_t conn_result(struct conn *, ssize_t n);

/* conn_cork.c */
/* conn_writev() and conn_writev_more() where something unsent goes before. */
ssize_t conn_writev_behind(struct conn *, struct iovec *, int n, bool more);
void conn_drop_unsent(struct conn *);

#endif
