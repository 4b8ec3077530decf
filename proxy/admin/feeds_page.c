/* What is asked of the list of feeds; see feeds_page.h. */
#include "proxy/admin/feeds_page.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proxy/admin/form.h"
#include "proxy/base/container_of.h"
#include "proxy/base/json.h"
#include "proxy/base/url_secrets.h"

/* The largest comes first; those that are equal in the order of their URLs. */
#define FEEDS_ORDER(member) \
	static int feeds_by_##member(const struct feed_seen *a, const struct feed_seen *b) \
	{ \
		return a->member != b->member ? (a->member < b->member) - (a->member > b->member) \
		                              : strcmp(a->url, b->url); \
	}

FEEDS_ORDER(requests)
FEEDS_ORDER(hits)
FEEDS_ORDER(errors)
FEEDS_ORDER(repairs)
FEEDS_ORDER(bytes)
FEEDS_ORDER(last)

static int feeds_by_expires(const struct feed_seen *a, const struct feed_seen *b)
{
	return a->expires != b->expires ? (a->expires > b->expires) - (a->expires < b->expires)
	                                : strcmp(a->url, b->url);
}

static int feeds_by_url(const struct feed_seen *a, const struct feed_seen *b)
{
	return strcmp(a->url, b->url);
}

const struct feeds_order feeds_orders[] = {
	{ "requests", "Requests", feeds_by_requests },
	{ "hits", "Hits", feeds_by_hits },
	{ "errors", "Errors", feeds_by_errors },
	{ "repairs", "Repairs", feeds_by_repairs },
	{ "bytes", "Bytes", feeds_by_bytes },
	{ "last", "Last asked", feeds_by_last },
	{ "expires", "Next fetch", feeds_by_expires },
	{ "url", "Feed", feeds_by_url },
};
const size_t feeds_n_orders = sizeof feeds_orders / sizeof *feeds_orders;

bool feed_is_mislabelled(const struct feed_seen *s)
{
	return s->charset && s->was && strcasecmp(s->charset, s->was) != 0;
}

static bool feeds_wanted(const struct feeds_query *q, const struct feed_seen *s)
{
	const struct feeds_asked *a = container_of(q, const struct feeds_asked, query);

	return (!a->mislabelled || feed_is_mislabelled(s)) && (!*a->search || strcasestr(s->url, a->search));
}

static const struct feeds_order *feeds_order_of(const char *word)
{
	for (size_t i = 0; i < feeds_n_orders; i++)
		if (!strcmp(feeds_orders[i].name, word))
			return &feeds_orders[i];
	return NULL;
}

const char *feeds_asked_read(struct feeds_asked *a, struct slice query)
{
	struct slice none = { NULL, 0 };
	char word[16];
	char *end;

	*a = (struct feeds_asked){ .query = { feeds_wanted, NULL, FEEDS_LIMIT }, .order = feeds_orders };
	if (form_get(query, none, "sort", word, sizeof word) != FORM_ABSENT && !(a->order = feeds_order_of(word)))
		return "sort is no word that is known here";
	a->query.compare = a->order->compare;
	if (form_get(query, none, "limit", word, sizeof word) != FORM_ABSENT) {
		a->query.max = strtoul(word, &end, 10);
		if (*end || end == word || a->query.max < 1 || a->query.max > FEEDS_LIMIT_MAX)
			return "limit is a number from 1 to 10000";
	}
	if (form_get(query, none, "search", a->search, sizeof a->search) == FORM_TOO_LONG)
		return "search is too long";
	a->mislabelled =
	    form_get(query, none, "mislabelled", word, sizeof word) == FORM_FOUND && strcmp(word, "0") != 0;
	return NULL;
}

static void feed_write_json(struct json *j, const struct feed_seen *s)
{
	char url[URL_SHOWN_MAX];

	url_show(url, s->url, strlen(s->url));
	json_open(j, NULL);
	json_number(j, "id", s->id);
	json_string(j, "url", url);
	json_number(j, "requests", s->requests);
	json_number(j, "hits", s->hits);
	json_number(j, "errors", s->errors);
	json_number(j, "bytes", s->bytes);
	json_number(j, "first", (uint64_t)s->first);
	json_number(j, "last", (uint64_t)s->last);
	if (s->expires)
		json_number(j, "expires", (uint64_t)s->expires);
	else
		json_null(j, "expires");
	json_number(j, "status", (uint64_t)s->status);
	json_string(j, "rule", *s->rule ? s->rule : NULL);
	json_string(j, "charset", s->charset);
	json_string(j, "was", s->was);
	json_string(j, "reason", s->reason);
	json_bool(j, "mislabelled", feed_is_mislabelled(s));
	json_number(j, "repairs", s->repairs);
	json_number(j, "malformed", s->malformed);
	json_close(j);
}

int feeds_write_json(FILE *out, struct feeds_seen *feeds, const struct feeds_asked *a)
{
	struct json j = { out, false };
	struct feed_seen **list = malloc(a->query.max * sizeof *list);
	size_t n, total;

	if (!list)
		return -1;
	n = feeds_seen_first(feeds, &a->query, list, &total);
	json_open(&j, NULL);
	json_number(&j, "total", total);
	json_open_list(&j, "feeds");
	for (size_t i = 0; i < n; i++) {
		feed_write_json(&j, list[i]);
		free(list[i]);
	}
	json_close_list(&j);
	json_close(&j);
	putc('\n', out);
	free(list);
	return 0;
}
