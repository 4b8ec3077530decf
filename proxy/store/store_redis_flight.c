/* Owns which operations of the Redis store are on their way, which are held until a purge has looked through all keys,
 * and how each ends: answered, owed again, or given up. Must not know: commands, replies' contents.
 * Invariant: an operation that was taken from the queue is either held or flying, until it is done or owed. */
#include "proxy/store/store_redis_internal.h"

enum { FLIGHT_MAX = 1024, FLIGHT_MAX_BYTES = 32 << 20, HELD_MAX = 16384 };

void redis_count_error(struct store_redis *r)
{
	static const struct store_stats one = { .errors = 1 };

	store_thread_count(&r->thread, &one);
}

static size_t op_flying_bytes(const struct store_op *op)
{
	return op->entry ? op->entry->bytes : 0;
}

static void redis_took_off(struct store_redis *r, struct store_op *op)
{
	r->flying++;
	r->flying_bytes += op_flying_bytes(op);
}

static void redis_land(struct store_redis *r, const struct store_op *op)
{
	r->flying--;
	r->flying_bytes -= op_flying_bytes(op);
	if (r->scan == op)
		r->scan = NULL;
}

void redis_make_removal(struct store_redis *r, struct store_op *op)
{
	r->flying_bytes -= op_flying_bytes(op);
	entry_unref(&op->entry);
	op->type = OP_REMOVE;
}

static bool redis_has_room(const struct store_redis *r)
{
	return r->flying + r->n_held < FLIGHT_MAX && r->flying_bytes + r->held_bytes < FLIGHT_MAX_BYTES;
}

bool redis_is_idle(struct store_redis *r)
{
	return !r->flying && store_thread_is_idle(&r->thread);
}

/* Counts a removal against the debt; the removal of everything pays all of it. */
static void redis_pay(struct store_redis *r, const struct store_op *op)
{
	if (!r->debt || (op->type != OP_REMOVE && op->type != OP_PURGE))
		return;
	r->debt = op->type == OP_PURGE && op->what == PURGE_ALL && !op->soft ? 0 : r->debt - 1;
	if (!r->debt)
		redis_settled(r);
}

static bool op_purges(const struct store_op *purge, const struct store_op *op)
{
	return purge->type == OP_PURGE && store_purges(purge->what, purge->key, purge->len, op->key, op->len);
}

/* Whether the operation concerns entries that a purge in progress, or one held behind it, covers. */
static bool redis_is_purging(const struct store_redis *r, const struct store_op *op)
{
	const struct store_op *held;

	if (op->type == OP_SETTLE || (op->type == OP_PURGE && op->what != PURGE_URL) || op_purges(r->scan, op))
		return true;
	TAILQ_FOREACH(held, &r->held, link)
		if (op_purges(held, op))
			return true;
	return false;
}

/* Until a purge has looked through all keys, operations on entries that it covers are held. Lookups are held for a
 * limited time, entries as long as there is room; after that they are answered or dropped. True: op was dealt with. */
static bool redis_holds(struct store_redis *r, struct store_op *op)
{
	if (!r->scan || !redis_is_purging(r, op))
		return false;
	if ((op->type == OP_GET && r->slow) || (op->type == OP_PUT && !redis_has_room(r))) {
		store_thread_done(&r->thread, op, NULL);
	} else {
		TAILQ_INSERT_TAIL(&r->held, op, link);
		r->n_held++;
		r->held_bytes += op_flying_bytes(op);
	}
	return true;
}

void redis_give_up_lookups(struct store_redis *r)
{
	struct store_op *op, *next;

	r->slow = true;
	for (op = TAILQ_FIRST(&r->held); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->type != OP_GET)
			continue;
		TAILQ_REMOVE(&r->held, op, link);
		r->n_held--;
		store_thread_done(&r->thread, op, NULL);
	}
	redis_pump(r);
}

static void redis_take_off(struct store_redis *r, struct store_op *op)
{
	if (redis_holds(r, op))
		return;
	redis_took_off(r, op);
	if (r->flying == 1)
		loop_arm(r->thread.loop, &r->watch, r->settings.timeout_ms);
	redis_do(r, op);
}

/* Called after every answer: the purge may be done, and then the held operations are sent. */
static void redis_release(struct store_redis *r)
{
	struct store_op_list held = TAILQ_HEAD_INITIALIZER(held);
	struct store_op *op;

	if (r->scan)
		return;
	r->slow = false;
	loop_disarm(r->thread.loop, &r->patience);
	TAILQ_CONCAT(&held, &r->held, link);
	r->n_held = r->held_bytes = 0;
	while ((op = TAILQ_FIRST(&held)) != NULL) {
		TAILQ_REMOVE(&held, op, link);
		if (r->up)
			redis_take_off(r, op);
		else
			store_thread_owe(&r->thread, op);
	}
}

/* An operation has ended while the connection is there. */
static void redis_go_on(struct store_redis *r)
{
	redis_release(r);
	if (r->up)
		loop_arm(r->thread.loop, &r->watch, r->flying || r->marks.learning ? r->settings.timeout_ms : 0);
	redis_pump(r);
	redis_check_end(r);
}

void redis_landed(struct store_redis *r, struct store_op *op, const redisReply *reply, struct entry *answer)
{
	redis_land(r, op);
	if (!reply || reply->type == REDIS_REPLY_ERROR)
		redis_count_error(r);
	if (!reply) {
		r->up = false;
		store_thread_owe(&r->thread, op);
		redis_release(r);
		return;
	}
	redis_pay(r, op);
	store_thread_done(&r->thread, op, answer);
	redis_go_on(r);
}

void redis_settled_here(struct store_redis *r, struct store_op *op)
{
	redis_land(r, op);
	redis_await(r, op);
	redis_go_on(r);
}

void redis_refused(struct store_redis *r, struct store_op *op, const char *why)
{
	redis_land(r, op);
	redis_count_error(r);
	store_thread_owe(&r->thread, op);
	if (r->connection)
		redis_drop(r, why);
	redis_release(r);
}

void redis_failed(struct store_redis *r, struct store_op *op)
{
	if (r->connection)
		redis_drop(r, "out of memory");
	redis_landed(r, op, NULL, NULL);
}

void redis_pump(struct store_redis *r)
{
	struct store_op *op;

	while (r->up && !r->over && (r->scan || redis_has_room(r)) && r->n_held < HELD_MAX && r->flying < FLIGHT_MAX &&
	    (op = store_thread_take(&r->thread)) != NULL)
		redis_take_off(r, op);
}
