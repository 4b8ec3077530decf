/* Owns a socket: its descriptor, its two events and its transport. The only place that reads, writes or closes one.
 * Must not know: HTTP, its owner. Plain TCP and TLS stand behind one table of functions (conn_internal.h).
 * Invariant: events are created once and deleted before the descriptor is closed; after conn_close() no callback
 * comes. */
#ifndef UTFEED_PROXY_NET_CONN_H
#define UTFEED_PROXY_NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "proxy/base/failure.h"
#include "proxy/base/slice.h"

struct loop;
struct conn;
struct leaf;
struct tls_context;

/* Events that the owner gets. A failed connection reports CONN_READABLE; the read that follows returns the
 * error. */
enum conn_event { CONN_CONNECTED, CONN_READABLE, CONN_WRITABLE };

/* Results of reads and writes other than a byte count. */
enum conn_result {
	/* reading: the peer closed its side in an orderly way; over TLS that takes a close_notify */
	CONN_EOF = 0,
	CONN_AGAIN = -1,       /* not possible now; an event follows where one is wanted (conn_want()) */
	CONN_FAILED = -2       /* conn_errno() and conn_explain() say why */
};

typedef void conn_event_f(void *arg, enum conn_event);

/* fd: a connected, non-blocking descriptor (listener.h), which is taken over and closed on failure. NULL: out of
 * memory. */
struct conn *conn_new(struct loop *, int fd, const struct sockaddr *peer, socklen_t, conn_event_f *, void *arg);
/* Starts connecting. CONN_CONNECTED follows, or CONN_READABLE where it failed (conn_errno()). NULL: errno says why. */
struct conn *conn_connect(struct loop *, const struct sockaddr *, socklen_t, conn_event_f *, void *arg);
/* Starts TLS on the connection. CONN_CONNECTED follows (again) once the handshake is done. CONN_READABLE follows if it
 * failed. The host is the name, or the address without brackets, that the peer's certificate must prove; NULL if the
 * context is a server's. The way distinguishes peers of the same host under this context: its port and the proxies
 * before it. A session is resumed only if host and way are the same. -1: out of memory. */
int conn_start_tls(struct conn *, struct tls_context *, const char *host, const char *way)
    __attribute__((warn_unused_result));
/* After conn_start_tls(), in the same turn of the loop: no session is offered. */
void conn_resume_none(struct conn *);
/* Likewise: HTTP/2 is offered before HTTP/1.1; conn_protocol() tells what the peer has chosen. */
void conn_offer_h2(struct conn *);
/* Whether the handshake failed because utfeed offered a session of TLS 1.2 and no newer version: both sides had no
 * version or cipher in common, or the peer speaks a newer one. On another connection, without an offered session, it
 * may succeed. */
bool conn_was_too_narrow(const struct conn *);
/* The same as conn_start_tls() with a client that gets this certificate, whatever certificate the context has, and
 * whose first bytes were read already: early, which is copied. A reference to the leaf is taken. The connection may
 * speak TLS already, once: this TLS goes through that one then. */
int conn_accept_tls(struct conn *, struct tls_context *, struct leaf *, struct slice early)
    __attribute__((warn_unused_result));
/* Hands the connection to another owner. */
void conn_set_owner(struct conn *, conn_event_f *, void *arg);
/* May be called in any state and from callbacks; sets the pointer to NULL. */
void conn_close(struct conn **);
/* Like conn_close(), but the peer gets a reset, so that it does not take what was sent so far for complete. */
void conn_abort(struct conn **);

/* Chooses the events that the owner gets. Reading stays armed over many reads; writing should be wanted only
 * after CONN_AGAIN. Before CONN_CONNECTED the choice is only noted. */
void conn_want(struct conn *, bool readable, bool writable);

/* As loop_is_spent(), of the connection's loop. */
bool conn_must_pause(const struct conn *);

ssize_t conn_read(struct conn *, void *buf, size_t cap);
/* Reads what the peer sends and drops it. It reads a few times only, so that a peer that never stops sending does not
 * keep the loop. False: the peer has closed, or the connection failed. */
bool conn_discard(struct conn *);
/* Whether there is nothing to read, as far as is known without asking the kernel: the last read took all that had
 * arrived, and the loop has heard of nothing since. Bytes that came after the loop last looked are not known yet. */
bool conn_is_quiet(const struct conn *);
/* After CONN_AGAIN the next call must begin with the same bytes, because part of a TLS record may have been sent. */
ssize_t conn_writev(struct conn *, struct iovec *, int n);
/* Like conn_writev(), for a caller that writes again or ends the connection at once (conn_close(),
 * conn_shutdown_write()): until then the kernel may hold the bytes back, to send everything in one segment. */
ssize_t conn_writev_more(struct conn *, struct iovec *, int n);
/* Gathers all of the bytes. They are written before anything else, and in one write with the next bytes: by
 * conn_writev(), or by conn_flush() before the callback returns. False: nothing was gathered, because the buffer is
 * full or the socket does not take earlier bytes. */
bool conn_cork(struct conn *, struct iovec *, int n);
/* Writes the gathered bytes. 0: all are written. CONN_AGAIN: the rest is kept, and nothing else is written before this
 * function, or a write, has sent it. */
int conn_flush(struct conn *) __attribute__((warn_unused_result));
size_t conn_unsent(const struct conn *);               /* gathered bytes that are not written yet */
/* conn_splices(): whether pages can be sent on this connection without being copied. Then conn_splice() writes like
 * conn_writev() or conn_writev_more(): the first n_copied pieces as a copy, the others by reference, as splice.h says.
 * Fewer bytes than given: the socket takes no more now. */
bool conn_splices(const struct conn *);
ssize_t conn_splice(struct conn *, struct iovec *, int n_copied, int n, bool more);
/* Acknowledges now what was read. A peer that writes a message in two pieces holds the second one back until the first
 * is acknowledged (Nagle's algorithm, RFC 9293 section 3.7.4). The kernel by itself waits 40 ms if it hopes for data to
 * send along: on any connection after its first answer, and on a client's from its start (listener.c). */
void conn_acknowledge(struct conn *);
/* Ends the writing side; reading goes on. */
void conn_shutdown_write(struct conn *);
/* Whether it is connected, over TLS with its handshake done. */
bool conn_is_open(const struct conn *);
/* The protocol of an open connection. Over TLS both sides have agreed on it (ALPN, RFC 7301). A plain connection has
 * HTTP/1, and so has one whose peer named no protocol. */
enum conn_protocol { CONN_HTTP_1, CONN_HTTP_2 };
enum conn_protocol conn_protocol(const struct conn *);
/* Whether the peer has reset the connection; no event tells so while neither reading nor writing is wanted. Reads and
 * writes report any other failure. */
bool conn_is_reset(const struct conn *);
int conn_errno(const struct conn *);
/* Why the connection failed: what TLS found, else the kind given, with the text of errno. */
void conn_explain(const struct conn *, enum failure_kind otherwise, struct failure *);
const char *conn_peer(struct conn *);                   /* "127.0.0.1:5312", "[::1]:5312" */
const struct sockaddr *conn_peer_address(const struct conn *);

#endif
