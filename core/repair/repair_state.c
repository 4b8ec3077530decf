/* Owns keeping what the lexer knows between two tokens; see repair_state.h.
 * Left out is what the next token sets before it is read again, and the prefixes that were seen (struct prefix_seen),
 * which spare a look and no more. */
#include "core/repair/repair_state.h"

#include <string.h>

#include "core/repair/repair_lex.h"

static bool is_between_tokens(const struct repair_lex *l)
{
	bool text = l->mode == LEX_TEXT || (l->mode == LEX_CDATA && l->back == LEX_TEXT);

	return text && l->held_len == 0 && l->tail == 0 && !l->number.open && l->lead == LEAD_NONE;
}

static bool has_room(const struct repair_lex *l)
{
	return l->elements.stack.len <= REPAIR_STATE_NAMES && l->namespaces.scopes <= REPAIR_STATE_SCOPES &&
	    !l->references.declared.names;
}

bool repair_lex_save(const struct repair_lex *l, struct repair_state *s)
{
	const struct elements *e = &l->elements;
	const struct namespaces *n = &l->namespaces;

	if (!is_between_tokens(l) || !e->rooted || e->closed || e->stack.lost || e->stack.depth == 0 || !has_room(l))
		return false;
	memset(s, 0, sizeof(*s));
	s->tags = e->stack.tags;
	s->passed = e->stack.passed;
	s->scope = (struct repair_scope){ n->scope, n->depth };
	for (unsigned i = 0; i < n->scopes; i++)
		s->before[i] = (struct repair_scope){ n->before[i].scope, n->before[i].depth };
	s->scopes = n->scopes;
	s->depth = e->stack.depth;
	s->mode = (uint8_t)l->mode;
	s->leaf = e->leaf;
	s->doubtful = e->doubtful;
	s->any = l->references.declared.any;
	s->names_len = (uint32_t)e->stack.len;
	memcpy(s->names, e->stack.names, e->stack.len);
	return true;
}

_Static_assert((int)REPAIR_STATE_NAMES + STACK_WORD < (int)STACK_BYTES_FIRST, "every stack has room for the names");

void repair_lex_restore(struct repair_lex *l, const struct repair_state *s)
{
	struct elements *e = &l->elements;
	struct namespaces *n = &l->namespaces;

	l->mode = l->back = LEX_TEXT;
	if (s->mode == LEX_CDATA)
		l->mode = LEX_CDATA;
	l->references.content = true;
	l->references.declared.any = s->any;
	e->rooted = true;
	e->leaf = s->leaf;
	e->doubtful = s->doubtful;
	e->stack.tags = s->tags;
	e->stack.passed = s->passed;
	e->stack.depth = s->depth;
	e->stack.len = s->names_len;
	memcpy(e->stack.names, s->names, s->names_len);
	n->scope = s->scope.scope;
	n->depth = (uint32_t)s->scope.depth;
	n->scopes = s->scopes;
	for (unsigned i = 0; i < s->scopes; i++) {
		n->before[i].scope = s->before[i].scope;
		n->before[i].depth = (uint32_t)s->before[i].depth;
	}
	n->time++;
}
