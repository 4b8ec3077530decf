/* Showing a report to people at a terminal; see check_text.h. */
#include "proxy/report/check_text.h"

#include <inttypes.h>

#include "proxy/report/advice.h"
#include "proxy/report/check_explain.h"
#include "proxy/report/summary.h"
#include "proxy/report/visible.h"

#define TEXT_INDENT "    "

struct text_page {
	FILE *out;
	const struct check_style *style;
};

enum text_colour { COLOUR_OFF, COLOUR_HEADING, COLOUR_GOOD, COLOUR_BAD, COLOUR_COUNT };
static const char *const colours[COLOUR_COUNT] = {
	[COLOUR_OFF] = "\x1b[0m", [COLOUR_HEADING] = "\x1b[1m", [COLOUR_GOOD] = "\x1b[32m", [COLOUR_BAD] = "\x1b[31m",
};
static const char *const mark_colours[MARK_COUNT] = {
	[MARK_PLAIN] = "", [MARK_BOM] = "\x1b[35m", [MARK_JUNK] = "\x1b[33m", [MARK_DECLARATION] = "\x1b[36m",
	[MARK_UTF_8] = "\x1b[32m", [MARK_STRAY] = "\x1b[1;31m",
};

static const char *or_dash(const char *text)
{
	return text && *text ? text : "-";
}

static void put_colour(const struct text_page *page, enum text_colour c)
{
	if (page->style->colours)
		fputs(colours[c], page->out);
}

static void put_heading(const struct text_page *page, const char *text)
{
	put_colour(page, COLOUR_HEADING);
	fputs(text, page->out);
	put_colour(page, COLOUR_OFF);
	putc('\n', page->out);
}

static void row(const struct text_page *page, const char *name, const char *text)
{
	fprintf(page->out, "  %-14s %s\n", name, or_dash(text));
}

static void row_peer(const struct text_page *page, const char *name, const char *text)
{
	fprintf(page->out, "  %-14s ", name);
	visible_bytes(page->out, or_dash(text));
	putc('\n', page->out);
}

/* ---- how a URL answered ---- */

static void print_hops(const struct text_page *page, const struct check_response *response)
{
	for (size_t i = 0; i < response->n_hops; i++) {
		fprintf(page->out, "  %-14u ", response->hops[i].status);
		visible_bytes(page->out, response->hops[i].url);
		fputs(" -> ", page->out);
		visible_bytes(page->out, or_dash(response->hops[i].location));
		putc('\n', page->out);
	}
	fprintf(page->out, "  %-14u ", response->status);
	visible_bytes(page->out, response->final);
	putc('\n', page->out);
}

static void print_response(const struct text_page *page, const struct check_response *response)
{
	put_heading(page, "response");
	print_hops(page, response);
	fputs(TEXT_INDENT, page->out);
	visible_text(page->out, response->head, false, TEXT_INDENT);
	putc('\n', page->out);
}

/* ---- evidence ---- */

static void print_first(const struct text_page *page, const struct check_report *report)
{
	fprintf(page->out, "  %-14s", "first bytes");
	for (size_t i = 0; i < report->first_len; i++)
		fprintf(page->out, "%s%02x", i % 4 ? "" : " ", report->first[i]);
	fputs("  |", page->out);
	for (size_t i = 0; i < report->first_len; i++)
		putc(report->first[i] >= 0x20 && report->first[i] < 0x7f ? report->first[i] : '.', page->out);
	fputs("|\n", page->out);
}

static const char *const hidden_names[HIDDEN_COUNT] = {
	[HIDDEN_BEHIND_JUNK] = "  behind junk", [HIDDEN_MALFORMED] = "  malformed", [HIDDEN_REPEATED] = "  repeated",
};

static void print_evidence(const struct text_page *page, const struct check_report *report)
{
	const struct evidence *evidence = report->evidence;
	struct utf8_count utf8 = evidence_count(evidence);

	print_first(page, report);
	row(page, "CTMime", report->http ? mime_class_name(evidence->type.CTMime) : "- (a file)");
	row_peer(page, "CTEnc", evidence->CTEnc.text);
	row(page, "BOMEnc", charset_name(evidence->BOMEnc));
	row(page, "XMLGuessEnc", charset_name(evidence->guess.charset));
	row_peer(page, "XMLEnc", evidence->XMLEnc.text);
	if (evidence->hidden_enc.text[0])
		row_peer(page, hidden_names[report->prolog.hidden], evidence->hidden_enc.text);
	if (evidence->utf8.ascii)
		row(page, "bytes", "ASCII only");
	else
		fprintf(page->out, "  %-14s %s UTF-8: %zu characters beyond ASCII, %zu stray sequences\n", "bytes",
		    evidence->utf8.valid ? "valid" : "not", utf8.multibyte, utf8.stray);
}

static void print_dump_row(const struct text_page *page, const struct check_dump *dump, size_t at)
{
	size_t n = dump->len - at < CHECK_DUMP_ROW ? dump->len - at : CHECK_DUMP_ROW;

	fprintf(page->out, "  %08" PRIx64 " ", dump->offset + at);
	for (size_t i = 0; i < CHECK_DUMP_ROW; i++) {
		const char *colour = i < n && page->style->colours ? mark_colours[dump->marks[at + i]] : "";

		if (i < n)
			fprintf(page->out, "%s %s%02x%s", i == CHECK_DUMP_ROW / 2 ? " " : "", colour,
			    dump->bytes[at + i], *colour ? colours[COLOUR_OFF] : "");
		else
			fprintf(page->out, "%s   ", i == CHECK_DUMP_ROW / 2 ? " " : "");
	}
	fputs("  ", page->out);
	for (size_t i = 0; i < n; i++)
		putc(check_mark_letter((enum check_mark)dump->marks[at + i]), page->out);
	putc('\n', page->out);
}

static void print_dump(const struct text_page *page, const struct check_dump *dump, bool seen[MARK_COUNT])
{
	for (size_t at = 0; at < dump->len; at += CHECK_DUMP_ROW)
		print_dump_row(page, dump, at);
	for (size_t i = 0; i < dump->len; i++)
		seen[dump->marks[i]] = true;
}

static void print_bytes(const struct text_page *page, const struct check_report *report)
{
	bool seen[MARK_COUNT] = { false };

	put_heading(page, "bytes");
	print_dump(page, &report->start, seen);
	if (check_dump_parts(&report->start, &report->around))
		fputs("  ...\n", page->out);
	print_dump(page, &report->around, seen);
	for (int i = MARK_PLAIN + 1; i < MARK_COUNT; i++)
		if (seen[i])
			fprintf(page->out, "  %c %s\n", check_mark_letter((enum check_mark)i),
			    check_mark_text((enum check_mark)i));
}

/* ---- verdicts ---- */

static void print_verdict(const struct text_page *page, const struct check_report *report, enum policy policy)
{
	const struct verdict *v = &report->verdicts[policy];
	const char *error = verdict_error_name(v->error), *outcome = verdict_outcome_name(v->outcome);
	bool parts = !check_agrees(report, policy);
	char rule[VERDICT_FORMAT_MAX];

	verdict_rule(v, rule, sizeof rule);
	fprintf(page->out, "  %-36s ", rule);
	put_colour(page, parts ? COLOUR_BAD : COLOUR_GOOD);
	fprintf(page->out, "%-14s", or_dash(check_published(v)));
	put_colour(page, COLOUR_OFF);
	if (v->extended)
		fprintf(page->out, " decoded as %s", v->named);
	else if (v->was)
		fprintf(page->out, " was %s", v->was);
	if (error)
		fprintf(page->out, " error %s", error);
	if (v->outcome != OUTCOME_OK)
		fprintf(page->out, " outcome %s", outcome);
	putc('\n', page->out);
}

static void print_words(const struct text_page *page, const struct verdict *v)
{
	const char *at = v->path, *name = policy_name(v->policy);
	struct check_step step;

	while (check_next_step(v, &at, &step)) {
		fprintf(page->out, "  %-15s %-16s %s\n", name, step.no, or_dash(step.words));
		name = "";
	}
}

static void print_parted(const struct text_page *page, const struct check_report *report, enum policy leader)
{
	const struct verdict *v = &report->verdicts[leader];

	const char *error = v->kind == VERDICT_ERROR ? verdict_error_name(v->error) : NULL;

	fprintf(page->out, "  %-15s", error ? error : or_dash(check_published(v)));
	for (int i = leader; i < POLICY_COUNT; i++)
		if (report->leaders[i] == leader)
			fprintf(page->out, " %s", policy_name((enum policy)i));
	putc('\n', page->out);
}

static void print_rules(const struct text_page *page, const struct check_report *report)
{
	put_heading(page, "rules in words");
	for (int i = 0; i < POLICY_COUNT; i++)
		print_words(page, &report->verdicts[i]);
	put_heading(page, "where they part");
	for (int i = 0; i < POLICY_COUNT; i++)
		if ((int)report->leaders[i] == i)
			print_parted(page, report, (enum policy)i);
}

/* ---- what came of it ---- */

static void print_repairs(const struct text_page *page, const struct normalise_report *found)
{
	bool any = found->malformed > 0 || found->others > 0;

	fprintf(page->out, "  %-14s", "repairs");
	for (int i = 0; i < REPAIR_COUNT; i++) {
		if (found->repairs[i] == 0)
			continue;
		fprintf(page->out, " %s %" PRIu64, repair_name((enum repair_index)i), found->repairs[i]);
		any = true;
	}
	if (found->malformed > 0)
		fprintf(page->out, " malformed %" PRIu64, found->malformed);
	if (found->others > 0)
		fprintf(page->out, " mixed %" PRIu64, found->others);
	fprintf(page->out, "%s\n", any ? "" : " none");
	if (found->led > 0)
		fprintf(page->out, "  %-14s %" PRIu64 " URLs led through it\n", "gateway", found->led);
}

static void print_result(const struct text_page *page, const struct check_report *report)
{
	char rule[VERDICT_FORMAT_MAX];

	verdict_format(report->result, rule, sizeof rule);
	put_heading(page, "result");
	row(page, "rule", rule);
	print_repairs(page, report->found);
	if (!report->normalised)
		row(page, "well-formed", "not looked at: the body passes untouched");
	else if (report->fault)
		fprintf(page->out, "  %-14s no: line %lu: %s\n", "well-formed", report->fault_line, report->fault);
	else
		row(page, "well-formed", "yes");
}

static void print_piece(const struct text_page *page, const char *title, const char *charset, const char *text)
{
	fprintf(page->out, "  %s%s%s\n" TEXT_INDENT, title, charset ? ", as " : "", charset ? charset : "");
	visible_text(page->out, text, page->style->unicode, TEXT_INDENT);
	putc('\n', page->out);
}

static void print_texts(const struct text_page *page, const struct check_report *report)
{
	put_heading(page, "text around the first bytes beyond ASCII");
	if (!report->beyond) {
		row(page, "none", "all bytes are ASCII");
		return;
	}
	if (!report->normalised) {
		row(page, "none", "the body passes untouched");
		return;
	}
	if (report->label)
		print_piece(page, "before: by its label", report->label, report->before);
	else
		row(page, "before", "no reader that goes by the label can read it");
	print_piece(page, "after: as utfeed sends it", NULL, report->after);
}

static void print_appended(const struct text_page *page, struct text *t, const char *indent)
{
	text_add(t, "", 1);
	visible_text(page->out, t->failed ? "out of memory" : t->bytes, page->style->unicode, indent);
	text_free(t);
}

static void print_advice(const struct text_page *page, const struct check_report *report)
{
	struct text mail = { 0 };

	put_heading(page, "what the publisher should fix");
	if (advice_is_none(report)) {
		put_colour(page, COLOUR_GOOD);
		fputs("  nothing to fix\n", page->out);
		put_colour(page, COLOUR_OFF);
		return;
	}
	advice_mail(&mail, report);
	fputs(TEXT_INDENT, page->out);
	print_appended(page, &mail, TEXT_INDENT);
	putc('\n', page->out);
}

static void print_summary(const struct text_page *page, const struct check_report *report)
{
	struct text summary = { 0 };

	summary_text(&summary, report);
	put_colour(page, report->normalised && !report->fault ? COLOUR_GOOD : COLOUR_BAD);
	print_appended(page, &summary, "");
	put_colour(page, COLOUR_OFF);
	putc('\n', page->out);
}

void check_report_text(FILE *out, const struct check_report *report, const struct check_style *style)
{
	const struct text_page page = { out, style }, *p = &page;

	print_summary(p, report);
	put_colour(p, COLOUR_HEADING);
	visible_bytes(out, report->file);
	put_colour(p, COLOUR_OFF);
	fprintf(out, ": %" PRIu64 " bytes\n", report->found->bytes_in);
	if (report->response)
		print_response(p, report->response);
	row_peer(p, "Content-Type", report->content_type);
	if (!report->http)
		row(p, "label", "not seen: a server may say another; give the URL, or -t CONTENT-TYPE");
	print_evidence(p, report);
	put_heading(p, "verdicts");
	for (int i = 0; i < POLICY_COUNT; i++)
		print_verdict(p, report, (enum policy)i);
	print_result(p, report);
	print_bytes(p, report);
	print_rules(p, report);
	print_texts(p, report);
	print_advice(p, report);
	if (report->explanation)
		check_explain_text(out, report->explanation, report->evidence->len);
}
