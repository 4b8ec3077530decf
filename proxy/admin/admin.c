/* The admin listener's life and its calls to the workers; see admin.h. */
#include "proxy/admin/admin_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void admin_call_workers(struct admin *admin)
{
	for (size_t i = 0; i < admin->parts.n_workers; i++) {
		struct admin_call *call = &admin->calls[i];

		if (atomic_load(&call->out))
			continue;
		call->sent_us = loop_now_us(admin->loop);
		atomic_store(&call->out, true);
		loop_wake(admin->parts.loops[i], &call->task);
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

void admin_sample(const struct admin *admin, struct history_sample *sample)
{
	*sample =
	    (struct history_sample){ .at = loop_wall_ms(admin->loop) / 1000, .resident = process_resident_bytes() };
	for (size_t i = 0; i < admin->parts.n_workers; i++) {
		struct stats *from = admin->parts.stats[i];

		sample->requests += stats_get(&from->value[STAT_REQUESTS]);
		sample->hits += stats_get(&from->value[STAT_CACHE_HITS]);
		sample->errors +=
		    stats_get(&from->value[STAT_RESPONSES_ERROR]) + stats_get(&from->value[STAT_RESPONSES_CUT]);
		sample->bytes += stats_get(&from->value[STAT_BYTES_TO_CLIENTS]);
		for (enum answer_outcome outcome = 0; outcome < ANSWER_COUNT; outcome++)
			admin_sample_durations(sample, from, outcome);
	}
}

static void admin_keep_history(struct admin *admin)
{
	struct history_sample s;

	if (loop_now_ms(admin->loop) < admin->sample_due_ms)
		return;
	admin->sample_due_ms = loop_now_ms(admin->loop) + HISTORY_STEP_S * 1000;
	admin_sample(admin, &s);
	history_add(&admin->history, &s);
}

static void admin_on_turn(struct timer *timer)
{
	struct admin *admin = container_of(timer, struct admin, turn);

	admin_call_workers(admin);
	admin_keep_history(admin);
	loop_arm(admin->loop, &admin->turn, ADMIN_CALL_MS);
}

size_t admin_stuck(const struct admin *admin)
{
	uint64_t now = loop_now_us(admin->loop);
	size_t n = 0;

	for (size_t i = 0; i < admin->parts.n_workers; i++)
		n += atomic_load(&admin->calls[i].out) && now - admin->calls[i].sent_us > ADMIN_STUCK_MS * 1000ull;
	return n;
}

static void admin_on_accept(void *arg, int fd, const struct sockaddr *peer, socklen_t len)
{
	admin_conn_new(arg, fd, peer, len);
}

static void admin_on_renew(struct task *task)
{
	struct admin *admin = container_of(task, struct admin, renew);
	struct settings *settings = atomic_exchange(&admin->next, NULL);

	if (!settings)
		return;
	settings_unref(&admin->settings);
	admin->settings = settings;
	settings_taken(settings);
}

static void admin_close_listeners(struct admin *admin)
{
	while (admin->n_listeners)
		listener_free(&admin->listeners[--admin->n_listeners]);
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
	struct admin *admin = calloc(1, sizeof *admin);
	size_t taken = 0;

	if (!admin || !(admin->calls = calloc(parts->n_workers, sizeof *admin->calls)) ||
	    !(admin->sets = calloc(parts->n_workers + 1, sizeof *admin->sets)) ||
	    !(admin->listeners = calloc(n, sizeof *admin->listeners)) || !(admin->loop = loop_new()))
		goto fail;
	memcpy(admin->sets, parts->stats, parts->n_workers * sizeof *admin->sets);
	admin->sets[parts->n_workers] = loop_stats(admin->loop);
	admin->parts = *parts;
	admin->settings = settings_ref(parts->settings);
	admin->report = reload_report_ref(parts->report);
	admin->reported.run = admin_on_report;
	admin->renew.run = admin_on_renew;
	admin->stop.run = admin_on_stop;
	admin->given_up.run = admin_on_given_up;
	admin->turn.fire = admin_on_turn;
	sweeper_init(&admin->sweeper, parts->cache, admin->loop);
	LIST_INIT(&admin->conns);
	places_init(&admin->places);
	TAILQ_INIT(&admin->jobs);
	LIST_INIT(&admin->waits);
	for (size_t i = 0; i < parts->n_workers; i++) {
		admin->calls[i].task.run = admin_on_call;
		admin->calls[i].admin = admin;
		admin->calls[i].stats = parts->stats[i];
	}
	while (taken < n)
		if (!(admin->listeners[admin->n_listeners++] =
		            listener_new(admin->loop, fds[taken++], admin_on_accept, admin)))
			goto fail;
	admin->started_at = loop_wall_ms(admin->loop) / 1000;
	if (gethostname(admin->instance, sizeof admin->instance - 1) || !*admin->instance)
		strcpy(admin->instance, "localhost");
	for (enum charset cs = CS_NONE + 1; cs < CS_COUNT; cs++)
		admin->charsets_missing += !decoder_has_converter(cs);
	return admin;
fail:
	log_error("admin-listen: %s", strerror(ENOMEM));
	while (taken < n)
		close(fds[taken++]);
	admin_free(&admin);
	return NULL;
}

static void *admin_run(void *arg)
{
	struct admin *admin = arg;

	admin_on_turn(&admin->turn);
	if (loop_run(admin->loop))
		log_error("admin-listen: the event loop failed");
	return NULL;
}

int admin_start(struct admin *admin)
{
	int err = pthread_create(&admin->thread, NULL, admin_run, admin);

	admin->started = !err;
	return err;
}

void admin_renew(struct admin *admin, struct settings *settings)
{
	struct settings *missed = atomic_exchange(&admin->next, settings_ref(settings));

	if (missed)
		settings_taken(missed);
	settings_unref(&missed);
	loop_wake(admin->loop, &admin->renew);
}

void admin_leave(struct admin *admin)
{
	atomic_store(&admin->leaving, true);
}

void admin_give_up(struct admin *admin)
{
	loop_wake(admin->loop, &admin->given_up);
}

struct stats *admin_stats(struct admin *admin)
{
	return loop_stats(admin->loop);
}

void admin_free(struct admin **ap)
{
	struct admin *admin = *ap;

	if (!admin)
		return;
	if (admin->started) {
		loop_wake(admin->loop, &admin->stop);
		pthread_join(admin->thread, NULL);
	}
	/* the workers' loops, which do not run any more, may still hold calls */
	for (size_t i = 0; admin->calls && i < admin->parts.n_workers; i++)
		if (admin->calls[i].task.run)
			loop_forget(admin->parts.loops[i], &admin->calls[i].task);
	while (!LIST_EMPTY(&admin->conns))
		admin_conn_free(LIST_FIRST(&admin->conns));
	check_jobs_end(admin);
	admin_close_listeners(admin);
	if (admin->loop) {
		loop_disarm(admin->loop, &admin->turn);
		sweeper_end(&admin->sweeper);
		loop_forget(admin->loop, &admin->renew);
		loop_forget(admin->loop, &admin->reported);
		loop_forget(admin->loop, &admin->stop);
		loop_forget(admin->loop, &admin->given_up);
	}
	struct settings *next = atomic_load(&admin->next);
	settings_unref(&next);
	settings_unref(&admin->settings);
	admin_reload_end(admin);
	loop_free(&admin->loop);
	free(admin->listeners);
	free(admin->sets);
	free(admin->calls);
	free(admin);
	*ap = NULL;
}
