/* Owns the cases of proxy/sandbox/call_filter.c and forbidden.c: which system calls are carried out, each in a process of its own, and what
 * the process says that ends. Must not know: configuration.
 * Invariant: each LIMITED row of syscalls.def has a case that is allowed and one that is not. */
#include "proxy/sandbox/call_filter.h"
#include "proxy/sandbox/forbidden.h"

#include "tests/unit/unit.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

static char area[8192] __attribute__((aligned(4096)));
static struct sockaddr_nl netlink_address = { .nl_family = AF_NETLINK };
#define AREA ((long)(intptr_t)area)

/* What becomes of a call. */
enum { ENDS = -1 };

static const struct row { const char *name; long number, a[6]; int error; } rows[] = {
	{ "getpid", SYS_getpid, { 0 }, 0 },
	{ "execve", SYS_execve, { 0 }, ENDS },
	{ "setuid", SYS_setuid, { 0 }, ENDS },
	{ "ptrace", SYS_ptrace, { 0 }, ENDS },
	{ "seccomp", SYS_seccomp, { 0 }, ENDS },
	{ "socket", SYS_socket, { AF_UNIX, SOCK_STREAM }, 0 },
	{ "socket", SYS_socket, { AF_INET, SOCK_STREAM }, 0 },
	{ "socket", SYS_socket, { AF_INET6, SOCK_DGRAM }, 0 },
	{ "socket", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, 0 },
	{ "socket", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG }, 0 },
	{ "socket", SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER }, ENDS },
	{ "socket", SYS_socket, { AF_PACKET, SOCK_RAW }, ENDS },
	{ "socket", SYS_socket, { 0x100000000L + AF_PACKET, SOCK_RAW }, ENDS },
	{ "bind", SYS_bind, { -1, (long)(intptr_t)&netlink_address, sizeof netlink_address }, EBADF },
	{ "bind", SYS_bind, { -1, (long)(intptr_t)&netlink_address, sizeof(struct sockaddr) }, EBADF },
	{ "bind", SYS_bind, { -1, (long)(intptr_t)&netlink_address, sizeof(struct sockaddr_in6) }, ENDS },
	{ "clone", SYS_clone, { SIGCHLD }, ENDS },
	/* a thread without the memory that threads share is refused by the kernel itself */
	{ "clone", SYS_clone, { CLONE_THREAD }, EINVAL },
	{ "clone3", SYS_clone3, { 0 }, ENOSYS },
	{ "openat2", SYS_openat2, { -1, AREA, AREA, 24 }, ENOSYS },
	{ "futex_waitv", SYS_futex_waitv, { 0 }, ENOSYS },
	{ "rseq", SYS_rseq, { 0 }, EINVAL },
	{ "set_robust_list", SYS_set_robust_list, { 0 }, EINVAL },
	{ "faccessat2", SYS_faccessat2, { -1, 0 }, EFAULT },
	{ "statx", SYS_statx, { -1, AREA, 0, 0x80000000L, AREA }, EINVAL },
	{ "the newest", 511, { 0 }, ENOSYS },
	{ "mmap", SYS_mmap, { 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1 }, 0 },
	{ "mmap", SYS_mmap, { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, -1 }, EBADF },
	{ "mmap", SYS_mmap, { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1 }, ENDS },
	{ "mmap", SYS_mmap, { 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, -1 }, ENDS },
	{ "mprotect", SYS_mprotect, { AREA, 4096, PROT_READ }, 0 },
	{ "mprotect", SYS_mprotect, { AREA, 4096, PROT_READ | PROT_EXEC }, ENDS },
	{ "ioctl", SYS_ioctl, { -1, FIONREAD, AREA }, EBADF },
	{ "ioctl", SYS_ioctl, { -1, SIOCGIFINDEX, AREA }, EBADF },
	{ "ioctl", SYS_ioctl, { -1, TIOCSTI, AREA }, ENDS },
	{ "prctl", SYS_prctl, { PR_SET_NAME, AREA }, 0 },
	{ "prctl", SYS_prctl, { PR_SET_DUMPABLE, 0 }, 0 },
	{ "prctl", SYS_prctl, { PR_SET_DUMPABLE, 1 }, ENDS },
	{ "prctl", SYS_prctl, { PR_SET_PDEATHSIG, SIGKILL }, ENDS },
	{ "prlimit64", SYS_prlimit64, { 0, RLIMIT_NOFILE, 0, AREA }, 0 },
	{ "prlimit64", SYS_prlimit64, { 0, RLIMIT_NOFILE, AREA, 0 }, ENDS },
};
enum { ROWS = sizeof rows / sizeof *rows };

/* What a child said before its end. */
struct said { int status; char text[512]; };

static void child_run(int out, const struct row *r)
{
	long result;

	dup2(out, STDERR_FILENO);
	if (forbidden_watch() || call_filter_load())
		_exit(254);
	errno = 0;
	result = syscall(r->number, r->a[0], r->a[1], r->a[2], r->a[3], r->a[4], r->a[5]);
	_exit(result == -1 ? errno : 0);
}

static struct said run(void (*child)(int out, const struct row *), const struct row *r)
{
	struct said said = { -1, "" };
	int ends[2];
	ssize_t n, len = 0;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	fflush(NULL);
	if (!(pid = fork()))
		child(ends[1], r);
	close(ends[1]);
	while ((n = read(ends[0], said.text + len, sizeof said.text - 1 - (size_t)len)) > 0)
		len += n;
	close(ends[0]);
	CU_ASSERT_EQUAL(waitpid(pid, &said.status, 0), pid);
	return said;
}

static void carried_out(void)
{
	char words[128];

	if (call_filter_missing())
		UNIT_SKIP(call_filter_missing());
	for (size_t i = 0; i < ROWS; i++) {
		const struct row *r = &rows[i];
		struct said said = run(child_run, r);

		snprintf(words, sizeof words, "utfeed: error: sandbox: the system call %s (number %ld) is not allowed, ", r->name, r->number);
		if (r->error == ENDS)
			UNIT_ROW(WIFSIGNALED(said.status) && WTERMSIG(said.status) == SIGSYS && !strncmp(said.text, words, strlen(words)) &&
					said.text[strlen(said.text) - 1] == '\n',
				"row %zu, %s: status %x, %s", i, r->name, said.status, said.text);
		else
			UNIT_ROW(WIFEXITED(said.status) && WEXITSTATUS(said.status) == r->error && !*said.text, "row %zu, %s: status %x, %s", i,
				r->name, said.status, said.text);
	}
}

/* Signals go to the process itself and to no other. */
static void child_signals(int out, const struct row *r)
{
	dup2(out, STDERR_FILENO);
	if (forbidden_watch() || call_filter_load() || kill(getpid(), 0) || syscall(SYS_tgkill, getpid(), getpid(), 0))
		_exit(254);
	if (r->number == SYS_tgkill)
		syscall(SYS_tgkill, getpid() - 1, getpid() - 1, 0);
	else
		kill(getpid() - 1, 0);
	_exit(253);
}

static void signals(void)
{
	static const struct row both[] = { { "kill", SYS_kill, { 0 }, ENDS }, { "tgkill", SYS_tgkill, { 0 }, ENDS } };

	if (call_filter_missing())
		UNIT_SKIP(call_filter_missing());
	for (size_t i = 0; i < 2; i++) {
		struct said said = run(child_signals, &both[i]);

		UNIT_ROW(WIFSIGNALED(said.status) && WTERMSIG(said.status) == SIGSYS && strstr(said.text, both[i].name), "%s: %x %s", both[i].name,
			said.status, said.text);
	}
}

/* The same number on another architecture is another call. */
static void child_other(int out, const struct row *r)
{
	(void)r;
	dup2(out, STDERR_FILENO);
	if (forbidden_watch() || call_filter_load())
		_exit(254);
#ifdef __x86_64__
	syscall(0x40000000 | SYS_getpid);      /* x32's */
#endif
	_exit(253);
}

static void other_architectures(void)
{
	struct said said;

	if (call_filter_missing())
		UNIT_SKIP(call_filter_missing());
#ifndef __x86_64__
	UNIT_SKIP("this machine has one architecture");
#endif
	said = run(child_other, NULL);
	UNIT_ROW(WIFSIGNALED(said.status) && WTERMSIG(said.status) == SIGSYS && strstr(said.text, "of an unknown name"), "%x %s", said.status,
		said.text);
}

#ifdef HAVE_SECCOMP
static const struct { const char *name; bool limited; } listed[] = {
#define CALL(name, purpose) { #name, false },
#define LIMITED(name, purpose, words) { #name, true },
#define ABSENT(name, purpose) { #name, false },
#include "proxy/sandbox/syscalls.def"
};

static bool has_row(const char *name, bool ends)
{
	/* These have a case of their own. */
	if (!strcmp(name, "kill") || !strcmp(name, "tgkill"))
		return true;
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name) && (rows[i].error == ENDS) == ends)
			return true;
	return false;
}

/* Names are names, on this machine or another; what libseccomp does not know yet is younger than it. */
static void the_list(void)
{
	for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
		UNIT_ROW(seccomp_syscall_resolve_name(listed[i].name) != __NR_SCMP_ERROR || !strcmp(listed[i].name, "mseal"),
			"%s is no system call", listed[i].name);
		UNIT_ROW(!listed[i].limited || (has_row(listed[i].name, true) && has_row(listed[i].name, false)), "%s: rows are missing",
			listed[i].name);
		for (size_t k = 0; k < i; k++)
			UNIT_ROW(strcmp(listed[i].name, listed[k].name) != 0, "%s stands twice", listed[i].name);
	}
}
#else
static void the_list(void)
{
	UNIT_SKIP("no libseccomp");
}
#endif

UNIT_SUITE(call_filter, { "carried out", carried_out }, { "signals", signals }, { "other architectures", other_architectures },
	{ "the list", the_list })
