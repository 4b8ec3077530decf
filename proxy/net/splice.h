/* Owns a pipe through which pages of memory go to sockets without being copied (vmsplice(2), splice(2)). Must not know:
 * who owns the pages.
 * Invariant: the pipe is empty between calls. The kernel keeps the pages until the peer has their bytes, so these bytes
 * must never change again, and the owner gives the pages back by munmap(2) instead of using them for something else. */
#ifndef UTFEED_PROXY_NET_SPLICE_H
#define UTFEED_PROXY_NET_SPLICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct splice {
	int in, out;                   /* -1: not open */
	/* By the caller's clock: the pipe is not tried before. It may fail for a moment (EMFILE, ENOMEM) or always
	 * (ENOSYS). Each failure in a row makes the rest longer. */
	uint64_t again_ms;             /* 0: it worked the last time */
	uint64_t rest_ms;              /* after the last failure; 0: none since it worked */
	int logged;                    /* errno of the last failure that was logged; 0: none */
};

void splice_init(struct splice *);
void splice_end(struct splice *);
static inline bool splice_rests(const struct splice *self, uint64_t now_ms)
{
	return self->again_ms && now_ms < self->again_ms;
}
/* Sends the first n_copied pieces as a copy and the others by reference, in as few segments as if they were one piece.
 * more: another write follows at once. Returns like sendmsg(2) how many bytes the socket took. Where the pipe does not
 * work it returns -1 with errno ENOTSUP and has sent nothing; it rests from then on (splice_rests()). */
ssize_t splice_send(struct splice *, uint64_t now_ms, int fd, const struct iovec *, int n_copied, int n, bool more);

#endif
