/* Owns looking at the start of decoded text: mark, junk, declaration.
 * Must not know: streams (repair.c holds the text), or which repairs are wanted. Pure function.
 * Invariant: an answer other than PROLOG_MORE is the answer for every longer text, too. */
#ifndef UTFEED_CORE_REPAIR_REPAIR_PROLOG_H
#define UTFEED_CORE_REPAIR_REPAIR_PROLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/evidence/declaration.h"

enum prolog_state { PROLOG_MORE, PROLOG_PLAIN /* nothing before the document to remove */, PROLOG_JUNK,
	PROLOG_DECLARATION };

struct prolog {
	enum prolog_state state;
	size_t mark;                /* bytes of the byte order mark */
	/* where the document starts: at the declaration, or behind the junk; equal to mark where there is neither */
	size_t start;
	struct declaration declared;        /* PROLOG_DECLARATION: it, from `start` on */
};

void prolog_look(struct prolog *, const uint8_t *, size_t len, bool complete);

#endif
