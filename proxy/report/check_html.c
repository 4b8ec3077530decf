/* A report as HTML; see check_html.h. */
#include "proxy/report/check_html.h"

#include <inttypes.h>

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

static void html_hops(FILE *out, const struct check_response *response)
{
	fputs("<ol>\n", out);
	for (size_t i = 0; i < response->n_hops; i++) {
		fputs("<li>", out);
		html_peer(out, response->hops[i].url);
		fprintf(out, ": %u, to ", response->hops[i].status);
		html_peer(out, response->hops[i].location);
		fputs("</li>\n", out);
	}
	fputs("<li>", out);
	html_peer(out, response->final);
	fprintf(out, ": %u</li>\n</ol>\n", response->status);
}

static void html_response(FILE *out, const struct check_response *response, unsigned number)
{
	fputs("<h3>Response</h3>\n", out);
	html_hops(out, response);
	html_region(out, "Response head of", number);
	fputs("<pre>", out);
	visible_html(out, response->head);
	fputs("</pre></div>\n", out);
}

/* ---- evidence ---- */

static const char *const hidden_names[HIDDEN_COUNT] = {
	[HIDDEN_BEHIND_JUNK] = "XML declaration behind junk (XMLEnc)",
	[HIDDEN_MALFORMED] = "XML declaration, malformed (XMLEnc)",
	[HIDDEN_REPEATED] = "Second XML declaration (XMLEnc)",
};

static void html_evidence(FILE *out, const struct check_report *report)
{
	const struct evidence *evidence = report->evidence;
	struct utf8_count utf8 = evidence_count(evidence);

	fputs("<table class=\"facts\">\n<caption>What the labels and the bytes say</caption>\n<tbody>\n", out);
	fprintf(out, "<tr><th scope=\"row\">Size</th><td>%" PRIu64 " bytes</td></tr>\n", report->found->bytes_in);
	html_row(out, "Content-Type", report->content_type);
	if (!report->http)
		html_row(out, "Label of the server", "not seen: this was a file");
	html_row(out, "Kind of the type (CTMime)",
	    report->http ? mime_class_name(evidence->type.CTMime) : "- (a file)");
	html_row(out, "Charset of the Content-Type (CTEnc)", evidence->CTEnc.text);
	html_row(out, "Byte order mark (BOMEnc)", charset_name(evidence->BOMEnc));
	html_row(out, "Guess by the first bytes (XMLGuessEnc)", charset_name(evidence->guess.charset));
	html_row(out, "XML declaration (XMLEnc)", evidence->XMLEnc.text);
	if (evidence->hidden_enc.text[0])
		html_row(out, hidden_names[report->prolog.hidden], evidence->hidden_enc.text);
	if (evidence->utf8.ascii)
		html_row(out, "Bytes", "ASCII only");
	else
		fprintf(out,
		    "<tr><th scope=\"row\">Bytes</th><td>%s UTF-8: %zu characters beyond ASCII, %zu stray "
		    "sequences</td></tr>\n",
		    evidence->utf8.valid ? "valid" : "not", utf8.multibyte, utf8.stray);
	fputs("</tbody>\n</table>\n", out);
}

static void html_dump_row(FILE *out, const struct check_dump *dump, size_t at)
{
	size_t n = dump->len - at < CHECK_DUMP_ROW ? dump->len - at : CHECK_DUMP_ROW;

	fprintf(out, "%08" PRIx64 "  ", dump->offset + at);
	for (size_t i = 0; i < CHECK_DUMP_ROW; i++) {
		if (i < n)
			fprintf(out, "<span class=\"%s\">%02x</span> ", mark_classes[dump->marks[at + i]],
			    dump->bytes[at + i]);
		else
			fputs("   ", out);
	}
	putc(' ', out);
	for (size_t i = 0; i < n; i++)
		putc(check_mark_letter((enum check_mark)dump->marks[at + i]), out);
	putc('\n', out);
}

static void html_legend(FILE *out, const struct check_report *report)
{
	bool seen[MARK_COUNT] = { false };

	for (size_t i = 0; i < report->start.len; i++)
		seen[report->start.marks[i]] = true;
	for (size_t i = 0; i < report->around.len; i++)
		seen[report->around.marks[i]] = true;
	fputs("<ul class=\"legend\">\n", out);
	for (int i = MARK_PLAIN; i < MARK_COUNT; i++)
		if (seen[i])
			fprintf(out, "<li><span class=\"%s\">%c</span> %s</li>\n", mark_classes[i],
			    check_mark_letter((enum check_mark)i), check_mark_text((enum check_mark)i));
	fputs("</ul>\n", out);
}

static void html_start_bytes(FILE *out, const struct check_report *report, unsigned number)
{
	if (report->start.len == 0)
		return;
	fputs("<h3>First bytes</h3>\n", out);
	html_region(out, "Bytes of", number);
	fputs("<pre>", out);
	for (size_t at = 0; at < report->start.len; at += CHECK_DUMP_ROW)
		html_dump_row(out, &report->start, at);
	if (check_dump_parts(&report->start, &report->around))
		fputs("...\n", out);
	for (size_t at = 0; at < report->around.len; at += CHECK_DUMP_ROW)
		html_dump_row(out, &report->around, at);
	fputs("</pre></div>\n", out);
	html_legend(out, report);
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

static void html_verdict(FILE *out, const struct check_report *report, enum policy policy)
{
	const struct verdict *v = &report->verdicts[policy];
	const char *class = check_agrees(report, policy) ? "same" : "parts";

	fprintf(out, "<tr class=\"%s\"><th scope=\"row\">%s</th><td>", class, policy_name(policy));
	html_charset(out, v);
	fprintf(out, "</td><td>%s</td><td>", check_beside_auto(report, policy));
	html_words(out, v);
	fputs("</td></tr>\n", out);
}

static void html_verdicts(FILE *out, const struct check_report *report, unsigned number)
{
	fputs("<h3>Verdicts</h3>\n", out);
	html_region(out, "Verdicts on", number);
	fputs("\n<table class=\"verdicts\">\n<caption>Every policy, and where it parts from auto</caption>\n"
	      "<thead><tr><th scope=\"col\">Policy</th><th scope=\"col\">Charset</th><th scope=\"col\">Beside auto</th>"
	      "<th scope=\"col\">Rules in words</th></tr></thead>\n<tbody>\n",
	    out);
	for (int i = 0; i < POLICY_COUNT; i++)
		html_verdict(out, report, (enum policy)i);
	fputs("</tbody>\n</table></div>\n", out);
}

/* ---- what came of it ---- */

static void html_repairs(FILE *out, const struct normalise_report *found)
{
	bool any = found->malformed > 0 || found->others > 0;

	fputs("<tr><th scope=\"row\">Repairs</th><td>", out);
	for (int i = 0; i < REPAIR_COUNT; i++) {
		if (found->repairs[i] == 0)
			continue;
		fprintf(out, "%s %" PRIu64 " ", repair_name((enum repair_index)i), found->repairs[i]);
		any = true;
	}
	if (found->malformed > 0)
		fprintf(out, "malformed %" PRIu64 " ", found->malformed);
	if (found->others > 0)
		fprintf(out, "mixed %" PRIu64 " ", found->others);
	fprintf(out, "%s</td></tr>\n", any ? "" : "none");
	if (found->led > 0)
		fprintf(out, "<tr><th scope=\"row\">URLs led through the gateway</th><td>%" PRIu64 "</td></tr>\n",
		    found->led);
}

static void html_result(FILE *out, const struct check_report *report)
{
	char rule[VERDICT_FORMAT_MAX];

	verdict_format(report->result, rule, sizeof rule);
	fputs("<h3>Result</h3>\n<table class=\"facts\">\n<caption>As the proxy would answer</caption>\n<tbody>\n", out);
	html_row(out, "X-Encoding-Rule", rule);
	fputs("<tr><th scope=\"row\">The rule in words</th><td>", out);
	html_words(out, report->result);
	fputs("</td></tr>\n", out);
	html_repairs(out, report->found);
	if (!report->normalised)
		html_row(out, "Well-formed", "not looked at: the body passes untouched");
	else if (report->fault)
		fprintf(out, "<tr class=\"parts\"><th scope=\"row\">Well-formed</th><td>no: line %lu: %s</td></tr>\n",
		    report->fault_line, report->fault);
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

static void html_texts(FILE *out, const struct check_report *report)
{
	if (!report->beyond || !report->normalised)
		return;
	fputs("<h3>Text around the first bytes beyond ASCII</h3>\n<div class=\"pair\">\n", out);
	if (report->label)
		html_piece(out, "Before: by its label, as ", report->label, report->before);
	else
		html_piece(out, "Before", NULL, "no reader that goes by the label can read it");
	html_piece(out, "After: as utfeed sends it", NULL, report->after);
	fputs("</div>\n", out);
}

static void html_appended(FILE *out, struct text *t)
{
	text_add(t, "", 1);
	visible_html(out, t->failed ? "out of memory" : t->bytes);
	text_free(t);
}

static void html_mail(FILE *out, const struct check_report *report, unsigned number)
{
	struct text t = { 0 };

	advice_mail(&t, report);
	fprintf(out, "<p><label for=\"mail-%u\">The same as a mail, to copy:</label></p>\n"
	    "<textarea id=\"mail-%u\" readonly rows=\"12\" cols=\"72\" dir=\"auto\">\n", number, number);
	html_appended(out, &t);
	fputs("</textarea>\n", out);
}

static void html_advice(FILE *out, const struct check_report *report, unsigned number)
{
	struct text t = { 0 };

	fputs("<h3>What the publisher should fix</h3>\n", out);
	if (advice_is_none(report)) {
		fputs("<p class=\"same\">Nothing to fix.</p>\n", out);
		return;
	}
	fputs("<ol>\n", out);
	for (int a = 0; a < ADVICE_COUNT; a++) {
		if (!advice_applies((enum advice)a, report))
			continue;
		fprintf(out, "<li id=\"%s-%u\">", advice_name((enum advice)a), number);
		advice_text(&t, (enum advice)a, report);
		html_appended(out, &t);
		fputs("</li>\n", out);
	}
	fputs("</ol>\n", out);
	html_mail(out, report, number);
}

static void html_summary(FILE *out, const struct check_report *report)
{
	struct text t = { 0 };

	summary_text(&t, report);
	fprintf(out, "<p class=\"%s\"><b>", report->normalised && !report->fault ? "same" : "parts");
	html_appended(out, &t);
	fputs("</b></p>\n", out);
}

void check_html_report(FILE *out, const struct check_report *report, unsigned number)
{
	fprintf(out, "<article aria-labelledby=\"feed-%u\">\n<h2 id=\"feed-%u\">", number, number);
	html_peer(out, report->file);
	fputs("</h2>\n", out);
	html_summary(out, report);
	html_advice(out, report, number);
	html_texts(out, report);
	html_result(out, report);
	html_verdicts(out, report, number);
	if (report->explanation)
		check_explain_html(out, report->explanation, report->evidence->len, number);
	fputs("<h3>Evidence</h3>\n", out);
	html_evidence(out, report);
	html_start_bytes(out, report, number);
	if (report->response)
		html_response(out, report->response, number);
	fputs("</article>\n", out);
}
