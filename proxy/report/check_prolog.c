/* What is wrong with the start of a document; see check_prolog.h. */
#include "proxy/report/check_prolog.h"

#include "core/evidence/declaration.h"

/* Reads the declaration that the evidence has as hidden: the first is malformed, or not only the document follows. */
static void prolog_declaration(struct check_prolog *p, const struct evidence *e)
{
	struct bom_family family = e->decl.state == XMLDECL_ABSENT ? evidence_family(e) : e->guess;
	const struct scan at = { family, e->bytes, e->len, e->hidden.start };
	struct declaration d;

	declaration_read(&d, &at, e->complete);
	p->malformed = d.said.state == XMLDECL_PRESENT && !d.right;
	p->repeated = d.again;
	p->behind = d.said.end > d.end && !d.again;
}

void check_prolog_read(struct check_prolog *p, const struct evidence *e)
{
	const struct preamble *found = &e->preamble;

	*p = (struct check_prolog){ 0 };
	p->before = (found->state == PREAMBLE_DECLARATION || found->state == PREAMBLE_FEED) && found->at > e->bom_len;
	if (e->hidden.state == XMLDECL_PRESENT)
		prolog_declaration(p, e);
	p->hidden = p->malformed ? HIDDEN_MALFORMED : p->repeated ? HIDDEN_REPEATED : HIDDEN_BEHIND_JUNK;
}
