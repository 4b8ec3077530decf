/* Purging; see purge.h. */
#include "proxy/cache/purge.h"

#include <assert.h>
#include <stdlib.h>

#include "proxy/base/container_of.h"
#include "proxy/base/text.h"
#include "proxy/origin/backoff.h"

bool purge_read(struct purge *wanted, struct slice words)
{
	static const struct { const char *word; struct purge purge; } kinds[] = {
		{ "url", { PURGE_URL, false, false } }, { "prefix", { PURGE_PREFIX, false, false } },
		{ "host", { PURGE_PREFIX, true, false } },
		{ "all", { PURGE_ALL, false, false } }, { "soft", { PURGE_URL, false, true } },
	};
	struct slice rest, word = slice_until(words, ',', &rest);

	*wanted = kinds[0].purge;
	if (!word.len)
		return !rest.at;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (slice_is(word, kinds[i].word)) {
			*wanted = kinds[i].purge;
			wanted->soft |= rest.at != NULL;
			return !rest.at || slice_is(slice_trim(rest), "soft");
		}
	return false;
}

static enum backoff_scope purge_scope(const struct purge *purge)
{
	if (purge->what == PURGE_PREFIX)
		return purge->host ? BACKOFF_HOST : BACKOFF_PREFIX;
	return purge->what == PURGE_ALL ? BACKOFF_ALL : BACKOFF_URL;
}

int purge_run(const struct purge *purge, struct cache *cache, struct backoff *backoff, const struct destination *to,
    int64_t now, uint64_t steady_ms, struct purge_begun *begun)
{
	struct text url = { 0 };

	if (to)
		destination_url(&url, to);
	bool failed = url.failed;
	if (!failed) {
		const char *at = url.bytes ? url.bytes : "";
		size_t len = purge->host ? url.len - (to->path_len - 1) : url.len;

		begun->count = cache_purge(cache, purge->what, at, len, purge->soft, now, &begun->number);
		begun->behind = cache_behind(cache, purge->what, at, len);
		cache_forget_hit_for_miss(cache);
		backoff_resume(backoff, purge_scope(purge), (struct slice){ url.bytes, url.len }, steady_ms);
	}
	text_free(&url);
	return failed ? -1 : 0;
}

static void purge_look(struct purge_wait *wait)
{
	if (wait->settles || wait->sweeps)
		return;
	loop_disarm(wait->sweeper->loop, &wait->timer);
	wait->done(wait);
}

static void purge_on_settled(struct store_wait *wait, struct entry *none)
{
	struct purge_wait *purge_wait = container_of(wait, struct purge_wait, wait);

	(void)none;
	purge_wait->settles = false;
	purge_wait->owed = wait->owed;
	purge_look(purge_wait);
}

static void purge_on_swept(struct sweep_wait *sweep, int64_t count)
{
	struct purge_wait *wait = container_of(sweep, struct purge_wait, sweep);

	wait->sweeps = false;
	wait->count = count;
	purge_look(wait);
}

/* Lets go of whatever has not come yet. */
static void purge_let_go(struct purge_wait *wait)
{
	if (wait->sweeps)
		sweeper_forget(&wait->sweep);
	cache_cancel(wait->sweeper->cache, &wait->wait);
	loop_disarm(wait->sweeper->loop, &wait->timer);
}

static void on_too_late(struct timer *timer)
{
	struct purge_wait *wait = container_of(timer, struct purge_wait, timer);

	purge_let_go(wait);
	wait->owed = wait->settles;
	wait->others = wait->wait.others;
	wait->unaware = wait->wait.unaware;
	wait->counting = wait->sweeps;
	if (wait->sweeps)
		cache_purged(wait->sweeper->cache, wait->sweep.number, &wait->count);
	wait->settles = wait->sweeps = false;
	wait->done(wait);
}

int purge_wait_new(struct purge_wait **wp, struct sweeper *sweeper, struct purge_begun *begun, uint64_t limit_ms)
{
	struct purge_wait *wait = *wp = calloc(1, sizeof *wait);
	struct store *behind = begun->behind;

	if (!wait)
		return -1;
	wait->sweeper = sweeper;
	wait->count = begun->count;
	if (begun->count < 0) {
		sweeper_begin(sweeper);
		wait->sweep = (struct sweep_wait){ .number = begun->number, .swept = purge_on_swept };
		wait->sweeps = !sweeper_wait(sweeper, &wait->sweep, &wait->count);
	}
	wait->wait.loop = sweeper->loop;
	wait->wait.got = purge_on_settled;
	wait->timer.fire = on_too_late;
	wait->settles = behind && behind->ops->settle(behind, &wait->wait) == SETTLING_WAIT;
	begun->count = wait->count;
	if (wait->settles || wait->sweeps) {
		loop_arm(sweeper->loop, &wait->timer, limit_ms);
		return 0;
	}
	free(wait);
	*wp = NULL;
	return 0;
}

void purge_wait_free(struct purge_wait **wp)
{
	struct purge_wait *wait = *wp;

	if (!wait)
		return;
	purge_let_go(wait);
	assert(task_is_out(&wait->wait.task));
	free(wait);
	*wp = NULL;
}
