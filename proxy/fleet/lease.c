/* See lease.h. */
#include "proxy/fleet/lease.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proxy/base/container_of.h"
#include "proxy/base/hash.h"
#include "proxy/fleet/fleet_internal.h"

/* GRACE: the store's clock and that of a loop are not of one mind; an owner is waited for until its lease has ended. */
enum { LEASE_DIGITS = 24, LEASE_LOOK_MIN_MS = 10, LEASE_GRACE_MS = 100 };

static const struct { unsigned next; bool listed; } lease_states[] = {
#define TO(state) (1u << LEASE_##state)
	[LEASE_UNUSED] = { TO(ASKING) | TO(TOLD), false },
	[LEASE_ASKING] = { TO(ASKING) | TO(WAITING) | TO(TOLD), true },
	[LEASE_WAITING] = { TO(ASKING) | TO(TOLD), true },
	[LEASE_TOLD] = { TO(ASKING) | TO(TOLD), false },
};

static void lease_list(struct fleet_lease *lease, bool in)
{
	struct fleet *fleet = lease->fleet;

	pthread_mutex_lock(&fleet->lock);
	if (in)
		LIST_INSERT_HEAD(&fleet->waiting[lease->message % FLEET_BUCKETS], lease, link);
	else
		LIST_REMOVE(lease, link);
	pthread_mutex_unlock(&fleet->lock);
}

static void fleet_lease_enter(struct fleet_lease *lease, enum fleet_lease_state state)
{
	bool was = lease_states[lease->state].listed, is = lease_states[state].listed;

	assert(lease_states[lease->state].next >> state & 1);
	atomic_fetch_add(&lease->fleet->waits, (size_t)(state == LEASE_WAITING) - (lease->state == LEASE_WAITING));
	lease->state = state;
	if (was != is)
		lease_list(lease, is);
	if (was && !is)
		loop_forget(lease->loop, &lease->woken);
	if (state != LEASE_WAITING)
		loop_disarm(lease->loop, &lease->timer);
}

/* 0: it is none. */
static uint64_t lease_number(struct slice text)
{
	uint64_t number = 0;

	for (size_t i = 0; i < text.len && text.at[i] >= '0' && text.at[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(text.at[i] - '0');
	return number;
}

static void wake_bucket(struct fleet *fleet, size_t bucket, uint64_t message)
{
	struct fleet_lease *lease;

	LIST_FOREACH(lease, &fleet->waiting[bucket], link)
		if (!message || lease->message == message)
			loop_wake(lease->loop, &lease->woken);
}

void fleet_wake(struct fleet *fleet, struct slice text)
{
	uint64_t message = lease_number(text);

	pthread_mutex_lock(&fleet->lock);
	for (size_t i = 0; i < FLEET_BUCKETS && !text.at; i++)
		wake_bucket(fleet, i, 0);
	if (message)
		wake_bucket(fleet, message % FLEET_BUCKETS, message);
	pthread_mutex_unlock(&fleet->lock);
}

/* ---- asking ---- */

/* A number of LEASE_DIGITS at most. */
static struct slice lease_digits(char *to, uint64_t n)
{
	return (struct slice){ to, (size_t)snprintf(to, LEASE_DIGITS, "%" PRIu64, n) };
}

static void lease_tell(struct fleet_lease *lease, enum fleet_answer answer, struct entry *entry)
{
	static const enum stats_counter counters[] = { [LEASE_MINE] = STAT_LEASES, [LEASE_STORED] = STAT_LEASES_SPARED,
		[LEASE_PRIVATE] = STAT_LEASES_PRIVATE, [LEASE_NONE] = STAT_LEASES_MISSED };

	fleet_lease_enter(lease, LEASE_TOLD);
	lease->held = answer == LEASE_MINE;
	atomic_fetch_add(&lease->fleet->held, lease->held);
	stats_add(loop_stats(lease->loop), counters[answer], 1);
	lease->told(lease, answer, entry);
}

static void on_answered(struct store_call *call);

/* False: refused. */
static bool lease_ask(struct fleet_lease *lease)
{
	char number[LEASE_DIGITS], lasts[LEASE_DIGITS], message[LEASE_DIGITS], at[LEASE_DIGITS];
	struct store *store = lease->fleet->store;

	lease->again = false;
	lease->call = (struct store_call){ .loop = lease->loop, .script = SCRIPT_LEASE, .name = lease->key, .n = 5,
		.args = { lease_digits(number, lease->number), lease_digits(lasts, lease->lasts_ms),
			lease_digits(message, lease->message), lease_digits(at, entry_version_at(lease->key.len)),
			{ lease->anyhow ? "*" : lease->known, lease->anyhow ? 1 : lease->known_len } },
		.answered = on_answered };
	fleet_lease_enter(lease, LEASE_ASKING);
	return lease->owed |= store->ops->call(store, &lease->call);
}

static void lease_ask_again(struct fleet_lease *lease)
{
	if (!lease_ask(lease))
		lease_tell(lease, LEASE_NONE, NULL);
}

/* Another has it. */
static void lease_wait(struct fleet_lease *lease, struct slice by, int64_t ms)
{
	uint64_t now_ms = loop_now_ms(lease->loop), owner = hash_keyed(by.at, by.len);

	if (!lease->by)
		stats_add(loop_stats(lease->loop), STAT_LEASES_AWAITED, 1);
	if (owner != lease->by && !lease->renewed) {
		lease->renewed = lease->by;
		lease->by = owner;
		lease->until_ms = now_ms + lease->lasts_ms + LEASE_GRACE_MS;
	}
	if (now_ms >= lease->until_ms) {
		lease_tell(lease, LEASE_NONE, NULL);
		return;
	}
	uint64_t left = lease->until_ms - now_ms, look = ms > LEASE_LOOK_MIN_MS ? (uint64_t)ms : LEASE_LOOK_MIN_MS;
	fleet_lease_enter(lease, LEASE_WAITING);
	loop_arm(lease->loop, &lease->timer, look < left ? look : left);
	if (lease->again)
		lease_ask_again(lease);
}

static void lease_on_heard(struct store_call *call)
{
	lease_tell(container_of(call, struct fleet_lease, call), LEASE_MINE, NULL);
}

/* The owner before has failed, and may have told news of that, such as a pause. Hears them before this process asks the
 * origin. False: refused. */
static bool lease_hear(struct fleet_lease *lease)
{
	struct store *store = lease->fleet->store;

	lease->call = (struct store_call){ .loop = lease->loop, .script = SCRIPT_HEAR, .name = { "news", 4 },
		.answered = lease_on_heard };
	return store->ops->call(store, &lease->call);
}

static void on_answered(struct store_call *call)
{
	struct fleet_lease *lease = container_of(call, struct fleet_lease, call);
	struct store_reply *reply = call->reply;
	struct slice word = reply && reply->n ? reply->values[0].text : (struct slice){ NULL, 0 };

	if (slice_is(word, "mine")) {
		if (reply->n == 1 || !lease_hear(lease))
			lease_tell(lease, LEASE_MINE, NULL);
		return;
	}
	lease->owed = !word.len;               /* without an answer the store may hold it for this process */
	if (slice_is(word, "wait") && reply->n == 3) {
		lease_wait(lease, reply->values[1].text, reply->values[2].number);
	} else if (slice_is(word, "private")) {
		lease_tell(lease, LEASE_PRIVATE, NULL);
	} else if (slice_is(word, "stored") && reply->entry) {
		struct entry *e = reply->entry;

		reply->entry = NULL;
		lease_tell(lease, LEASE_STORED, e);
	} else if (slice_is(word, "stored") && !lease->anyhow) {        /* it cannot be read */
		lease->anyhow = true;
		lease_ask_again(lease);
	} else {
		lease_tell(lease, LEASE_NONE, NULL);
	}
}

static void on_woken(struct task *task)
{
	struct fleet_lease *lease = container_of(task, struct fleet_lease, woken);

	if (lease->state == LEASE_WAITING)
		lease_ask_again(lease);
	else
		lease->again = true;
}

static void on_time(struct timer *timer)
{
	lease_ask_again(container_of(timer, struct fleet_lease, timer));
}

bool fleet_lease_ask(struct fleet_lease *lease, struct fleet *fleet, const struct entry *known, bool anyhow)
{
	if (!fleet || !lease->lasts_ms)
		return false;
	lease->fleet = fleet;
	lease->number = atomic_fetch_add(&fleet->last, 1) + 1;
	lease->message = hash_keyed(lease->key.at, lease->key.len);
	lease->woken.run = on_woken;
	lease->timer.fire = on_time;
	lease->anyhow = anyhow;
	lease->known_len = known ? sizeof lease->known : 0;
	if (known)
		entry_version(known, lease->known);
	if (lease_ask(lease))
		return true;
	fleet_lease_enter(lease, LEASE_TOLD);
	stats_add(loop_stats(lease->loop), STAT_LEASES_MISSED, 1);
	return false;
}

bool fleet_lease_waited(const struct fleet_lease *lease)
{
	return lease->by;
}

struct fleet_leases fleet_leases(const struct fleet *fleet)
{
	return fleet ? (struct fleet_leases){ atomic_load(&fleet->held), atomic_load(&fleet->waits) } :
	    (struct fleet_leases){ 0, 0 };
}

void fleet_lease_end(struct fleet_lease *lease, enum fleet_came came)
{
	static const struct slice words[] = { [CAME_NOTHING] = { "", 0 }, [CAME_STORED] = { "stored", 6 },
		[CAME_PRIVATE] = { "private", 7 } };
	char number[LEASE_DIGITS], ms[LEASE_DIGITS];

	if (lease->state == LEASE_UNUSED)
		return;
	struct store *store = lease->fleet->store;
	if (lease->state == LEASE_ASKING)
		store->ops->uncall(store, &lease->call);
	fleet_lease_enter(lease, LEASE_TOLD);
	atomic_fetch_sub(&lease->fleet->held, lease->held);
	lease->held = false;
	if (!lease->owed)
		return;
	lease->owed = false;
	struct store_call call = { .script = SCRIPT_RELEASE, .name = lease->key, .n = 3,
		.args = { lease_digits(number, lease->number), words[came], lease_digits(ms, lease->private_ms) } };
	store->ops->call(store, &call);
}
