/* Owns memory running out at a moment of the test's choice: preloaded into utfeed, it refuses requests for memory as the file that
 * REFUSE names says, whoever makes them, libraries too. Must not know: utfeed.
 * Invariant: between tests nothing is refused, and `refused` counts what was. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct page {
	_Atomic int64_t until;         /* counts down with each request; from 0 on they are refused, */
	_Atomic int64_t many;          /* so many of them */
	_Atomic int64_t refused;
};

static struct page *page;
static void *(*next_malloc)(size_t), *(*next_calloc)(size_t, size_t), *(*next_realloc)(void *, size_t);

static void find(void *function, const char *name)
{
	*(void **)function = dlsym(RTLD_NEXT, name);
	if (!*(void **)function)
		_exit(1);
}

static void __attribute__((constructor)) page_open(void)
{
	const char *path = getenv("REFUSE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		perror("REFUSE");
		_exit(1);
	}
	close(fd);
	page = at;
}

static int refused(void)
{
	int64_t left;

	if (!page || !page->many)
		return 0;
	left = atomic_fetch_sub(&page->until, 1);
	if (left > 0 || left <= -page->many)
		return 0;
	atomic_fetch_add(&page->refused, 1);
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	if (!next_malloc)
		find(&next_malloc, "malloc");
	return refused() ? NULL : next_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	if (!next_calloc)
		find(&next_calloc, "calloc");
	return refused() ? NULL : next_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	if (!next_realloc)
		find(&next_realloc, "realloc");
	return refused() ? NULL : next_realloc(old, size);
}

/* What utfeed cuts from memory that it has (proxy/base/heap.c). */
int utfeed_heap_refuses(void)
{
	return refused();
}
