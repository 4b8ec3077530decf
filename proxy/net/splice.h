/* Owns a pipe through which pages of memory go to sockets without being copied (vmsplice(2), splice(2)). Must not know:
 * whose they are.
 * Invariant: the pipe is empty between calls. The kernel holds on to the pages until the peer has them: their bytes
 * must never change again, and they are given back by munmap(2), never to be used for anything else. */
#ifndef UTFEED_PROXY_NET_SPLICE_H
#define UTFEED_PROXY_NET_SPLICE_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

struct splice {
	int in, out;                   /* -1: not open */
	bool refused;                  /* this system does not do it */
};

void splice_init(struct splice *);
void splice_end(struct splice *);
/* Sends the first pieces as a copy, the others by reference, in as few segments as if they were one. How many bytes the
 * socket took, as sendmsg(2) would say; more: something follows at once. Once it does not work here, which is logged,
 * it is refused for good: -1, errno ENOTSUP. */
ssize_t splice_send(struct splice *, int fd, const struct iovec *, int n_copied, int n, bool more);

#endif
