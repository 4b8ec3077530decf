/* Owns policy auto, utfeed's default: ROME lenient's published order of sources (the ladder), checked against the
 * bytes.
 * Must not know: the published rows. Source: utfeed-rules(7), "Steps of auto", whose steps are here in their order.
 * Invariant: where the bytes agree with the published verdict, it stands alone; where they do not, the path names the
 * step that overruled it, and `was` has the name that the ladder gave.
 *
 * It departs from the published rules in three points, with a reason for each. A label under which the text is not
 * plausible (plausible.h) is ruled out like one that cannot decode it, because single-byte sets decode anything. Text
 * that is UTF-8 but for a few bytes is UTF-8, as it would be if these came after the window. A mark that the bytes
 * behind it contradict is no mark. */
#include <string.h>

#include "core/evidence/plausible.h"
#include "core/policy/policy_bytes.h"
#include "core/policy/policy_rules.h"

enum {
	/* with so many multi-byte characters the detector overrules a thoughtless label (charset.h) */
	GUESS_MIN_MULTIBYTE = 12,
	/* a label with so many flaws in a thousand is doubted, if the detector's charset has few */
	DOUBT = 60,
	/* with fewer bytes beyond ASCII the share of flaws says nothing against a specific label */
	FEW = 10,
	/* with fewer bytes beyond ASCII the detector must have fewer flaws than windows-1252 */
	SHORT = 4
};

/* A charset that the bytes may be in, and the step that proposes it. */
struct candidate {
	const char *no;             /* the step's name in the path; NULL: none */
	enum charset charset;
	bool decodes;               /* it decodes every held byte */
	bool reads;                 /* and the result is plausible text */
	unsigned flaws;
	size_t multibyte;
};

static const struct candidate none;

/* The declaration that counts here: the visible one, or the one behind white space or junk. */
static const struct charset_label *auto_declared(const struct evidence *e)
{
	return e->XMLEnc.label != NULL ? e->XMLEnc.label : e->hidden_enc.label;
}

static enum charset_family family_of(enum charset cs)
{
	return cs == CS_NONE ? FAMILY_NONE : charset_info(cs)->family;
}

static bool is_wide(enum charset_family f)
{
	return f == FAMILY_16BIT || f == FAMILY_32BIT;
}

/* Whether markup in another family follows the mark at once, so that the mark got there by accident. */
static bool mark_is_contradicted(const struct evidence *e)
{
	return e->loose.family != FAMILY_NONE && e->loose.family != family_of(e->BOMEnc);
}

static struct candidate by_bom(const struct evidence *e)
{
	struct decoder_trial t;
	bool fits;

	if (e->BOMEnc == CS_NONE || mark_is_contradicted(e))
		return none;
	fits = is_wide(e->loose.family) || (e->BOMEnc == CS_UTF_8 && e->utf8.mostly) ||
	    policy_accepts(e, e->BOMEnc, &t);
	return fits ? (struct candidate){ .no = "bom", .charset = e->BOMEnc } : none;
}

static struct candidate by_family(const struct evidence *e)
{
	const struct charset_label *decl = auto_declared(e);
	struct candidate c = { .no = "family", .charset = e->loose.charset };

	if (!is_wide(e->loose.family) && e->loose.family != FAMILY_EBCDIC)
		return none;
	if (e->loose.family == FAMILY_EBCDIC && decl != NULL && family_of(decl->charset) == FAMILY_EBCDIC)
		c.charset = decl->charset;
	return c;
}

static struct candidate by_utf8(const struct evidence *e)
{
	return e->utf8.mostly ? (struct candidate){ .no = "utf8", .charset = CS_UTF_8 } : none;
}

static struct candidate auto_judge(const char *no, enum charset cs, const struct evidence *e)
{
	struct candidate c = { .no = no, .charset = cs };
	enum charset_family f = family_of(cs);
	struct decoder_trial t;

	if (cs == CS_UTF_8 && e->bom_len == 0 && !e->utf8.valid)
		return c;
	if ((f != FAMILY_ASCII && f != FAMILY_STATEFUL) || !policy_accepts(e, cs, &t))
		return c;
	c.decodes = true;
	c.multibyte = t.multibyte;
	c.flaws = policy_flaws(e, cs);
	c.reads = c.flaws < PLAUSIBLE_LIMIT;
	return c;
}

static struct candidate judge_label(const char *no, const struct charset_label *l, const struct evidence *e)
{
	return auto_judge(no, l == NULL ? CS_NONE : l->charset, e);
}

/* Pairs of sets with the same letters, which the detector cannot tell apart: it names the first, and the second may be
 * more plausible. */
static const struct {
	enum charset named, sibling;
} siblings[] = {
	{ CS_KOI8_R, CS_KOI8_U }, { CS_ISO_8859_2, CS_WINDOWS_1250 }, { CS_ISO_8859_7, CS_WINDOWS_1253 },
	{ CS_ISO_8859_13, CS_WINDOWS_1257 }, { CS_ISO_8859_15, CS_WINDOWS_1252 },
};

static struct candidate judge_guess(const struct evidence *e)
{
	struct candidate c = auto_judge("guess", policy_guess(e), e), other;
	size_t i;

	for (i = 0; c.decodes && c.flaws > 0 && i < sizeof siblings / sizeof siblings[0]; i++) {
		if (siblings[i].named != c.charset)
			continue;
		other = auto_judge("guess", siblings[i].sibling, e);
		return other.decodes && other.flaws < c.flaws ? other : c;
	}
	return c;
}

/* Whether text has ESC "$" or ESC "(", by which ISO-2022 designates its sets (RFC 1468). */
static bool has_designation(const uint8_t *text, size_t len)
{
	const uint8_t *end = text + len, *escape;

	while ((escape = memchr(text, 0x1B, (size_t)(end - text))) != NULL) {
		if (end - escape > 1 && (escape[1] == '$' || escape[1] == '('))
			return true;
		text = escape + 1;
	}
	return false;
}

/* The charsets of ISO-2022 are the ones whose text may be all ASCII bytes. XML text never has an escape character (XML
 * 1.0 [2]), so escape sequences with text behind them prove the charset, whatever a label says; labels only choose
 * among them. Some escape characters may mean nothing, as those of a terminal's colours do, so a charset need not read
 * every byte: the one with the most characters is taken. */
static struct candidate by_escapes(const struct evidence *e)
{
	const struct charset_label *decl = auto_declared(e), *header = e->CTEnc.label;
	const enum charset declared = decl == NULL ? CS_NONE : decl->charset, order[] = {
		declared, header == NULL ? CS_NONE : header->charset, CS_ISO_2022_JP, CS_ISO_2022_JP_2, CS_ISO_2022_KR
	};
	enum charset proved = CS_NONE;
	struct decoder_trial t = { 0 };
	size_t i, len, most = 0;
	const uint8_t *text = policy_text(e, &len);

	if (!e->utf8.ascii || !has_designation(text, len))
		return none;
	for (i = 0; i < sizeof order / sizeof order[0] && (proved == CS_NONE || !t.accepts); i++) {
		if (family_of(order[i]) != FAMILY_STATEFUL)
			continue;
		policy_accepts(e, order[i], &t);
		if (t.multibyte > most) {
			proved = t.multibyte > t.malformed ? order[i] : CS_NONE;
			most = t.multibyte;
		}
	}
	if (proved == CS_NONE)
		return none;
	return (struct candidate){ .no = proved == declared ? "decl" : "escapes", .charset = proved };
}

/* Chooses between two specific labels that are both plausible: the clearly more plausible one, else the one that the
 * detector names, else the declaration, since the publisher's software wrote it. */
static struct candidate choose(struct candidate http, struct candidate decl, const struct evidence *e)
{
	struct candidate guess;

	if (http.flaws / 2 > decl.flaws || decl.flaws / 2 > http.flaws)
		return http.flaws < decl.flaws ? http : decl;
	guess = judge_guess(e);
	return guess.charset == http.charset || guess.charset == decl.charset ? guess : decl;
}

/* Whether the text has fewer than limit bytes beyond ASCII. */
static bool has_under(size_t limit, const struct evidence *e)
{
	size_t i, n = 0;

	for (i = e->bom_len; i < e->len && n < limit; i++)
		n += e->bytes[i] >= 0x80;
	return n < limit;
}

/* Whether the candidate is not thoughtless and the text confirms it, or is too short to count against it and has no
 * flaw that rules it out. */
static bool is_sure(struct candidate c, const struct evidence *e)
{
	if (!c.decodes || charset_is_thoughtless(c.charset))
		return false;
	return (c.reads && c.flaws < DOUBT) || (has_under(FEW, e) && policy_is_faultless(e, c.charset));
}

/* The costliest questions are asked last, and only where their answer matters. */
static struct candidate by_labels(const struct evidence *e)
{
	const struct charset_label *header = e->CTEnc.label;
	struct candidate decl = judge_label("decl", auto_declared(e), e), http, fallback, label, guess;

	if (is_sure(decl, e) &&
	    (header == NULL || header->charset == decl.charset || charset_is_thoughtless(header->charset)))
		return decl;
	http = judge_label("http", header, e);
	if (http.reads && decl.reads && http.charset != decl.charset) {
		if (charset_is_thoughtless(decl.charset))
			decl.reads = false;
		else if (charset_is_thoughtless(http.charset))
			http.reads = false;
		else
			return choose(http, decl, e);
	}
	label = decl.reads ? decl : http;
	if (label.reads && label.flaws < DOUBT)
		return label;
	guess = judge_guess(e);
	if (guess.multibyte >= GUESS_MIN_MULTIBYTE && (!label.reads || charset_is_thoughtless(label.charset)))
		return guess;
	if (label.reads)
		return label.flaws >= DOUBT && guess.reads && guess.flaws < label.flaws / 4 ? guess : label;
	fallback = auto_judge("fallback", CS_WINDOWS_1252, e);
	if (guess.reads && (guess.flaws < fallback.flaws || !has_under(SHORT, e)))
		return guess;
	if (fallback.reads || (!decl.decodes && !http.decodes))
		return fallback;
	return decl.decodes ? decl : http;
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
	static struct candidate (*const steps[])(const struct evidence *) = { by_bom, by_family, by_utf8, by_escapes };
	struct candidate c = none;
	const char *published;
	size_t i;

	if (e->forced != CS_NONE) {
		verdict_step(v, "external");
		verdict_take_charset(v, charset_in_order(e->forced, e));
		return;
	}
	rome_lenient_order(v, e, true);
	published = v->named;
	for (i = 0; c.no == NULL && i < sizeof steps / sizeof steps[0]; i++)
		c = steps[i](e);
	if (c.no == NULL)
		c = stands(v, e) ? (struct candidate){ .charset = v->charset } : by_labels(e);
	if (v->kind != VERDICT_CHARSET || v->charset != c.charset) {
		v->was = v->named;
		verdict_step(v, c.no);
	}
	verdict_take_charset(v, c.charset);
	if (c.no == NULL && charset_lookup(published, strlen(published))->ascii)
		v->named = "us-ascii";          /* right for these bytes; they are only decoded as its superset */
}
