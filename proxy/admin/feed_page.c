/* The admin listener's page of one feed, and what can be ordered there: a check, a purge, the end of a pause; see
 * admin_internal.h. A POST orders; browsers that a page of another site leads here are turned away as for /api/drain
 * (admin_access.c). Every text of a peer goes through visible_html(). */
#include <stdlib.h>
#include <string.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/admin/chart.h"
#include "proxy/admin/check_job.h"
#include "proxy/admin/feeds_page.h"
#include "proxy/admin/feeds_table.h"
#include "proxy/admin/form.h"
#include "proxy/admin/html.h"
#include "proxy/base/url_secrets.h"
#include "proxy/cache/purge.h"
#include "proxy/report/check_html.h"
#include "proxy/report/visible.h"

/* What came of an order: one of them, or none. */
struct feed_done {
	const char *said;                  /* a sentence; NULL: none */
	size_t n;                          /* what was counted, behind the sentence */
	bool counted;
	const struct check_report *report; /* NULL: none */
	const char *why;                   /* it could not be done */
};

/* ---- what the feed is ---- */

static void feed_peer(FILE *out, const char *text)
{
	fputs("<bdi>", out);
	visible_html(out, text && *text ? text : "-");
	fputs("</bdi>", out);
}

static void feed_count(FILE *out, uint64_t n, const char *one, const char *many)
{
	if (n)
		fprintf(out, " %llu %s.", (unsigned long long)n, n == 1 ? one : many);
}

/* Leads to the charset of the feed. */
static void feed_label(FILE *out, const struct feed_seen *feed, bool wrong)
{
	if (feed->unlabelled) {
		fprintf(out, "The server named no charset, %s it is ", wrong ? "but" : "and");
	} else if (wrong) {
		fputs("Labelled ", out);
		feed_peer(out, feed->was);
		fputs(", but it is ", out);
	} else {
		fputs("Its label is right: ", out);
	}
}

static void feed_verdict(FILE *out, const struct feed_seen *feed)
{
	bool wrong = feed_is_mislabelled(feed);

	fprintf(out, "<p class=\"%s\"><b>", wrong ? "bad" : "good");
	if (feed->charset) {
		feed_label(out, feed, wrong);
		feed_peer(out, feed->charset);
		fputs(wrong ? ". utfeed sends it as UTF-8, so that readers see the right letters."
		            : ". utfeed sends it as UTF-8.",
		    out);
	} else if (feed->reason) {
		fputs("utfeed leaves it as it is: ", out);
		feed_peer(out, feed->reason);
		putc('.', out);
	} else {
		fputs("It was not seen as a feed yet.", out);
	}
	feed_count(out, feed->repairs, "fault is repaired", "faults are repaired");
	feed_count(out, feed->malformed, "byte sequence is none of that charset",
	    "byte sequences are none of that charset");
	fputs("</b></p>\n", out);
}

static void feed_pair(FILE *out, const char *name, const char *before, const char *after)
{
	fprintf(out, "<tr><th scope=\"row\">%s</th><td>", name);
	feed_peer(out, before);
	fputs("</td><td>", out);
	feed_peer(out, after);
	fputs("</td></tr>\n", out);
}

static void feed_before_and_after(FILE *out, const struct feed_seen *feed)
{
	char faults[24];

	if (!feed->charset)
		return;
	snprintf(faults, sizeof faults, "%llu", (unsigned long long)feed->repairs);
	fputs("<h2>Before and after</h2>\n<table class=\"facts\">\n<thead><tr><td></td>"
	      "<th scope=\"col\">As the publisher sends it</th><th scope=\"col\">As utfeed sends it</th></tr></thead>\n"
	      "<tbody>\n",
	    out);
	feed_pair(out, "Label", feed->unlabelled ? "no charset named" : feed->was ? feed->was : feed->charset, "utf-8");
	feed_pair(out, "Encoding of the bytes", feed->charset, "utf-8");
	feed_pair(out, "Faults", faults, "0");
	fputs("</tbody></table>\n", out);
}

static void feed_advice_label(FILE *out, const struct feed_seen *feed)
{
	if (feed->unlabelled) {
		fputs("Your server names no charset, and the bytes of your feed are ", out);
	} else {
		fputs("The labels of your feed say ", out);
		feed_peer(out, feed->was);
		fputs(", but its bytes are ", out);
	}
	feed_peer(out, feed->charset);
	fputs(". Please write the feed as UTF-8, and say charset=utf-8 in its Content-Type and encoding=\"UTF-8\" in "
	      "its XML declaration.",
	    out);
}

/* As `utfeed check` advises (header-default). */
static void feed_advice_default(FILE *out, const struct feed_seen *feed)
{
	fputs("Your server names no charset, which readers that follow RFC 3023 take for us-ascii, but the bytes of "
	      "your feed are ",
	    out);
	feed_peer(out, feed->charset);
	fputs(". Please add charset=", out);
	feed_peer(out, feed->charset);
	fputs(" to its Content-Type, or send application/xml.", out);
}

static void feed_advice(FILE *out, const struct feed_seen *feed, const struct feed_standing *standing)
{
	bool wrong = feed_is_mislabelled(feed), faulty = feed->repairs || feed->malformed;
	bool taken = feed->unlabelled && feed->charset && feed->was; /* for what it is not, by old rules */
	char room[FAILURE_CAUSE_MAX];
	const char *error = standing->word != FEED_FINE ? feed_state_error(&feed->state, room) : NULL;

	fputs("<h2>What to tell the publisher</h2>\n<p>", out);
	if (error)
		fprintf(out, "Your server fails: the last error was %s. ", error);
	if (wrong)
		feed_advice_label(out, feed);
	else if (taken)
		feed_advice_default(out, feed);
	if (faulty)
		fputs(" XML parsers refuse the feed, or read parts of it wrongly.", out);
	fputs(wrong || taken || faulty || error ? "</p>\n" : "Nothing, as far as utfeed has seen.</p>\n", out);
}

/* ---- what it was, and the numbers ---- */

static void feed_when(FILE *out, int64_t at, int64_t now)
{
	fputs("<li>", out);
	html_moment(out, at, now);
	fputs(" (", out);
	chart_clock(out, at);
	fputs(" UTC): ", out);
}

static void feed_history(FILE *out, const struct feed_seen *feed, int64_t now)
{
	fputs("<h2>History</h2>\n<p>What changed, the latest first.</p>\n<ul class=\"look\">\n", out);
	for (size_t i = 0; i < feed_history_count(&feed->history); i++) {
		const struct feed_event *event = feed_history_event(&feed->history, i);

		feed_when(out, event->at, now);
		if (feed_event_fails(event))
			fprintf(out, event->status ? "<span class=\"bad\">answers failed: %d</span>"
			                           : "<span class=\"bad\">the client left, or got no answer</span>",
			    event->status);
		else
			fputs(event->kept ? "<span class=\"bad\">the kept feed answered</span>" : "good answers", out);
		if (event->charset) {
			fputs(", ", out);
			feed_peer(out, event->charset);
		}
		if (event->charset && event->unlabelled) {
			fputs(", no charset named", out);
		} else if (event->charset && event->was && strcmp(event->charset, event->was) != 0) {
			fputs(", labelled ", out);
			feed_peer(out, event->was);
		}
		fputs("</li>\n", out);
	}
	feed_when(out, feed->first, now);
	fputs("first asked for</li>\n</ul>\n", out);
}

/* What is not known has no row, nor has a moment that never was. */
static void feed_fact(FILE *out, const char *name, const char *text)
{
	if (!text)
		return;
	fprintf(out, "<tr><th scope=\"row\">%s</th><td>", name);
	feed_peer(out, text);
	fputs("</td></tr>\n", out);
}

static void feed_fact_number(FILE *out, const char *name, uint64_t n)
{
	fprintf(out, "<tr><th scope=\"row\">%s</th><td>%llu</td></tr>\n", name, (unsigned long long)n);
}

static void feed_fact_moment(FILE *out, const char *name, int64_t at, int64_t now)
{
	if (!at)
		return;
	fprintf(out, "<tr><th scope=\"row\">%s</th><td>", name);
	html_moment(out, at, now);
	fputs("</td></tr>\n", out);
}

/* The words of a rule, "auto:2.5/decl". */
static void feed_rule(FILE *out, const char *rule)
{
	size_t len = strcspn(rule, ":");
	int policy = policy_lookup(rule, len);
	struct check_step step;

	feed_fact(out, "Rule (X-Encoding-Rule)", rule);
	if (policy < 0 || !rule[len])
		return;
	const struct verdict v = { .policy = (enum policy)policy };
	const char *at = rule + len + 1;

	fputs("<tr><th scope=\"row\">The rule in words</th><td><ul class=\"words\">", out);
	while (check_next_step(&v, &at, &step)) {
		fputs("<li><b>", out);
		visible_html(out, step.no);
		fprintf(out, "</b> %s</li>", step.words ? step.words : "");
	}
	fputs("</ul></td></tr>\n", out);
}

static void feed_facts(FILE *out, const struct feed_seen *feed, const struct feed_standing *standing, int64_t now)
{
	char room[FAILURE_CAUSE_MAX];

	fputs("<h2>Numbers</h2>\n<table class=\"facts\">\n<tbody>\n", out);
	feed_rule(out, feed->rule);
	feed_fact_number(out, "Requests", feed->requests);
	feed_fact_number(out, "Hits", feed->hits);
	feed_fact_number(out, "Errors", feed->errors);
	feed_fact_number(out, "Requests to the origin saved", feed->state.saved);
	feed_fact_number(out, "Bytes sent", feed->bytes);
	feed_fact_number(out, "Status of the latest answer", (uint64_t)feed->status);
	feed_fact_moment(out, "Last asked for", feed->last, now);
	feed_fact_moment(out, "Last good answer of the origin", feed->state.good, now);
	feed_fact(out, "Last error of the origin", feed_state_error(&feed->state, room));
	feed_fact_moment(out, "Time of that error", feed->state.failed_at, now);
	feed_fact_moment(out, "Kept since", standing->kept_since, now);
	feed_fact_moment(out, "Paused until", standing->paused_until, now);
	feed_fact(out, "Paused for",
	    standing->paused_until ? failure_cause(standing->paused.status, standing->paused.why, room) : NULL);
	feed_fact(out, "Protocol to the origin", standing->protocol);
	feed_fact(out, "Reason of that protocol", standing->protocol_why);
	fputs("<tr><th scope=\"row\">Next fetch</th><td>", out);
	feed_next_write(out, standing->next_fetch, now);
	fputs("</td></tr>\n</tbody></table>\n", out);
}

/* ---- the page ---- */

static void feed_action(FILE *out, uint64_t id, const char *word, const char *name)
{
	fprintf(out,
	    "<form method=\"post\" action=\"/order\"><input type=\"hidden\" name=\"id\" value=\"%llu\">"
	    "<input type=\"hidden\" name=\"do\" value=\"%s\"><button>%s</button></form>\n",
	    (unsigned long long)id, word, name);
}

/* shown: the URL without its secrets. One that has some is not checked, since a report has the URL in it. */
static void feed_actions(FILE *out, const struct feed_seen *feed, const struct feed_standing *standing,
    const char *shown)
{
	bool checks = !strcmp(shown, feed->url);

	fputs("<div class=\"acts\">\n", out);
	if (checks)
		feed_action(out, feed->id, "check", "Check again");
	feed_action(out, feed->id, "purge", "Purge");
	if (standing->paused_until)
		feed_action(out, feed->id, "resume", "Resume");
	fputs("</div>\n", out);
	if (checks)
		fputs("<p>A check shows the text before and after, names each fault, and writes a mail to the "
		      "publisher.</p>\n",
		    out);
}

static void feed_tell_done(FILE *out, const struct feed_done *done)
{
	if (done->why)
		check_page_alert(out, done->why);
	if (!done->said)
		return;
	fprintf(out, "<p role=\"status\">%s", done->said);
	if (done->counted)
		fprintf(out, ": %zu", done->n);
	fputs(".</p>\n", out);
}

static void feed_write(struct admin_exchange *x, const struct feed_seen *feed, const struct feed_done *done)
{
	struct feeds_now now = feeds_now(x->admin->loop, x->admin->parts.backoff);
	struct feed_standing standing;
	char url[URL_SHOWN_MAX];

	feed_standing_read(&standing, feed, &now);
	url_show(url, feed->url, strlen(feed->url));
	admin_page_begin(x, "One feed", "", done->report);
	fputs("<p class=\"url\">", x->out);
	feed_peer(x->out, url);
	fputs("</p>\n", x->out);
	feed_tell_done(x->out, done);
	feed_verdict(x->out, feed);
	fputs("<p>State: ", x->out);
	feed_standing_write(x->out, feed, &standing, now.wall_s);
	fputs("</p>\n", x->out);
	feed_actions(x->out, feed, &standing, url);
	if (done->report) {
		check_html_report(x->out, done->report, 1);
	} else {
		feed_before_and_after(x->out, feed);
		feed_advice(x->out, feed, &standing);
	}
	feed_history(x->out, feed, now.wall_s);
	feed_facts(x->out, feed, &standing, now.wall_s);
	admin_page_end(x, done->report);
}

/* The feed that is asked for, which the caller frees. NULL: there is none (told). */
static struct feed_seen *feed_asked(struct admin_exchange *x)
{
	struct feed_seen *feed = NULL;
	char word[24];
	uint64_t id;

	(void)form_get(x->query, x->body, "id", word, sizeof word);
	if (form_number(word, UINT64_MAX, &id))
		feed = feeds_find(x->admin->parts.feeds, id);
	if (!feed)
		admin_answer_plainly(x, 404, "No such feed is in the list.");
	return feed;
}

static void feed_show(struct admin_exchange *x, const struct feed_done *done)
{
	struct feed_seen *feed = feed_asked(x);

	if (feed)
		feed_write(x, feed, done);
	free(feed);
}

/* ---- orders ---- */

static void feed_checked(struct admin_exchange *x, const struct check_report *report, const char *why)
{
	feed_show(x, &(struct feed_done){ .report = report, .why = report ? NULL : why ? why : CHECK_NO_MEMORY });
	admin_conn_answer_later(x);
}

static void feed_check(struct admin_exchange *x, const struct feed_seen *feed)
{
	const struct check_order order = { .url = feed->url, .feed = { "", 0 }, .name = "", .type = "",
		.explain = true };

	if (check_job_start(x, &order, feed_checked))
		feed_write(x, feed, &(struct feed_done){ .why = CHECK_BUSY });
}

static void feed_purged(struct admin_exchange *x, const struct purge_told *told)
{
	const char *said = told->owed ? "Purged, but the store behind memory has not confirmed it; responses in memory"
	                              : "Purged; responses in memory";

	feed_show(x, &(struct feed_done){ .said = told->why ? NULL : said,
	                 .n = told->n < 0 ? 0 : (size_t)told->n,
	                 .counted = told->n >= 0,
	                 .why = told->why });
}

static void feed_purge(struct admin_exchange *x, const struct feed_seen *feed)
{
	struct purge purge;

	(void)purge_read(&purge, (struct slice){ NULL, 0 });
	admin_purge_url(x, &purge, feed->url, feed_purged);
}

static void feed_resume(struct admin_exchange *x, const struct feed_seen *feed)
{
	struct feed_done done = { .said = "Pauses that ended", .counted = true };

	if ((done.why = admin_resume_url(x, "url", feed->url, &done.n)))
		done.said = NULL;
	feed_show(x, &done);
}

static const struct {
	const char *word;
	void (*run)(struct admin_exchange *, const struct feed_seen *);
} feed_orders[] = { { "check", feed_check }, { "purge", feed_purge }, { "resume", feed_resume } };

void admin_page_order(struct admin_exchange *x)
{
	size_t i = 0, n = sizeof feed_orders / sizeof *feed_orders;
	struct feed_seen *feed;
	char word[16];

	(void)form_get(x->query, x->body, "do", word, sizeof word);
	while (i < n && strcmp(feed_orders[i].word, word))
		i++;
	if (i == n)
		admin_answer_plainly(x, 400, "do is check, purge or resume.");
	else if ((feed = feed_asked(x))) {
		feed_orders[i].run(x, feed);
		free(feed);
	}
}

void admin_page_feed(struct admin_exchange *x)
{
	feed_show(x, &(struct feed_done){ .said = NULL });
}
