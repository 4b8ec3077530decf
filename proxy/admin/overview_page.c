/* The admin listener's first page for people: what needs attention, the numbers of now, the last hour, and the feeds
 * most asked for; see admin_internal.h. */
#include <math.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/admin/attention.h"
#include "proxy/admin/chart.h"
#include "proxy/admin/feeds_table.h"
#include "proxy/admin/html.h"

enum { OVERVIEW_FEEDS = 10 };

/* ---- what needs attention, and the numbers of now ---- */

static void overview_attention(FILE *out, const struct attention *all, size_t n)
{
	fputs("<h2>Needs attention</h2>\n<ul class=\"look\">\n", out);
	if (!n)
		fputs("<li class=\"good\">Nothing: all feeds come as they should.</li>\n", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "<li%s>%s", all[i].bad ? " class=\"bad\"" : "", all[i].text);
		if (all[i].where)
			fprintf(out, " <a href=\"%s\" aria-label=\"Show: %s\">Show</a>", all[i].where, all[i].kind);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n", out);
}

static void tile_begin(FILE *out, const char *name)
{
	fprintf(out, "<div><dt>%s</dt><dd>", name);
}

static void tile_end(FILE *out)
{
	fputs("</dd></div>\n", out);
}

static void tile_number(FILE *out, const char *name, uint64_t n)
{
	tile_begin(out, name);
	fprintf(out, "%llu", (unsigned long long)n);
	tile_end(out);
}

static void tile_bytes(FILE *out, const char *name, uint64_t n)
{
	tile_begin(out, name);
	html_bytes(out, n);
	tile_end(out);
}

/* A share in percent; of nothing there is none. */
static double overview_share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : NAN;
}

static double overview_quantile(const struct history_sample *step, double share)
{
	return step->timed ? history_quantile_ms(step, share) : NAN;
}

static void overview_tiles(FILE *out, const struct admin *admin, const struct history_sample *now,
    const struct history_sample *hour, const struct feeds_tally *tally)
{
	static const struct {
		const char *name;
		double share;
	} shares[] = { { "half", .5 }, { "95 %", .95 }, { "99 %", .99 } };

	fputs("<h2>Since the start</h2>\n<dl class=\"tiles\">\n", out);
	tile_begin(out, "Up for");
	html_span(out, now->at - admin->started_at);
	tile_end(out);
	tile_number(out, "Requests", now->requests);
	tile_begin(out, "Hits");
	chart_number(out, overview_share(now->hits, now->requests));
	fputs(" %", out);
	tile_end(out);
	tile_number(out, "Errors", now->errors);
	fputs("<div class=\"wide\"><dt>Time of an answer, last hour</dt><dd>", out);
	for (size_t i = 0; i < 3; i++) {
		fprintf(out, "%s%s ", i ? ", " : "", shares[i].name);
		chart_number(out, overview_quantile(hour, shares[i].share));
	}
	fputs(" ms", out);
	tile_end(out);
	tile_bytes(out, "Sent", now->bytes);
	tile_bytes(out, "Memory", now->resident);
	tile_number(out, "Feeds", tally->feeds);
	fputs("</dl>\n", out);
}

/* ---- the last hour ---- */

enum { SERIES = 7 };
enum { SERIES_REQUESTS, SERIES_HITS, SERIES_ERRORS, SERIES_TIMES, SERIES_MEMORY = SERIES_TIMES + 3 };
static const struct {
	struct chart chart;
	size_t first; /* of its lines */
} overview_charts[] = {
	{ { "Requests", "a second", 0, false, 1, { NULL } }, SERIES_REQUESTS },
	{ { "Hits", "%", 100, false, 1, { NULL } }, SERIES_HITS },
	{ { "Errors", "a minute", 0, false, 1, { NULL } }, SERIES_ERRORS },
	{ { "Time of an answer", "ms", 0, true, 3, { "half", "95 %", "99 %" } }, SERIES_TIMES },
	{ { "Memory", "MB", 0, false, 1, { NULL } }, SERIES_MEMORY },
};
static const char *const series_names[SERIES] = { "Requests a second", "Hits, %", "Errors a minute",
	"Half of the answers within ms", "95 % within ms", "99 % within ms", "Memory, MB" };

/* What a minute was. seconds 0: nothing is known of it. */
static void overview_minute(double values[][CHART_MINUTES], size_t at, const struct history_sample *added,
    int64_t seconds)
{
	double time = (double)seconds;
	const double minute[SERIES] = { (double)added->requests / time, overview_share(added->hits, added->requests),
		(double)added->errors * 60 / time, overview_quantile(added, .5), overview_quantile(added, .95),
		overview_quantile(added, .99), (double)added->resident / 1e6 };

	for (size_t i = 0; i < SERIES; i++)
		values[i][at] = seconds ? minute[i] : NAN;
}

static void overview_numbers(FILE *out, const double values[][CHART_MINUTES], int64_t end)
{
	fputs("<details><summary>The same as numbers</summary>\n"
	      "<div class=\"scroll\" role=\"region\" aria-label=\"The last hour\" tabindex=\"0\">"
	      "<table class=\"num\">\n"
	      "<caption>Each minute up to the time in UTC; a dash where nothing was</caption>\n"
	      "<thead><tr><th scope=\"col\">Time</th>",
	    out);
	for (size_t i = 0; i < SERIES; i++)
		fprintf(out, "<th scope=\"col\" class=\"n\">%s</th>", series_names[i]);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t m = CHART_MINUTES; m--;) {
		if (isnan(values[SERIES_MEMORY][m]))
			continue;
		fputs("<tr><th scope=\"row\">", out);
		chart_clock(out, end - 60 * (int64_t)(CHART_MINUTES - 1 - m));
		fputs("</th>", out);
		for (size_t i = 0; i < SERIES; i++) {
			fputs("<td>", out);
			chart_number(out, values[i][m]);
			fputs("</td>", out);
		}
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div></details>\n", out);
}

static void overview_hour(FILE *out, const struct history *history, int64_t now)
{
	double values[SERIES][CHART_MINUTES];
	int64_t end = history_steps(history) ? history_latest(history) : now;

	fputs("<h2>The last hour</h2>\n", out);
	if (!history_steps(history))
		fprintf(out, "<p>The first values come %d seconds after the start.</p>\n", HISTORY_STEP_S);
	for (size_t i = 0; i < CHART_MINUTES; i++) {
		struct history_sample added = { 0 };
		int64_t to = end - 60 * (int64_t)(CHART_MINUTES - 1 - i);

		overview_minute(values, i, &added, history_between(history, to - 60, to, &added));
	}
	fputs("<div class=\"charts\">\n", out);
	for (size_t i = 0; i < sizeof overview_charts / sizeof *overview_charts; i++)
		chart_write(out, &overview_charts[i].chart,
		    (const double(*)[CHART_MINUTES])values + overview_charts[i].first, end);
	fputs("</div>\n", out);
	overview_numbers(out, (const double(*)[CHART_MINUTES])values, end);
}

void admin_page_overview(struct admin_exchange *x)
{
	struct admin *admin = x->admin;
	struct attention all[ATTENTION_MAX];
	struct history_sample now;
	struct feeds_tally tally;
	struct feeds_asked asked;

	admin_sample(admin, &now);
	struct history_sample hour = history_since(&admin->history, &now);
	feeds_tally_read(&tally, admin->parts.feeds, now.at);
	(void)feeds_asked_read(&asked, (struct slice){ NULL, 0 }, admin->parts.feeds,
	    feeds_now(admin->loop, admin->parts.backoff));
	admin_page_begin(x, "Overview", "/", false);
	overview_attention(x->out, all, attention_read(all, admin, &tally, &hour));
	overview_tiles(x->out, admin, &now, &hour, &tally);
	admin_fleet_write(x);
	overview_hour(x->out, &admin->history, now.at);
	fputs("<h2>Feeds most asked for</h2>\n", x->out);
	feeds_table_write(x, &asked, OVERVIEW_FEEDS);
	admin_page_end(x, false);
}
