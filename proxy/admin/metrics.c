/* The text of /metrics; see metrics.h. */
#include "proxy/admin/metrics.h"

#include <string.h>

#include "conf/conf.h"
#include "proxy/admin/process_metrics.h"
#include "proxy/settings/settings.h"

#define PREFIX "utfeed_"

enum { METRICS_LABEL_MAX = 40 };

/* One exposition being written. */
struct exposition {
	FILE *out;
	enum metrics_format format;
	const struct metrics_source *from;
};

const char *metrics_media_type(enum metrics_format format)
{
	return format == METRICS_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
	                                     : "text/plain; version=0.0.4; charset=utf-8";
}

/* Writes a help text or a label's value with the characters escaped that would end it. */
static void metrics_escaped(FILE *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '\\':
		case '"':
			putc('\\', out);
			putc(*text, out);
			break;
		case '\n':
			fputs("\\n", out);
			break;
		default:
			putc(*text, out);
		}
}

/* Writes what stands before the samples of a name. OpenMetrics names a counter without its _total. */
static void metrics_head(const struct exposition *exposition, const char *name, const char *unit, const char *type,
    const char *help)
{
	const char *total = !strcmp(type, "counter") && exposition->format == METRICS_PROMETHEUS ? "_total" : "";
	char full[128];

	snprintf(full, sizeof full, PREFIX "%s%s%s%s", name, *unit ? "_" : "", unit, total);
	fprintf(exposition->out, "# HELP %s ", full);
	metrics_escaped(exposition->out, help);
	fprintf(exposition->out, "\n# TYPE %s %s\n", full, type);
}

static void metrics_labelled(const struct exposition *exposition, const char *name, const char *label, const char *text,
    uint64_t value)
{
	fprintf(exposition->out, PREFIX "%s{%s=\"", name, label);
	metrics_escaped(exposition->out, text);
	fprintf(exposition->out, "\"} %llu\n", (unsigned long long)value);
}

static void metrics_rows(const struct exposition *exposition)
{
	for (size_t i = 0; i < stats_n_rows; i++) {
		const struct stats_row *row = &stats_rows[i];
		uint64_t value;

		if (!stats_number(row, exposition->from->sets, exposition->from->n, exposition->from->gauges, &value))
			continue;
		metrics_head(exposition, row->name, "", row->kind == STATS_GAUGE ? "gauge" : "counter", row->what);
		fprintf(exposition->out, PREFIX "%s%s %llu\n", row->name, row->kind == STATS_GAUGE ? "" : "_total",
		    (unsigned long long)value);
	}
}

/* Writes one of the counts of all routes that have a name. */
static void metrics_route_row(const struct exposition *exposition, size_t row)
{
	const struct settings *settings = exposition->from->settings;
	char family[64], name[80];

	snprintf(family, sizeof family, "route_%s", stats_route_rows[row].name);
	snprintf(name, sizeof name, "%s_total", family);
	metrics_head(exposition, family, "", "counter", stats_route_rows[row].what);
	for (size_t i = 0; i < settings->conf->routes.count; i++) {
		const struct route_counts *counts = settings_route_counts(settings, i);
		uint64_t sums[ROUTE_COUNT];

		if (!counts)
			continue;
		stats_route_sums(sums, counts->of, counts->n);
		metrics_labelled(exposition, name, "route", counts->name, sums[row]);
	}
}

static void metrics_answer(const struct exposition *exposition, size_t way, size_t outcome, size_t class)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < exposition->from->n; i++)
		sum += stats_get(&exposition->from->sets[i]->answers.by[way][outcome][class]);
	if (sum)
		fprintf(exposition->out, PREFIX "answers_total{way=\"%s\",outcome=\"%s\",status=\"%s\"} %llu\n",
		    answer_way_names[way], answer_outcome_names[outcome], answer_class_names[class],
		    (unsigned long long)sum);
}

static void metrics_answers(const struct exposition *exposition)
{
	metrics_head(exposition, "answers", "", "counter",
	    "answers, by the way the request came in, what the cache did, and the class of the status");
	for (size_t way = 0; way < WAY_COUNT; way++)
		for (size_t outcome = 0; outcome < ANSWER_COUNT; outcome++)
			for (size_t class = 0; class < ANSWER_CLASSES; class ++)
				metrics_answer(exposition, way, outcome, class);
}

static uint64_t metrics_rule_sum(const struct metrics_source *from, const char *rule, size_t after)
{
	uint64_t sum = 0;

	for (size_t i = after; i < from->n; i++) {
		const struct answers *answers = &from->sets[i]->answers;
		unsigned n = atomic_load_explicit(&answers->n_rules, memory_order_acquire);

		for (unsigned r = 0; r < n; r++)
			if (!strcmp(answers->rules[r].name, rule))
				sum += stats_get(&answers->rules[r].n);
	}
	return sum;
}

static bool metrics_has_rule(const struct answers *answers, const char *rule)
{
	unsigned n = atomic_load_explicit(&answers->n_rules, memory_order_acquire);

	for (unsigned r = 0; r < n; r++)
		if (!strcmp(answers->rules[r].name, rule))
			return true;
	return false;
}

/* Whether a worker before this one has counted the rule: its sum is written already. */
static bool metrics_rule_written(const struct metrics_source *from, size_t worker, const char *rule)
{
	for (size_t i = 0; i < worker; i++)
		if (metrics_has_rule(&from->sets[i]->answers, rule))
			return true;
	return false;
}

static void metrics_rules(const struct exposition *exposition)
{
	metrics_head(exposition, "rules", "", "counter",
	    "answers, by the rule that decided on the encoding (X-Encoding-Rule)");
	for (size_t i = 0; i < exposition->from->n; i++) {
		const struct answers *answers = &exposition->from->sets[i]->answers;
		unsigned n = atomic_load_explicit(&answers->n_rules, memory_order_acquire);

		for (unsigned r = 0; r < n; r++)
			if (!metrics_rule_written(exposition->from, i, answers->rules[r].name))
				metrics_labelled(exposition, "rules_total", "rule", answers->rules[r].name,
				    metrics_rule_sum(exposition->from, answers->rules[r].name, i));
	}
}

static void metrics_charsets(const struct exposition *exposition)
{
	metrics_head(exposition, "charsets", "", "counter", "answers, by the charset that the body was decoded from");
	for (size_t cs = CS_NONE + 1; cs < CS_COUNT; cs++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < exposition->from->n; i++)
			sum += stats_get(&exposition->from->sets[i]->answers.charsets[cs]);
		if (sum)
			metrics_labelled(exposition, "charsets_total", "charset", charset_name((enum charset)cs), sum);
	}
}

static uint64_t metrics_failed(const struct metrics_source *from, const char *token)
{
	uint64_t sum = 0;

	for (size_t kind = FAILURE_NONE + 1; kind < FAILURE_COUNT; kind++)
		for (size_t i = 0; !strcmp(failure_token(kind), token) && i < from->n; i++)
			sum += stats_get(&from->sets[i]->failures[kind]);
	return sum;
}

/* Several kinds of failure have the same token in Proxy-Status, and are one series. */
static bool metrics_token_is_new(size_t kind)
{
	for (size_t k = FAILURE_NONE + 1; k < kind; k++)
		if (!strcmp(failure_token(k), failure_token(kind)))
			return false;
	return true;
}

static void metrics_failures(const struct exposition *exposition)
{
	metrics_head(exposition, "fetch_failures", "", "counter", "fetches that failed, by the error of Proxy-Status");
	for (size_t kind = FAILURE_NONE + 1; kind < FAILURE_COUNT; kind++)
		if (metrics_token_is_new(kind) && metrics_failed(exposition->from, failure_token(kind)))
			metrics_labelled(exposition, "fetch_failures_total", "error", failure_token(kind),
			    metrics_failed(exposition->from, failure_token(kind)));
}

/* A number of the histogram's unit as text: microseconds are shown as seconds. */
static const char *metrics_unit(char text[40], const struct stats_histogram_row *row, uint64_t value)
{
	if (row->seconds)
		snprintf(text, 40, "%llu.%06llu", (unsigned long long)(value / 1000000),
		    (unsigned long long)(value % 1000000));
	else
		snprintf(text, 40, "%llu", (unsigned long long)value);
	return text;
}

/* The samples of one histogram; label: "" or what stands before le, with a comma. */
static void metrics_buckets(const struct exposition *exposition, enum stats_histogram id, enum answer_outcome outcome,
    const char *label)
{
	const struct stats_histogram_row *row = &stats_histogram_rows[id];
	uint64_t count = 0, sum = 0;
	char text[40], le[40], alone[METRICS_LABEL_MAX + 2] = "";

	for (size_t b = 0; b <= HISTOGRAM_BUCKETS; b++) {
		count += stats_bucket(exposition->from->sets, exposition->from->n, id, outcome, b);
		if (b < HISTOGRAM_BUCKETS)
			snprintf(le, sizeof le, "%s%s", metrics_unit(text, row, 1ull << (row->first + b)),
			    row->seconds ? "" : ".0");
		else
			strcpy(le, "+Inf");
		fprintf(exposition->out, PREFIX "%s_%s_bucket{%sle=\"%s\"} %llu\n", row->name, row->unit, label, le,
		    (unsigned long long)count);
	}
	for (size_t i = 0; i < exposition->from->n; i++)
		sum += stats_get(&exposition->from->sets[i]->histograms[id][outcome].sum);
	if (*label)
		snprintf(alone, sizeof alone, "{%.*s}", (int)strlen(label) - 1, label);
	fprintf(exposition->out, PREFIX "%s_%s_sum%s %s\n" PREFIX "%s_%s_count%s %llu\n", row->name, row->unit, alone,
	    metrics_unit(text, row, sum), row->name, row->unit, alone, (unsigned long long)count);
}

static bool metrics_observed(const struct exposition *exposition, enum stats_histogram id, enum answer_outcome outcome)
{
	for (size_t b = 0; b <= HISTOGRAM_BUCKETS; b++)
		if (stats_bucket(exposition->from->sets, exposition->from->n, id, outcome, b))
			return true;
	return false;
}

static void metrics_histogram(const struct exposition *exposition, enum stats_histogram id)
{
	const struct stats_histogram_row *row = &stats_histogram_rows[id];
	char label[METRICS_LABEL_MAX];

	metrics_head(exposition, row->name, row->unit, "histogram", row->what);
	if (!row->by_outcome)
		metrics_buckets(exposition, id, ANSWER_NONE, "");
	for (enum answer_outcome outcome = 0; row->by_outcome && outcome < ANSWER_COUNT; outcome++) {
		if (!metrics_observed(exposition, id, outcome))
			continue;
		snprintf(label, sizeof label, "outcome=\"%s\",", answer_outcome_names[outcome]);
		metrics_buckets(exposition, id, outcome, label);
	}
}

void metrics_write(FILE *out, const struct metrics_source *from, enum metrics_format format)
{
	const struct exposition e = { out, format, from };

	metrics_head(&e, "build_info", "", "gauge", "1, with the version of utfeed");
	fprintf(out, PREFIX "build_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
	metrics_rows(&e);
	for (size_t row = 0; from->settings && row < ROUTE_COUNT; row++)
		metrics_route_row(&e, row);
	metrics_answers(&e);
	metrics_rules(&e);
	metrics_charsets(&e);
	metrics_failures(&e);
	for (enum stats_histogram id = 0; id < HISTOGRAM_COUNT; id++)
		metrics_histogram(&e, id);
	process_metrics_write(out, format == METRICS_OPENMETRICS);
	if (format == METRICS_OPENMETRICS)
		fputs("# EOF\n", out);
}
