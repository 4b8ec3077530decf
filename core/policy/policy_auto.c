/* Owns policy auto, utfeed's default: ROME lenient's published order of sources (the ladder), checked against the
 * bytes.
 * Must not know: the published rows. Source: utfeed-rules(7), "Steps of auto", whose steps are here in their order.
 * Invariant: where the bytes agree with the published verdict, it stands alone; where they do not, the path names the
 * step that overruled it, and `was` has the name that the ladder gave.
 *
 * It departs from the published rules in three points, with a reason for each. Labels are weighed against what the text
 * says (detector.h), because single-byte sets decode anything. Text that is not UTF-8 to its end is still UTF-8 where
 * that is likelier (nodes.h), because one wrong byte must not cost more than one character. A mark that the bytes
 * behind it contradict is not a mark.
 *
 * A charset stays in question as long as at most one byte in four beyond ASCII is a stray one (decoder.h). The text
 * says what strays cost, 15 nats each (language.c), and a label of such a charset weighs little, so that the text has
 * to look like it, too. Each stray byte becomes one U+FFFD, as it does behind the window. */
#include <string.h>

#include "core/evidence/detector.h"
#include "core/evidence/nodes.h"
#include "core/policy/policy_bytes.h"
#include "core/policy/policy_rules.h"

/* What labels weigh against the text. */
enum {
	LABEL = 20 * LANGUAGE_NAT,      /* One that somebody chose; a mark of UTF-8. */
	THOUGHTLESS = 4 * LANGUAGE_NAT, /* One that servers and templates write without looking (charset.h). */
	/* One whose charset lacks a few of the bytes: among other charsets, and against UTF-8. */
	DOUBTFUL = 4 * LANGUAGE_NAT, DOUBTFUL_OVER_UTF_8 = 10 * LANGUAGE_NAT,
	UTF_8_LABEL = 8 * LANGUAGE_NAT, /* utf-8, for text that is not well-formed. */
	/* Another charset, for text that is: one label, and two that agree. */
	OVER_UTF_8 = LANGUAGE_NAT / 2, BOTH_OVER_UTF_8 = 8 * LANGUAGE_NAT
};

/* A charset that the bytes may be in, and the step that proposes it. */
struct candidate {
	const char *no;             /* the step's name in the path; NULL: none */
	enum charset charset;
	bool decodes;               /* it decodes every held byte but a few stray ones */
	bool strays;                /* there are such */
};

static const struct candidate none;

/* The declaration that counts here: the visible one, or the one behind white space or junk, or a malformed one. If two
 * stand behind each other, the first that reads the text counts: a template puts one before the text's own, and
 * either may be wrong. */
static const struct charset_label *auto_declared(const struct evidence *e)
{
	struct decoder_trial t;
	bool reads;

	if (!e->XMLEnc.label || !e->hidden_enc.label)
		return e->XMLEnc.label ? e->XMLEnc.label : e->hidden_enc.label;
	reads = e->XMLEnc.label->charset == CS_UTF_8 ? e->utf8.valid : policy_reads(e, e->XMLEnc.label->charset, &t);
	return reads ? e->XMLEnc.label : e->hidden_enc.label;
}

static enum charset_family family_of(enum charset cs)
{
	return cs == CS_NONE ? FAMILY_NONE : charset_info(cs)->family;
}

static bool is_wide(enum charset_family f)
{
	return f == FAMILY_16BIT || f == FAMILY_32BIT;
}

/* Whether markup in another family or byte order follows the mark at once, so that the mark got there by accident. */
static bool mark_is_contradicted(const struct evidence *e)
{
	if (e->loose.family == FAMILY_NONE)
		return false;
	return e->loose.family != family_of(e->BOMEnc) || (is_wide(e->loose.family) && e->loose.charset != e->BOMEnc);
}

static struct candidate by_bom(const struct evidence *e)
{
	struct decoder_trial t;

	if (e->BOMEnc == CS_NONE || mark_is_contradicted(e))
		return none;
	bool fits = is_wide(e->loose.family) || policy_accepts(e, e->BOMEnc, &t);
	return fits ? (struct candidate){ .no = "bom", .charset = e->BOMEnc } : none;
}

static struct candidate by_family(const struct evidence *e)
{
	const struct charset_label *decl = auto_declared(e);
	struct candidate c = { .no = "family", .charset = e->loose.charset };

	if (!is_wide(e->loose.family) && e->loose.family != FAMILY_EBCDIC)
		return none;
	if (e->loose.family == FAMILY_EBCDIC && decl && family_of(decl->charset) == FAMILY_EBCDIC)
		c.charset = decl->charset;
	return c;
}

/* Whether a label names another charset that reads all of the text. */
static bool is_legacy_label(const struct charset_label *l, const struct evidence *e)
{
	struct decoder_trial t;

	return l && l->charset != CS_UTF_8 && family_of(l->charset) == FAMILY_ASCII &&
	    policy_accepts(e, l->charset, &t);
}

/* Whether labels name another charset, and none UTF-8. */
static bool is_said_otherwise(const struct evidence *e)
{
	const struct charset_label *decl = auto_declared(e), *header = e->CTEnc.label;

	return (!decl || is_legacy_label(decl, e)) && (!header || is_legacy_label(header, e)) &&
	    (decl || header);
}

/* A sign behind a capital may look like one character of UTF-8. Under labels that agree on another charset the text is
 * weighed. */
static struct candidate by_utf8(const struct evidence *e)
{
	return e->utf8.proven && !is_said_otherwise(e) ? (struct candidate){ .no = "utf8", .charset = CS_UTF_8 } : none;
}

static struct candidate auto_judge(const char *no, enum charset cs, const struct evidence *e)
{
	struct candidate c = { .no = no, .charset = cs };
	enum charset_family f = family_of(cs);
	struct decoder_trial t;

	if (cs == CS_UTF_8 && e->bom_len == 0 && !e->utf8.valid)
		return c;
	if ((f != FAMILY_ASCII && f != FAMILY_STATEFUL) || !policy_reads(e, cs, &t))
		return c;
	c.decodes = true;
	c.strays = !t.accepts;
	return c;
}

static struct candidate judge_label(const char *no, const struct charset_label *l, const struct evidence *e)
{
	return auto_judge(no, l ? l->charset : CS_NONE, e);
}

/* Whether text has ESC "$" or ESC "(", by which ISO-2022 designates its sets (RFC 1468). */
static bool has_designation(const uint8_t *text, size_t len)
{
	const uint8_t *end = text + len, *escape;

	while ((escape = memchr(text, 0x1B, (size_t)(end - text)))) {
		if (end - escape > 1 && (escape[1] == '$' || escape[1] == '('))
			return true;
		text = escape + 1;
	}
	return false;
}

/* The charsets of ISO-2022 are the ones whose text may be all ASCII bytes. XML text never has an escape character (XML
 * 1.0 [2]), so escape sequences with text behind them prove the charset, whatever a label says; labels only choose
 * among them. Some escape characters may mean nothing, as those of a terminal's colours do, so a charset need not read
 * every byte: the one with the most characters is taken.
 *
 * If there are bytes beyond ASCII as well, a charset that no label names has to read all bytes but a few, and the text
 * must not be UTF-8. What is a stray byte in one charset may be a character of the next by accident. So the next one
 * has to have more characters than the first has characters and stray bytes. */
static struct candidate by_escapes(const struct evidence *e)
{
	const struct charset_label *decl = auto_declared(e), *header = e->CTEnc.label;
	const enum charset declared = decl ? decl->charset : CS_NONE, order[] = {
		declared, header ? header->charset : CS_NONE, CS_ISO_2022_JP, CS_ISO_2022_JP_2, CS_ISO_2022_KR
	};
	enum { LABELS = 2 };
	enum charset proved = CS_NONE;
	struct decoder_trial t = { 0 };
	size_t len, least = 0;
	bool reads;
	const uint8_t *text = policy_text(e, &len);

	if (!has_designation(text, len))
		return none;
	for (size_t i = 0; i < sizeof order / sizeof order[0] && (proved == CS_NONE || !t.accepts); i++) {
		if (family_of(order[i]) != FAMILY_STATEFUL)
			continue;
		reads = policy_reads(e, order[i], &t);
		if (!e->utf8.ascii && i >= LABELS && (e->utf8.valid || !reads))
			continue;
		if (t.multibyte > least) {
			proved = t.multibyte > t.malformed ? order[i] : CS_NONE;
			least = t.multibyte + (e->utf8.ascii ? 0 : t.malformed);
		}
	}
	if (proved == CS_NONE)
		return none;
	return (struct candidate){ .no = proved == declared ? "decl" : "escapes", .charset = proved };
}

static bool is_label(struct candidate c)
{
	return c.decodes && family_of(c.charset) == FAMILY_ASCII;
}

/* A label that somebody chose and that reads the text. */
static bool is_chosen(struct candidate label)
{
	return is_label(label) && !charset_is_thoughtless(label.charset);
}

/* A label under which there is nothing beyond ASCII but signs stands: no statistics of letters can say anything against
 * it. A label that nobody chose gives way to one that somebody did. */
static struct candidate by_signs(struct candidate decl, struct candidate http, const struct evidence *e)
{
	const struct candidate order[] = { decl, http };
	bool chosen = is_chosen(decl) || is_chosen(http);

	for (size_t i = 0; i < 2; i++)
		if (is_label(order[i]) && is_chosen(order[i]) == chosen && policy_has_signs_only(e, order[i].charset))
			return order[i];
	return none;
}

static int weight_of_legacy(enum charset cs)
{
	return charset_is_thoughtless(cs) ? THOUGHTLESS : LABEL;
}

static size_t propose(struct proposal *proposals, size_t n, struct candidate label)
{
	int weight = label.strays ? DOUBTFUL : weight_of_legacy(label.charset);

	if (!is_label(label))
		return n;
	if (n > 0 && proposals[0].charset == label.charset) {
		proposals[0].weight += weight;
		return n;
	}
	proposals[n] = (struct proposal){ label.charset, weight };
	return n + 1;
}

/* The first reading that decodes every held byte but a few stray ones. */
static struct candidate first_reading(const struct detection *d, struct candidate decl, struct candidate http,
    const struct evidence *e, struct verdict *v)
{
	struct candidate c = none;
	size_t i, k;

	for (i = 0; i < d->n && !c.decodes; i++) {
		if (d->readings[i].charset == decl.charset && decl.decodes)
			c = decl;
		else if (d->readings[i].charset == http.charset && http.decodes)
			c = http;
		else
			c = auto_judge(d->hinted && i == 0 ? "guess+lang" : "guess", d->readings[i].charset, e);
		k = i;
	}
	if (!c.decodes || !d->is_text)
		return none;
	if (i < d->n && strncmp(c.no, "guess", 5) == 0) {
		v->next = d->readings[i].charset;
		v->margin = (d->readings[i].cost - d->readings[k].cost) / LANGUAGE_NAT;
	}
	return c;
}

/* What the labels propose that decodes the text. */
struct labels {
	struct candidate decl, http;
	struct proposal proposals[DETECTOR_PROPOSALS];
	size_t n;
};

/* Weighs the labels that decode the text, and all that feeds without a label may be in, by the text. */
static struct candidate by_text(const struct evidence *e, const struct labels *l, struct verdict *v)
{
	struct candidate c = by_signs(l->decl, l->http, e);
	struct detection d;

	if (c.decodes)
		return c;
	policy_weigh(e, l->proposals, l->n, &d);
	c = first_reading(&d, l->decl, l->http, e, v);
	if (c.decodes)
		return c;
	if (is_label(l->decl) || is_label(l->http))
		return is_label(l->decl) ? l->decl : l->http;
	return auto_judge("fallback", CS_WINDOWS_1252, e);
}

static int weight_of(const struct charset_label *label)
{
	return label && label->charset == CS_UTF_8 ? UTF_8_LABEL : 0;
}

/* What labels say for UTF-8, where none says otherwise. */
static int says_utf_8(const struct evidence *e)
{
	const struct charset_label *decl = auto_declared(e), *header = e->CTEnc.label;
	bool other = (decl && decl->charset != CS_UTF_8) || (header && header->charset != CS_UTF_8);

	return other ? 0 : weight_of(decl) + weight_of(header);
}

/* What a label says against UTF-8 if it names the charset that all of the text may be in. */
static int says_legacy(struct candidate label, enum charset whole)
{
	if (!is_label(label) || label.charset != whole)
		return 0;
	return label.strays ? DOUBTFUL_OVER_UTF_8 : weight_of_legacy(whole);
}

/* What marks and labels say for UTF-8 against the charset that all of the text may be in. */
static int64_t lead_of_labels(const struct evidence *e, const struct labels *l, enum charset whole)
{
	int64_t lead = weight_of(auto_declared(e)) + weight_of(e->CTEnc.label) + (e->BOMEnc == CS_UTF_8 ? LABEL : 0);

	/* Text that is well-formed to its end is seldom UTF-8 by accident, whoever chose the label. */
	if (e->utf8.proven && l->decl.charset == whole && l->http.charset == whole)
		return lead - BOTH_OVER_UTF_8;
	if (e->utf8.proven)
		return lead - (l->decl.charset == whole || l->http.charset == whole ? OVER_UTF_8 : 0);
	return lead - says_legacy(l->decl, whole) - says_legacy(l->http, whole);
}

/* The charset of nodes that are not UTF-8, and how many are likelier in it. A label weighs as much as for a whole
 * text. */
static void find_also(const struct evidence *e, const struct labels *l, struct nodes *nodes, struct verdict *v)
{
	if (nodes->len == 0)
		return;
	enum charset also = policy_weigh_nodes(e, nodes, l->proposals, l->n);
	policy_nodes(e, nodes, also, says_utf_8(e));
	v->also = nodes->others > 0 ? also : CS_NONE;
	v->mixed = nodes->others;
}

/* Text that is not UTF-8 to its end is UTF-8 all the same where it is likelier with nodes of UTF-8 than as a whole in
 * the charset that is the best otherwise. */
static struct candidate weigh_all(const struct evidence *e, struct verdict *v)
{
	struct labels labels = { .decl = judge_label("decl", auto_declared(e), e),
		.http = judge_label("http", e->CTEnc.label, e) };
	struct nodes nodes;

	labels.n = propose(labels.proposals, 0, labels.decl);
	labels.n = propose(labels.proposals, labels.n, labels.http);
	struct candidate whole = by_text(e, &labels, v);
	policy_nodes(e, &nodes, whole.charset, says_utf_8(e));
	/* There has to be UTF-8, or labels promise some behind the window. */
	if (nodes.utf_8 == 0 && (e->complete || says_utf_8(e) <= 0))
		return whole;
	if (nodes.lead + lead_of_labels(e, &labels, whole.charset) <= 0)
		return whole;
	v->next = CS_NONE;
	find_also(e, &labels, &nodes, v);
	return (struct candidate){ .no = e->BOMEnc == CS_UTF_8 ? "bom" : nodes.others > 0 ? "mixed" : "utf8",
		.charset = CS_UTF_8 };
}

/* Whether the published verdict stands because the text is all ASCII: such text decides nothing, as long as the
 * verdict's charset can read it (utfeed-rules(7), "Steps of auto"). */
static bool stands(const struct verdict *v, const struct evidence *e)
{
	enum charset_family f = family_of(v->charset);

	return v->kind == VERDICT_CHARSET && e->utf8.ascii && (f == FAMILY_ASCII || f == FAMILY_STATEFUL);
}

void policy_auto(const struct evidence *e, struct verdict *v)
{
	static struct candidate (*const steps[])(const struct evidence *) = { by_bom, by_family, by_escapes, by_utf8 };
	struct candidate c = none;

	if (e->forced != CS_NONE) {
		verdict_step(v, "external");
		verdict_take_charset(v, charset_in_order(e->forced, e));
		return;
	}
	rome_lenient_order(v, e, true);
	const char *published = v->named;
	for (size_t i = 0; !c.no && i < sizeof steps / sizeof steps[0]; i++)
		c = steps[i](e);
	if (!c.no)
		c = stands(v, e) ? (struct candidate){ .charset = v->charset } : weigh_all(e, v);
	if (v->kind != VERDICT_CHARSET || v->charset != c.charset) {
		v->was = v->named;
		verdict_step(v, c.no);
	}
	verdict_take_charset(v, c.charset);
	v->says_utf_8 = says_utf_8(e);
	if (!c.no && charset_lookup(published, strlen(published))->ascii)
		v->named = "us-ascii";          /* right for these bytes; they are only decoded as its superset */
}
