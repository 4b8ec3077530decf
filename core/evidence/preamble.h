/* Owns finding where a document starts (at its declaration or, in a feed that has none, at its first markup) and
 * whether anything stands before it that does not belong to it. Private to core.
 * Must not know: charsets beyond families, Content-Type, which repairs are wanted. Pure function.
 * Invariants: an answer other than PREAMBLE_MORE is the answer for every longer text, too. In a well-formed document a
 * declaration is found at the start only (XML 1.0 [22] prolog, [17] PITarget). Constructs that may contain one as text
 * are stepped over whole. */
#ifndef UTFEED_CORE_EVIDENCE_PREAMBLE_H
#define UTFEED_CORE_EVIDENCE_PREAMBLE_H

#include "core/evidence/junk.h"
#include "core/evidence/scan.h"

enum preamble_state {
	PREAMBLE_MORE,              /* more bytes are needed */
	PREAMBLE_NONE,              /* neither a declaration nor a feed */
	/* an XML declaration starts at `at`; where more than white space and marks stands before, it is a feed's */
	PREAMBLE_DECLARATION,
	/* the document has no declaration; comments, instructions, a document type or a feed's root start at `at` */
	PREAMBLE_FEED
};

struct preamble {
	enum preamble_state state;
	size_t at;                  /* byte offset of the document's start; where none is found, the cursor's */
	bool junk;                  /* something that is neither white space nor markup stands before it */
};

/* Looks from the cursor on. complete: no more bytes will come. */
void preamble_look(struct preamble *, const struct scan *, enum junk allowed, bool complete);

#endif
