/* Fetching a URL to be checked; see check_job.h. */
#include "proxy/admin/check_job.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/base/container_of.h"
#include "proxy/settings/settings.h"

struct check_job {
	LIST_ENTRY(check_job) link;
	struct admin *admin;
	struct admin_exchange *x;      /* NULL: it was dropped */
	check_job_done_f *done;
	struct settings *settings;
	char *url;
	pthread_t thread;
	struct task ended;
	pthread_mutex_t lock;          /* over the two members below */
	struct check_url *u;
	bool cancelled;
	bool failed;                   /* written by the thread before it wakes the admin loop */
};

/* Makes the fetch on the thread that runs it, and says whether it is still wanted. */
static bool job_begin(struct check_job *job)
{
	const struct check_options options = { .normalise = { .policy = POLICY_AUTO, .repairs = REPAIR_ALL } };
	struct check_url *u = check_url_new(job->url, &options, job->settings, &job->settings->guard);
	bool wanted;

	pthread_mutex_lock(&job->lock);
	job->u = u;
	wanted = u && !job->cancelled;
	pthread_mutex_unlock(&job->lock);
	return wanted;
}

static void *job_run(void *arg)
{
	struct check_job *job = arg;

	job->failed = !job_begin(job) || check_url_run(job->u);
	loop_wake(job->admin->loop, &job->ended);
	return NULL;
}

/* Frees the job, whose thread has ended or ends now. */
static void job_free(struct check_job *job)
{
	pthread_join(job->thread, NULL);
	LIST_REMOVE(job, link);
	job->admin->n_jobs--;
	loop_forget(job->admin->loop, &job->ended);
	check_url_free(&job->u);
	settings_unref(&job->settings);
	pthread_mutex_destroy(&job->lock);
	free(job->url);
	free(job);
}

static void job_on_ended(struct task *t)
{
	struct check_job *job = container_of(t, struct check_job, ended);
	struct admin_exchange *x = job->x;

	if (x) {
		job->x = NULL;
		x->job = NULL;
		job->done(x, job->u, job->failed);
	}
	job_free(job);
}

int check_job_start(struct admin_exchange *x, const char *url, check_job_done_f *done)
{
	struct admin *a = x->admin;
	struct check_job *job = a->n_jobs < CHECK_JOBS_MAX ? calloc(1, sizeof *job) : NULL;

	if (!job)
		return -1;
	*job = (struct check_job){ .admin = a, .x = x, .done = done, .url = strdup(url), .ended.run = job_on_ended };
	job->settings = settings_ref(a->settings);
	pthread_mutex_init(&job->lock, NULL);
	if (!job->url || pthread_create(&job->thread, NULL, job_run, job)) {
		settings_unref(&job->settings);
		pthread_mutex_destroy(&job->lock);
		free(job->url);
		free(job);
		return -1;
	}
	LIST_INSERT_HEAD(&a->jobs, job, link);
	a->n_jobs++;
	x->job = job;
	return 0;
}

void check_job_drop(struct check_job *job)
{
	job->x = NULL;
	pthread_mutex_lock(&job->lock);
	job->cancelled = true;
	if (job->u)
		check_url_cancel(job->u);
	pthread_mutex_unlock(&job->lock);
}

void check_jobs_end(struct admin *a)
{
	while (!LIST_EMPTY(&a->jobs)) {
		struct check_job *job = LIST_FIRST(&a->jobs);

		check_job_drop(job);
		job_free(job);
	}
}
