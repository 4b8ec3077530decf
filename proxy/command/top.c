/* One frame of `utfeed top`; see top.h. */
#include "proxy/command/top.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOP_LINE_MAX = 512, TOP_FIELDS = 9, TOP_ATTENTION_MAX = 10, TOP_FEEDS_MAX = 200, TOP_SPANS = 3 };

/* What was told: a name and values of each line, "" where there are none. They point into the text. */
struct top_fields {
	const char *at[TOP_FIELDS];
};

struct top_told {
	const char *version, *instance;
	uint64_t now, started, workers, memory, feeds, mislabelled;
	const char *attention[TOP_ATTENTION_MAX];
	size_t n_attention;
	struct top_fields spans[TOP_SPANS]; /* minute, hour, start */
	struct top_fields listed[TOP_FEEDS_MAX];
	size_t n_listed;
};

/* ---- reading ---- */

static struct top_fields top_split(char *line)
{
	struct top_fields fields;
	size_t n = 0;

	while (n < TOP_FIELDS && line)
		fields.at[n++] = strsep(&line, "\t");
	while (n < TOP_FIELDS)
		fields.at[n++] = "";
	return fields;
}

static uint64_t top_number_of(const char *text)
{
	return strtoull(text, NULL, 10);
}

static void top_take(struct top_told *told, const struct top_fields *fields)
{
	static const char *const spans[TOP_SPANS] = { "minute", "hour", "start" };
	const struct {
		const char *name;
		uint64_t *to;
	} numbers[] = { { "now", &told->now }, { "started", &told->started }, { "workers", &told->workers },
		{ "memory", &told->memory }, { "feeds", &told->feeds }, { "mislabelled", &told->mislabelled } };
	const struct {
		const char *name;
		const char **to;
	} texts[] = { { "version", &told->version }, { "instance", &told->instance } };
	const char *name = fields->at[0];

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (!strcmp(numbers[i].name, name))
			*numbers[i].to = top_number_of(fields->at[1]);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!strcmp(texts[i].name, name))
			*texts[i].to = fields->at[1];
	for (size_t i = 0; i < TOP_SPANS; i++)
		if (!strcmp(spans[i], name))
			told->spans[i] = *fields;
	if (!strcmp(name, "attention") && told->n_attention < TOP_ATTENTION_MAX)
		told->attention[told->n_attention++] = fields->at[1];
	if (!strcmp(name, "feed") && told->n_listed < TOP_FEEDS_MAX)
		told->listed[told->n_listed++] = *fields;
}

static void top_read(struct top_told *told, char *text)
{
	static char nothing[] = "";
	char *line;

	*told = (struct top_told){ .version = "", .instance = "" };
	for (size_t i = 0; i < TOP_SPANS; i++)
		told->spans[i] = top_split(nothing);
	while ((line = strsep(&text, "\n"))) {
		struct top_fields fields = top_split(line);

		top_take(told, &fields);
	}
}

/* ---- drawing ---- */

enum top_style { TOP_PLAIN, TOP_BOLD, TOP_HEAD };
static const char *const top_styles[] = { [TOP_PLAIN] = "", [TOP_BOLD] = "\033[1m", [TOP_HEAD] = "\033[7m" };

struct top_screen {
	FILE *out;
	const struct top_size *size;
	unsigned rows; /* written so far */
};

/* Writes a line, cut where the screen ends; behind the last row nothing. The place of the next line is not entered
 * before it comes, so that a full screen does not scroll. */
__attribute__((format(printf, 3, 4))) static void top_line(struct top_screen *screen, enum top_style style,
    const char *fmt, ...)
{
	const struct top_size *size = screen->size;
	char line[TOP_LINE_MAX];
	va_list args;

	if (size->rows && screen->rows == size->rows)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	for (char *at = line; *at; at++)
		if (*at < 0x20 || *at > 0x7e)
			*at = '?';
	if (size->columns && size->columns < sizeof line)
		line[size->columns] = '\0';
	if (!size->screen)
		fprintf(screen->out, "%s\n", line);
	else
		fprintf(screen->out, "%s%s%s\033[0m\033[K", screen->rows ? "\n" : "", top_styles[style], line);
	screen->rows++;
}

static void top_begin(struct top_screen *screen, FILE *out, const struct top_frame *frame)
{
	*screen = (struct top_screen){ out, &frame->size, 0 };
	if (frame->size.screen)
		fputs("\033[H", out);
}

static void top_end(const struct top_screen *screen)
{
	if (screen->size->screen)
		fputs("\033[J", screen->out);
}

enum { TOP_SHORT_MAX = 16 };

/* A number in few characters, "17k", "1.2M". */
static const char *top_short(char room[TOP_SHORT_MAX], double value)
{
	static const char units[] = " kMGT";
	size_t unit = 0;

	while (value >= 999.5 && units[unit + 1]) {
		value /= 1000;
		unit++;
	}
	snprintf(room, TOP_SHORT_MAX, value < 9.95 && (unit || value != (double)(int)value) ? "%.1f%.*s" : "%.0f%.*s",
	    value, unit != 0, units + unit);
	return room;
}

static const char *top_age(char room[TOP_SHORT_MAX], uint64_t seconds)
{
	static const struct {
		uint64_t seconds;
		const char *unit;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	size_t i = 0;

	while (units[i].seconds > 1 && seconds < 2 * units[i].seconds)
		i++;
	snprintf(room, TOP_SHORT_MAX, "%llu %s", (unsigned long long)(seconds / units[i].seconds), units[i].unit);
	return room;
}

static void top_title(struct top_screen *screen, const struct top_told *told)
{
	char age[TOP_SHORT_MAX], memory[TOP_SHORT_MAX], feeds[TOP_SHORT_MAX], wrong[TOP_SHORT_MAX], clock[16] = "";
	time_t now = (time_t)told->now;
	struct tm utc;

	if (gmtime_r(&now, &utc))
		strftime(clock, sizeof clock, "%H:%M:%S", &utc);
	top_line(screen, TOP_HEAD, "utfeed %s on %s, %s UTC, up %s, %llu worker%s, %sB, %s feeds, %s mislabelled",
	    told->version, told->instance, clock,
	    top_age(age, told->now > told->started ? told->now - told->started : 0), (unsigned long long)told->workers,
	    told->workers == 1 ? "" : "s", top_short(memory, (double)told->memory),
	    top_short(feeds, (double)told->feeds),
	    top_short(wrong, (double)told->mislabelled));
	for (size_t i = 0; i < told->n_attention; i++)
		top_line(screen, TOP_BOLD, "! %s", told->attention[i]);
	if (!told->n_attention)
		top_line(screen, TOP_PLAIN, "Nothing needs attention.");
}

/* One line of rates. Times that nobody knows are dashes. */
static void top_rates(struct top_screen *screen, const char *name, double seconds, const uint64_t counts[4],
    const char *const times[3])
{
	char rate[TOP_SHORT_MAX], sent[TOP_SHORT_MAX], hits[TOP_SHORT_MAX] = "-";

	if (counts[0])
		snprintf(hits, sizeof hits, "%.1f", 100 * (double)counts[1] / (double)counts[0]);
	if (seconds > 0)
		top_line(screen, TOP_PLAIN, "%-12s %10s %7s %7llu %8s %8s %8s %8s", name,
		    top_short(rate, (double)counts[0] / seconds), hits, (unsigned long long)counts[2], times[0],
		    times[1], times[2], top_short(sent, (double)counts[3] / seconds));
	else
		top_line(screen, TOP_PLAIN, "%-12s %10s %7s %7s %8s %8s %8s %8s", name, "-", "-", "-", "-", "-", "-",
		    "-");
}

/* The span begins with its seconds, its counts and its times. */
static void top_span_line(struct top_screen *screen, const char *name, const struct top_fields *span)
{
	uint64_t counts[4];

	for (size_t i = 0; i < 4; i++)
		counts[i] = top_number_of(span->at[2 + i]);
	top_rates(screen, name, (double)top_number_of(span->at[1]), counts, span->at + 6);
}

/* What came since the frame before. Counts that became smaller are those of another process. */
static void top_now(struct top_screen *screen, const struct top_told *told, uint64_t now_ms, struct top_before *before)
{
	static const char *const no_times[3] = { "-", "-", "-" };
	uint64_t since[4] = { 0 };
	bool known = before->at_ms && now_ms > before->at_ms;

	for (size_t i = 0; i < 4; i++) {
		uint64_t count = top_number_of(told->spans[2].at[2 + i]);

		known = known && count >= before->counts[i];
		since[i] = count - before->counts[i];
		before->counts[i] = count;
	}
	top_rates(screen, "now", known ? (double)(now_ms - before->at_ms) / 1000 : 0, since, no_times);
	before->at_ms = now_ms;
}

#define TOP_COLUMNS "%9s %9s %7s %6s %-8s %-14s %-14s %s"

/* Feeds take the rows that are left, except the last one. */
static void top_feeds(struct top_screen *screen, const struct top_told *told, bool help)
{
	top_line(screen, TOP_HEAD, TOP_COLUMNS, "REQUESTS", "HITS", "ERRORS", "STATUS", "STATE", "CHARSET", "LABELLED",
	    "FEED");
	for (size_t i = 0; i < told->n_listed; i++) {
		const char *const *at = told->listed[i].at;

		if (screen->size->rows && screen->rows + help >= screen->size->rows)
			return;
		top_line(screen, strcmp(at[5], "fine") != 0 ? TOP_BOLD : TOP_PLAIN, TOP_COLUMNS, at[1], at[2], at[3],
		    at[4], at[5], at[6], at[7], at[8]);
	}
}

void top_draw(FILE *out, const struct top_frame *frame, char *text, struct top_before *before)
{
	struct top_screen screen;
	struct top_told told;

	top_read(&told, text);
	top_begin(&screen, out, frame);
	top_title(&screen, &told);
	top_line(&screen, TOP_PLAIN, "%12s %10s %7s %7s %8s %8s %8s %8s", "", "requests/s", "hits %", "errors",
	    "half ms", "95 % ms", "99 % ms", "bytes/s");
	if (frame->size.screen)
		top_now(&screen, &told, frame->now_ms, before);
	top_span_line(&screen, "last minute", &told.spans[0]);
	top_span_line(&screen, "last hour", &told.spans[1]);
	top_span_line(&screen, "since start", &told.spans[2]);
	top_feeds(&screen, &told, frame->help);
	if (frame->help)
		top_line(&screen, TOP_PLAIN, "%s", frame->help);
	top_end(&screen);
}

void top_draw_sentence(FILE *out, const struct top_frame *frame, const char *sentence)
{
	struct top_screen screen;

	top_begin(&screen, out, frame);
	top_line(&screen, TOP_BOLD, "%s", sentence);
	if (frame->help)
		top_line(&screen, TOP_PLAIN, "%s", frame->help);
	top_end(&screen);
}
