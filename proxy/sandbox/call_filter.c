/* The filter of system calls; see call_filter.h. */
#include "proxy/sandbox/call_filter.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#ifdef HAVE_SECCOMP

#include <asm/termbits.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <asm/ioctls.h>
#include <linux/seccomp.h>

/* ---- names ---- */

/* Numbers go on from there for all machines alike (the kernel's scripts/syscall.tbl). */
enum { CALLS_MAX = 512, CALLS_NEWER = 64 };

/* Filled in once, before the filter is in force. */
static const char *names[CALLS_MAX];
static unsigned native;

/* Returns the largest number that has a name. */
static int names_fill(void)
{
	int last = 0;

	native = seccomp_arch_native();
	for (int i = 0; i < CALLS_MAX; i++) {
		if (!names[i])
			names[i] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);
		if (names[i])
			last = i;
	}
	return last;
}

const char *call_filter_name(unsigned architecture, int number)
{
	return architecture == native && number >= 0 && number < CALLS_MAX ? names[number] : NULL;
}

/* ---- the list ---- */

enum call_kind { KIND_CALL, KIND_LIMITED, KIND_ABSENT };

static const struct {
	const char *name;
	enum call_kind kind;
} calls[] = {
#define CALL(name, purpose) { #name, KIND_CALL },
#define LIMITED(name, purpose, words) { #name, KIND_LIMITED },
#define ABSENT(name, purpose) { #name, KIND_ABSENT },
#include "proxy/sandbox/syscalls.def"
#undef CALL
#undef LIMITED
#undef ABSENT
};

/* Which arguments a LIMITED call is allowed with: those of any of its rows. A condition without a mask is met by the
 * value, one with a mask by the bits. */
struct condition { unsigned argument; uint64_t mask, value; };
enum { CONDITIONS_MAX = 2 };
static const struct allowed_call {
	const char *name;
	unsigned n;
	struct condition conditions[CONDITIONS_MAX];
} limits[] = {
	{ "socket", 1, { { 0, 0, AF_UNIX } } },
	{ "socket", 1, { { 0, 0, AF_INET } } },
	{ "socket", 1, { { 0, 0, AF_INET6 } } },
	{ "socket", 2, { { 0, 0, AF_NETLINK }, { 2, 0, NETLINK_ROUTE } } },
	{ "socket", 2, { { 0, 0, AF_NETLINK }, { 2, 0, NETLINK_SOCK_DIAG } } },
	/* getaddrinfo(3), and what systemd's modules for it have in place of a sockaddr_nl; listen() is not there */
	{ "bind", 1, { { 2, 0, sizeof(struct sockaddr_nl) } } },
	{ "bind", 1, { { 2, 0, sizeof(struct sockaddr) } } },
#ifdef __s390x__
	{ "clone", 1, { { 1, CLONE_THREAD, CLONE_THREAD } } },
#else
	{ "clone", 1, { { 0, CLONE_THREAD, CLONE_THREAD } } },
#endif
	{ "mmap", 1, { { 2, PROT_EXEC, 0 } } },
	{ "mmap", 2, { { 2, PROT_EXEC | PROT_WRITE, PROT_EXEC }, { 3, MAP_ANONYMOUS, 0 } } },
	{ "mprotect", 1, { { 2, PROT_EXEC, 0 } } },
	{ "ioctl", 1, { { 1, 0, TCGETS } } },
#ifdef TCGETS2
	{ "ioctl", 1, { { 1, 0, TCGETS2 } } },
#endif
	{ "ioctl", 1, { { 1, 0, FIONREAD } } },
	{ "ioctl", 1, { { 1, 0, FIONBIO } } },
	{ "ioctl", 1, { { 1, 0, SIOCGIFINDEX } } },
	{ "ioctl", 1, { { 1, 0, SIOCGIFNAME } } },
	{ "prctl", 1, { { 0, 0, PR_SET_NAME } } },
	{ "prctl", 1, { { 0, 0, PR_CAPBSET_READ } } },
	/* a reload that brings an authority's key */
	{ "prctl", 2, { { 0, 0, PR_SET_DUMPABLE }, { 1, 0, 0 } } },
#ifdef PR_SET_VMA
	{ "prctl", 1, { { 0, 0, PR_SET_VMA } } },
#endif
	{ "prlimit64", 1, { { 2, 0, 0 } } },
};

/* ---- the filter ---- */

static int rule_add(scmp_filter_ctx filter, int call, const struct condition *conditions, unsigned n)
{
	struct scmp_arg_cmp with[CONDITIONS_MAX];

	for (unsigned i = 0; i < n; i++)
		with[i] = (struct scmp_arg_cmp){ .arg = conditions[i].argument,
			.op = conditions[i].mask ? SCMP_CMP_MASKED_EQ : SCMP_CMP_EQ,
			.datum_a = conditions[i].mask ? conditions[i].mask : conditions[i].value,
			.datum_b = conditions[i].value };
	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, n, with);
}

static int rules_add_limited(scmp_filter_ctx filter, const char *name, int call)
{
	int status = 0;

	if (!strcmp(name, "kill") || !strcmp(name, "tgkill"))
		return rule_add(filter, call, &(struct condition){ 0, 0, (uint64_t)getpid() }, 1); /* utfeed itself */
	for (size_t i = 0; i < sizeof limits / sizeof *limits && !status; i++)
		if (!strcmp(limits[i].name, name))
			status = rule_add(filter, call, limits[i].conditions, limits[i].n);
	return status;
}

static int rule_add_absent(scmp_filter_ctx filter, int call)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0);
}

/* libseccomp gives no number to a name that it does not know. It gives a negative number to a call that this machine
 * lacks, or has a second way for (socketcall on s390x and ppc64el), and makes the right rules for it. */
static int rules_add_call(scmp_filter_ctx filter, const char *name, enum call_kind kind)
{
	int call = seccomp_syscall_resolve_name(name);

	if (call == __NR_SCMP_ERROR)
		return 0;
	switch (kind) {
	case KIND_LIMITED: return rules_add_limited(filter, name, call);
	case KIND_ABSENT: return rule_add_absent(filter, call);
	default: return rule_add(filter, call, NULL, 0);
	}
}

/* Calls that the kernel has learned since libseccomp was made: the C library of the day tries them. */
static int rules_add_newer(scmp_filter_ctx filter, int last)
{
	int status = 0;

	for (int i = last + 1; i < CALLS_MAX && i <= last + CALLS_NEWER && !status; i++)
		status = rule_add_absent(filter, i);
	return status;
}

static int rules_add(scmp_filter_ctx filter)
{
	int status = rules_add_newer(filter, names_fill());

	for (size_t i = 0; i < sizeof calls / sizeof *calls && !status; i++)
		status = rules_add_call(filter, calls[i].name, calls[i].kind);
	return status;
}

/* SSB: no mitigation of speculation, which slows all calls down (prctl(2), PR_SET_SPECULATION_CTRL): utfeed runs no
 * foreign code. OPTIMIZE 2: a tree, for kernels before 5.11, which do not remember the calls that are always
 * allowed. */
static int attributes_set(scmp_filter_ctx filter)
{
	static const struct { enum scmp_filter_attr attribute; uint32_t value; } attributes[] = {
		{ SCMP_FLTATR_CTL_TSYNC, 1 }, { SCMP_FLTATR_CTL_SSB, 1 }, { SCMP_FLTATR_CTL_OPTIMIZE, 2 },
		{ SCMP_FLTATR_CTL_NNP, 1 }, { SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_TRAP },
	};
	int status = 0;

	for (size_t i = 0; i < sizeof attributes / sizeof *attributes && !status; i++)
		status = seccomp_attr_set(filter, attributes[i].attribute, attributes[i].value);
	return status;
}

int call_filter_load(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
	int status;

	if (!filter) {
		errno = ENOMEM;
		return -1;
	}
	if (!(status = attributes_set(filter)) && !(status = rules_add(filter)))
		status = seccomp_load(filter);
	seccomp_release(filter);
	errno = -status;
	return status ? -1 : 0;
}

const char *call_filter_missing(void)
{
	const uint32_t action = SECCOMP_RET_TRAP;
	static char text[160];

	if (!syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action))
		return NULL;
	snprintf(text, sizeof text, "the kernel or the container has no filters of system calls (seccomp: %s)",
	    strerror(errno));
	return text;
}

#else

int call_filter_load(void)
{
	errno = ENOSYS;
	return -1;
}

const char *call_filter_name(unsigned architecture, int number)
{
	(void)architecture, (void)number;
	return NULL;
}

const char *call_filter_missing(void)
{
	return "this build has no filter of system calls (libseccomp)";
}

#endif
