/* Owns policy feedparser, "Character Encoding Detection" of Universal Feed Parser's manual: the answer of RFC 3023,
 * then the manual's list of retries over the held bytes. Where the manual is silent (json, a missing or unknown type)
 * the policy follows today's code.
 * Must not know: XML parsing. "Parsing fails" means here what it means in the code: the bytes do not decode. */
#include <string.h>

#include "core/policy/policy_bytes.h"
#include "core/policy/policy_rules.h"

static const struct rule first_rules[] = {
	/*              CTMime                      CTEnc   BOMEnc XMLGuessEnc XMLEnc  take             error */
	{ "charset",    M_XML | M_TEXT_OTHER | M_JSON, V_SOME, ANY, ANY, ANY,    TAKE_CTENC,      VERR_NONE, ANY },
	{ "decl",       M_APP_XML,                     ANY,    ANY, ANY, V_SOME, TAKE_DECL,       VERR_NONE, ANY },
	{ "utf-8",      M_APP_XML,                     ANY,    ANY, ANY, ANY,    TAKE_UTF_8,      VERR_NONE, ANY },
	{ "us-ascii",   M_TEXT_XML,                    ANY,    ANY, ANY, ANY,    TAKE_US_ASCII,   VERR_NONE, ANY },
	{ "iso-8859-1", M_TEXT_OTHER,                  ANY,    ANY, ANY, ANY,    TAKE_ISO_8859_1, VERR_NONE, ANY },
	{ "utf-8",      M_JSON,                        ANY,    ANY, ANY, ANY,    TAKE_UTF_8,      VERR_NONE, ANY },
	{ "decl",       ANY,                           ANY,    ANY, ANY, V_SOME, TAKE_DECL,       VERR_NONE, ANY },
	{ "iso-8859-1", M_MISSING,                     ANY,    ANY, ANY, ANY,    TAKE_ISO_8859_1, VERR_NONE, ANY },
	{ "utf-8",      ANY,                           ANY,    ANY, ANY, ANY,    TAKE_UTF_8,      VERR_NONE, ANY },
};

static enum charset feedparser_declared(const struct evidence *e)
{
	return e->XMLEnc.label ? charset_in_order(e->XMLEnc.label->charset, e) : CS_NONE;
}

/* The charset of a mark, or of a family of Appendix F that needs no declaration. */
static enum charset sniffed(const struct evidence *e)
{
	if (e->BOMEnc != CS_NONE)
		return e->BOMEnc;
	return e->guess.family == FAMILY_ASCII ? CS_NONE : e->guess.charset;
}

static enum charset detected(const struct evidence *e)
{
	return policy_guess(e);
}

static enum charset utf_8(const struct evidence *e)
{
	(void)e;
	return CS_UTF_8;
}

static enum charset windows_1252(const struct evidence *e)
{
	(void)e;
	return CS_WINDOWS_1252;
}

/* The manual's list, "it tries to reparse the feed with the following character encodings". */
static const struct {
	const char *no;
	enum charset (*candidate)(const struct evidence *);
} retries[] = {
	{ "decl", feedparser_declared }, { "bytes", sniffed }, { "guess", detected }, { "utf-8", utf_8 },
	{ "windows-1252", windows_1252 },
};

/* Whether a byte is one of the five holes that strict windows-1252 has, unlike WHATWG's: because of these the list can
 * end without an answer. */
static bool has_hole(const struct evidence *e)
{
	for (size_t i = e->bom_len; i < e->len; i++)
		if (e->bytes[i] == 0x81 || e->bytes[i] == 0x8D || e->bytes[i] == 0x8F || e->bytes[i] == 0x90 ||
		    e->bytes[i] == 0x9D)
			return true;
	return false;
}

static bool decodes(enum charset cs, const struct evidence *e)
{
	struct decoder_trial t;

	return policy_accepts(e, cs, &t);
}

static bool first_decodes(const struct verdict *v, const struct evidence *e)
{
	if (v->kind != VERDICT_CHARSET)
		return false;
	if (charset_lookup(v->named, strlen(v->named))->ascii)
		return e->utf8.ascii;
	return decodes(v->charset, e);
}

void policy_feedparser(const struct evidence *e, struct verdict *v)
{
	struct rule_view view;
	enum charset cs;

	rule_view_full(&view, e);
	const struct rule *first = rule_first(first_rules, &view);
	if ((view.CTMime & (M_TEXT_OTHER | M_MISSING | M_OTHER)) != 0) {
		v->outcome = OUTCOME_NONXML;
		verdict_step(v, "nonxml");
	}
	rule_apply(v, first, &view);
	/* Feed Parser's code reads this label, and no similar one, as gb18030. */
	if (v->named && strcmp(v->named, "gb2312") == 0)
		v->literal = false;
	if (first_decodes(v, e))
		return;
	v->path[0] = '\0';
	v->outcome = OUTCOME_OVERRIDE;
	verdict_step(v, "override");
	for (size_t i = 0; i < sizeof retries / sizeof retries[0]; i++) {
		cs = retries[i].candidate(e);
		if (cs == CS_NONE || !decodes(cs, e) || (cs == CS_WINDOWS_1252 && has_hole(e)))
			continue;
		verdict_step(v, retries[i].no);
		verdict_take_charset(v, cs);
		return;
	}
	v->path[0] = '\0';
	v->outcome = OUTCOME_UNKNOWN;
	verdict_step(v, "unknown");
	verdict_take_error(v, VERR_UNDECODABLE);
}
