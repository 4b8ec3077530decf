/* Owns which addresses this process listens on, so that it never connects to itself: clients who name URLs must not
 * reach the admin listener by them, nor lead utfeed in a circle.
 * Must not know: who listens, who connects, what is spoken.
 * Invariant: there is one list for the process. Sockets are added before any other thread runs, and stay in the list
 * until the process ends, even when the next process has taken them over. */
#ifndef UTFEED_PROXY_NET_OWN_SOCKETS_H
#define UTFEED_PROXY_NET_OWN_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

/* fd: a listening socket; one that is not of TCP counts for nothing. -1: out of memory. */
int own_sockets_add(int fd) __attribute__((warn_unused_result));
/* Whether a connection to this address would reach one of the sockets. */
bool own_sockets_have(const struct sockaddr *);
/* Likewise of an address as text, without brackets, or a name that means loopback (RFC 6761 section 6.3). */
bool own_sockets_have_host(const char *host, uint16_t port);
void own_sockets_free(void);

#endif
