/* Owns what all parts of one worker share: event base, coarse clock, deferred tasks, timers, counters, scratch memory
 * and the buffer of the access log. Must not know: what they are used for.
 * Invariant: only one thread, its worker's, touches a loop and everything made from it, except the inbox
 * (loop_wake()). */
#ifndef UTFEED_PROXY_NET_LOOP_H
#define UTFEED_PROXY_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "proxy/base/stats.h"
#include "proxy/net/loop_turn.h"

struct event_base;
struct cork;
struct loop;
struct splice;

/* Work for the next round of tasks, by which one part wakes another without calling into it: at the end of this turn of
 * the loop, or before, between two callbacks (loop_leave()). Embedded in its owner. */
struct task {
	TAILQ_ENTRY(task) link;
	void (*run)(struct task *);    /* NULL: not a task yet, or forgotten */
	bool queued;
	bool is_slice;                 /* it does a slice of long work: a turn runs one such task, at its end */
	/* set while it is in its loop's inbox, where another thread put it; the inbox's lock guards both */
	TAILQ_ENTRY(task) post_link;
	bool posted;
};

/* A timeout, embedded in its owner. There are few different durations, so that arming and disarming only move it in a
 * list. */
struct timer {
	TAILQ_ENTRY(timer) link;
	struct timer_queue *queue;     /* NULL: not armed */
	uint64_t due_ms;
	void (*fire)(struct timer *);
};

enum { LOOP_SCRATCH_BYTES = 64 * 1024 };

struct loop *loop_new(void);           /* NULL: out of memory or descriptors */
void loop_free(struct loop **);
/* Runs until loop_stop(). -1: the event base failed. */
int loop_run(struct loop *) __attribute__((warn_unused_result));
void loop_stop(struct loop *);         /* from its own thread */

struct event_base *loop_base(struct loop *);
/* Every callback that libevent calls tells this first, for the sake of loop_turn.h; callback: the function that does
 * the work. The loop itself does so for tasks and timers. */
void loop_enter(struct loop *, loop_callback *callback);
/* The callbacks of sockets call this last, when nothing is on the stack that a task may free. Where much was read since
 * the tasks ran last, it runs them: they write what was read while it is in the processor's cache. Where the turn is
 * spent, it ends the turn: the callbacks that are left run first in the next turn, behind the tasks of this one. */
void loop_leave(struct loop *);
/* Tells that so many bytes were read from a socket; tasks will pass them on. */
void loop_took(struct loop *, size_t bytes);
/* The turns are counted from now on: the loop serves clients. */
void loop_count_turns(struct loop *);
/* Whether the present callback or task, or its turn, has lasted so long that who has more to do leaves the rest to
 * later turns (loop_defer()): others wait. To be asked between pieces of work: the time of a callback counts from the
 * first time that it asks. */
bool loop_is_spent(struct loop *);
struct stats *loop_stats(struct loop *);
/* LOOP_SCRATCH_BYTES for use within one callback. */
uint8_t *loop_scratch(struct loop *);
struct splice *loop_splice(struct loop *);
struct cork *loop_gather(struct loop *);

uint64_t loop_now_ms(struct loop *);           /* monotonic, coarse (a few ms): timers and freshness */
uint64_t loop_now_us(struct loop *);           /* monotonic, precise: durations in the access log */
/* The same clock, as it was when this turn began; where turns are not counted, as it is. */
uint64_t loop_turn_us(struct loop *);
int64_t loop_wall_ms(struct loop *);           /* since the epoch, coarse */
/* IMF-fixdate of now (RFC 9110 section 5.6.7), 29 characters, made once a second. */
const char *loop_http_date(struct loop *);
/* The time of now as in logs, "2026-11-21T04:34:26.545Z", made once a tick of the coarse clock. */
const char *loop_log_time(struct loop *);

void loop_defer(struct loop *, struct task *);
/* Like loop_defer(), from any thread. */
void loop_wake(struct loop *, struct task *);
/* Takes a task out of its loop, wherever it waits there; nothing else does. An owner first detaches the task from
 * everything that may wake it from another thread, under a lock that the waker holds while it wakes
 * (object_set_writer(NULL), object_detach(), a store's or a TLS context's wait). Then it calls this, and then it frees
 * the memory that holds the task. To defer or wake the task later fails an assertion. */
void loop_forget(struct loop *, struct task *);
/* The same of a task that no other thread ever wakes. */
void loop_forget_own(struct loop *, struct task *);
/* For an assertion before every free of memory that holds a task. Called on the task's own thread, after loop_forget()
 * or if no other thread can wake the task. */
static inline bool task_is_out(const struct task *task)
{
	return !task->queued && !task->posted;
}

/* The timer fires once, after duration_ms or up to LOOP_TICK_MS more. Arming it again starts it anew; 0 disarms it. */
void loop_arm(struct loop *, struct timer *, uint64_t duration_ms);
void loop_disarm(struct loop *, struct timer *);
enum { LOOP_TICK_MS = 50 };

/* Sets where the access log goes; NULL, as at the beginning: to stdout. The sink must outlive the loop. */
struct access_sink;
void loop_set_access_sink(struct loop *, struct access_sink *);
/* Appends whole lines to the access log, which goes out once a turn or when the buffer is full. Lines that stdout does
 * not take at once, or for which the sink has no room, are lost and counted; the loop never waits for longer than one
 * write(2) to stdout. */
void loop_access(struct loop *, const char *line, size_t len);

#endif
