/* Random whiles between threads; see schedule.h. */
#include "schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A thread sleeps at every so many points, for a stretch of so many: most are quick, as they are in use, and some are slow throughout. */
enum { SCHEDULE_STRETCH = 512, SCHEDULE_LONGEST_EXPONENT = 13 /* of microseconds */ };
static const unsigned schedule_odds[] = { 0, 0, 512, 128, 32, 8 };
enum { SCHEDULE_MOODS = sizeof schedule_odds / sizeof *schedule_odds };

static pthread_once_t schedule_once = PTHREAD_ONCE_INIT;
static bool schedule_asked;
static uint64_t schedule_seed;
static atomic_uint schedule_threads;

static _Thread_local struct {
	uint64_t state;                /* 0: this thread has not begun */
	unsigned left, odds;           /* points of this stretch; 0: none of them sleeps */
} mine;

static void schedule_begin(void)
{
	const char *seed = getenv("UTFEED_SCHEDULE_SEED");
	struct timespec now;

	if (!(schedule_asked = seed))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	schedule_seed = *seed ? strtoull(seed, NULL, 10) : (uint64_t)now.tv_nsec;
	fprintf(stderr, "schedules: UTFEED_SCHEDULE_SEED=%" PRIu64 "\n", schedule_seed);
}

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t schedule_random(void)
{
	uint64_t z = mine.state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Most sleeps are short: the length's exponent is what is evenly spread. 0: another thread's turn, if one waits. */
static void schedule_sleep(void)
{
	unsigned exponent = (unsigned)(schedule_random() % (SCHEDULE_LONGEST_EXPONENT + 1));
	struct timespec length = { 0, (long)(schedule_random() % (1u << exponent)) * 1000 };
	int err = errno;

	if (length.tv_nsec)
		nanosleep(&length, NULL);
	else
		sched_yield();
	errno = err;
}

void schedule_point(void)
{
	pthread_once(&schedule_once, schedule_begin);
	if (!schedule_asked)
		return;
	if (!mine.state)
		mine.state = schedule_seed + ((uint64_t)atomic_fetch_add(&schedule_threads, 1) + 1) * 0xd1342543de82ef95;
	if (!mine.left) {
		mine.left = 1 + (unsigned)(schedule_random() % SCHEDULE_STRETCH);
		mine.odds = schedule_odds[schedule_random() % SCHEDULE_MOODS];
	}
	mine.left--;
	if (mine.odds && !(schedule_random() % mine.odds))
		schedule_sleep();
}
