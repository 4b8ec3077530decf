/* Owns the clocks of a program under test, which preloads this library. The environment variable MOCK_CLOCK names a file of 32 bytes.
 * The first eight are the wall clock, in seconds since the epoch; it stands still until the test writes others. The next eight are the
 * nanoseconds by which the other clocks are ahead of this machine's. The third eight are 0, or the nanoseconds at which the coarse monotonic
 * clock stands still: from there, too, it is ahead. By that clock utfeed's timers fire, and its stored responses age. While it stands,
 * nothing ages and no timer fires, however slow the machine is, until the test puts the clocks ahead. The precise clocks go on: they only
 * measure. If the last eight are not 0, a program that waits for events looks at the clocks every LOOK_MS, so that a timer that is due by
 * then fires.
 * Must not know: which program it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000
#define LOOK_MS 50

static const volatile struct {
	int64_t wall_s;
	int64_t ahead_ns;
	int64_t coarse_ns;
	int64_t looks;
} *now;

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

static int is_wall(clockid_t id)
{
	return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
}

/* The clocks of timers; the clocks of processor time stay as they are */
static int is_running(clockid_t id)
{
	return id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_MONOTONIC_RAW || id == CLOCK_BOOTTIME;
}

static void clock_add(struct timespec *t, int64_t ns)
{
	int64_t sum = t->tv_nsec + ns % SECOND;

	t->tv_sec += (time_t)(ns / SECOND + (sum >= SECOND) - (sum < 0));
	t->tv_nsec = (long)(sum + (sum < 0 ? SECOND : sum >= SECOND ? -SECOND : 0));
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (now && is_wall(id)) {
		*t = (struct timespec){ .tv_sec = (time_t)now->wall_s };
		return 0;
	}
	if (now && now->coarse_ns && id == CLOCK_MONOTONIC_COARSE) {
		*t = (struct timespec){ .tv_sec = (time_t)(now->coarse_ns / SECOND), .tv_nsec = (long)(now->coarse_ns % SECOND) };
	} else if (syscall(SYS_clock_gettime, id, t)) {
		errno = EINVAL;
		return -1;
	}
	if (now && is_running(id))
		clock_add(t, now->ahead_ns);
	return 0;
}

/* The wall clock by which OpenSSL judges certificates */
time_t time(time_t *t)
{
	struct timespec here;

	clock_gettime(CLOCK_REALTIME, &here);
	if (t)
		*t = here.tv_sec;
	return here.tv_sec;
}

/* The wall clock of nginx */
int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	(void)zone;
	*t = (struct timeval){ .tv_sec = time(NULL) };
	return 0;
}

/* The waits of libevent */
int epoll_wait(int fd, struct epoll_event *events, int most, int ms)
{
	int wait = now && now->looks && (ms < 0 || ms > LOOK_MS) ? LOOK_MS : ms;

#ifdef SYS_epoll_wait
	return (int)syscall(SYS_epoll_wait, fd, events, most, wait);
#else
	return (int)syscall(SYS_epoll_pwait, fd, events, most, wait, NULL, 0);
#endif
}
