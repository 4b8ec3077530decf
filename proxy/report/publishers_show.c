/* Showing the account of feeds and publishers; see publishers_show.h. */
#include "proxy/report/publishers_show.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "proxy/base/json.h"
#include "proxy/base/log.h"
#include "proxy/report/visible.h"

/* ---- a table ---- */

static const char *dash(const char *text)
{
	return *text ? text : "-";
}

/* The name of a charset, as the log has it. */
static void show_name(FILE *out, const char *name)
{
	char word[4 * LOG_WORD_MAX];

	log_escape(word, sizeof word, name, strlen(name));
	fprintf(out, "%-16s ", word);
}

/* The times of a feed, in the order of their columns. */
enum { FEED_TIMES = 5, MOMENT_MAX = 24 };
static const char *const feed_time_names[FEED_TIMES] = { "last_good", "kept_since", "last_error_at", "paused_until",
	"next_fetch" };

static void feed_times(uint64_t times[FEED_TIMES], const struct publisher_feed *feed)
{
	times[0] = feed->good;
	times[1] = feed->kept_since;
	times[2] = feed->error_at;
	times[3] = feed->paused_until;
	times[4] = feed->next_fetch;
}

/* "2026-11-21T03:04:05Z"; "" if there is none. */
static const char *moment(char room[MOMENT_MAX], uint64_t at)
{
	time_t t = (time_t)at;
	struct tm tm;

	*room = '\0';
	if (at && at < UINT32_MAX && gmtime_r(&t, &tm))
		strftime(room, MOMENT_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return room;
}

static void show_origin(FILE *out, const struct publisher_feed *feed)
{
	uint64_t times[FEED_TIMES];
	char room[MOMENT_MAX];

	feed_times(times, feed);
	for (size_t i = 0; i < FEED_TIMES; i++)
		fprintf(out, "%-20s ", dash(moment(room, times[i])));
	show_name(out, dash(feed->error));
	fprintf(out, "%7" PRIu64 "  ", feed->saved);
	visible_bytes(out, feed->url);
	putc('\n', out);
}

static void show_origins(FILE *out, const struct publishers *publishers)
{
	for (size_t i = 0; i < FEED_TIMES; i++)
		fprintf(out, "%-20s ", feed_time_names[i]);
	fprintf(out, "%-16s %7s  %s\n", "last_error", "saved", "feed");
	for (size_t i = 0; i < publishers->n_feeds; i++)
		show_origin(out, publishers->feeds[i]);
}

static void show_feeds(FILE *out, const struct publishers *publishers)
{
	fprintf(out, "%-16s %-16s %8s %9s %7s %9s  %s\n", "label", "is", "repairs", "malformed", "errors", "requests",
	    "feed");
	for (size_t i = 0; i < publishers->n_feeds; i++) {
		const struct publisher_feed *feed = publishers->feeds[i];

		if (!publisher_feed_is_bad(feed))
			continue;
		show_name(out, dash(feed->label));
		show_name(out, dash(feed->charset));
		fprintf(out, "%8" PRIu64 " %9" PRIu64 " %7" PRIu64 " %9" PRIu64 "  ", feed->repairs, feed->malformed,
		    feed->errors, feed->requests);
		visible_bytes(out, feed->url);
		putc('\n', out);
	}
}

static void show_publishers(FILE *out, const struct publishers *publishers)
{
	fprintf(out, "%11s %6s %8s %9s %7s %9s  %s\n", "mislabelled", "feeds", "repairs", "malformed", "errors",
	    "requests", "publisher");
	for (size_t i = 0; i < publishers->n; i++) {
		const struct publisher *publisher = publishers->all[i];

		if (!publisher->bad)
			continue;
		fprintf(out, "%11" PRIu64 " %6" PRIu64 " %8" PRIu64 " %9" PRIu64 " %7" PRIu64 " %9" PRIu64 "  ",
		    publisher->mislabelled, publisher->feeds, publisher->repairs, publisher->malformed,
		    publisher->errors, publisher->requests);
		visible_bytes(out, publisher->name);
		putc('\n', out);
	}
}

void publishers_show_table(FILE *out, const struct publishers *publishers, enum publishers_view view)
{
	static void (*const shows[])(FILE *, const struct publishers *) = { [VIEW_PUBLISHERS] = show_publishers,
		[VIEW_FEEDS] = show_feeds, [VIEW_ORIGINS] = show_origins };

	shows[view](out, publishers);
}

/* ---- CSV (RFC 4180) ---- */

/* Whether a cell of that text is a formula to some spreadsheet, which may leave out blanks before it. */
static bool csv_is_formula(const char *text)
{
	text += strspn(text, " ");
	return *text && strchr("=+-@\t\r\n|%", *text);
}

/* A text as a cell. An apostrophe keeps spreadsheets from taking a text for a formula. In some languages a semicolon
 * ends a cell, also between quotes that do not begin one. */
static void csv_text(FILE *out, const char *text)
{
	putc('"', out);
	if (csv_is_formula(text))
		putc('\'', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"')
			fputs("\"\"", out);
		else if (c >= 0x20 && c < 0x7f && !(c == ';' && csv_is_formula(text + 1)))
			putc(c, out);
		else
			fprintf(out, "\\x%02x", c);
	}
	putc('"', out);
}

static void csv_counts(FILE *out, uint64_t repairs, uint64_t malformed, uint64_t errors, uint64_t requests)
{
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n", repairs, malformed, errors, requests);
}

static void csv_publisher(FILE *out, const struct publisher *publisher)
{
	csv_text(out, publisher->name);
	fprintf(out, ",%" PRIu64 ",%" PRIu64, publisher->feeds, publisher->mislabelled);
	csv_counts(out, publisher->repairs, publisher->malformed, publisher->errors, publisher->requests);
}

static void csv_feed(FILE *out, const struct publisher_feed *feed)
{
	csv_text(out, feed->publisher->name);
	putc(',', out);
	csv_text(out, feed->url);
	putc(',', out);
	csv_text(out, feed->label);
	putc(',', out);
	csv_text(out, feed->charset);
	csv_counts(out, feed->repairs, feed->malformed, feed->errors, feed->requests);
}

static void csv_origins(FILE *out, const struct publishers *publishers)
{
	uint64_t times[FEED_TIMES];
	char room[MOMENT_MAX];

	fputs("publisher,feed", out);
	for (size_t i = 0; i < FEED_TIMES; i++)
		fprintf(out, ",%s", feed_time_names[i]);
	fputs(",last_error,saved\r\n", out);
	for (size_t f = 0; f < publishers->n_feeds; f++) {
		csv_text(out, publishers->feeds[f]->publisher->name);
		putc(',', out);
		csv_text(out, publishers->feeds[f]->url);
		feed_times(times, publishers->feeds[f]);
		for (size_t i = 0; i < FEED_TIMES; i++)
			fprintf(out, ",%s", moment(room, times[i]));
		putc(',', out);
		csv_text(out, publishers->feeds[f]->error);
		fprintf(out, ",%" PRIu64 "\r\n", publishers->feeds[f]->saved);
	}
}

void publishers_show_csv(FILE *out, const struct publishers *publishers, enum publishers_view view)
{
	bool feeds = view == VIEW_FEEDS;

	if (view == VIEW_ORIGINS) {
		csv_origins(out, publishers);
		return;
	}
	fputs(feeds ? "publisher,feed,label,is" : "publisher,feeds,mislabelled", out);
	fputs(",repairs,malformed,errors,requests\r\n", out);
	for (size_t i = 0; !feeds && i < publishers->n; i++)
		if (publishers->all[i]->bad)
			csv_publisher(out, publishers->all[i]);
	for (size_t i = 0; feeds && i < publishers->n_feeds; i++)
		if (publisher_feed_is_bad(publishers->feeds[i]))
			csv_feed(out, publishers->feeds[i]);
}

/* ---- JSON ---- */

static void report_json_origin(struct json *j, const struct publisher_feed *feed)
{
	uint64_t times[FEED_TIMES];

	feed_times(times, feed);
	for (size_t i = 0; i < FEED_TIMES; i++)
		if (times[i])
			json_number(j, feed_time_names[i], times[i]);
		else
			json_null(j, feed_time_names[i]);
	json_string(j, "last_error", feed->error[0] ? feed->error : NULL);
	json_number(j, "saved", feed->saved);
}

static void report_json_feed(struct json *j, const struct publisher_feed *feed)
{
	json_open(j, NULL);
	json_string(j, "feed", feed->url);
	json_bool(j, "mislabelled", feed->mislabelled);
	json_string(j, "label", feed->label[0] ? feed->label : NULL);
	json_string(j, "is", feed->charset[0] ? feed->charset : NULL);
	json_number(j, "repairs", feed->repairs);
	json_number(j, "malformed", feed->malformed);
	json_number(j, "errors", feed->errors);
	json_number(j, "requests", feed->requests);
	report_json_origin(j, feed);
	json_close(j);
}

/* Writes a publisher with its feeds, which stand together from *at on. */
static void report_json_publisher(struct json *j, const struct publishers *all, const struct publisher *publisher,
    size_t *at)
{
	json_open(j, NULL);
	json_string(j, "publisher", publisher->name);
	json_number(j, "feeds", publisher->feeds);
	json_number(j, "mislabelled", publisher->mislabelled);
	json_number(j, "repairs", publisher->repairs);
	json_number(j, "malformed", publisher->malformed);
	json_number(j, "errors", publisher->errors);
	json_number(j, "requests", publisher->requests);
	json_open_list(j, "bad_feeds");
	for (; *at < all->n_feeds && all->feeds[*at]->publisher == publisher; ++*at)
		if (publisher_feed_is_bad(all->feeds[*at]))
			report_json_feed(j, all->feeds[*at]);
	json_close_list(j);
	json_close(j);
}

void publishers_show_json(FILE *out, const struct publishers *publishers, bool origins)
{
	struct json j = { .out = out };
	size_t at = 0;

	json_open(&j, NULL);
	json_number(&j, "lines", publishers->lines);
	json_number(&j, "unread", publishers->unread);
	json_number(&j, "left_out", publishers->left_out);
	json_open_list(&j, "publishers");
	for (size_t i = 0; i < publishers->n; i++) {
		if (publishers->all[i]->bad)
			report_json_publisher(&j, publishers, publishers->all[i], &at);
		while (at < publishers->n_feeds && publishers->feeds[at]->publisher == publishers->all[i])
			at++;
	}
	json_close_list(&j);
	if (origins) {
		json_open_list(&j, "feeds");
		for (size_t i = 0; i < publishers->n_feeds; i++)
			report_json_feed(&j, publishers->feeds[i]);
		json_close_list(&j);
	}
	json_close(&j);
	putc('\n', out);
}
