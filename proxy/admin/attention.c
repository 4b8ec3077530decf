/* What an operator should look at first; see attention.h. */
#include "proxy/admin/attention.h"

#include <stdarg.h>
#include <stdio.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/admin/feed_standing.h"
#include "proxy/origin/backoff.h"
#include "proxy/cache/cache.h"
#include "proxy/settings/reload_report.h"

struct attention_list {
	struct attention *all;
	size_t n;
};

/* Adds one of which there are so many; none: nothing is added. fmt: a sentence, as by printf. */
__attribute__((format(printf, 6, 7))) static void attention_add(struct attention_list *list, const char *kind,
    bool bad, const char *where, uint64_t count, const char *fmt, ...)
{
	struct attention *one = &list->all[list->n];
	va_list args;

	if (!count)
		return;
	*one = (struct attention){ .kind = kind, .where = where, .bad = bad, .count = count };
	va_start(args, fmt);
	vsnprintf(one->text, sizeof one->text, fmt, args);
	va_end(args);
	list->n++;
}

/* A count and its noun, for a sentence. */
#define ATTENTION_MANY(n, thing) (unsigned long long)(n), (n) == 1 ? thing : thing "s"
#define MANY "%llu %s"

static void attention_process(struct attention_list *list, struct admin *admin, const struct stats_gauges *gauges)
{
	size_t stuck = admin_stuck(admin);
	const struct reload_report *last = admin->report;

	attention_add(list, "workers_stuck", true, "/healthz", stuck, MANY " stuck: its loop does not turn.",
	    ATTENTION_MANY(stuck, "worker"));
	attention_add(list, "draining", true, "/readyz", atomic_load(&admin->leaving),
	    "utfeed is ending. New clients are sent elsewhere.");
	attention_add(list, "store_away", true, "/readyz", gauges->of[GAUGE_SECOND_AWAY].value,
	    "The store behind memory cannot be reached. utfeed serves without it.");
	attention_add(list, "reload_refused", true, "/api/config", last && last->result == RELOAD_REFUSED,
	    "The last reload was refused. The former configuration stays in force.");
	attention_add(list, "restart_waits", false, "/api/config", last ? last->n_waiting : 0,
	    MANY " changed, in force only after a restart.", ATTENTION_MANY(last ? last->n_waiting : 0, "option"));
}

static void attention_origins(struct attention_list *list, const struct feeds_tally *tally,
    const struct history_sample *hour, const struct stats_gauges *gauges)
{
	uint64_t hosts = gauges->of[GAUGE_PAUSED_HOSTS].value, urls = gauges->of[GAUGE_PAUSED_URLS].value;

	attention_add(list, "feeds_kept", true, "/feeds?kept=1", tally->kept,
	    MANY " kept: the origin fails, and readers get the last good feed.", ATTENTION_MANY(tally->kept, "feed"));
	attention_add(list, "hosts_paused", true, "/paused", hosts,
	    MANY " paused: utfeed asks nothing there now.", ATTENTION_MANY(hosts, "host"));
	attention_add(list, "urls_paused", true, "/paused", urls, MANY " paused: utfeed does not ask now.",
	    ATTENTION_MANY(urls, "URL"));
	attention_add(list, "errors", true, "/feeds?sort=errors", hour->errors,
	    MANY " of the last hour: utfeed had no feed to answer with, or had to cut it.",
	    ATTENTION_MANY(hour->errors, "error"));
	attention_add(list, "mislabelled", false, "/feeds?mislabelled=1", tally->mislabelled,
	    MANY " mislabelled, of " MANY ". utfeed corrects them for readers; the publishers can do so for all.",
	    ATTENTION_MANY(tally->mislabelled, "feed"), ATTENTION_MANY(tally->publishers, "publisher"));
}

size_t attention_read(struct attention all[ATTENTION_MAX], struct admin *admin, const struct feeds_tally *tally,
    const struct history_sample *hour)
{
	struct attention_list list = { all, 0 };
	struct stats_gauges gauges = { 0 };

	cache_stats(admin->parts.cache, &gauges);
	backoff_stats(admin->parts.backoff, loop_now_ms(admin->loop), &gauges);
	attention_process(&list, admin, &gauges);
	attention_origins(&list, tally, hour, &gauges);
	return list.n;
}
