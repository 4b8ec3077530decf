/* Finding out what a body is; see check.h. */
#include "proxy/report/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode/decoder.h"
#include "core/evidence/scan.h"
#include "proxy/coding/gzip_peel.h"
#include "proxy/report/check_agree.h"
#include "proxy/report/wellformed.h"

struct check {
	struct check_options options;
	struct gzip_peel *peel;                 /* between the body and all of this */
	bool cut;                               /* what it unpacks is damaged: the report is on what came before */
	struct normaliser *normaliser;
	int stopped;                            /* the result of the normaliser that ended it; 0: none */
	struct normaliser *decoding;            /* makes no repairs, so that its text tells what bytes were read as */
	struct strays strays;
	struct wellformed *wellformed;
	/* the body's start, on which the normaliser (core/normalise) decides as well */
	uint8_t window[NORMALISE_SNIFF_BYTES];
	size_t len;
	bool looked;                            /* the window is full or complete: evidence has its labels */
	struct evidence evidence;
	struct excerpt before, after;           /* of the body, and of what is made of it */
	struct verdict untouched;
	struct normalise_report told;
	struct policy_explanation explanation;
	struct check_report report;
};

static int check_on_decided(void *arg, const struct verdict *v)
{
	(void)arg, (void)v;
	return 0;
}

static int check_on_write(void *arg, const uint8_t *bytes, size_t len)
{
	struct check *check = arg;

	excerpt_feed(&check->after, bytes, len);
	wellformed_feed(check->wellformed, bytes, len);
	return 0;
}

static int check_on_decode(void *arg, const uint8_t *bytes, size_t len)
{
	struct check *check = arg;

	strays_feed_decoded(&check->strays, bytes, len);
	return 0;
}

static int check_take(void *arg, const uint8_t *bytes, size_t len);

static int check_decode_on(void *arg, const uint8_t *bytes, size_t len)
{
	struct check *check = arg;

	return normaliser_feed(check->decoding, bytes, len);
}

/* NULL: out of memory. */
static struct normaliser *check_decoding(struct check *check)
{
	struct normalise_options options = check->options.normalise;
	const struct normalise_events events = { check_on_decided, NULL, check_on_decode, check };

	check->strays.sink = (struct sink){ check_decode_on, check };
	options.repairs = 0;
	options.gateway = NULL;
	return normaliser_new(&options, &events);
}

struct check *check_new(const struct check_options *options)
{
	struct check *check = calloc(1, sizeof *check);
	struct normalise_events events = { check_on_decided, NULL, check_on_write, check };

	if (!check)
		return NULL;
	check->options = *options;
	check->peel = gzip_peel_new(&check->options.normalise, (struct sink){ check_take, check });
	check->normaliser = normaliser_new(&options->normalise, &events);
	check->decoding = check_decoding(check);
	check->wellformed = wellformed_new(NULL);
	check->before.escapes = true;
	if (!check->peel || !check->normaliser || !check->decoding || !check->wellformed)
		check_free(&check);
	return check;
}

void check_free(struct check **cp)
{
	struct check *check = *cp;

	if (!check)
		return;
	gzip_peel_free(&check->peel);
	normaliser_free(&check->normaliser);
	normaliser_free(&check->decoding);
	wellformed_free(&check->wellformed);
	free(check);
	*cp = NULL;
}

/* Where the first character stands that no ASCII can say, in a body whose code units are no ASCII bytes. */
static size_t check_first_wide(const struct evidence *evidence)
{
	struct scan s = { evidence_family(evidence), evidence->bytes, evidence->len, evidence->bom_len };
	int c;

	while ((c = scan_peek(&s, 0)) != SCAN_END && c != SCAN_OTHER)
		s.at += s.family.unit;
	return c == SCAN_OTHER ? s.at : evidence->len;
}

/* Looks at the window: its labels, and the piece around the first bytes beyond ASCII as far as the window has it. */
static void check_look(struct check *check, bool complete)
{
	const struct normalise_options *options = &check->options.normalise;
	struct evidence *evidence = &check->evidence;

	check->looked = true;
	evidence_labels(evidence, options->http, options->content_type, options->content_type_len, options->forced);
	evidence_look(evidence, check->window, check->len, complete);
	evidence->told = normalise_told(options);
	check->before.offset = evidence->bom_len;
	if (evidence_family(evidence).family == FAMILY_ASCII)
		excerpt_feed(&check->before, check->window + evidence->bom_len, check->len - evidence->bom_len);
	else
		excerpt_at(&check->before, check->window, check->len, check_first_wide(evidence));
}

/* Takes bytes of the body as they are once they are unpacked. */
static int check_take(void *arg, const uint8_t *bytes, size_t len)
{
	struct check *check = arg;
	size_t room = sizeof check->window - check->len, take = len < room ? len : room;

	if (take > 0)
		memcpy(check->window + check->len, bytes, take);
	check->len += take;
	check->told.bytes_in += len;
	if (!check->looked && check->len == sizeof check->window)
		check_look(check, false);
	if (take < len && evidence_family(&check->evidence).family == FAMILY_ASCII)
		excerpt_feed(&check->before, bytes + take, len - take);
	if (check->stopped == 0 && check->options.untouched == VREASON_NONE)
		check->stopped = normaliser_feed(check->normaliser, bytes, len);
	if (check->stopped == 0 && check->options.untouched == VREASON_NONE)
		check->stopped = strays_feed(&check->strays, bytes, len);
	return check->stopped == NORMALISE_NO_MEMORY ? -1 : 0;
}

static int check_peeled(struct check *check, int rc)
{
	check->cut |= rc == GZIP_PEEL_DAMAGED;
	return rc == 0 || check->cut ? 0 : -1;
}

int check_feed(struct check *check, const uint8_t *bytes, size_t len)
{
	return check->cut ? 0 : check_peeled(check, gzip_peel_feed(check->peel, bytes, len));
}

/* ---- the report ---- */

static int check_verdicts(struct check *check)
{
	struct check_report *report = &check->report;

	evidence_finish(&check->evidence);
	for (int i = 0; i < POLICY_COUNT; i++)
		if (policy_decide((enum policy)i, &check->evidence, &report->verdicts[i]))
			return -1;
	if (check_agree(report->leaders, report->verdicts, &check->evidence))
		return -1;
	if (!check->options.explain)
		return 0;
	report->explanation = &check->explanation;
	return policy_explain(POLICY_AUTO, &check->evidence, &check->explanation);
}

/* The verdict of auto and its counts, as the proxy would have them. */
static int check_result(struct check *check)
{
	uint64_t bytes = check->told.bytes_in;

	check->report.found = &check->told;
	check->report.misnamed = check->options.misnamed;
	check->report.result = &check->untouched;
	verdict_untouched(&check->untouched, POLICY_AUTO, check->options.untouched);
	if (check->options.untouched != VREASON_NONE)
		return 0;
	if (check->stopped == 0)
		check->stopped = normaliser_finish(check->normaliser);
	if (check->stopped == 0)
		check->stopped = strays_end(&check->strays);
	if (check->stopped == 0)
		check->stopped = normaliser_finish(check->decoding);
	strays_finish(&check->strays);
	if (check->stopped == NORMALISE_NO_MEMORY)
		return -1;
	check->report.result = normaliser_verdict(check->normaliser);
	if (check->options.misnamed && check->report.result->kind == VERDICT_NONE) {
		verdict_untouched(&check->untouched, POLICY_AUTO, VREASON_ENCODED);
		check->report.result = &check->untouched;
	}
	if (check->report.result->charset == CS_UTF_8)
		check->report.strays = &check->strays;
	check->told = *normaliser_report(check->normaliser);
	check->told.bytes_in = bytes;
	return 0;
}

static void check_wellformed(struct check *check)
{
	struct check_report *report = &check->report;
	bool fine = wellformed_finish(check->wellformed);

	report->normalised = report->result->kind == VERDICT_CHARSET;
	if (!report->normalised || fine)
		return;
	report->fault = wellformed_fault(check->wellformed);
	report->fault_line = wellformed_line(check->wellformed);
}

/* Copies text, which is valid UTF-8, as a terminated string: a NUL becomes U+FFFD. */
static void check_copy_text(char out[CHECK_TEXT_MAX], const uint8_t *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 4 <= CHECK_TEXT_MAX; i++) {
		if (text[i])
			out[n++] = (char)text[i];
		else
			n += utf8_encode(0xFFFD, (uint8_t *)out + n);
	}
	while (n > 0 && utf8_valid_prefix((const uint8_t *)out, n) < n)
		n--;
	out[n] = '\0';
}

static unsigned check_unit(enum charset cs)
{
	switch (charset_info(cs)->family) {
	case FAMILY_16BIT:
		return 2;
	case FAMILY_32BIT:
		return 4;
	default:
		return 1;
	}
}

/* Where in decoded text the line of its first character beyond ASCII starts. */
static size_t check_line(const uint8_t *text, size_t len)
{
	size_t at = utf8_ascii_prefix(text, len);

	while (at > 0 && text[at - 1] != '\n')
		at--;
	return at;
}

/* The piece of the body as one charset reads it; a character that its end cuts is left out. -1: out of memory. */
static int check_decode(char out[CHECK_TEXT_MAX], const struct excerpt *excerpt, const struct verdict *v)
{
	struct decoder *decoder = decoder_new(v->charset, v->literal ? DECODER_LITERAL : 0);
	unsigned unit = check_unit(v->charset);
	size_t from = unit == 1 ? excerpt_line(excerpt) : (size_t)((unit - excerpt->offset % unit) % unit), used, n;
	uint8_t text[CHECK_TEXT_MAX];

	if (!decoder)
		return -1;
	n = decoder_feed(decoder, excerpt->bytes + from, from < excerpt->len ? excerpt->len - from : 0, &used, text,
	    sizeof text);
	from = unit == 1 ? 0 : check_line(text, n);
	check_copy_text(out, text + from, n - from);
	decoder_free(&decoder);
	return 0;
}

/* As RFC 7303 has readers take the label: the mark, the header, the declaration. */
static int check_texts(struct check *check)
{
	const struct verdict *label = &check->report.verdicts[POLICY_RFC7303];
	struct check_report *report = &check->report;
	size_t from = excerpt_line(&check->after);

	report->beyond =
	    check->before.found && (check->before.bytes[check->before.first] >= 0x80 || check->after.found);
	report->label = label->kind == VERDICT_CHARSET ? label->named : NULL;
	if (!report->beyond || !report->normalised)
		return 0;
	if (check->after.found)
		check_copy_text(report->after, check->after.bytes + from, check->after.len - from);
	if (!report->label || !check_decode(report->before, &check->before, label))
		return 0;
	report->label = NULL;                /* this system has no converter for it */
	return errno == EINVAL ? 0 : -1;
}

int check_finish(struct check *check)
{
	struct check_report *report = &check->report;

	if (!check->cut && check_peeled(check, gzip_peel_finish(check->peel)))
		return -1;
	if (!check->looked)
		check_look(check, true);
	report->content_type = check->options.normalise.content_type;
	report->http = check->options.normalise.http;
	report->evidence = &check->evidence;
	report->first_len = check->len < sizeof report->first ? check->len : sizeof report->first;
	memcpy(report->first, check->window, report->first_len);
	report->unpacked = gzip_peel_has_unpacked(check->peel);
	report->damaged = check->cut;
	check_prolog_read(&report->prolog, &check->evidence);
	check_dump_start(&report->start, &check->evidence);
	check_dump_around(&report->around, &report->start, &check->before, &check->evidence);
	if (check_verdicts(check) || check_result(check))
		return -1;
	check_wellformed(check);
	return check_texts(check);
}

struct check_report *check_report_of(struct check *check)
{
	return &check->report;
}

bool check_is_fine(const struct check_report *report)
{
	return report->normalised && !report->fault;
}
