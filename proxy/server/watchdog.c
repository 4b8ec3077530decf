/* The watchdog; see watchdog.h. */
#include "proxy/server/watchdog.h"

#include <stdlib.h>

#include "proxy/base/log.h"
#include "proxy/server/notify.h"
#include "proxy/server/worker.h"

/* sd_watchdog_enabled(3) recommends half of the time. */
enum { WATCHDOG_PARTS = 2, US_PER_MS = 1000 };

static void watchdog_ask(struct watchdog *d, struct worker **workers, size_t n, uint64_t now_ms)
{
	for (size_t i = 0; i < n; i++) {
		d->turns[i] = worker_turns(workers[i]);
		worker_order(workers[i], WORKER_TURN);
	}
	d->due_ms = now_ms + d->every_ms;
}

int watchdog_start(struct watchdog *d, const struct notify *notify, struct worker **workers, size_t n, uint64_t now_ms)
{
	*d = (struct watchdog){ .every_ms = notify->watchdog_us / WATCHDOG_PARTS / US_PER_MS };
	if (notify->watchdog_us && !d->every_ms)
		d->every_ms = 1;
	if (!d->every_ms)
		return 0;
	if (!(d->turns = calloc(n, sizeof *d->turns))) {
		log_error("watchdog: out of memory");
		return -1;
	}
	notify_watchdog(notify);
	watchdog_ask(d, workers, n, now_ms);
	return 0;
}

static bool watchdog_is_stuck(struct watchdog *d, struct worker **workers, size_t n)
{
	bool was = d->stuck;

	d->stuck = false;
	for (size_t i = 0; i < n; i++) {
		if (worker_turns(workers[i]) != d->turns[i])
			continue;
		d->stuck = true;
		if (!was)
			log_error("worker %zu has not turned for %llu ms: the service manager's watchdog is not told",
			    i, (unsigned long long)d->every_ms);
	}
	return d->stuck;
}

void watchdog_look(struct watchdog *d, const struct notify *notify, struct worker **workers, size_t n, uint64_t now_ms)
{
	if (!d->every_ms || now_ms < d->due_ms)
		return;
	if (watchdog_is_stuck(d, workers, n)) {
		d->due_ms = now_ms + d->every_ms;
		return;
	}
	notify_watchdog(notify);
	watchdog_ask(d, workers, n, now_ms);
}

void watchdog_end(struct watchdog *d)
{
	free(d->turns);
	*d = (struct watchdog){ 0 };
}
