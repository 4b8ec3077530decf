/* Passwords that are compared by a thread; see verifier.h. */
#include "proxy/net/verifier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/base/password.h"
#include "proxy/net/loop.h"

struct verifier_job {
	TAILQ_ENTRY(verifier_job) link;
	LIST_HEAD(, verifier_waiter) waiters;
	bool queued;                   /* nobody works at it yet */
	uint64_t key[2], asker;
	size_t place;                  /* of its asker's in the queue: from 1, the newest has the last */
	size_t password_len;
	char *password;                /* in text, behind the hash */
	char text[];
};

TAILQ_HEAD(verifier_list, verifier_job);

struct verifier {
	size_t cap;
	pthread_mutex_t lock;          /* guards what follows */
	bool works, has_thread;
	pthread_t thread;
	size_t count;                  /* in the queue */
	struct verifier_list queue;
	struct verifier_job *current;  /* NULL: none is being compared */
};

static void verifier_job_free(struct verifier_job *job)
{
	explicit_bzero(job->password, job->password_len);
	free(job);
}

static size_t verifier_places(const struct verifier *verifier, uint64_t asker)
{
	const struct verifier_job *job;
	size_t places = 0;

	TAILQ_FOREACH(job, &verifier->queue, link)
		places += job->asker == asker;
	return places;
}

static void verifier_place_give(struct verifier *verifier, const struct verifier_job *given)
{
	struct verifier_job *job;

	TAILQ_FOREACH(job, &verifier->queue, link)
		job->place -= job->asker == given->asker && job->place > given->place;
}

static void verifier_place_take(struct verifier *verifier, struct verifier_job *job, uint64_t asker)
{
	job->place = verifier_places(verifier, asker) + 1;
	job->asker = asker;
}

static void verifier_job_take(struct verifier *verifier, struct verifier_job *job)
{
	verifier_place_give(verifier, job);
	TAILQ_REMOVE(&verifier->queue, job, link);
	job->queued = false;
	verifier->count--;
}

/* Nobody waits for it afterwards. */
static void verifier_job_end(struct verifier_job *job, enum verifier_answer answer)
{
	struct verifier_waiter *waiter;

	while ((waiter = LIST_FIRST(&job->waiters))) {
		LIST_REMOVE(waiter, link);
		waiter->job = NULL;
		waiter->answer = answer;
		loop_wake(waiter->loop, waiter->task);
	}
	verifier_job_free(job);
}

/* Takes the first. Its asker's others go behind all the rest, so that askers take turns. NULL: none waits. */
static struct verifier_job *verifier_next(struct verifier *verifier)
{
	struct verifier_list rest = TAILQ_HEAD_INITIALIZER(rest);
	struct verifier_job *next = TAILQ_FIRST(&verifier->queue), *job, *after;

	if (!next)
		return NULL;
	verifier_job_take(verifier, next);
	for (job = TAILQ_FIRST(&verifier->queue); job; job = after) {
		after = TAILQ_NEXT(job, link);
		if (job->asker != next->asker)
			continue;
		TAILQ_REMOVE(&verifier->queue, job, link);
		TAILQ_INSERT_TAIL(&rest, job, link);
	}
	TAILQ_CONCAT(&verifier->queue, &rest, link);
	return next;
}

/* Compares what is queued, without the lock. It ends when nothing is left: the lock is the last that it touches. */
static void *verifier_run(void *arg)
{
	struct verifier *verifier = arg;
	struct verifier_job *job;

	pthread_mutex_lock(&verifier->lock);
	while ((job = verifier_next(verifier))) {
		bool right;

		verifier->current = job;
		pthread_mutex_unlock(&verifier->lock);
		right = password_is(job->text, job->password, job->password_len);
		pthread_mutex_lock(&verifier->lock);
		verifier->current = NULL;
		verifier_job_end(job, right ? VERIFIER_RIGHT : VERIFIER_WRONG);
	}
	verifier->works = false;
	pthread_mutex_unlock(&verifier->lock);
	return NULL;
}

/* Under the lock. A former thread is past its last use of it, so that joining it does not wait. */
static int verifier_start(struct verifier *verifier)
{
	if (verifier->works)
		return 0;
	if (verifier->has_thread)
		pthread_join(verifier->thread, NULL);
	verifier->has_thread = verifier->works = !pthread_create(&verifier->thread, NULL, verifier_run, verifier);
	return verifier->works ? 0 : -1;
}

static bool verifier_job_is(const struct verifier_job *job, const uint64_t key[2])
{
	return job && job->key[0] == key[0] && job->key[1] == key[1];
}

static struct verifier_job *verifier_job_find(struct verifier *verifier, const uint64_t key[2])
{
	struct verifier_job *job;

	if (verifier_job_is(verifier->current, key))
		return verifier->current;
	TAILQ_FOREACH(job, &verifier->queue, link)
		if (verifier_job_is(job, key))
			return job;
	return NULL;
}

/* In a full queue. The asker with most places gives the newest of them, if it has more than this one will have then.
 * False: it has not. */
static bool verifier_make_room(struct verifier *verifier, uint64_t asker)
{
	struct verifier_job *job, *given = TAILQ_FIRST(&verifier->queue);

	TAILQ_FOREACH(job, &verifier->queue, link)
		if (job->place >= given->place)
			given = job;
	if (given->place <= verifier_places(verifier, asker) + 1)
		return false;
	verifier_job_take(verifier, given);
	verifier_job_end(given, VERIFIER_FULL);
	return true;
}

static struct verifier_job *verifier_job_new(const struct verifier_question *question)
{
	size_t hash = strlen(question->hash) + 1;
	struct verifier_job *job = malloc(sizeof *job + hash + question->password_len + 1);

	if (!job)
		return NULL;
	LIST_INIT(&job->waiters);
	memcpy(job->key, question->key, sizeof job->key);
	job->queued = true;
	job->password_len = question->password_len;
	job->password = job->text + hash;
	memcpy(job->text, question->hash, hash);
	memcpy(job->password, question->password, question->password_len + 1);
	return job;
}

static void verifier_job_join(struct verifier_job *job, struct verifier_waiter *waiter)
{
	waiter->job = job;
	waiter->answer = VERIFIER_WAITS;
	LIST_INSERT_HEAD(&job->waiters, waiter, link);
}

bool verifier_join(struct verifier *verifier, const struct verifier_question *question, struct verifier_waiter *waiter)
{
	struct verifier_job *job;

	waiter->job = NULL;
	pthread_mutex_lock(&verifier->lock);
	if ((job = verifier_job_find(verifier, question->key))) {
		/* one place for all of them, which is that of the one with fewest */
		if (job->queued &&
		    verifier_places(verifier, question->asker) + 1 < verifier_places(verifier, job->asker)) {
			verifier_place_give(verifier, job);
			verifier_place_take(verifier, job, question->asker);
		}
		verifier_job_join(job, waiter);
	}
	pthread_mutex_unlock(&verifier->lock);
	return job;
}

/* Under the lock. */
static enum verifier_answer verifier_add(struct verifier *verifier, const struct verifier_question *question,
    struct verifier_waiter *waiter)
{
	struct verifier_job *job;

	if (verifier->count >= verifier->cap && !verifier_make_room(verifier, question->asker))
		return VERIFIER_FULL;
	if (!(job = verifier_job_new(question)))
		return VERIFIER_NO_MEMORY;
	verifier_place_take(verifier, job, question->asker);
	TAILQ_INSERT_TAIL(&verifier->queue, job, link);
	verifier->count++;
	if (verifier_start(verifier)) {
		verifier_job_take(verifier, job);
		verifier_job_free(job);
		return VERIFIER_NO_MEMORY;
	}
	verifier_job_join(job, waiter);
	return VERIFIER_WAITS;
}

enum verifier_answer verifier_ask(struct verifier *verifier, const struct verifier_question *question,
    struct verifier_waiter *waiter)
{
	waiter->job = NULL;
	pthread_mutex_lock(&verifier->lock);
	enum verifier_answer answer = verifier_add(verifier, question, waiter);
	pthread_mutex_unlock(&verifier->lock);
	return answer;
}

void verifier_leave(struct verifier *verifier, struct verifier_waiter *waiter)
{
	struct verifier_job *job;

	pthread_mutex_lock(&verifier->lock);
	if ((job = waiter->job)) {
		LIST_REMOVE(waiter, link);
		waiter->job = NULL;
		if (LIST_EMPTY(&job->waiters) && job->queued) {
			verifier_job_take(verifier, job);
			verifier_job_free(job);
		}
	}
	pthread_mutex_unlock(&verifier->lock);
}

enum verifier_answer verifier_told(struct verifier *verifier, const struct verifier_waiter *waiter)
{
	pthread_mutex_lock(&verifier->lock);
	enum verifier_answer answer = waiter->answer;
	pthread_mutex_unlock(&verifier->lock);
	return answer;
}

struct verifier *verifier_new(size_t cap)
{
	struct verifier *verifier = calloc(1, sizeof *verifier);

	if (!verifier)
		return NULL;
	pthread_mutex_init(&verifier->lock, NULL);
	TAILQ_INIT(&verifier->queue);
	verifier->cap = cap;
	return verifier;
}

void verifier_free(struct verifier **vp)
{
	struct verifier *verifier = *vp;

	*vp = NULL;
	if (!verifier)
		return;
	/* The last settings may go while the thread still works for a client that has left. */
	if (verifier->has_thread)
		pthread_join(verifier->thread, NULL);
	pthread_mutex_destroy(&verifier->lock);
	free(verifier);
}
