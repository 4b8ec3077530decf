/* Charts of the last hour; see chart.h. */
#include "proxy/admin/chart.h"

#include <math.h>
#include <stdbool.h>
#include <time.h>

enum { CHART_HEIGHT = 100 };

void chart_number(FILE *out, double value)
{
	if (isnan(value))
		putc('-', out);
	else
		fprintf(out, value >= 100 ? "%.0f" : value >= 1 ? "%.3g" : "%.2g", value >= 0.001 ? value : 0);
}

void chart_clock(FILE *out, int64_t at)
{
	time_t moment = (time_t)at;
	struct tm utc;
	char text[16];

	strftime(text, sizeof text, "%H:%M", gmtime_r(&moment, &utc));
	fputs(text, out);
}

static int64_t chart_minute(int64_t end, size_t minute)
{
	return end - 60 * (int64_t)(CHART_MINUTES - 1 - minute);
}

/* The scale of a chart: from the bottom to the top. */
struct chart_scale {
	bool tenfold;       /* bottom and top are exponents of ten */
	double bottom, top;
};

/* The end of a scale that holds the value: 1, 2 or 5 and noughts. */
static double chart_top(double most)
{
	static const double steps[] = { 1, 2, 5 };
	double power = 1;
	size_t i = 0;

	if (most <= 0)
		return 1;
	while (most > 10 * power)
		power *= 10;
	while (most <= power)
		power /= 10;
	while (i < 3 && most > steps[i] * power)
		i++;
	return i < 3 ? steps[i] * power : 10 * power;
}

/* The power of ten that a value reaches; *rest: the value in units of it, from 1 to 10. */
static double chart_decade(double value, double *rest)
{
	double exponent = 0;

	for (; value >= 10; value /= 10)
		exponent++;
	for (; value < 1; value *= 10)
		exponent--;
	*rest = value;
	return exponent;
}

/* The logarithm to the base ten, for charts: right at powers of ten, and a straight line from one to the next. */
static double chart_exponent(double value)
{
	double rest, exponent = chart_decade(value, &rest);

	return exponent + (rest - 1) / 9;
}

/* The reverse of it. */
static double chart_power(double exponent)
{
	double value = 1;

	for (; exponent >= 1; exponent--)
		value *= 10;
	for (; exponent < 0; exponent++)
		value /= 10;
	return value * (1 + 9 * exponent);
}

static struct chart_scale chart_scale_of(const struct chart *chart, const double values[][CHART_MINUTES])
{
	double least = INFINITY, most = 0, rest;

	for (size_t l = 0; l < chart->n; l++)
		for (size_t i = 0; i < CHART_MINUTES; i++) {
			most = values[l][i] > most ? values[l][i] : most;
			least = values[l][i] > 0 && values[l][i] < least ? values[l][i] : least;
		}
	if (chart->tenfold && most > 0)
		return (struct chart_scale){ true, chart_decade(least, &rest), chart_decade(most, &rest) + 1 };
	if (chart->tenfold)
		return (struct chart_scale){ true, 0, 1 };
	return (struct chart_scale){ false, 0, chart->top > 0 ? chart->top : chart_top(most) };
}

/* How high a value stands, from 0 to 1. */
static double chart_height(const struct chart_scale *scale, double value)
{
	if (!scale->tenfold)
		return value / scale->top;
	return value > 0 ? (chart_exponent(value) - scale->bottom) / (scale->top - scale->bottom) : 0;
}

/* The value that stands so high. */
static double chart_value_at(const struct chart_scale *scale, double height)
{
	double value = scale->bottom + (scale->top - scale->bottom) * height;

	return scale->tenfold ? chart_power(value) : value;
}

/* A line begins anew behind each gap. A minute alone is a dot. */
static void chart_line(FILE *out, const double values[CHART_MINUTES], size_t number,
    const struct chart_scale *scale)
{
	bool drawn = false;

	fprintf(out, "<path class=\"l%zu\" d=\"", number);
	for (size_t i = 0; i < CHART_MINUTES; i++) {
		if (!isnan(values[i]))
			fprintf(out, "%s%zu.5 %.0f%s", drawn ? "L" : "M", i,
			    CHART_HEIGHT - chart_height(scale, values[i]) * (CHART_HEIGHT - 2) - 1, drawn ? "" : "h0");
		drawn = !isnan(values[i]);
	}
	fputs("\"/>", out);
}

/* What a minute was, for the pointer. */
static void chart_minute_text(FILE *out, const struct chart *chart, const double values[][CHART_MINUTES], size_t i,
    int64_t end)
{
	bool any = false;

	for (size_t l = 0; l < chart->n; l++)
		any = any || !isnan(values[l][i]);
	if (!any)
		return;
	fprintf(out, "<rect x=\"%zu\" width=\"1\" height=\"%d\"><title>", i, CHART_HEIGHT);
	chart_clock(out, chart_minute(end, i));
	for (size_t l = 0; l < chart->n; l++) {
		fprintf(out, "%s %s%s", l ? "," : "", chart->lines[l] ? chart->lines[l] : "",
		    chart->lines[l] ? " " : "");
		chart_number(out, values[l][i]);
	}
	fprintf(out, " %s</title></rect>", chart->unit);
}

/* The latest value and the greatest, in words. */
static void chart_describe(FILE *out, const struct chart *chart, const double values[][CHART_MINUTES], int64_t end)
{
	fprintf(out, "%s in the last hour", chart->title);
	for (size_t l = 0; l < chart->n; l++) {
		size_t at = CHART_MINUTES;

		for (size_t i = 0; i < CHART_MINUTES; i++)
			if (!isnan(values[l][i]) && (at == CHART_MINUTES || values[l][i] > values[l][at]))
				at = i;
		fprintf(out, "; %s%snow ", chart->lines[l] ? chart->lines[l] : "", chart->lines[l] ? ": " : "");
		chart_number(out, values[l][CHART_MINUTES - 1]);
		if (at == CHART_MINUTES)
			continue;
		fputs(", at most ", out);
		chart_number(out, values[l][at]);
		fputs(" at ", out);
		chart_clock(out, chart_minute(end, at));
	}
	fprintf(out, ", %s. The table below has the numbers.", chart->unit);
}

static void chart_caption(FILE *out, const struct chart *chart, const double values[][CHART_MINUTES])
{
	fprintf(out, "<figcaption><b>%s</b>, %s: ", chart->title, chart->unit);
	for (size_t l = 0; l < chart->n; l++) {
		if (chart->lines[l])
			fprintf(out, "%s<span class=\"k%zu\">%s</span> ", l ? ", " : "", l, chart->lines[l]);
		chart_number(out, values[l][CHART_MINUTES - 1]);
	}
	fputs("</figcaption>\n", out);
}

static void chart_axis(FILE *out, const struct chart_scale *scale)
{
	fputs("<div class=\"y\" aria-hidden=\"true\"><span>", out);
	chart_number(out, chart_value_at(scale, 1));
	fputs("</span><span>", out);
	chart_number(out, chart_value_at(scale, .5));
	fputs("</span><span>", out);
	chart_number(out, chart_value_at(scale, 0));
	fputs("</span></div>\n", out);
}

static void chart_times(FILE *out, int64_t end)
{
	fputs("<div class=\"x\" aria-hidden=\"true\"><span>", out);
	chart_clock(out, end - 3600);
	fputs("</span><span>", out);
	chart_clock(out, end - 1800);
	fputs("</span><span>", out);
	chart_clock(out, end);
	fputs(" UTC</span></div>", out);
}

void chart_write(FILE *out, const struct chart *chart, const double values[][CHART_MINUTES], int64_t end)
{
	const struct chart_scale scale = chart_scale_of(chart, values);

	fputs("<figure>", out);
	chart_caption(out, chart, values);
	fputs("<div class=\"plot\">", out);
	chart_axis(out, &scale);
	fputs("<svg role=\"img\" aria-label=\"", out);
	chart_describe(out, chart, values, end);
	fprintf(out,
	    "\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\">"
	    "<path class=\"g\" d=\"M0 1H%dM0 50H%dM0 99H%d\"/>",
	    CHART_MINUTES, CHART_HEIGHT, CHART_MINUTES, CHART_MINUTES, CHART_MINUTES);
	for (size_t l = 0; l < chart->n; l++)
		chart_line(out, values[l], l, &scale);
	for (size_t i = 0; i < CHART_MINUTES; i++)
		chart_minute_text(out, chart, values, i, end);
	fputs("</svg>\n", out);
	chart_times(out, end);
	fputs("</div></figure>\n", out);
}
