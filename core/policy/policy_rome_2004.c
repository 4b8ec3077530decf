/* Owns policy rome-2004-09-10: the two algorithms of "Detecting XML charset encoding, getting it right (or at least
 * trying to)", Tucu's Weblog, 10 September 2004, superseded a week later. They are kept for history; `utfeed check`
 * shows what changed.
 * Must not know: the correction. Numbers are the published [#n.m] without "#"; an "or" takes one row each. */
#include "core/policy/policy_rules.h"

static const struct rule raw_rules[] = {
	/*       CTMime CTEnc BOMEnc      XMLGuessEnc  XMLEnc                  take        error */
	{ "1.0", ANY,   ANY,  V_NULL,     V_BE_LE,     V_NULL,                 TAKE_ERROR, VERR_MISMATCH, ANY },
	{ "1.1", ANY,   ANY,  V_NULL,     ANY,         V_NULL,                 TAKE_UTF_8, VERR_NONE, ANY },
	/* As printed: a plain UTF-8 declaration without a mark is an error, too. */
	{ "1.2", ANY,   ANY,  V_NULL,     ANY,         V_UTF_8 | V_BE_LE,      TAKE_ERROR, VERR_BOM_MISSING, ANY },
	{ "1.3", ANY,   ANY,  V_NULL,     ANY,         ANY,                    TAKE_DECL,  VERR_NONE, ANY },
	{ "1.4", ANY,   ANY,  V_UTF_8,    V_UTF_8,     V_NULL,                 TAKE_BOM,   VERR_NONE, ANY },
	{ "1.4", ANY,   ANY,  V_UTF_16BE, V_UTF_16BE,  V_NULL,                 TAKE_BOM,   VERR_NONE, ANY },
	{ "1.4", ANY,   ANY,  V_UTF_16LE, V_UTF_16LE,  V_NULL,                 TAKE_BOM,   VERR_NONE, ANY },
	{ "1.5", ANY,   ANY,  V_SOME,     ANY,         V_NULL,                 TAKE_ERROR, VERR_MISMATCH, ANY },
	{ "1.6", ANY,   ANY,  V_UTF_8,    V_UTF_8,     V_UTF_8,                TAKE_BOM,   VERR_NONE, ANY },
	{ "1.6", ANY,   ANY,  V_UTF_16BE, V_UTF_16BE,  V_UTF_16 | V_UTF_16BE,  TAKE_BOM,   VERR_NONE, ANY },
	{ "1.6", ANY,   ANY,  V_UTF_16LE, V_UTF_16LE,  V_UTF_16 | V_UTF_16LE,  TAKE_BOM,   VERR_NONE, ANY },
	{ "1.7", ANY,   ANY,  ANY,        ANY,         ANY,                    TAKE_ERROR, VERR_MISMATCH, ANY },
};

static const struct rule http_rules[] = {
	/*       CTMime      CTEnc     BOMEnc   XMLGuessEnc XMLEnc take           error */
	{ "2.0", ANY,        V_BE_LE,  V_SOME,  ANY,        ANY,   TAKE_ERROR,    VERR_BOM_FORBIDDEN, ANY },
	{ "2.1", M_APP_XML,  V_NULL,   ANY,     ANY,        ANY,   TAKE_ENTITY,   VERR_NONE, ANY },
	{ "2.2", M_TEXT_XML, V_NULL,   ANY,     ANY,        ANY,   TAKE_US_ASCII, VERR_NONE, ANY },
	{ "2.3", M_XML,      V_UTF_16, V_BE_LE, ANY,        ANY,   TAKE_BOM,      VERR_NONE, ANY },
	{ "2.4", M_XML,      V_UTF_16, V_NULL,  V_BE_LE,    ANY,   TAKE_GUESS,    VERR_NONE, ANY },
	{ "2.5", M_XML,      V_UTF_16, ANY,     ANY,        ANY,   TAKE_ERROR,    VERR_MISMATCH, ANY },
	{ "2.6", M_XML,      ANY,      ANY,     ANY,        ANY,   TAKE_CTENC,    VERR_NONE, ANY },
	{ "2.7", ANY,        ANY,      ANY,     ANY,        ANY,   TAKE_ERROR,    VERR_NOT_XML, ANY },
};

void policy_rome_2004(const struct evidence *e, struct verdict *v)
{
	struct rule_view view;

	rule_view_rome(&view, e);
	rule_run(v, e->http ? http_rules : raw_rules, raw_rules, &view);
}
