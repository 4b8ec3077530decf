/* Owns a socket: its descriptor, its two events and its transport. The only place that reads, writes or closes one.
 * Must not know: HTTP, who owns it. Plain TCP and TLS stand behind one table of functions (conn_internal.h).
 * Invariant: events are created once and deleted before the descriptor is closed; after conn_close() no callback
 * comes. */
#ifndef UTFEED_PROXY_NET_CONN_H
#define UTFEED_PROXY_NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "proxy/base/failure.h"

struct loop;
struct conn;
struct tls_context;

/* Edges the owner hears of. A connection that failed says CONN_READABLE: the read that follows returns the error. */
enum conn_event { CONN_CONNECTED, CONN_READABLE, CONN_WRITABLE };

/* Results of reads and writes other than a byte count. */
enum conn_result {
	/* reading: the peer closed its side in an orderly way; over TLS that takes a close_notify */
	CONN_EOF = 0,
	CONN_AGAIN = -1,       /* nothing now; an event follows where one is wanted */
	CONN_FAILED = -2       /* conn_errno() and conn_explain() say why */
};

typedef void conn_event_f(void *arg, enum conn_event);

/* A connected, non-blocking descriptor (listener.h). Owns fd in any case: closed on failure. NULL: out of memory. */
struct conn *conn_new(struct loop *, int fd, const struct sockaddr *peer, socklen_t, conn_event_f *, void *arg);
/* Starts connecting; CONN_CONNECTED or CONN_READABLE (failed: conn_errno()) follows. NULL: errno says why. */
struct conn *conn_connect(struct loop *, const struct sockaddr *, socklen_t, conn_event_f *, void *arg);
/* Goes on over TLS: CONN_CONNECTED (again) once the handshake is done, or CONN_READABLE (failed). host: who the peer
 * must prove to be, a name or an address without brackets; NULL where the context is a server's. -1: out of memory. */
int conn_start_tls(struct conn *, struct tls_context *, const char *host) __attribute__((warn_unused_result));
/* Hands the connection to another owner. */
void conn_set_owner(struct conn *, conn_event_f *, void *arg);
/* Safe from any state and from callbacks; nulls. */
void conn_close(struct conn **);
/* The same, but the peer gets a reset: what was sent so far cannot be taken for complete. */
void conn_abort(struct conn **);

/* Which events to hear of. Reading stays armed over many reads; writing should be wanted only after CONN_AGAIN. Before
 * CONN_CONNECTED it is only noted. */
void conn_want(struct conn *, bool readable, bool writable);

ssize_t conn_read(struct conn *, void *buf, size_t cap);
/* After CONN_AGAIN the next call must begin with the same bytes: a TLS record may be half out. */
ssize_t conn_writev(struct conn *, struct iovec *, int n);
/* The same where something follows at once, another write or the end (conn_close(), conn_shutdown_write()): until then
 * the kernel may hold the bytes back, to send all in one segment. */
ssize_t conn_writev_more(struct conn *, struct iovec *, int n);
/* Takes all of it, to be written before anything else and in one write with what is written next: conn_writev() or,
 * before the callback returns, conn_flush(). False: no room, or the socket does not take what came before; then nothing
 * is taken. */
bool conn_cork(struct conn *, struct iovec *, int n);
/* Writes what was gathered. CONN_AGAIN: the rest is kept, and until it is out, by this or a write, nothing else is
 * written; 0: it is. */
int conn_flush(struct conn *) __attribute__((warn_unused_result));
size_t conn_unsent(const struct conn *);               /* bytes gathered that are not written */
/* Whether pages can go to it uncopied; then like the two above, the first pieces copied, the others as splice.h says.
 * Fewer bytes than given: it takes no more now. */
bool conn_splices(const struct conn *);
ssize_t conn_splice(struct conn *, struct iovec *, int n_copied, int n, bool more);
/* What was read is acknowledged now. A peer that writes a message in two pieces, under Nagle's algorithm (RFC 9293
 * section 3.7.4), holds the second one back until then, and the kernel takes 40 ms by itself where it hopes for data to
 * send along: on any connection that was answered once, and on a client's from its start (listener.c). */
void conn_acknowledge(struct conn *);
/* No more writes; reading goes on. */
void conn_shutdown_write(struct conn *);
/* It is connected, its TLS handshake done. */
bool conn_is_open(const struct conn *);
/* Whether the peer has reset it, which no event tells while neither reading nor writing is wanted; reads and writes
 * still say the rest. */
bool conn_is_reset(const struct conn *);
int conn_errno(const struct conn *);
/* Why it failed: what TLS found, else the kind given with the system's words. */
void conn_explain(const struct conn *, enum failure_kind otherwise, struct failure *);
const char *conn_peer(struct conn *);                   /* "127.0.0.1:5312", "[::1]:5312" */
const struct sockaddr *conn_peer_address(const struct conn *);

#endif
