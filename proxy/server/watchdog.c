/* The watchdog; see watchdog.h. */
#include "proxy/server/watchdog.h"

#include <stdlib.h>

#include "proxy/base/log.h"
#include "proxy/server/notify.h"
#include "proxy/server/worker.h"

/* sd_watchdog_enabled(3) recommends half of the time. */
enum { WATCHDOG_PARTS = 2, US_PER_MS = 1000 };

static void watchdog_ask(struct watchdog *watchdog, struct worker **workers, size_t n, uint64_t now_ms)
{
	for (size_t i = 0; i < n; i++) {
		watchdog->turns[i] = worker_turns(workers[i]);
		worker_order(workers[i], WORKER_TURN);
	}
	watchdog->due_ms = now_ms + watchdog->every_ms;
}

int watchdog_start(struct watchdog *watchdog, const struct notify *notify, struct worker **workers, size_t n,
    uint64_t now_ms)
{
	*watchdog = (struct watchdog){ .every_ms = notify->watchdog_us / WATCHDOG_PARTS / US_PER_MS };
	if (notify->watchdog_us && !watchdog->every_ms)
		watchdog->every_ms = 1;
	if (!watchdog->every_ms)
		return 0;
	if (!(watchdog->turns = calloc(n, sizeof *watchdog->turns))) {
		log_error("watchdog: out of memory");
		return -1;
	}
	notify_watchdog(notify);
	watchdog_ask(watchdog, workers, n, now_ms);
	return 0;
}

static bool watchdog_is_stuck(struct watchdog *watchdog, struct worker **workers, size_t n)
{
	bool was = watchdog->stuck;

	watchdog->stuck = false;
	for (size_t i = 0; i < n; i++) {
		if (worker_turns(workers[i]) != watchdog->turns[i])
			continue;
		watchdog->stuck = true;
		if (!was)
			log_error("worker %zu has not turned for %llu ms: the service manager's watchdog is not told",
			    i, (unsigned long long)watchdog->every_ms);
	}
	return watchdog->stuck;
}

void watchdog_look(struct watchdog *watchdog, const struct notify *notify, struct worker **workers, size_t n,
    uint64_t now_ms)
{
	if (!watchdog->every_ms || now_ms < watchdog->due_ms)
		return;
	if (watchdog_is_stuck(watchdog, workers, n)) {
		watchdog->due_ms = now_ms + watchdog->every_ms;
		return;
	}
	notify_watchdog(notify);
	watchdog_ask(watchdog, workers, n, now_ms);
}

void watchdog_end(struct watchdog *watchdog)
{
	free(watchdog->turns);
	*watchdog = (struct watchdog){ 0 };
}
