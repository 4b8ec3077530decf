/* Owns the kernel's side of connections that a listening socket has not given out yet: letting in no more of them, and
 * finding out whether any are still being opened. Must not know: who accepts them.
 * Invariant: connections that came before backlog_shut() are untouched by it. Sources: socket(7) SO_ATTACH_FILTER,
 * sock_diag(7), tcp(7), unix(7). */
#ifndef UTFEED_PROXY_NET_BACKLOG_H
#define UTFEED_PROXY_NET_BACKLOG_H

#include <sys/socket.h>

enum backlog_state { BACKLOG_QUIET, BACKLOG_OPENING, BACKLOG_UNKNOWN };

/* From now on the listening socket ignores the first segment of a connection (SYN, RFC 9293 section 3.5): a client that
 * sends one tries again a second later, here or elsewhere. A Unix socket refuses clients instead (ECONNREFUSED).
 * -1: this kernel has no such filter; errno says why. */
int backlog_shut(int fd) __attribute__((warn_unused_result));
/* OPENING: clients have opened connections to the address's port that accept() does not return yet. The last segment
 * of the handshake is on its way, or TCP_DEFER_ACCEPT waits for the first bytes. A Unix socket is never in this state:
 * a connection waits for accept() from its beginning. UNKNOWN: this kernel does not tell. */
enum backlog_state backlog_state(const struct sockaddr *);

#endif
