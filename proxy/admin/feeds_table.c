/* The list of feeds for people; see feeds_table.h. Every text of a peer goes through visible_html(). */
#include "proxy/admin/feeds_table.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/admin/html.h"
#include "proxy/base/url_secrets.h"
#include "proxy/report/visible.h"

/* Of a long URL the list shows the beginning and the end; the feed's own page shows all of it. */
enum { TABLE_URL_HEAD = 72, TABLE_URL_TAIL = 48 };

static void table_url(FILE *out, const struct feed_seen *feed)
{
	char url[URL_SHOWN_MAX];
	size_t len = url_show(url, feed->url, strlen(feed->url));

	fprintf(out, "<td class=\"url\"><a href=\"/feed?id=%llu\"><bdi>", (unsigned long long)feed->id);
	if (len > TABLE_URL_HEAD + TABLE_URL_TAIL) {
		const char *tail = url + len - TABLE_URL_TAIL;

		url[TABLE_URL_HEAD] = '\0';
		visible_html(out, url);
		fputs("\xe2\x80\xa6", out);
		visible_html(out, tail);
	} else {
		visible_html(out, url);
	}
	fputs("</bdi></a></td>", out);
}

void feed_standing_write(FILE *out, const struct feed_seen *feed, const struct feed_standing *standing, int64_t now)
{
	char room[FAILURE_CAUSE_MAX];
	const char *error = feed_state_error(&feed->state, room);

	if (standing->word == FEED_FINE) {
		fprintf(out, "%s (%d)", feed_standing_word(FEED_FINE), feed->status);
		return;
	}
	fprintf(out, "<span class=\"bad\">%s</span>", feed_standing_word(standing->word));
	if (standing->kept_since) {
		fputs(" since ", out);
		html_span(out, now - standing->kept_since);
	}
	if (standing->paused_until)
		fprintf(out, "%s for ", standing->kept_since ? ", paused" : "");
	if (standing->paused_until)
		html_span(out, standing->paused_until - now);
	if (standing->word == FEED_FAILS)
		fprintf(out, ": %d", feed->status);
	else if (error)
		fprintf(out, ": %s", error);
}

void feed_next_write(FILE *out, int64_t next, int64_t now)
{
	if (next && next <= now)
		fputs("due", out);
	else
		html_moment(out, next, now);
}

static void table_number(FILE *out, const char *class, uint64_t n)
{
	fprintf(out, "<td class=\"%s\">%llu</td>", class, (unsigned long long)n);
}

static void table_charset(FILE *out, const struct feed_seen *feed)
{
	bool wrong = feed_is_mislabelled(feed);

	fputs(wrong ? "<td class=\"say bad\"><span>" : "<td class=\"say\"><span>", out);
	visible_html(out, feed->charset ? feed->charset : feed->reason ? feed->reason : "-");
	if (wrong)
		fputs(feed->unlabelled ? ",</span> <span>not labelled" : ",</span> <span>labelled ", out);
	if (wrong && !feed->unlabelled)
		visible_html(out, feed->was);
	fputs("</span></td>", out);
}

static void table_row(FILE *out, const struct feed_seen *feed, const struct feeds_now *now)
{
	struct feed_standing standing;

	feed_standing_read(&standing, feed, now);
	fputs("<tr>", out);
	table_url(out, feed);
	fputs("<td>", out);
	feed_standing_write(out, feed, &standing, now->wall_s);
	fputs("</td>", out);
	table_number(out, "n", feed->requests);
	table_number(out, "n", feed->hits);
	table_number(out, feed->errors ? "n bad" : "n", feed->errors);
	fputs("<td>", out);
	html_moment(out, feed->last, now->wall_s);
	fputs("</td><td>", out);
	feed_next_write(out, standing.next_fetch, now->wall_s);
	fputs("</td>", out);
	table_charset(out, feed);
	table_number(out, "n w2", feed->repairs);
	fputs("<td class=\"n w2\">", out);
	html_bytes(out, feed->bytes);
	fputs("</td><td class=\"w3\">", out);
	visible_html(out, *feed->rule ? feed->rule : "-");
	fputs("</td></tr>\n", out);
}

/* The columns of a row. order: the word of sort=; NULL: the list cannot be in the order of that column. */
static const struct {
	const char *order, *title, *class;
} table_columns[] = {
	{ "url", "Feed", "" },
	{ NULL, "State", "" },
	{ "requests", "Requests", "n" },
	{ "hits", "Hits", "n" },
	{ "errors", "Errors", "n" },
	{ "last", "Last asked", "" },
	{ "expires", "Next fetch", "" },
	{ NULL, "Charset", "" },
	{ "repairs", "Repairs", "n w2" },
	{ "bytes", "Bytes", "n w2" },
	{ NULL, "Rule", "w3" },
};

/* A link to the list in the order of a column; to that of the list as it is, the other way round. */
static void table_sort(FILE *out, const struct feeds_asked *asked, const char *name, const char *title)
{
	const struct feeds_order *order = feeds_order_of(name);
	struct feeds_asked other = *asked;

	feeds_asked_order(&other, order, order == asked->order && !asked->reversed);
	fputs("<a href=\"/feeds", out);
	feeds_write_query(out, &other, FEEDS_AFTER, NULL, "&amp;");
	fprintf(out, "\">%s</a>", title);
	if (order == asked->order)
		fputs(order->ascends != asked->reversed ? " \xe2\x96\xb2" : " \xe2\x96\xbc", out);
}

static void table_head(FILE *out, const struct feeds_asked *asked)
{
	fputs("<thead><tr>", out);
	for (size_t i = 0; i < sizeof table_columns / sizeof *table_columns; i++) {
		const char *name = table_columns[i].order;

		fprintf(out, "<th scope=\"col\" class=\"%s\"", table_columns[i].class);
		if (name && !strcmp(name, asked->order->name))
			fprintf(out, " aria-sort=\"%s\"",
			    asked->order->ascends != asked->reversed ? "ascending" : "descending");
		putc('>', out);
		if (name)
			table_sort(out, asked, name, table_columns[i].title);
		else
			fputs(table_columns[i].title, out);
		fputs("</th>", out);
	}
	fputs("</tr></thead>\n", out);
}

static void table_caption(FILE *out, size_t n, const struct feeds_count *count)
{
	if (!n || n == count->total)
		fprintf(out, "<caption>%zu of %zu feeds</caption>\n", n, count->total);
	else
		fprintf(out, "<caption>%zu to %zu of %zu feeds</caption>\n", count->first + 1, count->first + n,
		    count->total);
}

/* Links to the pages beside this one, which has n feeds. */
static void table_beside(FILE *out, const struct feeds_asked *asked, struct feed_seen *const *list, size_t n,
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

void feeds_table_write(struct admin_exchange *x, const struct feeds_asked *asked, size_t max)
{
	struct feed_seen *list[FEEDS_SHOWN];
	struct feeds_asked shown = *asked;
	struct feeds_count count;

	if (shown.query.max > max)
		shown.query.max = max;
	size_t n = feeds_seen_first(x->admin->parts.feeds, &shown.query, list, &count);
	fputs("<div class=\"scroll\" role=\"region\" aria-label=\"Feeds\" tabindex=\"0\">"
	      "<table class=\"feeds\">\n",
	    x->out);
	table_caption(x->out, n, &count);
	table_head(x->out, asked);
	fputs("<tbody>\n", x->out);
	for (size_t i = 0; i < n; i++)
		table_row(x->out, list[i], &asked->now);
	fputs("</tbody></table></div>\n", x->out);
	table_beside(x->out, asked, list, n, &count);
	while (n)
		free(list[--n]);
}

/* ---- the page of all feeds ---- */

static void feeds_search(FILE *out, const struct feeds_asked *asked)
{
	fputs("<form action=\"/feeds\">\n<label>Part of the URL <input type=\"search\" name=\"search\" value=\"", out);
	visible_html(out, asked->search);
	fputs("\"></label>\n<label>Sort by <select name=\"sort\">", out);
	for (size_t i = 0; i < FEEDS_ORDERS; i++)
		fprintf(out, "<option value=\"%s\"%s>%s</option>", feeds_orders[i].name,
		    &feeds_orders[i] == asked->order ? " selected" : "", feeds_orders[i].title);
	fprintf(out,
	    "</select></label>\n<label><input type=\"checkbox\" name=\"reverse\" value=\"1\"%s> "
	    "reversed</label>\n<label><input type=\"checkbox\" name=\"mislabelled\" value=\"1\"%s> wrongly labelled "
	    "only</label>\n<label><input type=\"checkbox\" name=\"kept\" value=\"1\"%s> kept only</label>\n"
	    "<button>Show</button></form>\n",
	    asked->reversed ? " checked" : "", asked->mislabelled ? " checked" : "", asked->kept ? " checked" : "");
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
	admin_page_begin(x, "Feeds", "/feeds", false);
	feeds_search(x->out, &asked);
	feeds_table_write(x, &asked, FEEDS_SHOWN);
	admin_page_end(x, false);
}
