/* The admin listener's life and its calls to the workers; see admin.h. */
#include "proxy/admin/admin_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "core/decode/charset.h"
#include "core/decode/decoder.h"
#include "proxy/admin/check_job.h"
#include "proxy/admin/process_metrics.h"
#include "proxy/base/container_of.h"
#include "proxy/base/log.h"
#include "proxy/net/listener.h"
#include "proxy/settings/reload_report.h"
#include "proxy/settings/settings.h"

/* Runs on the worker's thread, which alone writes its counts. */
static void admin_on_call(struct task *task)
{
	struct admin_call *call = container_of(task, struct admin_call, task);

	stats_observe(call->stats, HISTOGRAM_LOOP_DELAY, ANSWER_NONE, loop_now_us(call->admin->loop) - call->sent_us);
	atomic_store(&call->out, false);
}

static void admin_call_workers(struct admin *a)
{
	for (size_t i = 0; i < a->parts.n_workers; i++) {
		struct admin_call *call = &a->calls[i];

		if (atomic_load(&call->out))
			continue;
		call->sent_us = loop_now_us(a->loop);
		atomic_store(&call->out, true);
		loop_wake(a->parts.loops[i], &call->task);
	}
}

/* Adds one worker's durations of answers with that outcome. */
static void admin_sample_durations(struct history_sample *sample, struct stats *from, enum answer_outcome outcome)
{
	sample->duration_us += stats_get(&from->histograms[HISTOGRAM_REQUEST_DURATION][outcome].sum);
	for (size_t b = 0; b <= HISTOGRAM_BUCKETS; b++) {
		uint64_t n = stats_bucket(&from, 1, HISTOGRAM_REQUEST_DURATION, outcome, b);

		sample->durations[b] += n;
		sample->timed += n;
	}
}

void admin_sample(const struct admin *a, struct history_sample *sample)
{
	*sample = (struct history_sample){ .at = loop_wall_ms(a->loop) / 1000, .resident = process_resident_bytes() };
	for (size_t i = 0; i < a->parts.n_workers; i++) {
		struct stats *from = a->parts.stats[i];

		sample->requests += stats_get(&from->value[STAT_REQUESTS]);
		sample->hits += stats_get(&from->value[STAT_CACHE_HITS]);
		sample->errors +=
		    stats_get(&from->value[STAT_RESPONSES_ERROR]) + stats_get(&from->value[STAT_RESPONSES_CUT]);
		sample->bytes += stats_get(&from->value[STAT_BYTES_TO_CLIENTS]);
		for (enum answer_outcome outcome = 0; outcome < ANSWER_COUNT; outcome++)
			admin_sample_durations(sample, from, outcome);
	}
}

static void admin_keep_history(struct admin *a)
{
	struct history_sample s;

	if (loop_now_ms(a->loop) < a->sample_due_ms)
		return;
	a->sample_due_ms = loop_now_ms(a->loop) + HISTORY_STEP_S * 1000;
	admin_sample(a, &s);
	history_add(&a->history, &s);
}

static void admin_on_turn(struct timer *timer)
{
	struct admin *a = container_of(timer, struct admin, turn);

	admin_call_workers(a);
	admin_keep_history(a);
	loop_arm(a->loop, &a->turn, ADMIN_CALL_MS);
}

size_t admin_stuck(const struct admin *a)
{
	uint64_t now = loop_now_us(a->loop);
	size_t n = 0;

	for (size_t i = 0; i < a->parts.n_workers; i++)
		n += atomic_load(&a->calls[i].out) && now - a->calls[i].sent_us > ADMIN_STUCK_MS * 1000ull;
	return n;
}

static void admin_on_accept(void *arg, int fd, const struct sockaddr *peer, socklen_t len)
{
	admin_conn_new(arg, fd, peer, len);
}

static void admin_on_renew(struct task *task)
{
	struct admin *a = container_of(task, struct admin, renew);
	struct settings *settings = atomic_exchange(&a->next, NULL);

	if (!settings)
		return;
	settings_unref(&a->settings);
	a->settings = settings;
	settings_taken(settings);
}

static void admin_close_listeners(struct admin *a)
{
	while (a->n_listeners)
		listener_free(&a->listeners[--a->n_listeners]);
}

static void admin_on_given_up(struct task *task)
{
	admin_close_listeners(container_of(task, struct admin, given_up));
}

static void admin_on_stop(struct task *task)
{
	loop_stop(container_of(task, struct admin, stop)->loop);
}

struct admin *admin_new(const struct admin_parts *parts, const int *fds, size_t n)
{
	struct admin *a = calloc(1, sizeof *a);
	size_t taken = 0;

	if (!a || !(a->calls = calloc(parts->n_workers, sizeof *a->calls)) ||
	    !(a->sets = calloc(parts->n_workers + 1, sizeof *a->sets)) ||
	    !(a->listeners = calloc(n, sizeof *a->listeners)) || !(a->loop = loop_new()))
		goto fail;
	memcpy(a->sets, parts->stats, parts->n_workers * sizeof *a->sets);
	a->sets[parts->n_workers] = loop_stats(a->loop);
	a->parts = *parts;
	a->settings = settings_ref(parts->settings);
	a->report = reload_report_ref(parts->report);
	a->reported.run = admin_on_report;
	a->renew.run = admin_on_renew;
	a->stop.run = admin_on_stop;
	a->given_up.run = admin_on_given_up;
	a->turn.fire = admin_on_turn;
	sweeper_init(&a->sweeper, parts->cache, a->loop);
	LIST_INIT(&a->conns);
	places_init(&a->places);
	TAILQ_INIT(&a->jobs);
	LIST_INIT(&a->waits);
	for (size_t i = 0; i < parts->n_workers; i++) {
		a->calls[i].task.run = admin_on_call;
		a->calls[i].admin = a;
		a->calls[i].stats = parts->stats[i];
	}
	while (taken < n)
		if (!(a->listeners[a->n_listeners++] = listener_new(a->loop, fds[taken++], admin_on_accept, a)))
			goto fail;
	a->started_at = loop_wall_ms(a->loop) / 1000;
	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++)
		a->charsets_missing += !decoder_has_converter(cs);
	return a;
fail:
	log_error("admin-listen: %s", strerror(ENOMEM));
	while (taken < n)
		close(fds[taken++]);
	admin_free(&a);
	return NULL;
}

static void *admin_run(void *arg)
{
	struct admin *a = arg;

	admin_on_turn(&a->turn);
	if (loop_run(a->loop))
		log_error("admin-listen: the event loop failed");
	return NULL;
}

int admin_start(struct admin *a)
{
	int err = pthread_create(&a->thread, NULL, admin_run, a);

	a->started = !err;
	return err;
}

void admin_renew(struct admin *a, struct settings *settings)
{
	struct settings *missed = atomic_exchange(&a->next, settings_ref(settings));

	if (missed)
		settings_taken(missed);
	settings_unref(&missed);
	loop_wake(a->loop, &a->renew);
}

void admin_leave(struct admin *a)
{
	atomic_store(&a->leaving, true);
}

void admin_give_up(struct admin *a)
{
	loop_wake(a->loop, &a->given_up);
}

struct stats *admin_stats(struct admin *a)
{
	return loop_stats(a->loop);
}

void admin_free(struct admin **ap)
{
	struct admin *a = *ap;
	struct settings *next;

	if (!a)
		return;
	if (a->started) {
		loop_wake(a->loop, &a->stop);
		pthread_join(a->thread, NULL);
	}
	/* the workers' loops, which do not run any more, may still hold calls */
	for (size_t i = 0; a->calls && i < a->parts.n_workers; i++)
		if (a->calls[i].task.run)
			loop_forget(a->parts.loops[i], &a->calls[i].task);
	while (!LIST_EMPTY(&a->conns))
		admin_conn_free(LIST_FIRST(&a->conns));
	check_jobs_end(a);
	admin_close_listeners(a);
	if (a->loop) {
		loop_disarm(a->loop, &a->turn);
		sweeper_end(&a->sweeper);
		loop_forget(a->loop, &a->renew);
		loop_forget(a->loop, &a->reported);
		loop_forget(a->loop, &a->stop);
		loop_forget(a->loop, &a->given_up);
	}
	next = atomic_load(&a->next);
	settings_unref(&next);
	settings_unref(&a->settings);
	admin_reload_end(a);
	loop_free(&a->loop);
	free(a->listeners);
	free(a->sets);
	free(a->calls);
	free(a);
	*ap = NULL;
}
