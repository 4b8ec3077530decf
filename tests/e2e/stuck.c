/* Owns loops that do not turn: preloaded into utfeed, waiting for events does not return as long as the page that UTFEED_STUCK names begins
 * with a byte other than 0. The page's second byte says how many threads are held so. Must not know: utfeed.
 * Invariant: nothing else is changed. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile unsigned char *page;

__attribute__((constructor))
static void start(void)
{
	const char *name = getenv("UTFEED_STUCK");
	int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	page = mmap(NULL, 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	static int (*next)(int, struct epoll_event *, int, int);
	int got;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "epoll_wait");
	got = next(fd, events, most, timeout);
	if (page && *page) {
		__atomic_fetch_add(&page[1], 1, __ATOMIC_SEQ_CST);
		while (*page)
			usleep(1000);
		__atomic_fetch_sub(&page[1], 1, __ATOMIC_SEQ_CST);
	}
	return got;
}
