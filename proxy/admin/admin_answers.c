/* What the admin listener answers where; see admin_internal.h. Every page is a row of admin_pages[]. */
#include <string.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/admin/html.h"
#include "proxy/admin/metrics.h"
#include "proxy/cache/cache.h"
#include "proxy/feeds/feeds_seen.h"
#include "proxy/fleet/members.h"
#include "proxy/origin/backoff.h"
#include "proxy/settings/reload_report.h"
#include "proxy/settings/settings.h"

void admin_answer_plainly(struct admin_exchange *x, int status, const char *sentence)
{
	x->status = status;
	if (status == 401)
		x->fields = "WWW-Authenticate: Bearer realm=\"utfeed\"\r\n"
		            "WWW-Authenticate: Basic realm=\"utfeed\", charset=\"UTF-8\"\r\n";
	fprintf(x->out, "%s\n", sentence);
}

bool admin_reads(const struct admin_exchange *x)
{
	return x->msg->method == METHOD_GET || x->msg->method == METHOD_HEAD;
}

void admin_page_begin(struct admin_exchange *x, const char *title, const char *here, bool copies)
{
	x->type = ADMIN_HTML_TYPE;
	x->fields = copies ? ADMIN_HTML_POLICY_SCRIPT : ADMIN_HTML_POLICY;
	html_begin(x->out, title, here, x->admin->instance);
}

void admin_page_end(struct admin_exchange *x, bool copies)
{
	if (copies)
		fputs("<script>" ADMIN_HTML_SCRIPT "</script>\n", x->out);
	html_end(x->out);
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

bool admin_store_is_away(struct admin *admin)
{
	struct stats_gauges gauges = { 0 };

	cache_stats(admin->parts.cache, &gauges);
	return gauges.of[GAUGE_SECOND_AWAY].known && gauges.of[GAUGE_SECOND_AWAY].value;
}

static void answer_icon(struct admin_exchange *x)
{
	x->type = "image/svg+xml";
	fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><circle cx=\"8\" cy=\"8\" r=\"7\" "
	      "fill=\"#1a5fb4\"/></svg>\n",
	    x->out);
}

/* A line for each thing that being ready takes. Listeners and stores are open since before this listener answered. A
 * store that is away is shown, and changes nothing. */
static void answer_ready(struct admin_exchange *x)
{
	struct admin *admin = x->admin;
	bool leaving = atomic_load(&admin->leaving), turning = !admin_stuck(admin), complete = !admin->charsets_missing;

	x->status = !leaving && turning && complete ? 200 : 503;
	fprintf(x->out, "listeners: %s\n", leaving ? "closing, utfeed is ending" : "ok");
	fprintf(x->out, "workers: %s\n", turning ? "ok" : "stuck");
	fprintf(x->out, "stores: %s\n", admin_store_is_away(admin) ? "ok, but that behind memory is away" : "ok");
	if (complete)
		fputs("charsets: ok\n", x->out);
	else
		fprintf(x->out, "charsets: %zu have no converter on this system\n", admin->charsets_missing);
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
	struct admin *admin = x->admin;
	struct stats_gauges gauges = { 0 };
	const struct metrics_source from = { admin->sets, admin->parts.n_workers + 1, &gauges, admin->settings };
	enum metrics_format format = admin_metrics_format(x->msg);

	cache_stats(admin->parts.cache, &gauges);
	backoff_stats(admin->parts.backoff, loop_now_ms(admin->loop), &gauges);
	feeds_seen_stats(admin->parts.feeds, loop_wall_ms(admin->loop) / 1000, &gauges);
	stats_tell_longest_turn(&gauges, admin->sets, admin->parts.n_workers);
	reload_report_stats(admin->report, &gauges);
	members_stats(admin->parts.members, &gauges);
	x->type = metrics_media_type(format);
	metrics_write(x->out, &from, format);
}

static void answer_list(struct admin_exchange *x);

static const struct admin_page admin_pages[] = {
	{ "/", TELLS, OPERATORS, false, "what is going on, for people", admin_page_overview },
	{ "/feeds", TELLS, OPERATORS, false, "the feeds that were asked for, for people", admin_page_feeds },
	{ "/feed", TELLS, OPERATORS, false, "id=N: one of them", admin_page_feed },
	{ "/order", DOES, OPERATORS, false, "id=N do=check|purge|resume: what the buttons of that page order",
	    admin_page_order },
	{ "/paused", TELLS_AND_DOES, OPERATORS, false, "hosts and URLs that are not asked now, for people",
	    admin_page_paused },
	{ "/check", TELLS_AND_DOES, OPERATORS, true, "what the policies say of a feed, for people", admin_page_check },
	{ "/api", TELLS, OPERATORS, false, "this list", answer_list },
	{ "/favicon.ico", TELLS, PROBES, false, "the icon of the pages", answer_icon },
	{ "/healthz", TELLS, PROBES, false, "200 while every worker's loop turns, else 503", answer_health },
	{ "/readyz", TELLS, PROBES, false, "200 while clients are served as promised, else 503", answer_ready },
	{ "/metrics", TELLS, NUMBERS, false, "counters and histograms for Prometheus", answer_metrics },
	{ "/api/status", TELLS, OPERATORS, false, "what is going on, and was in the last hour", admin_api_status },
	{ "/api/feeds", TELLS, OPERATORS, false,
	    "sort=WORD reverse=1 limit=N search=TEXT mislabelled=1 kept=1: the feeds that were asked for",
	    admin_api_feeds },
	{ "/api/top", TELLS, OPERATORS, false, "sort=WORD limit=N: what utfeed top shows, as lines", admin_api_top },
	{ "/api/fleet", TELLS, OPERATORS, false,
	    "the instances that share the store behind memory, and who purged what", admin_api_fleet },
	{ "/api/config", TELLS, OPERATORS, false, "the configuration in force, without secrets", admin_api_config },
	{ "/api/check", DOES, OPERATORS, true,
	    "url=URL, or a feed as the body and content-type=TYPE: what the policies say of it",
	    admin_api_check },
	{ "/api/purge", DOES, OPERATORS, false, "url=URL what=url|prefix|host|all[, soft]: forgets stored responses",
	    admin_api_purge },
	{ "/api/resume", DOES, OPERATORS, false,
	    "url=URL, host=URL or all=1: ends the pause of a URL and its host, of all of a host, or all pauses",
	    admin_api_resume },
	{ "/api/reload", DOES, OPERATORS, false,
	    "reads the configuration again, as SIGHUP does, and says what came of it; trial=1: only says what would",
	    admin_api_reload },
	{ "/api/drain", DOES, OPERATORS, false, "ends utfeed in an orderly way, as SIGTERM does", admin_api_drain },
	{ "/api/log-level", TELLS_AND_DOES, OPERATORS, false, "level=error|warn|info|debug, until the next reload",
	    admin_api_log_level },
};

static void answer_list(struct admin_exchange *x)
{
	for (size_t i = 0; i < sizeof admin_pages / sizeof *admin_pages; i++) {
		const struct admin_page *page = &admin_pages[i];

		fprintf(x->out, "%-9s %-15s %s\n",
		    page->methods == DOES        ? "POST"
		    : page->methods == TELLS ? "GET"
		    : "GET, POST",
		    page->path, page->what);
	}
}

/* The parser tells only the methods that the proxy treats apart. Empty lines may stand before the method (RFC 9112
 * section 2.2). */
static bool admin_is_post(const struct http_msg *m)
{
	size_t at = 0;

	while (m->base[at] == '\r' || m->base[at] == '\n')
		at++;
	return m->target - at == 5 && !memcmp(m->base + at, "POST ", 5);
}

const struct admin_page *admin_find(const struct http_msg *m, struct slice path, bool *known)
{
	bool post = admin_is_post(m), get = m->method == METHOD_GET || m->method == METHOD_HEAD;

	*known = false;
	for (size_t i = 0; i < sizeof admin_pages / sizeof *admin_pages; i++) {
		const struct admin_page *page = &admin_pages[i];

		if (path.len != strlen(page->path) || memcmp(path.at, page->path, path.len))
			continue;
		if ((post && page->methods != TELLS) || (get && page->methods != DOES))
			return page;
		*known = true;
		return NULL;
	}
	return NULL;
}
