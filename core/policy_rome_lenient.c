/* Owns policy rome-lenient: "Default Lenient Behavior" of ROME's page "XML Charset Encoding Detection in Rome", in its order.
 * (ROME's code takes XMLEnc before anything strict; the page does not, and the page is the policy.)
 * Must not know: the strict tables' rows.
 * Invariant: a charset name nobody knows stays an error, as published: the order recovers from rules, not from names. */
#include "policy_rome.h"

static const struct rule lenient_rules[] = {
	/*                    CTMime CTEnc   BOMEnc XMLGuessEnc XMLEnc  take        error */
	{ "lenient-decl",    ANY,   ANY,    ANY,   ANY,        V_SOME, TAKE_DECL,  VERR_NONE, ANY },
	{ "lenient-http",    ANY,   V_SOME, ANY,   ANY,        ANY,    TAKE_CTENC, VERR_NONE, ANY },
	{ "lenient-default", ANY,   ANY,    ANY,   ANY,        ANY,    TAKE_UTF_8, VERR_NONE, ANY },
};

/* Where the page says "to handle other encodings (UCS-4 or EBCDIC encoding families) the algorithm should be extended here":
 * after [1.2] for families without a mark, after [1.7] for marks. Tried before the raw table, for `auto` only: the page's own
 * outcome for such bodies, UTF-8, can never be right. */
static const struct rule extended_rules[] = {
	/*        CTMime CTEnc BOMEnc   XMLGuessEnc         XMLEnc   take         error */
	{ "1.7+", ANY,   ANY,  V_UCS_4, ANY,                ANY,     TAKE_BOM,    VERR_NONE, ANY },
	{ "1.2+", ANY,   ANY,  V_NULL,  V_EBCDIC,           V_FITS,  TAKE_DECL,   VERR_NONE, ANY },
	{ "1.2+", ANY,   ANY,  V_NULL,  V_UCS_4 | V_EBCDIC, ANY,     TAKE_GUESS,  VERR_NONE, ANY },
	{ "",     ANY,   ANY,  ANY,     ANY,                ANY,     TAKE_ENTITY, VERR_NONE, ANY },
};

/* The extension speaks where the raw rules would: files, and [2.0]. */
static bool run_extended(struct verdict *v, const struct rule_view *rome)
{
	const struct rule *http, *r;
	struct rule_view full;

	rule_view_full(&full, rome->evidence);
	r = rule_first(extended_rules, &full);
	if (r->take == TAKE_ENTITY)
		return false;
	if (rome->CTMime != M_FILE) {
		http = rule_first(rome_http_rules, rome);
		if (http->take != TAKE_ENTITY)
			return false;
		rule_apply(v, http, rome);
	}
	rule_apply(v, r, &full);
	return true;
}

void rome_lenient_order(struct verdict *v, const struct evidence *e, bool extended)
{
	const struct rule *r;
	struct rule_view view;

	rule_view_rome(&view, e);
	if (extended && run_extended(v, &view))
		return;
	r = rome_strict_order(v, &view);
	if (r->take == TAKE_ERROR && e->http && e->type.CTMime == MIME_TEXT_HTML) {
		view.CTMime = M_TEXT_XML;
		verdict_step(v, "lenient-html");
		r = rome_strict_order(v, &view);
	}
	if (r->take == TAKE_ERROR)
		rule_apply(v, rule_first(lenient_rules, &view), &view);
}

void policy_rome_lenient(const struct evidence *e, struct verdict *v)
{
	rome_lenient_order(v, e, false);
}
