/* Owns a disk that refuses: preloaded into utfeed, what is written to data.mdb fails as the file that DISK names says. Must not know:
 * utfeed, LMDB. Invariant: other files, and reading, are left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct page {
	int64_t grows;                 /* the error number of making the file longer */
	int64_t writes;                /* that of writing to it at all, and of having it written */
};

static const volatile struct page *page;

static void __attribute__((constructor)) page_open(void)
{
	const char *path = getenv("DISK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		perror("DISK");
		_exit(1);
	}
	close(fd);
	page = at;
}

static int refused(int fd, int64_t error)
{
	char link[64], name[4096];
	ssize_t n;

	if (!error)
		return 0;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof name - 1);
	if (n < 8 || memcmp(name + n - 8, "data.mdb", 8))
		return 0;
	errno = (int)error;
	return 1;
}

#define NEXT(name) \
	static __typeof__(&name) next; \
	if (!next) \
		*(void **)&next = dlsym(RTLD_NEXT, #name)

/* Only new blocks are refused: the file keeps those that it has, even behind its end. */
static int refuses_more(int fd, off64_t end)
{
	struct stat st;

	return refused(fd, page->writes) || (!fstat(fd, &st) && end > (off64_t)st.st_blocks * 512 && refused(fd, page->grows));
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
	NEXT(fallocate);
	return refuses_more(fd, at + len) ? -1 : next(fd, mode, at, len);
}

int fallocate64(int fd, int mode, off64_t at, off64_t len)
{
	NEXT(fallocate64);
	return refuses_more(fd, at + len) ? -1 : next(fd, mode, at, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	NEXT(pwrite);
	return refused(fd, page->writes) ? -1 : next(fd, bytes, len, at);
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
	NEXT(writev);
	return refused(fd, page->writes) ? -1 : next(fd, iov, n);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	NEXT(write);
	return refused(fd, page->writes) ? -1 : next(fd, bytes, len);
}

int fdatasync(int fd)
{
	NEXT(fdatasync);
	return refused(fd, page->writes) ? -1 : next(fd);
}
