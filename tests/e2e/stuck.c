/* Owns loops that do not turn: preloaded into utfeed, waiting for events does not return as long as the page that UTFEED_STUCK names begins
 * with a byte other than 0. Must not know: utfeed.
 * Invariant: nothing else is changed. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile const char *page;

__attribute__((constructor))
static void start(void)
{
	const char *name = getenv("UTFEED_STUCK");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	page = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	static int (*next)(int, struct epoll_event *, int, int);
	int got;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "epoll_wait");
	got = next(fd, events, most, timeout);
	while (page && *page)
		usleep(1000);
	return got;
}
