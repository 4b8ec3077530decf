/* Owns how the Redis store begins and ends its connection, and what a loss of it means to the store. Must not know:
 * operations, how the connection is made (store_redis_link.c). Invariants: up is set only between the server's answer
 * to the greeting and the loss of the connection. Operations wait from the start until it is known whether a server is
 * there, which takes cache-redis-timeout at most. */
#include "proxy/store/store_redis_internal.h"

#include "proxy/base/container_of.h"

static struct store_redis *redis_of_link(struct redis_link *link)
{
	return container_of(link, struct store_redis, link);
}

static void redis_greeted(struct redis_link *link)
{
	redis_learn(redis_of_link(link));
}

static void redis_lost(struct redis_link *link)
{
	struct store_redis *redis = redis_of_link(link);

	redis->up = false;
	if (link->known)
		store_thread_set_away(&redis->thread, true);
	redis_marks_lost(redis);
	redis_hear_lost(redis);
	if (!link->closed)
		redis_count_error(redis);
}

void redis_joined(struct store_redis *redis)
{
	redis->up = redis->link.known = true;
	loop_disarm(redis->thread.loop, &redis->doubt);
	redis_link_watch(&redis->link, false);
	redis_hear_begin(redis);
	redis->debt = store_thread_owed(&redis->thread);
	if (redis->debt) {
		store_thread_set_away(&redis->thread, true);
	} else {
		store_thread_ask_again(&redis->thread);
		redis_settled(redis);
	}
	redis_pump(redis);
	redis_check_end(redis);
}

void redis_settled(struct store_redis *redis)
{
	store_thread_set_away(&redis->thread, false);
	redis_link_works(&redis->link);
}

static void redis_leave(struct store_redis *redis)
{
	redis->over = true;
	loop_disarm(redis->thread.loop, &redis->last);
	loop_disarm(redis->thread.loop, &redis->patience);
	loop_disarm(redis->thread.loop, &redis->doubt);
	redis_link_close(&redis->link);
	redis_hear_lost(redis);
	loop_disarm(redis->thread.loop, &redis->marks.timer);
	store_thread_leave(&redis->thread);
}

static void on_last(struct timer *timer)
{
	redis_leave(container_of(timer, struct store_redis, last));
}

/* A server that is silent at the start counts as away from now on, as it does later. */
static void on_doubt(struct timer *timer)
{
	struct store_redis *redis = container_of(timer, struct store_redis, doubt);

	redis->link.known = true;
	store_thread_set_away(&redis->thread, true);
}

static void on_patience(struct timer *timer)
{
	redis_give_up_lookups(container_of(timer, struct store_redis, patience));
}

static void on_parted(redisAsyncContext *ac, void *answer, void *arg)
{
	struct store_redis *redis = arg;

	(void)ac, (void)answer;
	if (!redis->over)
		redis_leave(redis);
}

/* Other processes do not wait any more for this one to know of their purges. */
static void redis_part(struct store_redis *redis)
{
	if (redis->parted)
		return;
	redis->parted = true;
	redis_send_part(redis, on_parted, redis);
}

void redis_check_end(struct store_redis *redis)
{
	if (!redis->ending || redis->over || !redis_is_idle(redis))
		return;
	if (redis->up)
		redis_part(redis);
	else
		redis_leave(redis);
}

void redis_connect(struct store_redis *redis)
{
	static const struct redis_link_work work = { .greeted = redis_greeted, .lost = redis_lost };

	redis->last.fire = on_last;
	redis->patience.fire = on_patience;
	redis->doubt.fire = on_doubt;
	loop_arm(redis->thread.loop, &redis->doubt, redis->access->settings.timeout_ms);
	redis_link_open(&redis->link, redis->access, redis->thread.loop, &work);
}

void redis_disconnect(struct store_redis *redis)
{
	if (redis->ending)
		return;
	redis->ending = redis->link.hurries = true;
	loop_arm(redis->thread.loop, &redis->last, redis->access->settings.timeout_ms);
	redis_check_end(redis);
	if (!redis->over && !redis->link.connection)
		redis_link_connect(&redis->link);
}
