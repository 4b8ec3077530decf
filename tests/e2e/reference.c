/* Owns a fact that no client can see: preloaded into utfeed, it writes to standard error when the first pages go out by
 * reference. The first REFERENCE_REFUSED tries (a variable of the environment) fail. Must not know: utfeed.
 * Invariant: nothing else is changed. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t vmsplice(int fd, const struct iovec *iov, size_t n, unsigned flags)
{
	static const char words[] = "by reference\n";
	static ssize_t (*_Atomic next)(int, const struct iovec *, size_t, unsigned);
	static atomic_flag told;
	static atomic_int tries;
	const char *refused = getenv("REFERENCE_REFUSED");
	ssize_t took;

	if (refused && tries++ < atoi(refused)) {
		errno = EPERM;
		return -1;
	}
	if (!next)
		next = (ssize_t (*)(int, const struct iovec *, size_t, unsigned))dlsym(RTLD_NEXT, "vmsplice");
	took = next(fd, iov, n, flags);
	if (took > 0 && !atomic_flag_test_and_set(&told) && write(STDERR_FILENO, words, sizeof words - 1) < 0)
		_exit(1);
	return took;
}
