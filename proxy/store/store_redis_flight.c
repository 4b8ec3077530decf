/* Owns the operations of the Redis store that are on their way or held until a purge has looked through all keys, and
 * how each ends: answered, owed again, or given up. Must not know: commands, replies' contents.
 * Invariant: an operation that was taken from the queue is either held or flying, until it is done or owed. */
#include "proxy/store/store_redis_internal.h"

enum { FLIGHT_MAX = 1024, FLIGHT_MAX_BYTES = 32 << 20, HELD_MAX = 16384 };

void redis_count_error(struct store_redis *redis)
{
	static const struct store_stats one = { .errors = 1 };

	store_thread_count(&redis->thread, &one);
}

static size_t op_flying_bytes(const struct store_op *op)
{
	return op->entry ? op->entry->bytes : 0;
}

static void redis_land(struct store_redis *redis, const struct store_op *op)
{
	redis->flying--;
	redis->flying_bytes -= op_flying_bytes(op);
	if (redis->scan == op)
		redis->scan = NULL;
}

void redis_make_removal(struct store_redis *redis, struct store_op *op)
{
	redis->flying_bytes -= op_flying_bytes(op);
	store_op_make_removal(op);
}

static bool redis_has_room(const struct store_redis *redis)
{
	return redis->flying + redis->n_held < FLIGHT_MAX && redis->flying_bytes + redis->held_bytes < FLIGHT_MAX_BYTES;
}

bool redis_is_idle(struct store_redis *redis)
{
	return !redis->flying && store_thread_is_idle(&redis->thread);
}

/* Counts a removal against the debt; the removal of everything pays all of it. */
static void redis_pay(struct store_redis *redis, const struct store_op *op)
{
	if (!redis->debt || (op->type != OP_REMOVE && op->type != OP_PURGE))
		return;
	redis->debt = op->type == OP_PURGE && op->what == PURGE_ALL && !op->soft ? 0 : redis->debt - 1;
	if (!redis->debt)
		redis_settled(redis);
}

static bool op_purges(const struct store_op *purge, const struct store_op *op)
{
	return purge->type == OP_PURGE && store_purges(purge->what, purge->key, purge->len, op->key, op->len);
}

/* Whether the operation concerns entries that a purge in progress, or one held behind it, covers. */
static bool redis_is_purging(const struct store_redis *redis, const struct store_op *op)
{
	const struct store_op *held;

	if (op->type == OP_SETTLE || (op->type == OP_PURGE && op->what != PURGE_URL) || op_purges(redis->scan, op))
		return true;
	TAILQ_FOREACH(held, &redis->held, link)
		if (op_purges(held, op))
			return true;
	return false;
}

/* Until a purge has looked through all keys, operations on entries that it covers are held. Lookups are held for a
 * limited time, and then miss. Entries are held as long as there is room, and else dropped. */
static void redis_hold(struct store_redis *redis, struct store_op *op)
{
	if ((op->type == OP_GET && redis->slow) || (op->type == OP_PUT && !redis_has_room(redis))) {
		store_thread_done(&redis->thread, op, NULL);
	} else {
		TAILQ_INSERT_TAIL(&redis->held, op, link);
		redis->n_held++;
		redis->held_bytes += op_flying_bytes(op);
	}
}

void redis_give_up_lookups(struct store_redis *redis)
{
	struct store_op *op, *next;

	redis->slow = true;
	for (op = TAILQ_FIRST(&redis->held); op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->type != OP_GET)
			continue;
		TAILQ_REMOVE(&redis->held, op, link);
		redis->n_held--;
		store_thread_done(&redis->thread, op, NULL);
	}
	redis_pump(redis);
}

/* A lease for what is being purged is refused: what this process would store is held till the purge ends, and the
 * others would wait for it as long. So a response may be fetched here and once more by the others. */
static void redis_take_off(struct store_redis *redis, struct store_op *op)
{
	bool purging = redis->scan && (op->type != OP_CALL || redis_call_sees(op)) && redis_is_purging(redis, op);

	if (op->type == OP_CALL && (purging || !redis_call_may_be(redis, op))) {
		store_thread_done(&redis->thread, op, NULL);
		return;
	}
	if (purging) {
		redis_hold(redis, op);
		return;
	}
	redis->flying_bytes += op_flying_bytes(op);
	if (++redis->flying == 1)
		redis_link_watch(&redis->link, true);
	redis_do(redis, op);
}

/* Called after every answer: the purge may be done, and then the held operations are sent. */
static void redis_release(struct store_redis *redis)
{
	struct store_op_list held = TAILQ_HEAD_INITIALIZER(held);
	struct store_op *op;

	if (redis->scan)
		return;
	redis->slow = false;
	loop_disarm(redis->thread.loop, &redis->patience);
	TAILQ_CONCAT(&held, &redis->held, link);
	redis->n_held = redis->held_bytes = 0;
	while ((op = TAILQ_FIRST(&held)) != NULL) {
		TAILQ_REMOVE(&held, op, link);
		if (redis->up)
			redis_take_off(redis, op);
		else
			store_thread_owe(&redis->thread, op);
	}
}

/* An operation has ended while the connection is there. */
static void redis_go_on(struct store_redis *redis)
{
	redis_release(redis);
	if (redis->up)
		redis_link_watch(&redis->link, redis->flying || redis->marks.learning);
	redis_pump(redis);
	redis_check_end(redis);
}

void redis_landed(struct store_redis *redis, struct store_op *op, const redisReply *reply, struct entry *answer)
{
	redis_land(redis, op);
	if (!reply || reply->type == REDIS_REPLY_ERROR)
		redis_count_error(redis);
	if (!reply) {
		redis->up = false;
		store_thread_owe(&redis->thread, op);
		redis_release(redis);
		return;
	}
	redis_pay(redis, op);
	store_thread_done(&redis->thread, op, answer);
	redis_go_on(redis);
}

void redis_settled_here(struct store_redis *redis, struct store_op *op)
{
	redis_land(redis, op);
	redis_await(redis, op);
	redis_go_on(redis);
}

void redis_refused(struct store_redis *redis, struct store_op *op, const char *why)
{
	redis_land(redis, op);
	redis_count_error(redis);
	store_thread_owe(&redis->thread, op);
	if (redis->link.connection)
		redis_link_drop(&redis->link, why);
	redis_release(redis);
}

void redis_failed(struct store_redis *redis, struct store_op *op)
{
	if (redis->link.connection)
		redis_link_drop(&redis->link, "out of memory");
	redis_landed(redis, op, NULL, NULL);
}

void redis_pump(struct store_redis *redis)
{
	struct store_op *op;

	while (redis->up && !redis->over && (redis->scan || redis_has_room(redis)) && redis->n_held < HELD_MAX &&
	    redis->flying < FLIGHT_MAX && (op = store_thread_take(&redis->thread)) != NULL)
		redis_take_off(redis, op);
}
