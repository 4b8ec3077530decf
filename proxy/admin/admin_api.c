/* The interface of the admin listener for programs, /api; see admin_internal.h. Every answer is one JSON object. */
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/admin/admin_internal.h"
#include "proxy/admin/feeds_page.h"
#include "proxy/admin/form.h"
#include "proxy/admin/process_metrics.h"
#include "proxy/base/json.h"
#include "proxy/base/log.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/purge.h"
#include "proxy/http/destination.h"
#include "proxy/origin/backoff.h"
#include "proxy/settings/reload_report.h"
#include "proxy/settings/settings.h"

/* Begins an answer of one object, which api_json_end() ends. */
static struct json api_json_begin(struct admin_exchange *x)
{
	struct json j = { x->out, false };

	x->type = "application/json";
	json_open(&j, NULL);
	return j;
}

static void api_json_end(struct json *j)
{
	json_close(j);
	putc('\n', j->out);
}

void admin_api_error(struct admin_exchange *x, int status, const char *sentence)
{
	struct json j = api_json_begin(x);

	x->status = status;
	json_string(&j, "error", sentence);
	api_json_end(&j);
}

/* counting: n is what was counted so far. */
static void answer_purged(struct admin_exchange *x, const struct purge *purge, int64_t n, bool counting, bool owed)
{
	struct json j = api_json_begin(x);

	x->status = owed ? 202 : 200;
	json_number(&j, purge->soft ? "marked_stale" : "purged", n < 0 ? 0 : (uint64_t)n);
	if (counting || n < 0)
		json_bool(&j, "counting", true);
	json_bool(&j, "confirmed", !owed);
	api_json_end(&j);
}

static void admin_on_purged(struct purge_wait *wait)
{
	struct admin_exchange *x = wait->owner;

	answer_purged(x, &wait->purge, wait->count, wait->counting, wait->owed);
	purge_wait_free(&x->waits);
	admin_conn_answer_later(x);
}

static void admin_purge(struct admin_exchange *x, const struct purge *purge, const struct destination *to)
{
	struct admin *admin = x->admin;
	struct purge_begun begun;

	if (cache_is_retired(admin->parts.cache)) {
		admin_api_error(x, 503, "Another process serves now. Ask again.");
		return;
	}
	if (purge_run(purge, admin->parts.cache, admin->parts.backoff, to, loop_wall_ms(admin->loop) / 1000,
	        loop_now_ms(admin->loop), &begun) ||
	    purge_wait_new(&x->waits, &admin->sweeper, &begun)) {
		admin_api_error(x, 500, "utfeed ran out of memory.");
		return;
	}
	stats_add(loop_stats(admin->loop), STAT_CACHE_PURGES, 1);
	if (!x->waits) {
		answer_purged(x, purge, begun.count, false, false);
		return;
	}
	x->waits->done = admin_on_purged;
	x->waits->owner = x;
	x->waits->purge = *purge;
}

/* url=URL names what is purged, what=WORDS how, in the words of X-Purge. */
void admin_api_purge(struct admin_exchange *x)
{
	char url[8192], what[64];
	struct destination to = { .path = NULL };
	struct purge purge;
	const char *why = "";

	if (form_get(x->query, x->body, "what", what, sizeof what) == FORM_TOO_LONG ||
	    !purge_read(&purge, (struct slice){ what, strlen(what) })) {
		admin_api_error(x, 400, "what is url, prefix, host or all, and may have \", soft\" behind it.");
		return;
	}
	if (purge.what == PURGE_ALL) {
		admin_purge(x, &purge, NULL);
		return;
	}
	if (form_get(x->query, x->body, "url", url, sizeof url) != FORM_FOUND) {
		admin_api_error(x, 400, "url is missing, or too long.");
		return;
	}
	switch (destination_from_url(&to, (struct slice){ url, strlen(url) }, &why)) {
	case DESTINATION_OK:
		admin_purge(x, &purge, &to);
		break;
	case DESTINATION_BAD_URL:
		admin_api_error(x, 400, why);
		break;
	case DESTINATION_NO_MEMORY:
		admin_api_error(x, 500, "utfeed ran out of memory.");
	}
	destination_free(&to);
}

const char *admin_resume(struct admin_exchange *x, size_t *ended)
{
	static const struct { const char *name; enum backoff_scope scope; } scopes[] = { { "url", BACKOFF_URL },
		{ "host", BACKOFF_HOST }, { "all", BACKOFF_ALL } };
	struct destination to = { .path = NULL };
	struct text url = { 0 };
	const char *why = "One of url, host and all is to be given.";
	char value[8192];
	size_t i = 0;

	while (i < 3 && form_get(x->query, x->body, scopes[i].name, value, sizeof value) != FORM_FOUND)
		i++;
	if (i == 3 || (scopes[i].scope != BACKOFF_ALL &&
	    destination_from_url(&to, (struct slice){ value, strlen(value) }, &why) != DESTINATION_OK))
		return why;
	if (to.path)
		destination_url(&url, &to);
	*ended = url.failed ? 0 : backoff_resume(x->admin->parts.backoff, scopes[i].scope,
	    (struct slice){ url.bytes, url.len }, loop_now_ms(x->admin->loop));
	why = url.failed ? "utfeed ran out of memory." : NULL;
	text_free(&url);
	destination_free(&to);
	return why;
}

void admin_api_resume(struct admin_exchange *x)
{
	size_t ended;
	const char *why = admin_resume(x, &ended);

	if (why) {
		admin_api_error(x, 400, why);
		return;
	}
	struct json j = api_json_begin(x);

	json_number(&j, "resumed", ended);
	api_json_end(&j);
}

void admin_api_drain(struct admin_exchange *x)
{
	struct json j = api_json_begin(x);

	x->status = 202;
	json_bool(&j, "draining", true);
	api_json_end(&j);
	log_info("admin: asked to end");
	x->admin->parts.drain(x->admin->parts.arg);
}

static const char *const admin_levels[] = { [LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug" };
enum { ADMIN_LEVELS = sizeof admin_levels / sizeof *admin_levels };

/* Tells the log level, and changes it first where level=WORD is given. It holds until the next reload. */
void admin_api_log_level(struct admin_exchange *x)
{
	char word[16];
	enum form_result r = form_get(x->query, x->body, "level", word, sizeof word);
	size_t level = ADMIN_LEVELS;

	if (x->msg->method != METHOD_GET && x->msg->method != METHOD_HEAD) {
		for (size_t i = 0; r == FORM_FOUND && i < ADMIN_LEVELS; i++)
			if (!strcmp(admin_levels[i], word))
				level = i;
		if (level == ADMIN_LEVELS) {
			admin_api_error(x, 400, "level is error, warn, info or debug.");
			return;
		}
		log_set_level((enum log_level)level);
	}
	struct json j = api_json_begin(x);

	json_string(&j, "level", admin_levels[atomic_load(&log_threshold)]);
	api_json_end(&j);
}

void admin_api_feeds(struct admin_exchange *x)
{
	struct feeds_asked asked;
	const char *wrong = feeds_asked_read(&asked, x->query, x->admin->parts.feeds,
	    feeds_now(x->admin->loop, x->admin->parts.backoff));

	x->type = "application/json";
	if (wrong)
		admin_api_error(x, 400, wrong);
	else if (feeds_write_json(x->out, x->admin->parts.feeds, &asked))
		admin_api_error(x, 500, "utfeed ran out of memory.");
}

static void admin_write_quantiles(struct json *j, const struct history_sample *sample)
{
	json_decimal(j, "p50_ms", history_quantile_ms(sample, .5));
	json_decimal(j, "p95_ms", history_quantile_ms(sample, .95));
	json_decimal(j, "p99_ms", history_quantile_ms(sample, .99));
}

static void admin_write_history(struct json *j, const struct history *history)
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
		json_decimal(j, "mean_ms", history_mean_ms(&s));
		admin_write_quantiles(j, &s);
		json_number(j, "resident_bytes", s.resident);
		json_close(j);
	}
	json_close_list(j);
}

/* The lines of --print-config as one text. Out of memory: it is empty. */
void admin_api_config(struct admin_exchange *x)
{
	const struct settings *settings = x->admin->settings;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f) {
		conf_dump(f, settings->conf);
		fclose(f);
	}
	struct json j = api_json_begin(x);

	json_number(&j, "generation", settings->generation);
	json_string(&j, "file", settings->conf->file);
	json_string(&j, "text", text ? text : "");
	reload_report_json(&j, "last_reload", x->admin->report);
	api_json_end(&j);
	free(text);
}

void admin_api_status(struct admin_exchange *x)
{
	struct admin *admin = x->admin;
	struct history_sample now, hour;

	admin_sample(admin, &now);
	hour = history_since(&admin->history, &now);
	struct json j = api_json_begin(x);

	json_string(&j, "version", PACKAGE_VERSION);
	json_number(&j, "started", (uint64_t)admin->started_at);
	json_number(&j, "now", (uint64_t)now.at);
	json_number(&j, "workers", admin->parts.n_workers);
	json_number(&j, "workers_stuck", admin_stuck(admin));
	json_bool(&j, "draining", atomic_load(&admin->leaving));
	json_number(&j, "requests", now.requests);
	json_number(&j, "hits", now.hits);
	json_number(&j, "errors", now.errors);
	json_number(&j, "bytes_to_clients", now.bytes);
	json_number(&j, "resident_bytes", now.resident);
	json_number(&j, "feeds", feeds_seen_count(admin->parts.feeds));
	json_open(&j, "last_hour");
	json_number(&j, "answers", hour.timed);
	admin_write_quantiles(&j, &hour);
	json_close(&j);
	json_number(&j, "history_step_s", HISTORY_STEP_S);
	admin_write_history(&j, &admin->history);
	api_json_end(&j);
}
