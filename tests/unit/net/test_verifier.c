/* Owns the cases of the queue of proxy/net/verifier.c. Must not know: users, hashes.
 * Invariant: the thread compares one password when a case lets it, so that the queue is what the case says. */
#include "proxy/net/verifier.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/net/loop.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { STEPS_MAX = 300, TEXT_MAX = 4 * STEPS_MAX };

/* What the thread has begun to compare, and how much of that it may end. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t begun, allowed;
	char compared[TEXT_MAX];
} held = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };

bool __wrap_password_is(const char *hash, const char *password, size_t len);
/* Each asker's first is right. */
bool __wrap_password_is(const char *hash, const char *password, size_t len)
{
	size_t seen;

	UNIT_ROW(!strcmp(hash, "hash") && strlen(password) == len, "%s", password);
	pthread_mutex_lock(&held.lock);
	seen = strlen(held.compared);
	snprintf(held.compared + seen, sizeof held.compared - seen, "%s%s", seen ? " " : "", password);
	held.begun++;
	pthread_cond_broadcast(&held.moved);
	while (held.allowed < held.begun)
		pthread_cond_wait(&held.moved, &held.lock);
	pthread_mutex_unlock(&held.lock);
	return password[1] == '1';
}

/* Lets the thread end so many more. */
static void let(size_t more)
{
	pthread_mutex_lock(&held.lock);
	held.allowed += more;
	pthread_cond_broadcast(&held.moved);
	pthread_mutex_unlock(&held.lock);
}

static void wait_for_the_next(size_t begun)
{
	pthread_mutex_lock(&held.lock);
	while (held.begun < begun)
		pthread_cond_wait(&held.moved, &held.lock);
	pthread_mutex_unlock(&held.lock);
}

struct queue;
struct asked { struct task task; struct queue *queue; struct verifier_waiter at; char password[4]; bool waits; };
struct queue { struct loop *loop; struct verifier *verifier; struct asked asked[STEPS_MAX]; size_t count, waiting; char refused[TEXT_MAX]; };

static void refuse(struct asked *asked)
{
	size_t len = strlen(asked->queue->refused);

	snprintf(asked->queue->refused + len, TEXT_MAX - len, "%s%s", len ? " " : "", asked->password);
}

static void on_told(struct task *task)
{
	struct asked *asked = (struct asked *)task;
	enum verifier_answer answer = verifier_told(asked->queue->verifier, &asked->at);

	if (answer == VERIFIER_FULL)
		refuse(asked);
	else
		UNIT_ROW(answer == (asked->password[1] == '1' ? VERIFIER_RIGHT : VERIFIER_WRONG), "%s", asked->password);
	asked->waits = false;
	if (!--asked->queue->waiting)
		loop_stop(asked->queue->loop);
}

static void ask(struct queue *queue, char asker, const char *password)
{
	struct asked *asked = &queue->asked[queue->count++];
	struct verifier_question question = { { (uint64_t)password[0], (uint64_t)password[1] }, (uint64_t)asker, "hash", asked->password, 2 };

	*asked = (struct asked){ .task.run = on_told, .queue = queue, .at = { .loop = queue->loop, .task = &asked->task } };
	memcpy(asked->password, password, 2);
	asked->waits = verifier_join(queue->verifier, &question, &asked->at) ||
	    verifier_ask(queue->verifier, &question, &asked->at) == VERIFIER_WAITS;
	queue->waiting += asked->waits;
	if (!asked->waits)
		refuse(asked);
}

static void leave(struct queue *queue, const char *password)
{
	for (struct asked *asked = queue->asked; asked < queue->asked + queue->count; asked++)
		if (asked->waits && !memcmp(asked->password, password, 2)) {
			verifier_leave(queue->verifier, &asked->at);
			asked->waits = false;
			queue->waiting--;
		}
}

/* Does what the row says while the thread is held at z1: "a1" is asked by a, "b=a1" by b; "-a1": what waits for that leaves; ".": one is compared. */
static void run(struct queue *queue, size_t places, const char *steps)
{
	char step[8];
	int used;
	size_t begun = 1;

	*queue = (struct queue){ .loop = loop_new(), .verifier = verifier_new(places) };
	CU_ASSERT_FATAL(queue->loop && queue->verifier);
	held.begun = held.allowed = 0;
	held.compared[0] = 0;
	ask(queue, 'z', "z1");
	wait_for_the_next(begun);
	for (; sscanf(steps, "%7s%n", step, &used) == 1; steps += used)
		if (step[0] == '.') {
			let(1);
			wait_for_the_next(++begun);
		} else if (step[0] == '-')
			leave(queue, step + 1);
		else
			ask(queue, step[0], step[1] == '=' ? step + 2 : step);
	let(STEPS_MAX);
	if (queue->waiting && loop_run(queue->loop))
		abort();
	verifier_free(&queue->verifier);
	CU_ASSERT_PTR_NULL(queue->verifier);
	loop_free(&queue->loop);
}

static void fair(void)
{
	static const struct { const char *rule; size_t places; const char *steps, *compared, *refused; } rows[] = {
		{ "nobody but one", 4, "", "z1", "" },
		{ "in the order of one asker", 4, "a1 a2 a3", "z1 a1 a2 a3", "" },
		{ "askers take turns", 8, "a1 a2 a3 b1 b2 c1", "z1 a1 b1 c1 a2 b2 a3", "" },
		{ "who comes late waits for one of each", 8, "a1 a2 a3 b1 b2 b3 c1", "z1 a1 b1 c1 a2 b2 a3 b3", "" },
		{ "who was served comes behind all others", 8, "a1 a2 b1 . a3 . c1", "z1 a1 b1 a2 c1 a3", "" },
		{ "who comes again and again is not served before them", 8, "a1 a2 a3 b1 . . b2 . c1 . b3", "z1 a1 b1 a2 b2 a3 c1 b3", "" },
		{ "one asker has all places if nobody else wants one", 4, "a1 a2 a3 a4 a5", "z1 a1 a2 a3 a4", "a5" },
		{ "a newcomer takes the newest place of who has most", 4, "b1 a1 a2 a3 c1", "z1 b1 a1 c1 a2", "a3" },
		{ "of those who have as many, the newest", 4, "a1 a2 b1 b2 c1", "z1 a1 b1 c1 a2", "b2" },
		{ "until all have as many", 4, "a1 a2 a3 a4 b1 b2 b3", "z1 a1 b1 a2 b2", "b3 a4 a3" },
		{ "one place is not given for another one", 3, "a1 b1 c1 d1", "z1 a1 b1 c1", "d1" },
		{ "nor one of two for a second one", 3, "a1 a2 b1 b2", "z1 a1 b1 a2", "b2" },
		{ "what is compared has no place", 2, "a1 . a2 a3 b1", "z1 a1 a2 b1", "a3" },
		{ "who leaves makes room", 3, "a1 a2 a3 -a2 b1", "z1 a1 b1 a3", "" },
		{ "the same password has one place", 2, "a1 b=a1 c=a1 d1 e1", "z1 a1 d1", "e1" },
		{ "all who wait at a place hear that it is gone", 2, "a1 a2 a=a2 b1", "z1 a1 b1", "a2 a2" },
		{ "it is the place of who has fewest", 4, "a1 a2 a3 b=a3 c1 d1", "z1 a1 a3 c1 d1", "a2" },
		{ "its newest place", 4, "a1 a2 a3 b1 b=a2 c1 d1", "z1 a1 b1 c1 d1", "a3 a2 a2" },
		{ "who joins gives no place to who has fewer", 4, "a1 b1 b2 b=a1 c1 d1", "z1 a1 b1 c1 d1", "b2" },
		{ "what is compared can be joined, and goes to nobody", 2, "a=z1 b=z1 a1 a2 b1", "z1 a1 b1", "a2" },
	};
	static struct queue queue;

	for (size_t i = 0; i < COUNT(rows); i++) {
		run(&queue, rows[i].places, rows[i].steps);
		UNIT_ROW(!strcmp(held.compared, rows[i].compared), "%s: %s", rows[i].rule, held.compared);
		UNIT_ROW(!strcmp(queue.refused, rows[i].refused), "%s: %s", rows[i].rule, queue.refused);
	}
}

UNIT_SUITE(verifier, { "fair", fair })
