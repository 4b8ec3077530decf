/* What is wrong with the start of a document; see check_prolog.h. */
#include "proxy/report/check_prolog.h"

#include "core/evidence/declaration.h"

/* Reads the declaration that the evidence has as hidden: the first is malformed, or not only the document follows. */
static void prolog_declaration(struct check_prolog *prolog, const struct evidence *evidence)
{
	struct bom_family family = evidence->decl.state == XMLDECL_ABSENT ? evidence_family(evidence) : evidence->guess;
	const struct scan at = { family, evidence->bytes, evidence->len, evidence->hidden.start };
	struct declaration d;

	declaration_read(&d, &at, evidence->complete);
	prolog->malformed = d.said.state == XMLDECL_PRESENT && !d.right;
	prolog->repeated = d.again;
	prolog->behind = d.said.end > d.end && !d.again;
}

void check_prolog_read(struct check_prolog *prolog, const struct evidence *evidence)
{
	const struct preamble *found = &evidence->preamble;

	*prolog = (struct check_prolog){ 0 };
	prolog->before =
	    (found->state == PREAMBLE_DECLARATION || found->state == PREAMBLE_FEED) && found->at > evidence->bom_len;
	if (evidence->hidden.state == XMLDECL_PRESENT)
		prolog_declaration(prolog, evidence);
	prolog->hidden = prolog->malformed ? HIDDEN_MALFORMED : prolog->repeated ? HIDDEN_REPEATED : HIDDEN_BEHIND_JUNK;
}
