/* Owns the wall clock of the tests: preloaded into utfeed, it answers time(2) and CLOCK_REALTIME by what the file that MOCK_CLOCK names holds,
 * the seconds since the epoch as eight bytes, until the test writes others. Timers run on other clocks, and go on as they are.
 * Must not know: utfeed. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *now;

static void __attribute__((constructor)) clock_open(void)
{
	const char *path = getenv("MOCK_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *now, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		perror("MOCK_CLOCK");
		_exit(1);
	}
	close(fd);
	now = at;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (!now || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
		return (int)syscall(SYS_clock_gettime, id, t);
	*t = (struct timespec){ .tv_sec = (time_t)*now };
	return 0;
}

/* OpenSSL's clock for certificates */
time_t time(time_t *t)
{
	struct timespec here;

	clock_gettime(CLOCK_REALTIME, &here);
	if (t)
		*t = here.tv_sec;
	return here.tv_sec;
}
