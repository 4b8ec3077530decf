/* The admin listener's page of hosts and URLs that are not asked now, with buttons that end that; see admin_internal.h.
 * It is bounded by PAUSED_SHOWN. Every text of a peer goes through visible_html(), and a URL with a secret is shown
 * without it and has no button. */
#include <string.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/admin/html.h"
#include "proxy/base/url_secrets.h"
#include "proxy/origin/backoff.h"
#include "proxy/report/visible.h"

enum { PAUSED_SHOWN = 200 };

struct paused_list {
	FILE *out;
	uint64_t now_ms;
	size_t shown, more;
};

static void paused_cell(FILE *out, const char *text)
{
	fputs("<td><bdi>", out);
	visible_html(out, text);
	fputs("</bdi></td>", out);
}

static void paused_button(FILE *out, const struct backoff_shown *shown, const char *name)
{
	fputs("<td>", out);
	if (strlen(name) == shown->name.len && !memcmp(name, shown->name.at, shown->name.len)) {
		fprintf(out,
		    "<form method=\"post\" action=\"/paused\"><input type=\"hidden\" name=\"%s\" value=\"",
		    shown->host ? "host" : "url");
		visible_html(out, name);
		fputs("\"><button>Resume</button></form>", out);
	}
	fputs("</td>", out);
}

static void paused_row(void *arg, const struct backoff_shown *shown)
{
	char room[FAILURE_CAUSE_MAX], name[URL_SHOWN_MAX];
	const char *cause = failure_cause(shown->cause.status, shown->cause.why, room);
	struct paused_list *list = arg;

	if (shown->until_ms <= list->now_ms)
		return;
	if (list->shown == PAUSED_SHOWN) {
		list->more++;
		return;
	}
	list->shown++;
	url_show(name, shown->name.at, shown->name.len);
	fprintf(list->out, "<tr><td>%s</td>", shown->host ? "host" : "URL");
	paused_cell(list->out, name);
	paused_cell(list->out, cause ? cause : "-");
	fprintf(list->out, "<td>%s</td><td>in ", shown->asked_for ? "the origin" : "utfeed");
	html_span(list->out, (int64_t)((shown->until_ms - list->now_ms + 999) / 1000));
	fprintf(list->out, "</td><td class=\"n\">%u</td>", shown->saved);
	paused_button(list->out, shown, name);
	fputs("</tr>\n", list->out);
}

static void paused_table(struct admin_exchange *x)
{
	struct paused_list l = { .out = x->out, .now_ms = loop_now_ms(x->admin->loop) };

	fputs("<div class=\"scroll\" role=\"region\" aria-label=\"Pauses\" tabindex=\"0\"><table>\n<thead><tr>"
	      "<th scope=\"col\">What</th><th scope=\"col\">Name</th><th scope=\"col\">Cause</th>"
	      "<th scope=\"col\">Asked for by</th><th scope=\"col\">Ends</th>"
	      "<th scope=\"col\" class=\"n\">Requests saved</th><th scope=\"col\">End it now</th></tr></thead>\n"
	      "<tbody>\n",
	    x->out);
	backoff_each(x->admin->parts.backoff, paused_row, &l);
	fprintf(x->out, "</tbody></table></div>\n<p>%zu of %zu pauses</p>\n"
	    "<form method=\"post\" action=\"/paused\"><input type=\"hidden\" name=\"all\" value=\"1\">"
	    "<button>Resume all</button></form>\n", l.shown, l.shown + l.more);
}

static void paused_find(void *arg, const struct backoff_shown *shown)
{
	struct paused_list *list = arg;

	list->more += shown->until_ms > list->now_ms;
}

static bool paused_any(struct admin_exchange *x)
{
	struct paused_list l = { .now_ms = loop_now_ms(x->admin->loop) };

	backoff_each(x->admin->parts.backoff, paused_find, &l);
	return l.more;
}

/* A POST ends pauses as /api/resume does. */
void admin_page_paused(struct admin_exchange *x)
{
	bool reads = admin_reads(x);
	struct admin_fault fault;
	size_t ended = 0;

	if (!reads && !admin_resume(x, &ended, &fault)) {
		admin_answer_plainly(x, 400, fault.text);
		return;
	}
	admin_page_begin(x, "Paused", "/paused", false);
	if (!reads)
		fprintf(x->out, "<p role=\"status\">%zu %s ended.</p>\n", ended, ended == 1 ? "pause" : "pauses");
	fputs("<p>An origin that fails, or that asks for it, is left alone for a while. Readers get the feeds that "
	      "utfeed has.</p>\n",
	    x->out);
	if (paused_any(x))
		paused_table(x);
	else
		fputs("<p>Nothing is paused now.</p>\n", x->out);
	admin_page_end(x, false);
}
