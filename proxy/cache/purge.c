/* Purging; see purge.h. */
#include "proxy/cache/purge.h"

#include <assert.h>
#include <stdlib.h>

#include "proxy/base/container_of.h"
#include "proxy/base/text.h"
#include "proxy/origin/backoff.h"

bool purge_read(struct purge *p, struct slice words)
{
	static const struct { const char *word; struct purge purge; } kinds[] = {
		{ "url", { PURGE_URL, false, false } }, { "prefix", { PURGE_PREFIX, false, false } },
		{ "host", { PURGE_PREFIX, true, false } },
		{ "all", { PURGE_ALL, false, false } }, { "soft", { PURGE_URL, false, true } },
	};
	struct slice rest, word = slice_until(words, ',', &rest);

	*p = kinds[0].purge;
	if (!word.len)
		return !rest.at;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (slice_is(word, kinds[i].word)) {
			*p = kinds[i].purge;
			p->soft |= rest.at != NULL;
			return !rest.at || slice_is(slice_trim(rest), "soft");
		}
	return false;
}

static enum backoff_scope purge_scope(const struct purge *p)
{
	if (p->what == PURGE_PREFIX)
		return p->host ? BACKOFF_HOST : BACKOFF_PREFIX;
	return p->what == PURGE_ALL ? BACKOFF_ALL : BACKOFF_URL;
}

int purge_run(const struct purge *p, struct cache *cache, struct backoff *backoff, const struct destination *to,
    int64_t now, uint64_t steady_ms, struct purge_begun *begun)
{
	struct text url = { 0 };
	bool failed;

	if (to)
		destination_url(&url, to);
	failed = url.failed;
	if (!failed) {
		begun->count = cache_purge(cache, p->what, url.bytes ? url.bytes : "",
		    p->host ? url.len - (to->path_len - 1) : url.len, p->soft, now, &begun->number);
		cache_forget_hit_for_miss(cache);
		backoff_resume(backoff, purge_scope(p), (struct slice){ url.bytes, url.len }, steady_ms);
	}
	text_free(&url);
	return failed ? -1 : 0;
}

static void purge_look(struct purge_wait *w)
{
	if (w->settles || w->sweeps)
		return;
	loop_disarm(w->sweeper->loop, &w->timer);
	w->done(w);
}

static void purge_on_settled(struct store_wait *wait, struct entry *none)
{
	struct purge_wait *w = container_of(wait, struct purge_wait, wait);

	(void)none;
	w->settles = false;
	w->owed = wait->owed;
	purge_look(w);
}

static void purge_on_swept(struct sweep_wait *sweep, int64_t count)
{
	struct purge_wait *w = container_of(sweep, struct purge_wait, sweep);

	w->sweeps = false;
	w->count = count;
	purge_look(w);
}

/* Lets go of whatever has not come yet. */
static void purge_let_go(struct purge_wait *w)
{
	if (w->sweeps)
		sweeper_forget(&w->sweep);
	cache_cancel(w->sweeper->cache, &w->wait);
	loop_disarm(w->sweeper->loop, &w->timer);
}

static void on_too_late(struct timer *t)
{
	struct purge_wait *w = container_of(t, struct purge_wait, timer);

	purge_let_go(w);
	w->owed = w->settles;
	w->counting = w->sweeps;
	if (w->sweeps)
		cache_purged(w->sweeper->cache, w->sweep.number, &w->count);
	w->settles = w->sweeps = false;
	w->done(w);
}

int purge_wait_new(struct purge_wait **wp, struct sweeper *sweeper, struct purge_begun *begun)
{
	struct purge_wait *w = *wp = calloc(1, sizeof *w);

	if (!w)
		return -1;
	w->sweeper = sweeper;
	w->count = begun->count;
	if (begun->count < 0) {
		sweeper_begin(sweeper);
		w->sweep = (struct sweep_wait){ .number = begun->number, .swept = purge_on_swept };
		w->sweeps = !sweeper_wait(sweeper, &w->sweep, &w->count);
	}
	w->wait.loop = sweeper->loop;
	w->wait.got = purge_on_settled;
	w->timer.fire = on_too_late;
	w->settles = cache_settle(sweeper->cache, &w->wait);
	begun->count = w->count;
	if (w->settles || w->sweeps) {
		loop_arm(sweeper->loop, &w->timer, PURGE_WAIT_MS);
		return 0;
	}
	free(w);
	*wp = NULL;
	return 0;
}

void purge_wait_free(struct purge_wait **wp)
{
	struct purge_wait *w = *wp;

	if (!w)
		return;
	purge_let_go(w);
	assert(task_is_out(&w->wait.task));
	free(w);
	*wp = NULL;
}
