/* Owns stepping over what stands beside elements: comments, instructions, CDATA sections, document types. Private to
 * core.
 * Must not know: declarations' meaning, junk, Content-Type. Source: XML 1.0 [15], [16], [18]-[21], [28]. */
#ifndef UTFEED_CORE_EVIDENCE_MARKUP_H
#define UTFEED_CORE_EVIDENCE_MARKUP_H

#include "core/evidence/roots.h"
#include "core/evidence/scan.h"

enum markup {
	MARKUP_NONE,                /* nothing of it starts at the cursor, which stays */
	MARKUP_MISC,                /* a comment or an instruction, an XML declaration too */
	MARKUP_CDATA,
	MARKUP_DOCTYPE,
	MARKUP_HTML,                /* a document type that names html */
	MARKUP_SHORT                /* the bytes end before it does; the cursor stays */
};

/* Moves the cursor behind the one construct that starts there. */
enum markup markup_skip(struct scan *);

/* The root behind white space, comments, instructions and a document type; the cursor ends at its tag. ROOT_HTML also
 * for a document type of HTML's. ROOT_SHORT: the bytes end before it can be told. */
enum root markup_root(struct scan *);

#endif
