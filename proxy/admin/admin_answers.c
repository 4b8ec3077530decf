/* What the admin listener answers where; see admin_internal.h. Every page is a row of admin_pages[]. */
#include <string.h>

#include "conf/conf.h"
#include "proxy/admin/admin_internal.h"
#include "proxy/admin/form.h"
#include "proxy/admin/metrics.h"
#include "proxy/base/json.h"
#include "proxy/base/log.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/purge.h"
#include "proxy/http/destination.h"
#include "proxy/settings/settings.h"

#define ADMIN_JSON "application/json"

void admin_answer_plainly(struct admin_exchange *x, int status, const char *sentence)
{
	x->status = status;
	if (status == 401)
		x->fields = "WWW-Authenticate: Bearer realm=\"utfeed\"\r\n"
		            "WWW-Authenticate: Basic realm=\"utfeed\", charset=\"UTF-8\"\r\n";
	fprintf(x->out, "%s\n", sentence);
}

/* Answers a request of the interface that cannot be carried out. */
static void admin_answer_error(struct admin_exchange *x, int status, const char *sentence)
{
	struct json j = { x->out, false };

	x->status = status;
	x->type = ADMIN_JSON;
	json_open(&j, NULL);
	json_string(&j, "error", sentence);
	json_close(&j);
	putc('\n', x->out);
}

static void answer_health(struct admin_exchange *x)
{
	size_t stuck = admin_stuck(x->admin);

	if (!stuck) {
		fputs("ok\n", x->out);
		return;
	}
	x->status = 503;
	fprintf(x->out, "%zu of %zu workers have not turned their loop for a second\n", stuck,
	    x->admin->parts.n_workers);
}

/* Whether the store behind memory cannot be reached. utfeed serves on without it, so this is told but is no fault. */
static bool admin_store_is_away(struct admin *a)
{
	struct stats_gauges gauges = { 0 };

	cache_stats(a->parts.cache, &gauges);
	return gauges.of[GAUGE_SECOND_AWAY].known && gauges.of[GAUGE_SECOND_AWAY].value;
}

/* A line for each thing that being ready takes. Listeners and stores are open since before this listener answered. */
static void answer_ready(struct admin_exchange *x)
{
	struct admin *a = x->admin;
	bool leaving = atomic_load(&a->leaving), turning = !admin_stuck(a), complete = !a->charsets_missing;

	x->status = !leaving && turning && complete ? 200 : 503;
	fprintf(x->out, "listeners: %s\n", leaving ? "closing, utfeed is ending" : "ok");
	fprintf(x->out, "workers: %s\n", turning ? "ok" : "stuck");
	fprintf(x->out, "stores: %s\n", admin_store_is_away(a) ? "ok, but that behind memory is away" : "ok");
	if (complete)
		fputs("charsets: ok\n", x->out);
	else
		fprintf(x->out, "charsets: %zu have no converter on this system\n", a->charsets_missing);
}

static enum metrics_format admin_metrics_format(const struct http_msg *m)
{
	struct http_list it = { 0, 0 };
	struct slice member, rest;

	while (http_msg_next_member(m, H_ACCEPT, &it, &member))
		if (slice_is(slice_until(member, ';', &rest), "application/openmetrics-text"))
			return METRICS_OPENMETRICS;
	return METRICS_PROMETHEUS;
}

static void answer_metrics(struct admin_exchange *x)
{
	struct admin *a = x->admin;
	struct stats_gauges gauges = { 0 };
	const struct metrics_source from = { a->sets, a->parts.n_workers + 1, &gauges, a->settings };
	enum metrics_format format = admin_metrics_format(x->msg);

	cache_stats(a->parts.cache, &gauges);
	x->type = metrics_media_type(format);
	metrics_write(x->out, &from, format);
}

static void answer_purged(struct admin_exchange *x, const struct purge *p, int64_t n, bool owed)
{
	struct json j = { x->out, false };

	x->status = owed ? 202 : 200;
	x->type = ADMIN_JSON;
	json_open(&j, NULL);
	json_number(&j, p->soft ? "marked_stale" : "purged", (uint64_t)n);
	json_bool(&j, "confirmed", !owed);
	json_close(&j);
	putc('\n', x->out);
}

static void admin_on_purged(struct purge_wait *w, bool owed)
{
	struct admin_exchange *x = w->owner;

	answer_purged(x, &w->purge, w->count, owed);
	purge_wait_free(&x->waits);
	admin_conn_answer_later(x);
}

static void admin_purge(struct admin_exchange *x, const struct purge *p, const struct destination *to)
{
	struct admin *a = x->admin;
	int64_t n = purge_run(p, a->parts.cache, to, loop_wall_ms(a->loop) / 1000);

	if (n < 0 || purge_wait_new(&x->waits, a->parts.cache, a->loop)) {
		admin_answer_error(x, 500, "utfeed ran out of memory.");
		return;
	}
	stats_add(loop_stats(a->loop), STAT_CACHE_PURGES, 1);
	if (!x->waits) {
		answer_purged(x, p, n, false);
		return;
	}
	x->waits->done = admin_on_purged;
	x->waits->owner = x;
	x->waits->purge = *p;
	x->waits->count = n;
}

/* url=URL names what is purged, what=WORDS how, in the words of X-Purge. */
static void answer_purge(struct admin_exchange *x)
{
	char url[8192], what[64];
	struct destination to = { .path = NULL };
	struct purge purge;
	const char *why = "";

	if (form_get(x->query, x->body, "what", what, sizeof what) == FORM_TOO_LONG ||
	    !purge_read(&purge, (struct slice){ what, strlen(what) })) {
		admin_answer_error(x, 400, "what is url, prefix, host or all, and may have \", soft\" behind it.");
		return;
	}
	if (purge.what == PURGE_ALL) {
		admin_purge(x, &purge, NULL);
		return;
	}
	if (form_get(x->query, x->body, "url", url, sizeof url) != FORM_FOUND) {
		admin_answer_error(x, 400, "url is missing, or too long.");
		return;
	}
	switch (destination_from_url(&to, (struct slice){ url, strlen(url) }, &why)) {
	case DESTINATION_OK:
		admin_purge(x, &purge, &to);
		break;
	case DESTINATION_BAD_URL:
		admin_answer_error(x, 400, why);
		break;
	case DESTINATION_NO_MEMORY:
		admin_answer_error(x, 500, "utfeed ran out of memory.");
	}
	destination_free(&to);
}

static void answer_drain(struct admin_exchange *x)
{
	struct json j = { x->out, false };

	x->status = 202;
	x->type = ADMIN_JSON;
	json_open(&j, NULL);
	json_bool(&j, "draining", true);
	json_close(&j);
	putc('\n', x->out);
	log_info("admin: asked to end");
	x->admin->parts.drain(x->admin->parts.arg);
}

static const char *const admin_levels[] = { [LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug" };
enum { ADMIN_LEVELS = sizeof admin_levels / sizeof *admin_levels };

/* Tells the log level, and changes it first where level=WORD is given. It holds until the next reload. */
static void answer_log_level(struct admin_exchange *x)
{
	struct json j = { x->out, false };
	char word[16];
	enum form_result r = form_get(x->query, x->body, "level", word, sizeof word);
	size_t level = ADMIN_LEVELS;

	if (x->msg->method != METHOD_GET && x->msg->method != METHOD_HEAD) {
		for (size_t i = 0; r == FORM_FOUND && i < ADMIN_LEVELS; i++)
			if (strcmp(admin_levels[i], word) == 0)
				level = i;
		if (level == ADMIN_LEVELS) {
			admin_answer_error(x, 400, "level is error, warn, info or debug.");
			return;
		}
		log_set_level((enum log_level)level);
	}
	x->type = ADMIN_JSON;
	json_open(&j, NULL);
	json_string(&j, "level", admin_levels[atomic_load(&log_threshold)]);
	json_close(&j);
	putc('\n', x->out);
}

static void answer_list(struct admin_exchange *x);

enum admin_methods { TELLS, DOES, TELLS_AND_DOES };

struct admin_page {
	const char *path;
	enum admin_methods methods; /* GET and HEAD tell, POST does */
	bool open;                  /* a probe may ask without a token */
	const char *what;
	void (*answer)(struct admin_exchange *);
};

static const struct admin_page admin_pages[] = {
	{ "/", TELLS, false, "this list", answer_list },
	{ "/healthz", TELLS, true, "200 while every worker's loop turns, else 503", answer_health },
	{ "/readyz", TELLS, true, "200 while clients are served as promised, else 503", answer_ready },
	{ "/metrics", TELLS, false, "counters and histograms for Prometheus", answer_metrics },
	{ "/api/purge", DOES, false, "url=URL what=url|prefix|host|all[, soft]: forgets stored responses",
	    answer_purge },
	{ "/api/drain", DOES, false, "ends utfeed in an orderly way, as SIGTERM does", answer_drain },
	{ "/api/log-level", TELLS_AND_DOES, false, "level=error|warn|info|debug, until the next reload",
	    answer_log_level },
};

static void answer_list(struct admin_exchange *x)
{
	for (size_t i = 0; i < sizeof admin_pages / sizeof *admin_pages; i++) {
		const struct admin_page *p = &admin_pages[i];

		fprintf(x->out, "%-9s %-15s %s\n",
		    p->methods == DOES        ? "POST"
		        : p->methods == TELLS ? "GET"
		                              : "GET, POST",
		    p->path, p->what);
	}
}

/* The parser tells only the methods that the proxy treats apart. Empty lines may stand before the method (RFC 9112
 * section 2.2). */
static bool admin_is_post(const struct http_msg *m)
{
	size_t at = 0;

	while (m->base[at] == '\r' || m->base[at] == '\n')
		at++;
	return m->target - at == 5 && memcmp(m->base + at, "POST ", 5) == 0;
}

const struct admin_page *admin_find(const struct http_msg *m, struct slice path, int *status)
{
	bool post = admin_is_post(m), get = m->method == METHOD_GET || m->method == METHOD_HEAD;

	for (size_t i = 0; i < sizeof admin_pages / sizeof *admin_pages; i++) {
		const struct admin_page *p = &admin_pages[i];

		if (path.len != strlen(p->path) || memcmp(path.at, p->path, path.len) != 0)
			continue;
		if ((post && p->methods != TELLS) || (get && p->methods != DOES))
			return p;
		*status = 405;
		return NULL;
	}
	*status = 404;
	return NULL;
}

bool admin_page_is_open(const struct admin_page *p)
{
	return p->open;
}

bool admin_page_changes(const struct admin_page *p)
{
	return p->methods != TELLS;
}

void admin_answer(const struct admin_page *p, struct admin_exchange *x)
{
	p->answer(x);
}
