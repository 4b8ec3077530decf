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

static void show_publisher(FILE *out, const struct publisher *p)
{
	fprintf(out, "%11" PRIu64 " %6" PRIu64 " %8" PRIu64 " %9" PRIu64 " %7" PRIu64 " %9" PRIu64 "  ", p->mislabelled,
	    p->feeds, p->repairs, p->malformed, p->errors, p->requests);
	visible_bytes(out, p->name);
	putc('\n', out);
}

/* The name of a charset, as the log has it. */
static void show_name(FILE *out, const char *name)
{
	char word[4 * LOG_WORD_MAX];

	log_escape(word, sizeof word, name, strlen(name));
	fprintf(out, "%-16s ", word);
}

static void show_feed(FILE *out, const struct publisher_feed *f)
{
	show_name(out, f->mislabelled ? f->was : "-");
	show_name(out, dash(f->charset));
	fprintf(out, "%8" PRIu64 " %9" PRIu64 " %7" PRIu64 " %9" PRIu64 "  ", f->repairs, f->malformed, f->errors,
	    f->requests);
	visible_bytes(out, f->url);
	putc('\n', out);
}

/* The times of a feed, in the order of their columns. */
enum { FEED_TIMES = 5, MOMENT_MAX = 24 };
static const char *const feed_time_names[FEED_TIMES] = { "last_good", "kept_since", "last_error_at", "paused_until",
	"next_fetch" };

static void feed_times(uint64_t times[FEED_TIMES], const struct publisher_feed *f)
{
	times[0] = f->good;
	times[1] = f->kept_since;
	times[2] = f->error_at;
	times[3] = f->paused_until;
	times[4] = f->next_fetch;
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

static void show_origin(FILE *out, const struct publisher_feed *f)
{
	uint64_t times[FEED_TIMES];
	char room[MOMENT_MAX];

	feed_times(times, f);
	for (size_t i = 0; i < FEED_TIMES; i++)
		fprintf(out, "%-20s ", dash(moment(room, times[i])));
	show_name(out, dash(f->error));
	fprintf(out, "%7" PRIu64 "  ", f->saved);
	visible_bytes(out, f->url);
	putc('\n', out);
}

static void show_origins(FILE *out, const struct publishers *p)
{
	for (size_t i = 0; i < FEED_TIMES; i++)
		fprintf(out, "%-20s ", feed_time_names[i]);
	fprintf(out, "%-16s %7s  %s\n", "last_error", "saved", "feed");
	for (size_t i = 0; i < p->n_feeds; i++)
		show_origin(out, p->feeds[i]);
}

static void show_feeds(FILE *out, const struct publishers *p)
{
	fprintf(out, "%-16s %-16s %8s %9s %7s %9s  %s\n", "label", "is", "repairs", "malformed", "errors", "requests",
	    "feed");
	for (size_t i = 0; i < p->n_feeds; i++)
		if (publisher_feed_is_bad(p->feeds[i]))
			show_feed(out, p->feeds[i]);
}

static void show_publishers(FILE *out, const struct publishers *p)
{
	fprintf(out, "%11s %6s %8s %9s %7s %9s  %s\n", "mislabelled", "feeds", "repairs", "malformed", "errors",
	    "requests", "publisher");
	for (size_t i = 0; i < p->n; i++)
		if (publisher_is_bad(p->all[i]))
			show_publisher(out, p->all[i]);
}

void publishers_show_table(FILE *out, const struct publishers *p, enum publishers_view view)
{
	static void (*const shows[])(FILE *, const struct publishers *) = { [VIEW_PUBLISHERS] = show_publishers,
		[VIEW_FEEDS] = show_feeds, [VIEW_ORIGINS] = show_origins };

	shows[view](out, p);
}

/* ---- CSV (RFC 4180) ---- */

/* A text as a cell. What a spreadsheet would take for a formula gets an apostrophe, by which it is text. */
static void csv_text(FILE *out, const char *text)
{
	putc('"', out);
	if (*text && strchr("=+-@\t\r|%", *text))
		putc('\'', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"')
			fputs("\"\"", out);
		else if (c >= 0x20 && c < 0x7f)
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

static void csv_publisher(FILE *out, const struct publisher *p)
{
	csv_text(out, p->name);
	fprintf(out, ",%" PRIu64 ",%" PRIu64, p->feeds, p->mislabelled);
	csv_counts(out, p->repairs, p->malformed, p->errors, p->requests);
}

static void csv_feed(FILE *out, const struct publisher_feed *f)
{
	csv_text(out, f->publisher->name);
	putc(',', out);
	csv_text(out, f->url);
	putc(',', out);
	csv_text(out, f->mislabelled ? f->was : "");
	putc(',', out);
	csv_text(out, f->charset);
	csv_counts(out, f->repairs, f->malformed, f->errors, f->requests);
}

static void csv_origins(FILE *out, const struct publishers *p)
{
	uint64_t times[FEED_TIMES];
	char room[MOMENT_MAX];

	fputs("publisher,feed", out);
	for (size_t i = 0; i < FEED_TIMES; i++)
		fprintf(out, ",%s", feed_time_names[i]);
	fputs(",last_error,saved\r\n", out);
	for (size_t f = 0; f < p->n_feeds; f++) {
		csv_text(out, p->feeds[f]->publisher->name);
		putc(',', out);
		csv_text(out, p->feeds[f]->url);
		feed_times(times, p->feeds[f]);
		for (size_t i = 0; i < FEED_TIMES; i++)
			fprintf(out, ",%s", moment(room, times[i]));
		putc(',', out);
		csv_text(out, p->feeds[f]->error);
		fprintf(out, ",%" PRIu64 "\r\n", p->feeds[f]->saved);
	}
}

void publishers_show_csv(FILE *out, const struct publishers *p, enum publishers_view view)
{
	bool feeds = view == VIEW_FEEDS;

	if (view == VIEW_ORIGINS) {
		csv_origins(out, p);
		return;
	}
	fputs(feeds ? "publisher,feed,label,is" : "publisher,feeds,mislabelled", out);
	fputs(",repairs,malformed,errors,requests\r\n", out);
	for (size_t i = 0; !feeds && i < p->n; i++)
		if (publisher_is_bad(p->all[i]))
			csv_publisher(out, p->all[i]);
	for (size_t i = 0; feeds && i < p->n_feeds; i++)
		if (publisher_feed_is_bad(p->feeds[i]))
			csv_feed(out, p->feeds[i]);
}

/* ---- JSON ---- */

static void report_json_origin(struct json *j, const struct publisher_feed *f)
{
	uint64_t times[FEED_TIMES];

	feed_times(times, f);
	for (size_t i = 0; i < FEED_TIMES; i++)
		if (times[i])
			json_number(j, feed_time_names[i], times[i]);
		else
			json_null(j, feed_time_names[i]);
	json_string(j, "last_error", f->error[0] ? f->error : NULL);
	json_number(j, "saved", f->saved);
}

static void report_json_feed(struct json *j, const struct publisher_feed *f)
{
	json_open(j, NULL);
	json_string(j, "feed", f->url);
	json_bool(j, "mislabelled", f->mislabelled);
	json_string(j, "label", f->mislabelled ? f->was : NULL);
	json_string(j, "is", f->charset[0] ? f->charset : NULL);
	json_number(j, "repairs", f->repairs);
	json_number(j, "malformed", f->malformed);
	json_number(j, "errors", f->errors);
	json_number(j, "requests", f->requests);
	report_json_origin(j, f);
	json_close(j);
}

/* Writes a publisher with its feeds, which stand together from *at on. */
static void report_json_publisher(struct json *j, const struct publishers *all, const struct publisher *p, size_t *at)
{
	json_open(j, NULL);
	json_string(j, "publisher", p->name);
	json_number(j, "feeds", p->feeds);
	json_number(j, "mislabelled", p->mislabelled);
	json_number(j, "repairs", p->repairs);
	json_number(j, "malformed", p->malformed);
	json_number(j, "errors", p->errors);
	json_number(j, "requests", p->requests);
	json_open_list(j, "bad_feeds");
	for (; *at < all->n_feeds && all->feeds[*at]->publisher == p; ++*at)
		if (publisher_feed_is_bad(all->feeds[*at]))
			report_json_feed(j, all->feeds[*at]);
	json_close_list(j);
	json_close(j);
}

void publishers_show_json(FILE *out, const struct publishers *p, bool origins)
{
	struct json j = { .out = out };
	size_t at = 0;

	json_open(&j, NULL);
	json_number(&j, "lines", p->lines);
	json_number(&j, "unread", p->unread);
	json_number(&j, "left_out", p->left_out);
	json_open_list(&j, "publishers");
	for (size_t i = 0; i < p->n; i++) {
		if (publisher_is_bad(p->all[i]))
			report_json_publisher(&j, p, p->all[i], &at);
		while (at < p->n_feeds && p->feeds[at]->publisher == p->all[i])
			at++;
	}
	json_close_list(&j);
	if (origins) {
		json_open_list(&j, "feeds");
		for (size_t i = 0; i < p->n_feeds; i++)
			report_json_feed(&j, p->feeds[i]);
		json_close_list(&j);
	}
	json_close(&j);
	putc('\n', out);
}
