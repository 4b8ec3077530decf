/* Owns the way of TLS records between OpenSSL and a connection's socket, or another TLS that the connection speaks
 * already: a BIO of OpenSSL. Bytes that were taken from there before TLS began are read first. While it holds, what
 * OpenSSL writes waits: the pieces of a handshake's flight go out together, and its last one with the first bytes of
 * the connection.
 * Must not know: the records' contents, except the length of a first message; events.
 * Invariant: bytes go out in the order in which they were written. */
#ifndef UTFEED_PROXY_NET_TLS_WIRE_H
#define UTFEED_PROXY_NET_TLS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/base/slice.h"

struct ssl_st;

/* Reads the length of the peer's first message from its first bytes, however they come: OpenSSL makes room for all of
 * it at once. */
struct tls_gauge {
	bool on;                       /* the owner says so; off once the length is known */
	uint8_t record[5], message[4]; /* the heads of the record and of the message */
	size_t record_len, message_len;
	size_t left;                   /* of the record */
};

/* Embedded in its owner, zero at first. */
struct tls_wire {
	int fd;
	struct ssl_st *outer;          /* in the place of fd, borrowed; NULL: none */
	bool holds;                    /* the owner says so. */
	bool more;                     /* Likewise: the kernel may wait for more, as conn_writev_more() says. */
	bool drained;                  /* All that had come was read; nothing is, until the owner clears this. */
	bool ended;                    /* The last read met the end. */
	bool refused;                  /* The first message is too long; nothing of it was given out */
	struct tls_gauge gauge;
	uint8_t *held;                 /* allocated while there are such bytes, 16 KiB at most */
	size_t held_len;
	char *early;                   /* what was read before; allocated until it is read again */
	size_t early_at, early_len;
};

/* Bytes to be read first, copied. -1: out of memory. */
int tls_wire_early(struct tls_wire *, struct slice) __attribute__((warn_unused_result));
/* The SSL reads and writes by the wire from now on, which must outlive it. -1: out of memory. */
int tls_wire_attach(struct tls_wire *, struct ssl_st *) __attribute__((warn_unused_result));
/* Whether bytes wait that no event of the socket reports. */
bool tls_wire_pending(const struct tls_wire *);
/* Sends what is held. 0: nothing is held any more; 1: the socket takes no more now; -1: errno tells why it failed. */
int tls_wire_flush(struct tls_wire *) __attribute__((warn_unused_result));
void tls_wire_drop(struct tls_wire *);

#endif
