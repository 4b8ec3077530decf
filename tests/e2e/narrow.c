/* Owns how little a client's socket takes: preloaded into utfeed, every connection it accepts has the smallest send buffer there is.
 * Must not know: utfeed.
 * Invariant: nothing else is changed. */
#include <dlfcn.h>
#include <sys/socket.h>

int accept4(int fd, struct sockaddr *peer, socklen_t *len, int flags)
{
	static int (*next)(int, struct sockaddr *, socklen_t *, int);
	int got, smallest = 1;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "accept4");
	got = next(fd, peer, len, flags);
	if (got >= 0)
		setsockopt(got, SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
	return got;
}
