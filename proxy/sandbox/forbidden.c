/* The handler of SIGSYS; see forbidden.h. */
#include "proxy/sandbox/forbidden.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proxy/sandbox/call_filter.h"

/* A reader of standard error that has stopped must not keep the process alive. */
enum { FORBIDDEN_TEXT_MAX = 256, FORBIDDEN_WAIT_MS = 1000 };

enum { FORBIDDEN_BY_FILTER = 1 };      /* SYS_SECCOMP of <asm/siginfo.h>, which does not go with <signal.h> */

struct forbidden_text {
	char bytes[FORBIDDEN_TEXT_MAX];
	size_t len;
};

static void say(struct forbidden_text *told, const char *words)
{
	while (*words && told->len < sizeof told->bytes)
		told->bytes[told->len++] = *words++;
}

static void say_number(struct forbidden_text *told, unsigned number)
{
	char digits[16];
	size_t at = sizeof digits - 1;

	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) && at);
	say(told, digits + at);
}

static void forbidden_say(const siginfo_t *info)
{
	const char *name = call_filter_name(info->si_arch, info->si_syscall);
	struct pollfd output = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct forbidden_text t = { .len = 0 };

	say(&t, "utfeed: error: sandbox: the system call ");
	say(&t, name ? name : "of an unknown name");
	say(&t, " (number ");
	say_number(&t, (unsigned)info->si_syscall);
	say(&t, ") is not allowed, or not with these arguments: utfeed ends; see utfeed-security(7), SANDBOX\n");
	if (poll(&output, 1, FORBIDDEN_WAIT_MS) == 1 && write(STDERR_FILENO, t.bytes, t.len) < 0)
		return;
}

/* One thread tells of its call; any other that makes one meanwhile waits for the end. The signal may also be anybody's
 * who sends it. */
static void on_forbidden(int sig, siginfo_t *info, void *context)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	struct sigaction by_default = { .sa_handler = SIG_DFL };

	(void)context;
	while (atomic_flag_test_and_set(&told))
		poll(NULL, 0, -1);
	if (info->si_code == FORBIDDEN_BY_FILTER)
		forbidden_say(info);
	sigemptyset(&by_default.sa_mask);
	sigaction(sig, &by_default, NULL);
	syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), sig);
}

int forbidden_watch(void)
{
	struct sigaction watch = { .sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO };

	sigfillset(&watch.sa_mask);
	return sigaction(SIGSYS, &watch, NULL);
}
