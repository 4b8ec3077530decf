/* Owns policy appendix-f: XML 1.0 Appendix F.1 (Fifth Edition; the table is the same since the first), which judges by
 * the bytes alone.
 * Must not know: HTTP. Section 4.3.3: a declaration that cannot be written in its family is reported, and the family
 * wins. */
#include "core/policy/policy_rules.h"

const struct rule appendix_f_rules[] = {
	/*           CTMime CTEnc BOMEnc  XMLGuessEnc        XMLEnc     take        error */
	{ "bom",     ANY,   ANY,  V_SOME, ANY,               V_CLASHES, TAKE_BOM,   VERR_MISMATCH, ANY },
	{ "bom",     ANY,   ANY,  V_SOME, ANY,               ANY,       TAKE_BOM,   VERR_NONE, ANY },
	{ "family",  ANY,   ANY,  ANY,    V_BE_LE | V_UCS_4, V_CLASHES, TAKE_GUESS, VERR_MISMATCH, ANY },
	{ "family",  ANY,   ANY,  ANY,    V_BE_LE | V_UCS_4, ANY,       TAKE_GUESS, VERR_NONE, ANY },
	{ "family",  ANY,   ANY,  ANY,    V_UTF_8 | V_EBCDIC, V_CLASHES, TAKE_GUESS, VERR_MISMATCH, ANY },
	{ "family",  ANY,   ANY,  ANY,    V_EBCDIC,          V_NULL,    TAKE_GUESS, VERR_NONE, ANY },
	{ "decl",    ANY,   ANY,  ANY,    V_UTF_8 | V_EBCDIC, V_SOME,    TAKE_DECL,  VERR_NONE, ANY },
	{ "default", ANY,   ANY,  ANY,    ANY,               ANY,       TAKE_UTF_8, VERR_NONE, ANY },
};

void policy_appendix_f(const struct evidence *e, struct verdict *v)
{
	struct rule_view view;

	rule_view_full(&view, e);
	rule_run(v, appendix_f_rules, NULL, &view);
}
