/* Owns feeding arbitrary texts to what hears of other processes' pauses. Input: lines, each of them a text.
 * Invariants: what was read is written and read again alike; hearing it makes no news; a pause that was heard lasts a day at most; a resume of
 * all ends every pause. */
#include "proxy/origin/backoff_news.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW_MS = 1000000000 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void on_told(void *arg, const struct backoff_news *news)
{
	(void)arg;
	(void)news;
	abort();
}

static void on_shown(void *arg, const struct backoff_shown *shown)
{
	(void)arg;
	check(shown->until_ms <= NOW_MS + (uint64_t)BACKOFF_ASKED_MAX_S * 1000 && shown->began_ms <= NOW_MS);
}

static void read_again(const struct backoff_news *news)
{
	char room[BACKOFF_NEWS_TEXT_MAX];
	struct text t = text_on(room, sizeof room);
	struct backoff_news again;

	check(backoff_news_write(&t, news, NOW_MS) && backoff_news_read(&again, (struct slice){ t.bytes, t.len }, 0, NOW_MS));
	check(again.kind == news->kind && again.of == news->of && again.scope == news->scope && again.way == news->way &&
		again.parent == news->parent && again.since_ms == news->since_ms && again.until_ms == news->until_ms &&
		again.cause.status == news->cause.status && again.cause.why == news->cause.why && again.asked_for == news->asked_for &&
		again.plain == news->plain && again.doublings == news->doublings && again.space_ms == news->space_ms &&
		again.protocol == news->protocol && again.url.len == news->url.len && !memcmp(again.url.at, news->url.at, news->url.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct backoff *b = backoff_new();
	struct slice rest = { (const char *)data, size };
	const struct backoff_news all = { .kind = NEWS_RESUME, .scope = BACKOFF_ALL, .since_ms = NOW_MS };
	struct backoff_shown shown;
	struct backoff_news news;

	check(b);
	backoff_listen(b, on_told, NULL);
	while (rest.at) {
		struct slice text = slice_until(rest, '\n', &rest);

		if (!backoff_news_read(&news, text, 0, NOW_MS))
			continue;
		read_again(&news);
		backoff_hear(b, &news, NOW_MS);
		if (news.url.len)
			backoff_find(b, news.url, NOW_MS, &shown);
	}
	backoff_each(b, on_shown, NULL);
	backoff_hear(b, &all, NOW_MS);
	check(!backoff_find(b, (struct slice){ "http://origin.example/a", 23 }, NOW_MS, &shown));
	backoff_free(&b);
	return 0;
}
