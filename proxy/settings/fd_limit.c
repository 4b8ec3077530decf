/* The limit of open files; see fd_limit.h. */
#include "proxy/settings/fd_limit.h"

#include <sys/resource.h>

enum { DESCRIPTORS_OWN = 64, DESCRIPTORS_PER_CLIENT = 2 };

void fd_limit_raise(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

size_t fd_limit_clients(size_t others)
{
	size_t kept = DESCRIPTORS_OWN + others;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return (size_t)-1;
	return limit.rlim_cur < kept + DESCRIPTORS_PER_CLIENT ? 1 : (limit.rlim_cur - kept) / DESCRIPTORS_PER_CLIENT;
}
