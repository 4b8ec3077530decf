/* What is asked of the list of feeds; see feeds_page.h. */
#include "proxy/admin/feeds_page.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/admin/form.h"
#include "proxy/admin/html.h"
#include "proxy/base/container_of.h"

/* Those that are equal come in the order of their URLs; reversed, all is. */
#define FEEDS_ORDER(member, first) \
	static int feeds_by_##member(const struct feed_seen *a, const struct feed_seen *b) \
	{ \
		return a->member != b->member ? (a->member first b->member ? -1 : 1) : strcmp(a->url, b->url); \
	} \
	static int feeds_back_by_##member(const struct feed_seen *a, const struct feed_seen *b) \
	{ \
		return feeds_by_##member(b, a); \
	}

FEEDS_ORDER(requests, >)
FEEDS_ORDER(hits, >)
FEEDS_ORDER(errors, >)
FEEDS_ORDER(repairs, >)
FEEDS_ORDER(bytes, >)
FEEDS_ORDER(last, >)
FEEDS_ORDER(expires, <)

static int feeds_by_url(const struct feed_seen *a, const struct feed_seen *b)
{
	return strcmp(a->url, b->url);
}

static int feeds_back_by_url(const struct feed_seen *a, const struct feed_seen *b)
{
	return strcmp(b->url, a->url);
}

#define FEEDS_ROW(word, title, ascends, member) \
	{ #word, title, ascends, { feeds_by_##word, feeds_back_by_##word }, offsetof(struct feed_seen, member) }
const struct feeds_order feeds_orders[FEEDS_ORDERS] = {
	FEEDS_ROW(requests, "Requests", false, requests),
	FEEDS_ROW(hits, "Hits", false, hits),
	FEEDS_ROW(errors, "Errors", false, errors),
	FEEDS_ROW(repairs, "Repairs", false, repairs),
	FEEDS_ROW(bytes, "Bytes", false, bytes),
	FEEDS_ROW(last, "Last asked", false, last),
	FEEDS_ROW(expires, "Next fetch", true, expires),
	FEEDS_ROW(url, "Feed", true, id),
};

static bool feeds_wanted(const struct feeds_query *query, const struct feed_seen *feed)
{
	const struct feeds_asked *asked = container_of(query, const struct feeds_asked, query);

	return (!asked->mislabelled || feed_is_mislabelled(feed)) &&
	    (!asked->kept || feed_is_kept(feed, asked->now.wall_s)) &&
	    (!*asked->search || strcasestr(feed->url, asked->search));
}

const struct feeds_order *feeds_order_of(const char *name)
{
	for (size_t i = 0; i < FEEDS_ORDERS; i++)
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

/* Reads VALUE.NUMBER of a feed. The URL of one that has left the list is such that it stands before all feeds with the
 * same value. False: it is none. */
static bool feeds_read_edge(struct feeds_asked *asked, const char *word, struct feeds_seen *feeds)
{
	uint64_t id;
	char *end;

	int64_t value = strtoll(word, &end, 10);
	if (end == word || !strchr("-0123456789", *word) || *end != '.' || !form_number(end + 1, UINT64_MAX, &id))
		return false;
	memcpy((char *)&asked->edge + asked->order->value, &value, sizeof value);
	struct feed_seen *listed = feeds_find(feeds, id);
	strcpy(asked->edge.url, listed ? listed->url : asked->reversed ? "\xff" : "");
	free(listed);
	asked->query.edge = &asked->edge;
	return true;
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

void feeds_asked_order(struct feeds_asked *asked, const struct feeds_order *order, bool reversed)
{
	asked->order = order;
	asked->reversed = reversed;
	asked->query.compare = order->compare[reversed];
	asked->query.edge = NULL;
	asked->query.backwards = false;
}

const char *feeds_asked_read(struct feeds_asked *asked, struct slice query, struct feeds_seen *feeds,
    struct feeds_now now)
{
	struct slice none = { NULL, 0 };
	char word[16];
	uint64_t n;

	*asked = (struct feeds_asked){ .query = { .want = feeds_wanted, .max = FEEDS_LIMIT }, .order = feeds_orders };
	if (form_get(query, none, "sort", word, sizeof word) != FORM_ABSENT && !(asked->order = feeds_order_of(word)))
		return "sort is requests, hits, errors, repairs, bytes, last, expires or url";
	feeds_asked_order(asked, asked->order, feeds_read_flag(query, "reverse"));
	if (form_get(query, none, "limit", word, sizeof word) != FORM_ABSENT) {
		if (!form_number(word, FEEDS_LIMIT_MAX, &n) || !n)
			return "limit is a number from 1 to 10000";
		asked->query.max = n;
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
	if (asked->reversed)
		WRITE_MEMBER("reverse=1");
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
