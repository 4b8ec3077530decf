/* Owns a fetch's wait for its turn among the processes of a fleet, for which min-interval and host-interval hold
 * together. The process's own backoff has let the request go already. That is all that counts where the fleet is away.
 * Must not know: how the fleet counts. Invariant: a fetch asks for its URL, then for its host, and waits for each
 * answer as long as the store may take for it, and no longer. */
#include "proxy/origin/fetch_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "proxy/base/container_of.h"
#include "proxy/fleet/fleet.h"
#include "proxy/store/store.h"

/* How long a request itself waits for an interval: backoff does not let it wait for that of its URL. */
static const uint64_t pace_most_ms[] = { [BACKOFF_OF_URL] = 0, [BACKOFF_OF_HOST] = BACKOFF_SOON_MS };
static const enum failure_kind pace_failures[] = {
	[BACKOFF_OF_URL] = FAILURE_ASKED_TOO_SOON, [BACKOFF_OF_HOST] = FAILURE_HOST_ASKED_TOO_SOON,
};

struct fetch_pace {
	struct store_call call;
	struct fetch *fetch;
	enum backoff_of of;            /* what is being asked for */
	bool asks;                     /* the answer has not come */
};

static struct store *pace_store(const struct fetch *f)
{
	return fleet_store(f->pool->fleet);
}

void fetch_leave_pace(struct fetch *f)
{
	if (!f->pace)
		return;
	if (f->pace->asks)
		pace_store(f)->ops->uncall(pace_store(f), &f->pace->call);
	free(f->pace);
	f->pace = NULL;
}

static void pace_refuse(struct fetch *f, enum backoff_of of, uint64_t wait_ms)
{
	failure_set(&f->failure, pace_failures[of], "another process has just asked");
	f->failure.retry_after_s = (unsigned)((wait_ms + 999) / 1000);
	fetch_fail(f);
}

/* The answer is how long the request has to wait. Beyond pace_most_ms it has no place, and asks another time. */
static void pace_on_answer(struct store_call *call)
{
	struct fetch_pace *pace = container_of(call, struct fetch_pace, call);
	struct fetch *f = pace->fetch;
	const struct store_reply *reply = call->reply;
	enum backoff_of of = pace->of;
	uint64_t now_ms = loop_now_ms(fetch_loop(f)), wait_ms = 0, most_ms = pace_most_ms[of] + f->asked.spaces_ms[of];

	pace->asks = false;
	if (reply && reply->n == 1 && reply->values[0].number > 0)
		wait_ms = (uint64_t)reply->values[0].number;
	wait_ms = wait_ms < most_ms ? wait_ms : most_ms;       /* the script's answers are no longer */
	if (wait_ms)
		backoff_paced(f->pool->backoff, of, &f->asked, &f->request.terms,
		    now_ms + wait_ms - (wait_ms > pace_most_ms[of] ? f->asked.spaces_ms[of] : 0));
	if (wait_ms > pace_most_ms[of]) {
		pace_refuse(f, of, wait_ms);
		return;
	}
	if (wait_ms > f->asked.soon_ms)
		f->asked.soon_ms = wait_ms;
	f->asked.spaces_ms[of] = 0;
	fetch_go(f);
}

/* False: the fleet cannot be asked. */
static bool pace_ask(struct fetch *f, enum backoff_of of)
{
	struct fetch_pace *pace = f->pace ? f->pace : calloc(1, sizeof *pace);
	struct text name = { 0 };
	char space[24], most[24];

	if (!(f->pace = pace))
		return false;
	backoff_pace_name(&name, of, &f->asked, &f->request.terms);
	*pace = (struct fetch_pace){ .fetch = f, .of = of, .call = { .loop = fetch_loop(f), .script = SCRIPT_PACE,
		.name = { name.bytes, name.len }, .answered = pace_on_answer, .n = 2, .args = {
			{ space, (size_t)snprintf(space, sizeof space, "%" PRIu64, f->asked.spaces_ms[of]) },
			{ most, (size_t)snprintf(most, sizeof most, "%" PRIu64, pace_most_ms[of]) } } } };
	pace->asks = !name.failed && pace_store(f)->ops->call(pace_store(f), &pace->call);
	text_free(&name);
	return pace->asks;
}

void fetch_go(struct fetch *f)
{
	for (enum backoff_of of = BACKOFF_OF_URL; of <= BACKOFF_OF_HOST; of++)
		if (f->pool->fleet && f->asked.spaces_ms[of] && pace_ask(f, of))
			return;
	fetch_leave_pace(f);
	if (f->asked.soon_ms)
		loop_arm(fetch_loop(f), &f->timer, f->asked.soon_ms);
	else
		fetch_lease(f);
}
