/* Owns what no client can see: preloaded into utfeed, every demand that the kernel acknowledge what was read at once is told on standard
 * error. Must not know: utfeed.
 * Invariant: nothing else is changed. */
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	static const char told[] = "acknowledged\n";
	static int (*next)(int, int, int, const void *, socklen_t);
	int got;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "setsockopt");
	got = next(fd, level, name, value, len);
	if (got == 0 && level == IPPROTO_TCP && name == TCP_QUICKACK && *(const int *)value && write(STDERR_FILENO, told, sizeof told - 1) < 0)
		_exit(1);
	return got;
}
