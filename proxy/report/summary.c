/* The sentence that says at a glance what a feed is; see summary.h. */
#include "proxy/report/summary.h"

#include <strings.h>

#include "core/evidence/container.h"
#include "proxy/report/advice.h"

static void put_count(struct text *t, uint64_t n, const char *thing)
{
	text_number(t, n);
	text_puts(t, " ");
	text_puts(t, thing);
	if (n != 1)
		text_puts(t, "s");
}

/* ---- readable or not ---- */

/* What an XML parser or a decoder would not have taken. A byte order mark is right, and so is a declaration that only
 * names another encoding than utfeed's output. */
static uint64_t count_repairs(const struct check_report *report)
{
	uint64_t n = report->found->malformed + report->found->others + (report->strays ? report->strays->pairs : 0);

	for (int i = 0; i < REPAIR_COUNT; i++)
		if (i != REPAIRED_BOM && i != REPAIRED_BASE && i != REPAIRED_DECLARATION)
			n += report->found->repairs[i];
	return n + (advice_applies(ADVICE_DECLARATION_MALFORMED, report) ||
	    advice_applies(ADVICE_DECLARATION_REPEATED, report));
}

static const struct {
	enum advice advice;
	const char *mend;
} mends[] = {
	{ ADVICE_HEADER_UNKNOWN, "corrects its label" },
	{ ADVICE_HEADER_WRONG, "corrects its label" },
	{ ADVICE_DECLARATION_UNKNOWN, "corrects its XML declaration" },
	{ ADVICE_DECLARATION_WRONG, "corrects its XML declaration" },
	{ ADVICE_UNDECLARED, "adds the missing label" },
	{ ADVICE_GZIP, "unpacks its gzip" },
};
enum { MENDS = sizeof mends / sizeof mends[0] };

static const char *summary_noun(const struct check_report *report)
{
	return report->result->keeps_type ? "document" : "feed";
}

/* Writes what utfeed does to the feed. False: nothing has to be done, and nothing was written. */
static bool put_mends(struct text *t, const struct check_report *report)
{
	const char *todo[MENDS];
	uint64_t repairs = count_repairs(report);
	size_t n = 0;

	for (size_t i = 0; i < MENDS; i++)
		if (advice_applies(mends[i].advice, report))
			todo[n++] = mends[i].mend;
	if (n + repairs > 0)
		text_printf(t, "This %s needs utfeed, which ", summary_noun(report));
	for (size_t i = 0; i < n; i++) {
		text_puts(t, i == 0 ? "" : i + 1 < n || repairs ? ", " : " and ");
		text_puts(t, todo[i]);
	}
	if (repairs) {
		text_puts(t, n ? " and makes " : "makes ");
		put_count(t, repairs, "repair");
	}
	return n + repairs > 0;
}

static void put_not_feed(struct text *t, const struct check_report *report)
{
	const char *format = container_name(report->evidence->bytes, report->evidence->len);

	text_puts(t, "This is not a feed");
	if (format) {
		text_puts(t, " but a file of the format ");
		text_puts(t, format);
	} else if (advice_applies(ADVICE_DOCUMENT, report)) {
		text_puts(t, " but another kind of document (");
		check_put_peer(t, report->evidence->type.mime);
		text_puts(t, "), and utfeed does not change it");
	}
}

static const char *const untouched[] = {
	[VREASON_NO_TRANSFORM] = "This response stays as it is: it has Cache-Control: no-transform",
	[VREASON_ENCODED] = "This response cannot be read: its Content-Encoding cannot be undone",
	[VREASON_EMPTY] = "There is no feed here: the body is empty",
	[VREASON_PARTIAL] = "This response stays as it is: it is only a part of the feed",
	[VREASON_DISABLED] = "This response stays as it is: utfeed does not read such responses",
};

static void put_untouched(struct text *t, const struct check_report *report)
{
	enum verdict_reason reason = report->result->reason;

	if (reason == VREASON_STATUS && report->response) {
		text_puts(t, "There is no feed here: the URL answers with status ");
		text_number(t, report->response->status);
	} else if (reason < sizeof untouched / sizeof untouched[0] && untouched[reason]) {
		text_puts(t, untouched[reason]);
	} else {
		put_not_feed(t, report);
	}
}

static void put_fault(struct text *t, const struct check_report *report)
{
	uint64_t n = count_repairs(report);

	text_puts(t, "This feed cannot be read: it is not well-formed in line ");
	text_number(t, report->fault_line);
	if (n > 0) {
		text_puts(t, ", even after ");
		put_count(t, n, "repair");
	}
}

static void put_answer(struct text *t, const struct check_report *report)
{
	if (report->result->kind == VERDICT_ERROR)
		text_puts(t, "This feed cannot be read: no encoding fits its bytes");
	else if (!report->normalised)
		put_untouched(t, report);
	else if (report->fault)
		put_fault(t, report);
	else if (!put_mends(t, report))
		text_printf(t, "This %s is right as it is", summary_noun(report));
	text_puts(t, ".");
}

/* ---- what its label says, and what it is ---- */

static bool fits(const struct evidence_label *label, const struct check_report *report)
{
	return label->label && check_label_fits(label->label, report);
}

static void put_label(struct text *t, const struct evidence_label *label)
{
	if (label->label)
		text_puts(t, label->label->text);
	else
		check_put_peer(t, label->text);
}

/* Writes the things by which the feed differs from its encoding. */
static void put_exceptions(struct text *t, const struct check_report *report)
{
	const struct normalise_report *told = report->found;
	bool plain = report->strays && told->others == 0;
	const struct {
		uint64_t count;
		const char *thing, *of, *what;
	} all[] = {
		{ told->others, "text", " in ",
		    report->result->also != CS_NONE ? charset_name(report->result->also) : "another charset" },
		{ plain ? report->strays->bytes : told->malformed, plain ? "byte" : "byte sequence", "", "" },
		{ report->strays ? report->strays->pairs : 0, "pair", " of ", "surrogates (CESU-8)" },
	};
	unsigned left = (all[0].count > 0) + (all[1].count > 0) + (all[2].count > 0);
	const char *before = " apart from ";

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		if (all[i].count == 0)
			continue;
		text_puts(t, before);
		put_count(t, all[i].count, all[i].thing);
		text_puts(t, all[i].of);
		text_puts(t, all[i].what);
		before = --left == 1 ? " and " : ", ";
	}
}

/* Writes the declared encoding, if it differs from the label. */
static void put_declared(struct text *t, const struct check_report *report, const struct evidence_label *label,
    bool right)
{
	const struct evidence_label *own = check_declared(report);

	if (!own->text[0] || (label && !strcasecmp(own->text, label->text)) || (right && fits(own, report))) {
		text_puts(t, ".");
	} else if (fits(own, report)) {
		text_puts(t, ", as its XML declaration says.");
	} else {
		text_puts(t, ". Its XML declaration says ");
		put_label(t, own);
		text_puts(t, ".");
	}
}

/* Whether the bytes have characters that the label's own set lacks, though its charset is right. */
static bool has_other_characters(const struct check_report *report)
{
	const struct verdict *label = &report->verdicts[POLICY_RFC7303];

	return label->charset == report->result->charset && !check_agrees(report, POLICY_RFC7303);
}

static void put_labels(struct text *t, const struct check_report *report)
{
	const struct evidence_label *header = &report->evidence->CTEnc, *own = check_declared(report);
	const struct evidence_label *label = header->text[0] || report->evidence->BOMEnc == CS_NONE ? header : NULL;
	enum charset mark = label ? CS_NONE : report->evidence->BOMEnc;

	if (label && !label->text[0])
		label = own;
	bool right = !label || fits(label, report);
	bool named = mark != CS_NONE || label->text[0], others = right && named && has_other_characters(report);

	text_puts(t, named ? " Its label says " : " It has no label");
	if (label)
		put_label(t, label);
	else
		text_puts(t, charset_name(mark));
	text_puts(t, others ? ", which means " : right || !named ? ", and its bytes are " : ", but its bytes are ");
	text_puts(t, label && right && !others ? label->label->text : report->result->named);
	put_exceptions(t, report);
	put_declared(t, report, label, right);
}

/* ---- what else there is ---- */

static void put_more(struct text *t, const struct check_report *report)
{
	const struct verdict *strict = &report->verdicts[POLICY_ROME_STRICT];

	if (report->damaged)
		text_puts(t, " Its gzip is damaged, and the rest is lost.");
	else if (advice_applies(ADVICE_GZIP, report))
		text_puts(t, " It is gzip without a Content-Encoding.");
	if (report->result->keeps_type)
		text_puts(t, " It is not a feed, and it keeps its type.");
	if (strict->kind == VERDICT_ERROR) {
		text_puts(t, " Strict readers refuse it (rome-strict: ");
		text_puts(t, verdict_error_name(strict->error));
		text_puts(t, ").");
	}
}

void summary_text(struct text *t, const struct check_report *report)
{
	put_answer(t, report);
	if (!report->normalised)
		return;
	put_labels(t, report);
	put_more(t, report);
}
