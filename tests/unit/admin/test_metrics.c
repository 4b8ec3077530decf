/* Owns the cases of proxy/admin/metrics.c and of the histograms in proxy/base/stats.c and the labels in
 * proxy/base/answers.c. Must not know: sockets. Invariant: each row names its rule. */
#include "proxy/admin/metrics.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

enum { WORKERS = 2 };
static struct stats workers[WORKERS];
static struct stats *sets[WORKERS] = { &workers[0], &workers[1] };

static const struct verdict by_label = { .policy = POLICY_AUTO, .path = "2.0/1.2", .charset = CS_KOI8_R };
static const struct verdict by_mark = { .policy = POLICY_AUTO, .path = "2.5/bom" };

static char *written(enum metrics_format format)
{
	struct stats_gauges gauges = { 0 };
	const struct metrics_source from = { sets, WORKERS, &gauges, NULL };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	stats_tell(&gauges, GAUGE_CACHE_ENTRIES, 7);
	stats_tell(&gauges, GAUGE_CACHE_EVICTIONS, 8);
	metrics_write(f, &from, format);
	fclose(f);
	return text;
}

static void texts(void)
{
	static const struct {
		const char *rule, *line;
		enum metrics_format format;
		bool there;
	} cases[] = {
		{ "a counter is the sum of all workers", "\nutfeed_requests_total 5\n", METRICS_PROMETHEUS, true },
		{ "its type names it with _total", "\n# TYPE utfeed_requests_total counter\n", METRICS_PROMETHEUS, true },
		{ "OpenMetrics: without", "\n# TYPE utfeed_requests counter\n", METRICS_OPENMETRICS, true },
		{ "OpenMetrics: the sample with", "\nutfeed_requests_total 5\n", METRICS_OPENMETRICS, true },
		{ "a gauge", "\n# TYPE utfeed_cache_entries gauge\nutfeed_cache_entries 7\n", METRICS_PROMETHEUS, true },
		{ "what only grows is a counter", "\nutfeed_cache_evictions_total 8\n", METRICS_PROMETHEUS, true },
		{ "a gauge without an owner is left out", "utfeed_second_entries", METRICS_PROMETHEUS, false },
		{ "labels", "\nutfeed_answers_total{way=\"gateway\",outcome=\"hit\",status=\"2xx\"} 2\n", METRICS_PROMETHEUS, true },
		{ "labels nobody counted are left out", "way=\"forward\"", METRICS_PROMETHEUS, false },
		{ "a rule of two workers is one line", "\nutfeed_rules_total{rule=\"auto:2.0/1.2\"} 2\n", METRICS_PROMETHEUS, true },
		{ "a rule of one worker", "\nutfeed_rules_total{rule=\"auto:2.5/bom\"} 1\n", METRICS_PROMETHEUS, true },
		{ "a charset", "\nutfeed_charsets_total{charset=\"koi8-r\"} 2\n", METRICS_PROMETHEUS, true },
		{ "kinds of one token are one line", "\nutfeed_fetch_failures_total{error=\"destination_unavailable\"} 3\n",
		    METRICS_PROMETHEUS, true },
		{ "a bucket: 64 us", "\nutfeed_request_duration_seconds_bucket{outcome=\"hit\",le=\"0.000064\"} 1\n", METRICS_PROMETHEUS, true },
		{ "buckets add up", "\nutfeed_request_duration_seconds_bucket{outcome=\"hit\",le=\"0.000128\"} 2\n", METRICS_PROMETHEUS, true },
		{ "the last one has no bound", "\nutfeed_request_duration_seconds_bucket{outcome=\"hit\",le=\"+Inf\"} 3\n", METRICS_PROMETHEUS, true },
		{ "the sum in seconds", "\nutfeed_request_duration_seconds_sum{outcome=\"hit\"} 4000.000129\n", METRICS_PROMETHEUS, true },
		{ "another outcome", "\nutfeed_request_duration_seconds_count{outcome=\"miss\"} 1\n", METRICS_PROMETHEUS, true },
		{ "one that was not there", "outcome=\"bypass\"", METRICS_PROMETHEUS, false },
		{ "bytes", "\nutfeed_response_size_bytes_sum{outcome=\"hit\"} 1000\n", METRICS_PROMETHEUS, true },
		{ "by nothing", "\nutfeed_loop_delay_seconds_count 1\n", METRICS_PROMETHEUS, true },
		{ "OpenMetrics ends", "\n# EOF\n", METRICS_OPENMETRICS, true },
		{ "Prometheus' own form does not", "# EOF", METRICS_PROMETHEUS, false },
	};

	memset(workers, 0, sizeof workers);
	stats_add(sets[0], STAT_REQUESTS, 2);
	stats_add(sets[1], STAT_REQUESTS, 3);
	for (int i = 0; i < WORKERS; i++) {
		answers_add(&sets[i]->answers, WAY_GATEWAY, ANSWER_HIT, 200);
		answers_add_verdict(&sets[i]->answers, &by_label);
	}
	answers_add_verdict(&sets[1]->answers, &by_mark);
	stats_count(&sets[0]->failures[FAILURE_PAUSED], 1);
	stats_count(&sets[1]->failures[FAILURE_ASKED_TOO_SOON], 2);
	stats_observe(sets[0], HISTOGRAM_REQUEST_DURATION, ANSWER_HIT, 64);
	stats_observe(sets[1], HISTOGRAM_REQUEST_DURATION, ANSWER_HIT, 65);
	stats_observe(sets[0], HISTOGRAM_REQUEST_DURATION, ANSWER_HIT, 4000000000);
	stats_observe(sets[0], HISTOGRAM_RESPONSE_SIZE, ANSWER_HIT, 1000);
	stats_observe(sets[1], HISTOGRAM_REQUEST_DURATION, ANSWER_MISS, 70);
	stats_observe(sets[1], HISTOGRAM_LOOP_DELAY, ANSWER_NONE, 16);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = written(cases[i].format);

		UNIT_ROW((strstr(text, cases[i].line) != NULL) == cases[i].there, "%s", cases[i].rule);
		free(text);
	}
}

/* A worker's rules are bounded: those behind the last place are one. */
static void many_rules(void)
{
	static struct answers a;
	struct verdict v = { .policy = POLICY_AUTO };

	for (int i = 0; i < 2 * ANSWER_RULES; i++) {
		snprintf(v.path, sizeof v.path, "rule%d", i);
		answers_add_verdict(&a, &v);
	}
	CU_ASSERT_EQUAL(a.n_rules, ANSWER_RULES);
	CU_ASSERT_STRING_EQUAL(a.rules[ANSWER_RULES - 1].name, "other");
	CU_ASSERT_EQUAL(a.rules[ANSWER_RULES - 1].n, ANSWER_RULES + 1);
	snprintf(v.path, sizeof v.path, "rule0");
	answers_add_verdict(&a, &v);
	CU_ASSERT_EQUAL(a.rules[0].n, 2);
}

/* Verdicts that are counted in turns are told apart by all that makes their rule, however alike they are. */
static void alike_rules(void)
{
	static const struct {
		struct verdict verdict;
		const char *rule;
	} cases[] = {
		{ { .policy = POLICY_AUTO, .path = "2.0/1.2" }, "auto:2.0/1.2" },
		{ { .policy = POLICY_ROME_LENIENT, .path = "2.0/1.2" }, "rome-lenient:2.0/1.2" },
		{ { .policy = POLICY_AUTO, .path = "2.0/1.2/decl" }, "auto:2.0/1.2/decl" },
		{ { .policy = POLICY_AUTO, .path = "2.0/1.2/2.1/1.7/guess" }, "auto:2.0/1.2/2.1/1.7/guess" },
		{ { .policy = POLICY_AUTO, .path = "2.0/1.2/2.1/1.7/utf8" }, "auto:2.0/1.2/2.1/1.7/utf8" },
		{ { .kind = VERDICT_NONE, .policy = POLICY_AUTO, .path = "2.0/1.2" }, "none" },
	};
	enum { CASES = sizeof cases / sizeof *cases, TURNS = 3 };
	static struct answers a;

	for (size_t i = 0; i < TURNS * CASES; i++)
		answers_add_verdict(&a, &cases[i % CASES].verdict);
	CU_ASSERT_EQUAL(a.n_rules, CASES);
	for (size_t i = 0; i < CASES; i++)
		UNIT_ROW(strcmp(a.rules[i].name, cases[i].rule) == 0 && a.rules[i].n == TURNS, "%s", cases[i].rule);
}

/* Every value lies in the bucket whose bound is the least power of two that is not below it. */
static void bounds(void)
{
	static const struct { uint64_t value; int bucket; } cases[] = {
		{ 0, 0 }, { 1, 0 }, { 64, 0 }, { 65, 1 }, { 128, 1 }, { 129, 2 }, { 1 << 26, 20 }, { (1 << 26) + 1, 21 },
		{ UINT64_MAX, 21 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		memset(workers, 0, sizeof workers);
		stats_observe(sets[0], HISTOGRAM_REQUEST_DURATION, ANSWER_MISS, cases[i].value);
		UNIT_ROW(workers[0].histograms[HISTOGRAM_REQUEST_DURATION][ANSWER_MISS].bucket[cases[i].bucket] == 1, "%llu",
		    (unsigned long long)cases[i].value);
	}
}

UNIT_SUITE(metrics, { "texts", texts }, { "many rules", many_rules }, { "alike rules", alike_rules }, { "bounds", bounds })
