/* Owns policy 4suite: 4Suite's external encoding rules ("external encoding information", RFC 3023 and RFC 2616 section
 * 3.7.1 as its page numbers them). In this order: an encoding given from outside, the charset parameter, the defaults
 * of text types, the entity itself.
 * Must not know: Appendix F's rows. Files and FTP are excluded from the media type's rules, as published. */
#include "core/policy/policy_rules.h"

static const struct rule rules[] = {
	/*              CTMime        CTEnc   BOMEnc XMLGuessEnc XMLEnc take             error */
	{ "external",   ANY,          ANY,    ANY,   ANY,        ANY,   TAKE_EXTERNAL,   VERR_NONE, X_GIVEN },
	{ "entity",     M_FILE,       ANY,    ANY,   ANY,        ANY,   TAKE_ENTITY,     VERR_NONE, ANY },
	{ "charset",    ANY,          V_SOME, ANY,   ANY,        ANY,   TAKE_CTENC,      VERR_NONE, ANY },
	{ "text-xml",   M_TEXT_XML,   ANY,    ANY,   ANY,        ANY,   TAKE_US_ASCII,   VERR_NONE, ANY },
	{ "text-other", M_TEXT_OTHER, ANY,    ANY,   ANY,        ANY,   TAKE_ISO_8859_1, VERR_NONE, ANY },
	{ "entity",     ANY,          ANY,    ANY,   ANY,        ANY,   TAKE_ENTITY,     VERR_NONE, ANY },
};

void policy_4suite(const struct evidence *e, struct verdict *v)
{
	struct rule_view view;

	rule_view_full(&view, e);
	rule_run(v, rules, appendix_f_rules, &view);
}
