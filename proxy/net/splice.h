/* Owns a pipe through which pages of memory go to sockets without being copied (vmsplice(2), splice(2)). Must not know:
 * who owns the pages.
 * Invariant: the pipe is empty between calls. The kernel keeps the pages until the peer has their bytes, so these bytes
 * must never change again, and the owner gives the pages back by munmap(2) instead of using them for something else. */
#ifndef UTFEED_PROXY_NET_SPLICE_H
#define UTFEED_PROXY_NET_SPLICE_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

struct splice {
	int in, out;                   /* -1: not open */
	bool refused;                  /* it has failed once, so it is not tried again */
};

void splice_init(struct splice *);
void splice_end(struct splice *);
/* Sends the first n_copied pieces as a copy and the others by reference, in as few segments as if they were one piece.
 * more: another write follows at once. Returns like sendmsg(2) how many bytes the socket took. The first time the pipe
 * does not work is logged, and from then on every call returns -1 with errno ENOTSUP. */
ssize_t splice_send(struct splice *, int fd, const struct iovec *, int n_copied, int n, bool more);

#endif
