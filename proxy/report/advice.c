/* What the publisher of a feed should fix; see advice.h. */
#include "proxy/report/advice.h"

#include <inttypes.h>
#include <string.h>

#include "core/evidence/container.h"

/* ---- questions ---- */

static bool is_unknown(const struct evidence_label *l)
{
	return l->text[0] && !l->label;
}

static bool is_wrong(const struct evidence_label *l, const struct check_report *r)
{
	return r->normalised && l->label && !check_label_fits(l->label, r);
}

static bool has_other_status(const struct check_report *r)
{
	return r->response && r->response->status != 200 && r->response->status != 203;
}

static bool is_empty(const struct check_report *r)
{
	return r->result->reason == VREASON_EMPTY;
}

static bool is_not_xml(const struct check_report *r)
{
	return r->result->reason == VREASON_NOT_XML;
}

static const char *format_of(const struct check_report *r)
{
	return container_name(r->evidence->bytes, r->evidence->len);
}

static bool is_container(const struct check_report *r)
{
	return is_not_xml(r) && format_of(r);
}

/* The type says that the body is another document, or a picture. */
static bool is_document(const struct check_report *r)
{
	enum media_kind kind = r->evidence->kind;

	return is_not_xml(r) && r->http && !format_of(r) &&
	    (kind == MEDIA_KIND_DOCUMENT || kind == MEDIA_KIND_DRAWING || kind == MEDIA_KIND_MEDIA);
}

static bool has_no_feed(const struct check_report *r)
{
	return is_not_xml(r) && !is_container(r) && !is_document(r);
}

static bool is_bare_gzip(const struct check_report *r)
{
	return r->unpacked && r->http;
}

static bool is_damaged_gzip(const struct check_report *r)
{
	return r->damaged;
}

static bool has_other_coding(const struct check_report *r)
{
	return r->misnamed;
}

static bool is_undecodable(const struct check_report *r)
{
	return r->result->kind == VERDICT_ERROR;
}

static bool is_xml_type(enum mime_class class)
{
	return class == MIME_APP_XML || class == MIME_TEXT_XML || class == MIME_OTHER_XML;
}

static bool has_other_type(const struct check_report *r)
{
	const struct media_type *type = &r->evidence->type;

	return r->normalised && r->http && type->CTMime != MIME_NONE && !is_xml_type(type->CTMime);
}

static bool has_no_type(const struct check_report *r)
{
	return r->normalised && r->http && r->evidence->type.CTMime == MIME_NONE;
}

static bool has_unknown_header(const struct check_report *r)
{
	return r->normalised && is_unknown(&r->evidence->CTEnc);
}

static bool has_wrong_header(const struct check_report *r)
{
	return is_wrong(&r->evidence->CTEnc, r);
}

/* RFC 3023 section 3.1; RFC 7303 took that back. */
static bool has_default_header(const struct check_report *r)
{
	const struct evidence *e = r->evidence;

	return r->normalised && r->http && r->beyond && e->type.CTMime == MIME_TEXT_XML && !e->CTEnc.text[0];
}

static bool has_unknown_declaration(const struct check_report *r)
{
	return r->normalised && is_unknown(check_declared(r));
}

static bool has_wrong_declaration(const struct check_report *r)
{
	return is_wrong(check_declared(r), r);
}

static bool is_undeclared(const struct check_report *r)
{
	const struct evidence *e = r->evidence;

	return r->normalised && r->beyond && !e->CTEnc.text[0] && !check_declared(r)->text[0] && e->BOMEnc == CS_NONE &&
	    r->result->charset != CS_UTF_8;
}

static bool has_two_labels(const struct check_report *r)
{
	const struct charset_label *header = r->evidence->CTEnc.label, *own = check_declared(r)->label;

	return r->normalised && !r->beyond && header && own && header->charset != own->charset &&
	    !has_wrong_header(r) && !has_wrong_declaration(r);
}

static bool has_mixed_nodes(const struct check_report *r)
{
	return r->report->others > 0;
}

static bool has_malformed_bytes(const struct check_report *r)
{
	return r->report->malformed > 0;
}

static bool has_surrogates(const struct check_report *r)
{
	return r->strays && r->strays->pairs > 0;
}

static bool has_malformed_declaration(const struct check_report *r)
{
	return r->prolog.malformed;
}

static bool has_repeated_declaration(const struct check_report *r)
{
	return r->prolog.repeated;
}

static bool has_junk_behind(const struct check_report *r)
{
	return r->prolog.behind || !r->prolog.before;
}

static bool has_junk_before(const struct check_report *r)
{
	return r->prolog.before;
}

static bool has_fault(const struct check_report *r)
{
	return r->fault != NULL;
}

static bool repaired(const struct check_report *r)
{
	(void)r;
	return true;
}

/* ---- sentences ---- */

static const struct {
	const char *name;
	bool (*holds)(const struct check_report *);
	size_t counted;             /* enum repair_index; REPAIR_COUNT: none */
	const char *text;
} advices[ADVICE_COUNT] = {
#define ADVICE(id, name, holds, counted, text) { name, holds, counted, text },
#include "proxy/report/advice.def"
#undef ADVICE
};

const char *advice_name(enum advice a)
{
	return advices[a].name;
}

bool advice_holds(enum advice a, const struct check_report *r)
{
	size_t counted = advices[a].counted;

	return advices[a].holds(r) && (counted == REPAIR_COUNT || r->report->repairs[counted] > 0);
}

bool advice_is_none(const struct check_report *r)
{
	for (int a = 0; a < ADVICE_COUNT; a++)
		if (advice_holds((enum advice)a, r))
			return false;
	return true;
}

static uint64_t advice_number(enum advice a, const struct check_report *r)
{
	if (advices[a].counted != REPAIR_COUNT)
		return r->report->repairs[advices[a].counted];
	switch (a) {
	case ADVICE_MIXED:
		return r->report->others;
	case ADVICE_SURROGATES:
		return r->strays->pairs;
	default:
		return r->report->malformed;
	}
}

/* ---- bytes that are not UTF-8 ---- */

static bool is_replaced(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t len = sizeof replacement - 1;

	while (strncmp(text, replacement, len) == 0)
		text += len;
	return *text == '\0';
}

static void put_read_as(struct text *t, const struct stray *s)
{
	if (!s->found)
		return;
	if (s->text[0] == '\0') {
		text_puts(t, ", dropped");
	} else if (is_replaced(s->text)) {
		text_puts(t, ", replaced by U+FFFD");
	} else {
		text_puts(t, ", read as \"");
		check_put_peer(t, s->text);
		text_puts(t, "\"");
	}
}

static void put_place(struct text *t, const struct stray *s)
{
	for (size_t i = 0; i < s->len && i < STRAY_BYTES; i++)
		text_printf(t, "%s0x%02X", i > 0 ? " " : "", s->bytes[i]);
	text_printf(t, "%s at offset %" PRIu64 " (line %" PRIu64 ")", s->len > STRAY_BYTES ? " ..." : "", s->offset,
	    s->line);
	put_read_as(t, s);
}

static void put_places(struct text *t, const struct strays *s)
{
	for (size_t i = 0; i < s->n; i++) {
		text_puts(t, i == 0 ? ": " : "; ");
		put_place(t, &s->first[i]);
	}
	if (s->places > s->n)
		text_printf(t, "; and %" PRIu64 " more", s->places - s->n);
}

/* The sentence on bytes that are not in the feed's charset. A feed has it once. */
static void put_bytes(struct text *t, enum advice a, const struct check_report *r)
{
	uint64_t n = r->strays ? r->strays->bytes : r->report->malformed;
	const char *thing = r->strays ? "byte" : "byte sequence";

	if (a == ADVICE_MIXED && r->report->malformed > 0)
		return;
	if (n == 1)
		text_printf(t, "This %s is not ", thing);
	else
		text_printf(t, "These %" PRIu64 " %ss are not ", n, thing);
	text_puts(t, r->strays ? "UTF-8" : charset_name(r->result->charset));
	if (r->strays)
		put_places(t, r->strays);
	text_puts(t, ". ");
}

/* ---- the places of a sentence ---- */

static void put_placed(struct text *t, char place, enum advice a, const struct check_report *r)
{
	switch (place) {
	case 'h':
		check_put_peer(t, r->evidence->CTEnc.text);
		break;
	case 'd':
		check_put_peer(t, check_declared(r)->text);
		break;
	case 'c':
		text_puts(t, charset_name(r->result->charset));
		break;
	case 'a':
		text_puts(t, r->result->also != CS_NONE ? charset_name(r->result->also) : "another charset");
		break;
	case 'k':
		text_puts(t, format_of(r));
		break;
	case 'p':
		put_bytes(t, a, r);
		break;
	case 't':
		check_put_peer(t, r->evidence->type.mime);
		break;
	case 's':
		text_number(t, r->response->status);
		break;
	case 'n':
		text_number(t, advice_number(a, r));
		break;
	case 'l':
		text_number(t, r->fault_line);
		break;
	default:
		text_puts(t, r->fault);
	}
}

void advice_text(struct text *t, enum advice a, const struct check_report *r)
{
	const char *at = advices[a].text;
	size_t plain;

	for (;;) {
		plain = strcspn(at, "%");
		text_add(t, at, plain);
		at += plain;
		if (!*at)
			return;
		put_placed(t, at[1], a, r);
		at += 2;
	}
}

/* ---- the mail ---- */

static const char *feed_name(const struct check_report *r)
{
	return r->response ? r->response->url : r->file;
}

void advice_mail(struct text *t, const struct check_report *r)
{
	char rule[VERDICT_FORMAT_MAX];
	int n = 0;

	if (advice_is_none(r))
		return;
	text_puts(t, "Subject: your feed ");
	check_put_peer(t, feed_name(r));
	text_puts(t, "\n\nHello,\n\nreaders of your feed ");
	check_put_peer(t, feed_name(r));
	text_puts(t, "\nhave trouble with it. This would mend it:\n");
	for (int a = 0; a < ADVICE_COUNT; a++)
		if (advice_holds((enum advice)a, r)) {
			text_printf(t, "\n%d. ", ++n);
			advice_text(t, (enum advice)a, r);
			text_puts(t, "\n");
		}
	verdict_format(r->result, rule, sizeof rule);
	text_puts(t, "\nFound by utfeed " PACKAGE_VERSION " (");
	text_puts(t, rule);
	text_puts(t, ").\n");
}
