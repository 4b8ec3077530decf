/* What is asked of the list of feeds; see feeds_page.h. */
#include "proxy/admin/feeds_page.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proxy/admin/form.h"
#include "proxy/admin/html.h"
#include "proxy/base/container_of.h"
#include "proxy/base/json.h"
#include "proxy/base/url_secrets.h"
#include "proxy/net/loop.h"

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
	{ "requests", "Requests", feeds_by_requests, offsetof(struct feed_seen, requests) },
	{ "hits", "Hits", feeds_by_hits, offsetof(struct feed_seen, hits) },
	{ "errors", "Errors", feeds_by_errors, offsetof(struct feed_seen, errors) },
	{ "repairs", "Repairs", feeds_by_repairs, offsetof(struct feed_seen, repairs) },
	{ "bytes", "Bytes", feeds_by_bytes, offsetof(struct feed_seen, bytes) },
	{ "last", "Last asked", feeds_by_last, offsetof(struct feed_seen, last) },
	{ "expires", "Next fetch", feeds_by_expires, offsetof(struct feed_seen, expires) },
	{ "url", "Feed", feeds_by_url, offsetof(struct feed_seen, id) },
};

bool feed_is_mislabelled(const struct feed_seen *feed)
{
	return feed->charset && feed->was && strcasecmp(feed->charset, feed->was);
}

static bool feeds_wanted(const struct feeds_query *query, const struct feed_seen *feed)
{
	const struct feeds_asked *asked = container_of(query, const struct feeds_asked, query);

	return (!asked->mislabelled || feed_is_mislabelled(feed)) &&
	    (!asked->kept || feed_is_kept(feed, asked->now.wall_s)) &&
	    (!*asked->search || strcasestr(feed->url, asked->search));
}

const struct feeds_order *feeds_order_of(const char *name)
{
	for (size_t i = 0; i < sizeof feeds_orders / sizeof *feeds_orders; i++)
		if (!strcmp(feeds_orders[i].name, name))
			return &feeds_orders[i];
	return NULL;
}

/* ---- one feed, and where a page begins ---- */

struct feeds_sought {
	struct feeds_query query;
	uint64_t id;
};

static bool feeds_is_sought(const struct feeds_query *query, const struct feed_seen *feed)
{
	return container_of(query, const struct feeds_sought, query)->id == feed->id;
}

struct feed_seen *feeds_find(struct feeds_seen *feeds, uint64_t id)
{
	struct feeds_sought sought = { { .want = feeds_is_sought, .compare = feeds_by_url, .max = 1 }, id };
	struct feeds_count count;
	struct feed_seen *feed;

	return feeds_seen_first(feeds, &sought.query, &feed, &count) ? feed : NULL;
}

/* Reads VALUE.NUMBER of a feed. The URL of one that has left the list is "", so that it stands before all feeds with
 * the same value. False: it is none. */
static bool feeds_read_edge(struct feeds_asked *asked, const char *word, struct feeds_seen *feeds)
{
	struct feed_seen *listed;
	int64_t value;
	uint64_t id;
	char *end;

	value = strtoll(word, &end, 10);
	if (end == word || *end != '.' || end[1] < '0' || end[1] > '9')
		return false;
	id = strtoull(end + 1, &end, 10);
	memcpy((char *)&asked->edge + asked->order->value, &value, sizeof value);
	if ((listed = feeds_find(feeds, id)))
		strcpy(asked->edge.url, listed->url);
	free(listed);
	asked->query.edge = &asked->edge;
	return !*end;
}

/* Reads after and before; without a value they are the beginning and the end of the list. */
static const char *feeds_read_place(struct feeds_asked *asked, struct slice query, struct feeds_seen *feeds)
{
	struct slice none = { NULL, 0 };
	char after[FEEDS_EDGE_MAX], before[FEEDS_EDGE_MAX];
	enum form_result is_after = form_get(query, none, "after", after, sizeof after),
	                 is_before = form_get(query, none, "before", before, sizeof before);
	const char *word = is_after != FORM_ABSENT ? after : before;

	if (is_after != FORM_ABSENT && is_before != FORM_ABSENT)
		return "after and before exclude each other";
	asked->query.backwards = is_before != FORM_ABSENT;
	if (is_after == FORM_TOO_LONG || is_before == FORM_TOO_LONG || (*word && !feeds_read_edge(asked, word, feeds)))
		return "after and before are copied from a link of /feeds or from next";
	return NULL;
}

static bool feeds_read_flag(struct slice query, const char *name)
{
	char word[16];

	return form_get(query, (struct slice){ NULL, 0 }, name, word, sizeof word) == FORM_FOUND &&
	    strcmp(word, "0");
}

const char *feeds_asked_read(struct feeds_asked *asked, struct slice query, struct feeds_seen *feeds,
    struct feeds_now now)
{
	struct slice none = { NULL, 0 };
	char word[16];
	char *end;

	*asked = (struct feeds_asked){ .query = { .want = feeds_wanted, .max = FEEDS_LIMIT }, .order = feeds_orders };
	if (form_get(query, none, "sort", word, sizeof word) != FORM_ABSENT && !(asked->order = feeds_order_of(word)))
		return "sort is no word that is known here";
	asked->query.compare = asked->order->compare;
	if (form_get(query, none, "limit", word, sizeof word) != FORM_ABSENT) {
		asked->query.max = strtoul(word, &end, 10);
		if (*end || end == word || asked->query.max < 1 || asked->query.max > FEEDS_LIMIT_MAX)
			return "limit is a number from 1 to 10000";
	}
	if (form_get(query, none, "search", asked->search, sizeof asked->search) == FORM_TOO_LONG)
		return "search is too long";
	asked->mislabelled = feeds_read_flag(query, "mislabelled");
	asked->kept = feeds_read_flag(query, "kept");
	asked->now = now;
	return feeds_read_place(asked, query, feeds);
}

void feeds_write_query(FILE *out, const struct feeds_asked *asked, enum feeds_side side, const struct feed_seen *edge,
    const char *ampersand)
{
	const char *sign[] = { "?", ampersand };
	bool any = false;
	int64_t value;

#define WRITE_MEMBER(...) (fputs(sign[any], out), any = true, fprintf(out, __VA_ARGS__))
	if (asked->order != feeds_orders)
		WRITE_MEMBER("sort=%s", asked->order->name);
	if (asked->query.max != FEEDS_LIMIT)
		WRITE_MEMBER("limit=%zu", asked->query.max);
	if (asked->mislabelled)
		WRITE_MEMBER("mislabelled=1");
	if (asked->kept)
		WRITE_MEMBER("kept=1");
	if (*asked->search) {
		WRITE_MEMBER("search=");
		html_query(out, asked->search);
	}
	if (side == FEEDS_BEFORE || edge)
		WRITE_MEMBER(side == FEEDS_BEFORE ? "before=" : "after=");
#undef WRITE_MEMBER
	if (!edge)
		return;
	memcpy(&value, (const char *)edge + asked->order->value, sizeof value);
	fprintf(out, "%" PRId64 ".%" PRIu64, value, edge->id);
}

/* ---- JSON ---- */

static void feed_write_moment(struct json *j, const char *name, int64_t at)
{
	if (at)
		json_number(j, name, (uint64_t)at);
	else
		json_null(j, name);
}

struct feeds_now feeds_now(struct loop *loop, struct backoff *backoff)
{
	return (struct feeds_now){ loop_wall_ms(loop) / 1000, loop_now_ms(loop), backoff };
}

int64_t feed_paused_until(const struct feed_seen *feed, const struct feeds_now *now, struct backoff_shown *pause)
{
	if (!backoff_find(now->backoff, (struct slice){ feed->url, strlen(feed->url) }, now->steady_ms, pause))
		return 0;
	return now->wall_s + (int64_t)((pause->until_ms - now->steady_ms + 999) / 1000);
}

int64_t feed_next_fetch(const struct feed_seen *feed, const struct feeds_now *now)
{
	struct backoff_shown pause;
	int64_t until = feed_paused_until(feed, now, &pause);

	return until > feed->expires ? until : feed->expires;
}

static void feed_write_state(struct json *j, const struct feed_seen *feed, const struct feeds_now *now)
{
	char room[FAILURE_CAUSE_MAX];
	struct backoff_shown pause;
	int64_t until = feed_paused_until(feed, now, &pause);

	feed_write_moment(j, "good", feed->state.good);
	feed_write_moment(j, "kept_since", feed_is_kept(feed, now->wall_s) ? feed->state.kept_since : 0);
	json_string(j, "last_error", feed_state_error(&feed->state, room));
	feed_write_moment(j, "last_error_at", feed->state.failed_at);
	feed_write_moment(j, "paused_until", until);
	json_string(j, "paused_for", until ? failure_cause(pause.cause.status, pause.cause.why, room) : NULL);
	feed_write_moment(j, "next_fetch", feed_next_fetch(feed, now));
	json_number(j, "saved", feed->state.saved);
}

static void feed_write_json(struct json *j, const struct feed_seen *feed, const struct feeds_now *now)
{
	char url[URL_SHOWN_MAX];

	url_show(url, feed->url, strlen(feed->url));
	json_open(j, NULL);
	json_number(j, "id", feed->id);
	json_string(j, "url", url);
	json_number(j, "requests", feed->requests);
	json_number(j, "hits", feed->hits);
	json_number(j, "errors", feed->errors);
	json_number(j, "bytes", feed->bytes);
	json_number(j, "first", (uint64_t)feed->first);
	json_number(j, "last", (uint64_t)feed->last);
	feed_write_moment(j, "expires", feed->expires);
	json_number(j, "status", (uint64_t)feed->status);
	json_string(j, "rule", *feed->rule ? feed->rule : NULL);
	json_string(j, "charset", feed->charset);
	json_string(j, "was", feed->was);
	json_string(j, "reason", feed->reason);
	json_bool(j, "mislabelled", feed_is_mislabelled(feed));
	json_number(j, "repairs", feed->repairs);
	json_number(j, "malformed", feed->malformed);
	feed_write_state(j, feed, now);
	json_close(j);
}

/* Writes what asks for the feeds behind these; null: there are none. */
static void feeds_write_next(struct json *j, const struct feeds_asked *asked, const struct feed_seen *last)
{
	char *text = NULL;
	size_t len;
	FILE *f = last ? open_memstream(&text, &len) : NULL;

	if (f) {
		feeds_write_query(f, asked, FEEDS_AFTER, last, "&");
		fclose(f);
	}
	json_string(j, "next", text);
	free(text);
}

int feeds_write_json(FILE *out, struct feeds_seen *feeds, const struct feeds_asked *asked)
{
	struct json j = { out, false };
	struct feed_seen **list = malloc(asked->query.max * sizeof *list);
	struct feeds_count count;
	size_t n;

	if (!list)
		return -1;
	n = feeds_seen_first(feeds, &asked->query, list, &count);
	json_open(&j, NULL);
	json_number(&j, "total", count.total);
	json_open_list(&j, "feeds");
	for (size_t i = 0; i < n; i++)
		feed_write_json(&j, list[i], &asked->now);
	json_close_list(&j);
	feeds_write_next(&j, asked, n && count.first + n < count.total ? list[n - 1] : NULL);
	json_close(&j);
	putc('\n', out);
	while (n)
		free(list[--n]);
	free(list);
	return 0;
}
