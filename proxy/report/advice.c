/* What the publisher of a feed should fix; see advice.h. */
#include "proxy/report/advice.h"

#include <inttypes.h>
#include <string.h>

#include "core/evidence/container.h"

/* ---- questions ---- */

static bool is_unknown(const struct evidence_label *label)
{
	return label->text[0] && !label->label;
}

static bool is_wrong(const struct evidence_label *label, const struct check_report *report)
{
	return report->normalised && label->label && !check_label_fits(label->label, report);
}

static bool has_other_status(const struct check_report *report)
{
	return report->response && report->response->status != 200 && report->response->status != 203;
}

static bool is_empty(const struct check_report *report)
{
	return report->result->reason == VREASON_EMPTY;
}

static bool is_not_xml(const struct check_report *report)
{
	return report->result->reason == VREASON_NOT_XML;
}

static const char *format_of(const struct check_report *report)
{
	return container_name(report->evidence->bytes, report->evidence->len);
}

static bool is_container(const struct check_report *report)
{
	return is_not_xml(report) && format_of(report);
}

/* The type says that the body is another document, or a picture. */
static bool is_document(const struct check_report *report)
{
	enum media_kind kind = report->evidence->kind;

	return is_not_xml(report) && report->http && !format_of(report) &&
	    (kind == MEDIA_KIND_DOCUMENT || kind == MEDIA_KIND_DRAWING || kind == MEDIA_KIND_MEDIA);
}

static bool has_no_feed(const struct check_report *report)
{
	return is_not_xml(report) && !is_container(report) && !is_document(report);
}

static bool is_bare_gzip(const struct check_report *report)
{
	return report->unpacked && report->http;
}

static bool is_damaged_gzip(const struct check_report *report)
{
	return report->damaged;
}

static bool has_other_coding(const struct check_report *report)
{
	return report->misnamed;
}

static bool is_undecodable(const struct check_report *report)
{
	return report->result->kind == VERDICT_ERROR;
}

static bool has_other_type(const struct check_report *report)
{
	enum mime_class class = report->evidence->type.CTMime;

	return report->normalised && report->http && class != MIME_NONE && class != MIME_APP_XML &&
	    class != MIME_TEXT_XML && class != MIME_OTHER_XML;
}

static bool has_no_type(const struct check_report *report)
{
	return report->normalised && report->http && report->evidence->type.CTMime == MIME_NONE;
}

static bool has_unknown_header(const struct check_report *report)
{
	return report->normalised && is_unknown(&report->evidence->CTEnc);
}

static bool has_wrong_header(const struct check_report *report)
{
	return is_wrong(&report->evidence->CTEnc, report);
}

/* RFC 3023 section 3.1; RFC 7303 took that back. */
static bool has_default_header(const struct check_report *report)
{
	const struct evidence *evidence = report->evidence;

	return report->normalised && report->http && report->beyond && evidence->type.CTMime == MIME_TEXT_XML &&
	    !evidence->CTEnc.text[0];
}

static bool has_unknown_declaration(const struct check_report *report)
{
	return report->normalised && is_unknown(check_declared(report));
}

static bool has_wrong_declaration(const struct check_report *report)
{
	return is_wrong(check_declared(report), report);
}

static bool is_undeclared(const struct check_report *report)
{
	const struct evidence *evidence = report->evidence;

	return report->normalised && report->beyond && !evidence->CTEnc.text[0] && !check_declared(report)->text[0] &&
	    evidence->BOMEnc == CS_NONE && report->result->charset != CS_UTF_8;
}

static bool has_two_labels(const struct check_report *report)
{
	const struct charset_label *header = report->evidence->CTEnc.label, *own = check_declared(report)->label;

	return report->normalised && !report->beyond && header && own && header->charset != own->charset &&
	    !has_wrong_header(report) && !has_wrong_declaration(report);
}

static bool has_mixed_nodes(const struct check_report *report)
{
	return report->found->others > 0;
}

static bool has_malformed_bytes(const struct check_report *report)
{
	return report->found->malformed > 0;
}

static bool has_surrogates(const struct check_report *report)
{
	return report->strays && report->strays->pairs > 0;
}

static bool has_malformed_declaration(const struct check_report *report)
{
	return report->prolog.malformed;
}

static bool has_repeated_declaration(const struct check_report *report)
{
	return report->prolog.repeated;
}

static bool has_junk_behind(const struct check_report *report)
{
	return report->prolog.behind || !report->prolog.before;
}

static bool has_junk_before(const struct check_report *report)
{
	return report->prolog.before;
}

static bool has_fault(const struct check_report *report)
{
	return report->fault;
}

static bool repaired(const struct check_report *report)
{
	(void)report;
	return true;
}

/* ---- sentences ---- */

static const struct {
	const char *name;
	bool (*applies)(const struct check_report *);
	size_t counted;             /* enum repair_index; REPAIR_COUNT: none */
	const char *text;
} advices[ADVICE_COUNT] = {
#define ADVICE(id, name, applies, counted, text) { name, applies, counted, text },
#include "proxy/report/advice.def"
#undef ADVICE
};

const char *advice_name(enum advice a)
{
	return advices[a].name;
}

bool advice_applies(enum advice a, const struct check_report *report)
{
	size_t counted = advices[a].counted;

	return advices[a].applies(report) && (counted == REPAIR_COUNT || report->found->repairs[counted] > 0);
}

bool advice_is_none(const struct check_report *report)
{
	for (int a = 0; a < ADVICE_COUNT; a++)
		if (advice_applies((enum advice)a, report))
			return false;
	return true;
}

static uint64_t advice_number(enum advice a, const struct check_report *report)
{
	if (advices[a].counted != REPAIR_COUNT)
		return report->found->repairs[advices[a].counted];
	switch (a) {
	case ADVICE_MIXED:
		return report->found->others;
	case ADVICE_SURROGATES:
		return report->strays->pairs;
	default:
		return report->found->malformed;
	}
}

/* ---- bytes that are not UTF-8 ---- */

static bool is_replaced(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t len = sizeof replacement - 1;

	while (!strncmp(text, replacement, len))
		text += len;
	return *text == '\0';
}

static void put_read_as(struct text *t, const struct stray *stray)
{
	if (!stray->found)
		return;
	if (stray->text[0] == '\0') {
		text_puts(t, ", dropped");
	} else if (is_replaced(stray->text)) {
		text_puts(t, ", replaced by U+FFFD");
	} else {
		text_puts(t, ", read as \"");
		check_put_peer(t, stray->text);
		text_puts(t, "\"");
	}
}

static void put_places(struct text *t, const struct strays *strays)
{
	for (size_t i = 0; i < strays->n; i++) {
		const struct stray *stray = &strays->first[i];

		text_puts(t, i == 0 ? ": " : "; ");
		for (size_t k = 0; k < stray->len && k < STRAY_BYTES; k++)
			text_printf(t, "%s0x%02X", k > 0 ? " " : "", stray->bytes[k]);
		text_printf(t, "%s at offset %" PRIu64 " (line %" PRIu64 ")", stray->len > STRAY_BYTES ? " ..." : "",
		    stray->offset, stray->line);
		put_read_as(t, stray);
	}
	if (strays->places > strays->n)
		text_printf(t, "; and %" PRIu64 " more", strays->places - strays->n);
}

/* The sentence on bytes that are not in the feed's charset. A feed has it once. */
static void put_bytes(struct text *t, enum advice a, const struct check_report *report)
{
	uint64_t n = report->strays ? report->strays->bytes : report->found->malformed;
	const char *thing = report->strays ? "byte" : "byte sequence";

	if (a == ADVICE_MIXED && report->found->malformed > 0)
		return;
	if (n == 1)
		text_printf(t, "This %s is not ", thing);
	else
		text_printf(t, "These %" PRIu64 " %ss are not ", n, thing);
	text_puts(t, report->strays ? "UTF-8" : charset_name(report->result->charset));
	if (report->strays)
		put_places(t, report->strays);
	text_puts(t, ". ");
}

/* ---- the places of a sentence ---- */

static void put_placed(struct text *t, char place, enum advice a, const struct check_report *report)
{
	switch (place) {
	case 'h':
		check_put_peer(t, report->evidence->CTEnc.text);
		break;
	case 'd':
		check_put_peer(t, check_declared(report)->text);
		break;
	case 'c':
		text_puts(t, charset_name(report->result->charset));
		break;
	case 'a':
		text_puts(t, report->result->also != CS_NONE ? charset_name(report->result->also) : "another charset");
		break;
	case 'k':
		text_puts(t, format_of(report));
		break;
	case 'p':
		put_bytes(t, a, report);
		break;
	case 't':
		check_put_peer(t, report->evidence->type.mime);
		break;
	case 's':
		text_number(t, report->response->status);
		break;
	case 'n':
		text_number(t, advice_number(a, report));
		break;
	case 'l':
		text_number(t, report->fault_line);
		break;
	default:
		text_puts(t, report->fault);
	}
}

void advice_text(struct text *t, enum advice a, const struct check_report *report)
{
	const char *at = advices[a].text;
	size_t plain;

	for (;;) {
		plain = strcspn(at, "%");
		text_add(t, at, plain);
		at += plain;
		if (!*at)
			return;
		put_placed(t, at[1], a, report);
		at += 2;
	}
}

/* ---- the mail ---- */

static bool is_checked(const struct check_report *report)
{
	(void)report;
	return true;
}

static const char *feed_name(const struct check_report *report)
{
	return report->response ? report->response->url : report->file;
}

#define LETTER_MOVED \
	"If the feed has moved, please redirect this URL to its new place (status 301). If it has ended, status 410 " \
	"tells readers to stop asking.\n"

/* The mails, by what was found; the first that holds is sent. A body that is not a feed has no label that could be
 * wrong. %s stands for the name of the feed; closing: "" or a paragraph. */
static const struct {
	bool (*holds)(const struct check_report *);
	const char *subject, *opening, *closing;
} letters[] = {
	{ has_other_status, "no feed at %s", "feed readers ask for\n%s\nand get an error. This is what they see:\n",
		LETTER_MOVED },
	{ is_not_xml, "no feed at %s", "feed readers ask for\n%s\nand get something that is not a feed:\n",
		LETTER_MOVED },
	{ is_empty, "no feed at %s",
		"feed readers ask for\n%s\nand get an empty response. Please look at what makes the feed:\n",
		"" },
	{ is_checked, "your feed %s", "readers of your feed %s\nhave trouble with it. This would mend it:\n", "" },
};

/* Appends the text with the name of the feed in the place of %s. */
static void put_named(struct text *t, const char *text, const struct check_report *report)
{
	const char *place = strstr(text, "%s");

	text_add(t, text, (size_t)(place - text));
	check_put_peer(t, feed_name(report));
	text_puts(t, place + strlen("%s"));
}

void advice_mail(struct text *t, const struct check_report *report)
{
	char rule[VERDICT_FORMAT_MAX];
	size_t letter = 0;
	int n = 0;

	if (advice_is_none(report))
		return;
	while (!letters[letter].holds(report))
		letter++;
	text_puts(t, "Subject: ");
	put_named(t, letters[letter].subject, report);
	text_puts(t, "\n\nHello,\n\n");
	put_named(t, letters[letter].opening, report);
	for (int a = 0; a < ADVICE_COUNT; a++)
		if (advice_applies((enum advice)a, report)) {
			text_printf(t, "\n%d. ", ++n);
			advice_text(t, (enum advice)a, report);
			text_puts(t, "\n");
		}
	if (*letters[letter].closing)
		text_puts(t, "\n");
	text_puts(t, letters[letter].closing);
	verdict_format(report->result, rule, sizeof rule);
	text_puts(t, "\nFound by utfeed " PACKAGE_VERSION " (");
	text_puts(t, rule);
	text_puts(t, ").\n");
}
