/* What all parts of a worker share; see loop.h. */
#include "proxy/net/loop.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "proxy/base/http_date.h"
#include "proxy/base/log.h"
#include "proxy/net/access_buffer.h"
#include "proxy/net/cork.h"
#include "proxy/net/splice.h"

TAILQ_HEAD(task_list, task);
TAILQ_HEAD(timer_list, timer);

/* Timers in the order they fall due. Timers of one duration share a queue, so that a newly armed one goes to its end.
 * Where there are more durations than queues, as after many reloads with other times, the last queue takes the rest and
 * each timer is sorted into it. */
struct timer_queue {
	uint64_t duration_ms;
	struct timer_list timers;
};

enum {
	LOOP_TIMER_QUEUES = 64,
	/* So many bytes, and the text that is made of them, fit into the cache of one processor (L2). */
	LOOP_ROUND_BYTES = 256 * 1024,
	LOOP_CALLS_PER_LOOK = 4        /* The clock is asked once in so many short calls. */
};

struct loop {
	struct event_base *base;
	struct event *tick;
	_Atomic pthread_t thread;      /* that which runs it; until then, that which made it */
	pthread_mutex_t inbox_lock;
	struct task_list inbox;        /* tasks other threads woke, by post_link */
	int inbox_fd;                  /* eventfd: the inbox is not empty */
	struct event *inbox_event;
	struct task_list tasks, slices;
	struct timer_queue queues[LOOP_TIMER_QUEUES];
	size_t n_queues;
	uint64_t tick_due_ms;          /* 0: not armed */
	int64_t date_second;
	char date[HTTP_DATE_LEN + 1];
	int64_t log_ms;                /* the time that log_time shows */
	char log_time[LOG_TIME_BYTES];
	struct stats stats;
	struct loop_turn turn;
	bool stopped;                  /* loop_stop() was called since loop_run() began */
	size_t taken;                  /* bytes read since the tasks ran last */
	unsigned calls;                /* callbacks and tasks counted so far, for LOOP_CALLS_PER_LOOK */
	struct access_buffer access;
	struct splice splice;
	uint8_t scratch[LOOP_SCRATCH_BYTES];
	struct cork gather;
};

static uint64_t loop_clock(clockid_t id, uint64_t per_second)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * per_second + (uint64_t)t.tv_nsec / (1000000000 / per_second);
}

uint64_t loop_now_ms(struct loop *loop)
{
	(void)loop;
	return loop_clock(CLOCK_MONOTONIC_COARSE, 1000);
}

uint64_t loop_now_us(struct loop *loop)
{
	(void)loop;
	return loop_clock(CLOCK_MONOTONIC, 1000000);
}

uint64_t loop_turn_us(struct loop *loop)
{
	return loop->turn.began_us ? loop->turn.began_us : loop_now_us(loop);
}

int64_t loop_wall_ms(struct loop *loop)
{
	(void)loop;
	return (int64_t)loop_clock(CLOCK_REALTIME_COARSE, 1000);
}

const char *loop_http_date(struct loop *loop)
{
	int64_t second = loop_wall_ms(loop) / 1000;

	if (second != loop->date_second) {
		http_date_write(loop->date, second);
		loop->date_second = second;
	}
	return loop->date;
}

const char *loop_log_time(struct loop *loop)
{
	int64_t ms = loop_wall_ms(loop);

	if (ms != loop->log_ms) {
		log_write_time(loop->log_time, ms);
		loop->log_ms = ms;
	}
	return loop->log_time;
}

void loop_set_access_sink(struct loop *loop, struct access_sink *sink)
{
	loop->access.sink = sink;
}

void loop_access(struct loop *loop, const char *line, size_t len)
{
	access_buffer_add(&loop->access, line, len);
}

static struct task_list *loop_list(struct loop *loop, const struct task *task)
{
	return task->is_slice ? &loop->slices : &loop->tasks;
}

static void loop_run_task(struct loop *loop, struct task *task)
{
	TAILQ_REMOVE(loop_list(loop, task), task, link);
	task->queued = false;
	loop_enter(loop, (loop_callback *)task->run);
	task->run(task);
}

/* Whether what was called last may have been long, or the last look at the clock is some calls ago. */
static bool loop_looks(struct loop *loop)
{
	return ++loop->calls % LOOP_CALLS_PER_LOOK == 0 || loop_turn_looked(&loop->turn);
}

/* Whether the tasks have taken as long as they may, beside the callbacks of their turn. */
static bool loop_round_is_spent(struct loop *loop, uint64_t began_us)
{
	return !loop->stopped && loop_looks(loop) && loop_now_us(loop) - began_us >= LOOP_ROUND_SPENT_US;
}

/* Runs the tasks that are queued now. Those that they queue run in the next round, behind those that are left when this
 * round has taken long. */
static void loop_run_tasks(struct loop *loop)
{
	struct task mark = { .queued = true }, *t;

	loop->taken = 0;
	if (TAILQ_EMPTY(&loop->tasks))
		return;
	uint64_t began_us = loop_now_us(loop);
	TAILQ_INSERT_TAIL(&loop->tasks, &mark, link);
	while ((t = TAILQ_FIRST(&loop->tasks)) != &mark) {
		loop_run_task(loop, t);
		if (loop_round_is_spent(loop, began_us))
			break;
	}
	TAILQ_REMOVE(&loop->tasks, &mark, link);
}

void loop_defer(struct loop *loop, struct task *task)
{
	assert(task->run);
	if (task->queued)
		return;
	TAILQ_INSERT_TAIL(loop_list(loop, task), task, link);
	task->queued = true;
}

void loop_wake(struct loop *loop, struct task *task)
{
	bool first = false;

	if (pthread_equal(loop->thread, pthread_self())) {
		loop_defer(loop, task);
		return;
	}
	pthread_mutex_lock(&loop->inbox_lock);
	assert(task->run);
	if (!task->posted) {
		first = TAILQ_EMPTY(&loop->inbox);
		TAILQ_INSERT_TAIL(&loop->inbox, task, post_link);
		task->posted = true;
	}
	pthread_mutex_unlock(&loop->inbox_lock);
	if (first)
		eventfd_write(loop->inbox_fd, 1);
}

static void on_inbox(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	struct task *task;
	eventfd_t ignored;

	(void)what;
	loop_enter(loop, (loop_callback *)on_inbox);
	eventfd_read(fd, &ignored);
	pthread_mutex_lock(&loop->inbox_lock);
	while ((task = TAILQ_FIRST(&loop->inbox))) {
		TAILQ_REMOVE(&loop->inbox, task, post_link);
		task->posted = false;
		loop_defer(loop, task);
	}
	pthread_mutex_unlock(&loop->inbox_lock);
}

void loop_forget(struct loop *loop, struct task *task)
{
	pthread_mutex_lock(&loop->inbox_lock);
	if (task->posted)
		TAILQ_REMOVE(&loop->inbox, task, post_link);
	task->posted = false;
	task->run = NULL;
	pthread_mutex_unlock(&loop->inbox_lock);
	loop_forget_own(loop, task);
}

void loop_forget_own(struct loop *loop, struct task *task)
{
	assert(!task->posted);
	task->run = NULL;
	if (task->queued)
		TAILQ_REMOVE(loop_list(loop, task), task, link);
	task->queued = false;
}

static void loop_schedule_tick(struct loop *loop, uint64_t due_ms)
{
	uint64_t now = loop_now_ms(loop), wait = due_ms > now ? due_ms - now : 0;
	struct timeval tv;

	if (loop->tick_due_ms && loop->tick_due_ms <= due_ms)
		return;
	wait = (wait / LOOP_TICK_MS + 1) * LOOP_TICK_MS;
	loop->tick_due_ms = now + wait;
	tv.tv_sec = (time_t)(wait / 1000);
	tv.tv_usec = (suseconds_t)(wait % 1000 * 1000);
	event_add(loop->tick, &tv);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	uint64_t next = 0;

	(void)fd, (void)what;
	loop->tick_due_ms = 0;
	uint64_t now = loop_now_ms(loop);
	for (size_t i = 0; i < loop->n_queues; i++) {
		struct timer_list *list = &loop->queues[i].timers;
		struct timer *timer;

		while ((timer = TAILQ_FIRST(list)) && timer->due_ms <= now) {
			loop_disarm(loop, timer);
			loop_enter(loop, (loop_callback *)timer->fire);
			timer->fire(timer);
		}
		if (timer && (!next || timer->due_ms < next))
			next = timer->due_ms;
	}
	if (next)
		loop_schedule_tick(loop, next);
}

static struct timer_queue *loop_queue(struct loop *loop, uint64_t duration_ms)
{
	for (size_t i = 0; i < loop->n_queues; i++)
		if (loop->queues[i].duration_ms == duration_ms)
			return &loop->queues[i];
	for (size_t i = 0; i < loop->n_queues; i++)
		if (TAILQ_EMPTY(&loop->queues[i].timers)) {
			loop->queues[i].duration_ms = duration_ms;
			return &loop->queues[i];
		}
	if (loop->n_queues == LOOP_TIMER_QUEUES)
		return &loop->queues[LOOP_TIMER_QUEUES - 1];
	loop->queues[loop->n_queues].duration_ms = duration_ms;
	TAILQ_INIT(&loop->queues[loop->n_queues].timers);
	return &loop->queues[loop->n_queues++];
}

void loop_arm(struct loop *loop, struct timer *timer, uint64_t duration_ms)
{
	loop_disarm(loop, timer);
	if (!duration_ms)
		return;
	timer->queue = loop_queue(loop, duration_ms);
	timer->due_ms = loop_now_ms(loop) + duration_ms;
	struct timer *before = TAILQ_LAST(&timer->queue->timers, timer_list);
	while (before && before->due_ms > timer->due_ms)
		before = TAILQ_PREV(before, timer_list, link);
	if (before)
		TAILQ_INSERT_AFTER(&timer->queue->timers, before, timer, link);
	else
		TAILQ_INSERT_HEAD(&timer->queue->timers, timer, link);
	if (TAILQ_FIRST(&timer->queue->timers) == timer)
		loop_schedule_tick(loop, timer->due_ms);
}

void loop_disarm(struct loop *loop, struct timer *timer)
{
	(void)loop;
	if (timer->queue)
		TAILQ_REMOVE(&timer->queue->timers, timer, link);
	timer->queue = NULL;
}

struct loop *loop_new(void)
{
	struct loop *loop = calloc(1, sizeof *loop);
	struct event_config *config = event_config_new();

	if (!loop || !config) {
		free(loop);
		loop = NULL;
		goto fail;
	}
	loop->inbox_fd = -1;
	loop->access.stats = &loop->stats;
	splice_init(&loop->splice);
	/* Only one thread uses the base, so it needs no locks. */
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	TAILQ_INIT(&loop->tasks);
	TAILQ_INIT(&loop->slices);
	TAILQ_INIT(&loop->inbox);
	pthread_mutex_init(&loop->inbox_lock, NULL);
	loop->thread = pthread_self();
	if ((loop->inbox_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0)
		goto fail;
	if (!(loop->base = event_base_new_with_config(config)))
		goto fail;
	loop->tick = event_new(loop->base, -1, 0, on_tick, loop);
	loop->inbox_event = event_new(loop->base, loop->inbox_fd, EV_READ | EV_PERSIST, on_inbox, loop);
	if (!loop->tick || !loop->inbox_event || event_add(loop->inbox_event, NULL))
		goto fail;
	event_config_free(config);
	return loop;
fail:
	if (config)
		event_config_free(config);
	loop_free(&loop);
	return NULL;
}

void loop_free(struct loop **lp)
{
	struct loop *loop = *lp;

	if (!loop)
		return;
	access_buffer_flush(&loop->access);
	if (loop->tick)
		event_free(loop->tick);
	if (loop->inbox_event)
		event_free(loop->inbox_event);
	if (loop->inbox_fd >= 0)
		close(loop->inbox_fd);
	splice_end(&loop->splice);
	pthread_mutex_destroy(&loop->inbox_lock);
	if (loop->base)
		event_base_free(loop->base);
	free(loop);
	*lp = NULL;
}

/* What comes behind the events of a turn: the tasks, a slice of long work, then the lines that all of it wrote. */
static void loop_end_turn(struct loop *loop)
{
	if (!loop->stopped) {
		loop_run_tasks(loop);
		if (!TAILQ_EMPTY(&loop->slices))
			loop_run_task(loop, TAILQ_FIRST(&loop->slices));
	}
	if (loop->access.len) {
		loop_enter(loop, (loop_callback *)access_buffer_flush);
		access_buffer_flush(&loop->access);
	}
	loop_turn_end(&loop->turn, &loop->stats);
}

static bool loop_has_tasks(const struct loop *loop)
{
	return !TAILQ_EMPTY(&loop->tasks) || !TAILQ_EMPTY(&loop->slices);
}

int loop_run(struct loop *loop)
{
	int status;

	if (!pthread_equal(loop->thread, pthread_self()))
		loop->thread = pthread_self();
	loop->stopped = false;
	do {
		/* Tasks that are left do not wait for events, though events come first */
		status = event_base_loop(loop->base, EVLOOP_ONCE | (loop_has_tasks(loop) ? EVLOOP_NONBLOCK : 0));
		loop_end_turn(loop);
	} while (!status && !loop->stopped);
	return status < 0 ? -1 : 0;
}

void loop_enter(struct loop *loop, loop_callback *callback)
{
	loop_turn_enter(&loop->turn, callback);
}

void loop_took(struct loop *loop, size_t bytes)
{
	loop->taken += bytes;
}

void loop_leave(struct loop *loop)
{
	bool full = loop->taken >= LOOP_ROUND_BYTES;

	if (loop->stopped || (!full && !loop_looks(loop)))
		return;
	if (loop_turn_is_spent(&loop->turn))
		event_base_loopbreak(loop->base);
	else if (full)
		loop_run_tasks(loop);
}

bool loop_is_spent(struct loop *loop)
{
	return loop_turn_call_is_spent(&loop->turn);
}

void loop_count_turns(struct loop *loop)
{
	loop->turn.counts = true;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
	event_base_loopbreak(loop->base);
}

struct event_base *loop_base(struct loop *loop)
{
	return loop->base;
}

struct stats *loop_stats(struct loop *loop)
{
	return &loop->stats;
}

struct splice *loop_splice(struct loop *loop)
{
	return &loop->splice;
}

struct cork *loop_gather(struct loop *loop)
{
	return &loop->gather;
}

uint8_t *loop_scratch(struct loop *loop)
{
	return loop->scratch;
}
