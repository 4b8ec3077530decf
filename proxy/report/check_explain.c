/* Owns how `utfeed check --explain` shows why policy auto decided as it did. See check_explain.h. */
#include "proxy/report/check_explain.h"

#include <stdio.h>

#include "proxy/report/visible.h"

/* The parts of what a reading costs, in LANGUAGE_NAT-ths of a nat. */
struct parts {
	int text, charset, label, hint;
};

static struct parts parts_of(const struct traced *traced)
{
	return (struct parts){
		.text = traced->reading.cost - traced->rare + traced->label + traced->hint,
		.charset = traced->rare,
		.label = traced->label,
		.hint = traced->hint,
	};
}

static double nats(int cost)
{
	return (double)cost / LANGUAGE_NAT;
}

static const char *language_or_dash(enum language l)
{
	return l == LANGUAGE_NONE ? "-" : language_tag(l);
}

static const char *yes_or_no(bool yes)
{
	return yes ? "yes" : "no";
}

/* ---- text and HTML ---- */

#define EXPLAIN_NATS \
	"Readings are weighed in nats. One that is n nats behind is e^n times less likely: 1 nat 3 times, " \
	"7 nats 1000 times."

/* Where rows go: lines of text, or rows of a table in HTML. */
struct rows {
	FILE *out;
	bool html;
};

static void explain_words(const struct rows *rows, const char *words)
{
	if (rows->html)
		visible_html(rows->out, words);
	else
		fputs(words, rows->out);
}

static void explain_begin(const struct rows *rows, const char *name)
{
	if (rows->html)
		fprintf(rows->out, "<tr><th scope=\"row\">%s</th><td>", name);
	else
		fprintf(rows->out, "  %-14s ", name);
}

static void explain_end(const struct rows *rows)
{
	fputs(rows->html ? "</td></tr>\n" : "\n", rows->out);
}

static void explain_row(const struct rows *rows, const char *name, const char *words)
{
	explain_begin(rows, name);
	explain_words(rows, words);
	explain_end(rows);
}

static void explain_steps(const struct rows *rows, const struct policy_explanation *why)
{
	for (size_t i = 0; i < why->n_steps; i++)
		explain_row(rows, why->steps[i].no, why->steps[i].why ? why->steps[i].why : "-");
	if (!why->verdict.was && why->verdict.kind == VERDICT_CHARSET)
		explain_row(rows, "", "nothing overrules that");
}

static void explain_hints(const struct rows *rows, const struct policy_explanation *why)
{
	bool any = false;

	explain_begin(rows, "hints");
	for (int l = 0; l < LANGUAGE_COUNT; l++) {
		if (why->hints.weight[l] == 0)
			continue;
		fprintf(rows->out, "%s%s %.1f", any ? ", " : "", language_tag((enum language)l),
		    nats(why->hints.weight[l]));
		any = true;
	}
	fputs(any ? " nats" : "-", rows->out);
	explain_end(rows);
}

static void explain_labels(const struct rows *rows, const struct detector_trace *trace)
{
	explain_begin(rows, "labels");
	for (size_t i = 0; i < trace->n_proposals; i++)
		fprintf(rows->out, "%s%s %.1f", i ? ", " : "", charset_name(trace->proposals[i].charset),
		    nats(trace->proposals[i].weight));
	fputs(trace->n_proposals > 0 ? " nats" : "-", rows->out);
	explain_end(rows);
}

static void explain_sample(const struct rows *rows, const struct detector_trace *trace, size_t held)
{
	explain_begin(rows, "sample");
	fprintf(rows->out, "bytes %zu, beyond ASCII %zu, pieces %zu, from all over the held bytes, %zu%s; read %zu",
	    trace->bytes, trace->beyond, trace->pieces, held, trace->whole ? "" : ", which have more",
	    trace->found.bytes);
	explain_end(rows);
}

static void explain_choice(const struct rows *rows, const struct policy_explanation *why)
{
	const struct reading *reading = why->first;

	explain_begin(rows, "likeliest");
	if (reading)
		fprintf(rows->out, "%s, %s, %.2f nats a byte%s", charset_name(reading->charset),
		    language_or_dash(reading->language), nats(reading->cost) / (double)why->trace.found.bytes,
		    why->trace.found.is_text ? "" : ": too much for a text");
	else
		explain_words(rows, "- (no reading decodes all bytes)");
	explain_end(rows);
	explain_begin(rows, "second");
	if (why->next)
		fprintf(rows->out, "%s, %s, %.1f nats behind", charset_name(why->next->charset),
		    language_or_dash(why->next->language), nats(why->margin));
	else
		explain_words(rows, "- (no other charset came near)");
	explain_end(rows);
	if (why->settled)
		explain_row(rows, "", "another than the best below, by the bytes in which both differ");
}

/* Readings that were given up, and weighed all the same by the bytes in which they differ from the likeliest. */
static void explain_later(const struct rows *rows, const struct detector_trace *trace)
{
	for (size_t i = 0; i < trace->found.n; i++) {
		const struct reading *reading = &trace->found.readings[i];

		if (trace_has_kept(trace, reading))
			continue;
		explain_begin(rows, "challenger");
		fprintf(rows->out, "%s, %s, %.1f nats behind, by the bytes in which it differs",
		    charset_name(reading->charset), language_or_dash(reading->language),
		    nats(reading->cost - trace->found.readings[0].cost));
		explain_end(rows);
	}
}

/* Everything but the readings. */
static void explain_rows(const struct rows *rows, const struct policy_explanation *why, size_t held)
{
	explain_steps(rows, why);
	if (why->unweighed) {
		explain_begin(rows, "weighed");
		explain_words(rows, "no: ");
		explain_words(rows, why->unweighed);
		explain_end(rows);
		return;
	}
	explain_sample(rows, &why->trace, held);
	explain_hints(rows, why);
	explain_labels(rows, &why->trace);
	explain_choice(rows, why);
	explain_later(rows, &why->trace);
}

static void print_readings(FILE *out, const struct policy_explanation *why)
{
	fprintf(out, "  %-16s %-8s %7s %8s %8s %7s %6s %5s %6s %-4s %s\n", "reading", "language", "behind", "cost",
	    "= text",
	    "+ rare", "-label", "-hint", "bytes", "kept", "decodes");
	for (size_t i = 0; i < why->trace.n; i++) {
		const struct traced *traced = &why->trace.readings[i];
		struct parts p = parts_of(traced);

		fprintf(out, "  %-16s %-8s %7.1f %8.1f %8.1f %7.1f %6.1f %5.1f %6zu %-4s %s\n",
		    charset_name(traced->reading.charset), language_or_dash(traced->reading.language),
		    nats(traced->behind), nats(traced->reading.cost), nats(p.text), nats(p.charset), nats(p.label),
		    nats(p.hint), traced->bytes, yes_or_no(traced->kept), yes_or_no(why->decodes[i]));
	}
}

void check_explain_text(FILE *out, const struct policy_explanation *why, size_t held)
{
	const struct rows o = { out, false };

	fprintf(out, "explain (auto; the other policies go by labels only, but for a guess of feedparser)\n");
	explain_rows(&o, why, held);
	if (why->unweighed)
		return;
	print_readings(out, why);
	fputs("  " EXPLAIN_NATS "\n", out);
}

static void html_reading(FILE *out, const struct policy_explanation *why, size_t i)
{
	const struct traced *traced = &why->trace.readings[i];
	struct parts p = parts_of(traced);
	const double costs[] = { nats(traced->behind), nats(traced->reading.cost), nats(p.text), nats(p.charset),
		nats(p.label), nats(p.hint) };

	fprintf(out, "<tr><th scope=\"row\">%s</th><td>%s</td>", charset_name(traced->reading.charset),
	    language_or_dash(traced->reading.language));
	for (size_t k = 0; k < sizeof costs / sizeof costs[0]; k++)
		fprintf(out, "<td>%.1f</td>", costs[k]);
	fprintf(out, "<td>%zu</td><td>%s</td><td>%s</td></tr>\n", traced->bytes, yes_or_no(traced->kept),
	    yes_or_no(why->decodes[i]));
}

static void html_readings(FILE *out, const struct policy_explanation *why, unsigned number)
{
	static const char *const columns[] = { "Reading", "Language", "Behind", "Cost", "= text", "+ rare",
		"\xe2\x88\x92 label", "\xe2\x88\x92 hint", "Bytes", "Kept", "Decodes" };

	fprintf(out,
	    "<details><summary>All %zu readings</summary>\n"
	    "<div class=\"scroll\" role=\"region\" aria-label=\"Readings of feed %u\" tabindex=\"0\">\n<table>\n"
	    "<caption>The readings that came into question, in nats</caption>\n<thead><tr>",
	    why->trace.n, number);
	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
		fprintf(out, "<th scope=\"col\">%s</th>", columns[i]);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < why->trace.n; i++)
		html_reading(out, why, i);
	fputs("</tbody>\n</table></div></details>\n", out);
}

void check_explain_html(FILE *out, const struct policy_explanation *why, size_t held, unsigned number)
{
	const struct rows o = { out, true };

	fprintf(out, "<h3>Why auto decided so</h3>\n%s<table class=\"facts\">\n"
	             "<caption>The steps of auto, and what was weighed</caption>\n<tbody>\n",
	    why->unweighed ? "" : "<p>" EXPLAIN_NATS "</p>\n");
	explain_rows(&o, why, held);
	fputs("</tbody>\n</table>\n", out);
	if (!why->unweighed)
		html_readings(out, why, number);
}

/* ---- JSON ---- */

static void json_steps(struct json *j, const struct policy_explanation *why)
{
	json_open_list(j, "steps");
	for (size_t i = 0; i < why->n_steps; i++) {
		json_open(j, NULL);
		json_string(j, "step", why->steps[i].no);
		json_string(j, "why", why->steps[i].why);
		json_close(j);
	}
	json_close_list(j);
}

static void json_reading(struct json *j, const char *key, const struct reading *reading)
{
	if (!reading) {
		json_null(j, key);
		return;
	}
	json_open(j, key);
	json_string(j, "charset", charset_name(reading->charset));
	json_string(j, "language", reading->language == LANGUAGE_NONE ? NULL : language_tag(reading->language));
	json_decimal(j, "cost", nats(reading->cost));
	json_close(j);
}

static void json_weights(struct json *j, const struct policy_explanation *why)
{
	json_open(j, "hints");
	for (int l = 0; l < LANGUAGE_COUNT; l++)
		if (why->hints.weight[l] > 0)
			json_decimal(j, language_tag((enum language)l), nats(why->hints.weight[l]));
	json_close(j);
	json_open(j, "labels");
	for (size_t i = 0; i < why->trace.n_proposals; i++)
		json_decimal(j, charset_name(why->trace.proposals[i].charset), nats(why->trace.proposals[i].weight));
	json_close(j);
}

static void json_readings(struct json *j, const struct policy_explanation *why)
{
	json_open_list(j, "readings");
	for (size_t i = 0; i < why->trace.n; i++) {
		const struct traced *traced = &why->trace.readings[i];
		struct parts p = parts_of(traced);

		json_open(j, NULL);
		json_string(j, "charset", charset_name(traced->reading.charset));
		json_string(j, "language",
		    traced->reading.language == LANGUAGE_NONE ? NULL : language_tag(traced->reading.language));
		json_decimal(j, "behind", nats(traced->behind));
		json_decimal(j, "cost", nats(traced->reading.cost));
		json_decimal(j, "text", nats(p.text));
		json_decimal(j, "rare", nats(p.charset));
		json_decimal(j, "label", nats(p.label));
		json_decimal(j, "hint", nats(p.hint));
		json_number(j, "bytes", traced->bytes);
		json_bool(j, "kept", traced->kept);
		json_bool(j, "decodes", why->decodes[i]);
		json_close(j);
	}
	json_close_list(j);
}

static void json_later(struct json *j, const struct detector_trace *trace)
{
	json_open_list(j, "challengers");
	for (size_t i = 0; i < trace->found.n; i++)
		if (!trace_has_kept(trace, &trace->found.readings[i]))
			json_reading(j, NULL, &trace->found.readings[i]);
	json_close_list(j);
}

static void json_sample(struct json *j, const struct detector_trace *trace)
{
	json_open(j, "sample");
	json_number(j, "bytes", trace->bytes);
	json_number(j, "read", trace->found.bytes);
	json_number(j, "beyond_ascii", trace->beyond);
	json_number(j, "pieces", trace->pieces);
	json_bool(j, "whole", trace->whole);
	json_close(j);
}

void check_explain_json(struct json *j, const struct policy_explanation *why, size_t held)
{
	json_open(j, "explain");
	json_string(j, "policy", policy_name(why->verdict.policy));
	json_steps(j, why);
	json_string(j, "unweighed", why->unweighed);
	json_number(j, "held_bytes", held);
	if (!why->unweighed) {
		json_sample(j, &why->trace);
		json_weights(j, why);
		json_reading(j, "first", why->first);
		json_reading(j, "second", why->next);
		json_decimal(j, "margin", nats(why->margin));
		json_bool(j, "is_text", why->trace.found.is_text);
		json_bool(j, "hinted", why->trace.found.hinted);
		json_bool(j, "settled", why->settled);
		json_later(j, &why->trace);
		json_readings(j, why);
	}
	json_close(j);
}
