/* A report as HTML; see check_html.h. */
#include "proxy/report/check_html.h"

#include <inttypes.h>
#include <string.h>

#include "proxy/report/advice.h"
#include "proxy/report/check_explain.h"
#include "proxy/report/check_html_style.h"
#include "proxy/report/summary.h"
#include "proxy/report/visible.h"

static const char *const mark_classes[MARK_COUNT] = {
	[MARK_PLAIN] = "p", [MARK_BOM] = "b", [MARK_JUNK] = "j", [MARK_DECLARATION] = "d", [MARK_UTF_8] = "u",
	[MARK_STRAY] = "s",
};

void check_html_begin(FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
	      "form-action 'none'; style-src '" CHECK_HTML_STYLE_HASH "'\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>utfeed check</title>\n"
	      "<style>" CHECK_HTML_STYLE "</style>\n</head>\n<body>\n"
	      "<header><h1>utfeed check</h1></header>\n<main>\n",
	    out);
}

void check_html_end(FILE *out)
{
	fputs("</main>\n<footer><p>Made by utfeed " PACKAGE_VERSION ". What the rules are: the manual page "
	      "utfeed-rules(7).</p></footer>\n</body>\n</html>\n",
	    out);
}

/* Begins a region that narrow screens scroll sideways: by keyboard, too. */
static void html_region(FILE *out, const char *what, unsigned number)
{
	fprintf(out, "<div class=\"scroll\" role=\"region\" aria-label=\"%s feed %u\" tabindex=\"0\">", what, number);
}

static void html_peer(FILE *out, const char *text)
{
	fputs("<bdi>", out);
	visible_html(out, text && *text ? text : "-");
	fputs("</bdi>", out);
}

static void html_row(FILE *out, const char *name, const char *text)
{
	fprintf(out, "<tr><th scope=\"row\">%s</th><td>", name);
	html_peer(out, text);
	fputs("</td></tr>\n", out);
}

/* ---- how a URL answered ---- */

static void html_hops(FILE *out, const struct check_response *a)
{
	fputs("<ol>\n", out);
	for (size_t i = 0; i < a->n_hops; i++) {
		fputs("<li>", out);
		html_peer(out, a->hops[i].url);
		fprintf(out, ": %u, to ", a->hops[i].status);
		html_peer(out, a->hops[i].location);
		fputs("</li>\n", out);
	}
	fputs("<li>", out);
	html_peer(out, a->final);
	fprintf(out, ": %u</li>\n</ol>\n", a->status);
}

static void html_response(FILE *out, const struct check_response *a, unsigned number)
{
	fputs("<h3>Response</h3>\n", out);
	html_hops(out, a);
	html_region(out, "Response head of", number);
	fputs("<pre>", out);
	visible_html(out, a->head);
	fputs("</pre></div>\n", out);
}

/* ---- evidence ---- */

static const char *const hidden_names[HIDDEN_COUNT] = {
	[HIDDEN_BEHIND_JUNK] = "XMLEnc behind junk",
	[HIDDEN_MALFORMED] = "XMLEnc, malformed",
	[HIDDEN_REPEATED] = "XMLEnc of a second declaration",
};

static void html_evidence(FILE *out, const struct check_report *c)
{
	const struct evidence *e = c->evidence;
	struct utf8_count utf8 = evidence_count(e);

	fputs("<table>\n<caption>What the labels and the bytes say</caption>\n<tbody>\n", out);
	html_row(out, "Content-Type", c->content_type);
	if (!c->http)
		html_row(out, "Label of the server", "not seen: this was a file");
	html_row(out, "CTMime", c->http ? mime_class_name(e->type.CTMime) : "- (a file)");
	html_row(out, "CTEnc", e->CTEnc.text);
	html_row(out, "BOMEnc", charset_name(e->BOMEnc));
	html_row(out, "XMLGuessEnc", charset_name(e->guess.charset));
	html_row(out, "XMLEnc", e->XMLEnc.text);
	if (e->hidden_enc.text[0])
		html_row(out, hidden_names[c->prolog.hidden], e->hidden_enc.text);
	if (e->utf8.ascii)
		html_row(out, "Bytes", "ASCII only");
	else
		fprintf(out,
		    "<tr><th scope=\"row\">Bytes</th><td>%s UTF-8: %zu characters beyond ASCII, %zu stray "
		    "sequences</td></tr>\n",
		    e->utf8.valid ? "valid" : "not", utf8.multibyte, utf8.stray);
	fputs("</tbody>\n</table>\n", out);
}

static void html_dump_row(FILE *out, const struct check_dump *d, size_t at)
{
	size_t n = d->len - at < CHECK_DUMP_ROW ? d->len - at : CHECK_DUMP_ROW;

	fprintf(out, "%08" PRIx64 "  ", d->offset + at);
	for (size_t i = 0; i < CHECK_DUMP_ROW; i++) {
		if (i < n)
			fprintf(out, "<span class=\"%s\">%02x</span> ", mark_classes[d->marks[at + i]],
			    d->bytes[at + i]);
		else
			fputs("   ", out);
	}
	putc(' ', out);
	for (size_t i = 0; i < n; i++)
		putc(check_mark_letter((enum check_mark)d->marks[at + i]), out);
	putc('\n', out);
}

static void html_legend(FILE *out, const struct check_report *c)
{
	bool seen[MARK_COUNT] = { false };

	for (size_t i = 0; i < c->start.len; i++)
		seen[c->start.marks[i]] = true;
	for (size_t i = 0; i < c->around.len; i++)
		seen[c->around.marks[i]] = true;
	fputs("<ul class=\"legend\">\n", out);
	for (int i = MARK_PLAIN; i < MARK_COUNT; i++)
		if (seen[i])
			fprintf(out, "<li><span class=\"%s\">%c</span> %s</li>\n", mark_classes[i],
			    check_mark_letter((enum check_mark)i), check_mark_text((enum check_mark)i));
	fputs("</ul>\n", out);
}

static void html_bytes(FILE *out, const struct check_report *c, unsigned number)
{
	if (c->start.len == 0)
		return;
	fputs("<h3>First bytes</h3>\n", out);
	html_region(out, "Bytes of", number);
	fputs("<pre>", out);
	for (size_t at = 0; at < c->start.len; at += CHECK_DUMP_ROW)
		html_dump_row(out, &c->start, at);
	if (check_dump_parts(&c->start, &c->around))
		fputs("...\n", out);
	for (size_t at = 0; at < c->around.len; at += CHECK_DUMP_ROW)
		html_dump_row(out, &c->around, at);
	fputs("</pre></div>\n", out);
	html_legend(out, c);
}

/* ---- verdicts ---- */

static void html_words(FILE *out, const struct verdict *v)
{
	const char *at = v->path;
	struct check_step step;

	fputs("<ul class=\"words\">", out);
	while (check_next_step(v, &at, &step))
		fprintf(out, "<li><b>%s</b> %s</li>", step.no, step.words ? step.words : "");
	fputs("</ul>", out);
}

static void html_charset(FILE *out, const struct verdict *v)
{
	const char *error = verdict_error_name(v->error);

	html_peer(out, check_published(v));
	if (v->extended)
		fprintf(out, ", decoded as %s", v->named);
	else if (v->was)
		fprintf(out, ", was %s", v->was);
	if (error)
		fprintf(out, ", error %s", error);
	if (v->outcome != OUTCOME_OK)
		fprintf(out, ", outcome %s", verdict_outcome_name(v->outcome));
}

static void html_verdict(FILE *out, const struct check_report *c, enum policy policy)
{
	const struct verdict *v = &c->verdicts[policy];
	const char *class = check_agrees(c, policy) ? "same" : "parts";

	fprintf(out, "<tr class=\"%s\"><th scope=\"row\">%s</th><td>", class, policy_name(policy));
	html_charset(out, v);
	fprintf(out, "</td><td>%s</td><td>", check_beside_auto(c, policy));
	html_words(out, v);
	fputs("</td></tr>\n", out);
}

static void html_verdicts(FILE *out, const struct check_report *c, unsigned number)
{
	fputs("<h3>Verdicts</h3>\n", out);
	html_region(out, "Verdicts on", number);
	fputs("\n<table>\n<caption>Every policy, and where it parts from auto</caption>\n"
	      "<thead><tr><th scope=\"col\">Policy</th><th scope=\"col\">Charset</th><th scope=\"col\">Beside auto</th>"
	      "<th scope=\"col\">Rules in words</th></tr></thead>\n<tbody>\n",
	    out);
	for (int i = 0; i < POLICY_COUNT; i++)
		html_verdict(out, c, (enum policy)i);
	fputs("</tbody>\n</table></div>\n", out);
}

/* ---- what came of it ---- */

static void html_repairs(FILE *out, const struct normalise_report *r)
{
	bool any = r->malformed > 0 || r->others > 0;

	fputs("<tr><th scope=\"row\">Repairs</th><td>", out);
	for (int i = 0; i < REPAIR_COUNT; i++) {
		if (r->repairs[i] == 0)
			continue;
		fprintf(out, "%s %" PRIu64 " ", repair_name((enum repair_index)i), r->repairs[i]);
		any = true;
	}
	if (r->malformed > 0)
		fprintf(out, "malformed %" PRIu64 " ", r->malformed);
	if (r->others > 0)
		fprintf(out, "mixed %" PRIu64 " ", r->others);
	fprintf(out, "%s</td></tr>\n", any ? "" : "none");
	if (r->led > 0)
		fprintf(out, "<tr><th scope=\"row\">URLs led through the gateway</th><td>%" PRIu64 "</td></tr>\n",
		    r->led);
}

static void html_result(FILE *out, const struct check_report *c)
{
	char rule[VERDICT_FORMAT_MAX];

	verdict_format(c->result, rule, sizeof rule);
	fputs("<h3>Result</h3>\n<table>\n<caption>As the proxy would answer</caption>\n<tbody>\n", out);
	html_row(out, "X-Encoding-Rule", rule);
	html_repairs(out, c->report);
	if (!c->normalised)
		html_row(out, "Well-formed", "not looked at: the body passes untouched");
	else if (c->fault)
		fprintf(out, "<tr class=\"parts\"><th scope=\"row\">Well-formed</th><td>no: line %lu: %s</td></tr>\n",
		    c->fault_line, c->fault);
	else
		html_row(out, "Well-formed", "yes");
	fputs("</tbody>\n</table>\n", out);
}

static void html_piece(FILE *out, const char *title, const char *charset, const char *text)
{
	fprintf(out, "<figure><figcaption>%s%s</figcaption><pre dir=\"auto\" class=\"text\">", title,
	    charset ? charset : "");
	visible_html(out, text);
	fputs("</pre></figure>\n", out);
}

static void html_texts(FILE *out, const struct check_report *c)
{
	if (!c->beyond || !c->normalised)
		return;
	fputs("<h3>Text around the first bytes beyond ASCII</h3>\n<div class=\"pair\">\n", out);
	if (c->label)
		html_piece(out, "Before: by its label, as ", c->label, c->before);
	else
		html_piece(out, "Before", NULL, "no reader that goes by the label can read it");
	html_piece(out, "After: as utfeed sends it", NULL, c->after);
	fputs("</div>\n", out);
}

static void html_appended(FILE *out, struct text *t)
{
	text_add(t, "", 1);
	visible_html(out, t->failed ? "out of memory" : t->bytes);
	text_free(t);
}

static void html_mail(FILE *out, const struct check_report *c, unsigned number)
{
	struct text t = { 0 };

	advice_mail(&t, c);
	fprintf(out, "<p><label for=\"mail-%u\">The same as a mail, to copy:</label></p>\n"
	    "<textarea id=\"mail-%u\" readonly rows=\"12\" cols=\"72\" dir=\"auto\">\n", number, number);
	html_appended(out, &t);
	fputs("</textarea>\n", out);
}

static void html_advice(FILE *out, const struct check_report *c, unsigned number)
{
	struct text t = { 0 };

	fputs("<h3>What the publisher should fix</h3>\n", out);
	if (advice_is_none(c)) {
		fputs("<p class=\"same\">Nothing to fix.</p>\n", out);
		return;
	}
	fputs("<ol>\n", out);
	for (int a = 0; a < ADVICE_COUNT; a++) {
		if (!advice_holds((enum advice)a, c))
			continue;
		fprintf(out, "<li id=\"%s-%u\">", advice_name((enum advice)a), number);
		advice_text(&t, (enum advice)a, c);
		html_appended(out, &t);
		fputs("</li>\n", out);
	}
	fputs("</ol>\n", out);
	html_mail(out, c, number);
}

static void html_summary(FILE *out, const struct check_report *c)
{
	struct text t = { 0 };

	summary_text(&t, c);
	fprintf(out, "<p class=\"%s\">", c->normalised && !c->fault ? "same" : "parts");
	html_appended(out, &t);
	fputs("</p>\n", out);
}

void check_html_report(FILE *out, const struct check_report *c, unsigned number)
{
	fprintf(out, "<article aria-labelledby=\"feed-%u\">\n<h2 id=\"feed-%u\">", number, number);
	html_peer(out, c->file);
	fputs("</h2>\n", out);
	html_summary(out, c);
	fprintf(out, "<p>%" PRIu64 " bytes</p>\n", c->report->bytes_in);
	html_advice(out, c, number);
	html_texts(out, c);
	html_result(out, c);
	html_verdicts(out, c, number);
	if (c->explanation)
		check_explain_html(out, c->explanation, c->evidence->len, number);
	fputs("<h3>Evidence</h3>\n", out);
	html_evidence(out, c);
	html_bytes(out, c, number);
	if (c->response)
		html_response(out, c->response, number);
	fputs("</article>\n", out);
}
