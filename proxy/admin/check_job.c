/* Checking feeds in threads; see check_job.h. */
#include "proxy/admin/check_job.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/base/container_of.h"
#include "proxy/base/text.h"
#include "proxy/report/check_url.h"
#include "proxy/settings/settings.h"

enum { JOB_PIECE = 64 * 1024 };    /* bytes of a feed between two looks whether it is still wanted */

struct check_job {
	TAILQ_ENTRY(check_job) link;
	struct admin *admin;
	struct admin_exchange *x;      /* NULL: it was dropped */
	check_job_done_f *done;
	struct settings *settings;
	char *url;                     /* NULL: a feed was sent */
	struct text body;              /* which the feed is a part of */
	struct slice feed;
	char *name, *type;
	bool explain;
	struct check *check;           /* of the feed */
	pthread_t thread;
	bool started;                  /* there is a thread */
	struct task ended;
	pthread_mutex_t lock;          /* over the two members below */
	struct check_url *u;
	bool cancelled;
	bool failed;                   /* written by the thread before it wakes the admin loop */
};

/* Makes the fetch on the thread that runs it, and says whether it is still wanted. */
static bool job_begin(struct check_job *job)
{
	const struct check_options options = { .normalise = { .policy = POLICY_AUTO, .repairs = REPAIR_ALL },
		.explain = job->explain };
	struct check_url *u = check_url_new(job->url, &options, job->settings, &job->settings->guard);

	pthread_mutex_lock(&job->lock);
	job->u = u;
	bool wanted = u && !job->cancelled;
	pthread_mutex_unlock(&job->lock);
	return wanted;
}

static bool job_is_cancelled(struct check_job *job)
{
	pthread_mutex_lock(&job->lock);
	bool cancelled = job->cancelled;
	pthread_mutex_unlock(&job->lock);
	return cancelled;
}

static int job_check(struct check_job *job)
{
	const struct check_options options = { .normalise = { .policy = POLICY_AUTO,
		                                   .repairs = REPAIR_ALL,
		                                   .http = *job->type,
		                                   .content_type = job->type,
		                                   .content_type_len = strlen(job->type) },
		.explain = job->explain };
	struct slice rest = job->feed;

	if (!(job->check = check_new(&options)))
		return -1;
	while (rest.len) {
		size_t n = rest.len < JOB_PIECE ? rest.len : JOB_PIECE;

		if (job_is_cancelled(job) || check_feed(job->check, (const uint8_t *)rest.at, n))
			return -1;
		rest = (struct slice){ rest.at + n, rest.len - n };
	}
	return check_finish(job->check);
}

static void *job_run(void *arg)
{
	struct check_job *job = arg;

	job->failed = !job->url ? job_check(job) : job_begin(job) ? check_url_run(job->u) : -1;
	loop_wake(job->admin->loop, &job->ended);
	return NULL;
}

/* Frees the job, whose thread has ended, ends now, or was never started. */
static void job_free(struct check_job *job)
{
	if (job->started)
		pthread_join(job->thread, NULL);
	TAILQ_REMOVE(&job->admin->jobs, job, link);
	loop_forget(job->admin->loop, &job->ended);
	check_url_free(&job->u);
	check_free(&job->check);
	settings_unref(&job->settings);
	pthread_mutex_destroy(&job->lock);
	text_free(&job->body);
	free(job->url);
	free(job->name);
	free(job->type);
	free(job);
}

static void job_tell(struct check_job *job)
{
	struct admin_exchange *x = job->x;
	struct check_report *report = NULL;
	const char *why = job->failed && job->u ? check_url_why(job->u) : NULL;

	if (!x)
		return;
	job->x = NULL;
	x->job = NULL;
	if (job->started && !job->failed)
		report = job->url ? check_url_report(job->u) : check_report_of(job->check);
	if (report && !job->url)
		report->file = job->name;
	job->done(x, report, why);
}

static int job_go(struct check_job *job)
{
	job->started = !pthread_create(&job->thread, NULL, job_run, job);
	return job->started ? 0 : -1;
}

/* Starts the feed that has waited longest, if any waits. */
static void job_next(struct admin *admin)
{
	struct check_job *job, *next;

	for (job = TAILQ_FIRST(&admin->jobs); job; job = next) {
		next = TAILQ_NEXT(job, link);
		if (job->started)
			continue;
		if (!job_go(job))
			return;
		job_tell(job);
		job_free(job);
	}
}

static void job_on_ended(struct task *task)
{
	struct check_job *job = container_of(task, struct check_job, ended);
	struct admin *admin = job->admin;
	bool was_feed = !job->url;

	job_tell(job);
	job_free(job);
	if (was_feed)
		job_next(admin);
}

static size_t jobs_started(const struct admin *admin, bool of_urls)
{
	const struct check_job *job;
	size_t n = 0;

	TAILQ_FOREACH(job, &admin->jobs, link)
		n += job->started && !job->url == !of_urls;
	return n;
}

/* Owns the body from now on. NULL: out of memory. */
static struct check_job *job_new(struct admin_exchange *x, const struct check_order *order, check_job_done_f *done)
{
	struct check_job *job = calloc(1, sizeof *job);

	if (!job)
		return NULL;
	*job = (struct check_job){ .admin = x->admin, .x = x, .done = done, .feed = order->feed,
		.explain = order->explain, .ended.run = job_on_ended };
	job->settings = settings_ref(x->admin->settings);
	pthread_mutex_init(&job->lock, NULL);
	TAILQ_INSERT_TAIL(&x->admin->jobs, job, link);
	if (order->url ? !!(job->url = strdup(order->url))
	               : (job->name = strdup(order->name)) && (job->type = strdup(order->type))) {
		job->body = admin_conn_take_body(x);
		return job;
	}
	job_free(job);
	return NULL;
}

int check_job_start(struct admin_exchange *x, const struct check_order *order, check_job_done_f *done)
{
	size_t n = jobs_started(x->admin, order->url);
	struct check_job *job;

	if ((order->url && n >= CHECK_JOBS_MAX) || !(job = job_new(x, order, done)))
		return -1;
	if ((order->url || !n) && job_go(job)) {
		job_free(job);
		return -1;
	}
	x->job = job;
	return 0;
}

void check_job_drop(struct check_job *job)
{
	job->x = NULL;
	if (!job->started) {
		job_free(job);
		return;
	}
	pthread_mutex_lock(&job->lock);
	job->cancelled = true;
	if (job->u)
		check_url_cancel(job->u);
	pthread_mutex_unlock(&job->lock);
}

void check_jobs_end(struct admin *admin)
{
	struct check_job *job, *next;

	for (job = TAILQ_FIRST(&admin->jobs); job; job = next) {
		next = TAILQ_NEXT(job, link);
		check_job_drop(job);
	}
	while ((job = TAILQ_FIRST(&admin->jobs)))
		job_free(job);
}
