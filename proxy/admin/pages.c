/* The admin listener's pages for people; see admin_internal.h. Every text of a peer goes through visible_html(). */
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "proxy/admin/admin_internal.h"
#include "proxy/admin/feeds_page.h"
#include "proxy/admin/form.h"
#include "proxy/admin/html.h"
#include "proxy/base/url_secrets.h"
#include "proxy/report/visible.h"

enum { PAGE_FEEDS = 10, PAGE_FEEDS_ALL = 100 };

void admin_page_is_html(struct admin_exchange *x)
{
	x->type = ADMIN_HTML_TYPE;
	x->fields = ADMIN_HTML_POLICY;
}

/* ---- the overview ---- */

static void tile(FILE *out, const char *name, const char *class, const char *value)
{
	fprintf(out, "<div><dt>%s</dt><dd%s>%s</dd></div>\n", name, class, value);
}

static void tile_number(FILE *out, const char *name, uint64_t n)
{
	fprintf(out, "<div><dt>%s</dt><dd>%llu</dd></div>\n", name, (unsigned long long)n);
}

static void tile_bytes(FILE *out, const char *name, uint64_t n)
{
	fprintf(out, "<div><dt>%s</dt><dd>", name);
	html_bytes(out, n);
	fputs("</dd></div>\n", out);
}

static double page_ratio(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void page_tiles(FILE *out, const struct admin *admin, const struct history_sample *now)
{
	struct history_sample hour = history_since(&admin->history, now);
	size_t stuck = admin_stuck(admin);
	char text[96];

	fputs("<dl class=\"tiles\">\n", out);
	if (atomic_load(&admin->leaving))
		tile(out, "State", " class=\"bad\"", "ending");
	else
		tile(out, "State", stuck ? " class=\"bad\"" : " class=\"good\"",
		    stuck ? "a worker is stuck" : "serving");
	fputs("<div><dt>Up for</dt><dd>", out);
	html_span(out, now->at - admin->started_at);
	fputs("</dd></div>\n", out);
	tile_number(out, "Requests", now->requests);
	snprintf(text, sizeof text, "%.1f %%", page_ratio(now->hits, now->requests));
	tile(out, "Hits", "", text);
	tile_number(out, "Errors", now->errors);
	snprintf(text, sizeof text, "%.1f ms", history_mean_ms(now));
	tile(out, "Mean time", "", text);
	snprintf(text, sizeof text, "%.1f, %.1f, %.1f ms", history_quantile_ms(&hour, .5),
	    history_quantile_ms(&hour, .95), history_quantile_ms(&hour, .99));
	tile(out, "p50, p95, p99 of the last hour", "", text);
	tile_bytes(out, "Sent", now->bytes);
	tile_bytes(out, "Memory", now->resident);
	tile_number(out, "Feeds", feeds_seen_count(admin->parts.feeds));
	fputs("</dl>\n", out);
}

enum { PAGE_CHARTS = 8 };
static const struct {
	const char *title, *unit;
} page_charts[PAGE_CHARTS] = { { "Requests", "a second" }, { "Hits", "%" }, { "Errors", "in 15 s" },
	{ "Mean time", "ms" }, { "Median time (p50)", "ms" }, { "p95 time", "ms" }, { "p99 time", "ms" },
	{ "Memory", "MB" } };

/* What that chart shows of a step. */
static double chart_value(const struct history_sample *sample, size_t chart)
{
	const double values[PAGE_CHARTS] = { (double)sample->requests / HISTORY_STEP_S,
		page_ratio(sample->hits, sample->requests), (double)sample->errors, history_mean_ms(sample),
		history_quantile_ms(sample, .5), history_quantile_ms(sample, .95), history_quantile_ms(sample, .99),
		(double)sample->resident / 1e6 };

	return values[chart];
}

static void page_chart(FILE *out, const struct history *history, size_t chart)
{
	double values[HISTORY_SAMPLES];
	size_t n = history_steps(history);
	char text[64];

	for (size_t i = 0; i < n; i++) {
		struct history_sample s = history_step(history, i);

		values[i] = chart_value(&s, chart);
	}
	snprintf(text, sizeof text, "%.1f %s", n ? values[n - 1] : 0, page_charts[chart].unit);
	html_chart(out, page_charts[chart].title, text, values, n);
}

/* ---- feeds ---- */

static void page_feed_url(FILE *out, const struct feed_seen *feed)
{
	char url[URL_SHOWN_MAX];

	url_show(url, feed->url, strlen(feed->url));
	fprintf(out, "<td class=\"url\"><a href=\"/feed?id=%llu\"><bdi>", (unsigned long long)feed->id);
	visible_html(out, url);
	fputs("</bdi></a></td>", out);
}

static void page_feed_rule(FILE *out, const struct feed_seen *feed)
{
	fputs(feed_is_mislabelled(feed) ? "<td class=\"bad\">" : "<td>", out);
	visible_html(out, feed->charset ? feed->charset : feed->reason ? feed->reason : "-");
	if (feed_is_mislabelled(feed)) {
		fputs(", labelled ", out);
		visible_html(out, feed->was);
	}
	fputs("</td><td>", out);
	visible_html(out, *feed->rule ? feed->rule : "-");
	fputs("</td>", out);
}

static void page_feed_row(FILE *out, const struct feed_seen *feed, const struct feeds_now *at)
{
	int64_t now = at->wall_s;

	fputs("<tr>", out);
	page_feed_url(out, feed);
	fprintf(out,
	    "<td class=\"n\">%llu</td><td class=\"n\">%llu</td><td class=\"n%s\">%llu</td><td class=\"n\">%llu</td>",
	    (unsigned long long)feed->requests, (unsigned long long)feed->hits, feed->errors ? " bad" : "",
	    (unsigned long long)feed->errors, (unsigned long long)feed->repairs);
	fputs("<td class=\"n\">", out);
	html_bytes(out, feed->bytes);
	fputs("</td><td>", out);
	html_moment(out, feed->last, now);
	fputs("</td><td>", out);
	html_moment(out, feed_next_fetch(feed, at), now);
	fputs("</td><td>", out);
	html_moment(out, feed->state.good, now);
	fputs("</td><td>", out);
	html_moment(out, feed_is_kept(feed, now) ? feed->state.kept_since : 0, now);
	fputs("</td>", out);
	page_feed_rule(out, feed);
	fputs("</tr>\n", out);
}

/* The columns that can be sorted by, in the order of the table, then those that cannot. */
static const char *const page_columns[] = { "url", "requests", "hits", "errors", "repairs", "bytes", "last",
	"expires" };
enum { PAGE_TEXT_COLUMNS = 6 }; /* from this column on they hold text */

static void page_feeds_head(FILE *out, const struct feeds_asked *asked)
{
	struct feeds_asked other = *asked;

	fputs("<thead><tr>", out);
	for (size_t i = 0; i < sizeof page_columns / sizeof *page_columns; i++) {
		const struct feeds_order *order = other.order = feeds_order_of(page_columns[i]);

		fprintf(out, "<th scope=\"col\"%s%s><a href=\"/feeds", i && i < PAGE_TEXT_COLUMNS ? " class=\"n\"" : "",
		    order != asked->order                                          ? ""
		    : strcmp(order->name, "url") && strcmp(order->name, "expires") ? " aria-sort=\"descending\""
		    : " aria-sort=\"ascending\"");
		feeds_write_query(out, &other, FEEDS_AFTER, NULL, "&amp;");
		fprintf(out, "\">%s</a></th>", order->title);
	}
	fputs("<th scope=\"col\">Last good</th><th scope=\"col\">Kept since</th><th scope=\"col\">Charset</th>"
	      "<th scope=\"col\">Rule</th></tr></thead>\n",
	    out);
}

static void page_feeds_caption(FILE *out, size_t n, const struct feeds_count *count)
{
	if (!n || n == count->total)
		fprintf(out, "<caption>%zu of %zu feeds</caption>\n", n, count->total);
	else
		fprintf(out, "<caption>%zu to %zu of %zu feeds</caption>\n", count->first + 1, count->first + n,
		    count->total);
}

/* Links to the pages beside this one, which has n feeds. */
static void page_feeds_beside(FILE *out, const struct feeds_asked *asked, struct feed_seen *const *list, size_t n,
    const struct feeds_count *count)
{
	bool before = count->first, after = count->first + n < count->total;
	const struct {
		const char *name;
		bool is;
		enum feeds_side side;
		const struct feed_seen *edge;
	} links[] = {
		{ "First", before, FEEDS_AFTER, NULL },
		{ "Previous", before && n, FEEDS_BEFORE, n ? list[0] : NULL },
		{ "Next", after && n, FEEDS_AFTER, n ? list[n - 1] : NULL },
		{ "Last", after, FEEDS_BEFORE, NULL },
	};

	if (!before && !after)
		return;
	fputs("<nav aria-label=\"More feeds\"><ul>\n", out);
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		if (links[i].is) {
			fputs("<li><a href=\"/feeds", out);
			feeds_write_query(out, asked, links[i].side, links[i].edge, "&amp;");
			fprintf(out, "\">%s</a></li>\n", links[i].name);
		}
	fputs("</ul></nav>\n", out);
}

/* Shows one page of the list; links: what its links ask for. */
static void page_feeds_table(struct admin_exchange *x, const struct feeds_asked *asked, const struct feeds_asked *links)
{
	struct feed_seen *list[PAGE_FEEDS_ALL];
	struct feeds_count count;
	size_t n = feeds_seen_first(x->admin->parts.feeds, &asked->query, list, &count);

	fputs("<div class=\"scroll\" role=\"region\" aria-label=\"Feeds\" tabindex=\"0\"><table>\n", x->out);
	page_feeds_caption(x->out, n, &count);
	page_feeds_head(x->out, links);
	fputs("<tbody>\n", x->out);
	for (size_t i = 0; i < n; i++)
		page_feed_row(x->out, list[i], &asked->now);
	fputs("</tbody></table></div>\n", x->out);
	page_feeds_beside(x->out, links, list, n, &count);
	while (n)
		free(list[--n]);
}

void admin_page_overview(struct admin_exchange *x)
{
	struct admin *admin = x->admin;
	struct feeds_asked all, few;
	struct history_sample now;

	admin_page_is_html(x);
	admin_sample(admin, &now);
	(void)feeds_asked_read(&all, (struct slice){ NULL, 0 }, admin->parts.feeds,
	    feeds_now(admin->loop, admin->parts.backoff));
	few = all;
	few.query.max = PAGE_FEEDS;
	html_begin(x->out, "What is going on", "/");
	page_tiles(x->out, admin, &now);
	fputs("<h2>The last hour</h2>\n<div class=\"charts\">\n", x->out);
	for (size_t i = 0; i < PAGE_CHARTS; i++)
		page_chart(x->out, &admin->history, i);
	fputs("</div>\n<h2>Feeds most asked for</h2>\n", x->out);
	page_feeds_table(x, &few, &all);
	html_end(x->out);
}

static void page_search(FILE *out, const struct feeds_asked *asked)
{
	fprintf(out,
	    "<form action=\"/feeds\"><input type=\"hidden\" name=\"sort\" value=\"%s\">\n"
	    "<label>Part of the URL <input type=\"search\" name=\"search\" value=\"",
	    asked->order->name);
	visible_html(out, asked->search);
	fprintf(out,
	    "\"></label>\n<label><input type=\"checkbox\" name=\"mislabelled\" value=\"1\"%s> "
	    "wrongly labelled only</label>\n<label><input type=\"checkbox\" name=\"kept\" value=\"1\"%s> "
	    "kept only</label>\n<button>Show</button></form>\n",
	    asked->mislabelled ? " checked" : "", asked->kept ? " checked" : "");
}

void admin_page_feeds(struct admin_exchange *x)
{
	struct feeds_asked asked;
	const char *wrong = feeds_asked_read(&asked, x->query, x->admin->parts.feeds,
	    feeds_now(x->admin->loop, x->admin->parts.backoff));

	if (wrong) {
		admin_answer_plainly(x, 400, wrong);
		return;
	}
	if (asked.query.max > PAGE_FEEDS_ALL)
		asked.query.max = PAGE_FEEDS_ALL;
	admin_page_is_html(x);
	html_begin(x->out, "Feeds seen", "/feeds");
	page_search(x->out, &asked);
	page_feeds_table(x, &asked, &asked);
	html_end(x->out);
}

/* ---- one feed ---- */

static void page_fact(FILE *out, const char *name, const char *text)
{
	fprintf(out, "<tr><th scope=\"row\">%s</th><td><bdi>", name);
	visible_html(out, text && *text ? text : "-");
	fputs("</bdi></td></tr>\n", out);
}

static void page_fact_number(FILE *out, const char *name, uint64_t n)
{
	fprintf(out, "<tr><th scope=\"row\">%s</th><td>%llu</td></tr>\n", name, (unsigned long long)n);
}

static void page_fact_moment(FILE *out, const char *name, int64_t at, int64_t now)
{
	fprintf(out, "<tr><th scope=\"row\">%s</th><td>", name);
	html_moment(out, at, now);
	fputs("</td></tr>\n", out);
}

static void page_feed_state(FILE *out, const struct feed_seen *feed, const struct feeds_now *at)
{
	int64_t now = at->wall_s, until;
	char room[FAILURE_CAUSE_MAX];
	struct backoff_shown pause;

	until = feed_paused_until(feed, at, &pause);
	page_fact_moment(out, "Last good", feed->state.good, now);
	page_fact_moment(out, "Kept since", feed_is_kept(feed, now) ? feed->state.kept_since : 0, now);
	page_fact(out, "Last error", feed_state_error(&feed->state, room));
	page_fact_moment(out, "Time of the last error", feed->state.failed_at, now);
	page_fact_moment(out, "Paused until", until, now);
	page_fact(out, "Paused for", until ? failure_cause(pause.cause.status, pause.cause.why, room) : NULL);
	page_fact_moment(out, "Next fetch", feed_next_fetch(feed, at), now);
	page_fact_number(out, "Requests to the origin saved", feed->state.saved);
}

static void page_feed(FILE *out, const struct feed_seen *feed, const struct feeds_now *at)
{
	int64_t now = at->wall_s;
	char url[URL_SHOWN_MAX];

	url_show(url, feed->url, strlen(feed->url));
	fputs("<div class=\"scroll\" role=\"region\" aria-label=\"The feed\" tabindex=\"0\"><table>\n<tbody>\n", out);
	page_fact(out, "URL", url);
	page_fact(out, "Charset", feed->charset);
	page_fact(out, "The label said", feed->was ? feed->was : "the same");
	page_fact(out, "Rule", feed->rule);
	page_fact(out, "Left as it is", feed->reason ? feed->reason : "no");
	page_fact_number(out, "Repairs of the latest answer", feed->repairs);
	page_fact_number(out, "Malformed sequences in it", feed->malformed);
	page_fact_number(out, "Status of the latest answer", (uint64_t)feed->status);
	page_fact_number(out, "Requests", feed->requests);
	page_fact_number(out, "Hits", feed->hits);
	page_fact_number(out, "Errors", feed->errors);
	page_fact_number(out, "Bytes sent", feed->bytes);
	page_fact_moment(out, "First asked for", feed->first, now);
	page_fact_moment(out, "Last asked for", feed->last, now);
	page_feed_state(out, feed, at);
	fputs("</tbody></table></div>\n", out);
	if (url_has_secret_sign(feed->url, strlen(feed->url)))
		return;
	fputs("<p><a href=\"/check?url=", out);
	html_query(out, feed->url);
	fputs("\">Fetch and check it now</a></p>\n", out);
}

void admin_page_feed(struct admin_exchange *x)
{
	struct feeds_now now = feeds_now(x->admin->loop, x->admin->parts.backoff);
	struct feed_seen *feed;
	char id[24];

	(void)form_get(x->query, (struct slice){ NULL, 0 }, "id", id, sizeof id);
	if (!(feed = feeds_find(x->admin->parts.feeds, strtoull(id, NULL, 10)))) {
		admin_answer_plainly(x, 404, "No such feed is in the list.");
		return;
	}
	admin_page_is_html(x);
	html_begin(x->out, "One feed", "");
	page_feed(x->out, feed, &now);
	html_end(x->out);
	free(feed);
}
