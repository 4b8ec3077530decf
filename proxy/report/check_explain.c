/* Owns how `utfeed check --explain` shows why policy auto decided as it did. See check_explain.h. */
#include "proxy/report/check_explain.h"

#include <stdio.h>

#include "proxy/report/visible.h"

/* The parts of what a reading costs, in LANGUAGE_NAT-ths of a nat. */
struct parts {
	int text, charset, label, hint;
};

static struct parts parts_of(const struct traced *t)
{
	return (struct parts){
		.text = t->reading.cost - t->rare + t->label + t->hint,
		.charset = t->rare,
		.label = t->label,
		.hint = t->hint,
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

/* Where rows go: lines of text, or rows of a table in HTML. */
struct rows {
	FILE *out;
	bool html;
};

static void explain_words(const struct rows *o, const char *words)
{
	if (o->html)
		visible_html(o->out, words);
	else
		fputs(words, o->out);
}

static void explain_begin(const struct rows *o, const char *name)
{
	if (o->html)
		fprintf(o->out, "<tr><th scope=\"row\">%s</th><td>", name);
	else
		fprintf(o->out, "  %-14s ", name);
}

static void explain_end(const struct rows *o)
{
	fputs(o->html ? "</td></tr>\n" : "\n", o->out);
}

static void explain_row(const struct rows *o, const char *name, const char *words)
{
	explain_begin(o, name);
	explain_words(o, words);
	explain_end(o);
}

static void explain_steps(const struct rows *o, const struct policy_explanation *x)
{
	for (size_t i = 0; i < x->n_steps; i++)
		explain_row(o, x->steps[i].no, x->steps[i].why ? x->steps[i].why : "-");
	if (!x->verdict.was && x->verdict.kind == VERDICT_CHARSET)
		explain_row(o, "", "nothing overrules that");
}

static void explain_hints(const struct rows *o, const struct policy_explanation *x)
{
	bool any = false;

	explain_begin(o, "hints");
	for (int l = 0; l < LANGUAGE_COUNT; l++) {
		if (x->hints.weight[l] == 0)
			continue;
		fprintf(o->out, "%s%s %.1f", any ? ", " : "", language_tag((enum language)l),
		    nats(x->hints.weight[l]));
		any = true;
	}
	fputs(any ? " nats" : "-", o->out);
	explain_end(o);
}

static void explain_labels(const struct rows *o, const struct detector_trace *t)
{
	explain_begin(o, "labels");
	for (size_t i = 0; i < t->n_proposals; i++)
		fprintf(o->out, "%s%s %.1f", i ? ", " : "", charset_name(t->proposals[i].charset),
		    nats(t->proposals[i].weight));
	fputs(t->n_proposals > 0 ? " nats" : "-", o->out);
	explain_end(o);
}

static void explain_sample(const struct rows *o, const struct detector_trace *t, size_t held)
{
	explain_begin(o, "sample");
	fprintf(o->out, "bytes %zu, beyond ASCII %zu, pieces %zu, from all over the held bytes, %zu%s; read %zu",
	    t->bytes, t->beyond, t->pieces, held, t->whole ? "" : ", which have more", t->found.bytes);
	explain_end(o);
}

static void explain_choice(const struct rows *o, const struct policy_explanation *x)
{
	const struct reading *r = x->first;

	explain_begin(o, "likeliest");
	if (r)
		fprintf(o->out, "%s, %s, %.2f nats a byte%s", charset_name(r->charset),
		    language_or_dash(r->language), nats(r->cost) / (double)x->trace.found.bytes,
		    x->trace.found.is_text ? "" : ": too much for a text");
	else
		explain_words(o, "- (no reading decodes all bytes)");
	explain_end(o);
	explain_begin(o, "second");
	if (x->next)
		fprintf(o->out, "%s, %s, %.1f nats behind", charset_name(x->next->charset),
		    language_or_dash(x->next->language), nats(x->margin));
	else
		explain_words(o, "- (no other charset came near)");
	explain_end(o);
	if (x->settled)
		explain_row(o, "", "another than the best below, by the bytes in which both differ");
}

/* Readings that were given up, and weighed all the same by the bytes in which they differ from the likeliest. */
static void explain_later(const struct rows *o, const struct detector_trace *t)
{
	for (size_t i = 0; i < t->found.n; i++) {
		const struct reading *r = &t->found.readings[i];

		if (trace_has_kept(t, r))
			continue;
		explain_begin(o, "challenger");
		fprintf(o->out, "%s, %s, %.1f nats behind, by the bytes in which it differs", charset_name(r->charset),
		    language_or_dash(r->language), nats(r->cost - t->found.readings[0].cost));
		explain_end(o);
	}
}

/* Everything but the readings. */
static void explain_rows(const struct rows *o, const struct policy_explanation *x, size_t held)
{
	explain_steps(o, x);
	if (x->unweighed) {
		explain_begin(o, "weighed");
		explain_words(o, "no: ");
		explain_words(o, x->unweighed);
		explain_end(o);
		return;
	}
	explain_sample(o, &x->trace, held);
	explain_hints(o, x);
	explain_labels(o, &x->trace);
	explain_choice(o, x);
	explain_later(o, &x->trace);
}

static void print_readings(FILE *out, const struct policy_explanation *x)
{
	fprintf(out, "  %-16s %-8s %7s %8s %8s %7s %6s %5s %6s %-4s %s\n", "reading", "language", "behind", "cost",
	    "= text",
	    "+ rare", "-label", "-hint", "bytes", "kept", "decodes");
	for (size_t i = 0; i < x->trace.n; i++) {
		const struct traced *t = &x->trace.readings[i];
		struct parts p = parts_of(t);

		fprintf(out, "  %-16s %-8s %7.1f %8.1f %8.1f %7.1f %6.1f %5.1f %6zu %-4s %s\n",
		    charset_name(t->reading.charset), language_or_dash(t->reading.language), nats(t->behind),
		    nats(t->reading.cost), nats(p.text), nats(p.charset), nats(p.label), nats(p.hint), t->bytes,
		    yes_or_no(t->kept), yes_or_no(x->decodes[i]));
	}
}

void check_explain_text(FILE *out, const struct policy_explanation *x, size_t held)
{
	const struct rows o = { out, false };

	fprintf(out, "explain (auto; the other policies go by labels only, but for a guess of feedparser)\n");
	explain_rows(&o, x, held);
	if (!x->unweighed)
		print_readings(out, x);
}

static void html_reading(FILE *out, const struct policy_explanation *x, size_t i)
{
	const struct traced *t = &x->trace.readings[i];
	struct parts p = parts_of(t);
	const double costs[] = { nats(t->behind), nats(t->reading.cost), nats(p.text), nats(p.charset), nats(p.label),
		nats(p.hint) };

	fprintf(out, "<tr><th scope=\"row\">%s</th><td>%s</td>", charset_name(t->reading.charset),
	    language_or_dash(t->reading.language));
	for (size_t k = 0; k < sizeof costs / sizeof costs[0]; k++)
		fprintf(out, "<td>%.1f</td>", costs[k]);
	fprintf(out, "<td>%zu</td><td>%s</td><td>%s</td></tr>\n", t->bytes, yes_or_no(t->kept),
	    yes_or_no(x->decodes[i]));
}

static void html_readings(FILE *out, const struct policy_explanation *x, unsigned number)
{
	static const char *const columns[] = { "Reading", "Language", "Behind", "Cost", "= text", "+ rare",
		"\xe2\x88\x92 label", "\xe2\x88\x92 hint", "Bytes", "Kept", "Decodes" };

	fprintf(out,
	    "<div class=\"scroll\" role=\"region\" aria-label=\"Readings of feed %u\" tabindex=\"0\">\n<table>\n"
	    "<caption>The readings that came into question, in nats</caption>\n<thead><tr>",
	    number);
	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
		fprintf(out, "<th scope=\"col\">%s</th>", columns[i]);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < x->trace.n; i++)
		html_reading(out, x, i);
	fputs("</tbody>\n</table></div>\n", out);
}

void check_explain_html(FILE *out, const struct policy_explanation *x, size_t held, unsigned number)
{
	const struct rows o = { out, true };

	fputs("<h3>Why auto decided so</h3>\n<table>\n<caption>The steps of auto, and what was weighed</caption>\n"
	      "<tbody>\n",
	    out);
	explain_rows(&o, x, held);
	fputs("</tbody>\n</table>\n", out);
	if (!x->unweighed)
		html_readings(out, x, number);
}

/* ---- JSON ---- */

static void json_steps(struct json *j, const struct policy_explanation *x)
{
	json_open_list(j, "steps");
	for (size_t i = 0; i < x->n_steps; i++) {
		json_open(j, NULL);
		json_string(j, "step", x->steps[i].no);
		json_string(j, "why", x->steps[i].why);
		json_close(j);
	}
	json_close_list(j);
}

static void json_reading(struct json *j, const char *key, const struct reading *r)
{
	if (!r) {
		json_null(j, key);
		return;
	}
	json_open(j, key);
	json_string(j, "charset", charset_name(r->charset));
	json_string(j, "language", r->language == LANGUAGE_NONE ? NULL : language_tag(r->language));
	json_decimal(j, "cost", nats(r->cost));
	json_close(j);
}

static void json_weights(struct json *j, const struct policy_explanation *x)
{
	json_open(j, "hints");
	for (int l = 0; l < LANGUAGE_COUNT; l++)
		if (x->hints.weight[l] > 0)
			json_decimal(j, language_tag((enum language)l), nats(x->hints.weight[l]));
	json_close(j);
	json_open(j, "labels");
	for (size_t i = 0; i < x->trace.n_proposals; i++)
		json_decimal(j, charset_name(x->trace.proposals[i].charset), nats(x->trace.proposals[i].weight));
	json_close(j);
}

static void json_readings(struct json *j, const struct policy_explanation *x)
{
	json_open_list(j, "readings");
	for (size_t i = 0; i < x->trace.n; i++) {
		const struct traced *t = &x->trace.readings[i];
		struct parts p = parts_of(t);

		json_open(j, NULL);
		json_string(j, "charset", charset_name(t->reading.charset));
		json_string(j, "language",
		    t->reading.language == LANGUAGE_NONE ? NULL : language_tag(t->reading.language));
		json_decimal(j, "behind", nats(t->behind));
		json_decimal(j, "cost", nats(t->reading.cost));
		json_decimal(j, "text", nats(p.text));
		json_decimal(j, "rare", nats(p.charset));
		json_decimal(j, "label", nats(p.label));
		json_decimal(j, "hint", nats(p.hint));
		json_number(j, "bytes", t->bytes);
		json_bool(j, "kept", t->kept);
		json_bool(j, "decodes", x->decodes[i]);
		json_close(j);
	}
	json_close_list(j);
}

static void json_later(struct json *j, const struct detector_trace *t)
{
	json_open_list(j, "challengers");
	for (size_t i = 0; i < t->found.n; i++)
		if (!trace_has_kept(t, &t->found.readings[i]))
			json_reading(j, NULL, &t->found.readings[i]);
	json_close_list(j);
}

static void json_sample(struct json *j, const struct detector_trace *t)
{
	json_open(j, "sample");
	json_number(j, "bytes", t->bytes);
	json_number(j, "read", t->found.bytes);
	json_number(j, "beyond_ascii", t->beyond);
	json_number(j, "pieces", t->pieces);
	json_bool(j, "whole", t->whole);
	json_close(j);
}

void check_explain_json(struct json *j, const struct policy_explanation *x, size_t held)
{
	json_open(j, "explain");
	json_string(j, "policy", policy_name(x->verdict.policy));
	json_steps(j, x);
	json_string(j, "unweighed", x->unweighed);
	json_number(j, "held_bytes", held);
	if (!x->unweighed) {
		json_sample(j, &x->trace);
		json_weights(j, x);
		json_reading(j, "first", x->first);
		json_reading(j, "second", x->next);
		json_decimal(j, "margin", nats(x->margin));
		json_bool(j, "is_text", x->trace.found.is_text);
		json_bool(j, "hinted", x->trace.found.hinted);
		json_bool(j, "settled", x->settled);
		json_later(j, &x->trace);
		json_readings(j, x);
	}
	json_close(j);
}
