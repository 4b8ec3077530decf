/* Owns the extension of ROME's raw algorithm to UCS-4 and EBCDIC, where its page says "to handle other encodings (i.e.
 * USC-4 or EBCDIC encoding families) the algorithm should be extended here": after [1.2] for families without a mark,
 * after [1.7] for marks. It is a table of its own, so that the published ones stay as published.
 * Must not know: the published rows. `auto` reports these rows. rome-strict and rome-lenient report the published rule
 * and take the charset for decoding from here. They keep the name that the rule gave as `was`; for such bodies it can
 * only be wrong. */
#include "core/policy/policy_rome.h"

static const struct rule extended_rules[] = {
	/*        CTMime CTEnc BOMEnc   XMLGuessEnc         XMLEnc   take         error */
	{ "1.7+", ANY,   ANY,  V_UCS_4, ANY,                ANY,     TAKE_BOM,    VERR_NONE, ANY },
	{ "1.2+", ANY,   ANY,  V_NULL,  V_EBCDIC,           V_FITS,  TAKE_DECL,   VERR_NONE, ANY },
	{ "1.2+", ANY,   ANY,  V_NULL,  V_UCS_4 | V_EBCDIC, ANY,     TAKE_GUESS,  VERR_NONE, ANY },
	{ "",     ANY,   ANY,  ANY,     ANY,                ANY,     TAKE_ENTITY, VERR_NONE, ANY },
};

bool rome_extended_order(struct verdict *v, const struct rule_view *rome)
{
	const struct rule *http = rule_first(rome_http_rules, rome);
	bool file = rome->CTMime == M_FILE;
	struct rule_view full;

	rule_view_full(&full, rome->evidence);
	const struct rule *r = rule_first(extended_rules, &full);
	if (r->take == TAKE_ENTITY || (!file && http->take != TAKE_ENTITY))
		return false;
	if (!file)
		rule_apply(v, http, rome);
	rule_apply(v, r, &full);
	return true;
}

void rome_extended_decoder(struct verdict *v, const struct rule_view *rome)
{
	struct verdict extended;

	verdict_begin(&extended, v->policy);
	if (v->kind != VERDICT_CHARSET || !rome_extended_order(&extended, rome))
		return;
	v->extended = true;
	v->charset = extended.charset;
	v->literal = extended.literal;
	v->was = v->named;
	v->named = extended.named;
}
