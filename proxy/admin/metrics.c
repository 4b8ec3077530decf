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
static void metrics_head(const struct exposition *e, const char *name, const char *unit, const char *type,
    const char *help)
{
	const char *total = strcmp(type, "counter") == 0 && e->format == METRICS_PROMETHEUS ? "_total" : "";
	char full[128];

	snprintf(full, sizeof full, PREFIX "%s%s%s%s", name, *unit ? "_" : "", unit, total);
	fprintf(e->out, "# HELP %s ", full);
	metrics_escaped(e->out, help);
	fprintf(e->out, "\n# TYPE %s %s\n", full, type);
}

static void metrics_sample(const struct exposition *e, const char *name, uint64_t value)
{
	fprintf(e->out, PREFIX "%s %llu\n", name, (unsigned long long)value);
}

static void metrics_labelled(const struct exposition *e, const char *name, const char *label, const char *text,
    uint64_t value)
{
	fprintf(e->out, PREFIX "%s{%s=\"", name, label);
	metrics_escaped(e->out, text);
	fprintf(e->out, "\"} %llu\n", (unsigned long long)value);
}

static void metrics_rows(const struct exposition *e)
{
	for (size_t i = 0; i < stats_n_rows; i++) {
		const struct stats_row *r = &stats_rows[i];
		uint64_t value;
		char total[128];

		if (!stats_number(r, e->from->sets, e->from->n, e->from->gauges, &value))
			continue;
		metrics_head(e, r->name, "", r->kind == STATS_GAUGE ? "gauge" : "counter", r->what);
		snprintf(total, sizeof total, "%s%s", r->name, r->kind == STATS_GAUGE ? "" : "_total");
		metrics_sample(e, total, value);
	}
}

/* Writes one of the counts of all routes that have a name. */
static void metrics_route_row(const struct exposition *e, size_t row)
{
	const struct settings *s = e->from->settings;
	char family[64], name[80];

	snprintf(family, sizeof family, "route_%s", stats_route_rows[row].name);
	snprintf(name, sizeof name, "%s_total", family);
	metrics_head(e, family, "", "counter", stats_route_rows[row].what);
	for (size_t i = 0; i < s->conf->routes.count; i++) {
		const struct route_counts *c = settings_route_counts(s, i);
		uint64_t sums[ROUTE_COUNT];

		if (!c)
			continue;
		stats_route_sums(sums, c->of, c->n);
		metrics_labelled(e, name, "route", c->name, sums[row]);
	}
}

static void metrics_routes(const struct exposition *e)
{
	for (size_t row = 0; e->from->settings && row < ROUTE_COUNT; row++)
		metrics_route_row(e, row);
}

static void metrics_answer(const struct exposition *e, size_t way, size_t outcome, size_t class)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < e->from->n; i++)
		sum += stats_get(&e->from->sets[i]->answers.by[way][outcome][class]);
	if (sum)
		fprintf(e->out, PREFIX "answers_total{way=\"%s\",outcome=\"%s\",status=\"%s\"} %llu\n",
		    answer_way_names[way], answer_outcome_names[outcome], answer_class_names[class],
		    (unsigned long long)sum);
}

static void metrics_answers(const struct exposition *e)
{
	metrics_head(e, "answers", "", "counter",
	    "answers, by the way the request came in, what the cache did, and the class of the status");
	for (size_t way = 0; way < WAY_COUNT; way++)
		for (size_t outcome = 0; outcome < ANSWER_COUNT; outcome++)
			for (size_t class = 0; class < ANSWER_CLASSES; class ++)
				metrics_answer(e, way, outcome, class);
}

static uint64_t metrics_rule_sum(const struct metrics_source *from, const char *rule, size_t after)
{
	uint64_t sum = 0;

	for (size_t i = after; i < from->n; i++) {
		const struct answers *a = &from->sets[i]->answers;
		unsigned n = atomic_load_explicit(&a->n_rules, memory_order_acquire);

		for (unsigned r = 0; r < n; r++)
			if (strcmp(a->rules[r].name, rule) == 0)
				sum += stats_get(&a->rules[r].n);
	}
	return sum;
}

static bool metrics_has_rule(const struct answers *a, const char *rule)
{
	unsigned n = atomic_load_explicit(&a->n_rules, memory_order_acquire);

	for (unsigned r = 0; r < n; r++)
		if (strcmp(a->rules[r].name, rule) == 0)
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

static void metrics_rules(const struct exposition *e)
{
	metrics_head(e, "rules", "", "counter", "answers, by the rule that decided on the encoding (X-Encoding-Rule)");
	for (size_t i = 0; i < e->from->n; i++) {
		const struct answers *a = &e->from->sets[i]->answers;
		unsigned n = atomic_load_explicit(&a->n_rules, memory_order_acquire);

		for (unsigned r = 0; r < n; r++)
			if (!metrics_rule_written(e->from, i, a->rules[r].name))
				metrics_labelled(e, "rules_total", "rule", a->rules[r].name,
				    metrics_rule_sum(e->from, a->rules[r].name, i));
	}
}

static void metrics_charsets(const struct exposition *e)
{
	metrics_head(e, "charsets", "", "counter", "answers, by the charset that the body was decoded from");
	for (size_t cs = CS_NONE + 1; cs < CS_COUNT; cs++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < e->from->n; i++)
			sum += stats_get(&e->from->sets[i]->answers.charsets[cs]);
		if (sum)
			metrics_labelled(e, "charsets_total", "charset", charset_name((enum charset)cs), sum);
	}
}

static uint64_t metrics_failed(const struct metrics_source *from, const char *token)
{
	uint64_t sum = 0;

	for (size_t kind = FAILURE_NONE + 1; kind < FAILURE_COUNT; kind++)
		for (size_t i = 0; strcmp(failure_token(kind), token) == 0 && i < from->n; i++)
			sum += stats_get(&from->sets[i]->failures[kind]);
	return sum;
}

/* Several kinds of failure have the same token in Proxy-Status, and are one series. */
static bool metrics_token_is_new(size_t kind)
{
	for (size_t k = FAILURE_NONE + 1; k < kind; k++)
		if (strcmp(failure_token(k), failure_token(kind)) == 0)
			return false;
	return true;
}

static void metrics_failures(const struct exposition *e)
{
	metrics_head(e, "fetch_failures", "", "counter", "fetches that failed, by the error of Proxy-Status");
	for (size_t kind = FAILURE_NONE + 1; kind < FAILURE_COUNT; kind++)
		if (metrics_token_is_new(kind) && metrics_failed(e->from, failure_token(kind)))
			metrics_labelled(e, "fetch_failures_total", "error", failure_token(kind),
			    metrics_failed(e->from, failure_token(kind)));
}

/* A number of the histogram's unit as text: microseconds are shown as seconds. */
static const char *metrics_unit(char text[40], const struct stats_histogram_row *r, uint64_t value)
{
	if (r->seconds)
		snprintf(text, 40, "%llu.%06llu", (unsigned long long)(value / 1000000),
		    (unsigned long long)(value % 1000000));
	else
		snprintf(text, 40, "%llu", (unsigned long long)value);
	return text;
}

/* The samples of one histogram; label: "" or what stands before le, with a comma. */
static void metrics_buckets(const struct exposition *e, enum stats_histogram id, enum answer_outcome outcome,
    const char *label)
{
	const struct stats_histogram_row *r = &stats_histogram_rows[id];
	uint64_t count = 0, sum = 0;
	char text[40], le[40], alone[METRICS_LABEL_MAX + 2] = "";

	for (size_t b = 0; b <= HISTOGRAM_BUCKETS; b++) {
		count += stats_bucket(e->from->sets, e->from->n, id, outcome, b);
		if (b < HISTOGRAM_BUCKETS)
			snprintf(le, sizeof le, "%s%s", metrics_unit(text, r, 1ull << (r->first + b)),
			    r->seconds ? "" : ".0");
		else
			strcpy(le, "+Inf");
		fprintf(e->out, PREFIX "%s_%s_bucket{%sle=\"%s\"} %llu\n", r->name, r->unit, label, le,
		    (unsigned long long)count);
	}
	for (size_t i = 0; i < e->from->n; i++)
		sum += stats_get(&e->from->sets[i]->histograms[id][outcome].sum);
	if (*label)
		snprintf(alone, sizeof alone, "{%.*s}", (int)strlen(label) - 1, label);
	fprintf(e->out, PREFIX "%s_%s_sum%s %s\n" PREFIX "%s_%s_count%s %llu\n", r->name, r->unit, alone,
	    metrics_unit(text, r, sum), r->name, r->unit, alone, (unsigned long long)count);
}

static bool metrics_observed(const struct exposition *e, enum stats_histogram id, enum answer_outcome outcome)
{
	for (size_t b = 0; b <= HISTOGRAM_BUCKETS; b++)
		if (stats_bucket(e->from->sets, e->from->n, id, outcome, b))
			return true;
	return false;
}

static void metrics_histogram(const struct exposition *e, enum stats_histogram id)
{
	const struct stats_histogram_row *r = &stats_histogram_rows[id];
	char label[METRICS_LABEL_MAX];

	metrics_head(e, r->name, r->unit, "histogram", r->what);
	if (!r->by_outcome)
		metrics_buckets(e, id, ANSWER_NONE, "");
	for (enum answer_outcome outcome = 0; r->by_outcome && outcome < ANSWER_COUNT; outcome++) {
		if (!metrics_observed(e, id, outcome))
			continue;
		snprintf(label, sizeof label, "outcome=\"%s\",", answer_outcome_names[outcome]);
		metrics_buckets(e, id, outcome, label);
	}
}

void metrics_write(FILE *out, const struct metrics_source *from, enum metrics_format format)
{
	const struct exposition e = { out, format, from };

	metrics_head(&e, "build_info", "", "gauge", "1, with the version of utfeed");
	fprintf(out, PREFIX "build_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
	metrics_rows(&e);
	metrics_routes(&e);
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
