/* What is going on, for programs: /api/status as JSON, and /api/top as lines for `utfeed top`; see admin_internal.h. */
#include <stdlib.h>
#include <string.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/admin/attention.h"
#include "proxy/admin/feeds_page.h"
#include "proxy/base/json.h"
#include "proxy/base/url_secrets.h"
#include "proxy/report/visible.h"

struct status {
	struct history_sample now, hour;
	struct feeds_tally tally;
	struct attention all[ATTENTION_MAX];
	size_t n;
};

static void status_read(struct status *status, struct admin *admin)
{
	admin_sample(admin, &status->now);
	status->hour = history_since(&admin->history, &status->now);
	feeds_tally_read(&status->tally, admin->parts.feeds, status->now.at);
	status->n = attention_read(status->all, admin, &status->tally, &status->hour);
}

/* ---- JSON ---- */

static void status_write_quantiles(struct json *j, const struct history_sample *sample)
{
	json_decimal(j, "p50_ms", history_quantile_ms(sample, .5));
	json_decimal(j, "p95_ms", history_quantile_ms(sample, .95));
	json_decimal(j, "p99_ms", history_quantile_ms(sample, .99));
}

static void status_write_history(struct json *j, const struct history *history)
{
	json_open_list(j, "history");
	for (size_t i = 0; i < history_steps(history); i++) {
		struct history_sample s = history_step(history, i);

		json_open(j, NULL);
		json_number(j, "at", (uint64_t)s.at);
		json_number(j, "requests", s.requests);
		json_number(j, "hits", s.hits);
		json_number(j, "errors", s.errors);
		json_number(j, "bytes", s.bytes);
		json_number(j, "answers", s.timed);
		json_decimal(j, "mean_ms", history_mean_ms(&s));
		status_write_quantiles(j, &s);
		json_number(j, "resident_bytes", s.resident);
		json_close(j);
	}
	json_close_list(j);
}

static void status_write_attention(struct json *j, const struct status *status)
{
	json_open_list(j, "attention");
	for (size_t i = 0; i < status->n; i++) {
		json_open(j, NULL);
		json_string(j, "kind", status->all[i].kind);
		json_bool(j, "bad", status->all[i].bad);
		json_number(j, "count", status->all[i].count);
		json_string(j, "text", status->all[i].text);
		json_close(j);
	}
	json_close_list(j);
}

void admin_api_status(struct admin_exchange *x)
{
	struct admin *admin = x->admin;
	struct status status;

	status_read(&status, admin);
	struct json j = api_json_begin(x);

	json_string(&j, "version", PACKAGE_VERSION);
	json_string(&j, "instance", admin->instance);
	json_number(&j, "started", (uint64_t)admin->started_at);
	json_number(&j, "now", (uint64_t)status.now.at);
	json_number(&j, "workers", admin->parts.n_workers);
	json_number(&j, "workers_stuck", admin_stuck(admin));
	json_bool(&j, "draining", atomic_load(&admin->leaving));
	json_number(&j, "requests", status.now.requests);
	json_number(&j, "hits", status.now.hits);
	json_number(&j, "errors", status.now.errors);
	json_number(&j, "bytes_to_clients", status.now.bytes);
	json_number(&j, "resident_bytes", status.now.resident);
	json_number(&j, "feeds", status.tally.feeds);
	json_number(&j, "feeds_mislabelled", status.tally.mislabelled);
	json_number(&j, "publishers_mislabelled", status.tally.publishers);
	json_number(&j, "feeds_kept", status.tally.kept);
	status_write_attention(&j, &status);
	json_open(&j, "last_hour");
	json_number(&j, "answers", status.hour.timed);
	status_write_quantiles(&j, &status.hour);
	json_close(&j);
	json_number(&j, "history_step_s", HISTORY_STEP_S);
	status_write_history(&j, &admin->history);
	api_json_end(&j);
}

/* ---- lines: a name, a tab, and values between tabs (proxy/command/top.c) ---- */

static void top_number(FILE *out, const char *name, uint64_t n)
{
	fprintf(out, "%s\t%llu\n", name, (unsigned long long)n);
}

/* What was added in a span of time. "-" stands for the times if none was measured. */
static void top_span(FILE *out, const char *name, const struct history_sample *added, int64_t seconds)
{
	static const double shares[] = { .5, .95, .99 };

	fprintf(out, "%s\t%lld\t%llu\t%llu\t%llu\t%llu", name, (long long)seconds, (unsigned long long)added->requests,
	    (unsigned long long)added->hits, (unsigned long long)added->errors, (unsigned long long)added->bytes);
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
		if (added->timed)
			fprintf(out, "\t%.2f", history_quantile_ms(added, shares[i]));
		else
			fputs("\t-", out);
	}
	putc('\n', out);
}

static void top_spans(FILE *out, const struct admin *admin, const struct status *status)
{
	struct history_sample minute = { 0 };
	int64_t end = history_latest(&admin->history);
	int64_t seconds = history_between(&admin->history, end - 60, end, &minute);

	top_span(out, "minute", &minute, seconds);
	top_span(out, "hour", &status->hour,
	    status->now.at - (end ? history_earliest(&admin->history) : admin->started_at));
	top_span(out, "start", &status->now, status->now.at - admin->started_at);
}

static void top_feed(FILE *out, const struct feed_seen *feed, const struct feeds_now *now)
{
	struct feed_standing standing;
	char url[URL_SHOWN_MAX];

	feed_standing_read(&standing, feed, now);
	url_show(url, feed->url, strlen(feed->url));
	fprintf(out, "feed\t%llu\t%llu\t%llu\t%d\t%s\t%s\t%s\t", (unsigned long long)feed->requests,
	    (unsigned long long)feed->hits, (unsigned long long)feed->errors, feed->status,
	    feed_standing_word(standing.word), feed->charset ? feed->charset : feed->reason ? feed->reason : "-",
	    !feed_is_mislabelled(feed) ? "-" : feed->unlabelled ? "none" : feed->was);
	visible_bytes(out, url);
	putc('\n', out);
}

enum { TOP_FEEDS_MAX = 200 };

void admin_api_top(struct admin_exchange *x)
{
	struct admin *admin = x->admin;
	struct feed_seen *list[TOP_FEEDS_MAX];
	struct feeds_asked asked;
	struct feeds_count count;
	struct status status;
	const char *wrong = feeds_asked_read(&asked, x->query, admin->parts.feeds,
	    feeds_now(admin->loop, admin->parts.backoff));
	size_t n;

	if (wrong) {
		admin_answer_plainly(x, 400, wrong);
		return;
	}
	if (asked.query.max > TOP_FEEDS_MAX)
		asked.query.max = TOP_FEEDS_MAX;
	status_read(&status, admin);
	fprintf(x->out, "version\t" PACKAGE_VERSION "\ninstance\t");
	visible_bytes(x->out, admin->instance);
	putc('\n', x->out);
	top_number(x->out, "now", (uint64_t)status.now.at);
	top_number(x->out, "started", (uint64_t)admin->started_at);
	top_number(x->out, "workers", admin->parts.n_workers);
	top_number(x->out, "memory", status.now.resident);
	top_number(x->out, "feeds", status.tally.feeds);
	top_number(x->out, "mislabelled", status.tally.mislabelled);
	for (size_t i = 0; i < status.n; i++)
		fprintf(x->out, "attention\t%s\n", status.all[i].text);
	top_spans(x->out, admin, &status);
	n = feeds_seen_first(admin->parts.feeds, &asked.query, list, &count);
	for (size_t i = 0; i < n; i++)
		top_feed(x->out, list[i], &asked.now);
	while (n)
		free(list[--n]);
}
