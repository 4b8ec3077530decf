/* Owns deciding on XML of another kind than feeds; see document.h. */
#include "core/normalise/document.h"

#include <string.h>

/* Any reader of XML knows UTF-8 and UTF-16, and UCS-4 by its pattern. */
static bool is_legacy(enum charset charset)
{
	enum charset_family family = charset == CS_NONE ? FAMILY_NONE : charset_info(charset)->family;

	return charset != CS_UTF_8 && family != FAMILY_NONE && family != FAMILY_16BIT && family != FAMILY_32BIT;
}

static enum charset label_says(const struct evidence_label *l)
{
	const struct charset_label *label = l->text[0] ? charset_lookup(l->text, strlen(l->text)) : NULL;

	return label ? label->charset : CS_NONE;
}

bool document_is_labelled(const struct evidence *e)
{
	return e->BOMEnc == CS_NONE &&
	    (is_legacy(e->forced) || is_legacy(label_says(&e->CTEnc)) || is_legacy(label_says(&e->XMLEnc)));
}

int document_decide(enum policy policy, struct evidence *e, struct verdict *v)
{
	verdict_untouched(v, policy, VREASON_NOT_XML);
	if (!document_is_labelled(e))
		return 0;
	evidence_finish(e);
	if (e->utf8.valid)
		return 0;
	if (policy_decide(policy, e, v) != 0)
		return -1;
	v->keeps_type = v->kind == VERDICT_CHARSET && is_legacy(v->charset) &&
	    (v->charset == e->forced || v->charset == label_says(&e->CTEnc) || v->charset == label_says(&e->XMLEnc));
	if (!v->keeps_type)
		verdict_untouched(v, policy, VREASON_NOT_XML);
	return 0;
}
