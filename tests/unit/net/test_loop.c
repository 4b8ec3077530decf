/* Owns the cases of proxy/net/loop.c: the order of tasks and timers. Must not know: what they are for.
 * Invariant: nothing is said about how long anything takes, only about what comes before what; what is to come later is armed by what
 * is to come before it, and what is never to come is hours away. Where a turn must be spent, or must not, the clock stands still but
 * for naps. So a machine under load changes nothing. */
#include "proxy/net/loop.h"
#include "tests/unit/unit.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 64, HOUR_MS = 3600 * 1000 };

/* What the monotonic clock says where only nap() may take time; 0: the time of the machine. */
static uint64_t stands_us;

/* In the place of the C library's, for the loop and libevent too. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	if (id != CLOCK_MONOTONIC || !stands_us)
		return (int)syscall(SYS_clock_gettime, id, t);
	t->tv_sec = (time_t)(stands_us / 1000000);
	t->tv_nsec = (long)(stands_us % 1000000) * 1000;
	return 0;
}

static void clock_stands(bool stands)
{
	struct timespec t;

	stands_us = 0;
	clock_gettime(CLOCK_MONOTONIC, &t);
	stands_us = stands ? (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000 : 0;
}

static void nap(long us)
{
	if (stands_us)
		stands_us += (uint64_t)us;
	else
		nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

static struct loop *loop;
static char said[WORDS_MAX];

static void say(char c)
{
	size_t n = strlen(said);

	if (n + 1 < sizeof(said)) {
		said[n] = c;
		said[n + 1] = '\0';
	}
}

/* A task or timer with a name, and what it sets going when it runs. */
struct actor {
	struct task task;
	struct timer timer;
	char name;
	struct actor *defers, *forgets, *disarms;
	struct actor *arms;         /* when it runs for the last time */
	uint64_t duration_ms;
	unsigned again;             /* defers or arms itself so often */
	bool stops;
	int fd;                     /* writes a byte there; 0: none */
	const char *line;           /* for the access log; NULL: none */
	int reads;                  /* finds the line of the turn before there; 0: nowhere */
};

static void act(struct actor *a)
{
	say(a->name);
	if (a->fd)
		CU_ASSERT_EQUAL(write(a->fd, "x", 1), 1);
	if (a->reads)
		CU_ASSERT_EQUAL(read(a->reads, (char[8]){ 0 }, 8), 2);
	if (a->line)
		loop_access(loop, a->line, strlen(a->line));
	if (a->defers)
		loop_defer(loop, &a->defers->task);
	if (a->forgets)
		loop_forget(loop, &a->forgets->task);
	if (a->arms && !a->again)
		loop_arm(loop, &a->arms->timer, a->duration_ms);
	if (a->disarms)
		loop_disarm(loop, &a->disarms->timer);
	if (a->stops)
		loop_stop(loop);
}

static void on_task(struct task *t)
{
	struct actor *a = (struct actor *)(void *)t;

	CU_ASSERT_FALSE(t->queued);
	act(a);
	if (a->again && a->again--)
		loop_defer(loop, t);
}

static void on_timer(struct timer *t)
{
	struct actor *a = (struct actor *)(void *)((char *)t - offsetof(struct actor, timer));

	CU_ASSERT_PTR_NULL(t->queue);
	act(a);
	if (a->again && a->again--)
		loop_arm(loop, t, a->duration_ms);
}

#define ACTOR(letter, ...) { .task = { .run = on_task }, .timer = { .fire = on_timer }, .name = letter, __VA_ARGS__ }

static void begin(void)
{
	said[0] = '\0';
	CU_ASSERT_PTR_NOT_NULL_FATAL(loop = loop_new());
}

static void end(const char *want)
{
	CU_ASSERT_EQUAL(loop_run(loop), 0);
	UNIT_ROW(strcmp(said, want) == 0, "wanted %s, got %s", want, said);
	loop_free(&loop);
	CU_ASSERT_PTR_NULL(loop);
}

static void tasks(void)
{
	struct actor d = ACTOR('d', .stops = true), c = ACTOR('c', .defers = &d), b = ACTOR('b'), a = ACTOR('a', .defers = &d);

	begin();                              /* in the order queued, each once */
	d.defers = NULL;
	loop_defer(loop, &b.task);
	loop_defer(loop, &a.task);
	loop_defer(loop, &b.task);
	CU_ASSERT_TRUE(a.task.queued);
	end("bad");
	begin();                              /* taken back before it ran, by hand and by another */
	b.forgets = &c;
	loop_defer(loop, &a.task);
	loop_defer(loop, &b.task);
	loop_defer(loop, &c.task);
	loop_forget(loop, &a.task);
	loop_forget(loop, &a.task);
	loop_defer(loop, &d.task);
	end("bd");
}

static void *wake(void *task)
{
	loop_wake(loop, task);
	return NULL;
}

static void wake_elsewhere(struct actor *a)
{
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, wake, &a->task), 0);
	pthread_join(thread, NULL);
}

static void woken(void)
{
	struct actor c = ACTOR('c', .stops = true), b = ACTOR('b', .defers = &c), a = ACTOR('a');

	begin();                              /* by another thread, twice, and by this one meanwhile: it runs once for either */
	wake_elsewhere(&b);
	wake_elsewhere(&b);
	CU_ASSERT_TRUE(b.task.posted);
	CU_ASSERT_FALSE(task_is_out(&b.task));
	end("bc");
	begin();                              /* and forgotten, in the inbox and in the loop: it never runs, and may go */
	wake_elsewhere(&a);
	loop_defer(loop, &a.task);
	wake_elsewhere(&b);
	loop_forget(loop, &a.task);
	CU_ASSERT_TRUE(task_is_out(&a.task));
	memset(&a, 0xff, sizeof a);
	end("bc");
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	char byte;

	(void)what, (void)arg;
	CU_ASSERT_EQUAL(read(fd, &byte, 1), 1);
	say('p');
}

/* What a task queues runs in the next turn, after sockets had theirs. */
static void next_turn(void)
{
	struct actor b = ACTOR('b', .stops = true), c = ACTOR('c', .stops = false), a = ACTOR('a', .defers = &b);
	struct event *readable;
	int fds[2];

	CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
	begin();
	a.fd = fds[1];
	readable = event_new(loop_base(loop), fds[0], EV_READ | EV_PERSIST, on_readable, NULL);
	event_add(readable, NULL);
	loop_defer(loop, &a.task);
	loop_defer(loop, &c.task);
	CU_ASSERT_EQUAL(loop_run(loop), 0);
	UNIT_ROW(strcmp(said, "acpb") == 0, "%s", said);
	event_free(readable);
	loop_free(&loop);
	close(fds[0]);
	close(fds[1]);
}

static void on_last_readable(evutil_socket_t fd, short what, void *task)
{
	on_readable(fd, what, NULL);
	loop_defer(loop, task);
	loop_stop(loop);
}

/* A loop that an event stops leaves the tasks to whoever runs it again; one that a task stops runs the tasks of that turn. */
static void stopped(void)
{
	struct actor c = ACTOR('c'), b = ACTOR('b', .stops = true), a = ACTOR('a');
	struct event *readable;
	int fds[2];

	CU_ASSERT_FATAL(pipe(fds) == 0 && write(fds[1], "x", 1) == 1);
	begin();
	readable = event_new(loop_base(loop), fds[0], EV_READ, on_last_readable, &a.task);
	event_add(readable, NULL);
	CU_ASSERT_EQUAL(loop_run(loop), 0);
	UNIT_ROW(strcmp(said, "p") == 0 && a.task.queued, "%s", said);
	loop_defer(loop, &b.task);
	loop_defer(loop, &c.task);
	CU_ASSERT_EQUAL(loop_run(loop), 0);
	UNIT_ROW(strcmp(said, "pabc") == 0, "%s", said);
	event_free(readable);
	loop_free(&loop);
	close(fds[0]);
	close(fds[1]);
}

/* One of two sockets that are readable in one turn: what its callback does. */
struct source {
	struct actor task;
	size_t took;
	unsigned leaves;
	long naps_us;
	bool stops, is_slice;
};

static void on_source(evutil_socket_t fd, short what, void *arg)
{
	struct source *s = arg;

	loop_enter(loop, (loop_callback *)on_source);
	on_readable(fd, what, NULL);
	loop_defer(loop, &s->task.task);
	loop_took(loop, s->took);
	nap(s->naps_us);
	if (s->stops)
		loop_stop(loop);
	for (unsigned i = 0; i < s->leaves; i++)
		loop_leave(loop);
}

/* Both callbacks have a task; that of the second one, b, stops the loop. */
static void between_callbacks(void)
{
	enum { MUCH = 256 * 1024, LONG_US = LOOP_TURN_SPENT_US, LOOKS = 4 };
	static const struct { const char *rule; struct source first; const char *want; } cases[] = {
		{ "tasks run behind all callbacks", { .leaves = 1 }, "ppab" },
		{ "much was read: they run before the next callback", { .took = MUCH, .leaves = 1 }, "papb" },
		{ "but no slice of long work", { .took = MUCH, .leaves = 1, .is_slice = true }, "ppba" },
		{ "one byte less is not much", { .took = MUCH - 1, .leaves = 1 }, "ppab" },
		{ "who does not leave runs nothing", { .took = MUCH }, "ppab" },
		{ "the turn is spent: the next callback has another one", { .naps_us = LONG_US, .leaves = LOOKS }, "papb" },
		{ "much was read, and the turn is spent", { .took = MUCH, .naps_us = LONG_US, .leaves = 1 }, "papb" },
		{ "who stops the loop leaves tasks and callbacks to whoever runs it again", { .took = MUCH, .leaves = LOOKS, .stops = true }, "p" },
	};

	clock_stands(true);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct source sources[2] = { cases[i].first, { .leaves = 0 } };
		struct event *events[2];
		int fds[2][2];

		begin();
		for (size_t j = 0; j < 2; j++) {
			sources[j].task = (struct actor)ACTOR((char)('a' + j), .stops = j == 1);
			sources[j].task.task.is_slice = sources[j].is_slice;
			CU_ASSERT_FATAL(pipe(fds[j]) == 0 && write(fds[j][1], "x", 1) == 1);
			events[j] = event_new(loop_base(loop), fds[j][0], EV_READ, on_source, &sources[j]);
			event_add(events[j], NULL);
		}
		CU_ASSERT_EQUAL(loop_run(loop), 0);
		UNIT_ROW(strcmp(said, cases[i].want) == 0, "%s: wanted %s, got %s", cases[i].rule, cases[i].want, said);
		if (cases[i].first.stops) {
			CU_ASSERT_EQUAL(loop_run(loop), 0);
			UNIT_ROW(strcmp(said, "ppab") == 0, "%s: then got %s", cases[i].rule, said);
		}
		for (size_t j = 0; j < 2; j++) {
			event_free(events[j]);
			close(fds[j][0]);
			close(fds[j][1]);
		}
		loop_free(&loop);
	}
	clock_stands(false);
}

/* Sockets that are readable for ever, whose callbacks take all of a turn each. */
enum { CROWD = 3, ROUNDS = 3, CALLS_SEEN = CROWD * ROUNDS, LEAVES_TO_LOOK = 4 };

struct busy_one {
	char name;
	struct actor *woken;           /* by another thread, once all of them have had their turns */
};

static void on_busy(evutil_socket_t fd, short what, void *arg)
{
	const struct busy_one *one = arg;
	size_t calls = strlen(said);

	(void)fd, (void)what;
	loop_enter(loop, (loop_callback *)on_busy);
	if (calls < CALLS_SEEN)
		say(one->name);
	if (calls == CALLS_SEEN && task_is_out(&one->woken->task))
		wake_elsewhere(one->woken);
	nap(LOOP_TURN_SPENT_US);
	for (unsigned i = 0; i < LEAVES_TO_LOOK; i++)
		loop_leave(loop);
}

/* Each has its turn before any has another one; what another thread wakes, and a timer, come all the same. */
static void spent_turns(void)
{
	struct actor stops = ACTOR('z', .stops = true), woken_one = ACTOR('w', .arms = &stops, .duration_ms = 1);
	struct busy_one ones[CROWD];
	struct event *events[CROWD];
	int fds[CROWD][2];

	begin();
	for (size_t i = 0; i < CROWD; i++) {
		ones[i] = (struct busy_one){ (char)('a' + i), &woken_one };
		CU_ASSERT_FATAL(pipe(fds[i]) == 0 && write(fds[i][1], "x", 1) == 1);
		events[i] = event_new(loop_base(loop), fds[i][0], EV_READ | EV_PERSIST, on_busy, &ones[i]);
		event_add(events[i], NULL);
	}
	CU_ASSERT_EQUAL(loop_run(loop), 0);
	UNIT_ROW(strcmp(said, "abcabcabcwz") == 0, "%s", said);
	for (size_t i = 0; i < CROWD; i++) {
		event_free(events[i]);
		close(fds[i][0]);
		close(fds[i][1]);
	}
	loop_free(&loop);
}

static void on_napping(struct task *t)
{
	nap(LOOP_TURN_SPENT_US);
	on_task(t);
}

/* Where tasks take long, the rest of them wait until the sockets have had their turn; none is passed over. */
static void long_rounds(void)
{
	enum { TASKS = 12 };
	struct actor tasks[TASKS];
	struct event *readable;
	int fds[2];

	CU_ASSERT_FATAL(pipe(fds) == 0);
	clock_stands(true);
	begin();
	readable = event_new(loop_base(loop), fds[0], EV_READ, on_readable, NULL);
	event_add(readable, NULL);
	for (size_t i = 0; i < TASKS; i++) {
		tasks[i] = (struct actor)ACTOR((char)('a' + i), .fd = i ? 0 : fds[1], .stops = i + 1 == TASKS);
		tasks[i].task.run = on_napping;
		loop_defer(loop, &tasks[i].task);
	}
	CU_ASSERT_EQUAL(loop_run(loop), 0);
	clock_stands(false);
	UNIT_ROW(strcmp(said, "abcdpefghijkl") == 0, "%s", said);
	event_free(readable);
	loop_free(&loop);
	close(fds[0]);
	close(fds[1]);
}

/* Lines that a task wrote go out in its turn, also where it stops the loop: a sink has them before the loop runs again. */
static void access_lines(void)
{
	struct actor stop = ACTOR('s', .stops = true), a = ACTOR('a', .defers = &stop, .line = "a\n");
	char read_back[16] = "";
	int fds[2], out = dup(STDOUT_FILENO);

	CU_ASSERT_FATAL(pipe(fds) == 0 && out >= 0);
	fflush(stdout);
	begin();
	stop.line = "s\n";
	stop.reads = fds[0];
	dup2(fds[1], STDOUT_FILENO);
	loop_defer(loop, &a.task);
	CU_ASSERT_EQUAL(loop_run(loop), 0);
	dup2(out, STDOUT_FILENO);
	CU_ASSERT(read(fds[0], read_back, sizeof read_back - 1) == 2 && strcmp(read_back, "s\n") == 0);
	UNIT_ROW(strcmp(said, "as") == 0, "%s", said);
	loop_free(&loop);
	close(fds[0]);
	close(fds[1]);
	close(out);
}

/* A task that queues itself starves nobody. */
static void busy(void)
{
	struct actor stop = ACTOR('s', .stops = true), a = ACTOR('a', .again = 3);
	struct actor b = ACTOR('b', .again = 4, .arms = &stop, .duration_ms = 1);

	begin();
	loop_defer(loop, &a.task);
	loop_defer(loop, &b.task);
	end("ababababbs");
}

static void timers(void)
{
	struct actor stop = ACTOR('s', .stops = true), a = ACTOR('a', .arms = &stop, .duration_ms = 1), b = ACTOR('b', .duration_ms = 0);
	struct actor c = ACTOR('c', .duration_ms = 0), moved = ACTOR('m', .duration_ms = 0), never = ACTOR('n', .duration_ms = 0);
	struct actor killer = ACTOR('k', .disarms = &never, .arms = &stop, .duration_ms = 1);

	begin();                              /* of one duration in the order armed */
	loop_arm(loop, &b.timer, 1);
	loop_arm(loop, &a.timer, 1);
	loop_arm(loop, &c.timer, 1);
	loop_arm(loop, &a.timer, 1);          /* starts anew: behind c */
	loop_arm(loop, &moved.timer, 1);
	loop_arm(loop, &moved.timer, HOUR_MS);
	loop_arm(loop, &never.timer, 1);
	loop_disarm(loop, &never.timer);
	loop_disarm(loop, &never.timer);
	CU_ASSERT_PTR_NULL(never.timer.queue);
	end("bcas");
	begin();                              /* of another */
	moved.timer.queue = NULL;
	loop_arm(loop, &moved.timer, HOUR_MS);
	loop_arm(loop, &a.timer, 1);
	loop_arm(loop, &never.timer, 1);
	loop_arm(loop, &never.timer, 0);      /* 0 disarms */
	end("as");
	begin();                              /* one takes the next away, which is due as well */
	loop_arm(loop, &killer.timer, 1);
	loop_arm(loop, &never.timer, 1);
	end("ks");
}

/* Armed again as it fires, and armed by another. */
static void rearmed(void)
{
	struct actor stop = ACTOR('s', .stops = true), b = ACTOR('b', .arms = &stop, .duration_ms = 20);
	struct actor a = ACTOR('a', .again = 3, .arms = &b, .duration_ms = 1);

	begin();
	loop_arm(loop, &a.timer, 1);
	end("aaaabs");
}

/* More durations than there are queues, one after another. */
static void durations(void)
{
	struct actor stop = ACTOR('s', .stops = true), a = ACTOR('a', .arms = &stop, .duration_ms = 100);

	begin();
	for (uint64_t ms = 1000; ms < 1200; ms++)
		loop_arm(loop, &a.timer, ms);
	loop_arm(loop, &a.timer, 1);
	end("as");
}

/* More durations than there are queues, all at a time: the last queue keeps those without one in order. */
static void many_durations(void)
{
	struct actor stop = ACTOR('s', .stops = true), never[100], a = ACTOR('a', .arms = &stop, .duration_ms = 1);

	begin();
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		never[i] = (struct actor)ACTOR('n', .duration_ms = 0);
		loop_arm(loop, &never[i].timer, HOUR_MS - i);
	}
	loop_arm(loop, &a.timer, 1);
	loop_arm(loop, &never[99].timer, 2 * HOUR_MS);
	end("as");
}

static void on_free(struct timer *t)
{
	say('f');
	free((char *)t - offsetof(struct actor, timer));
}

/* What fires may free itself. */
static void freed(void)
{
	struct actor stop = ACTOR('s', .stops = true), *a = calloc(1, sizeof(*a));

	begin();
	a->timer.fire = on_free;
	loop_arm(loop, &a->timer, 1);
	loop_arm(loop, &stop.timer, 1);
	end("fs");
}

static void clocks(void)
{
	uint64_t ms, us;
	const char *date;

	begin();
	ms = loop_now_ms(loop);
	us = loop_now_us(loop);
	CU_ASSERT(loop_now_ms(loop) >= ms && loop_now_us(loop) >= us);
	CU_ASSERT(loop_wall_ms(loop) > INT64_C(1700000000000));
	date = loop_http_date(loop);
	CU_ASSERT_EQUAL_FATAL(strlen(date), 29);      /* RFC 9110 section 5.6.7 */
	CU_ASSERT(date[3] == ',' && date[4] == ' ' && date[7] == ' ' && date[11] == ' ' && date[16] == ' ' && date[19] == ':' && date[22] == ':');
	CU_ASSERT_STRING_EQUAL(date + 25, " GMT");
	memset(loop_scratch(loop), 0xff, LOOP_SCRATCH_BYTES);
	stats_add(loop_stats(loop), STAT_REQUESTS, 1);
	CU_ASSERT_EQUAL(loop_stats(loop)->value[STAT_REQUESTS], 1);
	loop_free(&loop);
	loop_free(&loop);
}

UNIT_SUITE(loop, { "tasks", tasks }, { "woken by other threads", woken }, { "next turn", next_turn }, { "stopped", stopped }, { "between callbacks", between_callbacks }, { "spent turns", spent_turns }, { "long rounds", long_rounds }, { "access lines", access_lines }, { "busy", busy }, { "timers", timers }, { "rearmed", rearmed },
	{ "durations", durations }, { "many durations", many_durations }, { "freed", freed }, { "clocks", clocks })
