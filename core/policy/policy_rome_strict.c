/* Owns policy rome-strict: the two tables of "Detecting XML charset encoding, again", Tucu's Weblog, 17 September 2004,
 * http://blogs.sun.com/tucu, repeated on ROME's page "XML Charset Encoding Detection in Rome".
 * Must not know: lenient behaviour. Rows are the published ones in the published order; an "or" between columns, and
 * "not BOMEnc", take one row each; "+" marks the outcome that the text leaves unnumbered after that rule. */
#include "core/policy/policy_rome.h"

/* [1.0]-[1.7], the correction of 2004-09-17 */
static const struct rule rome_raw_rules[] = {
	/*        CTMime CTEnc BOMEnc      XMLGuessEnc           XMLEnc                           take        error */
	{ "1.0",  ANY, ANY, V_NULL,     V_NULL,               ANY,               TAKE_UTF_8, VERR_NONE, ANY },
	{ "1.0",  ANY, ANY, V_NULL,     ANY,                  V_NULL,            TAKE_UTF_8, VERR_NONE, ANY },
	{ "1.1",  ANY, ANY, V_NULL,     V_BE_LE,              V_UTF_16,          TAKE_GUESS, VERR_NONE, ANY },
	{ "1.2",  ANY, ANY, V_NULL,     ANY,                  ANY,               TAKE_DECL, VERR_NONE, ANY },
	{ "1.3",  ANY, ANY, V_UTF_8,    V_BE_LE,              ANY,               TAKE_ERROR, VERR_MISMATCH, ANY },
	{ "1.4",  ANY, ANY, V_UTF_8,    ANY,                  V_SOME & ~V_UTF_8, TAKE_ERROR, VERR_MISMATCH, ANY },
	{ "1.4+", ANY, ANY, V_UTF_8,    ANY,                  ANY,               TAKE_UTF_8, VERR_NONE, ANY },
	{ "1.5",  ANY, ANY, V_UTF_16BE, V_UTF_8 | V_UTF_16LE, ANY,               TAKE_ERROR, VERR_MISMATCH, ANY },
	{ "1.5",  ANY, ANY, V_UTF_16LE, V_UTF_8 | V_UTF_16BE, ANY,               TAKE_ERROR, VERR_MISMATCH, ANY },
	{ "1.6",  ANY, ANY, V_UTF_16BE, ANY, V_SOME & ~(V_UTF_16 | V_UTF_16BE),  TAKE_ERROR, VERR_MISMATCH, ANY },
	{ "1.6",  ANY, ANY, V_UTF_16LE, ANY, V_SOME & ~(V_UTF_16 | V_UTF_16LE),  TAKE_ERROR, VERR_MISMATCH, ANY },
	{ "1.6+", ANY, ANY, V_BE_LE,    ANY,                  ANY,               TAKE_BOM, VERR_NONE, ANY },
	{ "1.7",  ANY, ANY, ANY,        ANY,                  ANY,               TAKE_ERROR, VERR_MISMATCH, ANY },
};

const struct rule rome_http_rules[] = {
	/*       CTMime      CTEnc     BOMEnc   XMLGuessEnc XMLEnc take           error */
	{ "2.0", M_APP_XML,  V_NULL,   ANY,     ANY,        ANY,   TAKE_ENTITY,   VERR_NONE, ANY },
	{ "2.1", M_TEXT_XML, V_NULL,   ANY,     ANY,        ANY,   TAKE_US_ASCII, VERR_NONE, ANY },
	{ "2.2", M_XML,      V_BE_LE,  V_SOME,  ANY,        ANY,   TAKE_ERROR,    VERR_BOM_FORBIDDEN, ANY },
	{ "2.3", M_XML,      V_UTF_16, V_BE_LE, ANY,        ANY,   TAKE_BOM,      VERR_NONE, ANY },
	{ "2.4", M_XML,      V_UTF_16, ANY,     ANY,        ANY,   TAKE_ERROR,    VERR_BOM_MISSING, ANY },
	{ "2.5", M_XML,      ANY,      ANY,     ANY,        ANY,   TAKE_CTENC,    VERR_NONE, ANY },
	{ "2.6", ANY,        ANY,      ANY,     ANY,        ANY,   TAKE_ERROR,    VERR_NOT_XML, ANY },
};

const struct rule *rome_strict_order(struct verdict *v, const struct rule_view *view)
{
	const struct rule *r =
	    rule_run(v, view->CTMime == M_FILE ? rome_raw_rules : rome_http_rules, rome_raw_rules, view);

	rome_extended_decoder(v, view);
	return r;
}

void policy_rome_strict(const struct evidence *e, struct verdict *v)
{
	struct rule_view view;

	rule_view_rome(&view, e);
	rome_strict_order(v, &view);
}
