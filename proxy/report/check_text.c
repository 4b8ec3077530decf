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

static void put_colour(const struct text_page *p, enum text_colour c)
{
	if (p->style->colours)
		fputs(colours[c], p->out);
}

static void put_heading(const struct text_page *p, const char *text)
{
	put_colour(p, COLOUR_HEADING);
	fputs(text, p->out);
	put_colour(p, COLOUR_OFF);
	putc('\n', p->out);
}

static void row(const struct text_page *p, const char *name, const char *text)
{
	fprintf(p->out, "  %-14s %s\n", name, or_dash(text));
}

static void row_peer(const struct text_page *p, const char *name, const char *text)
{
	fprintf(p->out, "  %-14s ", name);
	visible_bytes(p->out, or_dash(text));
	putc('\n', p->out);
}

/* ---- how a URL answered ---- */

static void print_hops(const struct text_page *p, const struct check_response *a)
{
	for (size_t i = 0; i < a->n_hops; i++) {
		fprintf(p->out, "  %-14u ", a->hops[i].status);
		visible_bytes(p->out, a->hops[i].url);
		fputs(" -> ", p->out);
		visible_bytes(p->out, or_dash(a->hops[i].location));
		putc('\n', p->out);
	}
	fprintf(p->out, "  %-14u ", a->status);
	visible_bytes(p->out, a->final);
	putc('\n', p->out);
}

static void print_response(const struct text_page *p, const struct check_response *a)
{
	put_heading(p, "response");
	print_hops(p, a);
	fputs(TEXT_INDENT, p->out);
	visible_text(p->out, a->head, false, TEXT_INDENT);
	putc('\n', p->out);
}

/* ---- evidence ---- */

static void print_first(const struct text_page *p, const struct check_report *c)
{
	fprintf(p->out, "  %-14s", "first bytes");
	for (size_t i = 0; i < c->first_len; i++)
		fprintf(p->out, "%s%02x", i % 4 ? "" : " ", c->first[i]);
	fputs("  |", p->out);
	for (size_t i = 0; i < c->first_len; i++)
		putc(c->first[i] >= 0x20 && c->first[i] < 0x7f ? c->first[i] : '.', p->out);
	fputs("|\n", p->out);
}

static const char *const hidden_names[HIDDEN_COUNT] = {
	[HIDDEN_BEHIND_JUNK] = "  behind junk", [HIDDEN_MALFORMED] = "  malformed", [HIDDEN_REPEATED] = "  repeated",
};

static void print_evidence(const struct text_page *p, const struct check_report *c)
{
	const struct evidence *e = c->evidence;
	struct utf8_count utf8 = evidence_count(e);

	print_first(p, c);
	row(p, "CTMime", c->http ? mime_class_name(e->type.CTMime) : "- (a file)");
	row_peer(p, "CTEnc", e->CTEnc.text);
	row(p, "BOMEnc", charset_name(e->BOMEnc));
	row(p, "XMLGuessEnc", charset_name(e->guess.charset));
	row_peer(p, "XMLEnc", e->XMLEnc.text);
	if (e->hidden_enc.text[0])
		row_peer(p, hidden_names[c->prolog.hidden], e->hidden_enc.text);
	if (e->utf8.ascii)
		row(p, "bytes", "ASCII only");
	else
		fprintf(p->out, "  %-14s %s UTF-8: %zu characters beyond ASCII, %zu stray sequences\n", "bytes",
		    e->utf8.valid ? "valid" : "not", utf8.multibyte, utf8.stray);
}

static void print_dump_row(const struct text_page *p, const struct check_dump *d, size_t at)
{
	size_t n = d->len - at < CHECK_DUMP_ROW ? d->len - at : CHECK_DUMP_ROW;

	fprintf(p->out, "  %08" PRIx64 " ", d->offset + at);
	for (size_t i = 0; i < CHECK_DUMP_ROW; i++) {
		const char *colour = i < n && p->style->colours ? mark_colours[d->marks[at + i]] : "";

		if (i < n)
			fprintf(p->out, "%s %s%02x%s", i == CHECK_DUMP_ROW / 2 ? " " : "", colour, d->bytes[at + i],
			    *colour ? colours[COLOUR_OFF] : "");
		else
			fprintf(p->out, "%s   ", i == CHECK_DUMP_ROW / 2 ? " " : "");
	}
	fputs("  ", p->out);
	for (size_t i = 0; i < n; i++)
		putc(check_mark_letter((enum check_mark)d->marks[at + i]), p->out);
	putc('\n', p->out);
}

static void print_dump(const struct text_page *p, const struct check_dump *d, bool seen[MARK_COUNT])
{
	for (size_t at = 0; at < d->len; at += CHECK_DUMP_ROW)
		print_dump_row(p, d, at);
	for (size_t i = 0; i < d->len; i++)
		seen[d->marks[i]] = true;
}

static void print_bytes(const struct text_page *p, const struct check_report *c)
{
	bool seen[MARK_COUNT] = { false };

	put_heading(p, "bytes");
	print_dump(p, &c->start, seen);
	if (check_dump_parts(&c->start, &c->around))
		fputs("  ...\n", p->out);
	print_dump(p, &c->around, seen);
	for (int i = MARK_PLAIN + 1; i < MARK_COUNT; i++)
		if (seen[i])
			fprintf(p->out, "  %c %s\n", check_mark_letter((enum check_mark)i),
			    check_mark_text((enum check_mark)i));
}

/* ---- verdicts ---- */

static void print_verdict(const struct text_page *p, const struct check_report *c, enum policy policy)
{
	const struct verdict *v = &c->verdicts[policy];
	const char *error = verdict_error_name(v->error), *outcome = verdict_outcome_name(v->outcome);
	bool parts = !check_agrees(c, policy);
	char rule[VERDICT_FORMAT_MAX];

	verdict_rule(v, rule, sizeof rule);
	fprintf(p->out, "  %-36s ", rule);
	put_colour(p, parts ? COLOUR_BAD : COLOUR_GOOD);
	fprintf(p->out, "%-14s", or_dash(check_published(v)));
	put_colour(p, COLOUR_OFF);
	if (v->extended)
		fprintf(p->out, " decoded as %s", v->named);
	else if (v->was)
		fprintf(p->out, " was %s", v->was);
	if (error)
		fprintf(p->out, " error %s", error);
	if (v->outcome != OUTCOME_OK)
		fprintf(p->out, " outcome %s", outcome);
	putc('\n', p->out);
}

static void print_words(const struct text_page *p, const struct verdict *v)
{
	const char *at = v->path, *name = policy_name(v->policy);
	struct check_step step;

	while (check_next_step(v, &at, &step)) {
		fprintf(p->out, "  %-15s %-16s %s\n", name, step.no, or_dash(step.words));
		name = "";
	}
}

static void print_parted(const struct text_page *p, const struct check_report *c, enum policy leader)
{
	const struct verdict *v = &c->verdicts[leader];

	const char *error = v->kind == VERDICT_ERROR ? verdict_error_name(v->error) : NULL;

	fprintf(p->out, "  %-15s", error ? error : or_dash(check_published(v)));
	for (int i = leader; i < POLICY_COUNT; i++)
		if (c->leaders[i] == leader)
			fprintf(p->out, " %s", policy_name((enum policy)i));
	putc('\n', p->out);
}

static void print_rules(const struct text_page *p, const struct check_report *c)
{
	put_heading(p, "rules in words");
	for (int i = 0; i < POLICY_COUNT; i++)
		print_words(p, &c->verdicts[i]);
	put_heading(p, "where they part");
	for (int i = 0; i < POLICY_COUNT; i++)
		if ((int)c->leaders[i] == i)
			print_parted(p, c, (enum policy)i);
}

/* ---- what came of it ---- */

static void print_repairs(const struct text_page *p, const struct normalise_report *r)
{
	bool any = r->malformed > 0 || r->others > 0;

	fprintf(p->out, "  %-14s", "repairs");
	for (int i = 0; i < REPAIR_COUNT; i++) {
		if (r->repairs[i] == 0)
			continue;
		fprintf(p->out, " %s %" PRIu64, repair_name((enum repair_index)i), r->repairs[i]);
		any = true;
	}
	if (r->malformed > 0)
		fprintf(p->out, " malformed %" PRIu64, r->malformed);
	if (r->others > 0)
		fprintf(p->out, " mixed %" PRIu64, r->others);
	fprintf(p->out, "%s\n", any ? "" : " none");
	if (r->led > 0)
		fprintf(p->out, "  %-14s %" PRIu64 " URLs led through it\n", "gateway", r->led);
}

static void print_result(const struct text_page *p, const struct check_report *c)
{
	char rule[VERDICT_FORMAT_MAX];

	verdict_format(c->result, rule, sizeof rule);
	put_heading(p, "result");
	row(p, "rule", rule);
	print_repairs(p, c->report);
	if (!c->normalised)
		row(p, "well-formed", "not looked at: the body passes untouched");
	else if (c->fault)
		fprintf(p->out, "  %-14s no: line %lu: %s\n", "well-formed", c->fault_line, c->fault);
	else
		row(p, "well-formed", "yes");
}

static void print_piece(const struct text_page *p, const char *title, const char *charset, const char *text)
{
	fprintf(p->out, "  %s%s%s\n" TEXT_INDENT, title, charset ? ", as " : "", charset ? charset : "");
	visible_text(p->out, text, p->style->unicode, TEXT_INDENT);
	putc('\n', p->out);
}

static void print_texts(const struct text_page *p, const struct check_report *c)
{
	put_heading(p, "text around the first bytes beyond ASCII");
	if (!c->beyond) {
		row(p, "none", "all bytes are ASCII");
		return;
	}
	if (!c->normalised) {
		row(p, "none", "the body passes untouched");
		return;
	}
	if (c->label)
		print_piece(p, "before: by its label", c->label, c->before);
	else
		row(p, "before", "no reader that goes by the label can read it");
	print_piece(p, "after: as utfeed sends it", NULL, c->after);
}

static void print_advice(const struct text_page *p, const struct check_report *c)
{
	struct text mail = { 0 };

	put_heading(p, "what the publisher should fix");
	if (advice_is_none(c)) {
		put_colour(p, COLOUR_GOOD);
		fputs("  nothing to fix\n", p->out);
		put_colour(p, COLOUR_OFF);
		return;
	}
	advice_mail(&mail, c);
	text_add(&mail, "", 1);
	fputs(TEXT_INDENT, p->out);
	visible_text(p->out, mail.failed ? "out of memory" : mail.bytes, p->style->unicode, TEXT_INDENT);
	putc('\n', p->out);
	text_free(&mail);
}

static void print_summary(const struct text_page *p, const struct check_report *c)
{
	struct text summary = { 0 };

	summary_text(&summary, c);
	text_add(&summary, "", 1);
	put_colour(p, c->normalised && !c->fault ? COLOUR_GOOD : COLOUR_BAD);
	visible_text(p->out, summary.failed ? "out of memory" : summary.bytes, p->style->unicode, "");
	put_colour(p, COLOUR_OFF);
	putc('\n', p->out);
	text_free(&summary);
}

static void print_name(const struct text_page *p, const struct check_report *c)
{
	put_colour(p, COLOUR_HEADING);
	visible_bytes(p->out, c->file);
	put_colour(p, COLOUR_OFF);
	fprintf(p->out, ": %" PRIu64 " bytes\n", c->report->bytes_in);
}

void check_report_text(FILE *out, const struct check_report *c, const struct check_style *style)
{
	const struct text_page page = { out, style }, *p = &page;

	print_summary(p, c);
	print_name(p, c);
	if (c->response)
		print_response(p, c->response);
	row_peer(p, "Content-Type", c->content_type);
	if (!c->http)
		row(p, "label", "not seen: a server may say another; give the URL, or -t CONTENT-TYPE");
	print_evidence(p, c);
	put_heading(p, "verdicts");
	for (int i = 0; i < POLICY_COUNT; i++)
		print_verdict(p, c, (enum policy)i);
	print_result(p, c);
	print_bytes(p, c);
	print_rules(p, c);
	print_texts(p, c);
	print_advice(p, c);
	if (c->explanation)
		check_explain_text(out, c->explanation, c->evidence->len);
}
