/* Owns finding where a document starts: at its declaration or, in a feed that has none, at its first markup; and
 * whether anything stands before it that is none of it. Private to core.
 * Must not know: charsets beyond families, Content-Type, which repairs are wanted. Pure function.
 * Invariants: an answer other than PREAMBLE_MORE is the answer for every longer text too. Of a well-formed document it
 * never finds a declaration but at its start: constructs that may hold one as text are stepped over whole, and nowhere
 * else may one stand (XML 1.0 [22] prolog, [17] PITarget). */
#ifndef UTFEED_CORE_EVIDENCE_PREAMBLE_H
#define UTFEED_CORE_EVIDENCE_PREAMBLE_H

#include "core/evidence/junk.h"
#include "core/evidence/scan.h"

enum preamble_state {
	PREAMBLE_MORE,              /* not yet to be told */
	PREAMBLE_NONE,              /* neither a declaration nor a feed */
	/* an XML declaration starts at `at`; behind anything but white space and marks only a feed's */
	PREAMBLE_DECLARATION,
	/* no declaration; comments, instructions, a document type or a feed's root start at `at` */
	PREAMBLE_FEED
};

struct preamble {
	enum preamble_state state;
	size_t at;                  /* byte offset; the cursor's where neither is found */
	bool junk;                  /* something that is neither white space nor markup stands before it */
};

/* From the cursor on. complete: no more bytes will come. */
void preamble_look(struct preamble *, const struct scan *, enum junk allowed, bool complete);

#endif
