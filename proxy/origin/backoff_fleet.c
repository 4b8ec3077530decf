/* Owns how backoff's news get to the other processes of a fleet, and from them; see backoff.h. Bounds: so many news a
 * second, of which those of URLs leave half to those of hosts. What is not told makes other processes less polite, and
 * nothing else. */
#include "proxy/base/stats.h"
#include "proxy/fleet/fleet.h"
#include "proxy/origin/backoff_internal.h"

#include <time.h>

static const char share_topic[] = "pause";

/* After a silence SHARE_MOST news may be told at once, and then one in SHARE_EVERY_MS. */
enum { SHARE_EVERY_MS = 50, SHARE_MOST = 400 };

static uint64_t share_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool share_may_tell(struct backoff *b, const struct backoff_news *news, uint64_t now_ms)
{
	bool of_one = news->kind == NEWS_RESUME ? news->scope == BACKOFF_URL : news->of != BACKOFF_OF_HOST;

	backoff_enter(b);
	uint64_t due_ms = b->share_due_ms > now_ms ? b->share_due_ms : now_ms;
	bool may = due_ms - now_ms < SHARE_EVERY_MS * SHARE_MOST / (of_one ? 2 : 1);
	if (may)
		b->share_due_ms = due_ms + SHARE_EVERY_MS;
	backoff_exit(b);
	return may;
}

static void share_on_told(void *arg, const struct backoff_news *news)
{
	struct backoff *b = arg;
	char room[BACKOFF_NEWS_TEXT_MAX];
	struct text t = text_on(room, sizeof room);
	uint64_t now_ms = share_now_ms();
	bool told = share_may_tell(b, news, now_ms) && backoff_news_write(&t, news, now_ms) &&
	    fleet_tell(b->fleet, share_topic, (struct slice){ t.bytes, t.len });

	atomic_fetch_add_explicit(told ? &b->share_told : &b->share_untold, 1, memory_order_relaxed);
}

static void share_on_heard(void *arg, struct slice text, uint64_t age_ms)
{
	struct backoff *b = arg;
	struct backoff_news news;
	uint64_t now_ms = share_now_ms();
	bool read = backoff_news_read(&news, text, age_ms, now_ms);

	if (read)
		backoff_hear(b, &news, now_ms);
	atomic_fetch_add_explicit(read ? &b->share_heard : &b->share_misheard, 1, memory_order_relaxed);
}

void backoff_share(struct backoff *b, struct fleet *fleet)
{
	if (!fleet)
		return;
	b->fleet = fleet;
	backoff_listen(b, share_on_told, b);
	fleet_listen(fleet, share_topic, share_on_heard, b);
}

void backoff_share_stats(struct backoff *b, struct stats_gauges *to)
{
	stats_tell(to, GAUGE_PAUSES_TOLD, atomic_load_explicit(&b->share_told, memory_order_relaxed));
	stats_tell(to, GAUGE_PAUSES_UNTOLD, atomic_load_explicit(&b->share_untold, memory_order_relaxed));
	stats_tell(to, GAUGE_PAUSES_HEARD, atomic_load_explicit(&b->share_heard, memory_order_relaxed));
	stats_tell(to, GAUGE_PAUSES_MISHEARD, atomic_load_explicit(&b->share_misheard, memory_order_relaxed));
}
