/* Owns the cases of proxy/admin/chart.c. Must not know: what is counted. Invariant: each row names its rule. */
#include "proxy/admin/chart.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *chart_of(const struct chart *chart, const double values[][CHART_MINUTES])
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	chart_write(f, chart, values, 1764200040);
	fclose(f);
	return text;
}

/* The last minutes, and what is drawn of them; the rest is a gap. */
static void lines(void)
{
	static const struct {
		const char *rule;
		double last[3];
		double top;
		const char *drawn, *scale;
	} cases[] = {
		{ "nothing is known: no line", { NAN, NAN, NAN }, 0, "class=\"l0\" d=\"\"", "<span>1</span>" },
		{ "nothing was: a line at zero", { 0, 0, 0 }, 0, "d=\"M57.5 99h0L58.5 99L59.5 99\"", "<span>1</span>" },
		{ "a gap is no zero", { 1, NAN, 1 }, 0, "d=\"M57.5 1h0M59.5 1h0\"", "<span>1</span><span>0.5</span>" },
		{ "the scale ends at 2", { 0, 0, 1.5 }, 0, "L59.5 26\"", "<span>2</span><span>1</span>" },
		{ "at 5", { 0, 0, 4 }, 0, "", "<span>5</span><span>2.5</span>" },
		{ "at 10", { 0, 0, 6 }, 0, "", "<span>10</span>" },
		{ "at the value itself", { 0, 0, 200 }, 0, "L59.5 1\"", "<span>200</span>" },
		{ "small values", { 0, 0, 0.003 }, 0, "", "<span>0.005</span>" },
		{ "a scale of its own", { 0, 0, 50 }, 100, "L59.5 50\"", "<span>100</span><span>50</span><span>0</span>" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct chart chart = { "Hits", "%", cases[i].top, false, 1, { NULL } };
		double values[1][CHART_MINUTES];
		char *text;

		for (size_t m = 0; m < CHART_MINUTES; m++)
			values[0][m] = m < CHART_MINUTES - 3 ? NAN : cases[i].last[m - (CHART_MINUTES - 3)];
		text = chart_of(&chart, (const double(*)[CHART_MINUTES])values);
		UNIT_ROW(strstr(text, cases[i].drawn), "%s: %s", cases[i].rule, text);
		UNIT_ROW(strstr(text, cases[i].scale), "%s: %s", cases[i].rule, text);
		free(text);
	}
}

/* A scale of powers of ten: a step is as high for small values as for great ones. */
static void tenfold(void)
{
	static const struct chart chart = { "Time", "ms", 0, true, 1, { NULL } };
	static const struct { const char *rule; double values[2]; const char *drawn, *scale; } cases[] = {
		{ "nothing is known", { NAN, NAN }, "d=\"\"", "<span>10</span><span>5.5</span><span>1</span>" },
		{ "no time at all stands at the bottom", { 0, 5 }, "d=\"M58.5 99h0L59.5 55\"", "<span>10</span><span>5.5</span><span>1</span>" },
		{ "from a tenth to a thousand", { .1, 100 }, "d=\"M58.5 99h0L59.5 26\"", "<span>1000</span><span>10</span><span>0.1</span>" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double values[1][CHART_MINUTES];
		char *text;

		for (size_t m = 0; m < CHART_MINUTES; m++)
			values[0][m] = m < CHART_MINUTES - 2 ? NAN : cases[i].values[m - (CHART_MINUTES - 2)];
		text = chart_of(&chart, (const double(*)[CHART_MINUTES])values);
		UNIT_ROW(strstr(text, cases[i].drawn) && strstr(text, cases[i].scale), "%s: %s", cases[i].rule, text);
		free(text);
	}
}

/* What the pointer and a screen reader get. */
static void words(void)
{
	static const struct chart chart = { "Time", "ms", 0, false, 2, { "half", "95 %" } };
	static const char *const said[] = { "<title>23:34 half 1.5, 95 % - ms</title>", "<title>23:33 half 20, 95 % 7 ms</title>",
		"half: now 1.5, at most 20 at 23:33; 95 %: now -, at most 7 at 23:33, ms.", "<span>22:34</span><span>23:04</span><span>23:34 UTC</span>" };
	double values[2][CHART_MINUTES];
	char *text;

	for (size_t m = 0; m < CHART_MINUTES; m++)
		values[0][m] = values[1][m] = NAN;
	values[0][CHART_MINUTES - 1] = 1.5;
	values[0][CHART_MINUTES - 2] = 20;
	values[1][CHART_MINUTES - 2] = 7;
	text = chart_of(&chart, (const double(*)[CHART_MINUTES])values);
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		UNIT_ROW(strstr(text, said[i]), "%s: %s", said[i], text);
	CU_ASSERT(strlen(text) < 8000);
	free(text);
}

UNIT_SUITE(chart, { "lines", lines }, { "tenfold", tenfold }, { "words", words })
