/* Owns the code that runs the tables of all policies.
 * Must not know: any policy's rules. */
#include "core/policy/policy_rules.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const unsigned mime_sets[] = {
	[MIME_NONE] = M_MISSING, [MIME_APP_XML] = M_APP_XML, [MIME_TEXT_XML] = M_TEXT_XML, [MIME_OTHER_XML] = M_OTHER,
	[MIME_TEXT_HTML] = M_TEXT_OTHER, [MIME_TEXT_OTHER] = M_TEXT_OTHER, [MIME_JSON] = M_JSON, [MIME_MEDIA] = M_OTHER,
	[MIME_OTHER] = M_OTHER,
};

static unsigned charset_set(enum charset cs)
{
	switch (cs) {
	case CS_NONE: return V_NULL;
	case CS_UTF_8: return V_UTF_8;
	case CS_UTF_16BE: return V_UTF_16BE;
	case CS_UTF_16LE: return V_UTF_16LE;
	case CS_UTF_16: return V_UTF_16;
	default: break;
	}
	switch (charset_info(cs)->family) {
	case FAMILY_32BIT: return V_UCS_4;
	case FAMILY_EBCDIC: return V_EBCDIC;
	default: return V_OTHER;
	}
}

/* The set of a name, by its letters alone: `utf8` is not UTF-8 in published texts that compare names. */
static unsigned name_set(const char *text)
{
	static const struct {
		const char *name;
		unsigned set;
	} names[] = {
		{ "", V_NULL }, { "UTF-8", V_UTF_8 }, { "UTF-16BE", V_UTF_16BE }, { "UTF-16LE", V_UTF_16LE },
		{ "UTF-16", V_UTF_16 },
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcasecmp(text, names[i].name) == 0)
			return names[i].set;
	return V_OTHER;
}

/* V_FITS or V_CLASHES: whether text in the family of `carrier` can be in the label's charset; 0: not known. */
static unsigned fit_set(const struct evidence_label *l, enum charset carrier)
{
	if (!l->label || carrier == CS_NONE)
		return 0;
	enum charset cs = l->label->charset;
	switch (charset_info(carrier)->family) {
	case FAMILY_16BIT: return cs == CS_UTF_16 || cs == carrier ? V_FITS : V_CLASHES;
	case FAMILY_32BIT: return cs == CS_UTF_32 || cs == carrier ? V_FITS : V_CLASHES;
	case FAMILY_EBCDIC: return charset_info(cs)->family == FAMILY_EBCDIC ? V_FITS : V_CLASHES;
	default: break;
	}
	return charset_info(cs)->family == FAMILY_ASCII || charset_info(cs)->family == FAMILY_STATEFUL
	    ? V_FITS
	    : V_CLASHES;
}

static void view_transport(struct rule_view *v, const struct evidence *e)
{
	memset(v, 0, sizeof *v);
	v->evidence = e;
	v->CTMime = e->http ? mime_sets[e->type.CTMime] : M_FILE;
	v->CTEnc = e->http ? name_set(e->CTEnc.text) : V_NULL;
	v->external = e->forced != CS_NONE ? X_GIVEN : X_NONE;
}

void rule_view_full(struct rule_view *v, const struct evidence *e)
{
	view_transport(v, e);
	v->bom = e->BOMEnc;
	v->guess = e->guess.charset;
	v->BOMEnc = charset_set(v->bom);
	v->XMLGuessEnc = charset_set(v->guess);
	v->XMLEnc = name_set(e->XMLEnc.text);
	if (v->bom == CS_UTF_8)
		v->XMLEnc |= !e->XMLEnc.label ? 0 : e->XMLEnc.label->charset == CS_UTF_8 ? V_FITS : V_CLASHES;
	else
		v->XMLEnc |= fit_set(&e->XMLEnc, v->bom != CS_NONE ? v->bom : v->guess);
}

void rule_view_rome(struct rule_view *v, const struct evidence *e)
{
	view_transport(v, e);
	/* The page knows marks of UTF-16 with two bytes, by which FFFE0000 and FEFF0000 start. */
	v->bom = e->BOMEnc == CS_UTF_32LE ? CS_UTF_16LE : e->BOMEnc == CS_UCS_4_3412 ? CS_UTF_16BE : e->BOMEnc;
	if ((charset_set(v->bom) & (V_UTF_8 | V_BE_LE)) == 0)
		v->bom = CS_NONE;
	v->guess = (charset_set(e->guess.charset) & (V_UTF_8 | V_BE_LE)) != 0 ? e->guess.charset : CS_NONE;
	v->BOMEnc = charset_set(v->bom);
	v->XMLGuessEnc = charset_set(v->guess);
	v->XMLEnc = v->guess == CS_NONE ? V_NULL : name_set(e->XMLEnc.text);
}

static bool in(unsigned set, unsigned value)
{
	return set == ANY || (set & value) != 0;
}

const struct rule *rule_first(const struct rule *r, const struct rule_view *v)
{
	while (!in(r->CTMime, v->CTMime) || !in(r->CTEnc, v->CTEnc) || !in(r->BOMEnc, v->BOMEnc) ||
	    !in(r->XMLGuessEnc, v->XMLGuessEnc) || !in(r->XMLEnc, v->XMLEnc) || !in(r->external, v->external))
		r++;
	return r;
}

enum charset charset_in_order(enum charset cs, const struct evidence *e)
{
	const enum charset shown[] = { e->BOMEnc, e->guess.charset, e->loose.charset };

	if (cs != CS_UTF_16 && cs != CS_UTF_32)
		return cs;
	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
		if (shown[i] != CS_NONE && charset_info(shown[i])->family == charset_info(cs)->family)
			return shown[i];
	return cs;
}

void verdict_begin(struct verdict *v, enum policy policy)
{
	memset(v, 0, sizeof *v);
	v->policy = policy;
}

void verdict_step(struct verdict *v, const char *no)
{
	size_t n = strlen(v->path), len = strlen(no);

	if (n > 0 && n < sizeof v->path - 1)
		v->path[n++] = '/';
	if (len > sizeof v->path - 1 - n)
		len = sizeof v->path - 1 - n;
	memcpy(v->path + n, no, len);
	v->path[n + len] = '\0';
}

void verdict_take_error(struct verdict *v, enum verdict_error error)
{
	v->kind = VERDICT_ERROR;
	v->charset = CS_NONE;
	v->literal = false;
	v->named = NULL;
	v->error = error;
}

static void take_known(struct verdict *v, const struct charset_label *label, const struct evidence *e)
{
	v->kind = VERDICT_CHARSET;
	v->charset = charset_in_order(label->charset, e);
	v->literal = label->literal;
	v->named = label->text;
	v->error = VERR_NONE;
}

/* Takes a label that was written in the response, known or not (VERR_UNKNOWN_CHARSET). */
static void take_label(struct verdict *v, const struct evidence_label *l, const struct evidence *e)
{
	if (l->label) {
		take_known(v, l->label, e);
		return;
	}
	verdict_take_error(v, VERR_UNKNOWN_CHARSET);
	snprintf(v->unknown, sizeof v->unknown, "%s", l->text);
}

void verdict_take_charset(struct verdict *v, enum charset cs)
{
	v->kind = VERDICT_CHARSET;
	v->unknown[0] = '\0';
	v->charset = cs;
	v->literal = false;
	v->named = charset_name(cs);
	v->error = VERR_NONE;
}

/* A label that the tables themselves name. */
static const struct charset_label *own(const char *text)
{
	const struct charset_label *label = charset_lookup(text, strlen(text));

	assert(label);
	return label;
}

void rule_apply(struct verdict *v, const struct rule *r, const struct rule_view *view)
{
	const struct evidence *e = view->evidence;

	verdict_step(v, r->no);
	switch (r->take) {
	case TAKE_ERROR: verdict_take_error(v, r->error); return;
	case TAKE_ENTITY: return;
	case TAKE_EXTERNAL: verdict_take_charset(v, charset_in_order(e->forced, e)); break;
	case TAKE_CTENC: take_label(v, &e->CTEnc, e); break;
	case TAKE_DECL: take_label(v, &e->XMLEnc, e); break;
	case TAKE_BOM: verdict_take_charset(v, view->bom); break;
	case TAKE_GUESS: verdict_take_charset(v, view->guess); break;
	case TAKE_UTF_8: verdict_take_charset(v, CS_UTF_8); break;
	case TAKE_US_ASCII: take_known(v, own("us-ascii"), e); break;
	case TAKE_ISO_8859_1: take_known(v, own("iso-8859-1"), e); break;
	}
	if (v->error == VERR_NONE)
		v->error = r->error;
}

const struct rule *rule_run(struct verdict *v, const struct rule *table, const struct rule *entity,
    const struct rule_view *view)
{
	const struct rule *r = rule_first(table, view);

	rule_apply(v, r, view);
	if (r->take != TAKE_ENTITY)
		return r;
	assert(entity);
	r = rule_first(entity, view);
	rule_apply(v, r, view);
	return r;
}
