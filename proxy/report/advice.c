/* What the publisher of a feed should fix; see advice.h. */
#include "proxy/report/advice.h"

#include <stdio.h>
#include <string.h>

/* ---- questions ---- */

/* Whether a label is right for the body. While all bytes are ASCII any charset that has ASCII is. */
static bool label_fits(const struct charset_label *label, const struct check_report *r)
{
	const struct charset_info *said = charset_info(label->charset), *is = charset_info(r->result->charset);

	if (!r->beyond)
		return said->family == is->family || said->family == FAMILY_STATEFUL;
	if (label->charset == CS_UTF_16 || label->charset == CS_UTF_32)
		return said->family == is->family;
	return label->charset == r->result->charset && !label->ascii;
}

static const struct evidence_label *declared(const struct check_report *r)
{
	return r->evidence->XMLEnc.text[0] ? &r->evidence->XMLEnc : &r->evidence->hidden_enc;
}

static bool is_unknown(const struct evidence_label *l)
{
	return l->text[0] && !l->label;
}

static bool is_wrong(const struct evidence_label *l, const struct check_report *r)
{
	return r->normalised && l->label && !label_fits(l->label, r);
}

static bool has_other_status(const struct check_report *r)
{
	return r->response && r->response->status != 200 && r->response->status != 203;
}

static bool is_empty(const struct check_report *r)
{
	return r->result->reason == VREASON_EMPTY;
}

static bool has_no_feed(const struct check_report *r)
{
	return r->result->reason == VREASON_NOT_XML;
}

static bool has_other_coding(const struct check_report *r)
{
	return r->result->reason == VREASON_ENCODED;
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
	return r->normalised && is_unknown(declared(r));
}

static bool has_wrong_declaration(const struct check_report *r)
{
	return is_wrong(declared(r), r);
}

static bool is_undeclared(const struct check_report *r)
{
	const struct evidence *e = r->evidence;

	return r->normalised && r->beyond && !e->CTEnc.text[0] && !declared(r)->text[0] && e->BOMEnc == CS_NONE &&
	    r->result->charset != CS_UTF_8;
}

static bool has_two_labels(const struct check_report *r)
{
	const struct charset_label *header = r->evidence->CTEnc.label, *own = declared(r)->label;

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
	return a == ADVICE_MIXED ? r->report->others : r->report->malformed;
}

/* A peer's text within ours: no control character of it ends a line of the mail. */
static void put_peer(struct text *t, const char *text)
{
	for (; *text; text++) {
		bool control = (unsigned char)*text < 0x20 || *text == 0x7f;

		text_add(t, control ? "?" : text, 1);
	}
}

static void put_placed(struct text *t, char place, enum advice a, const struct check_report *r)
{
	switch (place) {
	case 'h':
		put_peer(t, r->evidence->CTEnc.text);
		break;
	case 'd':
		put_peer(t, declared(r)->text);
		break;
	case 'c':
		text_puts(t, charset_name(r->result->charset));
		break;
	case 'a':
		text_puts(t, r->result->also != CS_NONE ? charset_name(r->result->also) : "in another charset");
		break;
	case 't':
		put_peer(t, r->evidence->type.mime);
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
	put_peer(t, feed_name(r));
	text_puts(t, "\n\nHello,\n\nreaders of your feed ");
	put_peer(t, feed_name(r));
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
