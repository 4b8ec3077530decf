/* What all parts of a worker share; see loop.h. */
#include "proxy/net/loop.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
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

uint64_t loop_now_ms(struct loop *l)
{
	(void)l;
	return loop_clock(CLOCK_MONOTONIC_COARSE, 1000);
}

uint64_t loop_now_us(struct loop *l)
{
	(void)l;
	return loop_clock(CLOCK_MONOTONIC, 1000000);
}

uint64_t loop_turn_us(struct loop *l)
{
	return l->turn.began_us ? l->turn.began_us : loop_now_us(l);
}

int64_t loop_wall_ms(struct loop *l)
{
	(void)l;
	return (int64_t)loop_clock(CLOCK_REALTIME_COARSE, 1000);
}

const char *loop_http_date(struct loop *l)
{
	int64_t second = loop_wall_ms(l) / 1000;

	if (second != l->date_second) {
		http_date_write(l->date, second);
		l->date_second = second;
	}
	return l->date;
}

const char *loop_log_time(struct loop *l)
{
	int64_t ms = loop_wall_ms(l);

	if (ms != l->log_ms) {
		log_write_time(l->log_time, ms);
		l->log_ms = ms;
	}
	return l->log_time;
}

void loop_set_access_sink(struct loop *l, struct access_sink *sink)
{
	l->access.sink = sink;
}

void loop_access(struct loop *l, const char *line, size_t len)
{
	access_buffer_add(&l->access, line, len);
}

static struct task_list *loop_list(struct loop *l, const struct task *t)
{
	return t->is_slice ? &l->slices : &l->tasks;
}

static void loop_run_task(struct loop *l, struct task *t)
{
	TAILQ_REMOVE(loop_list(l, t), t, link);
	t->queued = false;
	loop_enter(l, (loop_callback *)t->run);
	t->run(t);
}

/* Whether what was called last may have been long, or the last look at the clock is some calls ago. */
static bool loop_looks(struct loop *l)
{
	return ++l->calls % LOOP_CALLS_PER_LOOK == 0 || loop_turn_looked(&l->turn);
}

/* Whether the tasks have taken as long as they may, beside the callbacks of their turn. */
static bool loop_round_is_spent(struct loop *l, uint64_t began_us)
{
	return !l->stopped && loop_looks(l) && loop_now_us(l) - began_us >= LOOP_ROUND_SPENT_US;
}

/* Runs the tasks that are queued now. Those that they queue run in the next round, behind those that are left when this
 * round has taken long. */
static void loop_run_tasks(struct loop *l)
{
	struct task mark = { .queued = true }, *t;
	uint64_t began_us;

	l->taken = 0;
	if (TAILQ_EMPTY(&l->tasks))
		return;
	began_us = loop_now_us(l);
	TAILQ_INSERT_TAIL(&l->tasks, &mark, link);
	while ((t = TAILQ_FIRST(&l->tasks)) != &mark) {
		loop_run_task(l, t);
		if (loop_round_is_spent(l, began_us))
			break;
	}
	TAILQ_REMOVE(&l->tasks, &mark, link);
}

void loop_defer(struct loop *l, struct task *t)
{
	assert(t->run);
	if (t->queued)
		return;
	TAILQ_INSERT_TAIL(loop_list(l, t), t, link);
	t->queued = true;
}

void loop_wake(struct loop *l, struct task *t)
{
	bool first = false;

	if (pthread_equal(l->thread, pthread_self())) {
		loop_defer(l, t);
		return;
	}
	pthread_mutex_lock(&l->inbox_lock);
	assert(t->run);
	if (!t->posted) {
		first = TAILQ_EMPTY(&l->inbox);
		TAILQ_INSERT_TAIL(&l->inbox, t, post_link);
		t->posted = true;
	}
	pthread_mutex_unlock(&l->inbox_lock);
	if (first)
		eventfd_write(l->inbox_fd, 1);
}

static void on_inbox(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;
	struct task *t;
	eventfd_t ignored;

	(void)what;
	loop_enter(l, (loop_callback *)on_inbox);
	eventfd_read(fd, &ignored);
	pthread_mutex_lock(&l->inbox_lock);
	while ((t = TAILQ_FIRST(&l->inbox)) != NULL) {
		TAILQ_REMOVE(&l->inbox, t, post_link);
		t->posted = false;
		loop_defer(l, t);
	}
	pthread_mutex_unlock(&l->inbox_lock);
}

void loop_forget(struct loop *l, struct task *t)
{
	pthread_mutex_lock(&l->inbox_lock);
	if (t->posted)
		TAILQ_REMOVE(&l->inbox, t, post_link);
	t->posted = false;
	t->run = NULL;
	pthread_mutex_unlock(&l->inbox_lock);
	loop_forget_own(l, t);
}

void loop_forget_own(struct loop *l, struct task *t)
{
	assert(!t->posted);
	t->run = NULL;
	if (t->queued)
		TAILQ_REMOVE(loop_list(l, t), t, link);
	t->queued = false;
}

static void loop_schedule_tick(struct loop *l, uint64_t due_ms)
{
	uint64_t now = loop_now_ms(l), wait = due_ms > now ? due_ms - now : 0;
	struct timeval tv;

	if (l->tick_due_ms && l->tick_due_ms <= due_ms)
		return;
	wait = (wait / LOOP_TICK_MS + 1) * LOOP_TICK_MS;
	l->tick_due_ms = now + wait;
	tv.tv_sec = (time_t)(wait / 1000);
	tv.tv_usec = (suseconds_t)(wait % 1000 * 1000);
	event_add(l->tick, &tv);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;
	uint64_t next = 0, now;

	(void)fd, (void)what;
	l->tick_due_ms = 0;
	now = loop_now_ms(l);
	for (size_t i = 0; i < l->n_queues; i++) {
		struct timer_list *list = &l->queues[i].timers;
		struct timer *t;

		while ((t = TAILQ_FIRST(list)) != NULL && t->due_ms <= now) {
			loop_disarm(l, t);
			loop_enter(l, (loop_callback *)t->fire);
			t->fire(t);
		}
		if (t && (!next || t->due_ms < next))
			next = t->due_ms;
	}
	if (next)
		loop_schedule_tick(l, next);
}

static struct timer_queue *loop_queue(struct loop *l, uint64_t duration_ms)
{
	for (size_t i = 0; i < l->n_queues; i++)
		if (l->queues[i].duration_ms == duration_ms)
			return &l->queues[i];
	for (size_t i = 0; i < l->n_queues; i++)
		if (TAILQ_EMPTY(&l->queues[i].timers)) {
			l->queues[i].duration_ms = duration_ms;
			return &l->queues[i];
		}
	if (l->n_queues == LOOP_TIMER_QUEUES)
		return &l->queues[LOOP_TIMER_QUEUES - 1];
	l->queues[l->n_queues].duration_ms = duration_ms;
	TAILQ_INIT(&l->queues[l->n_queues].timers);
	return &l->queues[l->n_queues++];
}

void loop_arm(struct loop *l, struct timer *t, uint64_t duration_ms)
{
	struct timer *before;

	loop_disarm(l, t);
	if (!duration_ms)
		return;
	t->queue = loop_queue(l, duration_ms);
	t->due_ms = loop_now_ms(l) + duration_ms;
	before = TAILQ_LAST(&t->queue->timers, timer_list);
	while (before && before->due_ms > t->due_ms)
		before = TAILQ_PREV(before, timer_list, link);
	if (before)
		TAILQ_INSERT_AFTER(&t->queue->timers, before, t, link);
	else
		TAILQ_INSERT_HEAD(&t->queue->timers, t, link);
	if (TAILQ_FIRST(&t->queue->timers) == t)
		loop_schedule_tick(l, t->due_ms);
}

void loop_disarm(struct loop *l, struct timer *t)
{
	(void)l;
	if (t->queue)
		TAILQ_REMOVE(&t->queue->timers, t, link);
	t->queue = NULL;
}

struct loop *loop_new(void)
{
	struct loop *l = calloc(1, sizeof *l);
	struct event_config *config = event_config_new();

	if (!l || !config) {
		free(l);
		l = NULL;
		goto fail;
	}
	l->inbox_fd = -1;
	l->access.stats = &l->stats;
	splice_init(&l->splice);
	/* Only one thread uses the base, so it needs no locks. */
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	TAILQ_INIT(&l->tasks);
	TAILQ_INIT(&l->slices);
	TAILQ_INIT(&l->inbox);
	pthread_mutex_init(&l->inbox_lock, NULL);
	l->thread = pthread_self();
	if ((l->inbox_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0)
		goto fail;
	if (!(l->base = event_base_new_with_config(config)))
		goto fail;
	l->tick = event_new(l->base, -1, 0, on_tick, l);
	l->inbox_event = event_new(l->base, l->inbox_fd, EV_READ | EV_PERSIST, on_inbox, l);
	if (!l->tick || !l->inbox_event || event_add(l->inbox_event, NULL))
		goto fail;
	event_config_free(config);
	return l;
fail:
	if (config)
		event_config_free(config);
	loop_free(&l);
	return NULL;
}

void loop_free(struct loop **lp)
{
	struct loop *l = *lp;

	if (!l)
		return;
	access_buffer_flush(&l->access);
	if (l->tick)
		event_free(l->tick);
	if (l->inbox_event)
		event_free(l->inbox_event);
	if (l->inbox_fd >= 0)
		close(l->inbox_fd);
	splice_end(&l->splice);
	pthread_mutex_destroy(&l->inbox_lock);
	if (l->base)
		event_base_free(l->base);
	free(l);
	*lp = NULL;
}

/* What comes behind the events of a turn: the tasks, a slice of long work, then the lines that all of it wrote. */
static void loop_end_turn(struct loop *l)
{
	if (!l->stopped) {
		loop_run_tasks(l);
		if (!TAILQ_EMPTY(&l->slices))
			loop_run_task(l, TAILQ_FIRST(&l->slices));
	}
	if (l->access.len) {
		loop_enter(l, (loop_callback *)access_buffer_flush);
		access_buffer_flush(&l->access);
	}
	loop_turn_end(&l->turn, &l->stats);
}

static bool loop_has_tasks(const struct loop *l)
{
	return !TAILQ_EMPTY(&l->tasks) || !TAILQ_EMPTY(&l->slices);
}

int loop_run(struct loop *l)
{
	int status;

	if (!pthread_equal(l->thread, pthread_self()))
		l->thread = pthread_self();
	l->stopped = false;
	do {
		/* Tasks that are left do not wait for events, though events come first */
		status = event_base_loop(l->base, EVLOOP_ONCE | (loop_has_tasks(l) ? EVLOOP_NONBLOCK : 0));
		loop_end_turn(l);
	} while (!status && !l->stopped);
	return status < 0 ? -1 : 0;
}

void loop_enter(struct loop *l, loop_callback *callback)
{
	loop_turn_enter(&l->turn, callback);
}

void loop_took(struct loop *l, size_t bytes)
{
	l->taken += bytes;
}

void loop_leave(struct loop *l)
{
	bool full = l->taken >= LOOP_ROUND_BYTES;

	if (l->stopped || (!full && !loop_looks(l)))
		return;
	if (loop_turn_is_spent(&l->turn))
		event_base_loopbreak(l->base);
	else if (full)
		loop_run_tasks(l);
}

bool loop_is_spent(struct loop *l)
{
	return loop_turn_call_is_spent(&l->turn);
}

void loop_count_turns(struct loop *l)
{
	l->turn.counts = true;
}

void loop_stop(struct loop *l)
{
	l->stopped = true;
	event_base_loopbreak(l->base);
}

struct event_base *loop_base(struct loop *l)
{
	return l->base;
}

struct stats *loop_stats(struct loop *l)
{
	return &l->stats;
}

struct splice *loop_splice(struct loop *l)
{
	return &l->splice;
}

struct cork *loop_gather(struct loop *l)
{
	return &l->gather;
}

uint8_t *loop_scratch(struct loop *l)
{
	return l->scratch;
}
