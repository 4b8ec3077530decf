/* Owns policy rfc7303: RFC 7303 section 3 (mark, then charset parameter, then the entity by XML's own rules) and
 * section 3.2 ("text/xml" like "application/xml": no us-ascii default). It reverses ROME's 2.1, 2.2 and 2.5.
 * Must not know: Appendix F's rows. The marks of UTF-32 do not count, since section 3.3 names only those of UTF-8 and
 * UTF-16. */
#include "core/policy/policy_rules.h"

static const struct rule rules[] = {
	/*           CTMime CTEnc   BOMEnc             XMLGuessEnc XMLEnc take         error */
	{ "bom",     ANY,   ANY,    V_UTF_8 | V_BE_LE, ANY,        ANY,   TAKE_BOM,    VERR_NONE, ANY },
	{ "charset", ANY,   V_SOME, ANY,               ANY,        ANY,   TAKE_CTENC,  VERR_NONE, ANY },
	{ "entity",  ANY,   ANY,    ANY,               ANY,        ANY,   TAKE_ENTITY, VERR_NONE, ANY },
};

void policy_rfc7303(const struct evidence *e, struct verdict *v)
{
	struct rule_view view;

	rule_view_full(&view, e);
	rule_run(v, rules, appendix_f_rules, &view);
}
