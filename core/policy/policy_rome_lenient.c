/* Owns policy rome-lenient: "Default Lenient Behavior" of ROME's page "XML Charset Encoding Detection in Rome", in its
 * order. ROME's code takes XMLEnc before anything strict; the page does not, and the page is the policy.
 * Must not know: the strict tables' rows.
 * Invariant: an unknown charset name stays an error, as published: this order recovers from errors of rules, not from
 * unknown names. */
#include "core/policy/policy_rome.h"

static const struct rule lenient_rules[] = {
	/*                    CTMime CTEnc   BOMEnc XMLGuessEnc XMLEnc  take        error */
	{ "lenient-decl",    ANY,   ANY,    ANY,   ANY,        V_SOME, TAKE_DECL,  VERR_NONE, ANY },
	{ "lenient-http",    ANY,   V_SOME, ANY,   ANY,        ANY,    TAKE_CTENC, VERR_NONE, ANY },
	{ "lenient-default", ANY,   ANY,    ANY,   ANY,        ANY,    TAKE_UTF_8, VERR_NONE, ANY },
};

void rome_lenient_order(struct verdict *v, const struct evidence *e, bool extended)
{
	struct rule_view view;

	rule_view_rome(&view, e);
	if (extended && rome_extended_order(v, &view))
		return;
	const struct rule *r = rome_strict_order(v, &view);
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
