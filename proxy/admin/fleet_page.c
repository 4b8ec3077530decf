/* The first page's part on the instances that share the store behind memory; see admin_internal.h. It is bounded by
 * FLEET_SHOWN and FLEET_PURGES_SHOWN. Every text is another instance's, and goes through visible_html(). */
#include <stdlib.h>
#include <string.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/admin/chart.h"
#include "proxy/admin/html.h"
#include "proxy/base/url_secrets.h"
#include "proxy/fleet/members.h"
#include "proxy/report/visible.h"

enum { FLEET_SHOWN = 20, FLEET_PURGES_SHOWN = 5, FLEET_URL_SHOWN = 100 };

static void fleet_number(FILE *out, uint64_t n)
{
	fprintf(out, "<td class=\"n\">%llu</td>", (unsigned long long)n);
}

static void fleet_span(FILE *out, uint64_t ms)
{
	fputs("<td class=\"n say\"><span>", out);
	html_span(out, (int64_t)(ms / 1000));
	fputs("</span></td>", out);
}

static void fleet_name(FILE *out, const char *name, uint64_t pid)
{
	fputs("<bdi>", out);
	visible_html(out, name);
	fprintf(out, "</bdi> %llu", (unsigned long long)pid);
}

static void fleet_row(FILE *out, const struct fleet_member *row, bool self)
{
	fputs("<tr><th scope=\"row\" class=\"url\">", out);
	fleet_name(out, row->name, row->pid);
	fprintf(out, "%s</th><td><bdi>", self ? " (this one)" : "");
	visible_html(out, row->version);
	fputs("</bdi></td>", out);
	fleet_span(out, row->up_s * 1000);
	fleet_number(out, row->requests);
	fputs("<td class=\"n\">", out);
	if (row->requests)
		chart_number(out, 100.0 * (double)row->hits / (double)row->requests);
	fputs("</td>", out);
	fleet_number(out, row->fetches);
	fleet_number(out, row->leases);
	fleet_number(out, row->waits);
	fleet_span(out, row->lag_ms);
	fleet_span(out, row->age_ms);
	fputs("</tr>\n", out);
}

static void fleet_table(FILE *out, const struct members_seen *seen)
{
	size_t shown = seen->n < FLEET_SHOWN ? seen->n : FLEET_SHOWN;

	fprintf(out,
	    "<div class=\"scroll\" role=\"region\" aria-label=\"Instances\" tabindex=\"0\"><table>\n"
	    "<caption>%zu of %zu instances that share the store</caption>\n<thead><tr>"
	    "<th scope=\"col\">Instance</th><th scope=\"col\">Version</th><th scope=\"col\" class=\"n\">Up</th>"
	    "<th scope=\"col\" class=\"n\">Requests</th><th scope=\"col\" class=\"n\">Hits, %%</th>"
	    "<th scope=\"col\" class=\"n\">Origin requests</th><th scope=\"col\" class=\"n\">Leases</th>"
	    "<th scope=\"col\" class=\"n\">Waiting</th><th scope=\"col\" class=\"n\">Purge lag</th>"
	    "<th scope=\"col\" class=\"n\">Seen</th></tr></thead>\n<tbody>\n",
	    shown, seen->of);
	for (size_t i = 0; i < shown; i++)
		fleet_row(out, &seen->rows[i], seen->rows[i].process == seen->self);
	fputs("</tbody></table></div>\n", out);
}

static void fleet_purge(FILE *out, const struct members_purge *purge)
{
	char url[URL_SHOWN_MAX];

	fputs("<tr><td class=\"n say\"><span>", out);
	html_span(out, (int64_t)(purge->age_ms / 1000));
	fprintf(out, " ago</span></td><td>%s%s</td><td>", purge->soft ? "soft " : "", admin_fleet_what(purge));
	if (purge->by)
		fleet_name(out, purge->by->name, purge->by->pid);
	else
		fputs("an instance that has ended", out);
	fputs("</td><td class=\"url\"><bdi>", out);
	if (url_show(url, purge->url, strlen(purge->url)) > FLEET_URL_SHOWN)
		strcpy(url + FLEET_URL_SHOWN, "\xe2\x80\xa6");
	visible_html(out, url);
	fputs("</bdi></td></tr>\n", out);
}

static void fleet_purges(FILE *out, const struct members_seen *seen)
{
	if (!seen->n_purges)
		return;
	fputs("<div class=\"scroll\" role=\"region\" aria-label=\"Purges\" tabindex=\"0\"><table>\n"
	      "<caption>The latest purges of all instances</caption>\n<thead><tr>"
	      "<th scope=\"col\" class=\"n\">When</th><th scope=\"col\">What</th><th scope=\"col\">Purged by</th>"
	      "<th scope=\"col\">URL</th></tr></thead>\n<tbody>\n",
	    out);
	for (size_t i = 0; i < seen->n_purges && i < FLEET_PURGES_SHOWN; i++)
		fleet_purge(out, &seen->purges[i]);
	fputs("</tbody></table></div>\n", out);
}

void admin_fleet_write(struct admin_exchange *x)
{
	struct members *members = x->admin->parts.members;
	struct members_seen *seen = members ? members_see(members) : NULL;

	if (!seen)
		return;
	fputs("<h2>Fleet</h2>\n", x->out);
	if (!seen->known)
		fputs("<p>This instance has not reached the store yet.</p>\n", x->out);
	else if (admin_store_is_away(x->admin)) {
		fputs("<p class=\"bad\">The store cannot be reached. The fleet was last seen ", x->out);
		html_span(x->out, (int64_t)(seen->age_ms / 1000));
		fputs(" ago:</p>\n", x->out);
	}
	if (seen->known)
		fleet_table(x->out, seen);
	fleet_purges(x->out, seen);
	free(seen);
}
