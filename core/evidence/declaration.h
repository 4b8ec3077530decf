/* Owns reading an XML declaration, malformed or not, and everything between it and the document. Private to core.
 * Must not know: policies, Content-Type, the repairs that are switched on. Pure functions.
 * Invariants: of a well-formed document's declaration it says what xmldecl.h does; an answer other than
 * XMLDECL_INCOMPLETE is the answer for every longer text, too.
 * Source: XML 1.0 [22]-[26], [32], [80], [81]; utfeed-rules(7), "REPAIRS". */
#ifndef UTFEED_CORE_EVIDENCE_DECLARATION_H
#define UTFEED_CORE_EVIDENCE_DECLARATION_H

#include <stdbool.h>
#include <stddef.h>

#include "core/evidence/scan.h"
#include "core/evidence/xmldecl.h"

struct declaration {
	/* what all of them say; .encoding: the first that is known, else the first; .end: where the document goes
	 * on */
	struct xmldecl said;
	/* the next known encoding of another charset, or "" */
	char other[XMLDECL_LABEL_MAX];
	bool right;                 /* the first is well-formed */
	size_t end;                 /* behind the first */
	/* if the first is right, its encoding and its place; "" and equal: it has none */
	char encoding[XMLDECL_LABEL_MAX];
	size_t enc_start, enc_end;
	bool again;                 /* more declarations stand behind it */
};

/* Whether a declaration starts at the cursor, malformed or not. *vague: other text may begin like that, and so may text
 * of well-formed documents. Then it is a declaration only if nothing stands before it, declaration_read() finds its
 * end, and a feed follows. */
enum scan_match declaration_starts(const struct scan *, bool *vague);

/* Reads the declaration at the cursor. XMLDECL_BROKEN: it has no end. */
void declaration_read(struct declaration *, const struct scan *, bool complete);

#endif
