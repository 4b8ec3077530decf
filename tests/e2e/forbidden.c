/* Owns system calls that utfeed has no use for: preloaded into it, a thread of its makes the call that the page names by FORBIDDEN, as an
 * attacker's code in it would. Must not know: the list.
 * Invariant: without an order nothing is changed, but for what FORBIDDEN_LACKS names: system calls of the sandbox's own that this kernel is
 * not to have. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_FDCWD
#define AT_FDCWD -100
#endif

enum { WORKER = 1, MAIN, LATER };
enum { NAME_BYTES = 64, PATH_BYTES = 512 };

struct page {
	_Atomic int64_t where;         /* the thread that is to make it: a loop's, the main one, one that a loop starts; 0 again: made */
	int64_t result, error;
	char name[NAME_BYTES];         /* of a row below */
	char path[PATH_BYTES];
};

static struct page *page;
static const char *lacks;

#define PATH ((long)(intptr_t)page->path)
static char area[8192] __attribute__((aligned(4096)));
static struct sockaddr_in6 local = { .sin6_family = AF_INET6 };
static const char *const no_words[] = { NULL };

static int is(const char *name)
{
	return !strcmp(page->name, name);
}

/* The system call itself, whatever the C library makes of it. */
static long call(long number, long a, long b, long c, long d, long e)
{
	static long (*next)(long, ...);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	return next(number, a, b, c, d, e, 0L);
}

static long call_named(void)
{
	if (is("execve"))
		return call(SYS_execve, PATH, (long)no_words, (long)no_words, 0, 0);
	if (is("clone"))
		return call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (is("clone3"))
		return call(SYS_clone3, 0, 0, 0, 0, 0);
	if (is("newest"))
		return call(511, 0, 0, 0, 0, 0);
	if (is("ptrace"))
		return call(SYS_ptrace, 0, 0, 0, 0, 0);
	if (is("mount"))
		return call(SYS_mount, PATH, PATH, PATH, 0, 0);
	if (is("setuid"))
		return call(SYS_setuid, 0, 0, 0, 0, 0);
	if (is("io_uring_setup"))
		return call(SYS_io_uring_setup, 1, 0, 0, 0, 0);
	if (is("socket"))
		return call(SYS_socket, AF_PACKET, SOCK_RAW, 0, 0, 0);
	if (is("socket of netlink's filters"))
		return call(SYS_socket, AF_NETLINK, SOCK_RAW, 12, 0, 0);
	if (is("bind"))
		return call(SYS_bind, (int)call(SYS_socket, AF_INET6, SOCK_STREAM, 0, 0, 0), (long)&local, sizeof local, 0, 0);
	if (is("listen"))
		return call(SYS_listen, 0, 1, 0, 0, 0);
	if (is("mprotect"))
		return call(SYS_mprotect, (long)area, 4096, PROT_READ | PROT_EXEC, 0, 0);
	if (is("mmap"))
		return (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (is("kill"))
		return call(SYS_kill, 1, 0, 0, 0, 0);
	if (is("kill of itself"))
		return call(SYS_kill, getpid(), 0, 0, 0, 0);
	if (is("prlimit64"))
		return call(SYS_prlimit64, 0, 7, (long)area, 0, 0);
	if (is("ioctl"))
		return call(SYS_ioctl, 0, TIOCSTI, PATH, 0, 0);
	if (is("read"))
		return call(SYS_openat, AT_FDCWD, PATH, O_RDONLY, 0, 0);
	if (is("write"))
		return call(SYS_openat, AT_FDCWD, PATH, O_WRONLY, 0, 0);
	if (is("make"))
		return call(SYS_openat, AT_FDCWD, PATH, O_WRONLY | O_CREAT | O_EXCL, 0600, 0);
	if (is("truncate"))
		return call(SYS_openat, AT_FDCWD, PATH, O_WRONLY | O_TRUNC, 0, 0);
	if (is("list"))
		return call(SYS_openat, AT_FDCWD, PATH, O_RDONLY | O_DIRECTORY, 0, 0);
	if (is("remove"))
		return call(SYS_unlinkat, AT_FDCWD, PATH, 0, 0, 0);
	if (is("folder"))
		return call(SYS_mkdirat, AT_FDCWD, PATH, 0700, 0, 0);
	errno = EINVAL;
	return -1;
}

static void made(void)
{
	errno = 0;
	page->result = call_named();
	page->error = errno;
	atomic_store(&page->where, 0);
}

static void *later(void *arg)
{
	made();
	return arg;
}

static void look(int64_t where)
{
	int64_t ordered = page ? atomic_load(&page->where) : 0;
	pthread_t thread;

	if (where == WORKER && ordered == LATER && atomic_compare_exchange_strong(&page->where, &ordered, -1)) {
		if (!pthread_create(&thread, NULL, later, NULL))
			pthread_detach(thread);
	} else if (ordered == where && atomic_compare_exchange_strong(&page->where, &ordered, -1))
		made();
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	static int (*next)(int, struct epoll_event *, int, int);
	int got;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "epoll_wait");
	got = next(fd, events, most, timeout);
	look(WORKER);
	return got;
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	static int (*next)(struct pollfd *, nfds_t, int);
	int got;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "poll");
	got = next(fds, n, timeout);
	if (getpid() == (pid_t)call(SYS_gettid, 0, 0, 0, 0, 0))
		look(MAIN);
	return got;
}

long syscall(long number, ...)
{
	long a[5];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 5; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (lacks && ((number == 444 && strstr(lacks, "landlock")) || (number == SYS_seccomp && strstr(lacks, "seccomp")))) {
		errno = ENOSYS;
		return -1;
	}
	return call(number, a[0], a[1], a[2], a[3], a[4]);
}

__attribute__((constructor))
static void start(void)
{
	const char *name = getenv("FORBIDDEN");
	int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	lacks = getenv("FORBIDDEN_LACKS");
	if (fd >= 0)
		close(fd);
	if (at != MAP_FAILED)
		page = at;
}
