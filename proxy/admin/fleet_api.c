/* The instances that share the store behind memory, and their purges: /api/fleet as JSON, and as lines for
 * `utfeed fleet`; see admin_internal.h. Every text is another instance's, and so foreign. */
#include <stdlib.h>
#include <string.h>

#include "proxy/admin/admin_internal.h"
#include "proxy/admin/form.h"
#include "proxy/base/json.h"
#include "proxy/base/url_secrets.h"
#include "proxy/cache/cache.h"
#include "proxy/fleet/members.h"
#include "proxy/report/visible.h"

static const char *const fleet_whats[] = { [PURGE_URL] = "url", [PURGE_PREFIX] = "prefix", [PURGE_ALL] = "all" };

const char *admin_fleet_what(const struct members_purge *purge)
{
	return fleet_whats[purge->what];
}

/* ---- JSON ---- */

static void fleet_json_instance(struct json *j, const struct fleet_member *row, bool self)
{
	json_open(j, NULL);
	json_string(j, "instance", row->name);
	json_number(j, "pid", row->pid);
	json_bool(j, "self", self);
	json_string(j, "version", row->version);
	json_number(j, "entry_format", row->format);
	json_string(j, "admin", *row->admin ? row->admin : NULL);
	json_number(j, "up_s", row->up_s);
	json_number(j, "seen_ms", row->age_ms);
	json_number(j, "requests", row->requests);
	json_number(j, "hits", row->hits);
	json_number(j, "misses", row->misses);
	json_number(j, "fetches", row->fetches);
	json_number(j, "leases_held", row->leases);
	json_number(j, "leases_waiting", row->waits);
	json_number(j, "purge_lag_ms", row->lag_ms);
	json_close(j);
}

static void fleet_json_purge(struct json *j, const struct members_purge *purge)
{
	char url[URL_SHOWN_MAX];

	url_show(url, purge->url, strlen(purge->url));
	json_open(j, NULL);
	json_number(j, "age_s", purge->age_ms / 1000);
	json_string(j, "what", admin_fleet_what(purge));
	json_bool(j, "soft", purge->soft);
	json_string(j, "url", purge->what == PURGE_ALL ? NULL : url);
	json_string(j, "instance", purge->by ? purge->by->name : NULL);
	json_number(j, "pid", purge->by ? purge->by->pid : 0);
	json_close(j);
}

static void fleet_json(struct admin_exchange *x, const struct members_seen *seen, bool away)
{
	struct json j = api_json_begin(x);

	json_bool(&j, "fleet", seen != NULL);
	json_bool(&j, "store_away", away);
	json_number(&j, "count", seen ? seen->of : 1);
	if (seen && seen->known)
		json_number(&j, "read_ms", seen->age_ms);
	else
		json_null(&j, "read_ms");
	json_open_list(&j, "instances");
	for (size_t i = 0; seen && i < seen->n; i++)
		fleet_json_instance(&j, &seen->rows[i], seen->rows[i].process == seen->self);
	json_close_list(&j);
	json_open_list(&j, "purges");
	for (size_t i = 0; seen && i < seen->n_purges; i++)
		fleet_json_purge(&j, &seen->purges[i]);
	json_close_list(&j);
	api_json_end(&j);
}

/* ---- lines: a name, a tab, and values between tabs (proxy/command/fleet_frame.c) ---- */

static void fleet_text(FILE *out, const char *text)
{
	putc('\t', out);
	visible_bytes(out, text);
}

static void fleet_numbers(FILE *out, size_t n, const uint64_t numbers[])
{
	for (size_t i = 0; i < n; i++)
		fprintf(out, "\t%llu", (unsigned long long)numbers[i]);
}

static void fleet_line_instance(FILE *out, const struct fleet_member *row, bool self)
{
	fputs("instance", out);
	fleet_text(out, row->name);
	fleet_numbers(out, 1, &row->pid);
	fleet_text(out, row->version);
	fleet_numbers(out, 8, (const uint64_t[]){ row->up_s, row->age_ms, row->requests, row->hits, row->fetches,
	                          row->leases, row->waits, row->lag_ms });
	fleet_text(out, row->admin);
	fprintf(out, "\t%d\n", self);
}

static void fleet_line_purge(FILE *out, const struct members_purge *purge)
{
	char url[URL_SHOWN_MAX];

	url_show(url, purge->url, strlen(purge->url));
	fprintf(out, "purge\t%llu\t%s%s", (unsigned long long)purge->age_ms / 1000, purge->soft ? "soft " : "",
	    admin_fleet_what(purge));
	fleet_text(out, purge->by ? purge->by->name : "?");
	fleet_numbers(out, 1, &(uint64_t){ purge->by ? purge->by->pid : 0 });
	fleet_text(out, url);
	putc('\n', out);
}

static void fleet_lines(FILE *out, const struct members_seen *seen, bool away)
{
	fprintf(out, "fleet\t%zu\t", seen ? seen->of : (size_t)1);
	if (seen && seen->known)
		fprintf(out, "%llu", (unsigned long long)seen->age_ms);
	fprintf(out, "\t%d\n", away);
	for (size_t i = 0; seen && i < seen->n; i++)
		fleet_line_instance(out, &seen->rows[i], seen->rows[i].process == seen->self);
	for (size_t i = 0; seen && i < seen->n_purges; i++)
		fleet_line_purge(out, &seen->purges[i]);
}

void admin_api_fleet(struct admin_exchange *x)
{
	struct members *members = x->admin->parts.members;
	struct members_seen *seen = members ? members_see(members) : NULL;
	bool away = admin_store_is_away(x->admin);
	char lines[2];

	if (members && !seen)
		admin_api_error(x, 503, "utfeed ran out of memory.");
	else if (form_get(x->query, x->body, "lines", lines, sizeof lines) == FORM_FOUND)
		fleet_lines(x->out, seen, away);
	else
		fleet_json(x, seen, away);
	free(seen);
}
