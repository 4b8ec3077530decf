/* Showing the account of feeds and publishers; see publishers_show.h. */
#include "proxy/report/publishers_show.h"

#include <inttypes.h>
#include <string.h>

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

void publishers_show_table(FILE *out, const struct publishers *p, bool feeds)
{
	if (feeds)
		fprintf(out, "%-16s %-16s %8s %9s %7s %9s  %s\n", "label", "is", "repairs", "malformed", "errors",
		    "requests", "feed");
	else
		fprintf(out, "%11s %6s %8s %9s %7s %9s  %s\n", "mislabelled", "feeds", "repairs", "malformed", "errors",
		    "requests", "publisher");
	for (size_t i = 0; !feeds && i < p->n; i++)
		if (publisher_is_bad(p->all[i]))
			show_publisher(out, p->all[i]);
	for (size_t i = 0; feeds && i < p->n_feeds; i++)
		if (publisher_feed_is_bad(p->feeds[i]))
			show_feed(out, p->feeds[i]);
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

void publishers_show_csv(FILE *out, const struct publishers *p, bool feeds)
{
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

void publishers_show_json(FILE *out, const struct publishers *p)
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
	json_close(&j);
	putc('\n', out);
}
