/* Owns reading one token of a document: what is made of the next bytes, and the mode behind them.
 * Must not know: streams; repair_lex.c holds and writes. Private to repair_lex.c.
 * Invariant: a token that is not cut is the same however much text follows. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_TOKEN_H
#define UTFEED_CORE_REPAIR_REPAIR_TOKEN_H

#include "core/repair/repair_lex.h"

enum token_kind {
	TOKEN_KEEP,
	TOKEN_CUT,                      /* By the end of the buffer. */
	TOKEN_CUT_NUMBER,               /* By it within a numeric reference, of which len bytes were taken. */
	TOKEN_REFERENCE,                /* Is written anew from l->found. */
	TOKEN_TAG,                      /* Is written anew from l->tag. */
	TOKEN_TEXT,                     /* Becomes l->text, and counts as l->repair. */
	TOKEN_GATEWAY,                  /* Has l->gateway written before it; nothing is taken. */
	TOKEN_DROP,
	TOKEN_NO_MEMORY
};

struct token {
	enum token_kind kind;
	size_t len;
};

/* in[0] is a byte that needs a look in this mode. final: the text ends with its len bytes. */
struct token token_read(struct repair_lex *, const uint8_t *in, size_t len, bool final);
/* The mode behind a tag: text, or what follows the root. */
void lex_behind_tag(struct repair_lex *);

#endif
