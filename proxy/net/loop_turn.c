/* Turns of a loop; see loop_turn.h. */
#include "proxy/net/loop_turn.h"

#include <time.h>

#ifdef LOOP_WATCHED
#include <dlfcn.h>

#include "proxy/base/log.h"
#endif

static uint64_t turn_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

#ifdef LOOP_WATCHED
/* Judges the function that was called last. Time in which the thread did not run does not count: the function is not
 * to blame for a busy machine. */
static void turn_judge(struct loop_turn *turn, uint64_t used_us)
{
	uintptr_t called = (uintptr_t)turn->called;
	Dl_info program = { 0 };

	if (!called || used_us - turn->used_us <= LOOP_TELL_US)
		return;
	turn->told = true;
	dladdr((const void *)called, &program);
	log_warn("loop: the function that addr2line -f names at %#lx held it for %llu us",
	    (unsigned long)(called - (uintptr_t)program.dli_fbase), (unsigned long long)(used_us - turn->used_us));
}

static void turn_watch(struct loop_turn *turn, loop_callback *callback)
{
	uint64_t used_us = turn_clock(CLOCK_THREAD_CPUTIME_ID);

	turn_judge(turn, used_us);
	turn->used_us = used_us;
	if (!turn->called)
		turn->used_at_first_us = used_us;
	turn->called = callback;
	turn->calls++;
	if (callback)
		return;
	if (!turn->told && used_us - turn->used_at_first_us > LOOP_TELL_US)
		log_warn("loop: %u calls together held it for %llu us", turn->calls - 1,
		    (unsigned long long)(used_us - turn->used_at_first_us));
	turn->calls = 0;
	turn->told = false;
}
#else
static void turn_watch(struct loop_turn *turn, loop_callback *callback)
{
	(void)turn, (void)callback;
}
#endif

void loop_turn_enter(struct loop_turn *turn, loop_callback *callback)
{
	turn_watch(turn, callback);
	turn->looked_us = 0;
	if (!turn->began_us)
		turn->began_us = turn_clock(CLOCK_MONOTONIC);
}

bool loop_turn_is_spent(const struct loop_turn *turn)
{
	return turn->began_us && turn_clock(CLOCK_MONOTONIC) - turn->began_us >= LOOP_TURN_SPENT_US;
}

bool loop_turn_call_is_spent(struct loop_turn *turn)
{
	if (!turn->began_us)
		return false;
	uint64_t now_us = turn_clock(CLOCK_MONOTONIC);
	if (!turn->looked_us)
		turn->looked_us = now_us;
	return now_us - turn->began_us >= LOOP_TURN_SPENT_US || now_us - turn->looked_us >= LOOP_CALL_SPENT_US;
}

bool loop_turn_looked(const struct loop_turn *turn)
{
	return turn->looked_us;
}

void loop_turn_end(struct loop_turn *turn, struct stats *stats)
{
	turn_watch(turn, NULL);
	if (!turn->began_us)
		return;
	uint64_t took = turn->counts ? turn_clock(CLOCK_MONOTONIC) - turn->began_us : 0;
	turn->began_us = 0;
	if (!turn->counts)
		return;
	stats_observe(stats, HISTOGRAM_LOOP_TURN, ANSWER_NONE, took);
	stats_longest_turn(stats, took);
	if (took > LOOP_TURN_LONG_US)
		stats_add(stats, STAT_LOOP_STALLS, 1);
}
