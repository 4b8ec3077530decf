/* The list of feeds as JSON; see feeds_page.h. */
#include <stdlib.h>
#include <string.h>

#include "proxy/admin/feeds_page.h"
#include "proxy/base/json.h"
#include "proxy/base/url_secrets.h"

static void feed_write_moment(struct json *j, const char *name, int64_t at)
{
	if (at)
		json_number(j, name, (uint64_t)at);
	else
		json_null(j, name);
}

static void feed_write_state(struct json *j, const struct feed_seen *feed, const struct feeds_now *now)
{
	char room[FAILURE_CAUSE_MAX];
	struct feed_standing standing;

	feed_standing_read(&standing, feed, now);
	json_string(j, "state", feed_standing_word(standing.word));
	feed_write_moment(j, "good", feed->state.good);
	feed_write_moment(j, "kept_since", standing.kept_since);
	json_string(j, "last_error", feed_state_error(&feed->state, room));
	feed_write_moment(j, "last_error_at", feed->state.failed_at);
	feed_write_moment(j, "paused_until", standing.paused_until);
	json_string(j, "paused_for",
	    standing.paused_until ? failure_cause(standing.paused.status, standing.paused.why, room) : NULL);
	json_string(j, "protocol", standing.protocol);
	json_string(j, "protocol_why", standing.protocol_why);
	feed_write_moment(j, "next_fetch", standing.next_fetch);
	json_number(j, "saved", feed->state.saved);
}

static void feed_write_history(struct json *j, const struct feed_history *history)
{
	json_open_list(j, "history");
	for (size_t i = 0; i < feed_history_count(history); i++) {
		const struct feed_event *event = feed_history_event(history, i);

		json_open(j, NULL);
		json_number(j, "at", (uint64_t)event->at);
		json_number(j, "status", (uint64_t)event->status);
		json_bool(j, "kept", event->kept);
		json_string(j, "charset", event->charset);
		json_string(j, "was", event->was);
		json_close(j);
	}
	json_close_list(j);
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
	feed_write_history(j, &feed->history);
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

	if (!list)
		return -1;
	size_t n = feeds_seen_first(feeds, &asked->query, list, &count);
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
