/* Owns peers that never stop sending: preloaded into utfeed, a socket whose writing side it has shut down has as many bytes to read as
 * are asked for, each time, once there is one. Must not know: utfeed.
 * Invariant: nothing else is changed. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 4096 };

static _Atomic bool endless[MOST];

int shutdown(int fd, int how)
{
	static int (*_Atomic next)(int, int);

	if (!next)
		next = (int (*)(int, int))dlsym(RTLD_NEXT, "shutdown");
	if (fd >= 0 && fd < MOST)
		endless[fd] = true;
	return next(fd, how);
}

int close(int fd)
{
	static int (*_Atomic next)(int);

	if (!next)
		next = (int (*)(int))dlsym(RTLD_NEXT, "close");
	if (fd >= 0 && fd < MOST)
		endless[fd] = false;
	return next(fd);
}

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	static ssize_t (*_Atomic next)(int, void *, size_t, int);
	char byte;

	if (!next)
		next = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
	if (fd < 0 || fd >= MOST || !endless[fd] || next(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
		return next(fd, buf, len, flags);
	memset(buf, 'x', len);
	return (ssize_t)len;
}
