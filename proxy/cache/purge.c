/* Purging; see purge.h. */
#include "proxy/cache/purge.h"

#include <assert.h>
#include <stdlib.h>

#include "proxy/base/container_of.h"
#include "proxy/base/text.h"

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

int64_t purge_run(const struct purge *p, struct cache *cache, const struct destination *to, int64_t now)
{
	struct text url = { 0 };
	int64_t n = -1;

	if (to)
		destination_url(&url, to);
	if (!url.failed) {
		cache_forget_hit_for_miss(cache);
		n = cache_purge(cache, p->what, url.bytes ? url.bytes : "",
		    p->host ? url.len - (to->path_len - 1) : url.len, p->soft, now);
	}
	text_free(&url);
	return n;
}

static void purge_on_settled(struct store_wait *wait, struct entry *none)
{
	struct purge_wait *w = container_of(wait, struct purge_wait, wait);

	(void)none;
	loop_disarm(wait->loop, &w->timer);
	w->done(w, wait->owed);
}

static void on_too_late(struct timer *t)
{
	struct purge_wait *w = container_of(t, struct purge_wait, timer);

	cache_cancel(w->cache, &w->wait);
	w->done(w, true);
}

int purge_wait_new(struct purge_wait **wp, struct cache *cache, struct loop *loop)
{
	struct purge_wait *w = *wp = calloc(1, sizeof *w);

	if (!w)
		return -1;
	w->cache = cache;
	w->wait.loop = loop;
	w->wait.got = purge_on_settled;
	w->timer.fire = on_too_late;
	if (cache_settle(cache, &w->wait)) {
		loop_arm(loop, &w->timer, PURGE_WAIT_MS);
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
	cache_cancel(w->cache, &w->wait);
	loop_disarm(w->wait.loop, &w->timer);
	assert(task_is_out(&w->wait.task));
	free(w);
	*wp = NULL;
}
