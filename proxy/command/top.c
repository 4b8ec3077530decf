/* One frame of `utfeed top`; see top.h. */
#include "proxy/command/top.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOP_ATTENTION_MAX = 10, TOP_FEEDS_MAX = 200, TOP_SPANS = 3 };

struct top_told {
	const char *version, *instance;
	uint64_t now, started, workers, memory, feeds, mislabelled;
	const char *attention[TOP_ATTENTION_MAX];
	size_t n_attention;
	struct frame_fields spans[TOP_SPANS]; /* minute, hour, start */
	struct frame_fields listed[TOP_FEEDS_MAX];
	size_t n_listed;
};

/* ---- reading ---- */

static void top_take(struct top_told *told, const struct frame_fields *fields)
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
			*numbers[i].to = frame_number(fields->at[1]);
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
		told->spans[i] = frame_split(nothing);
	while ((line = strsep(&text, "\n"))) {
		struct frame_fields fields = frame_split(line);

		top_take(told, &fields);
	}
}

/* ---- drawing ---- */

static void top_title(struct frame_screen *screen, const struct top_told *told)
{
	char age[FRAME_SHORT_MAX], memory[FRAME_SHORT_MAX], feeds[FRAME_SHORT_MAX], wrong[FRAME_SHORT_MAX],
	    clock[16] = "";
	time_t now = (time_t)told->now;
	struct tm utc;

	if (gmtime_r(&now, &utc))
		strftime(clock, sizeof clock, "%H:%M:%S", &utc);
	frame_line(screen, FRAME_HEAD, "utfeed %s on %s, %s UTC, up %s, %llu worker%s, %sB, %s feeds, %s mislabelled",
	    told->version, told->instance, clock,
	    frame_age(age, told->now > told->started ? told->now - told->started : 0),
	    (unsigned long long)told->workers, told->workers == 1 ? "" : "s", frame_short(memory, (double)told->memory),
	    frame_short(feeds, (double)told->feeds),
	    frame_short(wrong, (double)told->mislabelled));
	for (size_t i = 0; i < told->n_attention; i++)
		frame_line(screen, FRAME_BOLD, "! %s", told->attention[i]);
	if (!told->n_attention)
		frame_line(screen, FRAME_PLAIN, "Nothing needs attention.");
}

/* One line of rates. Times that nobody knows are dashes. */
static void top_rates(struct frame_screen *screen, const char *name, double seconds, const uint64_t counts[4],
    const char *const times[3])
{
	char rate[FRAME_SHORT_MAX], sent[FRAME_SHORT_MAX], hits[FRAME_SHORT_MAX] = "-";

	if (counts[0])
		snprintf(hits, sizeof hits, "%.1f", 100 * (double)counts[1] / (double)counts[0]);
	if (seconds > 0)
		frame_line(screen, FRAME_PLAIN, "%-12s %10s %7s %7llu %8s %8s %8s %8s", name,
		    frame_short(rate, (double)counts[0] / seconds), hits, (unsigned long long)counts[2], times[0],
		    times[1], times[2], frame_short(sent, (double)counts[3] / seconds));
	else
		frame_line(screen, FRAME_PLAIN, "%-12s %10s %7s %7s %8s %8s %8s %8s", name, "-", "-", "-", "-", "-",
		    "-", "-");
}

/* The span begins with its seconds, its counts and its times. */
static void top_span_line(struct frame_screen *screen, const char *name, const struct frame_fields *span)
{
	uint64_t counts[4];

	for (size_t i = 0; i < 4; i++)
		counts[i] = frame_number(span->at[2 + i]);
	top_rates(screen, name, (double)frame_number(span->at[1]), counts, span->at + 6);
}

/* What came since the frame before. Counts that became smaller are those of another process. */
static void top_now(struct frame_screen *screen, const struct top_told *told, uint64_t now_ms,
    struct top_before *before)
{
	static const char *const no_times[3] = { "-", "-", "-" };
	uint64_t since[4] = { 0 };
	bool known = before->at_ms && now_ms > before->at_ms;

	for (size_t i = 0; i < 4; i++) {
		uint64_t count = frame_number(told->spans[2].at[2 + i]);

		known = known && count >= before->counts[i];
		since[i] = count - before->counts[i];
		before->counts[i] = count;
	}
	top_rates(screen, "now", known ? (double)(now_ms - before->at_ms) / 1000 : 0, since, no_times);
	before->at_ms = now_ms;
}

#define TOP_COLUMNS "%9s %9s %7s %6s %-8s %-14s %-14s %s"

/* Feeds take the rows that are left, except the last one. */
static void top_feeds(struct frame_screen *screen, const struct top_told *told)
{
	frame_line(screen, FRAME_HEAD, TOP_COLUMNS, "REQUESTS", "HITS", "ERRORS", "STATUS", "STATE", "CHARSET",
	    "LABELLED", "FEED");
	for (size_t i = 0; i < told->n_listed; i++) {
		const char *const *at = told->listed[i].at;

		if (frame_is_full(screen))
			return;
		frame_line(screen, strcmp(at[5], "fine") != 0 ? FRAME_BOLD : FRAME_PLAIN, TOP_COLUMNS, at[1], at[2],
		    at[3], at[4], at[5], at[6], at[7], at[8]);
	}
}

void top_draw(FILE *out, const struct frame *frame, char *text, struct top_before *before)
{
	struct frame_screen screen;
	struct top_told told;

	top_read(&told, text);
	frame_begin(&screen, out, frame);
	top_title(&screen, &told);
	frame_line(&screen, FRAME_PLAIN, "%12s %10s %7s %7s %8s %8s %8s %8s", "", "requests/s", "hits %", "errors",
	    "half ms", "95 % ms", "99 % ms", "bytes/s");
	if (frame->size.screen)
		top_now(&screen, &told, frame->now_ms, before);
	top_span_line(&screen, "last minute", &told.spans[0]);
	top_span_line(&screen, "last hour", &told.spans[1]);
	top_span_line(&screen, "since start", &told.spans[2]);
	top_feeds(&screen, &told);
	frame_end(&screen);
}
