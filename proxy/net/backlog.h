/* Owns what the kernel holds of connections that a listening socket has not given out yet: no more of them, and whether
 * any are still being opened. Must not know: who accepts them.
 * Invariant: what was let in before backlog_shut() is untouched by it. Sources: socket(7) SO_ATTACH_FILTER,
 * sock_diag(7), tcp(7). */
#ifndef UTFEED_PROXY_NET_BACKLOG_H
#define UTFEED_PROXY_NET_BACKLOG_H

#include <sys/socket.h>

enum backlog_state { BACKLOG_QUIET, BACKLOG_OPENING, BACKLOG_UNKNOWN };

/* From now on the listening socket hears no first segment of a connection (SYN, RFC 9293 section 3.5): whoever sends
 * one tries again a second later, here or elsewhere. -1: this kernel has no such filter; errno says why. */
int backlog_shut(int fd) __attribute__((warn_unused_result));
/* Whether connections to the address's port are known to their clients but not to accept(): their last segment is on
 * its way, or TCP_DEFER_ACCEPT waits for their first bytes. UNKNOWN: this kernel does not tell. */
enum backlog_state backlog_state(const struct sockaddr *);

#endif
