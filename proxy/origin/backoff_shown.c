/* Showing and ending what is remembered of origins; see backoff.h. */
#include <string.h>

#include "proxy/base/stats.h"
#include "proxy/base/text.h"
#include "proxy/origin/backoff_internal.h"

/* ---- showing ---- */

static void backoff_show(struct backoff_shown *shown, const struct backoff_entry *entry, bool host)
{
	*shown = (struct backoff_shown){ .host = host, .name = { entry->name, entry->len },
		.cause = { entry->status, (enum failure_kind)entry->why }, .asked_for = entry->asked_for,
		.began_ms = entry->began_ms, .until_ms = entry->until_ms, .saved = entry->saved };
}

/* A bucket at a time, so that nobody waits for long. */
static void backoff_each_of(struct backoff *b, struct backoff_table *table,
    void (*each)(void *arg, const struct backoff_shown *), void *arg)
{
	struct backoff_entry *entry;
	struct backoff_shown s;

	for (size_t i = 0; i < BACKOFF_BUCKETS; i++) {
		backoff_enter(b);
		LIST_FOREACH(entry, &table->buckets[i], link)
			if (entry->until_ms) {
				backoff_show(&s, entry, table == &b->hosts);
				each(arg, &s);
			}
		backoff_exit(b);
	}
}

void backoff_each(struct backoff *b, void (*each)(void *arg, const struct backoff_shown *), void *arg)
{
	if (backoff_is_idle(b))
		return;
	backoff_each_of(b, &b->hosts, each, arg);
	backoff_each_of(b, &b->urls, each, arg);
}

static void backoff_find_in(struct backoff_table *table, struct slice name, bool host, struct backoff_shown *shown)
{
	struct backoff_entry *entry = NULL;

	while ((entry = backoff_table_next(table, name, entry)))
		if (entry->until_ms > shown->until_ms)
			backoff_show(shown, entry, host);
}

bool backoff_find(struct backoff *b, struct slice url, uint64_t now_ms, struct backoff_shown *shown)
{
	struct backoff_host h;

	*shown = (struct backoff_shown){ .until_ms = now_ms };
	if (backoff_is_idle(b))
		return false;
	backoff_host_of(&h, url);
	backoff_enter(b);
	backoff_find_in(&b->urls, url, false, shown);
	backoff_find_in(&b->hosts, h.name, true, shown);
	backoff_exit(b);
	shown->name = url;
	return shown->until_ms > now_ms;
}

struct backoff_sum { uint64_t now_ms, paused[2]; };

static void backoff_sum_up(void *arg, const struct backoff_shown *shown)
{
	struct backoff_sum *sum = arg;

	sum->paused[shown->host] += shown->until_ms > sum->now_ms;
}

void backoff_stats(struct backoff *b, uint64_t now_ms, struct stats_gauges *to)
{
	struct backoff_sum sum = { .now_ms = now_ms };

	backoff_each(b, backoff_sum_up, &sum);
	stats_tell(to, GAUGE_PAUSED_URLS, sum.paused[false]);
	stats_tell(to, GAUGE_PAUSED_HOSTS, sum.paused[true]);
	backoff_share_stats(b, to);
}

/* ---- ending ---- */

/* Those that began later than before_ms go on. */
struct backoff_ending {
	enum backoff_scope scope;
	struct slice url;
	struct backoff_host host;
	uint64_t before_ms, now_ms;
};

static bool backoff_is_url_of(const struct backoff_entry *entry, const struct backoff_ending *by)
{
	struct backoff_host h;

	switch (by->scope) {
	case BACKOFF_PREFIX:
		return entry->len >= by->url.len && !memcmp(entry->name, by->url.at, by->url.len);
	case BACKOFF_HOST:
		backoff_host_of(&h, (struct slice){ entry->name, entry->len });
		return h.name.len == by->host.name.len && !memcmp(h.text, by->host.text, h.name.len);
	default:
		return by->scope == BACKOFF_ALL;
	}
}

static size_t backoff_end_one(struct backoff_table *table, struct backoff_entry *entry,
    const struct backoff_ending *by)
{
	bool paused = entry->until_ms > by->now_ms;

	if (entry->began_ms > by->before_ms)
		return 0;
	entry->other_until_ms = entry->space_ms = 0;
	backoff_turn_forget(entry);
	backoff_end(table, entry, by->now_ms);
	return paused;
}

static size_t backoff_end_named(struct backoff_table *table, struct slice name, const struct backoff_ending *by)
{
	struct backoff_entry *entry = backoff_table_next(table, name, NULL), *next;
	size_t n = 0;

	for (; entry; entry = next) {
		next = backoff_table_next(table, name, entry);
		n += backoff_end_one(table, entry, by);
	}
	return n;
}

static size_t backoff_end_all(struct backoff_table *table, const struct backoff_ending *by)
{
	struct backoff_entry *entry, *next;
	size_t n = 0;

	for (size_t i = 0; i < BACKOFF_BUCKETS; i++)
		for (entry = LIST_FIRST(&table->buckets[i]); entry; entry = next) {
			next = LIST_NEXT(entry, link);
			if (backoff_is_url_of(entry, by))
				n += backoff_end_one(table, entry, by);
		}
	return n;
}

static size_t backoff_resume_one(struct backoff *b, struct backoff_ending *by)
{
	size_t n;

	if (by->scope != BACKOFF_ALL)
		backoff_host_of(&by->host, by->url);
	backoff_enter(b);
	n = by->scope == BACKOFF_URL ? backoff_end_named(&b->urls, by->url, by) : backoff_end_all(&b->urls, by);
	n += by->scope == BACKOFF_ALL ? backoff_end_all(&b->hosts, by)
		: backoff_end_named(&b->hosts, by->host.name, by);
	backoff_exit(b);
	return n;
}

size_t backoff_resume_before(struct backoff *b, enum backoff_scope scope, struct slice url, uint64_t before_ms,
    uint64_t now_ms)
{
	struct backoff_ending by = { .scope = scope, .url = url, .before_ms = before_ms, .now_ms = now_ms };
	struct text secure = { 0 };

	if (backoff_is_idle(b))
		return 0;
	size_t n = backoff_resume_one(b, &by);
	if (scope == BACKOFF_ALL || url.at[4] != ':')
		return n;
	text_puts(&secure, "https");
	text_add(&secure, url.at + 4, url.len - 4);
	by.url = (struct slice){ secure.bytes, secure.len };
	if (!secure.failed)
		n += backoff_resume_one(b, &by);
	text_free(&secure);
	return n;
}

/* Other processes may have pauses of their own, of which this one does not know. */
size_t backoff_resume(struct backoff *b, enum backoff_scope scope, struct slice url, uint64_t now_ms)
{
	const struct backoff_news news = { .kind = NEWS_RESUME, .scope = scope,
		.url = scope == BACKOFF_ALL ? (struct slice){ "", 0 } : url, .since_ms = now_ms, .until_ms = now_ms };
	size_t n = backoff_resume_before(b, scope, url, UINT64_MAX, now_ms);

	backoff_tell(b, &news);
	return n;
}
